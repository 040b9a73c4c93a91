//! Whether an object fits its schema, in the words of the API server.

use regex::Regex;
use serde_json::{Map, Value};

use super::preserves_unknown;
use crate::api::Cause;

/// What does not fit.
pub(crate) fn validate(schema: &Value, value: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(schema, value, path, &mut causes);
    causes
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn walk(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    if value.is_null() && schema.get("nullable") == Some(&Value::Bool(true)) {
        return;
    }
    let wanted = schema.get("type").and_then(Value::as_str);
    let either = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    let found = type_name(value);
    let whole = value.as_f64().is_some_and(|float| float.fract() == 0.0);
    let fits = match wanted {
        _ if either => matches!(found, "integer" | "string"),
        None => true,
        Some("integer") => found == "integer" || (found == "number" && whole),
        Some("number") => matches!(found, "integer" | "number"),
        Some(wanted) => wanted == found,
    };
    if !fits {
        let wanted = if either { "integer,string" } else { wanted.unwrap_or_default() };
        let field = if path.is_empty() { "<nil>" } else { path };
        let why = format!("{field} in body must be of type {wanted}: {found:?}");
        causes.push(Cause::mistyped(field, found, &why));
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let allowed: Vec<String> =
            allowed.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect();
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
        causes.push(Cause::unsupported(path, value, &allowed));
    }
    match value {
        Value::String(text) => string(schema, text, path, causes),
        Value::Number(_) => number(schema, value, path, causes),
        Value::Array(items) => list(schema, items, path, causes),
        Value::Object(fields) => object(schema, fields, path, causes),
        _ => {}
    }
    for each in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        walk(each, value, path, causes);
    }
    choices(schema, value, path, causes);
}

fn bound(schema: &Value, key: &str) -> Option<u64> {
    schema.get(key).and_then(Value::as_u64)
}

fn string(schema: &Value, text: &str, path: &str, causes: &mut Vec<Cause>) {
    let value = Value::from(text);
    let length = text.chars().count() as u64;
    if let Some(most) = bound(schema, "maxLength").filter(|most| length > *most) {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {most} bytes"),
            field: path.to_owned(),
        });
    }
    if let Some(least) = bound(schema, "minLength").filter(|least| length < *least) {
        let why = format!("{path} in body should be at least {least} chars long");
        causes.push(Cause::invalid(path, &value, &why));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && Regex::new(pattern).is_ok_and(|regex| !regex.is_match(text))
    {
        let why = format!("{path} in body should match '{pattern}'");
        causes.push(Cause::invalid(path, &value, &why));
    }
}

fn number(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(number) = value.as_f64() else { return };
    let flag = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    if let Some(most) = schema.get("maximum") {
        let exclusive = flag("exclusiveMaximum");
        if most.as_f64().is_some_and(|it| number > it || (exclusive && number == it)) {
            let sign = if exclusive { "less than" } else { "less than or equal to" };
            causes.push(Cause::invalid(path, value, &format!("{path} in body should be {sign} {most}")));
        }
    }
    if let Some(least) = schema.get("minimum") {
        let exclusive = flag("exclusiveMinimum");
        if least.as_f64().is_some_and(|it| number < it || (exclusive && number == it)) {
            let sign = if exclusive { "greater than" } else { "greater than or equal to" };
            causes.push(Cause::invalid(path, value, &format!("{path} in body should be {sign} {least}")));
        }
    }
    if let Some(factor) = schema.get("multipleOf").and_then(Value::as_f64)
        && (number / factor).fract() != 0.0
    {
        causes.push(Cause::invalid(path, value, &format!("{path} in body should be a multiple of {factor}")));
    }
}

fn too_many(path: &str, count: u64, most: u64) -> Cause {
    Cause {
        reason: "FieldValueTooMany",
        message: format!("Too many: {count}: must have at most {most} items"),
        field: path.to_owned(),
    }
}

