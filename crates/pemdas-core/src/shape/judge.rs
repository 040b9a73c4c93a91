//! Judging a live object by a shape.

use std::{cmp::Ordering, collections::BTreeMap};

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::{Judgement, Shape, Why};
use crate::{
    health::{self, HealthState, conditions},
    kube_types::format::Quantity,
    path::FieldPath,
    text,
    truth::Truth,
};

/// The largest program that a pattern may compile to: enough for every honest one.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// How many items of a list `some` and `every` look at.
pub const MAX_ITEMS: usize = 10_000;
/// How many conditions of an object a reason quotes.
const MAX_CONDITIONS: usize = 8;

/// What is known of the object that is judged.
#[derive(Debug, Clone, Copy)]
pub enum Live<'a> {
    /// It cannot be said whether it exists; the text says why.
    Unknown(&'a str),
    /// It does not exist.
    Absent,
    /// It exists, and our last write to it was seen.
    Present(&'a Value),
}

/// What the evaluator said of contracts, asked by the contract's path and the value it is applied to.
pub trait Contracts {
    /// Whether the value fits the contract, and why not; none if that was not evaluated yet.
    fn judge(&self, contract: &[String], value: &Value) -> Option<Result<(), String>>;
}

/// No contract was evaluated: each is unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoContracts;

impl Contracts for NoContracts {
    fn judge(&self, _contract: &[String], _value: &Value) -> Option<Result<(), String>> {
        None
    }
}

impl Shape {
    /// Judges an object. A shape with contracts in it is unknown as far as these decide.
    #[must_use]
    pub fn judge(&self, live: Live<'_>) -> Judgement {
        self.judge_with(live, &NoContracts)
    }

    /// Judges an object with the help of what the evaluator said of contracts.
    #[must_use]
    pub fn judge_with(&self, live: Live<'_>, contracts: &dyn Contracts) -> Judgement {
        let judge = Judge { contracts };
        match live {
            Live::Unknown(reason) => {
                let is = format!("not known ({})", text::shorten(reason));
                Judgement::unknown(Why::new(FieldPath::root(), is, self.describe()))
            }
            Live::Absent => judge.value(self, None, &FieldPath::root()),
            Live::Present(object) => judge.value(self, Some(object), &FieldPath::root()),
        }
    }

    /// Judges a collection: every member has to be of the shape. An empty one is.
    #[must_use]
    pub fn judge_members(&self, members: &BTreeMap<String, Value>) -> Judgement {
        let judge = Judge { contracts: &NoContracts };
        Judgement::all(members.iter().map(|(key, member)| {
            let mut judgement = judge.value(self, Some(member), &FieldPath::root());
            for why in &mut judgement.why {
                let path = std::mem::take(&mut why.path);
                why.path =
                    path.parts().iter().fold(FieldPath::root().item(key), |path, part| path.field(part));
            }
            judgement
        }))
    }
}

struct Judge<'a> {
    contracts: &'a dyn Contracts,
}

