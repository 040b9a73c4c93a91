//! What a report says of all nodes together, kept from one pass to the next.
//!
//! A node that looks different is taken out as it was and put in as it is; nobody goes through the others for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Cause, Interests, MAX_CAUSES, NodeState, Phase,
    inventory::{Inventory, Item},
    pass::NodeView,
};
use crate::{
    blueprint::Body, digest::Digest, ledger::Slot, program::Program, truth::Truth, world::ObjectKey,
};

/// The nodes of an instance, counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// Where every member of a node is that is or may be needed, and what is being removed.
    pub(super) states: BTreeMap<Slot, NodeState>,
    /// Those of them that are not ready.
    pub(super) unready: BTreeSet<Slot>,
    /// Those of them of whose objects the API server dropped fields.
    pub(super) dropped: BTreeSet<Slot>,
    /// How many nodes there are whose being needed, or whose members, are not known.
    pub(super) vague: usize,
    /// The answers that were used, and by how many steps.
    pub(super) used: BTreeMap<Digest, u32>,
    /// What has to be seen.
    pub(super) interests: Arc<Interests>,
    /// The objects of ours that the node that made them does not keep: another one may, or they go.
    pub(super) strays: BTreeSet<ObjectKey>,
    /// What the last report put in: what is being removed, and the answers that it used itself.
    added: (Vec<Slot>, Vec<Digest>),
}

impl Tally {
    pub(super) fn of(program: &Program, nodes: &BTreeMap<String, NodeView>, inventory: &Inventory) -> Self {
        let mut tally = Self::default();
        for (name, view) in nodes {
            tally.enter(name, view);
        }
        tally.look_around(nodes);
        for (key, item) in inventory.iter() {
            if is_stray(program, nodes, key, item) {
                tally.strays.insert(key.clone());
            }
        }
        tally
    }

    /// A node looks different.
    pub(super) fn renew(&mut self, name: &str, old: Option<&NodeView>, new: Option<&NodeView>) {
        if let Some(old) = old {
            for (slot, _) in states(name, old) {
                self.states.remove(&slot);
                self.unready.remove(&slot);
                self.dropped.remove(&slot);
            }
            self.vague -= usize::from(is_vague(old));
        }
        if let Some(new) = new {
            self.enter(name, new);
        }
    }

    fn enter(&mut self, name: &str, view: &NodeView) {
        for (slot, state) in states(name, view) {
            if state.phase == Phase::Ready {
                self.unready.remove(&slot);
            } else {
                self.unready.insert(slot.clone());
            }
            if state.dropped.is_some() {
                self.dropped.insert(slot.clone());
            }
            self.states.insert(slot, state);
        }
        self.vague += usize::from(is_vague(view));
    }

    /// A node has other objects: what has to be seen is put together anew.
    pub(super) fn look_around(&mut self, nodes: &BTreeMap<String, NodeView>) {
        let mut interests = Interests::default();
        for view in nodes.values() {
            match &view.selects {
                Some(selects) => {
                    interests.kinds.insert(selects.clone());
                }
                None => interests.objects.extend(view.members.values().filter_map(|it| it.key.clone())),
            }
        }
        if *self.interests != interests {
            self.interests = Arc::new(interests);
        }
    }

    /// An object of ours, or the node that made it, looks different.
    pub(super) fn renew_stray(
        &mut self,
        program: &Program,
        nodes: &BTreeMap<String, NodeView>,
        inventory: &Inventory,
        key: &ObjectKey,
    ) {
        if inventory.get(key).is_some_and(|item| is_stray(program, nodes, key, item)) {
            self.strays.insert(key.clone());
        } else {
            self.strays.remove(key);
        }
    }

    /// A step uses these answers.
    pub(super) fn uses(&mut self, answers: &[Digest]) {
        for answer in answers {
            *self.used.entry(*answer).or_insert(0) += 1;
        }
    }

    /// A step used these answers, and does not any more.
    pub(super) fn uses_no_more(&mut self, answers: &[Digest]) {
        for answer in answers {
            if let Some(count) = self.used.get_mut(answer) {
                *count -= 1;
                if *count == 0 {
                    self.used.remove(answer);
                }
            }
        }
    }

