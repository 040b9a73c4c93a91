//! Values made from a schema: some that fit, near its borders, and some that were bent.

use pemdas_core::crd::{Schema, Type};
use proptest::prelude::{RngExt as _, Strategy as _};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// Makes values: the same in each run of the default tier, and of a round of the deep one.
pub(crate) struct Generator {
    runner: TestRunner,
}

/// Strings that something is often wrong with.
const TEXTS: [&str; 16] = [
    "",
    "a",
    "abcde",
    "abcdef",
    "e\u{301}e\u{301}e\u{301}",
    "👩‍👩‍👧",
    "a\nb",
    "A",
    "1",
    "-a",
    "a-",
    "a.b",
    "25%",
    "true",
    "x/y",
    "small\nlarge",
];

impl Generator {
    pub(crate) fn new() -> Self {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&pemdas_tier::round().unwrap_or(0).to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        Self { runner: TestRunner::new_with_rng(Config::default(), rng) }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.runner.rng().random_range(0..bound)
    }

    fn one_in(&mut self, bound: u32) -> bool {
        self.below(bound) == 0
    }

    /// A value that probably fits; rules are not looked at.
    pub(crate) fn fitting(&mut self, schema: &Schema) -> Value {
        if schema.nullable && self.one_in(4) {
            return Value::Null;
        }
        if let Some(allowed) = &schema.allowed {
            let index = self.below(allowed.len() as u32) as usize;
            return allowed[index].clone();
        }
        match &schema.of {
            Type::Any => self.anything(),
            Type::String => self.text(schema),
            Type::Integer => self.integer(schema),
            Type::Number => {
                if self.one_in(2) {
                    self.integer(schema)
                } else {
                    number(f64::from(self.below(1000)) / 8.0)
                }
            }
            Type::Boolean => json!(self.one_in(2)),
            Type::IntOrString => {
                if self.one_in(2) {
                    self.integer(schema)
                } else {
                    self.text(schema)
                }
            }
            Type::List(items) => {
                let (low, high) = (schema.min_items.unwrap_or(0), schema.max_items.unwrap_or(3));
                let count = low + u64::from(self.below((high - low + 1) as u32));
                (0..count).map(|_| self.fitting(items)).collect()
            }
            Type::Dictionary(values) => {
                let count = self.below(3);
                let entries: Map<String, Value> =
                    (0..count).map(|index| (format!("key-{index}"), self.fitting(values))).collect();
                entries.into()
            }
            Type::Record(record) => {
                let mut out = Map::new();
                for (name, field) in &record.fields {
                    if field.required || self.one_in(2) {
                        out.insert(name.clone(), self.fitting(&field.schema));
                    }
                }
                if record.open && self.one_in(2) {
                    out.insert("unknown".to_owned(), self.anything());
                }
                out.into()
            }
        }
    }

    fn anything(&mut self) -> Value {
        match self.below(8) {
            0 => Value::Null,
            1 => json!(self.one_in(2)),
            2 => json!(i64::from(self.below(100)) - 50),
            3 => number(f64::from(self.below(100)) / 4.0),
            4 => json!(TEXTS[self.below(TEXTS.len() as u32) as usize]),
            5 => json!([1, "a"]),
            6 => json!({ "a": { "b": [] } }),
            _ => json!({}),
        }
    }

    fn integer(&mut self, schema: &Schema) -> Value {
        let low = schema.minimum.as_ref().and_then(serde_json::Number::as_i64);
        let high = schema.maximum.as_ref().and_then(serde_json::Number::as_i64);
        let borders =
            [low.unwrap_or(-3), high.unwrap_or(12), low.unwrap_or(i64::MIN), high.unwrap_or(i64::MAX), 0, 5];
        let near = i64::from(self.below(3)) - 1;
        let border = borders[self.below(6) as usize];
        json!(border.checked_add(near).unwrap_or(border))
    }

    fn text(&mut self, schema: &Schema) -> Value {
        if let Some(most) = schema.max_length.filter(|most| *most > 1000 && !self.one_in(4)) {
            let pieces = ["a", "é", "e\u{301}", "\r\n", "👩‍👩‍👧"];
            let piece = pieces[self.below(5) as usize];
            let wanted = most as usize + self.below(3) as usize - 1;
            let count = wanted / piece.chars().count();
            let rest = wanted - count * piece.chars().count();
            return json!(format!("{}{}", piece.repeat(count), "x".repeat(rest)));
        }
        let Some(pattern) = schema.patterns.first().filter(|_| !self.one_in(8)) else {
            return json!(TEXTS[self.below(TEXTS.len() as u32) as usize]);
        };
        let bare = pattern.trim_start_matches('^').trim_end_matches('$');
        let strategy =
            proptest::string::string_regex(bare).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        strategy.new_tree(&mut self.runner).map_or(json!(""), |tree| json!(tree.current()))
    }

    /// Bends one thing somewhere in a value.
    pub(crate) fn bent(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(map) if !map.is_empty() && !self.one_in(6) => {
                let mut map = map.clone();
                let index = self.below(map.len() as u32) as usize;
                let Some(name) = map.keys().nth(index).cloned() else { return map.into() };
                match self.below(8) {
                    0 => {
                        map.remove(&name);
                    }
                    1 => {
                        map.insert("surplus".to_owned(), json!(1));
                    }
                    _ => {
                        let bent = self.bent(&map[&name]);
                        map.insert(name, bent);
                    }
                }
                map.into()
            }
            Value::Array(items) if !items.is_empty() && !self.one_in(4) => {
                let mut items = items.clone();
                let index = self.below(items.len() as u32) as usize;
                match self.below(4) {
                    0 => items.push(items[index].clone()),
                    1 => {
                        items.remove(index);
                    }
                    _ => items[index] = self.bent(&items[index]),
                }
                items.into()
            }
            Value::String(text) => match self.below(6) {
                0 => json!(format!("{text}\n")),
                1 => json!(text.to_uppercase()),
                2 => json!(format!("-{text}")),
                3 => json!(format!("{text}é")),
                4 => json!(text.chars().skip(1).collect::<String>()),
                _ => self.anything(),
            },
            Value::Number(number) => match (number.as_i64(), self.below(5)) {
                (Some(whole), 0) => json!(whole.checked_neg().unwrap_or(0)),
                (Some(whole), 1) => json!((whole % 1000) as f64 + 0.5),
                (Some(whole), 2) => json!(whole.saturating_mul(1000)),
                (Some(whole), 3) => json!((whole % 1000) as f64),
                _ => self.anything(),
            },
            _ => self.anything(),
        }
    }
}

/// A number as every client of Kubernetes writes it: whole ones without a fraction.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
}
