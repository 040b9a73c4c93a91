//! JSON patches.

use serde_json::Value;

/// Why a patch cannot be applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JsonPatchError {
    /// It is no patch.
    Unreadable(String),
    /// It does not go with the object.
    Unfitting(String),
}

/// Applies all operations of a patch.
///
/// # Errors
/// If it is no patch, or does not go with the object.
pub(crate) fn apply_json(target: &mut Value, patch: &Value) -> Result<(), JsonPatchError> {
    let Some(operations) = patch.as_array() else {
        return Err(JsonPatchError::Unreadable(
            "json: cannot unmarshal object into Go value of type jsonpatch.Patch".to_owned(),
        ));
    };
    operations.iter().try_for_each(|operation| apply(target, operation))
}

fn unfitting<T>(message: String) -> Result<T, JsonPatchError> {
    Err(JsonPatchError::Unfitting(message))
}

fn apply(target: &mut Value, operation: &Value) -> Result<(), JsonPatchError> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
    let path = text("path");
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match text("op") {
        "add" => add(target, path, value(), "add"),
        "remove" => remove(target, path).map(drop),
        "replace" => {
            // A field that is not there is set nevertheless; an item is not.
            if find(target, path).is_none() {
                let parent = split(path).and_then(|(parent, _)| find(target, &parent));
                return match parent {
                    Some(Value::Object(_)) => add(target, path, value(), "replace"),
                    _ => unfitting(format!(
                        "replace operation does not apply: doc is missing key: {path}: missing value"
                    )),
                };
            }
            if let Some(place) = find(target, path) {
                *place = value();
            }
            Ok(())
        }
        "test" => {
            let found = find(target, path).cloned();
            match found {
                Some(found) if found == value() => Ok(()),
                None if value().is_null() => Ok(()),
                _ => unfitting(format!("testing value {path} failed: test failed")),
            }
        }
        "move" => {
            let moved = remove(target, text("from"))?;
            add(target, path, moved, "move")
        }
        "copy" => {
            let Some(copied) = find(target, text("from")).cloned() else {
                return unfitting(format!(
                    "copy operation does not apply: doc is missing from path: {}: missing value",
                    text("from")
                ));
            };
            add(target, path, copied, "copy")
        }
        other => unfitting(format!("Unexpected kind: {other}")),
    }
}

fn steps(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

fn find<'a>(target: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut place = target;
    for step in steps(path) {
        place = match place {
            Value::Object(fields) => fields.get_mut(&step)?,
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(place)
}

fn split(path: &str) -> Option<(String, String)> {
    let mut steps: Vec<&str> = path.split('/').collect();
    let last = steps.pop()?.replace("~1", "/").replace("~0", "~");
    Some((steps.join("/"), last))
}

fn add(target: &mut Value, path: &str, value: Value, verb: &str) -> Result<(), JsonPatchError> {
    let missing =
        |what: &str| format!("{verb} operation does not apply: doc is missing path: {what:?}: missing value");
    let Some((parent, last)) = split(path).filter(|_| !path.is_empty()) else {
        *target = value;
        return Ok(());
    };
    match find(target, &parent) {
        Some(Value::Object(fields)) => {
            fields.insert(last, value);
            Ok(())
        }
        Some(Value::Array(items)) => {
            let place = if last == "-" { Some(items.len()) } else { last.parse().ok() };
            match place {
                Some(place) if place <= items.len() => {
                    items.insert(place, value);
                    Ok(())
                }
                _ => unfitting(format!(
                    "{verb} operation does not apply: doc is missing path: {path:?}: Unable to access invalid index: {last}: invalid index referenced"
                )),
            }
        }
        _ => unfitting(missing(path)),
    }
}

fn remove(target: &mut Value, path: &str) -> Result<Value, JsonPatchError> {
    let Some((parent, last)) = split(path) else { return unfitting("missing path".to_owned()) };
    match find(target, &parent) {
        Some(Value::Object(fields)) => match fields.remove(&last) {
            Some(removed) => Ok(removed),
            None => unfitting(format!(
                "remove operation does not apply: doc is missing key: {path}: Unable to remove nonexistent key: {last}: missing value"
            )),
        },
        Some(Value::Array(items)) => match last.parse::<usize>().ok().filter(|place| *place < items.len()) {
            Some(place) => Ok(items.remove(place)),
            None => unfitting(format!(
                "remove operation does not apply: doc is missing key: {path}: Unable to access invalid index: {last}: invalid index referenced"
            )),
        },
        _ => unfitting(format!(
            "remove operation does not apply: doc is missing path: {path:?}: missing value"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::apply_json;

    #[test]
    fn operations_are_applied_in_order() {
        let mut object = json!({ "a": { "b/c": [1, 2] }, "d": 3 });
        let patch = json!([
            { "op": "test", "path": "/d", "value": 3 },
            { "op": "add", "path": "/a/b~1c/1", "value": 9 },
            { "op": "remove", "path": "/a/b~1c/0" },
            { "op": "move", "from": "/d", "path": "/e" },
            { "op": "copy", "from": "/e", "path": "/a/f" },
            { "op": "replace", "path": "/e", "value": null },
        ]);
        apply_json(&mut object, &patch).unwrap();
        assert_eq!(object, json!({ "a": { "b/c": [9, 2], "f": 3 }, "e": null }));
        assert!(apply_json(&mut object, &json!([{ "op": "remove", "path": "/x" }])).is_err());
        assert!(apply_json(&mut object, &json!([{ "op": "test", "path": "/a", "value": 1 }])).is_err());
    }
}
