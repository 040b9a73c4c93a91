//! The objects of a file, one after the other, with the comments beside their fields.

use pemdas_core::diagnostic::{Diagnostic, Span};
use pemdas_core::import::{Content, Given, Tree, codes};

use super::{comments, helm};
use crate::input::yaml::{self, Unreadable};

/// The objects of a file: of several documents, and of lists.
///
/// # Errors
/// What is wrong with the text, and where.
pub(crate) fn objects(file: &str, title: &str, text: &str) -> Result<Vec<Given>, Box<Diagnostic>> {
    let mut trees = yaml::trees(text).map_err(|error| {
        helm::left_in(file, text).unwrap_or_else(|| Box::new(broken(file, title, &error)))
    })?;
    comments::attach(text, &mut trees);
    let mut given = Vec::new();
    for tree in trees.into_iter().filter(|it| it.content != Content::Null) {
        taken_apart(file, tree, 0, &mut given);
    }
    for it in &given {
        if let Some(problem) = helm::in_object(file, &it.tree, text) {
            return Err(problem);
        }
    }
    Ok(given)
}

/// The items of a list of objects, and of lists in it.
fn taken_apart(file: &str, mut tree: Tree, depth: usize, given: &mut Vec<Given>) {
    let is_list = tree.text(&["kind"]).is_some_and(|it| it.ends_with("List")) && tree.get("items").is_some();
    if !is_list || depth > 8 {
        given.push(Given { file: file.to_owned(), tree });
        return;
    }
    let Content::Record(fields) = &mut tree.content else { return };
    let items = fields.iter_mut().find(|it| it.name == "items").map(|it| &mut it.value.content);
    if let Some(Content::List(items)) = items {
        for item in std::mem::take(items) {
            taken_apart(file, item, depth + 1, given);
        }
    }
}

fn broken(file: &str, title: &str, error: &Unreadable) -> Diagnostic {
    let problem = Diagnostic::error(codes::UNREADABLE, in_our_words(title, error.without_place()));
    match error.at {
        Some((start, end)) => problem.at(Span { file: file.to_owned(), start, end: end.max(start + 1) }, ""),
        None => problem,
    }
}

/// What the parser says of options and budgets of its own means nothing to people.
fn in_our_words(title: &str, why: &str) -> String {
    if let Some(key) = why.strip_prefix("duplicate mapping key: ") {
        let key: String = key.split(", set ").next().unwrap_or(key).chars().take(100).collect();
        return format!("{title} gives {key} twice in one record");
    }
    if why.starts_with("budget breached") {
        return format!("{title} is larger than what can be read, with everything that its aliases repeat");
    }
    if why.starts_with("recursion limit") {
        return format!("{title} is nested too deep");
    }
    let why: String = why.chars().take(200).collect();
    format!("{title} is neither YAML nor JSON: {why}")
}
