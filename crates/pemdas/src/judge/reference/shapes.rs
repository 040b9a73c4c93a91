//! Whether something is of a shape, as docs/language/shapes.md has it.

use serde_json::Value;

/// Of an object that exists; a missing field is `None`.
pub(super) fn holds(shape: &Value, it: Option<&Value>) -> bool {
    let part = |name: &str| shape.get(name).cloned().unwrap_or_default();
    let all = |name: &str| part(name).as_array().cloned().unwrap_or_default();
    match shape.get("~shape").and_then(Value::as_str) {
        None if shape.is_object() => has(shape, it),
        None => it == Some(shape),
        Some("has") => has(&part("want"), it),
        Some("Any") => it.is_some(),
        Some("Absent") => it.is_none(),
        Some("Ready") => it.is_some_and(ready),
        Some("Complete") => it.is_some_and(|it| is(it, "Complete", "True")),
        Some("Available") => it.is_some_and(|it| is(it, "Available", "True")),
        Some("condition") => {
            let (kind, status) = (part("type"), part("status"));
            it.is_some_and(|it| {
                is(it, kind.as_str().unwrap_or_default(), status.as_str().unwrap_or_default())
            })
        }
        Some("equals") => it == Some(&part("value")),
        Some("at_least") => {
            it.and_then(Value::as_f64).zip(part("value").as_f64()).is_some_and(|(it, of)| it >= of)
        }
        Some("one_of") => it.is_some_and(|it| all("values").contains(it)),
        Some("matches") => {
            let text = it.and_then(Value::as_str);
            // The patterns of the generator are these two.
            match part("pattern").as_str().unwrap_or_default() {
                "^[a-zA-Z]" => text.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_alphabetic())),
                letter => text.is_some_and(|it| it.contains(letter)),
            }
        }
        Some("all_of") => all("shapes").iter().all(|shape| holds(shape, it)),
        Some("any_of") => all("shapes").iter().any(|shape| holds(shape, it)),
        Some("not") => !holds(&part("shape"), it),
        Some(other) => panic!("the reference does not know the shape {other}"),
    }
}

fn has(fields: &Value, it: Option<&Value>) -> bool {
    let fields = fields.as_object().cloned().unwrap_or_default();
    fields.iter().all(|(name, shape)| holds(shape, it.and_then(|it| it.get(name))))
}

/// Where there is no object: only a shape that names `Absent` outside of `not` is asked at all.
pub(super) fn holds_of_nothing(shape: &Value) -> bool {
    names_absence(shape) && holds(shape, None)
}

fn names_absence(shape: &Value) -> bool {
    let all = || shape.get("shapes").and_then(Value::as_array).into_iter().flatten();
    match shape.get("~shape").and_then(Value::as_str) {
        Some("Absent") => true,
        Some("any_of" | "all_of") => all().any(names_absence),
        _ => false,
    }
}

/// By the rules of its kind. Of the kinds that the generator makes only Deployments and Jobs have any.
pub(super) fn ready(object: &Value) -> bool {
    match object["kind"].as_str() {
        Some("Deployment") => is(object, "Available", "True"),
        Some("Job") => is(object, "Complete", "True"),
        _ => true,
    }
}

fn is(object: &Value, kind: &str, status: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|it| it["type"] == kind && it["status"] == status)
}
