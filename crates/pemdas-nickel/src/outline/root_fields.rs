//! What functions read of the root, held against the contract of its spec: a field that no root can have is a misspelt one.

use pemdas_core::{
    blueprint::{Blueprint, Body, Function, Input, Node, Read, RootTarget, WantedShape, WantedShapeForm},
    crd::{KindDraft, Schema, Type},
    diagnostic::Diagnostic,
    suggest,
};

use super::codes;

/// Every read of a field that the specs of the roots do not have.
pub(super) fn check(blueprint: &Blueprint, kinds: &[KindDraft]) -> Vec<Diagnostic> {
    let Some(roots) = roots(blueprint, kinds) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, node) in &blueprint.nodes {
        for (what, function) in functions(node) {
            let of_root = function.reads.iter().filter(|it| it.input() == Input::Root);
            found.extend(of_root.filter_map(|read| {
                unknown(read, &roots).map(|problem| problem.told(read, &format!("the {what} of `{name}`")))
            }));
        }
    }
    found
}

/// The kinds of the roots; none if a root is somebody else's, of which nothing is known.
fn roots<'k>(blueprint: &Blueprint, kinds: &'k [KindDraft]) -> Option<Vec<&'k KindDraft>> {
    let mut roots = Vec::new();
    for node in blueprint.nodes.values() {
        let Body::Root(root) = &node.body else { continue };
        let RootTarget::Owned(kind) = &root.target else { return None };
        roots.push(kinds.iter().find(|it| it.kind == *kind)?);
    }
    (!roots.is_empty()).then_some(roots)
}

/// The functions of a node that see the root.
fn functions(node: &Node) -> Vec<(String, &Function)> {
    let mut all: Vec<(String, &Function)> = Vec::new();
    let body = match &node.body {
        Body::Root(_) => None,
        Body::Template(template) => Some(&template.function),
        Body::Observe(observe) => Some(&observe.function),
        Body::Absent(absent) => Some(&absent.function),
        Body::Value(function) => Some(function),
    };
    let clause = |name: &str| format!("`{name}`");
    all.extend(body.map(|it| (clause(node.body.clause().name()), it)));
    let optional = [
        ("for_each", &node.for_each),
        ("key", &node.key),
        ("status", &node.status),
        ("conditions", &node.conditions),
    ];
    all.extend(optional.into_iter().filter_map(|(name, it)| Some((clause(name), it.as_ref()?))));
    for (name, edges) in [("also", &node.also), ("deleting", &node.deleting)] {
        let conditions = edges.iter().filter_map(|(to, edge)| Some((to, edge.when.as_ref()?)));
        all.extend(conditions.map(|(to, it)| (format!("condition of `{name}.{to}`"), it)));
    }
    let mut shapes: Vec<(&str, Option<&WantedShape>)> = vec![
        ("ready", node.ready.as_ref()),
        ("fails", node.fails.as_ref()),
        ("once", node.once.as_ref().and_then(|it| it.done.as_ref())),
    ];
    shapes.extend(node.before.values().map(|it| ("before", it.until.as_ref())));
    all.extend(shapes.into_iter().filter_map(|(name, shape)| match &shape?.form {
        WantedShapeForm::Function(function) => Some((clause(name), function)),
        _ => None,
    }));
    all
}

/// A field that is not there.
struct Unknown<'a> {
    kinds: Vec<&'a str>,
    /// What it is read of.
    of: String,
    field: &'a str,
    known: Vec<&'a str>,
}

fn unknown<'a>(read: &'a Read, roots: &[&'a KindDraft]) -> Option<Unknown<'a>> {
    let [_, spec, fields @ ..] = read.path.as_slice() else { return None };
    if spec != "spec" {
        return None;
    }
    let mut here: Vec<&Schema> =
        roots.iter().flat_map(|it| it.versions.values()).map(|version| &version.spec).collect();
    let mut of = "spec".to_owned();
    for field in fields {
        let mut next = Vec::new();
        let mut known = Vec::new();
        for schema in here {
            match &schema.of {
                Type::Record(record) if !record.open && !schema.embedded => {
                    known.extend(record.fields.keys().map(String::as_str));
                    next.extend(record.fields.get(field).map(|it| &it.schema));
                }
                // Of anything else nobody knows what it has.
                _ => return None,
            }
        }
        if next.is_empty() {
            let mut kinds: Vec<&str> = roots.iter().map(|it| it.kind.as_str()).collect();
            kinds.sort_unstable();
            kinds.dedup();
            return Some(Unknown { kinds, of, field, known });
        }
        of = format!("{of}.{field}");
        here = next;
    }
    None
}

impl Unknown<'_> {
    fn told(&self, read: &Read, what: &str) -> Diagnostic {
        let Self { kinds, of, field, known } = self;
        let problem = Diagnostic::error(
            codes::UNKNOWN_FIELD,
            format!(
                "{what} reads `the.{}`, but `{of}` of {} has no field `{field}`",
                read.path.join("."),
                kinds.join(" and ")
            ),
        )
        .at(read.span.clone(), "no such field");
        match suggest::did_you_mean(field, known.iter().copied()) {
            Some(hint) => problem.hint(hint),
            None => problem.hint("add it to the contract of the kind, or read another field"),
        }
    }
}
