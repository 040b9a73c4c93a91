//! Rule 3: caught up and ready. Rule 10: failed.
//!
//! *The accident*: a Deployment is called ready because its status speaks of the generation before our change, and
//! the migration behind it starts against the old version.

use serde_json::Value;

use super::{
    Cause,
    edges::Edges,
    inventory::Item,
    pass::{Data, Found, Member, Pass},
    reason,
};
use crate::{
    blueprint::Node,
    health::conditions,
    path::FieldPath,
    shape::{Shape, Why},
    text,
    truth::Truth,
    world::{Live, ObjectKey, Touch},
};

/// How long the words may be in which pods are refused.
const MAX_REFUSAL: usize = 300;

/// What an object says itself of its failure: the message of the condition that says so.
pub(super) fn own_words(live: &Live) -> Option<String> {
    let conditions = live.body.pointer("/status/conditions").and_then(Value::as_array)?;
    let message = |kind: &str, status: &str| {
        let is_it = |it: &&Value| it["type"] == kind && it["status"] == status;
        let message = conditions.iter().find(is_it)?.get("message")?.as_str()?.trim();
        (!message.is_empty()).then(|| text::shorten(message))
    };
    [("Failed", "True"), ("Stalled", "True"), ("Progressing", "False"), ("Ready", "False")]
        .into_iter()
        .find_map(|(kind, status)| message(kind, status))
}

/// Why a workload gets no pods, where its controller says so: a quota, for example. That there are too few follows from it.
fn pods_refused(live: &Live) -> Option<Why> {
    let refused = conditions::find(&live.body, "ReplicaFailure").filter(|it| it.status == "True")?;
    let is = format!("\"True\" ({})", text::shorten_to(refused.message, MAX_REFUSAL));
    Some(Why::new(conditions::path("ReplicaFailure"), is, "\"False\""))
}

impl Pass<'_> {
    /// Why the object's controller has not seen its last change; nothing if it has.
    pub(super) fn behind(&self, live: &Live, node: &Node) -> Option<Cause> {
        let reports = self.facts.kind(&live.key.kind).is_some_and(|it| it.observed_generation);
        let generation = live.generation?;
        let observed = FieldPath::find(&live.body, &["status", "observedGeneration"]).and_then(Value::as_i64);
        // An object that says which generation was observed is believed, whatever is known of its kind.
        let counts = reports || observed.is_some();
        // Pemdas itself reports the root's generation: a node that observes the root would wait for itself.
        let is_root = live.key == self.facts.root().key;
        if !counts || !node.observed || is_root || mutant!(IgnoreObservedGeneration) {
            return None;
        }
        if observed.is_some_and(|it| it >= generation)
            || (observed.is_none() && mutant!(MissingObservedIsFine))
        {
            return None;
        }
        let is = observed.map_or_else(|| "missing".to_owned(), |it| it.to_string());
        let at = FieldPath::of(&["status", "observedGeneration"]);
        Some(Cause::Shape(vec![Why::new(at, is, generation.to_string())]))
    }

    /// Judges `ready` and `fails` on an object that is as wanted and caught up.
    pub(super) fn health(&mut self, node: &Node, member: &mut Member, edges: &Edges, each: Option<&Value>) {
        let found = member.found.clone();
        let judgement = match &node.ready {
            Some(wanted) => self.judge(wanted, &found, edges, each, Some(&found)),
            // The root is ready when all its nodes are: a node that observes it and waited for that would wait for itself.
            None if self.is_own_root(&found) => self.judge_shape(&Shape::Any, &found),
            None => self.judge_shape(&Shape::Ready, &found),
        };
        member.ready = if member.settled == Truth::True || mutant!(ReadyUnsettled) {
            judgement.truth
        } else {
            judgement.truth.and(member.settled)
        };
        if judgement.truth != Truth::True {
            let refused = match &found {
                Found::Present(Data::Live(live)) => pods_refused(live),
                _ => None,
            };
            member.causes.push(Cause::Shape(refused.into_iter().chain(judgement.why).collect()));
        }
        if let Some(fails) = &node.fails
            && (member.settled == Truth::True || mutant!(FailsUnsettled))
        {
            let failed = self.judge(fails, &found, edges, each, Some(&found));
            if failed.truth == Truth::True {
                let live = match &found {
                    Found::Present(Data::Live(live)) => own_words(live),
                    _ => None,
                };
                let shape = || member.causes.iter().map(ToString::to_string).next().unwrap_or_default();
                let text = live.unwrap_or_else(shape);
                member.causes.insert(0, Cause::stalled(reason::FAILED, text));
            }
        }
    }

    fn is_own_root(&self, found: &Found) -> bool {
        matches!(found, Found::Present(Data::Live(live)) if live.key == self.facts.root().key)
    }

    /// What is found of an object that should be ours.
    pub(super) fn found_ours(&self, key: &ObjectKey) -> Found {
        if let Some(why) = self.facts.blind(&key.kind) {
            return Found::Unknown(why);
        }
        if self.facts.unseen_write(key).is_some() && !mutant!(ActOnOldView) {
            return Found::Unknown(format!("our last write to {key} was not seen yet"));
        }
        match self.facts.object(key) {
            None => Found::Absent,
            Some(live) if self.inventory.get(key).is_some() => Found::Present(Data::Live(live.clone())),
            Some(_) => Found::Unknown(format!("{key} is not ours")),
        }
    }

    /// Whether an object is seen that is not ours.
    pub(super) fn is_foreign(&self, key: &ObjectKey) -> bool {
        self.facts.object(key).is_some()
            && self.inventory.get(key).is_none()
            && self.facts.blind(&key.kind).is_none()
            && self.facts.unseen_write(key).is_none()
    }

    /// An object of ours.
    pub(super) fn ours(&self, key: Option<&ObjectKey>) -> Option<&Item> {
        let key = key?;
        self.facts.read(Touch::object(key));
        self.inventory.get(key)
    }

    /// The objects that say that a node, or a member of it, made them.
    pub(super) fn claims_of(&self, node: &str) -> impl Iterator<Item = (&ObjectKey, &Item)> {
        self.facts.read(Touch::claims(node));
        self.inventory.of_node(node)
    }
}
