//! YAML and JSON as trees: the order of the fields, their places, and one object after the other.

use std::fmt;

use pemdas_core::diagnostic::{Diagnostic, Span};
use pemdas_core::import::{Content, Field, Given, Tree, codes};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Location, Spanned};

use super::{comments, helm};

/// The objects of a file: of several documents, and of lists.
///
/// # Errors
/// What is wrong with the text, and where.
pub(crate) fn objects(file: &str, title: &str, text: &str) -> Result<Vec<Given>, Box<Diagnostic>> {
    let documents: Vec<Spanned<Read>> = serde_saphyr::from_multiple(text).map_err(|error| {
        helm::left_in(file, text).unwrap_or_else(|| Box::new(broken(file, title, text, &error)))
    })?;
    let mut trees: Vec<Tree> = documents.into_iter().map(|it| tree(it, text)).collect();
    comments::attach(text, &mut trees);
    let mut given = Vec::new();
    for tree in trees.into_iter().filter(|it| it.content != Content::Null) {
        taken_apart(file, tree, 0, &mut given);
    }
    for it in &given {
        if let Some(problem) = helm::in_object(file, &it.tree) {
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

fn broken(file: &str, title: &str, text: &str, error: &serde_saphyr::Error) -> Diagnostic {
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
    // The place is shown below; the words would say it twice.
    let why = first.split_once(": ").filter(|(place, _)| place.starts_with("line ")).map_or(first, |it| it.1);
    let problem = Diagnostic::error(codes::UNREADABLE, in_our_words(title, why));
    match error.location().and_then(|it| place(&it, text)) {
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

/// The bytes of a place.
fn place(location: &Location, text: &str) -> Option<(u32, u32)> {
    if location.line() == 0 {
        return None;
    }
    if let (Some(start), Some(length)) = (location.span().byte_offset(), location.span().byte_len()) {
        return Some((u32::try_from(start).ok()?, u32::try_from(start + length).ok()?));
    }
    let (line, column) = (usize::try_from(location.line()).ok()?, usize::try_from(location.column()).ok()?);
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let within: usize = text.get(before..)?.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
    let start = u32::try_from(before + within).ok()?;
    Some((start, start))
}

/// What the parser tells, in its order.
enum Read {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Spanned<Read>>),
    Record(Vec<(Spanned<String>, Spanned<Read>)>),
}

fn tree(read: Spanned<Read>, text: &str) -> Tree {
    let at = place(&read.referenced, text);
    let content = match read.value {
        Read::Null => Content::Null,
        Read::Bool(it) => Content::Bool(it),
        Read::Number(it) => Content::Number(it),
        Read::Text(it) => Content::Text(it),
        Read::List(items) => Content::List(items.into_iter().map(|it| tree(it, text)).collect()),
        Read::Record(fields) => Content::Record(
            fields
                .into_iter()
                .map(|(name, value)| Field {
                    at: place(&name.referenced, text),
                    name: name.value,
                    value: tree(value, text),
                })
                .collect(),
        ),
    };
    Tree { content, at, above: Vec::new(), beside: None }
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Read;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Read, E> {
        Ok(Read::Null)
    }

    fn visit_none<E>(self) -> Result<Read, E> {
        Ok(Read::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Read, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Read, E> {
        Ok(Read::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Read, E> {
        Ok(Read::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Read, E> {
        Ok(Read::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Read, E> {
        // kubectl makes `2` of the `2.0` of a file before the API server sees it.
        let whole = (value.fract() == 0.0).then(|| format!("{value}").parse::<i64>().ok()).flatten();
        let number = whole.map(Number::from).or_else(|| Number::from_f64(value));
        Ok(number.map_or(Read::Null, Read::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Read, E> {
        Ok(Read::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Read, E> {
        Ok(Read::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Read, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Read::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Read, A::Error> {
        let mut all = Vec::new();
        while let Some(field) = fields.next_entry()? {
            all.push(field);
        }
        Ok(Read::Record(all))
    }
}
