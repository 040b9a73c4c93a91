//! Templates that nobody rendered. Two braces alone are no mark of one: alerts, dashboards and workflows use them in their own strings.

use pemdas_core::diagnostic::{Diagnostic, Span};
use pemdas_core::import::{Content, Tree, codes};

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

/// The first string of an object that is part of a template.
pub(super) fn in_object(file: &str, tree: &Tree) -> Option<Box<Diagnostic>> {
    match &tree.content {
        Content::Text(text) => {
            let inside = text.split("{{").skip(1).map(|it| it.split("}}").next().unwrap_or(it));
            let mut marks = inside.map(|it| format!("{it}}}}}"));
            let is = marks.any(|it| WORDS.iter().any(|word| it.contains(word)));
            is.then(|| Box::new(problem(file, tree.at.unwrap_or_default())))
        }
        Content::List(items) => items.iter().find_map(|it| in_object(file, it)),
        Content::Record(fields) => fields.iter().find_map(|it| in_object(file, &it.value)),
        _ => None,
    }
}

fn problem(file: &str, (start, end): (u32, u32)) -> Diagnostic {
    Diagnostic::error(codes::TEMPLATE, "this is a template of Helm that was not rendered")
        .at(Span { file: file.to_owned(), start, end }, "")
        .hint("import what comes out of it: helm template RELEASE CHART | pemdas import -")
}
