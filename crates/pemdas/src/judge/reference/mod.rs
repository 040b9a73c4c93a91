//! What a blueprint means: small, slow, and to be checked against docs/design by reading it once.
//!
//! It shares no code with the engine. A pass looks at every node in no particular order; what needs something that is not known
//! yet is left for the next pass, until a pass finds nothing new. On a cluster in which nothing goes wrong (each object
//! that is made becomes ready at once) this is where an instance comes to rest, in whatever order things happen.
//!
//! Every function is evaluated by Nickel, with all of its input, in every pass.

mod edges;
mod nickel;
mod order;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

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
    reads_self: bool,
}

/// A cluster in which an instance comes to rest.
struct Rest<'r> {
    of: &'r Reference,
    root: Value,
    /// Which edges of the root count: `also`, or `deleting` at its end.
    needs: &'static str,
    /// By kind, namespace and name.
    live: BTreeMap<String, Value>,
    need: BTreeMap<String, Need>,
    /// The members of each node, where they are known; without `for_each` one without a name.
    members: BTreeMap<String, BTreeMap<String, Value>>,
    /// The object of a node, its value, or the result of its once.
    found: BTreeMap<Slot, Value>,
    /// What is made now, and what was made for earlier versions of the root.
    ours: BTreeMap<String, Slot>,
    before: BTreeMap<String, Slot>,
    gone: BTreeSet<String>,
    fates: BTreeMap<Slot, Fate>,
    /// States and onces that are through: before this version of the root, and because of it.
    done: BTreeMap<Slot, Done>,
    ran: BTreeMap<Slot, Done>,
    /// Whether two nodes want one object, or one that somebody else made: what then is, nobody says.
    clash: bool,
}

/// What is remembered of a state or a once: what for it was done, and what it left.
#[derive(Debug, Clone, PartialEq)]
struct Done {
    key: Value,
    object: String,
    result: Value,
}

impl Reference {
    pub(super) fn read(blueprint: &str) -> Result<Self, String> {
        let nickel = Nickel::load(blueprint)?;
        let nodes = nickel.nodes()?;
        let root = nodes.iter().find(|(_, it)| it.get("root").is_some()).map(|(name, _)| name.clone());
        let reads_self = blueprint.contains("the.self");
        Ok(Self { nickel, nodes, root: root.ok_or("no root")?, reads_self })
    }

    /// Whether what was before says something of what comes.
    pub(super) fn has_history(&self) -> bool {
        self.reads_self
    }

    /// Where an instance comes to rest that begins among these objects, for each version of its root and at its end. Nothing
    /// is said where two nodes want one object, or where one wants an object of somebody else.
    pub(super) fn play(&self, roots: &[Value], around: &[Value]) -> Option<Vec<Outcome>> {
        let live = around.iter().map(|it| (key_of(it), it.clone())).collect();
        let mut rest = Rest {
            of: self,
            root: Value::Null,
            needs: "also",
            live,
            need: BTreeMap::new(),
            members: BTreeMap::new(),
            found: BTreeMap::new(),
            ours: BTreeMap::new(),
            before: BTreeMap::new(),
            gone: BTreeSet::new(),
            fates: BTreeMap::new(),
            done: BTreeMap::new(),
            ran: BTreeMap::new(),
            clash: false,
        };
        let mut all = Vec::new();
        for root in roots {
            all.push(rest.of_version(root, "also")?);
        }
        all.push(rest.of_version(roots.last()?, "deleting")?);
        Some(all)
    }

    fn clause(&self, node: &str, clause: &str) -> Option<&Value> {
        self.nodes.get(node)?.get(clause)
    }

    fn edges(of: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
        of.and_then(Value::as_object).into_iter().flatten().map(|(name, it)| (name.as_str(), it))
    }

    /// The states of an object.
    fn states<'r>(&'r self, object: &'r str) -> impl Iterator<Item = &'r str> {
        let states =
            self.nodes.iter().filter(move |(_, it)| it.get("state_of").is_some_and(|it| it == object));
        states.map(|(name, _)| name.as_str())
    }
}

