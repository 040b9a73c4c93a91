//! Filling in what a schema says is there by default.

use serde_json::Value;

/// Fills in defaults. A null where none may be is taken as missing.
pub(crate) fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, inner) in properties.into_iter().flatten() {
                let default = inner.get("default");
                let is_nullable = inner.get("nullable") == Some(&Value::Bool(true));
                if let Some(default) = default {
                    if fields.get(name).is_some_and(Value::is_null) && !is_nullable {
                        fields.remove(name);
                    }
                    if !fields.contains_key(name) {
                        fields.insert(name.clone(), default.clone());
                    }
                }
                if let Some(field) = fields.get_mut(name) {
                    fill(inner, field);
                }
            }
            if let Some(rest) = schema.get("additionalProperties").filter(|it| it.is_object()) {
                for (name, field) in fields.iter_mut() {
                    if properties.is_none_or(|it| !it.contains_key(name)) {
                        fill(rest, field);
                    }
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                items.iter_mut().for_each(|item| fill(inner, item));
            }
        }
        _ => {}
    }
}
