//! Why a node is where it is, as data, down to the root cause.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{ledger::Slot, shape::Why, text, world::Refused};

/// How many causes a node keeps.
pub const MAX_CAUSES: usize = 8;
/// How long the words of a refusal may be.
const MAX_REFUSAL: usize = 1_000;
/// How long a chain of waits is followed.
pub const MAX_CHAIN: usize = 64;

/// Words for what only a human can end.
pub mod reason {
    /// An object that is not ours is in the way.
    pub const EXISTS: &str = "Exists";
    /// Another manager owns a field of what is newly wanted.
    pub const CONFLICT: &str = "Conflict";
    /// Another manager takes our fields again and again, or they do not stay as they are applied.
    pub const CONTENDED: &str = "Contended";
    /// An object goes away again and again, or comes back again and again after it was deleted.
    pub const RECREATED: &str = "Recreated";
    /// The schema of a kind does not have a field of the template.
    pub const UNKNOWN_FIELD: &str = "UnknownField";
    /// The API server accepted an object and dropped fields of it.
    pub const DROPPED: &str = "FieldsDropped";
    /// A field that may not change would have to.
    pub const IMMUTABLE: &str = "Immutable";
    /// The object has the shape that means failure.
    pub const FAILED: &str = "Failed";
    /// An attempt for an older key has not ended.
    pub const SUPERSEDED: &str = "Superseded";
    /// An attempt was deleted before its end.
    pub const CUT: &str = "Cut";
    /// The root breaks the contract of its kind.
    pub const CONTRACT: &str = "BreaksContract";
    /// A function of the blueprint failed.
    pub const ERROR: &str = "Error";
    /// A template answers its own result with another one.
    pub const UNSTEADY: &str = "DoesNotSettle";
    /// An object under a name that is wanted has our label, and no claim that Pemdas wrote.
    pub const CLAIM_INVALID: &str = "ClaimInvalid";
    /// The ledger is gone or cannot be read, and there was one.
    pub const MEMORY_LOST: &str = "MemoryLost";
    /// The API server refuses a write again and again, or what is there may not be seen; trying again, and somebody has to
    /// do something.
    pub const REFUSED: &str = "Refused";
    /// A finalizer of somebody else holds an object that is being deleted, for long.
    pub const HELD: &str = "Held";
    /// Objects stay although their root goes: a human gave them up, or nobody knows whose they are.
    pub const LEFT: &str = "Left";
    /// A node of the deletion cannot run.
    pub const DELETION: &str = "DeletionBlocked";
    /// The root is not there, and was not seen going.
    pub const STRAY: &str = "RootMissing";
}

/// One cause.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It waits for another node.
    Waits {
        /// That node.
        on: Slot,
        /// What of it is not as wanted.
        reasons: Vec<Why>,
    },
    /// Its own object is not of the wanted shape.
    Shape(Vec<Why>),
    /// Something is going on that ends by itself.
    Pending(String),
    /// Something is not known.
    Unknown(String),
    /// A write was refused and is tried again.
    Refused {
        /// How it was refused.
        message: String,
        /// When it is tried again.
        again: u64,
        /// Whether it ends by itself, without anybody's doing.
        #[serde(skip)]
        passing: bool,
    },
    /// A human must look.
    Stalled {
        /// One word, of [`reason`].
        reason: &'static str,
        /// One sentence.
        message: String,
    },
}

impl Cause {
    /// A write was refused: at first it is tried again, and from the fourth time on a human is asked as well.
    pub(crate) fn refused(refused: &Refused) -> Self {
        let message = refused.refusal.to_string();
        if refused.lasts() {
            return Self::Stalled {
                reason: reason::REFUSED,
                message: text::shorten_to(&message, MAX_REFUSAL),
            };
        }
        Self::Refused { message, again: refused.again(), passing: refused.refusal.passes() }
    }

    /// The same of something that is no node's object.
    pub(crate) fn refused_of(what: &str, refused: &Refused) -> Self {
        match Self::refused(refused) {
            Self::Refused { message, again, passing } => {
                Self::Refused { message: format!("{what}: {message}"), again, passing }
            }
            Self::Stalled { reason, message } => {
                Self::Stalled { reason, message: format!("{what}: {message}") }
            }
            other => other,
        }
    }

    /// What is told of it as an Event: one word and one sentence. What ends by itself is not.
    pub(crate) fn told(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Stalled { reason, .. } => Some((reason, self.to_string())),
            Self::Refused { passing: false, .. } => Some((reason::REFUSED, self.to_string())),
            _ => None,
        }
    }

    pub(crate) fn stalled(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Stalled { reason, message: message.into() }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |reasons: &[Why]| reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        match self {
            Self::Waits { on, reasons } if reasons.is_empty() => write!(out, "waits for {on}"),
            Self::Waits { on, reasons } => write!(out, "waits for {on}: {}", list(reasons)),
            Self::Shape(reasons) => out.write_str(&list(reasons)),
            Self::Pending(text) | Self::Unknown(text) => out.write_str(&text::shorten(text)),
            // Whoever reads it has nothing else to go by: the server's own words stay whole.
            Self::Refused { message, .. } => {
                write!(out, "refused: {}", text::shorten_to(message, MAX_REFUSAL))
            }
            Self::Stalled { reason, message } => write!(out, "{reason}: {message}"),
        }
    }
}

/// How far a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Phase {
    /// It is ready.
    Ready,
    /// It is applied, and not of its ready shape yet.
    Progressing,
    /// It waits for another node.
    Waiting,
    /// Something of it is not known.
    Unknown,
    /// A human must look.
    Stalled,
    /// It is being removed.
    Removing,
}

/// Where a node, or a member of one, is, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeState {
    /// How far it is.
    pub phase: Phase,
    /// Why it is not further; empty when it is ready. At most [`MAX_CAUSES`].
    pub causes: Vec<Cause>,
    /// Which fields of its object the API server dropped, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
}

/// Follows a chain of waits from a node to what it is waiting for in the end.
#[must_use]
pub fn chain(nodes: &BTreeMap<Slot, NodeState>, from: &Slot) -> Vec<(Slot, Cause)> {
    let mut found: Vec<(Slot, Cause)> = Vec::new();
    let mut at = from.clone();
    while found.len() < MAX_CHAIN {
        let Some(cause) = nodes.get(&at).and_then(|state| state.causes.first()) else { break };
        found.push((at.clone(), cause.clone()));
        match cause {
            Cause::Waits { on, .. } if !found.iter().any(|(seen, _)| seen == on) => at = on.clone(),
            _ => break,
        }
    }
    found
}
