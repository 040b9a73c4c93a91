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
        let mut digester = Digester::new(key);
        digester.value(value);
        digester.end()
    }

    /// The first half of an HMAC-SHA-256 (RFC 2104).
    #[must_use]
    pub(crate) fn hmac(key: &[u8], message: &[u8]) -> Self {
        const BLOCK: usize = 64;
        let mut padded = [0_u8; BLOCK];
        if key.len() > BLOCK {
            padded[..32].copy_from_slice(&Sha256::digest(key));
        } else {
            padded[..key.len()].copy_from_slice(key);
        }
        let with = |pad: u8| padded.map(|it| it ^ pad);
        let inner = Sha256::new().chain_update(with(0x36)).chain_update(message).finalize();
        let full = Sha256::new().chain_update(with(0x5c)).chain_update(inner).finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&full[..16]);
        Self(half)
    }

    /// A few characters that may end the name of an object.
    #[must_use]
    pub fn short(self) -> String {
        self.to_string()[..10].to_owned()
    }

    /// All of it, as a part of a name: 26 characters. Whoever may choose what is digested cannot make two of them the same.
    #[must_use]
    pub fn id(self) -> String {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let bits = u128::from_be_bytes(self.0);
        // The last one has three bits of its own.
        let five = |at: usize| if at < 25 { bits >> (123 - 5 * at) } else { bits << 2 };
        let letter = |at: usize| LETTERS.get((five(at) & 31) as usize);
        (0..26).filter_map(letter).map(|it| char::from(*it)).collect()
    }

    /// Its first letters, of 64: at most 20.
    pub(crate) fn letters(self, count: usize) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let bits = u128::from_be_bytes(self.0);
        let letter = |at: usize| LETTERS.get((bits >> (122 - 6 * at.min(20)) & 63) as usize);
        (0..count).filter_map(letter).map(|it| char::from(*it)).collect()
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

/// Takes in what a digest is made of, part by part.
pub(crate) struct Digester(Vec<u8>);

impl Digester {
    pub(crate) fn new(key: &[u8]) -> Self {
        // One call of the hash function for all: it is fast on long inputs, not on short ones.
        let mut bytes = Vec::with_capacity(512);
        bytes.extend((key.len() as u64).to_be_bytes());
        bytes.extend(key);
        Self(bytes)
    }

    pub(crate) fn end(self) -> Digest {
        let full = Sha256::digest(&self.0);
        let mut half = [0; 16];
        half.copy_from_slice(&full[..16]);
        Digest(half)
    }

    pub(crate) fn tag(&mut self, tag: u8) {
        self.0.push(tag);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.text_of(b'"', text);
    }

    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.tag(b'n'),
            Value::Bool(true) => self.tag(b't'),
            Value::Bool(false) => self.tag(b'f'),
            Value::Number(number) => {
                // The evaluator knows no integers: 1 and 1.0 are one number.
                let whole = number.as_i64().map(|it| it.to_string());
                let text = whole.or_else(|| number.as_f64().map(|it| format!("{it}")));
                self.text_of(b'#', &text.unwrap_or_else(|| number.to_string()));
            }
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.tag(b'[');
                self.0.extend((items.len() as u64).to_be_bytes());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(fields) => {
                self.tag(b'{');
                self.0.extend((fields.len() as u64).to_be_bytes());
                // Some other crate may ask for records in the order of their source: sorted all the same.
                if fields.keys().is_sorted() {
                    fields.iter().for_each(|(name, field)| self.field(name, field));
                } else {
                    let mut sorted: Vec<_> = fields.iter().collect();
                    sorted.sort_by_key(|(name, _)| name.as_str());
                    sorted.into_iter().for_each(|(name, field)| self.field(name, field));
                }
            }
        }
    }

    fn field(&mut self, name: &str, field: &Value) {
        self.text_of(b':', name);
        self.value(field);
    }

    fn text_of(&mut self, tag: u8, text: &str) {
        self.tag(tag);
        self.0.extend((text.len() as u64).to_be_bytes());
        self.0.extend(text.as_bytes());
    }
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
    fn an_hmac_is_that_of_the_standard() {
        // RFC 4231, test cases 2 and 6: a short key, and one that is longer than a block.
        let short = Digest::hmac(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(short.to_string(), "5bdcc146bf60754e6a042426089575c7");
        let long = Digest::hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First");
        assert_eq!(long.to_string(), "60e431591ee0b67f0d8a26aacbf5b77f");
    }

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

    #[test]
    fn an_id_has_all_bits_of_a_digest() {
        let id = |bits: u128| Digest(bits.to_be_bytes()).id();
        assert_eq!(id(0), "a".repeat(26));
        assert_eq!(id(u128::MAX), format!("{}4", "7".repeat(25)));
        let all: std::collections::BTreeSet<_> = (0..128).map(|at| id(1 << at)).collect();
        assert_eq!(all.len(), 128, "each bit is seen");
        assert!(all.iter().all(|it| it.len() == 26));
    }
}
