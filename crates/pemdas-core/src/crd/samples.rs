//! Values that fit a schema, made without chance: the same schema gives the same values.

use serde_json::{Map, Value, json};

use super::schema::{Record, Schema, Type};
use super::validate::refusal;

/// Texts of which at least one fits most patterns that people write.
const TEXTS: [&str; 22] = [
    "a",
    "b-c",
    "some text",
    "x1",
    "7",
    "42",
    "30s",
    "1h30m",
    "10Gi",
    "500m",
    "25%",
    "v1",
    "1.2.3",
    "a.example.com",
    "app/web",
    "2030-01-31T12:00:00Z",
    "10.0.0.1",
    "A",
    "Some-Text_2",
    "",
    "ä",
    "https://example.com/",
];
/// How often another value is tried for one that does not fit.
const TRIES: usize = 24;

/// Up to so many different values that fit; fewer, or none, where none is found.
#[must_use]
pub fn samples(schema: &Schema, count: usize) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    let mut maker = Maker { state: 1 };
    for _ in 0..count * 3 {
        let value = maker.value(schema);
        if found.len() < count && refusal(schema, &value).is_none() && !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

struct Maker {
    state: u64,
}

impl Maker {
    /// The next number of a fixed row.
    fn next(&mut self, bound: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.state >> 33).unwrap_or_default() % bound.max(1)
    }

    fn value(&mut self, schema: &Schema) -> Value {
        for _ in 0..TRIES {
            let value = self.guess(schema);
            if refusal(schema, &value).is_none() {
                return value;
            }
        }
        schema.default.clone().unwrap_or(Value::Null)
    }

    fn guess(&mut self, schema: &Schema) -> Value {
        if let Some(allowed) = &schema.allowed {
            let index = self.next(allowed.len());
            return allowed.get(index).cloned().unwrap_or_default();
        }
        if schema.nullable && self.next(5) == 0 {
            return Value::Null;
        }
        match &schema.of {
            Type::Any => json!({ "any": self.next(9) }),
            Type::Boolean => json!(self.next(2) == 0),
            Type::Integer => self.integer(schema),
            Type::Number => {
                if self.next(2) == 0 {
                    self.integer(schema)
                } else {
                    json!(self.next(80) as f64 / 8.0 + 0.0625)
                }
            }
            Type::String => self.text(),
            Type::IntOrString => {
                if self.next(2) == 0 {
                    self.integer(schema)
                } else {
                    self.text()
                }
            }
            Type::List(items) => {
                let low = schema.min_items.unwrap_or_default();
                let high = schema.max_items.unwrap_or(low + 3).min(low + 3);
                let count = low + self.next(usize::try_from(high - low).unwrap_or_default() + 1) as u64;
                (0..count).map(|_| self.value(items)).collect()
            }
            Type::Dictionary(values) => {
                let count = self.next(3);
                let entries: Map<String, Value> =
                    (0..count).map(|index| (format!("key-{index}"), self.value(values))).collect();
                entries.into()
            }
            Type::Record(record) => self.record(record),
        }
    }

    fn record(&mut self, record: &Record) -> Value {
        let mut out = Map::new();
        for (name, field) in &record.fields {
            if !field.required && self.next(3) == 0 {
                continue;
            }
            let value = self.value(&field.schema);
            if field.required || refusal(&field.schema, &value).is_none() {
                out.insert(name.clone(), value);
            }
        }
        out.into()
    }

    fn integer(&mut self, schema: &Schema) -> Value {
        let low = schema.minimum.as_ref().and_then(serde_json::Number::as_i64);
        let high = schema.maximum.as_ref().and_then(serde_json::Number::as_i64);
        let step = self.next(12) as i64;
        json!(match (low, high) {
            (Some(low), _) => low.saturating_add(step).min(high.unwrap_or(i64::MAX)),
            (None, Some(high)) => high.saturating_sub(step),
            (None, None) => step - 3,
        })
    }

    fn text(&mut self) -> Value {
        let index = self.next(TEXTS.len());
        json!(TEXTS.get(index).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::samples;
    use crate::crd::{from_json, refusal};

    #[test]
    fn samples_fit_differ_and_are_the_same_each_time() {
        let schema = from_json(&json!({
            "type": "object", "required": ["size", "name"],
            "properties": {
                "size": { "type": "integer", "minimum": 2, "maximum": 9 },
                "name": { "type": "string", "pattern": "^[a-z]+$" },
                "wait": { "type": "string", "pattern": "^[0-9]+s$" },
                "tags": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set", "minItems": 1 },
            },
        }));
        let found = samples(&schema, 20);
        assert!(found.len() >= 10, "{found:?}");
        assert!(found.iter().all(|value| refusal(&schema, value).is_none()), "{found:?}");
        assert!(found.iter().any(|value| value.get("wait").is_some()));
        assert_eq!(found, samples(&schema, 20));
    }

    #[test]
    fn what_no_value_is_found_for_gives_none() {
        let schema = from_json(&json!({ "type": "string", "pattern": "^qqqq$" }));
        assert_eq!(samples(&schema, 5), Vec::<serde_json::Value>::new());
    }
}
