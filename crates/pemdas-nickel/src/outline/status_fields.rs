//! What the function of a status writes, held against the contract of the status: the API server drops a field that it does not
//! know, and nobody would see why it is not there.

use pemdas_core::{
    blueprint::{Blueprint, Body, RootTarget},
    crd::{AUTHOR_MAY_NOT_USE, KindDraft, Record, Schema, Type},
    diagnostic::Diagnostic,
    kube_types::template_tree::{Field, Form, Tree},
    suggest,
};

use super::{codes, template_tree, trees::Trees};

/// Every field that is written into a status and that no version of its kind has.
pub(super) fn check(trees: &Trees<'_>, blueprint: &Blueprint, kinds: &[KindDraft]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, node) in &blueprint.nodes {
        let (Body::Root(root), Some(function)) = (&node.body, &node.status) else { continue };
        let RootTarget::Owned(kind) = &root.target else { continue };
        let Some(draft) = kinds.iter().find(|it| it.kind == *kind) else { continue };
        let Some(literal) = trees.function_at(&function.span) else { continue };
        let schemas: Vec<&Schema> = draft.versions.values().map(|it| &it.status).collect();
        let tree = template_tree::of_function(trees, literal);
        let mut check = Check { what: format!("the `status` of `{name}`"), kind, found: Vec::new() };
        check.top(&tree, &schemas);
        found.append(&mut check.found);
    }
    found
}

struct Check<'a> {
    what: String,
    kind: &'a str,
    found: Vec<Diagnostic>,
}

impl Check<'_> {
    fn top(&mut self, tree: &Tree, schemas: &[&Schema]) {
        // A kind without a contract of its status has Pemdas' own part alone.
        let none = Record::default();
        let records: Vec<&Record> = schemas.iter().map(|it| it.as_record().unwrap_or(&none)).collect();
        self.record(tree, &records, "status");
    }

    fn record(&mut self, tree: &Tree, known: &[&Record], of: &str) {
        match &tree.form {
            Form::Either(all) => all.iter().for_each(|it| self.record(it, known, of)),
            Form::Record { fields, .. } if known.iter().all(|it| !it.open) => {
                fields.iter().for_each(|it| self.field(it, known, of));
            }
            _ => {}
        }
    }

    fn field(&mut self, field: &Field, known: &[&Record], of: &str) {
        if of == "status" && AUTHOR_MAY_NOT_USE.contains(&field.name.as_str()) {
            return;
        }
        let schemas: Vec<&Schema> =
            known.iter().filter_map(|it| it.fields.get(&field.name)).map(|it| &it.schema).collect();
        if schemas.is_empty() {
            let problem = Diagnostic::warning(
                codes::UNKNOWN_STATUS,
                format!(
                    "{} writes `{}`, but `{of}` of {} has no such field",
                    self.what, field.name, self.kind
                ),
            );
            let problem = match field.span.clone().or_else(|| field.value.span.clone()) {
                Some(span) => problem.at(span, "the API server drops it"),
                None => problem,
            };
            let names = known.iter().flat_map(|it| it.fields.keys().map(String::as_str));
            let hint = suggest::did_you_mean(&field.name, names);
            let add = || "add it to the contract of the status".to_owned();
            self.found.push(problem.hint(hint.unwrap_or_else(add)));
            return;
        }
        let records: Option<Vec<&Record>> = schemas
            .iter()
            .map(|it| match &it.of {
                Type::Record(record) if !it.embedded => Some(record),
                _ => None,
            })
            .collect();
        if let Some(records) = records {
            self.record(&field.value, &records, &format!("{of}.{}", field.name));
        }
    }
}
