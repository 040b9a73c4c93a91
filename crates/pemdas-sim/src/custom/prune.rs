//! Dropping what a schema does not know.

use serde_json::Value;

use super::{is_embedded, preserves_unknown};

/// Drops the fields that the schema of a whole object does not know, and names them.
pub(crate) fn prune(schema: &Value, object: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    walk(schema, object, "", true, &mut dropped);
    dropped
}

fn walk(schema: &Value, value: &mut Value, path: &str, is_object: bool, dropped: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let rest = schema.get("additionalProperties");
            let keeps = preserves_unknown(schema)
                || rest.is_some_and(|it| it != &Value::Bool(false))
                || (schema.get("type").is_none()
                    && properties.is_none()
                    && !path.is_empty()
                    && schema.get("x-kubernetes-int-or-string").is_none()
                    && preserves_unknown(schema));
            let whole = is_object || is_embedded(schema);
            let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let known = |name: &str| {
                properties.is_some_and(|it| it.contains_key(name))
                    || (whole && matches!(name, "apiVersion" | "kind" | "metadata"))
            };
            if !keeps {
                let gone: Vec<String> = fields.keys().filter(|name| !known(name)).cloned().collect();
                for name in gone {
                    fields.remove(&name);
                    dropped.push(below(&name));
                }
            }
            for (name, field) in fields.iter_mut() {
                if whole && name == "metadata" {
                    continue;
                }
                let inner = properties.and_then(|it| it.get(name)).or(rest.filter(|it| it.is_object()));
                if let Some(inner) = inner {
                    walk(inner, field, &below(name), false, dropped);
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                for (index, item) in items.iter_mut().enumerate() {
                    walk(inner, item, &format!("{path}[{index}]"), false, dropped);
                }
            }
        }
        _ => {}
    }
}
