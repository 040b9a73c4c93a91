//! Reading JSON as an object of a built-in type: what Go could not read is refused, what it does not know is named.

use pemdas_core::kube_types::format::{Quantity, base64, date_time};
use pemdas_core::kube_types::{Shape, Type};
use serde_json::Value;

/// The fields that the type does not know, such as `spec.foo`.
///
/// # Errors
/// If a value is of a type that Go cannot read into the field.
pub(crate) fn decode(of: Type, value: &Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    record(of, value, "", &mut unknown)?;
    Ok(unknown)
}

fn record(of: Type, value: &Value, path: &str, unknown: &mut Vec<String>) -> Result<(), String> {
    let Some(fields) = value.as_object() else { return Ok(()) };
    for (name, value) in fields {
        let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match of.field(name) {
            Some(field) => shape(field.shape(), value, &below, of.short_name(), unknown)?,
            None => unknown.push(below),
        }
    }
    Ok(())
}

fn shape(of: Shape, value: &Value, path: &str, owner: &str, unknown: &mut Vec<String>) -> Result<(), String> {
    let wrong = || Err(mismatch(of, value, path, owner));
    match (of, value) {
        (_, Value::Null)
        | (Shape::Any | Shape::OneOf(_), _)
        | (Shape::String, Value::String(_))
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::Double, Value::Number(_))
        | (Shape::Object, Value::Object(_))
        | (Shape::IntOrString, Value::String(_)) => Ok(()),
        (Shape::Record(id), Value::Object(_)) => match Type::find(id) {
            Some(of) => record(of, value, path, unknown),
            None => Ok(()),
        },
        (Shape::List(item), Value::Array(items)) => {
            for (index, one) in items.iter().enumerate() {
                shape(item.shape(), one, &format!("{path}[{index}]"), owner, unknown)?;
            }
            Ok(())
        }
        (Shape::Dictionary(item), Value::Object(entries)) => {
            for (name, one) in entries {
                shape(item.shape(), one, &format!("{path}.{name}"), owner, unknown)?;
            }
            Ok(())
        }
        (Shape::Int32 | Shape::Int64 | Shape::IntOrString, Value::Number(number)) => {
            let whole =
                number.as_i64().is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0);
            let fits =
                matches!(of, Shape::Int64) || number.as_f64().is_some_and(|it| it.abs() < 2_147_483_648.0);
            if whole && fits { Ok(()) } else { wrong() }
        }
        (Shape::Bytes, Value::String(text)) => match base64(text) {
            Ok(()) => Ok(()),
            Err(_) => Err("illegal base64 data at input byte 0".to_owned()),
        },
        (Shape::Time | Shape::MicroTime, Value::String(text)) => match date_time(text) {
            Ok(()) => Ok(()),
            Err(_) => Err(format!("parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse")),
        },
        (Shape::Quantity, Value::String(text)) => match text.parse::<Quantity>() {
            Ok(_) => Ok(()),
            Err(_) => Err(
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                    .to_owned(),
            ),
        },
        (Shape::Quantity, Value::Number(_)) => Ok(()),
        _ => wrong(),
    }
}

fn mismatch(of: Shape, value: &Value, path: &str, owner: &str) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    // Go leaves indexes out of the path.
    let mut plain = String::new();
    let mut inside = false;
    for letter in path.chars() {
        match letter {
            '[' => inside = true,
            ']' => inside = false,
            _ if !inside => plain.push(letter),
            _ => {}
        }
    }
    format!("json: cannot unmarshal {found} into Go struct field {owner}.{plain} of type {}", go_type(of))
}

fn go_type(of: Shape) -> String {
    match of {
        Shape::String => "string".to_owned(),
        Shape::Boolean => "bool".to_owned(),
        Shape::Int32 | Shape::IntOrString => "int32".to_owned(),
        Shape::Int64 => "int64".to_owned(),
        Shape::Double => "float64".to_owned(),
        Shape::Bytes => "[]uint8".to_owned(),
        Shape::List(item) => format!("[]{}", go_type(item.shape())),
        Shape::Dictionary(item) => format!("map[string]{}", go_type(item.shape())),
        Shape::Record(id) => {
            let mut parts = id.rsplit('/');
            let (name, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            format!("{version}.{name}")
        }
        _ => "v1.Time".to_owned(),
    }
}
