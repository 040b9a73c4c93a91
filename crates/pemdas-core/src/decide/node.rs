//! Rules 5 and 6, for each kind of node: who may act in this round, and what a closed edge holds.
//!
//! *The accident*: a precursor flaps, and its successors are changed with half the data, drained, or torn down.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    Cause, Mode,
    edges::Edges,
    inputs::{self, The},
    inventory::Item,
    pass::{Asked, Data, Found, Member, NodeView, Pass},
    reason,
};
use crate::{
    action::Action,
    blueprint::{Absent, Body, EVERY_NAMESPACE, Function, Node, Observe, Selector},
    evaluate::Form,
    ledger::Slot,
    truth::Truth,
    world::{KindKey, Live, ObjectKey, Owner},
};

/// How many members a `for_each` or a selector may have; more is an error of the node.
pub const MAX_MEMBERS: usize = 1_000;

impl Pass<'_> {
    pub(super) fn step(&mut self, name: &str) {
        let program = self.program;
        let Some(node) = program.node(name) else { return };
        let need = self.needed(name);
        let mut view = if need == Truth::False {
            NodeView::new(need)
        } else {
            match &node.body {
                Body::Root(_) => return,
                Body::Template(_) => self.made(name, node, need),
                Body::Observe(observe) => self.observed(name, node, observe, need),
                Body::Absent(absent) => self.kept_away(name, node, absent, need),
                Body::Value(function) => self.value(name, node, function, need),
            }
        };
        view.token = self.token_of(&view);
        self.nodes.insert(name.to_owned(), view);
    }

    /// The members of a node: of a `for_each` what its function says while its edges are open; otherwise the last
    /// set stands, that is what is in the inventory.
    fn members(&mut self, name: &str, node: &Node, view: &mut NodeView) -> BTreeMap<String, Option<Value>> {
        let Some(for_each) = &node.for_each else { return [(String::new(), None)].into() };
        view.collection = true;
        let shared = node.before.iter().filter(|(_, edge)| !edge.each);
        let before = shared.map(|(name, edge)| (name.clone(), edge.clone())).collect();
        let edges = self.edges(&Slot::new(name, ""), &before, None);
        let answer = match self.the(for_each, &edges, None, None) {
            Err(cause) => Asked::Unknown(cause.to_string()),
            Ok(the) => self.ask(for_each, Form::Whole, &the),
        };
        let mut wanted: Option<BTreeMap<String, Option<Value>>> = None;
        match answer {
            Asked::Value(value) => match value.value().as_object() {
                Some(fields) if fields.len() <= MAX_MEMBERS => {
                    let member = |(key, value): (&String, &Value)| {
                        (key.clone(), Some(json!({ "key": key, "value": value })))
                    };
                    wanted = Some(fields.iter().map(member).collect());
                }
                Some(fields) => {
                    let text = format!("{} members, and {MAX_MEMBERS} are allowed", fields.len());
                    view.causes.push(Cause::stalled(reason::ERROR, text));
                }
                None => view.causes.push(Cause::stalled(reason::ERROR, "`for_each` gives no record")),
            },
            Asked::Error(text) => view.causes.push(Cause::stalled(reason::ERROR, text)),
            Asked::Unknown(text) => view.causes.push(Cause::Unknown(format!("its members: {text}"))),
        }
        match wanted {
            Some(wanted) if edges.open == Truth::True || mutant!(ClosedEdgeChangesMembers) => wanted,
            wanted => {
                view.members_known = false;
                view.causes.extend(edges.causes);
                let known = wanted.unwrap_or_default();
                let member = |item: &Item| {
                    let key = item.claim.member.clone();
                    let value = known.get(&key).cloned().unwrap_or_default();
                    (key, value)
                };
                self.claims_of(name).map(|(_, item)| member(item)).collect()
            }
        }
    }

    fn made(&mut self, name: &str, node: &Node, need: Truth) -> NodeView {
        let mut view = NodeView::new(need);
        if let Some(object) = &node.state_of {
            // A state has the members of its object.
            let of = self.program.node(object);
            let members = of.map_or_else(BTreeMap::new, |of| self.members(object, of, &mut view));
            for (key, each) in members {
                let member = self.state(name, node, object, &Slot::new(name, &key), each.as_ref());
                if member.state_key.is_none() && member.by_memory && view.members.is_empty() {
                    view.need = Truth::False; // a null key: not due, as if not needed
                }
                view.members.insert(key, Box::new(member));
            }
            return view;
        }
        for (key, each) in self.members(name, node, &mut view) {
            let slot = Slot::new(name, &key);
            let standing = node.for_each.is_some() && each.is_none();
            let member = if standing {
                self.standing(&slot)
            } else if node.once.is_some() {
                match self.once(&slot, node, each.as_ref(), need) {
                    Some(member) => member,
                    None => {
                        if !view.collection {
                            view.need = Truth::False;
                        }
                        continue;
                    }
                }
            } else {
                self.template(&slot, node, each.as_ref(), need)
            };
            view.members.insert(key, Box::new(member));
        }
        view
    }

    /// A member of the last set whose value is not known: it stays as it is.
    fn standing(&mut self, slot: &Slot) -> Member {
        let mut claims = self.claims_of(&slot.node);
        let key = claims.find(|(_, item)| item.claim.member == slot.member).map(|(key, _)| key.clone());
        drop(claims);
        let mut member = Member::new(key.clone());
        if let Some(key) = key {
            member.found = self.found_ours(&key);
        }
        member.causes.push(Cause::Pending("its set of members is not open: the last one stands".to_owned()));
        member
    }

    fn template(&mut self, slot: &Slot, node: &Node, each: Option<&Value>, need: Truth) -> Member {
        let Body::Template(template) = &node.body else { return Member::new(None) };
        let edges = self.edges(slot, &node.before, each);
        let frozen = self.mode == Mode::Deleting && !self.of_deletion(&slot.node) && !mutant!(NoFreeze);
        let identity = self.identity(node, &template.object, &template.function, each);
        let mut member = Member::new(identity.as_ref().ok().cloned());
        member.open = if frozen { Truth::False } else { edges.open };
        if let Some(key) = &member.key {
            member.found = self.found_ours(key);
        }
        if self.program.states.contains_key(&slot.node) {
            return self.object_with_states(slot, node, &edges, each, need, identity, member, frozen);
        }
        let own = self.own(&member);
        match self.desired(slot, node, &template.function, &edges, each, identity, &own, None) {
            Err(cause) => {
                member = member.unknown(cause);
                member.causes.splice(0..0, edges.causes.iter().cloned());
            }
            Ok(desired) => {
                let key = desired.key.clone();
                if member.key.is_none() {
                    member.found = self.found_ours(&key);
                    member.key = Some(key);
                }
                self.converge(slot, node, &desired, need, &mut member, &edges.causes);
            }
        }
        self.finish_member(node, &mut member, &edges, each, frozen);
        member
    }

    /// What a template sees of its own object: one that is not ours is none.
    pub(super) fn own(&self, member: &Member) -> Found {
        match &member.key {
            Some(key) if self.is_foreign(key) => Found::Absent,
            _ => member.found.clone(),
        }
    }

    /// From applied to settled to ready.
    pub(super) fn finish_member(
        &mut self,
        node: &Node,
        member: &mut Member,
        edges: &Edges,
        each: Option<&Value>,
        frozen: bool,
    ) {
        let Some(item) = self.ours(member.key.as_ref()).cloned() else { return };
        member.dropped = self.dropped(&item);
        let live = item.live;
        if frozen && matches!(member.found, Found::Present(_)) && !live.terminating {
            member.settled = Truth::True; // what is frozen is as it shall be
        }
        if member.settled == Truth::True
            && let Some(cause) = self.behind(&live, node)
        {
            member.settled = Truth::False;
            member.causes.push(cause);
        }
        if matches!(member.found, Found::Present(_)) {
            self.health(node, member, edges, each);
        }
    }

    fn value(&mut self, name: &str, node: &Node, function: &Function, need: Truth) -> NodeView {
        let mut view = NodeView::new(need);
        for (key, each) in self.members(name, node, &mut view) {
            let slot = Slot::new(name, &key);
            let edges = self.edges(&slot, &node.before, each.as_ref());
            let mut member = Member::new(None);
            member.open = edges.open;
            let answer = match self.the_of_value(&slot, function, &edges, each.as_ref()) {
                Err(cause) => Asked::Unknown(cause.to_string()),
                Ok(the) => self.ask(function, Form::Whole, &the),
            };
            match answer {
                Asked::Value(value) => {
                    member.found = Found::Present(value);
                    member.settled = edges.open;
                    member.ready = edges.open;
                }
                Asked::Error(text) => member = member.unknown(Cause::stalled(reason::ERROR, text)),
                Asked::Unknown(text) => member = member.unknown(Cause::Unknown(text)),
            }
            if let (Some(ready), Truth::True) = (&node.ready, member.settled) {
                let found = member.found.clone();
                let judgement = self.judge(ready, &found, &edges, each.as_ref(), Some(&found));
                member.ready = judgement.truth;
                if judgement.truth != Truth::True {
                    member.causes.push(Cause::Shape(judgement.why));
                }
            }
            member.causes.splice(0..0, edges.causes);
            view.members.insert(key, Box::new(member));
        }
        view
    }

    /// What the function of a value sees: it has no object of its own.
    fn the_of_value<'v>(
        &mut self,
        slot: &Slot,
        function: &Function,
        edges: &'v Edges,
        each: Option<&'v Value>,
    ) -> Result<The<'v>, Cause> {
        let mut the = self.the(function, edges, each, Some(&Found::Absent))?;
        if inputs::reads_seed(function) {
            the.seed = Some(self.seed(slot)?);
        }
        Ok(the)
    }

    /// Asks an `observe` or `absent` which object it means.
    fn which(&mut self, function: &Function, edges: &Edges, each: Option<&Value>) -> Result<Data, Cause> {
        let the = self.the(function, edges, each, None)?;
        match self.ask(function, Form::Whole, &the) {
            Asked::Value(value) => Ok(value),
            Asked::Error(text) => Err(Cause::stalled(reason::ERROR, text)),
            Asked::Unknown(text) => Err(Cause::Unknown(text)),
        }
    }

    fn kind_of(&mut self, which: &Value) -> Result<(KindKey, String), Cause> {
        let text = |field: &str| which.get(field).and_then(Value::as_str);
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
            return Err(Cause::stalled(reason::ERROR, "it names no apiVersion and kind"));
        };
        let kind = KindKey::new(api_version, kind);
        let lives_in_namespaces = self.facts.kind(&kind).is_some_and(|it| it.namespaced);
        let namespace = match text("namespace") {
            _ if !lives_in_namespaces => String::new(),
            Some(namespace) => namespace.to_owned(),
            None => self.facts.root().key.namespace.clone(),
        };
        match self.facts.unseen_kind(&kind) {
            Some(cause) => Err(cause),
            None => Ok((kind, namespace)),
        }
    }

    fn observed(&mut self, name: &str, node: &Node, observe: &Observe, need: Truth) -> NodeView {
        let mut view = NodeView::new(need);
        if observe.by_selector {
            self.selected(name, node, observe, &mut view);
            return view;
        }
        for (member_key, each) in self.members(name, node, &mut view) {
            let edges = self.edges(&Slot::new(name, &member_key), &node.before, each.as_ref());
            let known = each.as_ref().filter(|_| !mutant!(MembersSeeAlike));
            let which = self
                .which(&observe.function, &edges, known)
                .and_then(|it| Ok((self.kind_of(it.value())?, it)));
            let mut member = match which {
                Err(cause) => {
                    if !view.collection {
                        view.members_known = false;
                        view.causes.push(cause.clone());
                    }
                    Member::new(None).unknown(cause)
                }
                Ok(((kind, namespace), which)) => match which.value().get("name").and_then(Value::as_str) {
                    None => Member::new(None).unknown(Cause::stalled(reason::ERROR, "it gives no name")),
                    Some(id) => {
                        let key = ObjectKey::new(kind, namespace, id.to_owned());
                        let live = self.facts.object(&key);
                        let mut member = self.observed_object(node, live, &edges, each.as_ref(), &key);
                        if live.is_none() && observe.optional {
                            member.settled = edges.open;
                            member.ready = edges.open;
                            member.causes.clear();
                        }
                        member
                    }
                },
            };
            member.causes.splice(0..0, edges.causes);
            view.members.insert(member_key, Box::new(member));
        }
        view
    }

    /// All objects that a selector picks.
    fn selected(&mut self, name: &str, node: &Node, observe: &Observe, view: &mut NodeView) {
        let edges = self.edges(&Slot::new(name, ""), &node.before, None);
        view.collection = true;
        view.open = edges.open;
        let which = self.which(&observe.function, &edges, None).and_then(|it| {
            let (kind, namespace) = self.kind_of(it.value())?;
            let namespace = self.within(&kind, namespace)?;
            Ok((kind, namespace, selector_of(it.value())?))
        });
        let (kind, namespace, selector) = match which {
            Ok(found) => found,
            Err(cause) => {
                view.members_known = false;
                view.causes.extend(edges.causes);
                view.causes.push(cause);
                return;
            }
        };
        view.selects = Some((kind.clone(), namespace.clone()));
        let objects: Vec<_> = self
            .facts
            .objects_of(&kind)
            .filter(|it| namespace.as_ref().is_none_or(|within| it.key.namespace == *within))
            .filter(|it| selector.picks(|name| it.label(name)))
            .take(MAX_MEMBERS + 1)
            .collect();
        for live in objects {
            let id = if live.key.namespace.is_empty() {
                live.key.name.clone()
            } else {
                format!("{}/{}", live.key.namespace, live.key.name)
            };
            let mut member = self.observed_object(node, Some(live), &edges, None, &live.key);
            member.causes.splice(0..0, edges.causes.iter().cloned());
            view.members.insert(id, Box::new(member));
        }
        if view.members.len() > MAX_MEMBERS {
            view.members_known = false;
            view.causes.push(Cause::stalled(reason::ERROR, "it picks too many objects"));
        }
        view.causes.extend(edges.causes);
    }

    /// The one namespace in which a selector picks; none for all of them, and for kinds without namespaces.
    fn within(&self, kind: &KindKey, namespace: String) -> Result<Option<String>, Cause> {
        let lives_in_namespaces = self.facts.kind(kind).is_some_and(|it| it.namespaced);
        if !lives_in_namespaces || namespace == EVERY_NAMESPACE {
            return Ok(None);
        }
        if namespace.is_empty() {
            return Err(Cause::stalled(reason::ERROR, "it names no namespace, and the root has none"));
        }
        Ok(Some(namespace))
    }

    fn observed_object(
        &mut self,
        node: &Node,
        live: Option<&Arc<Live>>,
        edges: &Edges,
        each: Option<&Value>,
        key: &ObjectKey,
    ) -> Member {
        let mut member = Member::new(Some(key.clone()));
        member.open = edges.open;
        let Some(live) = live else {
            member.causes.push(Cause::Pending(format!("{key} is not there")));
            return member;
        };
        member.found = Found::Present(Data::Live(live.clone()));
        if live.terminating {
            member.causes.push(Cause::Pending(format!("{key} is being deleted")));
        } else if let Some(cause) = self.behind(live, node) {
            member.causes.push(cause);
        } else {
            member.settled = edges.open;
        }
        self.health(node, &mut member, edges, each);
        member
    }

    fn kept_away(&mut self, name: &str, node: &Node, absent: &Absent, need: Truth) -> NodeView {
        let mut view = NodeView::new(need);
        for (member_key, each) in self.members(name, node, &mut view) {
            let slot = Slot::new(name, &member_key);
            let edges = self.edges(&slot, &node.before, each.as_ref());
            let which = self
                .which(&absent.function, &edges, each.as_ref())
                .and_then(|it| Ok((self.kind_of(it.value())?, it)));
            let member = match which {
                Err(cause) => Member::new(None).unknown(cause),
                Ok(((kind, namespace), which)) => {
                    let id = which.value().get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                    let key = ObjectKey::new(kind, namespace, id);
                    self.away(&slot, absent, &key, &edges, each.as_ref(), need)
                }
            };
            let mut member = member;
            member.causes.splice(0..0, edges.causes);
            view.members.insert(member_key, Box::new(member));
        }
        view
    }

    fn away(
        &mut self,
        slot: &Slot,
        absent: &Absent,
        key: &ObjectKey,
        edges: &Edges,
        each: Option<&Value>,
        need: Truth,
    ) -> Member {
        let mut member = Member::new(Some(key.clone()));
        member.open = edges.open;
        let frozen = self.mode == Mode::Deleting && !self.of_deletion(&slot.node);
        let Some(live) = self.facts.object(key) else {
            member.settled = edges.open;
            member.ready = edges.open;
            return member;
        };
        member.found = Found::Present(Data::Live(live.clone()));
        if let Some(having) = &absent.having {
            let found = member.found.clone();
            let judgement = self.judge(having, &found, edges, each, Some(&found));
            if judgement.truth == Truth::Unknown {
                return member.unknown(Cause::Shape(judgement.why));
            }
            if judgement.truth == Truth::False {
                member.found = Found::Absent;
                member.settled = edges.open;
                member.ready = edges.open;
                return member;
            }
        }
        let claimed = matches!(self.facts.owner(live), Owner::Another { .. });
        if claimed && !mutant!(AbsentTakesClaimed) {
            member.causes.push(Cause::stalled(reason::EXISTS, format!("{key} belongs to another instance")));
            return member;
        }
        if let Some(cause) = self.unseen(key) {
            member.causes.push(cause);
            return member;
        }
        member.causes.push(Cause::Pending(format!("{key} exists")));
        if edges.open == Truth::True && need == Truth::True && !live.terminating && !frozen {
            let cause = self.comes_back(key).or_else(|| self.try_again(Action::delete(live)));
            member.causes.extend(cause);
        }
        member
    }

    /// Whether an object that comes back again and again is not deleted yet.
    pub(super) fn comes_back(&mut self, key: &ObjectKey) -> Option<Cause> {
        let expelled = self.facts.expelled(key)?;
        if expelled.again() <= self.facts.now() || mutant!(DeleteForEver) {
            return None;
        }
        self.wake_at(expelled.again());
        let text = format!("{key} was deleted {} times, and came back each time", expelled.times);
        Some(Cause::stalled(reason::RECREATED, text))
    }
}

/// The labels that are wanted. What cannot be read picks nothing: an empty selector would pick everything.
fn selector_of(which: &Value) -> Result<Selector, Cause> {
    let selector = which.get("selector").cloned().unwrap_or_default();
    serde_json::from_value(selector)
        .map_err(|_| Cause::stalled(reason::ERROR, "its selector is not { matchLabels, matchExpressions }"))
}
