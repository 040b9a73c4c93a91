//! The clauses of a node: their names, and the values of those that are not functions or edges.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Function, WantedShape};
use crate::diagnostic::Span;

macro_rules! clauses {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The name of a clause, as written in a blueprint.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Clause {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }
        impl Clause {
            /// Every clause.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The clause as an author writes it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

clauses! {
    /// The node is the start of an instance.
    Root = "root",
    /// The node is an object that Pemdas applies.
    Template = "template",
    /// The node is somebody else's object.
    Observe = "observe",
    /// The node is the absence of an object.
    Absent = "absent",
    /// The node is a value without an object.
    Value = "value",
    /// An observed object may be missing.
    Optional = "optional",
    /// The shape of the objects that an `absent` removes.
    Having = "having",
    /// Also edges.
    Also = "also",
    /// Sequence edges into the node.
    Before = "before",
    /// The shape that counts as ready.
    Ready = "ready",
    /// The shape that means that somebody has to act.
    Fails = "fails",
    /// One member for each key.
    ForEach = "for_each",
    /// This node is a state of another node's object.
    StateOf = "state_of",
    /// A one-off.
    Once = "once",
    /// What a state or a once is remembered for.
    Key = "key",
    /// Whether the first key is run.
    First = "first",
    /// What becomes of an unfinished attempt whose key has changed.
    Superseded = "superseded",
    /// The author's status.
    Status = "status",
    /// The author's conditions.
    Conditions = "conditions",
    /// A Service whose response becomes status.
    Report = "report",
    /// A gate that a human opens.
    Approve = "approve",
    /// Whose the object is.
    Own = "own",
    /// What to do about a field that another manager owns.
    Conflict = "conflict",
    /// The order of the new and the old object when a name changes.
    Replace = "replace",
    /// What becomes of the object on removal.
    OnDelete = "on_delete",
    /// What to do about a change that Kubernetes refuses.
    OnImmutable = "on_immutable",
    /// The name depends on more than the root and the member.
    LateName = "late_name",
    /// The Also edges of the root's deletion.
    Deleting = "deleting",
    /// Whether the object's controller reports `observedGeneration`.
    Observed = "observed",
}

impl fmt::Display for Clause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// `once`: the object is a one-off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Once {
    /// The shape that means done; absent: `Complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<WantedShape>,
    /// From the live object to what is recorded of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Function>,
    /// How often a failed attempt is tried again without a human.
    #[serde(default)]
    pub retry: u32,
}

/// `report`: the HTTP response of a Service becomes status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The name of the node whose object is the Service.
    pub service: String,
    /// That name as written.
    pub service_span: Span,
    /// The port.
    pub port: u16,
    /// The path of the request.
    pub path: String,
    /// The field of the status it goes to; absent: the whole of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// From the response to what goes there; absent: the response itself. A contract that it breaks is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<Function>,
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $(#[$first_doc:meta])* $first:ident, $($(#[$other_doc:meta])* $other:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
        pub enum $name {
            $(#[$first_doc])* #[default] $first,
            $($(#[$other_doc])* $other,)*
        }
    };
}

choice! {
    /// `first`: whether the first key of a state or a once is run.
    First {
        /// It is run.
        Run,
        /// It is taken as a baseline.
        Skip,
    }
}
choice! {
    /// `superseded`: what becomes of an unfinished attempt whose key has changed.
    Superseded {
        /// It is waited for.
        Wait,
        /// It is deleted.
        Cancel,
    }
}
choice! {
    /// `own`: whose the object is.
    Own {
        /// One instance claims it; an existing one is not touched.
        Whole,
        /// An existing one is taken over.
        Adopt,
    }
}
choice! {
    /// `conflict`: what to do about a field that another manager owns.
    Conflict {
        /// Stop and say so.
        Fail,
        /// Leave the field out.
        Yield,
        /// Take the field.
        Force,
    }
}
choice! {
    /// `replace`: the order of the new and the old object when a name changes.
    Replace {
        /// The old one goes after the new one is ready.
        After,
        /// The old one goes first.
        Before,
    }
}
choice! {
    /// `removal`, of a Sequence edge: which of its two ends goes first.
    Removal {
        /// The precursor stays until this node is gone, or settled without it.
        Reverse,
        /// Either: the edge says nothing about it.
        Any,
    }
}
impl Removal {
    /// Whether it is what nobody has to write.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
choice! {
    /// `on_delete`: what becomes of the object on removal.
    OnDelete {
        /// It is deleted.
        Delete,
        /// It is left alone.
        Orphan,
    }
}
choice! {
    /// `on_immutable`: what to do about a change that Kubernetes refuses.
    OnImmutable {
        /// Stop and say so.
        Fail,
        /// Delete the object and create it anew.
        Recreate,
    }
}
