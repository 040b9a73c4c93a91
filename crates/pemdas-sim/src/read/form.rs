//! The forms that objects are shown in: whole, metadata only, or a table.

use serde_json::{Value, json};

use super::table;
use crate::kinds::Resource;

/// A form that a client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Whole objects.
    Whole,
    /// Only their metadata.
    Metadata,
    /// Rows for people.
    Table,
}

impl Form {
    /// What the header `accept` asks for first.
    pub(crate) fn accepted(accept: Option<&String>) -> Self {
        for choice in accept.map(String::as_str).unwrap_or_default().split(',') {
            let mut kind = None;
            for word in choice.split(';').map(str::trim) {
                if let Some(name) = word.strip_prefix("as=") {
                    kind = Some(name);
                }
            }
            match kind {
                Some("Table") => return Self::Table,
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => return Self::Metadata,
                _ if choice.trim().starts_with("application/json") || choice.trim() == "*/*" => {
                    return Self::Whole;
                }
                _ => {}
            }
        }
        Self::Whole
    }
}

/// An object in a form.
pub(crate) fn shown(resource: &Resource, object: &Value, form: Form, now: &str) -> Value {
    match form {
        Form::Whole => object.clone(),
        Form::Metadata => json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": object.get("metadata").cloned().unwrap_or(json!({})),
        }),
        Form::Table => table::table(
            resource,
            &[object],
            &json!({ "resourceVersion": object["metadata"]["resourceVersion"] }),
            now,
        ),
    }
}
