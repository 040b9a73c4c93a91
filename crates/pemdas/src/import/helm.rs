//! Templates that nobody rendered. Two braces alone are no mark of one: alerts, dashboards and workflows use them in their own strings.

use pemdas_core::diagnostic::{Diagnostic, Span};
use pemdas_core::import::{Content, Tree, codes};

use crate::input::yaml;

/// What only templates of Helm say between their braces.
const WORDS: &[&str] = &[
    ".Values",
    ".Release",
    ".Chart",
    ".Capabilities",
    ".Files",
    "include \"",
    "template \"",
    "toYaml",
    "define \"",
    "end }}",
    "end -}}",
    "nindent",
];

/// The first mark of a template in a text that is no YAML.
pub(super) fn left_in(file: &str, text: &str) -> Option<Box<Diagnostic>> {
    let start = text.find("{{")?;
    let end = text.get(start..)?.find("}}").map_or(text.len(), |it| start + it + 2);
    let line = text.get(start..)?.find('\n').map_or(text.len(), |it| start + it);
    Some(Box::new(problem(file, (u32::try_from(start).ok()?, u32::try_from(end.min(line)).ok()?))))
}

/// The first word of an object that is part of a template. In a string (in quotes, or as a block) one may well stand: the templates that an
/// injector reads. Names cannot hold one.
pub(super) fn in_object(file: &str, tree: &Tree, text: &str) -> Option<Box<Diagnostic>> {
    let names = [&["apiVersion"][..], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];
    let in_name = names.iter().filter_map(|it| tree.find(it)).find_map(|it| marked(file, it, &|_| true));
    in_name.or_else(|| {
        marked(file, tree, &|it: &Tree| {
            let start = it.at.and_then(|(start, _)| usize::try_from(start).ok());
            !start.is_some_and(|it| yaml::is_string(text, it))
        })
    })
}

/// The first string that looks like a template, of those that count.
fn marked(file: &str, tree: &Tree, counts: &dyn Fn(&Tree) -> bool) -> Option<Box<Diagnostic>> {
    match &tree.content {
        Content::Text(text) if counts(tree) => {
            let inside = text.split("{{").skip(1).map(|it| it.split("}}").next().unwrap_or(it));
            let mut marks = inside.map(|it| format!("{it}}}}}"));
            let is = marks.any(|it| WORDS.iter().any(|word| it.contains(word)));
            is.then(|| Box::new(problem(file, tree.at.unwrap_or_default())))
        }
        Content::List(items) => items.iter().find_map(|it| marked(file, it, counts)),
        Content::Record(fields) => fields.iter().find_map(|it| marked(file, &it.value, counts)),
        _ => None,
    }
}

fn problem(file: &str, (start, end): (u32, u32)) -> Diagnostic {
    Diagnostic::error(codes::TEMPLATE, "this is a template of Helm that was not rendered")
        .at(Span { file: file.to_owned(), start, end }, "")
        .hint("import what comes out of it: helm template RELEASE CHART | pemdas import -")
}
