//! How two schemas differ, field by field.

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::schema::{ListType, Record, Schema, Type};

/// One difference between an old and a new schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The field, such as `spec.hosts[].name`.
    pub path: String,
    /// What it means for values.
    pub effect: Effect,
    /// What differs, in words.
    pub what: String,
}

/// What a difference means for values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Values are accepted that were not.
    Looser,
    /// Values are refused that were accepted.
    Tighter,
    /// Values are of another type.
    OtherType,
    /// The field is gone: values are dropped or refused.
    Removed,
    /// The same values are accepted and mean something else.
    OtherMeaning,
}

/// All differences from an old schema to a new one.
#[must_use]
pub fn differences(old: &Schema, new: &Schema, path: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(old, new, path, &mut found);
    found
}

fn compare(old: &Schema, new: &Schema, path: &str, found: &mut Vec<Difference>) {
    let mut tell = |effect: Effect, what: String| {
        found.push(Difference { path: path.to_owned(), effect, what });
    };
    match (&old.of, &new.of) {
        (Type::Any, Type::Any) => {}
        (Type::Any, _) => tell(Effect::Tighter, format!("it was anything, and is {} now", new.a_type())),
        (_, Type::Any) => {
            tell(Effect::Looser, format!("it was {}, and may be anything now", old.a_type()));
        }
        (Type::Integer, Type::Number) | (Type::Integer | Type::String, Type::IntOrString) => {
            tell(Effect::Looser, format!("it was {}, and is {} now", old.a_type(), new.a_type()));
        }
        (Type::Number, Type::Integer) | (Type::IntOrString, Type::Integer | Type::String) => {
            tell(Effect::Tighter, format!("it was {}, and is {} now", old.a_type(), new.a_type()));
        }
        (a, b) if std::mem::discriminant(a) != std::mem::discriminant(b) => {
            tell(Effect::OtherType, format!("it was {}, and is {} now", old.a_type(), new.a_type()));
            return;
        }
        _ => {}
    }
    limits(old, new, &mut tell);
    match (&old.of, &new.of) {
        (Type::List(old), Type::List(new)) => compare(old, new, &format!("{path}[]"), found),
        (Type::Dictionary(old), Type::Dictionary(new)) => compare(old, new, &format!("{path}{{}}"), found),
        (Type::Record(old), Type::Record(new)) => records(old, new, path, found),
        _ => {}
    }
}

fn records(old: &Record, new: &Record, path: &str, found: &mut Vec<Difference>) {
    let mut told = Vec::new();
    let mut tell = |path: String, effect: Effect, what: &str| {
        told.push(Difference { path, effect, what: what.to_owned() });
    };
    if old.open && !new.open {
        tell(path.to_owned(), Effect::Tighter, "unknown fields were kept, and are not now");
    }
    if new.open && !old.open {
        tell(path.to_owned(), Effect::Looser, "unknown fields are kept now");
    }
    let names: BTreeSet<&String> = old.fields.keys().chain(new.fields.keys()).collect();
    for name in names {
        let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match (old.fields.get(name), new.fields.get(name)) {
            (Some(_), None) if new.open => tell(below, Effect::Looser, "the field is no longer described"),
            (Some(_), None) => tell(below, Effect::Removed, "the field is gone"),
            (None, Some(field)) if field.required && field.schema.default.is_none() => {
                tell(below, Effect::Tighter, "the field is new and required");
            }
            (None, Some(_)) => tell(below, Effect::Looser, "the field is new"),
            (Some(before), Some(after)) => {
                let (was, is) = (
                    before.required && before.schema.default.is_none(),
                    after.required && after.schema.default.is_none(),
                );
                if is && !was {
                    tell(below.clone(), Effect::Tighter, "the field is required now");
                }
                if was && !is {
                    tell(below.clone(), Effect::Looser, "the field may be missing now");
                }
                compare(&before.schema, &after.schema, &below, found);
            }
            (None, None) => {}
        }
    }
    found.extend(told);
}

