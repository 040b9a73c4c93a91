//! In which order things came and went: what every object found of the nodes that it comes after, and what still stood on every object
//! that was deleted. The objects say themselves which node made them and which nodes they came after.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use pemdas_core::world::{CLAIM_ANNOTATION, Claim, ROOT_LABEL};
use pemdas_sim::{Change, Cluster, Key};
use serde_json::Value;

use super::{measure::Measures, state::named};

/// How a node was when something was made that comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ground {
    /// It had no object.
    Nothing,
    /// It had some, and not all of them were as they are to be.
    Unready,
    /// All its objects were as they are to be.
    Ready,
}

/// An object that is there, as it says itself.
#[derive(Debug, Clone)]
struct Made {
    name: String,
    instance: String,
    node: String,
    member: String,
    after: BTreeSet<String>,
    /// Whether it does something once: what was done stays done, whatever becomes of the object.
    once: bool,
    /// Whether it is in a state before its last: only the last one comes after what its node comes after.
    early: bool,
    object: Arc<Value>,
}

impl Made {
    fn read(key: &Key, object: &Arc<Value>) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let instance = metadata.get("labels")?.get(ROOT_LABEL)?.as_str()?.to_owned();
        let claim = metadata.get("annotations")?.get(CLAIM_ANNOTATION)?.as_str()?;
        let claim: Claim = serde_json::from_str(claim).ok()?;
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        Some(Self {
            name: format!("{kind} {}", named(&key.path)),
            instance,
            node: claim.node,
            member: claim.member,
            once: claim.attempt.is_some(),
            early: claim.state.is_some(),
            after: claim.after.into_keys().collect(),
            object: Arc::clone(object),
        })
    }

    /// Whether both are of the same instance, and where both are members, of the same name: edges may go from member to member.
    fn goes_with(&self, other: &Self) -> bool {
        let members = [&self.member, &other.member];
        self.instance == other.instance
            && (self.member == other.member || members.into_iter().any(String::is_empty))
    }
}

/// The order of things in a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order {
    measures: Arc<Measures>,
    /// Up to which change of the store everything was looked at.
    seen: u64,
    there: BTreeMap<Key, Made>,
    /// Nodes that do something once.
    once: BTreeSet<String>,
    /// By object and node: how the node was when the object came for the first time.
    came: BTreeMap<(String, String), Ground>,
    /// By object: what stood on it when it was deleted for the first time.
    went: BTreeMap<String, BTreeSet<String>>,
}

impl Order {
    /// Nothing happened yet.
    pub(crate) fn new(measures: Arc<Measures>) -> Self {
        Self { measures, ..Self::default() }
    }

    /// Looks at what happened since the last look.
    pub(crate) fn look(&mut self, cluster: &Cluster) {
        let store = cluster.server().store();
        // What is forgotten by then was too much to be judged.
        for change in store.since(self.seen).unwrap_or_default() {
            self.see(change);
        }
        self.seen = store.revision();
    }

    fn see(&mut self, change: &Change) {
        let going = |it: &Value| it["metadata"].get("deletionTimestamp").is_some();
        let deleted = match (&change.before, &change.after) {
            (Some(before), None) => !going(before),
            (Some(before), Some(after)) => !going(before) && going(after),
            (None, _) => false,
        };
        if let Some(made) = self.there.get(&change.key).filter(|_| deleted) {
            let stands = |it: &&Made| it.after.contains(&made.node) && it.goes_with(made);
            let standing = self.there.values().filter(stands).map(|it| it.name.clone()).collect();
            self.went.entry(made.name.clone()).or_insert(standing);
        }
        let Some(made) = change.after.as_ref().and_then(|it| Made::read(&change.key, it)) else {
            self.there.remove(&change.key);
            return;
        };
        if made.once {
            self.once.insert(made.node.clone());
        }
        if !made.early && self.there.get(&change.key).is_none_or(|it| it.early) {
            for node in made.after.iter().filter(|it| !self.once.contains(*it)) {
                let ground = self.ground(&made, node);
                self.came.entry((made.name.clone(), node.clone())).or_insert(ground);
            }
        }
        self.there.insert(change.key.clone(), made);
    }

    fn ground(&self, made: &Made, node: &str) -> Ground {
        let of_node = || self.there.values().filter(|it| it.node == node && it.goes_with(made));
        match of_node().next() {
            None => Ground::Nothing,
            Some(_) if of_node().all(|it| self.measures.fits(&made.node, node, &it.object)) => Ground::Ready,
            Some(_) => Ground::Unready,
        }
    }

    /// Where another run came or went too early, measured by this one.
    pub(crate) fn broken_by(&self, other: &Self) -> Option<String> {
        for ((object, node), ground) in &other.came {
            let Some(wanted) = self.came.get(&(object.clone(), node.clone())).filter(|it| ground < it) else {
                continue;
            };
            let how = if *wanted == Ground::Ready { "was ready" } else { "was there" };
            return Some(format!("{object} was created before `{node}` {how}, which it comes after"));
        }
        for (object, standing) in &other.went {
            let free = self.went.get(object).is_some_and(BTreeSet::is_empty);
            if let Some(other) = standing.first().filter(|_| free) {
                return Some(format!("{object} was deleted while {other}, which comes after it, was there"));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pemdas_core::world::{CLAIM_ANNOTATION, ROOT_LABEL};
    use pemdas_sim::{Change, Key, ResourceId};
    use serde_json::{Value, json};

    use super::Order;

    /// A ConfigMap of a node, in a state, after other nodes.
    fn object(name: &str, state: Option<&str>, after: &[&str]) -> Value {
        let digest = "0".repeat(32);
        let after: Value = after
            .iter()
            .map(|it| ((*it).to_owned(), json!(digest)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let root = json!({ "kind": { "group": "x", "kind": "Shop" }, "namespace": "n", "name": "s" });
        let mut claim = json!({
            "root": root, "node": name, "after": after, "revision": "r", "ordinal": 1, "applied": digest,
        });
        if let Some(state) = state {
            claim["state"] = json!(state);
        }
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": name, "labels": { ROOT_LABEL: "i" }, "annotations": { CLAIM_ANNOTATION: claim.to_string() },
        } })
    }

    /// What happened, object by object.
    fn order(objects: &[Value]) -> Order {
        let resource = ResourceId { group: String::new(), plural: "configmaps".to_owned() };
        let mut order = Order::default();
        for object in objects {
            let key = Key::new(&resource, Some("n"), object["metadata"]["name"].as_str().unwrap());
            order.see(&Change { revision: 1, key, before: None, after: Some(Arc::new(object.clone())) });
        }
        order
    }

    #[test]
    fn what_comes_too_early_is_told_and_an_earlier_state_is_not_early() {
        let (first, last) = (object("first", None, &[]), object("last", None, &["first"]));
        let whole = order(&[first.clone(), last.clone()]);
        let early = order(&[last.clone(), first.clone()]);
        assert!(whole.broken_by(&early).unwrap().contains("created before `first`"));
        assert_eq!(whole.broken_by(&whole), None);
        // Its state before the last comes after other nodes, or none.
        let state = object("last", Some("before"), &["first"]);
        let in_states = order(&[state.clone(), first.clone(), last.clone()]);
        assert_eq!(whole.broken_by(&in_states), None);
        let turned_early = order(&[state, last, first]);
        assert!(whole.broken_by(&turned_early).is_some(), "the last state is judged when it comes");
    }
}
