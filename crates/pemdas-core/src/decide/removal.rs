//! Rule 7: what goes, and in which order.
//!
//! *The accidents*: a cache that is empty because it is not synced deletes a fleet; a renamed node deletes and
//! re-creates its database; a ConfigMap is deleted under the pods that still mount it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Cause, Mode, NodeState, Phase,
    inventory::{Inventory, Item},
    pass::Pass,
    reason,
    tally::{Tally, makes},
};
use crate::{
    action::Action,
    blueprint::Replace,
    ledger::Slot,
    moment::read_timestamp,
    truth::Truth,
    world::{Claim, Live, ONCE_FINALIZER, ObjectKey},
};

/// How long a finalizer of somebody else may hold an object that goes before a human is asked, in milliseconds.
const HELD_FOR_LONG: u64 = 300_000;

impl Pass<'_> {
    /// Mode present: removes what is in the inventory and not kept.
    pub(super) fn remove_unneeded(&mut self, tally: &Tally) {
        let strays = tally.strays.iter().filter_map(|key| self.inventory.get(key));
        let (onces, mut doomed): (Vec<_>, Vec<_>) =
            strays.cloned().partition(|it| it.claim.attempt.is_some());
        let mut unknown = None;
        if !doomed.is_empty() {
            let (kept, why) = self.kept();
            doomed.retain(|it| !kept.contains(&it.live.key));
            unknown = why;
        }
        self.remove_idle_onces(onces);
        if doomed.is_empty() {
            return;
        }
        let blocked_by = blockers(&self.inventory);
        let world = self.facts.all();
        let unseen = world.writes.keys().any(|it| *it != world.root.key && world.unseen_write(it).is_some());
        for Item { live, claim, .. } in doomed {
            let key = live.key.clone();
            // Its replacement may stand in the same slot.
            let slot = Slot::new(&claim.node, &format!("{}~{}", claim.member, key.name));
            let causes = if unseen && !mutant!(RemoveUnseen) {
                // What we made and have not seen yet may use it.
                vec![Cause::Pending("a write of ours was not seen yet".to_owned())]
            } else if let (Some(why), false) = (&unknown, mutant!(RemoveWhileUnknown)) {
                vec![Cause::Unknown(format!("nothing is removed while {why}"))]
            } else {
                self.why_not_yet(&key, &claim, blocked_by.get(&key))
            };
            let causes = if causes.is_empty() { self.remove(&live, &claim) } else { causes };
            self.removing.insert(slot, NodeState { phase: Phase::Removing, causes, dropped: None });
        }
    }

    /// The identities of everything that is or may be needed, and why that is not fully known.
    fn kept(&self) -> (BTreeSet<ObjectKey>, Option<String>) {
        let mut kept = BTreeSet::new();
        let mut unknown = None;
        for (name, view) in &self.nodes {
            if view.need == Truth::False {
                continue;
            }
            if !makes(self.program, name) {
                continue;
            }
            if !view.members_known {
                unknown.get_or_insert_with(|| format!("the members of {name} are not known"));
            }
            for member in view.members.values() {
                match &member.key {
                    Some(key) => {
                        kept.insert(key.clone());
                    }
                    None => {
                        unknown.get_or_insert_with(|| format!("the name of {name} is not known"));
                    }
                }
            }
            if view.need == Truth::Unknown {
                kept.extend(self.inventory.of_node(name).map(|(key, _)| key.clone()));
            }
        }
        if mutant!(RemoveByNodeName) {
            let named =
                |claim: &Claim| self.nodes.get(&claim.node).is_some_and(|view| view.need != Truth::False);
            kept.retain(|key| self.inventory.get(key).is_none_or(|it| named(&it.claim)));
        }
        (kept, unknown)
    }

    fn why_not_yet(
        &self,
        key: &ObjectKey,
        claim: &Claim,
        blockers: Option<&BTreeSet<ObjectKey>>,
    ) -> Vec<Cause> {
        let mut causes = Vec::new();
        let node = claim.node.as_str();
        let needed = self.needed(node) != Truth::False;
        let replaces_first = needed
            && (self.program.node(node).is_some_and(|it| it.replace == Replace::Before)
                || self.annotation("replace-first") == Some(node));
        let replacement =
            self.nodes.get(node).filter(|_| needed).and_then(|it| it.members.get(&claim.member));
        if let Some(new) = replacement.filter(|_| !replaces_first)
            && new.key.as_ref() != Some(key)
            && new.ready != Truth::True
            && !mutant!(ReplaceAtOnce)
        {
            let on = Slot::new(node, &claim.member);
            causes.push(Cause::Waits { on, reasons: Vec::new() });
        }
        for later in blockers.into_iter().flatten() {
            let Some(other) = self.inventory.get(later).map(|it| &it.claim) else { continue };
            let slot = Slot::new(&other.node, &other.member);
            if other.attempt.is_some() && !self.is_running(&slot, other) && !mutant!(EndedOncesUse) {
                continue;
            }
            let member = self.nodes.get(&slot.node).and_then(|it| it.members.get(&slot.member));
            let stays = member.is_some_and(|it| it.key.as_ref() == Some(later));
            if stays && replaces_first {
                continue;
            }
            let without = match other.after.get(node) {
                None => true,
                Some(token) => needed && self.token(node).is_ok_and(|now| now == *token),
            };
            let settled = member.is_some_and(|it| it.settled == Truth::True);
            if stays && without && (settled || mutant!(InUseUnsettled)) {
                continue;
            }
            if mutant!(RemoveInUse) && stays {
                continue;
            }
            causes.push(Cause::Waits { on: slot, reasons: Vec::new() });
        }
        causes
    }

    /// Whether a once-object is of an attempt that has not ended: one that has uses nothing any more.
    fn is_running(&self, slot: &Slot, claim: &Claim) -> bool {
        let entry = self.ledger().and_then(|it| it.entries.get(slot));
        let unknown = self.ledger().is_none();
        unknown || entry.is_some_and(|it| it.end.is_none() && Some((it.key, it.attempt)) == claim.attempt)
    }

    /// Deletes an object, or lets it go where it is to stay.
    pub(super) fn remove(&mut self, live: &Live, claim: &Claim) -> Vec<Cause> {
        if let Some(cause) = self.unseen(&live.key) {
            return vec![cause];
        }
        match removal(live, claim, self.mode != Mode::Present) {
            None => vec![self.being_deleted(live)],
            Some(action) => {
                let removed = Cause::Pending(format!("{} is being removed", live.key));
                let held = self.comes_back(&live.key).or_else(|| self.try_again(action));
                vec![held.unwrap_or(removed)]
            }
        }
    }

    /// An object is on its way: by whom it is held, once that lasts.
    pub(super) fn being_deleted(&mut self, live: &Live) -> Cause {
        let (why, again) = being_deleted(live, None, self.facts.now());
        again.into_iter().for_each(|it| self.wake_at(it));
        why
    }

    /// Once-objects of nodes that are not needed any more: an unfinished one is waited for.
    fn remove_idle_onces(&mut self, idle: Vec<Item>) {
        for Item { live, claim, .. } in idle {
            let slot = Slot::new(&claim.node, &claim.member);
            if self.ledger().is_some() && self.is_running(&slot, &claim) {
                let found = super::pass::Found::Present(super::pass::Data::Live(live.clone()));
                let ended = self.judge_shape(&crate::shape::Shape::Finished, &found).truth == Truth::True;
                if (ended || live.terminating)
                    && let Some(next) = self.record().entries.get_mut(&slot)
                {
                    next.end = Some(crate::ledger::End::Cut);
                    next.due = true;
                }
                let causes = vec![Cause::Pending("it is no longer needed; its end is waited for".to_owned())];
                self.removing.insert(slot, NodeState { phase: Phase::Removing, causes, dropped: None });
                continue;
            }
            if self.ledger().is_some() {
                self.let_go(&live, true);
            }
        }
    }
}