fn limits(old: &Schema, new: &Schema, tell: &mut dyn FnMut(Effect, String)) {
    at_least(
        old.minimum.as_ref().and_then(Number::as_f64),
        new.minimum.as_ref().and_then(Number::as_f64),
        "the least value",
        tell,
    );
    at_most(
        old.maximum.as_ref().and_then(Number::as_f64),
        new.maximum.as_ref().and_then(Number::as_f64),
        "the greatest value",
        tell,
    );
    let float = |count: Option<u64>| count.map(|count| count as f64);
    at_least(float(old.min_length), float(new.min_length), "the least length", tell);
    at_most(float(old.max_length), float(new.max_length), "the greatest length", tell);
    at_least(float(old.min_items), float(new.min_items), "the least number of items", tell);
    at_most(float(old.max_items), float(new.max_items), "the greatest number of items", tell);
    at_least(float(old.min_properties), float(new.min_properties), "the least number of entries", tell);
    at_most(float(old.max_properties), float(new.max_properties), "the greatest number of entries", tell);
    if old.nullable != new.nullable {
        let effect = if new.nullable { Effect::Looser } else { Effect::Tighter };
        tell(effect, format!("null is {} now", if new.nullable { "allowed" } else { "refused" }));
    }
    allowed(old.allowed.as_deref(), new.allowed.as_deref(), tell);
    each(&old.patterns, &new.patterns, "the pattern", tell);
    let rules =
        |schema: &Schema| -> Vec<String> { schema.rules.iter().map(|rule| rule.rule.clone()).collect() };
    each(&rules(old), &rules(new), "the rule", tell);
    let other = |schema: &Schema| -> Vec<String> {
        schema.other.iter().map(|(key, value)| format!("{key}: {value}")).collect()
    };
    each(&other(old), &other(new), "the constraint", tell);
    each(
        &old.format.iter().filter(|format| is_checked(format)).cloned().collect::<Vec<_>>(),
        &new.format.iter().filter(|format| is_checked(format)).cloned().collect::<Vec<_>>(),
        "the format",
        tell,
    );
    let atomic = |list: &Option<ListType>| matches!(list, None | Some(ListType::Atomic));
    if old.list_type != new.list_type && !(atomic(&old.list_type) && atomic(&new.list_type)) {
        let effect = if atomic(&new.list_type) { Effect::OtherMeaning } else { Effect::Tighter };
        tell(effect, "the list is merged in another way now".to_owned());
    }
    if old.default != new.default {
        let shown =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "none".to_owned(), Value::to_string);
        tell(
            Effect::OtherMeaning,
            format!("the default was {}, and is {} now", shown(&old.default), shown(&new.default)),
        );
    }
}

/// Formats that the API server looks at; numbers of bits are not among them.
fn is_checked(format: &str) -> bool {
    !matches!(format, "int32" | "int64" | "float" | "double" | "password")
}

fn at_least(old: Option<f64>, new: Option<f64>, what: &str, tell: &mut dyn FnMut(Effect, String)) {
    match (old, new) {
        (None, Some(new)) => tell(Effect::Tighter, format!("{what} is {new} now")),
        (Some(old), None) => tell(Effect::Looser, format!("{what} was {old}, and is not limited now")),
        (Some(old), Some(new)) if new > old => {
            tell(Effect::Tighter, format!("{what} was {old}, and is {new} now"));
        }
        (Some(old), Some(new)) if new < old => {
            tell(Effect::Looser, format!("{what} was {old}, and is {new} now"));
        }
        _ => {}
    }
}

fn at_most(old: Option<f64>, new: Option<f64>, what: &str, tell: &mut dyn FnMut(Effect, String)) {
    // The same with the sign turned; the words show the numbers as they are.
    let turned = |number: Option<f64>| number.map(|number| -number);
    at_least(turned(old), turned(new), what, &mut |effect, _| {
        let shown = |number: Option<f64>| {
            number.map_or_else(|| "not limited".to_owned(), |number| number.to_string())
        };
        tell(effect, format!("{what} was {}, and is {} now", shown(old), shown(new)));
    });
}

fn allowed(old: Option<&[Value]>, new: Option<&[Value]>, tell: &mut dyn FnMut(Effect, String)) {
    match (old, new) {
        (None, Some(_)) => tell(Effect::Tighter, "only some values are allowed now".to_owned()),
        (Some(_), None) => tell(Effect::Looser, "any value is allowed now".to_owned()),
        (Some(old), Some(new)) => {
            for gone in old.iter().filter(|one| !new.contains(one)) {
                tell(Effect::Tighter, format!("the value {gone} is no longer allowed"));
            }
            for come in new.iter().filter(|one| !old.contains(one)) {
                tell(Effect::Looser, format!("the value {come} is allowed now"));
            }
        }
        (None, None) => {}
    }
}

fn each(old: &[String], new: &[String], what: &str, tell: &mut dyn FnMut(Effect, String)) {
    for gone in old.iter().filter(|one| !new.contains(one)) {
        tell(Effect::Looser, format!("{what} `{gone}` is gone"));
    }
    for come in new.iter().filter(|one| !old.contains(one)) {
        tell(Effect::Tighter, format!("{what} `{come}` is new"));
    }
}
