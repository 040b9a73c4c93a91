//! Nickel contracts for the built-in types of Kubernetes, written from the table when they are imported.
//!
//! `import "k8s/apps/v1/Deployment.ncl"` is a file of the library that exists in no folder: its text is made from
//! [`pemdas_core::kube_types`] on demand. A kind can be named by its apiVersion too (`k8s/networking.k8s.io/v1/Ingress.ncl`,
//! `k8s/v1/Pod.ncl`). Each type is a file of its own that imports those it is made of, so that what two kinds share
//! is read once, and what nobody imports is never written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pemdas_core::crd::{MergeKey, merge_keys};
use pemdas_core::kube_types::{Field, Kind, ListType, Shape, Type};

/// Where the contracts are, for an import.
pub const FOLDER: &str = "k8s/";

/// What the contracts of all types share.
const SCALARS: &str = "k8s/scalars.ncl";

/// How long a description in a contract is at most; all of it is in the table.
const MAX_DOC: usize = 200;

/// What a name below [`FOLDER`] stands for.
enum Meaning {
    Scalars,
    Body(Type),
    /// A kind by its apiVersion: the file of its type.
    Alias(Type),
}

fn meaning(name: &str) -> Option<Meaning> {
    if name == SCALARS {
        return Some(Meaning::Scalars);
    }
    let id = name.strip_prefix(FOLDER)?.strip_suffix(".ncl")?;
    if let Some(body) = Type::find(id) {
        return Some(Meaning::Body(body));
    }
    let (api_version, kind) = id.rsplit_once('/')?;
    Kind::find(api_version, kind).ok()?.body().map(Meaning::Alias)
}

/// Whether a name is that of a contract's file.
#[must_use]
pub fn is_file(name: &str) -> bool {
    meaning(name).is_some()
}

/// The text of a contract's file.
#[must_use]
pub fn file(name: &str) -> Option<String> {
    Some(match meaning(name)? {
        Meaning::Scalars => include_str!("../stdlib/k8s/scalars.ncl").to_owned(),
        Meaning::Body(body) => nickel_contract(&body),
        Meaning::Alias(body) => {
            let up = "../".repeat(name.matches('/').count() - 1);
            format!("import \"{up}{}.ncl\"\n", body.id())
        }
    })
}

/// A contract's file and all that it imports, by name.
#[must_use]
pub fn with_imports(name: &str) -> BTreeMap<String, String> {
    with_missing_imports(name, |_| false)
}

/// A contract's file and all that it imports, by name, but for what already exists (with all that that imports).
pub(crate) fn with_missing_imports(name: &str, is_there: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut waiting = vec![name.to_owned()];
    while let Some(name) = waiting.pop() {
        if files.contains_key(&name) || is_there(&name) {
            continue;
        }
        let (Some(meaning), Some(text)) = (meaning(&name), file(&name)) else { continue };
        match meaning {
            Meaning::Scalars => {}
            Meaning::Alias(body) => waiting.push(file_of(body.id())),
            Meaning::Body(body) => {
                waiting.push(SCALARS.to_owned());
                waiting.extend(body.fields().flat_map(|field| references(field.shape())).map(file_of));
            }
        }
        files.insert(name, text);
    }
    files
}

fn file_of(id: &str) -> String {
    format!("{FOLDER}{id}.ncl")
}

