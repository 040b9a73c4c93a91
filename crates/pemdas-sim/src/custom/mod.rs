//! Objects of custom kinds: what their definitions say of them.

mod definition;
mod fill;
mod prune;
mod rules;
mod validate;

pub use definition::{Column, Definition, Scale};
pub(crate) use definition::{conditions, versions};
pub(crate) use fill::fill;
pub(crate) use prune::prune;
pub(crate) use rules::broken_rules;
pub(crate) use validate::{validate, wrong_lists};

use serde_json::Value;

/// Whether a schema keeps fields that it does not name.
pub(crate) fn preserves_unknown(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
}

/// Whether there are rules somewhere in a schema.
pub(crate) fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.contains_key("x-kubernetes-validations") || fields.values().any(has_rules)
        }
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

/// Whether a schema is of a whole object.
pub(crate) fn is_embedded(schema: &Value) -> bool {
    schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true))
}
