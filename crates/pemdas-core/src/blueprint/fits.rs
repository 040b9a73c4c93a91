//! Contracts that say no more than types, bounds and defaults: whether a value fits them needs no evaluator.
//!
//! Every instance is judged by the contract of its kind before anything else, and most contracts are of this kind. Only a value
//! that fits is told so here, with what the contract fills in. What does not fit, and what nobody here can be sure of, is left to the
//! evaluator, which has the words for it. So the two can only differ where both say yes, and there a test compares them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::plain::{MAX_WEIGHT, same_for_all};

/// What a value has to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fits {
    /// A string of so many characters.
    Text {
        /// At least.
        least: u64,
        /// At most.
        most: Option<u64>,
    },
    /// A whole number.
    Whole {
        /// At least.
        least: Option<i64>,
        /// At most.
        most: Option<i64>,
    },
    /// True or false.
    Bool,
    /// A list of such items.
    List(Box<Fits>),
    /// A record with any names and such values.
    Dictionary(Box<Fits>),
    /// A record with these fields and no others.
    Record(BTreeMap<String, FittingField>),
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittingField {
    /// What its value has to be.
    pub fits: Fits,
    /// Whether it may be missing.
    pub optional: bool,
    /// What it is if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

impl Fits {
    /// A value that fits for sure, with what is filled in; none if the evaluator has to be asked.
    #[must_use]
    pub fn filled(&self, value: &Value) -> Option<Value> {
        let mut left = MAX_WEIGHT;
        same_for_all(value, &mut left).then(|| self.fill(value)).flatten()
    }

    fn fill(&self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Bool, Value::Bool(_)) => Some(value.clone()),
            (Self::Text { least, most }, Value::String(text)) => {
                let long = text.chars().count() as u64;
                (long >= *least && most.is_none_or(|most| long <= most)).then(|| value.clone())
            }
            (Self::Whole { least, most }, Value::Number(number)) => {
                let number = number.as_i64()?;
                let within = least.is_none_or(|it| number >= it) && most.is_none_or(|it| number <= it);
                within.then(|| value.clone())
            }
            (Self::List(item), Value::Array(items)) => items.iter().map(|it| item.fill(it)).collect(),
            (Self::Dictionary(of), Value::Object(fields)) => {
                let filled = fields.iter().map(|(name, it)| Some((name.clone(), of.fill(it)?)));
                filled.collect::<Option<Map<_, _>>>().map(Value::Object)
            }
            (Self::Record(known), Value::Object(fields)) => {
                if fields.keys().any(|it| !known.contains_key(it)) {
                    return None;
                }
                let mut filled = Map::new();
                for (name, field) in known {
                    let value = match fields.get(name) {
                        Some(value) => field.fits.fill(value)?,
                        None => match &field.default {
                            Some(default) => default.clone(),
                            None if field.optional => continue,
                            None => return None,
                        },
                    };
                    filled.insert(name.clone(), value);
                }
                Some(Value::Object(filled))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Fits, FittingField};

    fn field(fits: Fits, optional: bool, default: Option<Value>) -> FittingField {
        FittingField { fits, optional, default }
    }

    #[test]
    fn what_fits_is_filled_and_the_rest_is_not_judged() {
        let text = Fits::Text { least: 1, most: Some(3) };
        let small = Fits::Whole { least: Some(1), most: Some(9) };
        let contract = Fits::Record(
            [
                ("name".to_owned(), field(text.clone(), false, None)),
                ("size".to_owned(), field(small, false, Some(json!(2)))),
                ("tags".to_owned(), field(Fits::List(Box::new(text.clone())), true, None)),
                ("more".to_owned(), field(Fits::Dictionary(Box::new(Fits::Bool)), true, None)),
            ]
            .into(),
        );
        assert_eq!(contract.filled(&json!({ "name": "a" })), Some(json!({ "name": "a", "size": 2 })));
        let full = json!({ "name": "äöü", "size": 9, "tags": ["x"], "more": { "y": true } });
        assert_eq!(contract.filled(&full), Some(full.clone()));
        for (name, wrong) in [
            ("name", json!("")),
            ("name", json!("long")),
            ("name", Value::Null),
            ("size", json!(0)),
            ("size", json!(10)),
            ("size", json!(1.5)),
            ("size", json!(3.0)),
            ("tags", json!([""])),
            ("tags", json!({})),
            ("more", json!({ "y": 1 })),
            ("other", json!(1)),
        ] {
            let mut value = full.clone();
            value[name] = wrong;
            assert_eq!(contract.filled(&value), None, "{value}");
        }
        assert_eq!(contract.filled(&json!({})), None, "a field that must be there");
        assert_eq!(contract.filled(&json!([])), None);
    }
}
