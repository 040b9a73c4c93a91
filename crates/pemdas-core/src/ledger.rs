//! The ledger: what cannot be read off the objects. Which keys were tried, which attempt, and how it ended.
//!
//! One small object for each instance that needs one. It is written by compare-and-swap on its resourceVersion, so
//! a leader that was deposed cannot overwrite what its successor recorded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;

/// How many entries a ledger keeps; beyond it nothing new is recorded, and the node says so.
pub const MAX_ENTRIES: usize = 2_000;
/// How many bytes of JSON a result may have; a larger one is recorded as null.
pub const MAX_RESULT_BYTES: usize = 4_096;

/// The Secret with the ledger of an instance.
#[must_use]
pub fn secret_name(instance: &str) -> String {
    format!("pemdas-ledger-{instance}")
}

/// A node and one of its members; the member is empty where there is only one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The node.
    pub node: String,
    /// The member.
    pub member: String,
}

impl Slot {
    /// A slot.
    #[must_use]
    pub fn new(node: &str, member: &str) -> Self {
        Self { node: node.to_owned(), member: member.to_owned() }
    }
}

impl std::fmt::Display for Slot {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.member.is_empty() {
            out.write_str(&self.node)
        } else {
            write!(out, "{}[{}]", self.node, self.member)
        }
    }
}

impl Serialize for Slot {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text =
            if self.member.is_empty() { self.node.clone() } else { format!("{}/{}", self.node, self.member) };
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Slot {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (node, member) = text.split_once('/').unwrap_or((&text, ""));
        Ok(Self::new(node, member))
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It is done; of a state: passed.
    Passed,
    /// It failed.
    Failed,
    /// It was deleted before its end, or never begun: not passed.
    Cut,
}

/// What is remembered of a state or a once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The digest of the key it was tried for.
    pub key: Digest,
    /// The attempt; 0 where the first key was only taken as a baseline.
    pub attempt: u32,
    /// How often a failed attempt for this key was repeated by itself.
    #[serde(default)]
    pub retries: u32,
    /// How the attempt ended; nothing while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// What was recorded at its end.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// Whether an earlier one of its chain was attempted since: it is due again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub due: bool,
    /// Of a state: passed because there was no object to bring into it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vain: bool,
    /// Of a state that was passed and left: what its object waits for since has nothing to do with it, so the object does not return to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
}

impl Entry {
    /// An attempt that begins.
    #[must_use]
    pub fn begun(key: Digest, attempt: u32, retries: u32) -> Self {
        Self { key, attempt, retries, end: None, result: Value::Null, due: false, vain: false, left: false }
    }

    /// A first key that is only taken as a baseline: passed without an attempt.
    #[must_use]
    pub fn baseline(key: Digest) -> Self {
        Self { end: Some(End::Passed), ..Self::begun(key, 0, 0) }
    }

    /// Whether it was passed for this key, and nothing made it due since.
    #[must_use]
    pub fn passed_for(&self, key: Digest) -> bool {
        self.key == key && self.end == Some(End::Passed) && !self.due
    }

    /// Whether it was attempted for this key, and nothing made it due since.
    #[must_use]
    pub fn attempted_for(&self, key: Digest) -> bool {
        self.key == key && !self.due
    }
}

/// The ledger of an instance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// By node and member.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub entries: BTreeMap<Slot, Entry>,
    /// The random strings that templates were given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seeds: BTreeMap<Slot, String>,
    /// The last nonce of a human's resume.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resumed: String,
    /// The revision at which the deletion began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleting: Option<String>,
    /// Whether the nodes of the deletion are through, or skipped: only removal is left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removing: bool,
    /// Whether an older key sealed it than the one that seals now: not part of it.
    #[serde(skip)]
    pub older: bool,
}
