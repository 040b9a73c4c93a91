//! Schemas that an author writes by hand: what of them a CRD can hold.
//!
//! The API server refuses a CRD as a whole for one keyword that it does not like. So every keyword is looked at here first, and
//! what would be refused is left out and told.

use serde_json::{Map, Value};

use super::pattern;

/// A keyword that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutKeyword {
    /// The keyword, with where it stands below the schema, such as `properties.a.minimum`.
    pub keyword: String,
    /// Why.
    pub why: String,
}

/// The types that a schema may name.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// What a value must be that holds for one of several schemas: nothing that shapes an object can be said there.
const IN_BRANCHES: [&str; 16] = [
    "allOf",
    "anyOf",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
];
/// How deep schemas are read.
const MAX_DEPTH: usize = 16;

/// The keywords that a CRD can hold, and those that it cannot.
#[must_use]
pub fn structural(keywords: &Map<String, Value>) -> (Map<String, Value>, Vec<LeftOutKeyword>) {
    let mut left_out = Vec::new();
    let kept = schema(keywords, "", 0, &mut left_out);
    (kept, left_out)
}

fn schema(
    keywords: &Map<String, Value>,
    path: &str,
    depth: usize,
    left_out: &mut Vec<LeftOutKeyword>,
) -> Map<String, Value> {
    let mut kept = Map::new();
    for (keyword, value) in keywords {
        let place = format!("{path}{keyword}");
        let held = match keyword.as_str() {
            _ if depth >= MAX_DEPTH => Err("it is nested too deep".to_owned()),
            "properties" => fields(value, &place, depth, left_out),
            "items" | "additionalProperties" => inner(keyword, value, &place, depth, left_out),
            _ => plain(keyword, value).map(|()| value.clone()),
        };
        let held = held.and_then(|held| match goes_with(keyword, keywords) {
            Some(why) => Err(why),
            None => Ok(held),
        });
        match held {
            Ok(held) => {
                kept.insert(keyword.clone(), held);
            }
            Err(why) => left_out.push(LeftOutKeyword { keyword: place, why }),
        }
    }
    kept
}

fn fields(
    value: &Value,
    place: &str,
    depth: usize,
    left_out: &mut Vec<LeftOutKeyword>,
) -> Result<Value, String> {
    let fields = value.as_object().ok_or("it is no record of schemas")?;
    let mut kept = Map::new();
    for (name, field) in fields {
        let below = format!("{place}.{name}.");
        let field = field.as_object().ok_or_else(|| format!("`{name}` is no schema"))?;
        kept.insert(name.clone(), Value::Object(schema(field, &below, depth + 1, left_out)));
    }
    Ok(Value::Object(kept))
}

fn inner(
    keyword: &str,
    value: &Value,
    place: &str,
    depth: usize,
    left_out: &mut Vec<LeftOutKeyword>,
) -> Result<Value, String> {
    match value {
        Value::Object(below) => Ok(Value::Object(schema(below, &format!("{place}."), depth + 1, left_out))),
        _ => Err(format!("`{keyword}` is a schema")),
    }
}

/// Whether a keyword may have a value.
fn plain(keyword: &str, value: &Value) -> Result<(), String> {
    let holds = |good: bool, wanted: &str| if good { Ok(()) } else { Err(format!("it is {wanted}")) };
    match keyword {
        "type" => {
            let known = value.as_str().is_some_and(|name| TYPES.contains(&name));
            holds(known, &format!("one of {}", TYPES.join(", ")))
        }
        "minimum" | "maximum" => holds(value.is_number(), "a number"),
        "multipleOf" => holds(value.as_f64().is_some_and(|it| it > 0.0), "a number above zero"),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            holds(value.is_u64(), "a whole number, zero or more")
        }
        "exclusiveMinimum" | "exclusiveMaximum" | "nullable" => holds(value.is_boolean(), "true or false"),
        "x-kubernetes-int-or-string"
        | "x-kubernetes-preserve-unknown-fields"
        | "x-kubernetes-embedded-resource" => holds(value == &Value::Bool(true), "true, or left out"),
        "description" | "format" | "pattern" => holds(value.is_string(), "a string"),
        "enum" => holds(value.as_array().is_some_and(|it| !it.is_empty()), "a list of values, not empty"),
        "required" | "x-kubernetes-list-map-keys" => {
            let names = value.as_array().is_some_and(|it| !it.is_empty() && it.iter().all(Value::is_string));
            holds(names, "a list of names, not empty")
        }
        "x-kubernetes-list-type" => {
            holds(["atomic", "set", "map"].iter().any(|one| value == one), "\"atomic\", \"set\" or \"map\"")
        }
        "x-kubernetes-map-type" => {
            holds(["atomic", "granular"].iter().any(|one| value == one), "\"atomic\" or \"granular\"")
        }
        "uniqueItems" => Err("the API server does not take it: use `SetOf`".to_owned()),
        "x-kubernetes-validations" => Err("a rule is written as `Cel { rule, check }`".to_owned()),
        "allOf" | "anyOf" | "oneOf" => match value.as_array() {
            Some(branches) if !branches.is_empty() => branches.iter().try_for_each(|one| branch(one, 0)),
            _ => Err("it is a list of schemas, not empty".to_owned()),
        },
        "not" => branch(value, 0),
        _ => Ok(()),
    }
}