fn list(schema: &Value, items: &[Value], path: &str, causes: &mut Vec<Cause>) {
    let count = items.len() as u64;
    if let Some(inner) = schema.get("items") {
        for (index, item) in items.iter().enumerate() {
            walk(inner, item, &format!("{path}[{index}]"), causes);
        }
    }
    if let Some(most) = bound(schema, "maxItems").filter(|most| count > *most) {
        causes.push(too_many(path, count, most));
    }
    if let Some(least) = bound(schema, "minItems").filter(|least| count < *least) {
        let why = format!("{path} in body should have at least {least} items");
        causes.push(Cause::invalid(path, &Value::from(count), &why));
    }
}

fn object(schema: &Value, fields: &Map<String, Value>, path: &str, causes: &mut Vec<Cause>) {
    let count = fields.len() as u64;
    if let Some(most) = bound(schema, "maxProperties").filter(|most| count > *most) {
        causes.push(too_many(path, count, most));
    }
    if let Some(least) = bound(schema, "minProperties").filter(|least| count < *least) {
        let why = format!("{path} in body should have at least {least} properties");
        causes.push(Cause::invalid(path, &Value::from(count), &why));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let rest = schema.get("additionalProperties").filter(|it| it.is_object());
    for (name, field) in fields {
        if let Some(inner) = properties.and_then(|it| it.get(name)).or(rest) {
            walk(inner, field, &join(path, name), causes);
        } else if !preserves_unknown(schema)
            && schema.get("additionalProperties") == Some(&Value::Bool(false))
        {
            causes.push(Cause::forbidden(&join(path, name), "unknown field"));
        }
    }
    for name in
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if !fields.contains_key(name) {
            causes.push(Cause::required(&join(path, name), ""));
        }
    }
}

fn choices(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let fitting = |key: &str| {
        let all = schema.get(key).and_then(Value::as_array)?;
        Some(all.iter().filter(|one| validate(one, value, path).is_empty()).count())
    };
    let shown = Value::from("");
    let place = if path.is_empty() { "<nil>" } else { path };
    if fitting("anyOf") == Some(0) {
        causes.push(Cause::invalid(
            place,
            &shown,
            &format!("{place:?} must validate at least one schema (anyOf)"),
        ));
    }
    if fitting("oneOf").is_some_and(|count| count != 1) {
        causes.push(Cause::invalid(
            place,
            &shown,
            &format!("{place:?} must validate one and only one schema (oneOf)"),
        ));
    }
    if schema.get("not").is_some_and(|not| validate(not, value, path).is_empty()) {
        causes.push(Cause::invalid(place, &shown, &format!("{place:?} must not validate the schema (not)")));
    }
}

/// Items of sets and maps that stand there twice, or lack a key.
pub(crate) fn wrong_lists(schema: &Value, value: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    match value {
        Value::Array(items) => {
            let keys: Vec<&str> = schema
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let kind = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
            let key_of = |item: &Value| match kind {
                Some("map") => {
                    let fields = keys
                        .iter()
                        .map(|key| ((*key).to_owned(), item.get(key).cloned().unwrap_or_default()));
                    Value::Object(fields.collect())
                }
                _ => item.clone(),
            };
            if matches!(kind, Some("map" | "set")) {
                let mut seen: Vec<Value> = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let key = key_of(item);
                    if seen.contains(&key) {
                        causes.push(Cause::duplicate(&format!("{path}[{index}]"), &key));
                    }
                    seen.push(key);
                }
            }
            if let Some(inner) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    causes.extend(wrong_lists(inner, item, &format!("{path}[{index}]")));
                }
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let inner = schema.get("properties").and_then(|it| it.get(name));
                if let Some(inner) = inner.or(schema.get("additionalProperties").filter(|it| it.is_object()))
                {
                    causes.extend(wrong_lists(inner, field, &join(path, name)));
                }
            }
        }
        _ => {}
    }
    causes
}