    /// What is being removed, which the report adds to the states of the nodes.
    pub(super) fn add(&mut self, removing: BTreeMap<Slot, NodeState>) {
        for (slot, state) in removing {
            if !self.states.contains_key(&slot) {
                self.unready.insert(slot.clone());
                self.states.insert(slot.clone(), state);
                self.added.0.push(slot);
            }
        }
    }

    /// The answers that the report uses itself.
    pub(super) fn uses_itself(&mut self, answers: BTreeSet<Digest>) {
        let answers: Vec<_> = answers.into_iter().collect();
        self.uses(&answers);
        self.added.1 = answers;
    }

    /// Takes out what the last report added.
    pub(super) fn begin(&mut self) {
        let (removing, used) = std::mem::take(&mut self.added);
        for slot in removing {
            self.states.remove(&slot);
            self.unready.remove(&slot);
        }
        self.uses_no_more(&used);
    }

    /// What the API server dropped, by node.
    pub(super) fn dropped(&self) -> impl Iterator<Item = (&Slot, &str)> {
        self.dropped.iter().filter_map(|slot| Some((slot, self.states.get(slot)?.dropped.as_deref()?)))
    }

    /// Those that are not ready, with their states, in order.
    pub(super) fn unready(&self) -> impl Iterator<Item = (&Slot, &NodeState)> {
        self.unready.iter().filter_map(|slot| Some((slot, self.states.get(slot)?)))
    }
}

/// Whether the objects of two views of a node are others, or are kept by other reasons.
pub(super) fn moved(old: Option<&NodeView>, new: Option<&NodeView>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return true };
    let keys = |it: &NodeView| it.members.values().map(|it| it.key.clone()).collect::<Vec<_>>();
    old.need != new.need || old.selects != new.selects || keys(old) != keys(new)
}

fn is_vague(view: &NodeView) -> bool {
    view.need == Truth::Unknown || !view.members_known
}

/// Whether the node that made an object does not keep it.
fn is_stray(program: &Program, nodes: &BTreeMap<String, NodeView>, key: &ObjectKey, item: &Item) -> bool {
    let Some(view) = nodes.get(&item.claim.node).filter(|it| it.need != Truth::False) else { return true };
    if item.claim.attempt.is_some() || view.need == Truth::Unknown && makes(program, &item.claim.node) {
        return false;
    }
    !makes(program, &item.claim.node) || !view.members.values().any(|it| it.key.as_ref() == Some(key))
}

/// Whether the objects of a node are ours to keep.
pub(super) fn makes(program: &Program, node: &str) -> bool {
    matches!(program.node(node).map(|it| &it.body), Some(Body::Template(_) | Body::Absent(_)))
}

/// Where the members of a node are.
fn states<'v>(name: &'v str, view: &'v NodeView) -> impl Iterator<Item = (Slot, NodeState)> + 'v {
    let needed = view.need != Truth::False;
    let whole = !view.members_known || (view.members.is_empty() && !view.causes.is_empty());
    let whole = (needed && whole).then(|| (Slot::new(name, ""), state(Truth::Unknown, &view.causes, None)));
    let members = view.members.iter().filter(move |_| needed).map(move |(key, member)| {
        let truth = member.ready.and(member.settled).and(view.need);
        (Slot::new(name, key), state(truth, &member.causes, member.dropped.clone()))
    });
    whole.into_iter().chain(members)
}

fn state(ready: Truth, causes: &[Cause], dropped: Option<String>) -> NodeState {
    let has = |wanted: fn(&Cause) -> bool| causes.iter().any(wanted);
    let phase = if ready == Truth::True && causes.is_empty() {
        Phase::Ready
    } else if has(|it| matches!(it, Cause::Stalled { .. })) {
        Phase::Stalled
    } else if ready == Truth::Unknown || has(|it| matches!(it, Cause::Unknown(_))) {
        Phase::Unknown
    } else if has(|it| matches!(it, Cause::Waits { .. })) {
        Phase::Waiting
    } else if ready == Truth::True {
        Phase::Ready
    } else {
        Phase::Progressing
    };
    let mut causes: Vec<_> = causes.iter().take(MAX_CAUSES).cloned().collect();
    if phase == Phase::Ready {
        causes.clear();
    }
    // What a human can do something about comes first.
    causes.sort_by_key(|it| match it {
        Cause::Stalled { .. } => 0,
        Cause::Refused { .. } => 1,
        _ => 2,
    });
    NodeState { phase, causes, dropped }
}
