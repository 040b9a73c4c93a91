//! The form that Go gives an object: empty fields left out or not, structs always there.
//!
//! `encoding.txt` says for each field how it is written; see `encoding/main.go`.

use std::{collections::BTreeMap, sync::LazyLock};

use pemdas_core::kube_types::format::Quantity;
use pemdas_core::kube_types::{Shape, Type};
use serde_json::{Map, Value};

/// A line for each type, ordered by name.
const ENCODING: &str = include_str!("encoding.txt");

/// The form of a field.
#[derive(Debug, Clone, Copy)]
struct Form {
    name: &'static str,
    shape: Shape,
    /// The letter of `encoding.txt`.
    letter: char,
    /// The JSON of the zero value, of what writes itself.
    zero: &'static str,
    always: bool,
    omit_zero: bool,
}

/// The forms of the fields of all types, by the types' names: every object that is written asks for some.
static FORMS: LazyLock<BTreeMap<&'static str, Vec<Form>>> = LazyLock::new(|| {
    let read = |line: &'static str| {
        let (id, words) = line.split_once(' ')?;
        let of = Type::find(id);
        let forms = words.split(' ').filter_map(|word| {
            let (name, form) = word.split_once(':')?;
            let letter = form.chars().next()?;
            let (always, omit_zero) = (form.ends_with('!'), form.ends_with('z'));
            let zero = form.get(1..)?.trim_end_matches(['!', 'z']);
            let shape = of.and_then(|of| of.field(name)).map_or(Shape::Any, |field| field.shape());
            Some(Form { name, shape, letter, zero, always, omit_zero })
        });
        Some((id, forms.collect()))
    };
    ENCODING.lines().filter_map(read).collect()
});

/// A record as Go would write it after reading it: fields it does not know are gone.
pub(crate) fn encode(of: Type, value: &Value) -> Value {
    let empty = Map::new();
    let given = value.as_object().unwrap_or(&empty);
    let mut written = Map::new();
    for form in FORMS.get(of.id()).into_iter().flatten() {
        let given = given.get(form.name).filter(|value| !value.is_null());
        if let Some(value) = encode_field(form, given) {
            written.insert(form.name.to_owned(), value);
        }
    }
    Value::Object(written)
}

fn encode_field(form: &Form, given: Option<&Value>) -> Option<Value> {
    let value = given.map(|value| encode_shape(form.shape, value));
    match form.letter {
        's' => {
            let value = value.unwrap_or_else(|| match form.shape {
                Shape::Record(id) => Type::find(id).map_or(Value::Null, |it| encode(it, &Value::Null)),
                _ => Value::Object(Map::new()),
            });
            let is_zero = value.as_object().is_some_and(Map::is_empty);
            (!form.omit_zero || !is_zero).then_some(value)
        }
        'p' => value.or(form.always.then_some(Value::Null)),
        'x' => match value {
            Some(value) => Some(value),
            None if form.omit_zero => None,
            None => serde_json::from_str(form.zero).ok(),
        },
        _ => match value {
            Some(value) if form.always || !is_empty(&value) => Some(value),
            _ if !form.always => None,
            _ => Some(match form.letter {
                't' => Value::from(""),
                'b' => Value::Bool(false),
                'i' => Value::from(0),
                _ => Value::Null,
            }),
        },
    }
}

fn encode_shape(shape: Shape, value: &Value) -> Value {
    match (shape, value) {
        (Shape::Record(id), Value::Object(_)) => Type::find(id).map_or(value.clone(), |it| encode(it, value)),
        (Shape::List(item), Value::Array(items)) => {
            items.iter().map(|one| encode_shape(item.shape(), one)).collect()
        }
        (Shape::Dictionary(item), Value::Object(entries)) => {
            entries.iter().map(|(name, one)| (name.clone(), encode_shape(item.shape(), one))).collect()
        }
        (Shape::Quantity, Value::String(text)) => canonical(text),
        (Shape::Quantity, Value::Number(number)) => canonical(&number.to_string()),
        // A null in the place of a text is the empty text.
        (Shape::String | Shape::Bytes, Value::Null) => Value::from(""),
        (Shape::Int32 | Shape::Int64, Value::Number(number)) => {
            // Go reads 1.0 as a whole number.
            let whole = number.as_f64().filter(|float| !number.is_i64() && float.fract() == 0.0);
            #[allow(
                clippy::cast_possible_truncation,
                reason = "the number is whole, and what is too great is refused before"
            )]
            whole.map_or_else(|| value.clone(), |float| Value::from(float as i64))
        }
        _ => value.clone(),
    }
}

fn canonical(text: &str) -> Value {
    Value::from(text.parse::<Quantity>().map_or_else(|_| text.to_owned(), |it| it.canonical()))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) => false,
    }
}

/// An object of a type that nobody has filled in.
pub(crate) fn zero(of: Type) -> Value {
    encode(of, &Value::Null)
}

#[cfg(test)]
mod tests {
    use pemdas_core::kube_types::Type;
    use serde_json::json;

    use super::{encode, zero};

    #[test]
    fn an_object_is_written_as_go_writes_it() {
        let of = |id: &str| Type::find(id).unwrap();
        let deployment =
            json!({ "metadata": { "name": "a", "labels": {} }, "spec": { "paused": false, "foo": 1 } });
        assert_eq!(
            encode(of("apps/v1/Deployment"), &deployment),
            json!({
                "metadata": { "name": "a" },
                "spec": { "selector": null, "strategy": {}, "template": { "metadata": {}, "spec": { "containers": null } } },
                "status": {},
            })
        );
        assert_eq!(zero(of("core/v1/ConfigMap")), json!({ "metadata": {} }));
        let resources = json!({ "limits": { "cpu": "1000m", "memory": 1024 } });
        assert_eq!(
            encode(of("core/v1/ResourceRequirements"), &resources),
            json!({ "limits": { "cpu": "1", "memory": "1024" } })
        );
    }
}
