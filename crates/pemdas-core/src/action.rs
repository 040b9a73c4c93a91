//! What `decide` wants done. Who carries an action out decides nothing: it sends it and reports what became of it.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    digest::Digest,
    evaluate::Question,
    ledger::{Ledger, Slot},
    world::{Live, ObjectKey},
};

/// One thing to do. Actions of one decision do not depend on each other: they may be sent in any order, or at once.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Evaluate all of these, as one batch.
    Render(Vec<Question>),
    /// Server-side apply with `resourceVersion: "1"`: it creates, or is refused and changes nothing.
    Create {
        /// What.
        key: ObjectKey,
        /// The whole object to apply.
        body: Value,
    },
    /// Server-side apply on an object with this uid.
    Change {
        /// What.
        key: ObjectKey,
        /// The uid it must have.
        uid: String,
        /// The resourceVersion it must have: where the object has states, or is adopted.
        resource_version: Option<u64>,
        /// The whole object to apply.
        body: Value,
        /// Whether fields of other managers are taken.
        force: bool,
    },
    /// Delete this object, and no other under its name.
    Delete {
        /// What.
        key: ObjectKey,
        /// The uid it must have.
        uid: String,
        /// The resourceVersion it must have.
        resource_version: u64,
    },
    /// Take our finalizer off an object; with `disown`, our label and annotation as well.
    Release {
        /// What.
        key: ObjectKey,
        /// The uid it must have.
        uid: String,
        /// The resourceVersion it must have.
        resource_version: u64,
        /// Whether the claim goes too: the object stays and is nobody's.
        disown: bool,
    },
    /// Write the same claim on an object anew, with the seal of the key that seals now.
    Seal {
        /// What.
        key: ObjectKey,
        /// The uid it must have.
        uid: String,
        /// The resourceVersion it must have.
        resource_version: u64,
        /// The claim.
        claim: String,
    },
    /// Read the object itself: what became of a write is not known.
    Look {
        /// What.
        key: ObjectKey,
    },
    /// Read the ledger itself: what became of a write to it is not known.
    ReadLedger,
    /// Write the ledger, at this resourceVersion; none creates it.
    Record {
        /// The ledger as it shall be.
        ledger: Box<Ledger>,
        /// The resourceVersion it must have.
        resource_version: Option<u64>,
    },
    /// Delete the ledger: the last step but one of a deletion.
    Forget {
        /// The resourceVersion it must have.
        resource_version: u64,
    },
    /// Read the ledger of an earlier root of the same identity, to take it over.
    ReadLedgerOf {
        /// The name of that root's instance.
        instance: String,
    },
    /// Delete the ledger of an earlier root: it was taken over.
    ForgetLedgerOf {
        /// The name of that root's instance.
        instance: String,
        /// The resourceVersion it must have.
        resource_version: u64,
    },
    /// Set which finalizers the root has: others' stay. They are put on as the blueprint's account, and taken off as Pemdas itself.
    Finalize {
        /// The uid the root must have.
        uid: String,
        /// The resourceVersion it must have.
        resource_version: u64,
        /// All that it shall have.
        finalizers: BTreeSet<String>,
    },
    /// Write on the root that its instance has a ledger, or take that off. It is put on as the blueprint's account, and
    /// taken off as Pemdas itself, as finalizers are.
    Mark {
        /// The uid the root must have.
        uid: String,
        /// The resourceVersion it must have.
        resource_version: u64,
        /// The annotation.
        annotation: String,
        /// What it shall say; nothing takes it off.
        memory: Option<String>,
    },
    /// Write the status of the root.
    Status {
        /// The uid the root must have.
        uid: String,
        /// The whole status.
        status: Value,
    },
    /// Tell people, once.
    Event(Event),
}

/// Something worth telling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Event {
    /// The node it is about; none for the instance.
    pub about: Option<Slot>,
    /// One word.
    pub reason: String,
    /// One sentence.
    pub message: String,
    /// Whether it is a warning.
    pub warning: bool,
}

