//! What may not be told: values of Secrets, in whatever text they turn up.
//!
//! *The accident*: a blueprint makes the name of an object, or the key of a map, from a Secret; the API server refuses it and quotes the
//! name, and the refusal becomes an Event that everybody in the namespace may read.
//!
//! Nobody can say of a text where each part of it comes from. So what is told to others is searched for the values themselves: for those
//! in the Secrets that the instance sees and for its seeds, as they are, encoded in base64 wherever they stand in what was encoded,
//! quoted, line by line, and for their beginnings, because texts are cut off. What is shorter than eight characters is not searched for:
//! it would be found everywhere. What stands in the root or in the blueprint as well is no secret.

use std::{cell::OnceCell, collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    blueprint::Blueprint,
    world::{KindKey, LedgerFact, Live, World},
};

/// What is told in place of a value.
pub const MASKED: &str = "***";
/// The shortest value, or beginning of one, that is not told.
pub const SHORTEST: usize = 8;
/// How long a value may be that is looked into as JSON.
const MAX_JSON: usize = 64 << 10;

/// Searches texts for values that may not be told.
pub struct Secrets<'a> {
    /// By their first bytes.
    values: BTreeMap<[u8; SHORTEST], Vec<String>>,
    root: Option<Arc<Live>>,
    blueprint: Option<&'a Blueprint>,
    /// The texts of both; found when they are first asked for, which is seldom.
    open: OnceCell<String>,
}

impl<'a> Secrets<'a> {
    /// Those that an instance sees.
    #[must_use]
    pub fn of(world: &World, blueprint: Option<&'a Blueprint>) -> Self {
        let root = world.root.live.clone();
        let mut secrets = Self { values: BTreeMap::new(), root, blueprint, open: OnceCell::new() };
        secrets.learn_of(world);
        secrets
    }

    /// Searches for those that the instance sees now as well.
    pub fn learn_of(&mut self, world: &World) {
        let kind = KindKey::new("v1", "Secret");
        for live in world.objects_of(&kind) {
            self.learn(live.body.get("data"), true);
            self.learn(live.body.get("stringData"), false);
        }
        if let LedgerFact::Present { ledger, .. } = &world.ledger {
            ledger.seeds.values().for_each(|it| self.add(it));
        }
    }

    /// Whether there is nothing to search for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A text without the values.
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            match self.longest(rest).filter(|length| !self.stands_openly(&rest[..*length])) {
                Some(length) => {
                    out.push_str(MASKED);
                    rest = &rest[length..];
                }
                None => {
                    out.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        out
    }

    /// The same in all texts of a value, names of fields included.
    pub fn mask_all(&self, value: &mut Value) {
        match value {
            _ if self.is_empty() => {}
            Value::String(text) => *text = self.mask(text),
            Value::Array(items) => items.iter_mut().for_each(|it| self.mask_all(it)),
            Value::Object(fields) => {
                for (name, mut value) in std::mem::take(fields) {
                    self.mask_all(&mut value);
                    fields.insert(self.mask(&name), value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// How many bytes of the beginning of a text are the beginning of a value.
    fn longest(&self, text: &str) -> Option<usize> {
        let start = text.as_bytes().first_chunk::<SHORTEST>()?;
        let common = |value: &String| {
            let same = text.chars().zip(value.chars()).take_while(|(a, b)| a == b);
            let (count, length) =
                same.fold((0, 0), |(count, bytes), (it, _)| (count + 1, bytes + it.len_utf8()));
            (count >= SHORTEST).then_some(length)
        };
        self.values.get(start)?.iter().filter_map(common).max()
    }

    /// Whether a text is part of the root or of the blueprint.
    fn stands_openly(&self, text: &str) -> bool {
        let open = self.open.get_or_init(|| {
            let mut open = String::new();
            if let Some(root) = &self.root {
                texts(&root.body, &mut open);
            }
            for text in self.blueprint.iter().flat_map(|it| &it.texts) {
                open.push_str(text);
                open.push('\n');
            }
            if let Some(blueprint) = self.blueprint.and_then(|it| serde_json::to_value(it).ok()) {
                texts(&blueprint, &mut open);
            }
            open
        });
        open.contains(text)
    }

    /// The values of a field of a Secret.
    fn learn(&mut self, values: Option<&Value>, is_encoded: bool) {
        for value in values.and_then(Value::as_object).into_iter().flatten().filter_map(|(_, it)| it.as_str())
        {
            self.add(value);
            if let Some(decoded) = Some(value).filter(|_| is_encoded).and_then(decoded) {
                self.add(&decoded);
            }
        }
    }

    /// A value in all its forms.
    fn add(&mut self, value: &str) {
        self.keep(value);
        for shift in 0..3 {
            self.keep(&encoded(value.as_bytes(), shift));
        }
        let quoted = Value::from(value).to_string();
        if quoted.len() > value.len() + 2 {
            self.keep(quoted.get(1..quoted.len() - 1).unwrap_or_default());
        }
        if value.trim_end().contains('\n') {
            value.lines().for_each(|it| self.keep(it.trim()));
        }
        if value.len() <= MAX_JSON
            && value.starts_with(['{', '['])
            && let Ok(inside) = serde_json::from_str::<Value>(value)
        {
            self.add_inside(&inside);
        }
    }

    fn add_inside(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.keep(text),
            Value::Array(items) => items.iter().for_each(|it| self.add_inside(it)),
            Value::Object(fields) => fields.values().for_each(|it| self.add_inside(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn keep(&mut self, value: &str) {
        if let Some(start) = value.as_bytes().first_chunk::<SHORTEST>()
            && value.chars().nth(SHORTEST - 1).is_some()
        {
            let same = self.values.entry(*start).or_default();
            if !same.iter().any(|it| it == value) {
                same.push(value.to_owned());
            }
        }
    }
}

/// All texts of a value, names of fields included, each in a line.
fn texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|it| texts(it, out)),
        Value::Object(fields) => {
            for (name, value) in fields {
                out.push_str(name);
                out.push('\n');
                texts(value, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What bytes look like in base64 where so many others stand before them, without the signs that others share.
fn encoded(bytes: &[u8], before: usize) -> String {
    let mut out = String::with_capacity(bytes.len() / 3 * 4);
    // The first sign that is of these bytes alone begins at a multiple of six bits.
    let skipped = (before * 8).div_ceil(6) * 6 - before * 8;
    let (mut bits, mut count) = (0_u32, 0);
    let mut skip = skipped;
    for byte in bytes {
        bits = (bits << 8) | u32::from(*byte);
        count += 8;
        if skip > 0 {
            count -= skip;
            skip = 0;
        }
        while count >= 6 {
            count -= 6;
            let sign = usize::try_from((bits >> count) & 63).unwrap_or_default();
            out.push(char::from(SIGNS.get(sign).copied().unwrap_or(b'A')));
        }
        bits &= (1 << count) - 1;
    }
    out
}

/// The text that is encoded in base64; none if it is no text.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for sign in text.bytes().filter(|it| !it.is_ascii_whitespace() && *it != b'=') {
        let value = match sign {
            b'A'..=b'Z' => sign - b'A',
            b'a'..=b'z' => sign - b'a' + 26,
            b'0'..=b'9' => sign - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 255).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
