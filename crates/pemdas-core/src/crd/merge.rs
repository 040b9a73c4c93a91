//! Two schemas of one value at once.

use serde_json::{Number, Value};

use super::schema::{Schema, Type};

/// What a value must be that fits both, and in which way no schema can say that: then the first stands for both as far as
/// its type goes.
#[must_use]
pub fn meet(first: Schema, second: Schema) -> (Schema, Option<String>) {
    let names = (first.a_type(), second.a_type());
    let nullable = first.nullable && second.nullable;
    let (mut met, rest, trouble) = match (&first.of, &second.of) {
        (_, Type::Any) => (first, second, None),
        (Type::Any, _) => (second, first, None),
        (Type::Integer, Type::Number) => (first, second, None),
        (Type::Number, Type::Integer) => (second, first, None),
        (Type::IntOrString, Type::String | Type::Integer) => (second, first, None),
        (Type::String | Type::Integer, Type::IntOrString) => (first, second, None),
        (Type::List(_), Type::List(_)) | (Type::Dictionary(_), Type::Dictionary(_)) => {
            let (first, second, trouble) = inner(first, second);
            (first, second, trouble)
        }
        (Type::Record(_), Type::Record(_)) => {
            (first, second, Some("two record contracts at once: the draft has the first".to_owned()))
        }
        (a, b) if std::mem::discriminant(a) == std::mem::discriminant(b) => (first, second, None),
        _ => {
            let trouble = format!("no value is {} and {} at once", names.0, names.1);
            return (first, Some(trouble));
        }
    };
    take_limits(&mut met, rest);
    met.nullable = nullable;
    (met, trouble)
}

fn inner(mut first: Schema, mut second: Schema) -> (Schema, Schema, Option<String>) {
    let mut trouble = None;
    if let (Type::List(a) | Type::Dictionary(a), Type::List(b) | Type::Dictionary(b)) =
        (&mut first.of, &mut second.of)
    {
        (**a, trouble) = meet(std::mem::take(a), std::mem::take(b));
    }
    (first, second, trouble)
}

/// The limits of both.
fn take_limits(met: &mut Schema, rest: Schema) {
    met.description = met.description.take().or(rest.description);
    met.default = met.default.take().or(rest.default);
    met.format = met.format.take().or(rest.format);
    met.list_type = met.list_type.take().or(rest.list_type);
    met.span = met.span.take().or(rest.span);
    met.atomic |= rest.atomic;
    met.quantity |= rest.quantity;
    met.embedded |= rest.embedded;
    met.minimum = tighter(met.minimum.take(), rest.minimum, |a, b| a > b);
    met.maximum = tighter(met.maximum.take(), rest.maximum, |a, b| a < b);
    met.min_length = met.min_length.max(rest.min_length);
    met.max_length = least(met.max_length, rest.max_length);
    met.min_items = met.min_items.max(rest.min_items);
    met.max_items = least(met.max_items, rest.max_items);
    met.min_properties = met.min_properties.max(rest.min_properties);
    met.max_properties = least(met.max_properties, rest.max_properties);
    for pattern in rest.patterns {
        if !met.patterns.contains(&pattern) {
            met.patterns.push(pattern);
        }
    }
    met.allowed = match (met.allowed.take(), rest.allowed) {
        (Some(a), Some(b)) => Some(a.into_iter().filter(|one| b.contains(one)).collect::<Vec<Value>>()),
        (a, b) => a.or(b),
    };
    met.rules.extend(rest.rules);
    met.wanted.extend(rest.wanted);
    met.other.extend(rest.other);
}

fn least(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn tighter(a: Option<Number>, b: Option<Number>, first: impl Fn(f64, f64) -> bool) -> Option<Number> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let takes_first = match (a.as_f64(), b.as_f64()) {
                (Some(a), Some(b)) => first(a, b),
                _ => true,
            };
            Some(if takes_first { a } else { b })
        }
        (a, b) => a.or(b),
    }
}