impl Judge<'_> {
    fn value(&self, shape: &Shape, value: Option<&Value>, path: &FieldPath) -> Judgement {
        let value = value.filter(|it| !it.is_null());
        let plain = |holds: bool| if holds { Judgement::holds() } else { unlike(shape, value, path) };
        match shape {
            Shape::Any => plain(value.is_some()),
            Shape::Absent => plain(value.is_none()),
            Shape::Equals(want) if want.is_null() => plain(value.is_none()),
            Shape::Not(inner) => self.negation(inner, value, path),
            Shape::AllOf(shapes) => Judgement::all(shapes.iter().map(|it| self.value(it, value, path))),
            Shape::AnyOf(shapes) => Judgement::any(shapes.iter().map(|it| self.value(it, value, path))),
            Shape::OneOf(wants) if value.is_none() => plain(wants.iter().any(Value::is_null)),
            _ => match value {
                None => unlike(shape, None, path),
                Some(present) => self.present(shape, present, path),
            },
        }
    }

    fn present(&self, shape: &Shape, value: &Value, path: &FieldPath) -> Judgement {
        let plain = |holds: bool| if holds { Judgement::holds() } else { unlike(shape, Some(value), path) };
        let compare = |bound: &Value, wanted: &[Ordering]| {
            let both = quantity_of(value).zip(quantity_of(bound));
            plain(both.is_some_and(|(is, bound)| wanted.contains(&is.cmp(&bound))))
        };
        match shape {
            Shape::Ready => health_judgement(value, path),
            Shape::Available => condition(value, path, "Available", "True", None),
            Shape::Condition { kind, status, reason } => {
                condition(value, path, kind, status, reason.as_deref())
            }
            Shape::Complete => complete(value, path),
            Shape::Failed => failed(value, path),
            Shape::Finished => Judgement::any([complete(value, path), failed(value, path)]),
            Shape::Bound => {
                let phase = path.field("status").field("phase");
                self.value(
                    &Shape::Equals("Bound".into()),
                    FieldPath::find(value, &["status", "phase"]),
                    &phase,
                )
            }
            Shape::Has(fields) => match value {
                Value::Object(record) => Judgement::all(
                    fields.iter().map(|(name, it)| self.value(it, record.get(name), &path.field(name))),
                ),
                _ => unlike(shape, Some(value), path),
            },
            Shape::Items(shapes) => match value {
                Value::Array(items) if items.len() == shapes.len() => Judgement::all(
                    items
                        .iter()
                        .zip(shapes)
                        .enumerate()
                        .map(|(i, (item, it))| self.value(it, Some(item), &path.item(i))),
                ),
                _ => unlike(shape, Some(value), path),
            },
            Shape::Equals(want) => plain(equal(value, want)),
            Shape::AtLeast(bound) => compare(bound, &[Ordering::Greater, Ordering::Equal]),
            Shape::AtMost(bound) => compare(bound, &[Ordering::Less, Ordering::Equal]),
            Shape::MoreThan(bound) => compare(bound, &[Ordering::Greater]),
            Shape::LessThan(bound) => compare(bound, &[Ordering::Less]),
            Shape::OneOf(wants) => plain(wants.iter().any(|want| equal(value, want))),
            Shape::Matches(pattern) => matches(pattern, shape, value, path),
            Shape::SomeItem(item) => self.items(
                shape,
                value,
                path,
                |parts| {
                    let some = Judgement::any(parts);
                    // The reasons of a thousand items say less than what is wanted of one of them.
                    if some.truth == Truth::False { unlike(shape, Some(value), path) } else { some }
                },
                item,
            ),
            Shape::EveryItem(item) => self.items(shape, value, path, Judgement::all, item),
            Shape::Contract(contract) => self.contract(contract, value, path),
            Shape::Any | Shape::Absent | Shape::Not(_) | Shape::AllOf(_) | Shape::AnyOf(_) => {
                self.value(shape, Some(value), path)
            }
        }
    }

    fn items(
        &self,
        shape: &Shape,
        value: &Value,
        path: &FieldPath,
        join: impl Fn(Vec<Judgement>) -> Judgement,
        item: &Shape,
    ) -> Judgement {
        match value {
            Value::Array(items) if items.len() > MAX_ITEMS => Judgement::unknown(Why::new(
                path.clone(),
                format!("a list of {}", items.len()),
                format!("at most {MAX_ITEMS} items to look at"),
            )),
            Value::Array(items) => join(
                items.iter().enumerate().map(|(i, it)| self.value(item, Some(it), &path.item(i))).collect(),
            ),
            _ => unlike(shape, Some(value), path),
        }
    }

    fn contract(&self, contract: &[String], value: &Value, path: &FieldPath) -> Judgement {
        match self.contracts.judge(contract, value) {
            Some(Ok(())) => Judgement::holds(),
            Some(Err(reason)) => {
                let is = format!("{} ({})", text::brief(value), text::shorten(&reason));
                Judgement::fails(Why::new(path.clone(), is, format!("what {} says", contract.join("."))))
            }
            None => Judgement::unknown(Why::new(path.clone(), "not evaluated yet", contract.join("."))),
        }
    }

    fn negation(&self, inner: &Shape, value: Option<&Value>, path: &FieldPath) -> Judgement {
        let judgement = self.value(inner, value, path);
        match judgement.truth {
            Truth::False => Judgement::holds(),
            Truth::Unknown => judgement,
            Truth::True => {
                // Where only one field is forbidden, speak of that field.
                let (mut leaf, mut at, mut found) = (inner, path.clone(), value);
                while let Shape::Has(fields) = leaf
                    && fields.len() == 1
                    && let Some((name, below)) = fields.first_key_value()
                {
                    found = found.and_then(|it| it.get(name));
                    at = at.field(name);
                    leaf = below;
                }
                let is = conditions_for(leaf, found)
                    .unwrap_or_else(|| found.map_or_else(|| "missing".to_owned(), text::brief));
                Judgement::fails(Why::new(at, is, Shape::Not(Box::new(leaf.clone())).describe()))
            }
        }
    }
}

