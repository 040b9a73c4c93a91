//! Functions that only put together what they read: their result needs no evaluator.
//!
//! Most functions of a blueprint are of this kind: an extract that takes a uid along, a key, a template without conditions. An evaluation
//! is a round trip to a worker and one more pass over the instance; here it is a walk over a few values.
//!
//! Only a result counts. Whatever else there is to say (a field is missing, a number is no text, the result is too large)
//! is left to the evaluator, which has the words for it. So the two can only differ where both give a value, and there a test compares them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::evaluate::{Argument, Form};

/// How many bytes of text and fields a result may have; larger ones are the evaluator's, which has limits of its own.
pub(super) const MAX_WEIGHT: usize = 256 << 10;
/// Integers up to here are the same number for everybody.
const MAX_INTEGER: u64 = 1 << 53;

/// What a function puts together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plain {
    /// Always the same.
    Value(Value),
    /// What is found along these fields of the argument.
    Read(Vec<String>),
    /// Strings, one after the other.
    Text(Vec<Plain>),
    /// A list.
    List(Vec<Plain>),
    /// A record.
    Record(BTreeMap<String, Plain>),
}

impl Plain {
    /// The answer to a question about the function on this argument; none if the evaluator has to be asked.
    #[must_use]
    pub fn of(&self, form: Form, argument: &Value) -> Option<Value> {
        self.answer(form, argument)
    }

    /// The same, of an argument in parts.
    pub(crate) fn answer(&self, form: Form, argument: &dyn Argument) -> Option<Value> {
        let mut left = MAX_WEIGHT;
        match form {
            Form::Whole => self.value(argument, &mut left),
            Form::Fields => match self {
                Self::Record(_) => self.value(argument, &mut left),
                _ => None,
            },
            Form::Identity => {
                let Self::Record(fields) = self else { return None };
                let Self::Record(metadata) = fields.get("metadata")? else { return None };
                let named = ["name", "namespace"].into_iter().filter_map(|it| Some((it, metadata.get(it)?)));
                let parts = named.map(|(name, it)| Some((name.to_owned(), it.value(argument, &mut left)?)));
                parts.collect::<Option<Map<_, _>>>().map(Value::Object)
            }
            Form::Contract | Form::Admitted => None,
        }
    }

    fn value(&self, argument: &dyn Argument, left: &mut usize) -> Option<Value> {
        match self {
            Self::Value(value) => same_for_all(value, left).then(|| value.clone()),
            Self::Read(path) => {
                let (first, rest) = path.split_first()?;
                let found = rest.iter().try_fold(argument.part(first)?, |it, name| it.as_object()?.get(name));
                found.filter(|it| same_for_all(it, left)).cloned()
            }
            Self::Text(parts) => {
                let mut text = String::new();
                for part in parts {
                    let Value::String(more) = part.value(argument, left)? else { return None };
                    text.push_str(&more);
                }
                Some(Value::String(text))
            }
            Self::List(items) => {
                items.iter().map(|it| it.value(argument, left)).collect::<Option<Vec<_>>>().map(Value::Array)
            }
            Self::Record(fields) => {
                let filled = fields.iter().map(|(name, it)| {
                    let affordable = spend(left, name.len() + 8);
                    affordable.then_some(())?;
                    Some((name.clone(), it.value(argument, left)?))
                });
                filled.collect::<Option<Map<_, _>>>().map(Value::Object)
            }
        }
    }
}

/// Whether a value comes out of any evaluator as it went in, and is not too large.
pub(super) fn same_for_all(value: &Value, left: &mut usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) => spend(left, 8),
        Value::Number(number) => {
            let whole = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            whole.is_some_and(|it| it <= MAX_INTEGER) && spend(left, 8)
        }
        Value::String(text) => spend(left, text.len() + 8),
        Value::Array(items) => spend(left, 8) && items.iter().all(|it| same_for_all(it, left)),
        Value::Object(fields) => {
            spend(left, 8)
                && fields.iter().all(|(name, it)| spend(left, name.len() + 8) && same_for_all(it, left))
        }
    }
}

fn spend(left: &mut usize, bytes: usize) -> bool {
    let rest = left.checked_sub(bytes);
    *left = rest.unwrap_or(0);
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Form, Plain};

    fn read(path: &str) -> Plain {
        Plain::Read(path.split('.').map(str::to_owned).collect())
    }

    fn record<const N: usize>(fields: [(&str, Plain); N]) -> Plain {
        Plain::Record(fields.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
    }

    #[test]
    fn what_is_there_is_put_together() {
        let name = Plain::Text(vec![read("root.name"), Plain::Value(json!("-db"))]);
        let plain = record([
            ("metadata", record([("name", name), ("labels", read("root.labels"))])),
            ("list", Plain::List(vec![read("count")])),
        ]);
        let argument = json!({ "root": { "name": "a", "labels": { "x": "y" } }, "count": 3 });
        let whole = json!({ "metadata": { "name": "a-db", "labels": { "x": "y" } }, "list": [3] });
        assert_eq!(plain.answer(Form::Whole, &argument), Some(whole.clone()));
        assert_eq!(plain.answer(Form::Fields, &argument), Some(whole));
        assert_eq!(plain.answer(Form::Identity, &argument), Some(json!({ "name": "a-db" })));
        assert_eq!(plain.answer(Form::Contract, &argument), None);
    }

    #[test]
    fn all_else_is_the_evaluators() {
        let text = |it| Plain::Text(vec![it]);
        let refused = |plain: Plain, argument: &Value| assert_eq!(plain.answer(Form::Whole, argument), None);
        refused(read("a.b"), &json!({ "a": {} }));
        refused(read("a.b"), &json!({ "a": "text" }));
        refused(read("a"), &json!({}));
        refused(text(read("a")), &json!({ "a": 1 }));
        refused(read("a"), &json!({ "a": 0.5 }));
        refused(read("a"), &json!({ "a": 1_u64 << 60 }));
        refused(read("a"), &json!({ "a": [{ "b": -0.5 }] }));
        let large = json!({ "a": "x".repeat(200 << 10) });
        assert!(read("a").answer(Form::Whole, &large).is_some());
        refused(Plain::List(vec![read("a"), read("a")]), &large);
        assert_eq!(read("a").answer(Form::Fields, &json!({ "a": 1 })), None);
    }
}
