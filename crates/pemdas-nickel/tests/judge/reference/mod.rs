//! What a blueprint means: small, slow, and to be checked against docs/design by reading it once.
//!
//! It shares no code with the engine. A pass looks at every node in no particular order; what needs something that is not known
//! yet is left for the next pass, until a pass finds nothing new. On a cluster in which nothing goes wrong (each object
//! that is made becomes ready at once) this is where an instance comes to rest, in whatever order things happen.
//!
//! Every function is evaluated by Nickel, with all of its input, in every pass.

mod nickel;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::known;
use super::outcome::{Fate, Outcome, Slot, key_of, normal};
use nickel::Nickel;

/// What is known of a node's being needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    No,
    Perhaps,
    Yes,
}

/// A blueprint, read.
pub(super) struct Reference {
    nickel: Nickel,
    nodes: BTreeMap<String, Value>,
    root: String,
}

/// A cluster in which an instance comes to rest.
struct Rest<'r> {
    of: &'r Reference,
    root: Value,
    /// By kind, namespace and name.
    live: BTreeMap<String, Value>,
    need: BTreeMap<String, Need>,
    /// The members of each node, where they are known; without `for_each` one without a name.
    members: BTreeMap<String, BTreeMap<String, Value>>,
    /// The object of a node, or its value.
    found: BTreeMap<Slot, Value>,
    ours: BTreeMap<String, Slot>,
    gone: BTreeSet<String>,
    fates: BTreeMap<Slot, Fate>,
    /// Whether two nodes want one object: what then is, nobody says.
    clash: bool,
}

/// What an edge is: open with what it carries, or closed.
type Carried = Result<Option<Value>, ()>;

impl Reference {
    pub(super) fn read(blueprint: &str) -> Result<Self, String> {
        let nickel = Nickel::load(blueprint)?;
        let nodes = nickel.nodes()?;
        let root = nodes.iter().find(|(_, it)| it.get("root").is_some()).map(|(name, _)| name.clone());
        Ok(Self { nickel, nodes, root: root.ok_or("no root")? })
    }

    /// Where an instance comes to rest that begins among these objects. Nothing is said where two nodes want one object.
    pub(super) fn rest(&self, root: &Value, around: &[Value]) -> Option<Outcome> {
        let mut root = root.clone();
        root["spec"] = self.nickel.admit(&root["spec"]).ok()?;
        let mut rest = Rest {
            of: self,
            root,
            live: around.iter().map(|it| (key_of(it), it.clone())).collect(),
            need: self.nodes.keys().map(|it| (it.clone(), Need::Perhaps)).collect(),
            members: BTreeMap::new(),
            found: BTreeMap::new(),
            ours: BTreeMap::new(),
            gone: BTreeSet::new(),
            fates: BTreeMap::new(),
            clash: false,
        };
        for pass in 0.. {
            let before = (rest.live.clone(), rest.need.clone(), rest.fates.clone());
            rest.pass();
            if before == (rest.live.clone(), rest.need.clone(), rest.fates.clone()) {
                break;
            }
            assert!(pass < 200, "the reference comes to no rest");
        }
        let objects = rest.ours.keys().map(|key| (key.clone(), normal(&rest.live[key]))).collect();
        let order = rest.order();
        (!rest.clash).then_some(Outcome { objects, fates: rest.fates, gone: rest.gone, order })
    }

    fn clause(&self, node: &str, clause: &str) -> Option<&Value> {
        self.nodes.get(node)?.get(clause)
    }

    fn edges(of: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
        of.and_then(Value::as_object).into_iter().flatten().map(|(name, it)| (name.as_str(), it))
    }
}