/// What an object says of itself, where that is what a shape looks at: the whole object would say nothing.
fn conditions_for(shape: &Shape, object: Option<&Value>) -> Option<String> {
    let looks_at_conditions = matches!(
        shape,
        Shape::Ready
            | Shape::Available
            | Shape::Condition { .. }
            | Shape::Complete
            | Shape::Failed
            | Shape::Finished
    );
    let object = object.filter(|_| looks_at_conditions)?;
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let told =
        conditions.filter_map(|it| Some(format!("{}={}", it["type"].as_str()?, it["status"].as_str()?)));
    let told: Vec<String> = told.take(MAX_CONDITIONS).collect();
    let described = shape.describe();
    Some(if told.is_empty() { described } else { format!("{described} ({})", told.join(", ")) })
}

fn unlike(shape: &Shape, value: Option<&Value>, path: &FieldPath) -> Judgement {
    let is = value.map_or_else(|| "missing".to_owned(), text::brief);
    Judgement::fails(Why::new(path.clone(), is, shape.describe()))
}

/// A number, or a string that is a quantity: what can be compared by size.
pub(super) fn quantity_of(value: &Value) -> Option<Quantity> {
    match value {
        Value::Number(number) => number.to_string().parse().ok(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Whether two values are the same; numbers by what they mean (the evaluator knows no integers).
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            // 2 and 2.0 are the same number in different clothes.
            _ => a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a.total_cmp(&b).is_eq()),
        },
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => left == right,
    }
}

pub(super) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build()
}

fn matches(pattern: &str, shape: &Shape, value: &Value, path: &FieldPath) -> Judgement {
    match (compile(pattern), value) {
        (Ok(regex), Value::String(text)) if regex.is_match(text) => Judgement::holds(),
        (Ok(_), _) => unlike(shape, Some(value), path),
        (Err(_), _) => Judgement::unknown(Why::new(
            path.clone(),
            "not comparable",
            format!("a valid pattern instead of /{}/", text::shorten(pattern)),
        )),
    }
}

fn health_judgement(object: &Value, path: &FieldPath) -> Judgement {
    let health = health::of(object);
    if health.state == HealthState::Current {
        return Judgement::holds();
    }
    Judgement::fails(prefixed(health.why, path))
}

fn complete(object: &Value, path: &FieldPath) -> Judgement {
    let succeeded = FieldPath::find(object, &["status", "phase"]).is_some_and(|it| it == "Succeeded");
    if succeeded { Judgement::holds() } else { condition(object, path, "Complete", "True", None) }
}

fn failed(object: &Value, path: &FieldPath) -> Judgement {
    let by_phase = FieldPath::find(object, &["status", "phase"]).is_some_and(|it| it == "Failed");
    if by_phase || health::of(object).state == HealthState::Failed {
        return Judgement::holds();
    }
    condition(object, path, "Failed", "True", None)
}

/// A condition of an older generation says nothing of this one: unknown, so that `not` is not fooled either.
fn condition(object: &Value, path: &FieldPath, kind: &str, status: &str, reason: Option<&str>) -> Judgement {
    let at = path.field("status").field("conditions").item(text::shorten(kind));
    let wants = match reason {
        None => format!("{:?}", text::shorten(status)),
        Some(reason) => format!("{:?} ({})", text::shorten(status), text::shorten(reason)),
    };
    let Some(found) = conditions::find(object, kind) else {
        return Judgement::fails(Why::new(at, "missing", wants));
    };
    if let Some((seen, generation)) = found.stale {
        return Judgement::unknown(Why::new(
            at,
            format!("of generation {seen}"),
            format!("generation {generation}"),
        ));
    }
    if found.status == status && reason.is_none_or(|it| it == found.reason) {
        Judgement::holds()
    } else {
        Judgement::fails(Why::new(at, found.in_words(), wants))
    }
}

fn prefixed(mut why: Why, path: &FieldPath) -> Why {
    if !path.parts().is_empty() {
        why.path = why.path.parts().iter().fold(path.clone(), |path, part| path.field(part));
    }
    why
}
