//! JSON merge patches.

use serde_json::{Map, Value};

/// Lays a patch over a value: nulls remove.
pub(crate) fn apply_merge(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(target) = target.as_object_mut() else { return };
    for (name, value) in fields {
        if value.is_null() {
            target.remove(name);
        } else {
            apply_merge(target.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
