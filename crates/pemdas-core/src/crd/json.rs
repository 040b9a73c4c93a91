//! Schemas as the API server reads and writes them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::rule::{CelRule, Reason};
use super::schema::{Field, ListType, Record, Schema, Type};

/// How deep a schema that is not ours is read.
const MAX_DEPTH: usize = 64;

/// The keywords that the model knows. Others are kept as they are.
pub const KEYWORDS: [&str; 25] = [
    "type",
    "description",
    "default",
    "nullable",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

/// A schema as it stands in a CRD.
#[must_use]
pub fn to_json(schema: &Schema) -> Value {
    let mut out: Map<String, Value> = schema.other.clone().into_iter().collect();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(key.to_owned(), value);
        }
    };
    put("description", schema.description.clone().map(Value::from));
    put("default", schema.default.clone());
    put("nullable", schema.nullable.then_some(Value::Bool(true)));
    put("enum", schema.allowed.clone().map(Value::from));
    put("minimum", schema.minimum.clone().map(Value::from));
    put("maximum", schema.maximum.clone().map(Value::from));
    put("minLength", schema.min_length.map(Value::from));
    put("maxLength", schema.max_length.map(Value::from));
    put("format", schema.format.clone().map(Value::from));
    put("minItems", schema.min_items.map(Value::from));
    put("maxItems", schema.max_items.map(Value::from));
    put("minProperties", schema.min_properties.map(Value::from));
    put("maxProperties", schema.max_properties.map(Value::from));
    put("pattern", schema.patterns.first().cloned().map(Value::from));
    let further: Vec<Value> = schema.patterns.iter().skip(1).map(|one| json!({ "pattern": one })).collect();
    put("allOf", (!further.is_empty()).then(|| further.into()));
    put("x-kubernetes-map-type", schema.atomic.then(|| json!("atomic")));
    match &schema.list_type {
        None => {}
        Some(ListType::Atomic) => put("x-kubernetes-list-type", Some(json!("atomic"))),
        Some(ListType::Set) => put("x-kubernetes-list-type", Some(json!("set"))),
        Some(ListType::Map(keys)) => {
            put("x-kubernetes-list-type", Some(json!("map")));
            put("x-kubernetes-list-map-keys", Some(json!(keys)));
        }
    }
    let rules: Vec<Value> = schema.rules.iter().map(rule_to_json).collect();
    put("x-kubernetes-validations", (!rules.is_empty()).then(|| rules.into()));
    put_type(&mut out, &schema.of);
    Value::Object(out)
}

fn put_type(out: &mut Map<String, Value>, of: &Type) {
    let name = match of {
        Type::Any => {
            out.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
            return;
        }
        Type::IntOrString => {
            out.insert("x-kubernetes-int-or-string".to_owned(), json!(true));
            return;
        }
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
        Type::List(items) => {
            out.insert("items".to_owned(), to_json(items));
            "array"
        }
        Type::Dictionary(values) => {
            out.insert("additionalProperties".to_owned(), to_json(values));
            "object"
        }
        Type::Record(record) => {
            if record.open {
                out.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
            }
            let fields: Map<String, Value> =
                record.fields.iter().map(|(name, field)| (name.clone(), to_json(&field.schema))).collect();
            if !fields.is_empty() {
                out.insert("properties".to_owned(), fields.into());
            }
            let required: Vec<&String> =
                record.fields.iter().filter(|(_, field)| field.required).map(|(name, _)| name).collect();
            if !required.is_empty() {
                out.insert("required".to_owned(), json!(required));
            }
            "object"
        }
    };
    out.insert("type".to_owned(), json!(name));
}

fn rule_to_json(rule: &CelRule) -> Value {
    let mut out = Map::new();
    out.insert("rule".to_owned(), json!(rule.rule));
    for (key, value) in [
        ("message", &rule.message),
        ("messageExpression", &rule.message_expression),
        ("fieldPath", &rule.field_path),
    ] {
        if let Some(value) = value {
            out.insert(key.to_owned(), json!(value));
        }
    }
    if let Some(reason) = rule.reason {
        out.insert("reason".to_owned(), json!(reason.name()));
    }
    if rule.optional_old_self {
        out.insert("optionalOldSelf".to_owned(), json!(true));
    }
    Value::Object(out)
}

