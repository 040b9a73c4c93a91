//! When edges are open, and what flows along them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Need, Reference, Rest, shapes};
use crate::judge::outcome::{Fate, Slot};

impl Rest<'_> {
    /// Which of these edges are closed: those from member to member (`member` is its name), or all others. What they carry goes
    /// into `the`. `path` leads to the node or condition that they are written at.
    pub(super) fn edges_into(
        &self,
        path: &[&str],
        before: Option<&Value>,
        member: Option<&str>,
        the: &mut Map<String, Value>,
    ) -> BTreeSet<String> {
        let mut closed = self.carried(path, before, member, the);
        for (precursor, edge) in counting(before, member) {
            // A precursor that passes the order on is as good as those that it passes on.
            let mut behind = BTreeSet::new();
            if !self.is_open(path, precursor, edge, member, the, &mut behind) {
                closed.insert(precursor.to_owned());
                closed.extend(behind.into_iter().map(|(name, _)| name));
            }
        }
        closed
    }

    /// What these edges carry goes into `the`; those that carry nothing yet.
    pub(super) fn carried(
        &self,
        path: &[&str],
        before: Option<&Value>,
        member: Option<&str>,
        the: &mut Map<String, Value>,
    ) -> BTreeSet<String> {
        let mut missing = BTreeSet::new();
        for (precursor, edge) in counting(before, member).filter(|it| it.1.get("extract").is_some()) {
            let path: Vec<&str> = path.iter().copied().chain(["before", precursor, "extract"]).collect();
            let source = self.source(precursor, edge, member);
            match source.and_then(|it| self.of.nickel.call(&path, &it).ok()) {
                Some(carried) => drop(the.insert(precursor.to_owned(), carried)),
                None => drop(missing.insert(precursor.to_owned())),
            }
        }
        missing
    }

    /// Whether a function fails that takes data from what is there.
    pub(super) fn is_spoiled(&self, path: &[&str], before: Option<&Value>, member: Option<&str>) -> bool {
        counting(before, member).any(|(precursor, edge)| {
            let path: Vec<&str> = path.iter().copied().chain(["before", precursor, "extract"]).collect();
            let source = edge.get("extract").and_then(|_| self.source(precursor, edge, member));
            source.is_some_and(|it| self.of.nickel.call(&path, &it).is_err())
        })
    }

    /// What an edge takes data from.
    fn source(&self, precursor: &str, edge: &Value, member: Option<&str>) -> Option<Value> {
        if self.needed(precursor) == Need::No || self.is_idle(precursor) {
            return None;
        }
        let found = |it: &String| self.found.get(&(precursor.to_owned(), it.clone())).cloned();
        if self.of.clause(precursor, "for_each").is_none() {
            return found(&String::new());
        }
        let members = self.members.get(precursor)?;
        if is_each(edge) {
            return found(members.keys().find(|it| Some(it.as_str()) == member)?);
        }
        members
            .keys()
            .map(|it| Some((it.clone(), found(it)?)))
            .collect::<Option<Map<_, _>>>()
            .map(Value::Object)
    }

    /// Whether an edge lets what comes after it act: each member of the precursor has the shape.
    fn is_open(
        &self,
        path: &[&str],
        precursor: &str,
        edge: &Value,
        member: Option<&str>,
        the: &Map<String, Value>,
        behind: &mut BTreeSet<(String, bool)>,
    ) -> bool {
        let mine = member.filter(|_| is_each(edge));
        if self.needed(precursor) == Need::Perhaps {
            return false;
        }
        if self.needed(precursor) == Need::No || self.is_idle(precursor) {
            return self.passes_on(precursor, mine, behind);
        }
        let alone = BTreeMap::from([(String::new(), Value::Null)]);
        let members = match self.members.get(precursor) {
            None if self.of.clause(precursor, "for_each").is_none() => &alone,
            None => return false,
            Some(members) => members,
        };
        let mut members = members.keys().filter(|it| mine.is_none_or(|mine| mine == it.as_str())).peekable();
        if members.peek().is_none() {
            return self.passes_on(precursor, mine, behind);
        }
        let path: Vec<&str> = path.iter().copied().chain(["before", precursor, "until"]).collect();
        members.all(|member| {
            let slot = (precursor.to_owned(), member.clone());
            let once = self.of.clause(precursor, "once").is_some();
            match edge.get("until").filter(|_| !once) {
                Some(until) => {
                    let is = self.found.get(&slot);
                    (is.is_some() || !self.is_nameless(&slot))
                        && self.has_shape(&path, until, the, is) == Some(true)
                }
                None => self.is_ready(&slot),
            }
        })
    }

    /// Whether something is of a shape; a function says which one, of what its carrier sees. None: that is not known.
    pub(super) fn has_shape(
        &self,
        path: &[&str],
        shape: &Value,
        the: &Map<String, Value>,
        is: Option<&Value>,
    ) -> Option<bool> {
        let shape = match shape.get("~function") {
            Some(_) => self.of.nickel.call(path, &Value::Object(the.clone())).ok()?,
            None => shape.clone(),
        };
        Some(match is {
            Some(is) => shapes::holds(&shape, Some(is)),
            None => shapes::holds_of_nothing(&shape),
        })
    }

    /// Whether nobody can say what the object is called that would be there: then nobody knows that there is none.
    fn is_nameless(&self, slot: &Slot) -> bool {
        let node = &slot.0;
        let is_object = self.of.clause(node, "template").is_some()
            && self.of.clause(node, "state_of").is_none()
            && self.of.clause(node, "once").is_none();
        let mut the = self.the();
        if let Some(value) = self.members.get(node).and_then(|it| it.get(&slot.1))
            && self.of.clause(node, "for_each").is_some()
        {
            the.insert("each".to_owned(), serde_json::json!({ "key": slot.1, "value": value }));
        }
        let before = self.of.clause(node, "before");
        self.carried(&[node], before, None, &mut the);
        self.carried(&[node], before, Some(&slot.1), &mut the);
        is_object && self.of.nickel.name(node, &Value::Object(the)).is_err()
    }

    fn is_ready(&self, slot: &Slot) -> bool {
        matches!(self.fates.get(slot), Some(Fate::Ready | Fate::Empty))
    }

    /// Whether a state or a once is not due: then it is as if it was not needed.
    pub(super) fn is_idle(&self, node: &str) -> bool {
        self.fates.get(&(node.to_owned(), String::new())) == Some(&Fate::Idle)
    }

    /// A node that is not needed, or has no members, passes the order on: what it comes after has to be ready. The edges into an
    /// empty set of members were open, as they are written, or nobody would know that it is empty.
    fn passes_on(&self, node: &str, member: Option<&str>, seen: &mut BTreeSet<(String, bool)>) -> bool {
        let empty = self.needed(node) == Need::Yes && !self.is_idle(node);
        let edges = Reference::edges(self.of.clause(node, "before"));
        let edges = edges.filter(|(_, edge)| !empty || is_each(edge));
        // All are looked at: each that is not ready may be named.
        edges.fold(true, |open, (precursor, edge)| {
            let mine = member.filter(|_| is_each(edge));
            if !seen.insert((precursor.to_owned(), mine.is_some())) {
                return open;
            }
            open & match self.needed(precursor) {
                Need::Perhaps => false,
                Need::No => self.passes_on(precursor, mine, seen),
                Need::Yes if self.is_idle(precursor) => self.passes_on(precursor, mine, seen),
                Need::Yes => self.members.get(precursor).is_some_and(|members| {
                    let mut all = members.keys().filter(|it| mine.is_none_or(|mine| mine == it.as_str()));
                    let mut any = false;
                    let ready = all.all(|it| {
                        any = true;
                        self.is_ready(&(precursor.to_owned(), it.clone()))
                    });
                    ready && (any || self.passes_on(precursor, mine, seen))
                }),
            }
        })
    }
}

pub(super) fn is_each(edge: &Value) -> bool {
    edge.get("each").is_some_and(|it| it == true)
}

/// The edges from member to member if there is one, else all others.
fn counting<'e>(
    before: Option<&'e Value>,
    member: Option<&str>,
) -> impl Iterator<Item = (&'e str, &'e Value)> {
    let of_member = member.is_some_and(|it| !it.is_empty());
    // A node without members has no edges left for its only one.
    let none = member.is_some() && !of_member;
    Reference::edges(before).filter(move |(_, edge)| !none && is_each(edge) == of_member)
}