/// By object: the objects that came after it. In a circle of mixed revisions the older edges give way.
pub(super) fn blockers(inventory: &Inventory) -> BTreeMap<ObjectKey, BTreeSet<ObjectKey>> {
    let mut by_node: BTreeMap<&str, Vec<&ObjectKey>> = BTreeMap::new();
    for (key, Item { claim, .. }) in inventory.iter() {
        by_node.entry(&claim.node).or_default().push(key);
    }
    let mut edges = Vec::new();
    for (key, Item { claim, .. }) in inventory.iter() {
        for origin in claim.after.keys() {
            for first in by_node.get(origin.as_str()).into_iter().flatten().filter(|it| **it != key) {
                edges.push((std::cmp::Reverse(claim.ordinal), *first, key));
            }
        }
    }
    edges.sort();
    let mut blocked: BTreeMap<ObjectKey, BTreeSet<ObjectKey>> = BTreeMap::new();
    for (_, first, later) in edges {
        // `later` holds `first` back, unless `first` holds `later` back already.
        let circle = reaches(&blocked, later, first);
        if circle && !mutant!(OlderEdgesStay) {
            continue;
        }
        if mutant!(NoRemovalOrder) {
            continue;
        }
        blocked.entry(first.clone()).or_default().insert(later.clone());
    }
    blocked
}

/// Who holds an object that is being deleted, in a sentence; nothing if it goes by itself.
pub(super) fn held_by(live: &Live) -> Option<String> {
    let theirs = live.finalizers.iter().filter(|it| *it != ONCE_FINALIZER).map(String::as_str);
    let holders: Vec<_> = theirs.collect();
    (!holders.is_empty())
        .then(|| format!("{} is being deleted, and held by {}", live.key, holders.join(", ")))
}

/// Why an object that is being deleted is still there, and when that has lasted for so long that a human is asked. Most
/// finalizers go by themselves.
pub(super) fn being_deleted(live: &Live, since: Option<u64>, now: u64) -> (Cause, Option<u64>) {
    let Some(held) = held_by(live) else {
        return (Cause::Pending(format!("{} is being deleted", live.key)), None);
    };
    let said = live.body.pointer("/metadata/deletionTimestamp").and_then(serde_json::Value::as_str);
    match said.and_then(read_timestamp).or(since).map(|it| it.saturating_add(HELD_FOR_LONG)) {
        Some(due) if due > now => (Cause::Pending(held), Some(due)),
        Some(_) if !mutant!(HeldForEver) => (Cause::stalled(reason::HELD, held), None),
        _ => (Cause::Pending(held), None),
    }
}

/// The write that takes an object out of the inventory; none if it is on its way already.
pub(super) fn removal(live: &Live, claim: &Claim, ending: bool) -> Option<Action> {
    let held = live.finalizers.contains(ONCE_FINALIZER);
    if claim.orphan && !mutant!(DeleteOrphans) {
        return Some(Action::release(live, true));
    }
    if !live.terminating {
        return Some(Action::delete(live));
    }
    (ending && held).then(|| Action::release(live, false))
}

/// Whether `to` is held back by `from`, however many objects lie between.
fn reaches(blocked: &BTreeMap<ObjectKey, BTreeSet<ObjectKey>>, from: &ObjectKey, to: &ObjectKey) -> bool {
    let (mut open, mut seen) = (vec![from], BTreeSet::new());
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        for next in blocked.get(at).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}
