//! The conditions of an object.

use serde_json::Value;

use crate::{path::FieldPath, text};

/// A condition as found on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition<'a> {
    /// `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// The reason, or nothing.
    pub reason: &'a str,
    /// The message, or nothing.
    pub message: &'a str,
    /// The generation it speaks of and the one the object has, where the first is the older.
    pub stale: Option<(i64, i64)>,
}

impl Condition<'_> {
    /// The condition in few words, such as `"False" (Pulling: waiting for the image)`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let status = format!("{:?}", text::shorten(self.status));
        let said: Vec<_> = [self.reason, self.message]
            .iter()
            .filter(|it| !it.is_empty())
            .map(|it| text::shorten(it))
            .collect();
        if said.is_empty() { status } else { format!("{status} ({})", said.join(": ")) }
    }
}

/// Where a condition stands, for people.
#[must_use]
pub fn path(kind: &str) -> FieldPath {
    FieldPath::of(&["status", "conditions"]).item(text::shorten(kind))
}

/// The condition of a type.
#[must_use]
pub fn find<'a>(object: &'a Value, kind: &str) -> Option<Condition<'a>> {
    let all = FieldPath::find(object, &["status", "conditions"])?.as_array()?;
    let found = all.iter().find(|it| it.get("type").and_then(Value::as_str) == Some(kind))?;
    let field = |name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default();
    let generation = FieldPath::find(object, &["metadata", "generation"]).and_then(Value::as_i64);
    let seen = found.get("observedGeneration").and_then(Value::as_i64);
    Some(Condition {
        status: field("status"),
        reason: field("reason"),
        message: field("message"),
        stale: seen.zip(generation).filter(|(seen, generation)| seen < generation),
    })
}