/// Whether a schema can be one of several, or what must not be.
fn branch(value: &Value, depth: usize) -> Result<(), String> {
    let keywords = value.as_object().ok_or("it is a schema")?;
    for (keyword, value) in keywords {
        let known = IN_BRANCHES.contains(&keyword.as_str())
            || ["not", "oneOf", "required"].contains(&keyword.as_str());
        if depth >= MAX_DEPTH || !known {
            return Err(format!("`{keyword}` cannot be said in a branch of it"));
        }
        match (keyword.as_str(), value) {
            ("pattern", Value::String(text)) => match pattern::difference(text) {
                Some(why) => return Err(format!("of a pattern in it {why}")),
                None => pattern::is_one(text).map_err(|why| format!("a pattern in it is none: {why}"))?,
            },
            ("not", inner) => branch(inner, depth + 1)?,
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) if !branches.is_empty() => {
                branches.iter().try_for_each(|one| branch(one, depth + 1))?;
            }
            _ => plain(keyword, value)?,
        }
    }
    Ok(())
}

/// Why a keyword does not go with the others that stand beside it.
fn goes_with(keyword: &str, others: &Map<String, Value>) -> Option<String> {
    let is = |name: &str| others.get("type").and_then(Value::as_str) == Some(name);
    let set = |name: &str| others.get(name) == Some(&Value::Bool(true));
    match keyword {
        "type" if set("x-kubernetes-int-or-string") => {
            Some("a whole number or string has no `type`".to_owned())
        }
        "items" | "x-kubernetes-list-type" | "x-kubernetes-list-map-keys" if !is("array") => {
            Some("it goes with `type = \"array\"`".to_owned())
        }
        "properties" | "additionalProperties" | "x-kubernetes-map-type" if !is("object") => {
            Some("it goes with `type = \"object\"`".to_owned())
        }
        "additionalProperties" if others.contains_key("properties") => {
            Some("it does not go with `properties`".to_owned())
        }
        "x-kubernetes-embedded-resource" if !is("object") || !set("x-kubernetes-preserve-unknown-fields") => {
            Some("it goes with `type = \"object\"` and `x-kubernetes-preserve-unknown-fields`".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn left_out(keywords: &Value) -> Vec<String> {
        let (_, left_out) = structural(keywords.as_object().unwrap());
        left_out.into_iter().map(|one| one.keyword).collect()
    }

    #[test]
    fn what_the_api_server_takes_is_kept() {
        for good in [
            json!({ "type": "string", "anyOf": [{ "pattern": "a" }, { "not": { "maxLength": 3 } }] }),
            json!({ "type": "object", "properties": { "a": { "type": "integer", "minimum": 1 } }, "required": ["a"] }),
            json!({ "type": "object", "additionalProperties": { "type": "array", "items": { "type": "string" } } }),
            json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" }),
            json!({ "x-kubernetes-int-or-string": true, "pattern": "a" }),
        ] {
            let (kept, left_out) = structural(good.as_object().unwrap());
            assert_eq!((Value::Object(kept), left_out), (good, Vec::new()));
        }
    }

    #[test]
    fn what_it_refuses_is_left_out() {
        for (bad, keyword) in [
            (json!({ "type": "foo" }), "type"),
            (json!({ "type": "integer", "minimum": "x" }), "minimum"),
            (json!({ "type": "string", "maxLength": -1 }), "maxLength"),
            (json!({ "type": "array", "uniqueItems": true }), "uniqueItems"),
            (json!({ "anyOf": [{ "type": "string" }] }), "anyOf"),
            (json!({ "type": "string", "not": { "pattern": "(" } }), "not"),
            (json!({ "type": "string", "x-kubernetes-list-type": "set" }), "x-kubernetes-list-type"),
            (
                json!({ "type": "object", "x-kubernetes-embedded-resource": true }),
                "x-kubernetes-embedded-resource",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": "string", "enum": [] } } }),
                "properties.a.enum",
            ),
            (json!({ "type": "string", "x-kubernetes-validations": [] }), "x-kubernetes-validations"),
            (json!({ "type": "integer", "x-kubernetes-int-or-string": true }), "type"),
        ] {
            assert_eq!(left_out(&bad), [keyword], "{bad}");
        }
    }
}