impl Rest<'_> {
    fn of_version(&mut self, root: &Value, needs: &'static str) -> Option<Outcome> {
        let mut root = root.clone();
        root["spec"] = self.of.nickel.admit(&root["spec"]).ok()?;
        self.before.append(&mut self.ours);
        self.live.insert(key_of(&root), root.clone());
        (self.root, self.needs) = (root, needs);
        self.need = self.of.nodes.keys().map(|it| (it.clone(), Need::Perhaps)).collect();
        (self.members, self.found, self.fates) = Default::default();
        for pass in 0.. {
            let before = (self.live.clone(), self.need.clone(), self.fates.clone());
            self.pass();
            if before == (self.live.clone(), self.need.clone(), self.fates.clone()) {
                break;
            }
            assert!(pass < 200, "the reference comes to no rest");
        }
        if needs == "also" {
            for (key, _) in std::mem::take(&mut self.before) {
                if !self.ours.contains_key(&key) {
                    self.live.remove(&key);
                }
            }
        }
        self.done.append(&mut self.ran);
        let objects = self.ours.keys().map(|key| (key.clone(), normal(&self.live[key]))).collect();
        let (came, went) = (self.order(false), self.order(true));
        let (fates, gone) = (self.fates.clone(), self.gone.clone());
        (!self.clash).then_some(Outcome { objects, fates, gone, came, went })
    }

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
        let clause = if from == of.root { self.needs } else { "also" };
        let also = Reference::edges(of.clause(from, clause)).map(|(to, edge)| {
            let conditional = edge.get("when").is_some();
            (to, if conditional { self.condition(from, clause, to, edge) } else { Need::Yes })
        });
        // What costs nothing is needed by whoever reads it: the node itself, or a condition at it.
        let conditions = Reference::edges(of.clause(from, clause)).filter_map(|(_, edge)| edge.get("before"));
        let read = of.clause(from, "before").into_iter().chain(conditions);
        let read = read
            .flat_map(|it| Reference::edges(Some(it)))
            .filter(|(to, edge)| {
                edge.get("extract").is_some()
                    && (of.clause(to, "observe").or(of.clause(to, "value"))).is_some()
            })
            .map(|(to, _)| (to, Need::Yes));
        let object = of.clause(from, "state_of").and_then(Value::as_str).map(|it| (it, Need::Yes));
        also.chain(read).chain(object).map(|(to, need)| (from.to_owned(), to.to_owned(), need)).collect()
    }

    fn condition(&self, from: &str, clause: &str, to: &str, edge: &Value) -> Need {
        let before = edge.get("before");
        // What is not needed cannot be read.
        if Reference::edges(before).any(|(precursor, _)| self.needed(precursor) == Need::No) {
            return Need::No;
        }
        let mut the = self.the();
        if !self.edges_into(&[from, clause, to], before, None, &mut the).is_empty() {
            return Need::Perhaps;
        }
        match self.of.nickel.call(&[from, clause, to, "when"], &Value::Object(the)) {
            Ok(Value::Bool(true)) => Need::Yes,
            Ok(Value::Bool(false)) => Need::No,
            _ => Need::Perhaps,
        }
    }

    /// What every function sees. What a random string is, nobody can say.
    fn the(&self) -> Map<String, Value> {
        Map::from_iter([
            ("root".to_owned(), self.root.clone()),
            ("self".to_owned(), Value::Null),
            ("seed".to_owned(), "random".into()),
        ])
    }

    /// A node that is needed: each of its members waits, or is what it is to be.
    fn node(&mut self, node: &str) {
        // What all members come after comes before it is known which there are.
        let mut the = self.the();
        let (path, before) = ([node], self.of.clause(node, "before"));
        let waits = self.edges_into(&path, before, None, &mut the);
        let alone = (node.to_owned(), String::new());
        if !waits.is_empty() {
            self.members.remove(node);
            self.fates.retain(|slot, _| slot.0 != node);
            // What is not due waits for nothing.
            let key =
                self.of.clause(node, "key").map(|_| self.of.nickel.call(&[node, "key"], &Value::Object(the)));
            let fate =
                if key == Some(Ok(Value::Null)) { Fate::Idle } else { self.waiting(&path, None, waits) };
            self.fates.insert(alone, fate);
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
            let waits = self.edges_into(&path, before, Some(&slot.1), &mut the);
            let fate = if waits.is_empty() {
                self.member(&slot, &the)
            } else {
                self.waiting(&path, Some(&slot.1), waits)
            };
            self.fates.insert(slot, fate);
        }
    }

    /// What comes after these waits for them, or fails if a function fails that takes data from one.
    fn waiting(&self, path: &[&str; 1], member: Option<&str>, mut on: BTreeSet<String>) -> Fate {
        // An object waits for its states as well, and either may be said.
        let states = self.of.states(path[0]).filter(|it| self.needed(it) != Need::No && !self.is_idle(it));
        on.extend(states.map(str::to_owned));
        if self.is_spoiled(path, self.of.clause(path[0], "before"), member) {
            return Fate::FailsAnyway(on);
        }
        Fate::Waits(on)
    }

    /// Whether a state or a once is not due: there is nothing that it would be done for.
    fn has_no_key(&self, node: &str, the: &Map<String, Value>) -> bool {
        let input = || Value::Object(the.clone());
        self.of
            .clause(node, "key")
            .is_some_and(|_| self.of.nickel.call(&[node, "key"], &input()) == Ok(Value::Null))
    }

    fn member(&mut self, slot: &Slot, the: &Map<String, Value>) -> Fate {
        let node = &slot.0;
        let body = ["template", "value", "observe", "absent"]
            .into_iter()
            .find(|it| self.of.clause(node, it).is_some());
        let body = body.expect("a node is one of these");
        if body == "template" {
            return self.template(slot, the);
        }
        let Ok(rendered) = self.of.nickel.call(&[node.as_str(), body], &Value::Object(the.clone())) else {
            return Fate::Fails;
        };
        match body {
            "value" => self.is(slot, rendered),
            "observe" => self.observed(slot, &rendered),
            _ => {
                let wanted = json!({ "kind": rendered["kind"],
                    "metadata": { "name": rendered["name"], "namespace": rendered["namespace"] } });
                let key = key_of(&self.placed(wanted));
                let having = self.of.clause(node, "having").cloned();
                let meant = self.live.get(&key).is_some_and(|live| match &having {
                    Some(shape) => self.has_shape(&[node, "having"], shape, the, Some(live)) == Some(true),
                    None => true,
                });
                if meant {
                    self.live.remove(&key);
                    self.gone.insert(key);
                }
                Fate::Ready
            }
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
            let all: Map<_, _> = all.collect();
            let fate = if all.is_empty() { Fate::Empty } else { Fate::Ready };
            self.found.insert(slot.clone(), Value::Object(all));
            return fate;
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

    /// A node with a template whose edges are open: an object, a state of one, or something that is done once.
    fn template(&mut self, slot: &Slot, the: &Map<String, Value>) -> Fate {
        let of = self.of;
        let state = of.clause(&slot.0, "state_of").and_then(Value::as_str);
        if state.is_some() || of.clause(&slot.0, "once").is_some() {
            return self.remembered(slot, state, the);
        }
        let due = |it: &&str| match self.needed(it) {
            Need::No => false,
            Need::Perhaps => !self.has_no_key(it, &self.the()),
            Need::Yes => {
                let fate = self.fates.get(&((*it).to_owned(), slot.1.clone()));
                !matches!(fate, Some(Fate::Ready | Fate::Idle))
            }
        };
        if of.states(&slot.0).any(|it| due(&it)) {
            return Fate::Unready;
        }
        match self.rendered(slot, &mut the.clone()) {
            Some(object) => self.made(slot, slot, object, the),
            None => Fate::Fails,
        }
    }

    /// A state or a once: it is passed or done once for its key, and again if something ran again that it comes after.
    fn remembered(&mut self, slot: &Slot, state: Option<&str>, the: &Map<String, Value>) -> Fate {
        let input = Value::Object(the.clone());
        let rendered = self.of.nickel.call(&[&slot.0, "template"], &input);
        let key = match self.of.clause(&slot.0, "key") {
            Some(_) => self.of.nickel.call(&[&slot.0, "key"], &input),
            None => rendered.clone().map(|it| it.get("spec").cloned().unwrap_or(it)),
        };
        let (Ok(key), Ok(rendered)) = (key.clone(), rendered) else {
            return if key == Ok(Value::Null) { Fate::Idle } else { Fate::Fails };
        };
        if key.is_null() {
            return Fate::Idle;
        }
        let again = self.after(&slot.0).iter().any(|it| self.ran.keys().any(|(node, _)| node == it));
        if let Some(done) = self.done.get(slot).filter(|it| it.key == key && !again).cloned() {
            if state.is_none() && self.before.contains_key(&done.object) {
                self.ours.insert(done.object, slot.clone());
            }
            return self.is(slot, done.result);
        }
        let fate = match state {
            // It was passed, and its object may have gone on.
            Some(_) if self.ran.get(slot).is_some_and(|it| it.key == key) => return Fate::Ready,
            Some(object) => self.state(slot, object, &rendered, the),
            None => self.made(slot, slot, rendered, the),
        };
        if fate == Fate::Ready {
            let object = self.ours.iter().find(|(_, of)| *of == slot).map(|(key, _)| key.clone());
            let result = self.found.get(slot).cloned().unwrap_or_default();
            self.ran.insert(slot.clone(), Done { key, object: object.unwrap_or_default(), result });
        }
        fate
    }

    /// An earlier state of an object: its patch over the template of the object.
    fn state(&mut self, slot: &Slot, object: &str, patch: &Value, the: &Map<String, Value>) -> Fate {
        let last = (object.to_owned(), slot.1.clone());
        let (mut all, before) = (self.the(), self.of.clause(object, "before"));
        // What the template does not read need not be there: the edges of the object are not those of its states.
        self.carried(&[object], before, None, &mut all);
        let Some(mut whole) = self.rendered(&last, &mut all) else {
            return Fate::Unready;
        };
        merge(&mut whole, patch);
        self.made(slot, &last, whole, the)
    }

    /// What a template says. One that reads its own object has to say the same of its own result.
    fn rendered(&self, slot: &Slot, the: &mut Map<String, Value>) -> Option<Value> {
        let mut call = |own: &Value| {
            the.insert("self".to_owned(), own.clone());
            self.of.nickel.call(&[&slot.0, "template"], &Value::Object(the.clone())).ok()
        };
        let first = call(&Value::Null)?;
        if !self.of.reads_self {
            return Some(first);
        }
        let key = key_of(&self.placed(first.clone()));
        let known = self.ours.contains_key(&key) || self.before.contains_key(&key);
        let own = self.live.get(&key).filter(|_| known).cloned().unwrap_or_default();
        let object = call(&own)?;
        (call(&object)? == object).then_some(object)
    }

    /// The object of `owner` is as `slot` has it.
    fn made(&mut self, slot: &Slot, owner: &Slot, rendered: Value, the: &Map<String, Value>) -> Fate {
        let once = self.of.clause(&slot.0, "once");
        let mut object = self.placed(rendered);
        if once.is_some() {
            // Each attempt has a name of its own.
            let name: String =
                object["metadata"]["name"].as_str().unwrap_or_default().chars().take(52).collect();
            object["metadata"]["name"] = format!("{name}-attempt").into();
        }
        let key = key_of(&object);
        let is_foreign = || self.live.contains_key(&key) && !self.before.contains_key(&key);
        self.clash |= self.ours.get(&key).map_or_else(is_foreign, |it| it != owner);
        let old: Vec<String> = self
            .ours
            .iter()
            .filter(|(it, of)| *of == owner && **it != key)
            .map(|(it, _)| it.clone())
            .collect();
        for key in old {
            self.ours.remove(&key);
            self.live.remove(&key);
        }
        let object = quiet(object);
        self.ours.insert(key.clone(), owner.clone());
        self.live.insert(key, object.clone());
        if let Some(once) = once {
            let result = match once.get("result") {
                Some(_) => self.of.nickel.call(&[&slot.0, "once", "result"], &object),
                None => Ok(json!({
                    "apiVersion": object["apiVersion"], "kind": object["kind"],
                    "metadata": { "name": object["metadata"]["name"] }, "status": object["status"],
                })),
            };
            let Ok(result) = result else { return Fate::Fails };
            return self.is(slot, result);
        }
        self.found.insert(slot.clone(), object.clone());
        let mut the = the.clone();
        the.insert("self".to_owned(), object.clone());
        let ready = match self.of.clause(&slot.0, "ready") {
            Some(shape) => self.has_shape(&[&slot.0, "ready"], shape, &the, Some(&object)) == Some(true),
            None => shapes::ready(&object),
        };
        if ready { Fate::Ready } else { Fate::Unready }
    }

    /// In the root's namespace, if it says no other.
    fn placed(&self, mut object: Value) -> Value {
        if object["kind"] == "ClusterRole" {
            object["metadata"].as_object_mut().into_iter().for_each(|it| drop(it.remove("namespace")));
        } else if object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = self.root["metadata"]["namespace"].clone();
        }
        object
    }
}

/// A merge patch.
fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(fields), Value::Object(patches)) => {
            for (name, patch) in patches {
                merge(fields.entry(name.clone()).or_insert(Value::Null), patch);
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

/// With what the controllers of a quiet cluster come to.
fn quiet(mut object: Value) -> Value {
    let condition = |kind: &str| json!({ "type": kind, "status": "True" });
    if object["kind"] == "Deployment" {
        object["status"] = json!({ "conditions": [condition("Available"), condition("Progressing")] });
    }
    if object["kind"] == "Job" {
        object["status"] = json!({ "conditions": [condition("Complete")] });
    }
    object
}
