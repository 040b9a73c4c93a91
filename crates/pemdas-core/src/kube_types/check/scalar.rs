//! Values that are neither records nor lists: their types, formats and rules.

use serde_json::Number;

use super::node::{Form, Node};
use super::problem::{Problem, quoted};
use super::rules::Rule;
use crate::kube_types::format;
use crate::kube_types::suggest;
use crate::kube_types::types::{Field, Shape, Type};

/// What is wrong with a value that must be of a shape which is neither record, list nor dictionary.
pub(super) fn problem<'a, N: Node<'a>>(shape: Shape, form: &Form<'a, N>) -> Option<Problem> {
    match (shape, form) {
        (_, Form::Unknown | Form::Null | Form::Alternatives(_))
        | (Shape::Any | Shape::String, Form::Text(_))
        | (Shape::Boolean, Form::Boolean)
        | (Shape::Double, Form::Number(_))
        | (Shape::Object, Form::Record { .. }) => None,
        (Shape::Any, form) if !matches!(form, Form::Function) => None,
        (Shape::Int32 | Shape::IntOrString, Form::Number(number)) => integer(*number, true),
        (Shape::Int64, Form::Number(number)) => integer(*number, false),
        (Shape::IntOrString, Form::Text(_)) => None,
        (Shape::Quantity, Form::Number(number)) => number.and_then(|it| quantity(&it.to_string())),
        (Shape::Quantity, Form::Text(text)) => text.and_then(quantity),
        (Shape::Bytes, Form::Text(text)) => text.and_then(|text| bad(text, format::base64(text))),
        (Shape::Time | Shape::MicroTime, Form::Text(text)) => {
            text.and_then(|text| bad(text, format::date_time(text)))
        }
        (shape, form) => Some(wrong_type(shape, form)),
    }
}

fn quantity(text: &str) -> Option<Problem> {
    let error = text.trim().parse::<format::Quantity>().err()?;
    Some(Problem::BadValue { value: quoted(text), wanted: error.to_string() })
}

fn bad(text: &str, answer: Result<(), &'static str>) -> Option<Problem> {
    answer.err().map(|wanted| Problem::BadValue { value: quoted(text), wanted: wanted.to_owned() })
}

/// Whole numbers written as `2.0` are whole.
pub(super) fn whole(number: &Number) -> Option<i128> {
    if let Some(number) = number.as_i64() {
        return Some(number.into());
    }
    if let Some(number) = number.as_u64() {
        return Some(number.into());
    }
    // Beyond 2^63 a floating number is out of every range anyway; the cast saturates.
    #[allow(clippy::cast_possible_truncation)]
    number.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i128)
}

fn integer(number: Option<&Number>, short: bool) -> Option<Problem> {
    let number = number?;
    let (low, high) = if short { (i32::MIN.into(), i32::MAX.into()) } else { (i64::MIN, i64::MAX) };
    let Some(whole) = whole(number) else {
        return Some(Problem::WrongType {
            wanted: "a whole number".to_owned(),
            found: "a number with a fraction",
            cure: None,
        });
    };
    let fits = (i128::from(low)..=i128::from(high)).contains(&whole);
    (!fits).then(|| Problem::BadValue {
        value: number.to_string(),
        wanted: format!("it must be from {low} to {high}"),
    })
}

/// A wrong type, with what to write instead where that is plain.
pub(super) fn wrong_type<'a, N: Node<'a>>(shape: Shape, form: &Form<'a, N>) -> Problem {
    let cure = match (shape, form) {
        (_, Form::Function) => Some("call the function, or write the value".to_owned()),
        (Shape::Int32 | Shape::Int64 | Shape::Double, Form::Text(Some(text)))
            if text.parse::<f64>().is_ok_and(f64::is_finite) =>
        {
            Some(format!("write {text} without quotes"))
        }
        (Shape::Boolean, Form::Text(Some(text @ ("true" | "false")))) => {
            Some(format!("write {text} without quotes"))
        }
        (Shape::String, Form::Number(Some(number))) => Some(format!("write \"{number}\" in quotes")),
        (Shape::String, Form::Number(None)) => Some("write \"%{std.to_string value}\"".to_owned()),
        (Shape::String, Form::Boolean) => Some("write \"true\" or \"false\" in quotes".to_owned()),
        (Shape::List(_), Form::Record { .. } | Form::Text(_) | Form::Number(_)) => {
            Some("put it in a list: [ ... ]".to_owned())
        }
        _ => None,
    };
    Problem::WrongType { wanted: wanted(shape), found: form.name(), cure }
}