/// The types that a shape names.
fn references(shape: Shape) -> Vec<&'static str> {
    match shape {
        Shape::Record(id) => vec![id],
        Shape::List(item) | Shape::Dictionary(item) => references(item.shape()),
        Shape::OneOf(choices) => choices.choices().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// The contract of a type, as the text of a Nickel file that imports the types it is made of.
#[must_use]
pub fn nickel_contract(body: &Type) -> String {
    let kind = Kind::of_type(body.id());
    let mut text = String::new();
    comment(&mut text, &body.doc());
    // Two folders down from the library's own: package and version.
    text.push_str("let k8s = import \"../../scalars.ncl\" in\n");
    if body.fields().next().is_none() {
        // A record contract without fields would accept all of them.
        let _ = writeln!(text, "k8s.named {} k8s.Empty", quoted(body.id()));
        return text;
    }
    let _ = writeln!(text, "let rec Self = k8s.named {} {{", quoted(body.id()));
    for field in body.fields() {
        write_field(&mut text, &field, body, kind.as_ref());
    }
    text.push_str("} in Self\n");
    text
}

fn write_field(text: &mut String, field: &Field, body: &Type, kind: Option<&Kind>) {
    let _ = write!(text, "  {}", name(field.name));
    let contract = match (field.name, kind) {
        ("apiVersion", Some(kind)) => format!("k8s.one_of [{}]", quoted(kind.api_version)),
        ("kind", Some(kind)) => format!("k8s.one_of [{}]", quoted(kind.name)),
        _ => contract(field, field.shape(), body),
    };
    if field.is_required() {
        let _ = write!(text, " | {contract}");
    } else {
        let _ = write!(text, " | k8s.optional ({contract})");
    }
    let summary = first_sentence(&field.doc());
    if !summary.is_empty() {
        let _ = write!(text, " | doc {}", quoted(&summary));
    }
    text.push_str(if field.is_required() { ",\n" } else { " | optional,\n" });
}

fn contract(field: &Field, shape: Shape, owner: &Type) -> String {
    match shape {
        Shape::String => match field.allowed() {
            None => "String".to_owned(),
            Some(allowed) => {
                let values: Vec<String> = allowed.iter().map(|value| quoted(value)).collect();
                let which = if field.is_required() { "one_of" } else { "one_of_or_empty" };
                format!("(k8s.{which} [{}])", values.join(", "))
            }
        },
        Shape::Bytes => "k8s.Bytes".to_owned(),
        Shape::Time | Shape::MicroTime => "k8s.Time".to_owned(),
        Shape::Boolean => "Bool".to_owned(),
        Shape::Int32 => "k8s.Int32".to_owned(),
        Shape::Int64 => "k8s.Int64".to_owned(),
        Shape::Double => "Number".to_owned(),
        Shape::Quantity => "k8s.Quantity".to_owned(),
        Shape::IntOrString => "k8s.IntOrString".to_owned(),
        Shape::Any => "k8s.Json".to_owned(),
        Shape::Object => "k8s.Object".to_owned(),
        Shape::List(item) => {
            let inner = contract(field, item.shape(), owner);
            if let Some(keys) = merge_keys(field) {
                return format!("(k8s.merged [{}] {{ {} }} {inner})", names_of(&keys), defaults_of(&keys));
            }
            // An item without a value has no key to be merged by.
            if matches!(field.list_type(), Some(ListType::Map | ListType::Set)) {
                format!("(Array {inner})")
            } else {
                format!("(Array (k8s.optional {inner}))")
            }
        }
        Shape::Dictionary(item) => {
            format!("{{ _ | k8s.optional {} }}", contract(field, item.shape(), owner))
        }
        Shape::Record(id) if id == owner.id() => "Self".to_owned(),
        Shape::Record(id) => format!("(import \"../../{id}.ncl\")"),
        Shape::OneOf(choices) => {
            let branch = |choice| {
                let type_ = match choice {
                    Shape::Boolean => "Bool",
                    Shape::List(_) => "Array",
                    _ => "Record",
                };
                format!("\"{type_}\" = {}", contract(field, choice, owner))
            };
            let branches: Vec<String> = choices.choices().map(branch).collect();
            format!("(k8s.by_type {{ {} }})", branches.join(", "))
        }
    }
}

fn names_of(keys: &[MergeKey]) -> String {
    keys.iter().map(|key| quoted(key.name)).collect::<Vec<_>>().join(", ")
}

fn defaults_of(keys: &[MergeKey]) -> String {
    let with_default = keys.iter().filter_map(|key| Some((key.name, key.default.as_ref()?)));
    with_default.map(|(key, default)| format!("{} = {default}", name(key))).collect::<Vec<_>>().join(", ")
}

/// Words that Nickel keeps for itself.
const KEYWORDS: [&str; 24] = [
    "as",
    "default",
    "doc",
    "else",
    "false",
    "force",
    "forall",
    "fun",
    "if",
    "import",
    "in",
    "include",
    "let",
    "match",
    "not_exported",
    "null",
    "optional",
    "or",
    "priority",
    "rec",
    "then",
    "true",
    "typeof",
    "_",
];

fn name(field: &str) -> String {
    let plain = field.starts_with(|c: char| c.is_ascii_alphabetic())
        && field.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !KEYWORDS.contains(&field);
    if plain { field.to_owned() } else { quoted(field) }
}

/// A Nickel string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            // An interpolation is `%{`.
            '%' => quoted.push_str("\\%"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => {}
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn comment(text: &mut String, doc: &str) {
    for line in doc.lines() {
        let _ = writeln!(text, "# {}", line.trim());
    }
}

/// The first sentence of a description, on one line and not too long.
fn first_sentence(doc: &str) -> String {
    let line = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.split_inclusive(". ").next().unwrap_or_default().trim();
    match sentence.char_indices().nth(MAX_DOC) {
        None => sentence.to_owned(),
        Some((end, _)) => format!("{}...", sentence[..end].trim_end()),
    }
}