impl Action {
    /// Delete this object as it was seen.
    #[must_use]
    pub fn delete(live: &Live) -> Self {
        let (key, uid) = (live.key.clone(), live.uid.clone());
        Self::Delete { key, uid, resource_version: live.resource_version }
    }

    /// Let go of this object as it was seen.
    #[must_use]
    pub fn release(live: &Live, disown: bool) -> Self {
        let (key, uid) = (live.key.clone(), live.uid.clone());
        Self::Release { key, uid, resource_version: live.resource_version, disown }
    }

    /// Seal the claim of this object, as it was seen, anew.
    #[must_use]
    pub fn seal(live: &Live, claim: String) -> Self {
        let (key, uid) = (live.key.clone(), live.uid.clone());
        Self::Seal { key, uid, resource_version: live.resource_version, claim }
    }

    /// The object that the action writes; nothing for what writes none, or only the root and the ledger.
    #[must_use]
    pub fn written(&self) -> Option<&ObjectKey> {
        match self {
            Self::Create { key, .. }
            | Self::Change { key, .. }
            | Self::Delete { key, .. }
            | Self::Release { key, .. }
            | Self::Seal { key, .. } => Some(key),
            _ => None,
        }
    }

    /// The digest of what is tried: a refusal holds for the same again, not for something else.
    #[must_use]
    pub fn tried(&self) -> Digest {
        let what = match self {
            Self::Create { body, .. } => json!(["create", body]),
            Self::Change { body, force, .. } => json!(["change", body, force]),
            Self::Delete { uid, .. } => json!(["delete", uid]),
            Self::Release { uid, disown, .. } => json!(["release", uid, disown]),
            Self::Seal { uid, claim, .. } => json!(["seal", uid, claim]),
            Self::Status { status, .. } => json!(["status", timeless(status)]),
            Self::Finalize { finalizers, .. } => json!(["finalize", finalizers]),
            Self::Mark { memory, .. } => json!(["mark", memory]),
            Self::Render(_)
            | Self::Look { .. }
            | Self::ReadLedger
            | Self::ReadLedgerOf { .. }
            | Self::ForgetLedgerOf { .. }
            | Self::Record { .. }
            | Self::Forget { .. }
            | Self::Event(_) => json!(null),
        };
        Digest::of(&[], &what)
    }

    /// Whether it changes something in the cluster that others can see, other than status and events.
    #[must_use]
    pub fn moves_the_cluster(&self) -> bool {
        self.written().is_some()
            || matches!(
                self,
                Self::Record { .. }
                    | Self::Forget { .. }
                    | Self::ForgetLedgerOf { .. }
                    | Self::Finalize { .. }
                    | Self::Mark { .. }
            )
    }

    /// Whether it writes the root.
    #[must_use]
    pub fn writes_root(&self) -> bool {
        matches!(self, Self::Finalize { .. } | Self::Mark { .. } | Self::Status { .. })
    }
}

/// A status without the times in it: the same again is the same, whenever it is tried.
pub(crate) fn timeless(status: &Value) -> Value {
    let mut status = status.clone();
    for (list, time) in [("/conditions", "lastTransitionTime"), ("/pemdas/nodes", "since")] {
        let entries = status.pointer_mut(list).and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
            entry.remove(time);
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Action;

    #[test]
    fn the_same_status_at_another_time_is_the_same_try() {
        let at = |time: &str, ready: &str| Action::Status {
            uid: "u".to_owned(),
            status: json!({
                "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": time }],
                "pemdas": { "nodes": [{ "name": "a", "since": time }] },
            }),
        };
        assert_eq!(at("10:00", "True").tried(), at("10:01", "True").tried());
        assert_ne!(at("10:00", "True").tried(), at("10:00", "False").tried());
    }
}