/// A schema of a CRD, also of one that is not ours.
#[must_use]
pub fn from_json(value: &Value) -> Schema {
    read(value, MAX_DEPTH)
}

fn read(value: &Value, depth: usize) -> Schema {
    let Some(depth) = depth.checked_sub(1) else { return Schema::any() };
    let Some(map) = value.as_object() else { return Schema::any() };
    let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| map.get(key).and_then(Value::as_number).cloned();
    let count = |key: &str| map.get(key).and_then(Value::as_u64);
    let flag = |key: &str| map.get(key).and_then(Value::as_bool).unwrap_or_default();
    let names = |key: &str| -> Vec<String> {
        let found = map.get(key).and_then(Value::as_array);
        found.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let mut schema = Schema::new(type_of(map, depth));
    schema.description = text("description");
    schema.default = map.get("default").cloned();
    schema.nullable = flag("nullable");
    schema.allowed = map.get("enum").and_then(Value::as_array).cloned();
    schema.minimum = number("minimum");
    schema.maximum = number("maximum");
    schema.min_length = count("minLength");
    schema.max_length = count("maxLength");
    schema.patterns = text("pattern").into_iter().collect();
    schema.format = text("format");
    schema.min_items = count("minItems");
    schema.max_items = count("maxItems");
    schema.min_properties = count("minProperties");
    schema.max_properties = count("maxProperties");
    schema.atomic = text("x-kubernetes-map-type").as_deref() == Some("atomic");
    schema.list_type = match text("x-kubernetes-list-type").as_deref() {
        Some("atomic") => Some(ListType::Atomic),
        Some("set") => Some(ListType::Set),
        Some("map") => Some(ListType::Map(names("x-kubernetes-list-map-keys"))),
        _ => None,
    };
    let rules = map.get("x-kubernetes-validations").and_then(Value::as_array);
    schema.rules = rules.into_iter().flatten().map(rule_from_json).collect();
    let mut other: BTreeMap<String, Value> = map
        .iter()
        .filter(|(key, _)| !KEYWORDS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if let Some(further) = other.get("allOf").and_then(only_patterns) {
        schema.patterns.extend(further);
        other.remove("allOf");
    }
    schema.other = other;
    schema
}

/// Patterns of which all must match, as they are written if there are several.
fn only_patterns(all_of: &Value) -> Option<Vec<String>> {
    let parts = all_of.as_array()?;
    parts
        .iter()
        .map(|part| match part.as_object() {
            Some(map) if map.len() == 1 => map.get("pattern")?.as_str().map(str::to_owned),
            _ => None,
        })
        .collect()
}

fn type_of(map: &Map<String, Value>, depth: usize) -> Type {
    if map.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return Type::IntOrString;
    }
    let open = map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    match map.get("type").and_then(Value::as_str) {
        Some("string") => Type::String,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("boolean") => Type::Boolean,
        Some("array") => {
            Type::List(Box::new(map.get("items").map_or_else(Schema::any, |items| read(items, depth))))
        }
        Some("object") => match map.get("additionalProperties") {
            Some(Value::Object(values)) => {
                Type::Dictionary(Box::new(read(&Value::Object(values.clone()), depth)))
            }
            Some(Value::Bool(true)) => Type::Dictionary(Box::new(Schema::any())),
            _ => Type::Record(record_of(map, open, depth)),
        },
        _ => Type::Any,
    }
}

fn record_of(map: &Map<String, Value>, open: bool, depth: usize) -> Record {
    let required: BTreeSet<&str> = map
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = map.get("properties").and_then(Value::as_object).into_iter().flatten();
    let fields = fields
        .map(|(name, schema)| {
            let required = required.contains(name.as_str());
            (name.clone(), Field { schema: read(schema, depth), required, filled: false })
        })
        .collect();
    Record { fields, open }
}

fn rule_from_json(value: &Value) -> CelRule {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    CelRule {
        rule: text("rule").unwrap_or_default(),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: text("reason").as_deref().and_then(Reason::of),
        field_path: text("fieldPath"),
        optional_old_self: value.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or_default(),
    }
}