/// What a value of a shape is, for a message.
pub(super) fn wanted(shape: Shape) -> String {
    match shape {
        Shape::String => "a string".to_owned(),
        Shape::Bytes => "a string in base64".to_owned(),
        Shape::Time | Shape::MicroTime => "a string with a time".to_owned(),
        Shape::Boolean => "a boolean".to_owned(),
        Shape::Int32 | Shape::Int64 => "a whole number".to_owned(),
        Shape::Double => "a number".to_owned(),
        Shape::Quantity => "a quantity, a string such as \"100m\" or \"1Gi\", or a number".to_owned(),
        Shape::IntOrString => "a whole number or a string".to_owned(),
        Shape::Any => "a value".to_owned(),
        Shape::Object => "a record".to_owned(),
        Shape::List(item) => match item.shape() {
            Shape::Record(id) => format!("a list of {}", short(id)),
            Shape::String => "a list of strings".to_owned(),
            _ => "a list".to_owned(),
        },
        Shape::Dictionary(item) => match item.shape() {
            Shape::String => "a record of strings".to_owned(),
            _ => "a record".to_owned(),
        },
        Shape::Record(id) => format!("a record ({})", short(id)),
        Shape::OneOf(choices) => choices.choices().map(wanted).collect::<Vec<_>>().join(" or "),
    }
}

fn short(id: &'static str) -> &'static str {
    Type::find(id).map_or(id, |body| body.short_name())
}

/// A string that is none of those its field allows.
pub(super) fn not_allowed(field: &Field, text: &str) -> Option<Problem> {
    let allowed = field.allowed()?;
    // The API server takes the empty string of an optional field for a missing one.
    if allowed.contains(&text) || (text.is_empty() && !field.is_required()) {
        return None;
    }
    let meant = suggest::closest(text, allowed.iter().copied());
    Some(Problem::NotAllowed { value: quoted(text), allowed, meant })
}

/// What is wrong with a value beyond its shape.
pub(super) fn against_rule<'a, N: Node<'a>>(rule: Rule, form: &Form<'a, N>) -> Option<Problem> {
    match (rule, form) {
        // Text of no length is an absent one, and where it may not be absent the API server says so itself.
        (_, Form::Text(Some(""))) => None,
        (Rule::Text(wanted), Form::Text(Some(text))) => bad(text, wanted(text)),
        (Rule::PortOrName, Form::Text(Some(text))) => bad(text, format::port_name(text)),
        (Rule::Port | Rule::PortOrName | Rule::PortOrNone, Form::Number(Some(number))) => {
            let port = i64::try_from(whole(number)?).unwrap_or(-1);
            if matches!(rule, Rule::PortOrNone) && port == 0 {
                return None;
            }
            let wanted = format::port(port).err()?;
            Some(Problem::BadValue { value: number.to_string(), wanted: wanted.to_owned() })
        }
        _ => None,
    }
}

/// What is wrong with the key of an entry of a dictionary with a rule.
pub(super) fn key_against_rule(rule: Rule, key: &str) -> Option<Problem> {
    match rule {
        Rule::Labels => bad(key, format::label_key(key)),
        Rule::Annotations => bad(key, format::annotation_key(key)),
        _ => None,
    }
}

/// What is wrong with the value of an entry of a dictionary with a rule.
pub(super) fn entry_against_rule<'a, N: Node<'a>>(rule: Rule, form: &Form<'a, N>) -> Option<Problem> {
    match (rule, form) {
        (Rule::Labels, Form::Text(Some(text))) => bad(text, format::label_value(text)),
        _ => None,
    }
}
