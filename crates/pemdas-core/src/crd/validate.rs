//! Whether a value fits a schema, as far as the schema itself goes: rules are the API server's to run.

use regex::Regex;
use serde_json::Value;

use super::schema::{ListType, Schema, Type};

/// Why a value does not fit; none if it does. Missing fields with a default count as given.
#[must_use]
pub fn refusal(schema: &Schema, value: &Value) -> Option<String> {
    check(schema, value, "")
}

fn check(schema: &Schema, value: &Value, path: &str) -> Option<String> {
    let here = if path.is_empty() { "the value" } else { path };
    if value.is_null() {
        return (!schema.nullable).then(|| format!("{here} is null"));
    }
    if let Some(allowed) = &schema.allowed
        && !allowed.contains(value)
    {
        return Some(format!("{here} is none of the allowed values"));
    }
    let wrong = || Some(format!("{here} is no {}", schema.type_name()));
    match (&schema.of, value) {
        (Type::Any, _) | (Type::Boolean, Value::Bool(_)) => None,
        (Type::String | Type::IntOrString, Value::String(text)) => text_refusal(schema, text, here),
        (Type::Integer | Type::IntOrString, Value::Number(number)) => {
            let whole = number.is_i64() || number.as_f64().is_some_and(|float| float.fract() == 0.0);
            if whole { number_refusal(schema, number.as_f64(), here) } else { wrong() }
        }
        (Type::Number, Value::Number(number)) => number_refusal(schema, number.as_f64(), here),
        (Type::List(items), Value::Array(elements)) => list_refusal(schema, items, elements, path, here),
        (Type::Dictionary(values), Value::Object(map)) => {
            map.iter().find_map(|(name, value)| check(values, value, &join(path, name)))
        }
        (Type::Record(record), Value::Object(map)) => {
            let missing = record.fields.iter().find(|(name, field)| {
                field.required && field.schema.default.is_none() && !map.contains_key(*name)
            });
            if let Some((name, _)) = missing {
                return Some(format!("{} is missing", join(path, name)));
            }
            map.iter().find_map(|(name, value)| match record.fields.get(name) {
                Some(field) => check(&field.schema, value, &join(path, name)),
                None if record.open => None,
                None => Some(format!("{} is unknown", join(path, name))),
            })
        }
        _ => wrong(),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn number_refusal(schema: &Schema, number: Option<f64>, here: &str) -> Option<String> {
    let number = number?;
    let least = schema.minimum.as_ref().and_then(serde_json::Number::as_f64);
    let most = schema.maximum.as_ref().and_then(serde_json::Number::as_f64);
    if least.is_some_and(|least| number < least) {
        return Some(format!("{here} is too small"));
    }
    most.is_some_and(|most| number > most).then(|| format!("{here} is too great"))
}

fn text_refusal(schema: &Schema, text: &str, here: &str) -> Option<String> {
    let length = text.chars().count() as u64;
    if schema.min_length.is_some_and(|least| length < least) {
        return Some(format!("{here} is too short"));
    }
    if schema.max_length.is_some_and(|most| length > most) {
        return Some(format!("{here} is too long"));
    }
    let unmatched = schema
        .patterns
        .iter()
        .find(|pattern| Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(text)))?;
    Some(format!("{here} does not match {unmatched}"))
}

fn list_refusal(
    schema: &Schema,
    items: &Schema,
    elements: &[Value],
    path: &str,
    here: &str,
) -> Option<String> {
    let count = elements.len() as u64;
    if schema.min_items.is_some_and(|least| count < least) {
        return Some(format!("{here} has too few items"));
    }
    if schema.max_items.is_some_and(|most| count > most) {
        return Some(format!("{here} has too many items"));
    }
    let key = |element: &Value| -> Value {
        match &schema.list_type {
            Some(ListType::Map(keys)) => keys.iter().map(|key| element.get(key).cloned()).collect(),
            _ => element.clone(),
        }
    };
    if matches!(schema.list_type, Some(ListType::Set | ListType::Map(_))) {
        let keys: Vec<Value> = elements.iter().map(key).collect();
        let twice =
            keys.iter().enumerate().any(|(index, key)| keys.iter().skip(index + 1).any(|other| other == key));
        if twice {
            return Some(format!("{here} has an item twice"));
        }
    }
    elements
        .iter()
        .enumerate()
        .find_map(|(index, element)| check(items, element, &format!("{path}[{index}]")))
}
