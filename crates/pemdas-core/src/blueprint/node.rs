//! A node: what it is, and its clauses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AlsoEdge, Clause, Conflict, First, Function, ObjectIdentity, OnDelete, OnImmutable, Once, Own, Replace,
    Report, SequenceEdge, Superseded, WantedShape,
};
use crate::diagnostic::Span;

/// One node of a blueprint; its name is its key there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The node's name where it is defined (its key), or the whole record where the key has no place.
    pub span: Span,
    /// What the node is.
    pub body: Body,
    /// The places of the clauses that the author wrote; what is not here has its default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clauses: BTreeMap<Clause, Span>,
    /// Also edges, by the node they lead to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, AlsoEdge>,
    /// Sequence edges into this node, by precursor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, SequenceEdge>,
    /// The shape that counts as ready; absent: the rules of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<WantedShape>,
    /// The shape that means that somebody has to act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails: Option<WantedShape>,
    /// One member for each key of the record that this yields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<Function>,
    /// The node whose object this is a state of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_of: Option<String>,
    /// A one-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<Once>,
    /// What its being passed or done is remembered for; absent: the rendered spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Function>,
    /// Whether the first key is run.
    #[serde(default)]
    pub first: First,
    /// What becomes of an unfinished attempt whose key has changed.
    #[serde(default)]
    pub superseded: Superseded,
    /// The author's status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Function>,
    /// The author's conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Function>,
    /// A Service whose response becomes status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// Whether a human has to open the gate for each rendered digest.
    #[serde(default)]
    pub approve: bool,
    /// Whose the object is.
    #[serde(default)]
    pub own: Own,
    /// What to do about a field that another manager owns.
    #[serde(default)]
    pub conflict: Conflict,
    /// The order of the new and the old object when a name changes.
    #[serde(default)]
    pub replace: Replace,
    /// What becomes of the object on removal.
    #[serde(default)]
    pub on_delete: OnDelete,
    /// What to do about a change that Kubernetes refuses.
    #[serde(default)]
    pub on_immutable: OnImmutable,
    /// Whether the identity may depend on more than the root and the member.
    #[serde(default)]
    pub late_name: bool,
    /// The Also edges of the root's deletion, by the node they lead to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub deleting: BTreeMap<String, AlsoEdge>,
    /// Whether the object's controller is expected to report `observedGeneration` where its schema has it.
    #[serde(default = "yes")]
    pub observed: bool,
}

fn yes() -> bool {
    true
}

impl Node {
    /// A node with nothing but what it is.
    #[must_use]
    pub fn new(span: Span, body: Body) -> Self {
        Self {
            span,
            body,
            clauses: BTreeMap::new(),
            also: BTreeMap::new(),
            before: BTreeMap::new(),
            ready: None,
            fails: None,
            for_each: None,
            state_of: None,
            once: None,
            key: None,
            first: First::default(),
            superseded: Superseded::default(),
            status: None,
            conditions: None,
            report: None,
            approve: false,
            own: Own::default(),
            conflict: Conflict::default(),
            replace: Replace::default(),
            on_delete: OnDelete::default(),
            on_immutable: OnImmutable::default(),
            late_name: false,
            deleting: BTreeMap::new(),
            observed: true,
        }
    }

    /// The place of a clause, or of the node where the clause has none.
    #[must_use]
    pub fn span_of(&self, clause: Clause) -> &Span {
        self.clauses.get(&clause).unwrap_or(&self.span)
    }
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// The start of an instance.
    Root(Root),
    /// An object that Pemdas applies.
    Template(Template),
    /// Somebody else's object or objects.
    Observe(Observe),
    /// The absence of an object.
    Absent(Absent),
    /// A value without an object.
    Value(Function),
}

impl Body {
    /// The clause that makes a node such a one.
    #[must_use]
    pub fn clause(&self) -> Clause {
        match self {
            Self::Root(_) => Clause::Root,
            Self::Template(_) => Clause::Template,
            Self::Observe(_) => Clause::Observe,
            Self::Absent(_) => Clause::Absent,
            Self::Value(_) => Clause::Value,
        }
    }

    /// What is known of the object's identity, where there is one object.
    #[must_use]
    pub fn identity(&self) -> Option<&ObjectIdentity> {
        match self {
            Self::Template(template) => Some(&template.object),
            Self::Observe(observe) => Some(&observe.object),
            Self::Absent(absent) => Some(&absent.object),
            Self::Root(_) | Self::Value(_) => None,
        }
    }
}

/// A root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// Which objects start an instance.
    pub target: RootTarget,
}

/// Which objects start an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RootTarget {
    /// Every object of a kind that this blueprint owns, by its name in `kinds`.
    Owned(String),
    /// Every object of any kind that the selector picks.
    Foreign {
        /// The API version.
        api_version: String,
        /// The kind.
        kind: String,
        /// Which objects of that kind; absent: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        selector: Option<Selector>,
    },
    /// The blueprint's own ConfigMap: one instance.
    Blueprint,
}

/// What stands for the namespace of a selector that picks in all of them.
pub const EVERY_NAMESPACE: &str = "*";

/// A label selector.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Selector {
    /// Labels and their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<SelectorRule>,
}

impl Selector {
    /// Whether it picks an object with these labels.
    pub fn picks<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        let labels = self.match_labels.iter().all(|(name, value)| label(name) == Some(value));
        labels
            && self.match_expressions.iter().all(|rule| {
                let has = label(&rule.key);
                let among = has.is_some_and(|value| rule.values.iter().any(|it| it == value));
                match rule.operator {
                    SelectorOperator::In => among,
                    SelectorOperator::NotIn => !among,
                    SelectorOperator::Exists => has.is_some(),
                    SelectorOperator::DoesNotExist => has.is_none(),
                }
            })
    }
}

/// One rule of a label selector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectorRule {
    /// The label.
    pub key: String,
    /// How it is judged.
    pub operator: SelectorOperator,
    /// What it is compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// How a label is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SelectorOperator {
    /// It has one of the values.
    In,
    /// It has none of the values.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
}

/// An object that Pemdas applies; for a state, the patch over another node's object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The function that makes it.
    pub function: Function,
    /// What is known of it without an instance.
    #[serde(default)]
    pub object: ObjectIdentity,
    /// Of a binding: the kind and name of the role that it always binds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<(String, String)>,
}

/// Somebody else's object or objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// The function that says which; a plain record is a function that reads nothing.
    pub function: Function,
    /// What is known of it without an instance; by selector, the name is missing.
    #[serde(default)]
    pub object: ObjectIdentity,
    /// Whether it picks by selector: a collection, not one object.
    #[serde(default)]
    pub by_selector: bool,
    /// Whether the object may be missing.
    #[serde(default)]
    pub optional: bool,
}

/// The absence of an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// The function that says which; a plain record is a function that reads nothing.
    pub function: Function,
    /// What is known of it without an instance.
    #[serde(default)]
    pub object: ObjectIdentity,
    /// Limits it to objects of this shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub having: Option<WantedShape>,
}
