//! What a revision holds, and how it is kept.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Trouble;
use crate::packed::{self, Unfit};

/// The most that is kept, in bytes: etcd takes about one and a half million for a whole object.
pub const MAX_STORED: usize = 1_450_000;
/// Up to here people can read it as it is.
const PLAIN: usize = 64 * 1024;
/// No more is unpacked, whatever somebody wrote into a revision.
const MAX_UNPACKED: u64 = 16 * 1024 * 1024;

/// What a revision of a blueprint consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The version of the library that it was written for.
    pub library: String,
    /// The sources, by their path within the blueprint.
    pub sources: BTreeMap<String, String>,
}

impl Content {
    /// As JSON, for people.
    pub(super) fn plain(&self) -> Value {
        json!({ "library": self.library, "sources": self.sources })
    }

    /// As it is kept: plain while it is small, else compressed.
    ///
    /// # Errors
    /// If it is too large even then.
    pub(super) fn stored(&self) -> Result<Value, Trouble> {
        let plain = self.plain();
        let text = plain.to_string();
        if text.len() <= PLAIN {
            return Ok(plain);
        }
        let packed = STANDARD.encode(packed::pack(text.as_bytes()));
        if packed.is_empty() || packed.len() > MAX_STORED {
            return Err(Trouble::TooLarge { size: packed.len() });
        }
        Ok(json!({ "gzip": packed }))
    }

    /// Reads what was kept.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn read(stored: &Value) -> Result<Self, String> {
        let Some(packed) = stored.get("gzip") else {
            return Self::deserialize(stored).map_err(|_| "it is no revision of a blueprint".to_owned());
        };
        let packed = packed.as_str().and_then(|it| STANDARD.decode(it).ok());
        let packed = packed.ok_or_else(|| "its content is not encoded as it should be".to_owned())?;
        let text = packed::unpack(&packed, MAX_UNPACKED).map_err(|why| match why {
            Unfit::Broken => "its content cannot be unpacked".to_owned(),
            Unfit::TooLarge => format!("its content is larger than {MAX_UNPACKED} bytes"),
        })?;
        serde_json::from_slice(&text).map_err(|_| "it is no revision of a blueprint".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Content, MAX_STORED, STANDARD};
    use crate::packed;
    use base64::Engine as _;

    fn content(text: String) -> Content {
        Content { library: "1.0".to_owned(), sources: [("main.ncl".to_owned(), text)].into() }
    }

    /// Text that no compression makes much smaller.
    fn noise(length: usize) -> String {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn small_ones_can_be_read_by_people_and_large_ones_come_back_whole() {
        let small = content("{}".to_owned());
        assert_eq!(small.stored().unwrap()["sources"]["main.ncl"], "{}");
        let large = content("# words\n".repeat(200_000));
        let stored = large.stored().unwrap();
        assert!(stored.to_string().len() < 50_000);
        for it in [small, large] {
            assert_eq!(Content::read(&it.stored().unwrap()), Ok(it));
        }
    }

    #[test]
    fn what_is_too_large_is_refused_with_its_size() {
        assert!(content(noise(MAX_STORED / 2)).stored().is_ok());
        let why = content(noise(1_900_000)).stored().unwrap_err().to_string();
        assert!(why.starts_with("the blueprint takes ") && why.contains("1450000"), "{why}");
    }

    #[test]
    fn what_a_hand_wrote_is_refused() {
        let bomb = STANDARD.encode(packed::pack(&vec![b' '; 20_000_000]));
        for (stored, expected) in [
            (json!(null), "no revision"),
            (json!({ "library": 1 }), "no revision"),
            (json!({ "gzip": 5 }), "not encoded"),
            (json!({ "gzip": "AAAA" }), "cannot be unpacked"),
            (json!({ "gzip": bomb }), "larger than"),
        ] {
            let why = Content::read(&stored).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }
}
