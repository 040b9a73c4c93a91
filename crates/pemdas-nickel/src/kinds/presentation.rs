//! What a kind says about how it shows itself.

use pemdas_core::crd::{AUTHOR_MAY_NOT_USE, Column, KindDraft, Scale, Schema, Type, VersionDraft, codes};
use pemdas_core::diagnostic::{Diagnostic, Span};
use serde_json::Value;

use super::Drafter;
use crate::request::Place;

/// What an object has beside spec and status that a column may show.
const METADATA: [&str; 4] =
    ["metadata.name", "metadata.namespace", "metadata.generation", "metadata.creationTimestamp"];

/// How many bytes the warning of a version has at most.
const LONGEST_WARNING: usize = 256;

impl Drafter<'_> {
    /// The names of a kind beside its own.
    pub(super) fn names(&mut self, draft: &mut KindDraft) {
        let place = self.place();
        let text =
            |value: Option<(Value, Span)>| value.and_then(|(value, _)| value.as_str().map(str::to_owned));
        let listed = |value: Option<(Value, Span)>| -> Vec<String> {
            value.and_then(|(value, _)| serde_json::from_value(value).ok()).unwrap_or_default()
        };
        draft.singular = text(self.said(&place, "singular"));
        draft.description = text(self.said(&place, "description")).map(|text| text.trim().to_owned());
        draft.categories = listed(self.said(&place, "categories"));
        let accept = self.said(&place, "accept");
        let span = accept.as_ref().map_or_else(|| self.owned.span.clone(), |(_, span)| span.clone());
        let accepted = listed(accept);
        for unknown in accepted.iter().filter(|code| !codes::ADVICE.contains(&code.as_str())) {
            self.drafts.diagnostics.push(
                Diagnostic::error(
                    codes::PRESENTATION,
                    format!("\"{unknown}\" is no advice that a kind could decline"),
                )
                .at(span.clone(), "")
                .hint(format!("there are: {}", codes::ADVICE.join(", "))),
            );
        }
        if !accepted.is_empty() {
            self.drafts.accepted.insert(draft.kind.clone(), accepted.into_iter().collect());
        }
    }

    /// What a version says of itself.
    pub(super) fn shown(&mut self, name: &str, draft: &mut VersionDraft) {
        let place = self.place().field("versions").field(name);
        draft.deprecated = match self.said(&place, "deprecated") {
            Some((Value::String(warning), span)) => Some(self.warning(warning, &span)),
            Some((Value::Bool(true), _)) => Some(String::new()),
            _ => None,
        };
        if let Some((Value::Array(columns), span)) = self.said(&place, "columns") {
            for column in columns {
                let text = |key: &str| column.get(key).and_then(Value::as_str).map(str::to_owned);
                let column = Column {
                    name: text("name").unwrap_or_default(),
                    path: text("path").unwrap_or_default(),
                    of: text("type"),
                    priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
                    description: text("description"),
                    span: Some(span.clone()),
                };
                if self.leads_somewhere(draft, &column.path, &span, "column")
                    && self.is_column_type(column.of.as_deref(), &span)
                {
                    draft.columns.push(column);
                }
            }
        }
        if let Some((scale, span)) = self.said(&place, "scale") {
            draft.scale = self.scale(draft, &scale, &span);
        }
    }

    fn scale(&mut self, draft: &VersionDraft, scale: &Value, span: &Span) -> Option<Scale> {
        let text = |key: &str| scale.get(key).and_then(Value::as_str).map(str::to_owned);
        let scale = Scale {
            replicas: text("replicas")?,
            status_replicas: text("status_replicas")?,
            selector: text("selector"),
            span: Some(span.clone()),
        };
        let mut good = true;
        for (path, root) in [(&scale.replicas, "spec."), (&scale.status_replicas, "status.")] {
            let fits = self.leads_somewhere(draft, path, span, "scale");
            let whole = matches!(find(draft, path), Some(Schema { of: Type::Integer | Type::Number, .. }));
            if fits && (!path.starts_with(root) || !whole) {
                let message = format!("scaling goes by a number below `{root}`, and `{path}` is none");
                self.drafts
                    .diagnostics
                    .push(Diagnostic::error(codes::PRESENTATION, message).at(span.clone(), ""));
            }
            good &= fits && whole && path.starts_with(root);
        }
        if let Some(selector) = &scale.selector {
            good &= self.leads_somewhere(draft, selector, span, "scale");
        }
        good.then_some(scale)
    }

    /// A warning as the API server takes it; otherwise its own stands in for it.
    fn warning(&mut self, warning: String, span: &Span) -> String {
        if warning.len() <= LONGEST_WARNING && !warning.chars().any(char::is_control) {
            return warning;
        }
        let message = format!("a warning is one line of at most {LONGEST_WARNING} bytes");
        self.drafts.diagnostics.push(
            Diagnostic::error(codes::PRESENTATION, message)
                .at(span.clone(), "")
                .note("the CRD has the API server's own warning"),
        );
        String::new()
    }

    fn is_column_type(&mut self, of: Option<&str>, span: &Span) -> bool {
        let types = ["string", "integer", "number", "boolean", "date"];
        let Some(wrong) = of.filter(|of| !types.contains(of)) else { return true };
        let message = format!("a column has no type \"{wrong}\"");
        self.drafts.diagnostics.push(
            Diagnostic::error(codes::PRESENTATION, message)
                .at(span.clone(), "")
                .hint(format!("there are: {}", types.join(", "))),
        );
        false
    }

    /// Whether a path is one of a field.
    fn leads_somewhere(&mut self, draft: &VersionDraft, path: &str, span: &Span, what: &str) -> bool {
        let own = path.strip_prefix("status.").is_some_and(|rest| AUTHOR_MAY_NOT_USE.contains(&rest));
        if own || METADATA.contains(&path) || find(draft, path).is_some() {
            return true;
        }
        let message = format!("the {what} path `{path}` leads to no field");
        self.drafts.diagnostics.push(
            Diagnostic::error(codes::PRESENTATION, message)
                .at(span.clone(), "")
                .note("the CRD leaves it out")
                .hint("paths begin with `spec.` or `status.` and have dots between names"),
        );
        false
    }

    /// What is said in a field, and where; none if nothing is.
    fn said(&mut self, place: &Place, name: &str) -> Option<(Value, Span)> {
        let seen = self.evaluator.look(place).ok()?;
        let field = seen.fields.into_iter().find(|field| field.defined && field.name == name)?;
        let span = field.value_span.or(field.span).filter(|span| !crate::is_library_file(&span.file));
        // A value that cannot be had is told where the blueprint is outlined.
        let value = self.evaluator.evaluate(&place.clone().field(name)).ok()?;
        Some((value, span.unwrap_or_else(|| self.owned.span.clone())))
    }
}

fn find<'d>(draft: &'d VersionDraft, path: &str) -> Option<&'d Schema> {
    let names: Vec<&str> = path.split('.').collect();
    match names.split_first() {
        Some((&"spec", rest)) => draft.spec.at(rest),
        Some((&"status", rest)) => draft.status.at(rest),
        _ => None,
    }
}
