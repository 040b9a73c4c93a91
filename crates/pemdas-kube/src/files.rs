//! The files of a blueprint as a ConfigMap holds them: as they are under `data`, or each compressed under `binaryData`.
//!
//! A large blueprint is compressed rather than spread over several ConfigMaps: several objects are never changed at once, and
//! between two of the changes the operator would see a blueprint that nobody wrote.

use std::{collections::BTreeMap, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::packed::{self, Unfit};

/// What a ConfigMap holds, in bytes of its values.
pub const MAX_CONFIG_MAP: usize = 1 << 20;
/// What all files may have together before anybody looks at them. A blueprint may have less; that it has more is told with
/// everything else that is wrong with it.
pub const MAX_UNPACKED: u64 = 8 << 20;
/// How the name of a compressed file ends.
const SUFFIX: &str = ".gz";

/// Why a ConfigMap cannot be read as the files of a blueprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The key of `binaryData`.
    pub key: String,
    /// What is wrong with it.
    why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Encoding,
    Unfit(Unfit),
    NoText,
    Twice,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key: String = self.key.chars().take(253).collect();
        match self.why {
            Why::Encoding => write!(out, "{key:?} in binaryData is no base64"),
            Why::Unfit(Unfit::Broken) => {
                write!(out, "{key:?} in binaryData is not what gzip writes, or only a part of it")
            }
            Why::Unfit(Unfit::TooLarge) => {
                write!(out, "unpacked, the files of the blueprint have more than {} MiB", MAX_UNPACKED >> 20)
            }
            Why::NoText => write!(out, "{key:?} in binaryData is not text: what is unpacked is no UTF-8"),
            Why::Twice => {
                write!(out, "the ConfigMap has {:?} twice: in data, and compressed in binaryData", file(&key))
            }
        }
    }
}

impl Unreadable {
    /// What to do about it.
    pub const HINT: &str =
        "`pemdas bundle --packed` writes the ConfigMap as it is read; `gzip -n` and base64 do as well";
}

fn file(key: &str) -> &str {
    key.strip_suffix(SUFFIX).unwrap_or(key)
}

/// Whether a ConfigMap has a file, plain or compressed.
#[must_use]
pub fn has(body: &Value, name: &str) -> bool {
    let packed = format!("{name}{SUFFIX}");
    body.get("data").and_then(|it| it.get(name)).is_some_and(Value::is_string)
        || body.get("binaryData").is_some_and(|it| it.get(packed).is_some())
}

/// The files in a ConfigMap. What else is in its `binaryData` is not the blueprint's.
///
/// # Errors
/// What cannot be read.
pub fn read(body: &Value) -> Result<BTreeMap<String, String>, Unreadable> {
    let entries = |field: &str| body.get(field).and_then(Value::as_object).into_iter().flatten();
    let mut files: BTreeMap<String, String> =
        entries("data").filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect();
    let mut left = MAX_UNPACKED;
    for (key, value) in entries("binaryData").filter(|(key, _)| key.ends_with(".ncl.gz")) {
        let unreadable = |why| Unreadable { key: key.clone(), why };
        if files.contains_key(file(key)) {
            return Err(unreadable(Why::Twice));
        }
        let bytes = value.as_str().and_then(|it| STANDARD.decode(it).ok());
        let bytes = bytes.ok_or_else(|| unreadable(Why::Encoding))?;
        let text = packed::unpack(&bytes, left).map_err(|why| unreadable(Why::Unfit(why)))?;
        left -= text.len() as u64;
        let text = String::from_utf8(text).map_err(|_| unreadable(Why::NoText))?;
        files.insert(file(key).to_owned(), text);
    }
    Ok(files)
}

/// The files of a blueprint, each compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// What goes into `binaryData`.
    pub values: BTreeMap<String, String>,
    /// What the ConfigMap then holds.
    pub bytes: usize,
}

/// Compresses the files of a blueprint.
#[must_use]
pub fn pack(files: &BTreeMap<String, String>) -> Packed {
    let packed: BTreeMap<_, _> =
        files.iter().map(|(name, text)| (format!("{name}{SUFFIX}"), packed::pack(text.as_bytes()))).collect();
    let bytes = packed.values().map(Vec::len).sum();
    let values = packed.into_iter().map(|(key, bytes)| (key, STANDARD.encode(bytes))).collect();
    Packed { values, bytes }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn body(files: &BTreeMap<String, String>) -> Value {
        json!({ "binaryData": pack(files).values })
    }

    #[test]
    fn a_file_is_the_same_plain_or_compressed() {
        let files: BTreeMap<String, String> = [("main.ncl", "{}"), ("empty.ncl", ""), ("more.ncl", "ü")]
            .map(|(a, b)| (a.into(), b.into()))
            .into();
        assert_eq!(read(&json!({ "data": files })), Ok(files.clone()));
        assert_eq!(read(&body(&files)), Ok(files.clone()));
        let mut both = body(&files);
        both["data"] = json!({ "other.ncl": "1" });
        both["binaryData"]["logo.png"] = json!("AAAA");
        both["binaryData"]["rows.csv.gz"] = json!("AAAA");
        let found = read(&both).unwrap();
        assert_eq!(found.len(), 4, "what is no file of a blueprint is left alone");
        assert!(has(&both, "main.ncl") && has(&both, "other.ncl") && !has(&both, "logo.png"));
        assert_eq!(read(&json!({})), Ok(BTreeMap::new()));
    }

    #[test]
    fn what_cannot_be_unpacked_is_told_by_its_key() {
        let bomb = STANDARD.encode(packed::pack(&vec![b' '; 20_000_000]));
        let half = STANDARD.encode(packed::pack(&vec![b' '; 5_000_000]));
        let latin = STANDARD.encode(packed::pack(b"\xff"));
        for (binary, expected) in [
            (json!({ "main.ncl.gz": "~" }), "\"main.ncl.gz\" in binaryData is no base64"),
            (json!({ "main.ncl.gz": 5 }), "is no base64"),
            (json!({ "main.ncl.gz": "AAAA" }), "is not what gzip writes"),
            (json!({ "main.ncl.gz": latin }), "is not text"),
            (json!({ "main.ncl.gz": bomb }), "more than 8 MiB"),
            (json!({ "a.ncl.gz": half, "b.ncl.gz": half }), "more than 8 MiB"),
        ] {
            let why = read(&json!({ "binaryData": binary })).unwrap_err().to_string();
            assert!(why.contains(expected), "{why}");
        }
        let twice = json!({ "data": { "a.ncl": "" }, "binaryData": { "a.ncl.gz": "" } });
        let why = read(&twice).unwrap_err().to_string();
        assert_eq!(why, "the ConfigMap has \"a.ncl\" twice: in data, and compressed in binaryData");
    }
}