impl Rest<'_> {
    fn pass(&mut self) {
        self.needs();
        let of = self.of;
        for node in of.nodes.keys().filter(|it| **it != of.root) {
            match self.needed(node) {
                Need::No => self.fates.retain(|slot, _| slot.0 != *node),
                Need::Perhaps => drop(self.fates.insert((node.clone(), String::new()), Fate::Perhaps)),
                Need::Yes => self.node(node),
            }
        }
    }

    fn needed(&self, node: &str) -> Need {
        self.need.get(node).copied().unwrap_or(Need::No)
    }

    /// What the root needs, and what that needs: a fixpoint, as far as conditions are known.
    fn needs(&mut self) {
        let known: Vec<(String, String, Need)> =
            self.of.nodes.keys().flat_map(|from| self.needs_of(from)).collect();
        let mut need = BTreeMap::from([(self.of.root.clone(), Need::Yes)]);
        loop {
            let before = need.clone();
            for (from, to, condition) in &known {
                let here = need.get(from).copied().unwrap_or(Need::No).min(*condition);
                let there = need.entry(to.clone()).or_insert(Need::No);
                *there = here.max(*there);
            }
            if need == before {
                break;
            }
        }
        self.need = need;
    }

    fn needs_of(&self, from: &str) -> Vec<(String, String, Need)> {
        let of = self.of;
        let also = Reference::edges(of.clause(from, "also")).map(|(to, edge)| {
            (to, if edge.get("when").is_some() { self.condition(from, to, edge) } else { Need::Yes })
        });
        // What costs nothing is needed by whoever reads it.
        let read = Reference::edges(of.clause(from, "before"))
            .filter(|(to, edge)| {
                edge.get("extract").is_some()
                    && (of.clause(to, "observe").or(of.clause(to, "value"))).is_some()
            })
            .map(|(to, _)| (to, Need::Yes));
        also.chain(read).map(|(to, need)| (from.to_owned(), to.to_owned(), need)).collect()
    }

    fn condition(&self, from: &str, to: &str, edge: &Value) -> Need {
        let path = ["also", to, "before"];
        let mut the = Map::from_iter([("root".to_owned(), self.root.clone())]);
        for (precursor, it) in Reference::edges(edge.get("before")) {
            // What is not needed cannot be read.
            if self.needed(precursor) == Need::No {
                return Need::No;
            }
            match self.edge(from, &path, precursor, it, None) {
                Ok(Some(carried)) => drop(the.insert(precursor.to_owned(), carried)),
                Ok(None) => {}
                Err(()) => return Need::Perhaps,
            }
        }
        match self.of.nickel.call(&[from, "also", to, "when"], &Value::Object(the)) {
            Ok(Value::Bool(true)) => Need::Yes,
            Ok(Value::Bool(false)) => Need::No,
            _ => Need::Perhaps,
        }
    }

    /// The edge from a precursor: whether it is open, and what it carries. `path` leads to the edge from its node.
    fn edge(
        &self,
        node: &str,
        path: &[&str],
        precursor: &str,
        edge: &Value,
        member: Option<&str>,
    ) -> Carried {
        match self.needed(precursor) {
            Need::Perhaps => return Err(()),
            Need::No if edge.get("extract").is_some() => return Err(()),
            Need::No => {
                return if self.passes_on(precursor, &mut BTreeSet::new()) { Ok(None) } else { Err(()) };
            }
            Need::Yes => {}
        }
        let each = edge.get("each").is_some_and(|it| it == true);
        let wanted: Vec<String> = match self.members.get(precursor) {
            None if self.of.clause(precursor, "for_each").is_none() => vec![String::new()],
            None => return Err(()),
            Some(members) if each => {
                members.keys().filter(|it| Some(it.as_str()) == member).cloned().collect()
            }
            Some(members) => members.keys().cloned().collect(),
        };
        if wanted.is_empty() && !self.passes_on(precursor, &mut BTreeSet::new()) {
            return Err(());
        }
        let mut live = Map::new();
        for member in &wanted {
            let slot = (precursor.to_owned(), member.clone());
            let is = self.found.get(&slot);
            let open = match (edge.get("until"), is) {
                (Some(until), Some(is)) => shapes::holds(until, Some(is)),
                (Some(until), None) => shapes::holds_of_nothing(until),
                (None, _) => self.fates.get(&slot) == Some(&Fate::Ready),
            };
            if !open {
                return Err(());
            }
            live.insert(member.clone(), is.cloned().unwrap_or_default());
        }
        if edge.get("extract").is_none() {
            return Ok(None);
        }
        let whole = self.of.clause(precursor, "for_each").is_none() || each;
        let live = if whole {
            live.into_iter().next().map(|(_, it)| it).unwrap_or_default()
        } else {
            Value::Object(live)
        };
        let path: Vec<&str> = [node].iter().chain(path).copied().chain([precursor, "extract"]).collect();
        self.of.nickel.call(&path, &live).map(Some).map_err(drop)
    }

    /// A node that is not needed, or has no members, passes the order on: what it comes after has to be ready.
    fn passes_on(&self, node: &str, seen: &mut BTreeSet<String>) -> bool {
        if !known::ORDER_IS_PASSED_ON || !seen.insert(node.to_owned()) {
            return true;
        }
        Reference::edges(self.of.clause(node, "before")).all(|(precursor, _)| match self.needed(precursor) {
            Need::Perhaps => false,
            Need::No => self.passes_on(precursor, seen),
            Need::Yes => self.members.get(precursor).is_some_and(|members| {
                let ready = |member: &String| {
                    self.fates.get(&(precursor.to_owned(), member.clone())) == Some(&Fate::Ready)
                };
                members.keys().all(ready) && (!members.is_empty() || self.passes_on(precursor, seen))
            }),
        })
    }

    /// A node that is needed: each of its members waits, or is what it is to be.
    fn node(&mut self, node: &str) {
        // What all members come after comes before it is known which there are.
        let mut the = Map::from_iter([("root".to_owned(), self.root.clone())]);
        let waits = self.edges_into(node, None, &mut the);
        let alone = (node.to_owned(), String::new());
        if !waits.is_empty() {
            self.fates.retain(|slot, _| slot.0 != node);
            self.fates.insert(alone, Fate::Waits(waits));
            return;
        }
        let members = match self.of.clause(node, "for_each") {
            None => BTreeMap::from([(String::new(), Value::Null)]),
            Some(_) => match self.of.nickel.call(&[node, "for_each"], &Value::Object(the.clone())) {
                Ok(Value::Object(members)) => members.into_iter().collect(),
                _ => return drop(self.fates.insert(alone, Fate::Fails)),
            },
        };
        self.fates.retain(|slot, _| slot.0 != node || members.contains_key(&slot.1));
        self.members.insert(node.to_owned(), members.clone());
        if members.is_empty() {
            self.fates.insert(alone, Fate::Empty);
        }
        for (member, value) in members {
            let (slot, mut the) = ((node.to_owned(), member), the.clone());
            if self.of.clause(node, "for_each").is_some() {
                the.insert("each".to_owned(), json!({ "key": slot.1, "value": value }));
            }
            let waits = self.edges_into(node, Some(&slot.1), &mut the);
            let fate = if waits.is_empty() { self.member(&slot, the) } else { Fate::Waits(waits) };
            self.fates.insert(slot, fate);
        }
    }

    /// What the edges into a node carry, those from member to member or all others; and which of them are closed.
    fn edges_into(&self, node: &str, member: Option<&str>, the: &mut Map<String, Value>) -> BTreeSet<String> {
        let mut closed = BTreeSet::new();
        for (precursor, edge) in Reference::edges(self.of.clause(node, "before")) {
            if edge.get("each").is_some_and(|it| it == true) != member.is_some_and(|it| !it.is_empty()) {
                continue;
            }
            match self.edge(node, &["before"], precursor, edge, member) {
                Ok(Some(carried)) => drop(the.insert(precursor.to_owned(), carried)),
                Ok(None) => {}
                Err(()) => drop(closed.insert(precursor.to_owned())),
            }
        }
        closed
    }

    fn member(&mut self, slot: &Slot, the: Map<String, Value>) -> Fate {
        let node = &slot.0;
        let body = ["template", "value", "observe", "absent"]
            .into_iter()
            .find(|it| self.of.clause(node, it).is_some());
        let body = body.expect("a node is one of these");
        let Ok(rendered) = self.of.nickel.call(&[node.as_str(), body], &Value::Object(the)) else {
            return Fate::Fails;
        };
        match body {
            "value" => self.is(slot, rendered),
            "observe" => self.observed(slot, &rendered),
            "absent" => {
                let key = key_of(&self.placed(json!({ "apiVersion": "v1", "kind": rendered["kind"],
                    "metadata": { "name": rendered["name"], "namespace": rendered["namespace"] } })));
                if self.live.remove(&key).is_some() {
                    self.gone.insert(key);
                }
                Fate::Ready
            }
            _ => self.made(slot, rendered),
        }
    }

    fn is(&mut self, slot: &Slot, value: Value) -> Fate {
        self.found.insert(slot.clone(), value);
        Fate::Ready
    }

    fn observed(&mut self, slot: &Slot, wanted: &Value) -> Fate {
        let own = &self.root["metadata"]["namespace"];
        let namespace = wanted.get("namespace").unwrap_or(own);
        if let Some(labels) = wanted.pointer("/selector/matchLabels").and_then(Value::as_object) {
            let picked = self.live.values().filter(|it| {
                let metadata = &it["metadata"];
                it["kind"] == wanted["kind"]
                    && (namespace == "*" || metadata["namespace"] == *namespace)
                    && labels.iter().all(|(name, value)| metadata["labels"].get(name) == Some(value))
            });
            let name =
                |it: &Value, field: &str| it["metadata"][field].as_str().unwrap_or_default().to_owned();
            let all =
                picked.map(|it| (format!("{}/{}", name(it, "namespace"), name(it, "name")), it.clone()));
            let all = Value::Object(all.collect());
            return self.is(slot, all);
        }
        let key = key_of(
            &json!({ "kind": wanted["kind"], "metadata": { "name": wanted["name"], "namespace": namespace } }),
        );
        let optional = self.of.clause(&slot.0, "optional").is_some_and(|it| it == true);
        match self.live.get(&key).cloned() {
            Some(live) => self.is(slot, live),
            None if optional => self.is(slot, Value::Null),
            None => Fate::Missing,
        }
    }

    fn made(&mut self, slot: &Slot, rendered: Value) -> Fate {
        let object = self.placed(rendered);
        let key = key_of(&object);
        self.clash |= self.ours.get(&key).is_some_and(|it| it != slot);
        let old: Vec<String> = self
            .ours
            .iter()
            .filter(|(it, of)| *of == slot && **it != key)
            .map(|(it, _)| it.clone())
            .collect();
        for key in old {
            self.ours.remove(&key);
            self.live.remove(&key);
        }
        let object = quiet(object);
        self.ours.insert(key.clone(), slot.clone());
        self.live.insert(key, object.clone());
        self.found.insert(slot.clone(), object.clone());
        let ready = match self.of.clause(&slot.0, "ready") {
            Some(shape) => shapes::holds(shape, Some(&object)),
            None => shapes::ready(&object),
        };
        if ready { Fate::Ready } else { Fate::Unready }
    }

    /// Which objects come before which others, and go after them.
    fn order(&self) -> BTreeSet<(String, String)> {
        let pairs = self.ours.iter().flat_map(|(key, (node, member))| {
            let first = self.before(node, member, &mut BTreeSet::new());
            first.into_iter().map(|it| (it, key.clone()))
        });
        pairs.collect()
    }

    /// The objects that a node comes after: those of its precursors, and of theirs where a precursor has none.
    fn before(&self, node: &str, member: &str, seen: &mut BTreeSet<String>) -> BTreeSet<String> {
        if !seen.insert(node.to_owned()) {
            return BTreeSet::new();
        }
        let mut all = BTreeSet::new();
        for (precursor, edge) in Reference::edges(self.of.clause(node, "before")) {
            if edge.get("until").is_some_and(shapes::holds_of_nothing) {
                continue;
            }
            let each = edge.get("each").is_some_and(|it| it == true);
            let of_it = self.ours.iter().filter(|(_, (other, _))| other == precursor);
            let of_it: Vec<_> = of_it.filter(|(_, (_, other))| !each || other == member).collect();
            if of_it.is_empty() && known::ORDER_IS_PASSED_ON {
                all.extend(self.before(precursor, "", seen));
            }
            all.extend(of_it.into_iter().map(|(key, _)| key.clone()));
        }
        all
    }

    /// In the root's namespace, if it says no other.
    fn placed(&self, mut object: Value) -> Value {
        if object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = self.root["metadata"]["namespace"].clone();
        }
        object
    }
}

/// With what the controllers of a quiet cluster come to.
fn quiet(mut object: Value) -> Value {
    if object["kind"] == "Deployment" {
        let condition = |kind: &str| json!({ "type": kind, "status": "True" });
        object["status"] = json!({ "conditions": [condition("Available"), condition("Progressing")] });
    }
    object
}
