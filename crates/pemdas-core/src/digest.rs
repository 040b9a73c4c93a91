//! Digests of values: the same meaning gives the same digest, whatever the order of fields or the form of a number.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The first half of a SHA-256. Keyed: a digest in an annotation must not let a reader guess a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 16]);

impl Digest {
    /// The digest of a value under a key that stays in the cluster.
    #[must_use]
    pub fn of(key: &[u8], value: &Value) -> Self {
        let mut sha = Sha256::new();
        sha.update((key.len() as u64).to_be_bytes());
        sha.update(key);
        feed(&mut sha, value);
        let full = sha.finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&full[..16]);
        Self(half)
    }

    /// A few characters that may end the name of an object.
    #[must_use]
    pub fn short(self) -> String {
        self.to_string()[..10].to_owned()
    }

    fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 16];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

fn feed(sha: &mut Sha256, value: &Value) {
    match value {
        Value::Null => sha.update(b"n"),
        Value::Bool(true) => sha.update(b"t"),
        Value::Bool(false) => sha.update(b"f"),
        Value::Number(number) => {
            // The evaluator knows no integers: 1 and 1.0 are one number.
            let whole = number.as_i64().map(|it| it.to_string());
            let text = whole.or_else(|| number.as_f64().map(|it| format!("{it}")));
            text_of(sha, b'#', &text.unwrap_or_else(|| number.to_string()));
        }
        Value::String(text) => text_of(sha, b'"', text),
        Value::Array(items) => {
            sha.update(b"[");
            sha.update((items.len() as u64).to_be_bytes());
            items.iter().for_each(|item| feed(sha, item));
        }
        Value::Object(fields) => {
            sha.update(b"{");
            sha.update((fields.len() as u64).to_be_bytes());
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            for (name, field) in sorted {
                text_of(sha, b':', name);
                feed(sha, field);
            }
        }
    }
}

fn text_of(sha: &mut Sha256, tag: u8, text: &str) {
    sha.update([tag]);
    sha.update((text.len() as u64).to_be_bytes());
    sha.update(text.as_bytes());
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("not a digest"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Digest;

    #[test]
    fn a_digest_follows_the_meaning_and_the_key() {
        let of = |value| Digest::of(b"k", &value);
        assert_eq!(of(json!({ "a": 1, "b": [2] })), of(json!({ "b": [2.0], "a": 1.0 })));
        assert_ne!(of(json!(["ab", "c"])), of(json!(["a", "bc"])));
        assert_ne!(of(json!(null)), of(json!({})));
        assert_ne!(of(json!(1)), Digest::of(b"other", &json!(1)));
        let text = serde_json::to_value(of(json!(1))).unwrap();
        assert_eq!(serde_json::from_value::<Digest>(text).unwrap(), of(json!(1)));
        assert!(serde_json::from_value::<Digest>(json!("zz")).is_err());
    }
}
