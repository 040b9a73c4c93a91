//! Rule 8: the end of an instance.
//!
//! *The accidents*: the final backup is skipped because the blueprint has a typing error today; a broken blueprint
//! keeps a namespace from going; a root that is missing from a half-restored backup takes all its objects with it; the
//! root goes while a deletion is refused, and what it made runs on without anybody who knows of it.

use std::sync::Arc;

use super::{
    Cause, Decision, Mode, NodeState, Phase,
    given_up::GivenUp,
    inventory::{Inventory, Item},
    pass::{Found, Pass, idle},
    reason, remembered, removal,
    report::STATUS_INTERVAL,
    status::{self, REMOVING},
    tally::Tally,
};
use crate::{
    action::{Action, Event},
    ledger::Slot,
    program::Program,
    secrets::Secrets,
    truth::Truth,
    world::{Claim, LedgerFact, Live, ONCE_FINALIZER, OUR_PREFIX, ObjectKey, OwnWrite, Sight, World},
};

/// How long the nodes of a deletion may take before a human is asked, in milliseconds.
pub(super) const MAX_DELETION: u64 = 3_600_000;

/// How long the garbage collector may take for what a root owned that is gone, in milliseconds.
const COLLECTED_IN: u64 = 60_000;
/// How long a removal may take before it is told what it waits for, in milliseconds.
const REMOVAL_IS_TOLD: u64 = 10_000;

/// The root goes: first the nodes of its deletion, then everything else.
pub(super) fn delete(program: Option<&Program>, world: &World, root: &Arc<Live>) -> Decision {
    let waits = root.finalizers.contains(&world.root.finalizers().deletion) && !mutant!(SkipDeletionNodes);
    if !waits {
        return remove(program, world);
    }
    if world.writes.contains_key(&world.root.key) {
        return idle(&Cause::Pending("our last write to the root was not seen yet".to_owned()));
    }
    let skip = GivenUp::of(world).nodes();
    if world.namespace_ending {
        return go_on(world, root, "the namespace is being deleted: the nodes of the deletion are skipped");
    }
    if skip {
        return go_on(world, root, "somebody skipped the nodes of the deletion");
    }
    let Some(program) = program else {
        if mutant!(BrokenSkips) {
            return go_on(world, root, "");
        }
        let text = "the deletion has nodes of its own, and no revision of the blueprint can run them";
        return idle(&Cause::stalled(reason::DELETION, text));
    };
    let mut pass = Pass::new(program, world, root, Mode::Deleting);
    pass.contradictions();
    if !pass.admit() {
        if pass.asked.open.is_empty() {
            let text = format!(
                "its nodes see no root that breaks its contract: fix it, or annotate it with {OUR_PREFIX}skip-deletion"
            );
            pass.instance.push(Cause::stalled(reason::DELETION, text));
        }
        return pass.finish();
    }
    pass.walk();
    let open = pass.deletion_open();
    if open.is_empty() && pass.asked.open.is_empty() && pass.instance.is_empty() {
        return go_on(world, root, "");
    }
    pass.begin_record();
    pass.instance.extend(open);
    pass.finish()
}

/// The nodes of the deletion are through, or skipped: the root's own finalizer for them says so by its absence.
fn go_on(world: &World, root: &Live, warning: &str) -> Decision {
    let mut decision = idle(&Cause::Pending("the deletion goes on to removal".to_owned()));
    decision.mode = Mode::Deleting;
    let deletion = world.root.finalizers().deletion;
    decision.actions.push(Action::Finalize {
        uid: root.uid.clone(),
        resource_version: root.resource_version,
        finalizers: root.finalizers.iter().filter(|it| **it != deletion).cloned().collect(),
    });
    if !warning.is_empty() && world.told.get(&None).map(String::as_str) != Some("DeletionSkipped") {
        decision.actions.push(Action::Event(Event {
            about: None,
            reason: "DeletionSkipped".to_owned(),
            message: Secrets::of(world, None).mask(warning),
            warning: true,
        }));
    }
    decision
}

impl Pass<'_> {
    /// The revision at which the deletion began is recorded, and the states that it names are due again.
    fn begin_record(&mut self) {
        let begun = self.ledger().is_some_and(|it| it.deleting.is_none());
        if !begun {
            return;
        }
        let named: Vec<_> = self.deletion.keys().cloned().collect();
        let program = self.program;
        let record = self.record();
        record.deleting = Some(program.revision.name.clone());
        for (slot, entry) in &mut record.entries {
            let is_state = program.node(&slot.node).is_some_and(|it| it.state_of.is_some());
            if is_state && named.contains(&slot.node) {
                entry.due = true;
            }
        }
    }

    /// What keeps the deletion's own nodes from being through.
    fn deletion_open(&mut self) -> Vec<Cause> {
        let mut open = Vec::new();
        if self.ledger().is_none_or(|it| it.deleting.is_none()) {
            open.push(Cause::Pending("the beginning of the deletion is being recorded".to_owned()));
        }
        let due = self.facts.root().going_since.map(|it| it + MAX_DELETION);
        let overdue = due.is_some_and(|it| self.facts.now() > it);
        if let Some(due) = due.filter(|_| !overdue) {
            self.wake_at(due + 1);
        }
        let names: Vec<_> = self.deletion.iter().map(|(name, need)| (name.clone(), *need)).collect();
        for (name, need) in names {
            if name == self.program.root || need == Truth::False {
                continue;
            }
            let Some(view) = self.nodes.get(&name) else { continue };
            let ready = view.need == Truth::False
                || (view.members_known && view.members.values().all(|it| it.ready == Truth::True));
            if need == Truth::True && ready {
                continue;
            }
            let mut causes = view.causes.iter().chain(view.members.values().flat_map(|it| &it.causes));
            let stuck = causes.any(|cause| match cause {
                Cause::Stalled { .. } => true,
                Cause::Waits { on, .. } => self.not_in_inventory(on),
                _ => false,
            });
            if stuck || overdue {
                let text = format!(
                    "{name} cannot run; annotate the root with {OUR_PREFIX}skip-deletion to go on without it"
                );
                open.push(Cause::stalled(reason::DELETION, text));
            } else {
                open.push(Cause::Waits { on: Slot::new(&name, ""), reasons: Vec::new() });
            }
        }
        open
    }

    /// Whether a node that is waited for is frozen and has no object: it will never come.
    fn not_in_inventory(&self, on: &Slot) -> bool {
        let frozen = !self.of_deletion(&on.node);
        let member = self.nodes.get(&on.node).and_then(|it| it.members.get(&on.member));
        frozen && member.is_some_and(|it| it.found == Found::Absent)
    }
}

/// Removes everything in reverse order, by what the objects themselves say: no evaluation, no precursor, no spec. Nobody lets
/// the root go before everything is gone, or was given up by name.
pub(super) fn remove(program: Option<&Program>, world: &World) -> Decision {
    let mut decision = idle(&Cause::Pending("everything is being removed".to_owned()));
    decision.mode = Mode::Removing;
    if program.is_none() && mutant!(BrokenBlocksRemoval) {
        return decision;
    }
    let inventory = Inventory::of(world);
    let mut left = Vec::new();
    let given_up = GivenUp::of(world);
    // What we made and have not seen yet may use what we are about to delete.
    let is_unseen = |it: &ObjectKey| world.unseen_write(it).is_some() && *it != world.root.key;
    // What is given up need not be seen any more: perhaps it never can be.
    let unseen: Vec<_> = world.writes.keys().filter(|it| is_unseen(it) && !given_up.has(it)).collect();
    for key in unseen.iter().filter(|it| world.writes.get(**it) == Some(&OwnWrite::Lost)) {
        decision.actions.push(Action::Look { key: (*key).clone() });
    }
    let waits = !unseen.is_empty() && !mutant!(RemoveUnseen);
    // What was sent is answered in a moment; what was done is only seen where it may be seen.
    let is_under_way =
        |it: &ObjectKey| matches!(world.writes.get(it), Some(OwnWrite::InFlight | OwnWrite::Lost));
    let under_way = waits && unseen.iter().copied().any(is_under_way);
    if waits {
        for key in unseen {
            let item = inventory.get(key);
            if let Some((claim, why)) = item.and_then(|it| Some((&it.claim, stuck(world, key, &it.claim)?))) {
                let slot = Slot::new(&claim.node, &claim.member);
                decision
                    .nodes
                    .insert(slot, NodeState { phase: Phase::Removing, causes: vec![why], dropped: None });
            }
        }
    } else {
        remove_objects(world, &inventory, &given_up, &mut decision, &mut left);
    }
    for (kind, why) in unlisted(world, &given_up, &mut left) {
        let phase = if matches!(why, Cause::Stalled { .. }) { Phase::Stalled } else { Phase::Unknown };
        let slot = Slot::new("(kinds)", &kind);
        decision.nodes.insert(slot, NodeState { phase, causes: vec![why], dropped: None });
    }
    decision.conditions.stalled = stalled(&decision, left.clone());
    if !decision.nodes.is_empty() && !under_way {
        tell_of_removal(world, &inventory, &mut decision);
    } else if decision.nodes.is_empty() && !waits {
        tell_what_is_left(world, &left, &mut decision);
        last_steps(world, &mut decision);
        // With the instance goes whoever would notice that nobody collects what it leaves.
        if let Some(until) = collected_by(world).filter(|_| is_being_collected(world, &inventory)) {
            decision.conditions.reconciling = true;
            decision.wake = Some(decision.wake.map_or(until, |it| it.min(until)));
        }
    }
    decision
}

/// One step for each object that is still there, from the last one back.
fn remove_objects(
    world: &World,
    inventory: &Inventory,
    given_up: &GivenUp<'_>,
    decision: &mut Decision,
    left: &mut Vec<String>,
) {
    let blocked = removal::blockers(inventory);
    let lets_go = |key: &ObjectKey| given_up.has(key) || may_be_left(world, key);
    for (key, Item { live, claim, .. }) in inventory.iter() {
        if stays(world, live, claim) {
            continue;
        }
        if lets_go(key) {
            left.push(format!("{key} is given up: it is left"));
            continue;
        }
        let mut slot = Slot::new(&claim.node, &claim.member);
        if decision.nodes.contains_key(&slot) {
            // Its replacement stands in the same slot.
            slot = Slot::new(&claim.node, &format!("{}~{}", claim.member, key.name));
        }
        let gone = |it: &ObjectKey| inventory.get(it).is_none_or(|it| stays(world, &it.live, &it.claim));
        let holders = blocked.get(key).into_iter().flatten();
        let waits: Vec<_> = holders
            .filter(|it| !gone(it) && !lets_go(it))
            .filter_map(|it| inventory.get(it))
            .map(|it| Cause::Waits { on: Slot::new(&it.claim.node, &it.claim.member), reasons: Vec::new() })
            .collect();
        let causes = if waits.is_empty() { remove_one(world, live, claim, decision) } else { waits };
        decision.nodes.insert(slot, NodeState { phase: Phase::Removing, causes, dropped: None });
    }
}

/// Whether an object may be left because its deletion is refused: never.
fn may_be_left(world: &World, key: &ObjectKey) -> bool {
    world.refused.contains_key(key) && mutant!(RefusalLeaves)
}

/// The kinds of which nobody knows whether something is left, each with why.
fn unlisted(world: &World, given_up: &GivenUp<'_>, left: &mut Vec<String>) -> Vec<(String, Cause)> {
    let mut found = Vec::new();
    for (kind, view) in &world.kinds {
        let name = kind.to_string();
        match view.sight {
            Sight::Forbidden if given_up.has_all_of(kind) => {
                left.push(format!("{name} may not be listed: what is left of it stays"));
            }
            Sight::Forbidden if mutant!(UnlistedLeaves) => {}
            Sight::Forbidden => {
                let text = format!(
                    "{name} may not be listed by this account, so nobody knows what is left of it; {}",
                    given_up.advice(&format!("{name}/*"))
                );
                found.push((name, Cause::stalled(reason::REFUSED, text)));
            }
            Sight::NoSuchKind => {}
            Sight::Unsynced | Sight::Synced if world.blind(kind).is_some() => {
                let why = format!("{name} is not listed yet");
                found.push((name, Cause::Unknown(why)));
            }
            Sight::Unsynced | Sight::Synced => {}
        }
    }
    found
}

/// What a human has to look at: what holds up the removal, and what is left.
fn stalled(decision: &Decision, left: Vec<String>) -> Vec<String> {
    let causes = decision.nodes.iter().flat_map(|(slot, it)| it.causes.iter().map(move |why| (slot, why)));
    let held = causes.filter(|(_, why)| matches!(why, Cause::Stalled { .. }));
    held.map(|(slot, why)| format!("{slot}: {why}")).chain(left).collect()
}

/// What stays is told before the root goes: nobody else knows of it then.
fn tell_what_is_left(world: &World, left: &[String], decision: &mut Decision) {
    if left.is_empty() || world.told.get(&None).is_some_and(|it| it == reason::LEFT) {
        return;
    }
    let (about, reason, message) = (None, reason::LEFT.to_owned(), left.join("; "));
    decision.actions.push(Action::Event(Event { about, reason, message, warning: true }));
}

/// What takes its time is told: in the status, where there is one of ours, and in an Event.
fn tell_of_removal(world: &World, inventory: &Inventory, decision: &mut Decision) {
    let Some(root) = world.root.live.as_ref() else { return };
    let secrets = Secrets::of(world, None);
    let public = |text: &str| secrets.mask(text);
    let causes = || decision.nodes.iter().flat_map(|(slot, it)| it.causes.iter().map(move |why| (slot, why)));
    let stall = causes().find_map(|(slot, why)| match why {
        Cause::Stalled { reason, .. } => Some((*reason, format!("{slot}: {why}"))),
        _ => None,
    });
    match world.root.going_since.map(|it| it + REMOVAL_IS_TOLD) {
        Some(due) if world.now < due => {
            decision.wake = Some(decision.wake.map_or(due, |it| it.min(due)));
            return;
        }
        // It is not selected any more, and stays.
        None if stall.is_none() => return,
        _ => {}
    }
    let mut held = inventory.iter().filter(|(_, it)| it.live.terminating);
    let held = held.find_map(|(_, it)| removal::held_by(&it.live));
    let first = causes().map(|(slot, why)| format!("{slot}: {why}")).next().unwrap_or_default();
    let (reason, warning, message) = match (stall, held) {
        (Some((reason, message)), _) => (reason, true, message),
        (None, Some(held)) => (REMOVING, true, held),
        (None, None) => (REMOVING, false, first),
    };
    let message = secrets.mask(&message);
    let before = root.body.get("status").filter(|it| it.get("pemdas").is_some());
    let said = before.is_some_and(|it| status::says(it, None, reason));
    if world.told.get(&None).map_or(!said, |it| it != reason) {
        let (about, reason, message) = (None, reason.to_owned(), message.clone());
        decision.actions.push(Action::Event(Event { about, reason, message, warning }));
    }
    let Some(before) = before else { return };
    let mut tally = Tally::default();
    tally.states.clone_from(&decision.nodes);
    tally.unready = decision.nodes.keys().cloned().collect();
    let stalled: Vec<_> = decision.conditions.stalled.iter().map(|it| secrets.mask(it)).collect();
    let stalled = (reason, stalled.as_slice());
    let status = status::removing(before, &message, &tally, stalled, root.generation, world.now, &public);
    let due = world.status_at.map_or(0, |it| it + STATUS_INTERVAL);
    if status == *before
        || world.is_what_became(&status, before)
        || world.writes.contains_key(&world.root.key)
    {
        return;
    }
    if world.now < due {
        decision.wake = Some(decision.wake.map_or(due, |it| it.min(due)));
        return;
    }
    let action = Action::Status { uid: root.uid.clone(), status };
    let refused = world.refused.get(&world.root.key).filter(|it| it.tried == action.tried());
    if refused.is_none_or(|it| it.again() <= world.now) {
        decision.actions.push(action);
    }
}

/// What removal leaves alone: what the garbage collector takes with the root, and everything where somebody deletes the
/// root and wants to keep what it made. Only our own finalizer goes then.
fn stays(world: &World, live: &Live, claim: &Claim) -> bool {
    let going = world.root.live.as_ref().is_none_or(|it| it.terminating);
    let overdue = collected_by(world).is_some_and(|it| it <= world.now) && !live.terminating;
    let collected = claim.owned && going && !overdue && !mutant!(CollectByHand);
    let kept = world.root.orphaning && !mutant!(DeleteTheKept) && !live.finalizers.contains(ONCE_FINALIZER);
    collected || kept
}

/// Until when the garbage collector is waited for: it does not know a kind that was served for a moment only, and then it never
/// collects what objects of that kind own.
fn collected_by(world: &World) -> Option<u64> {
    world.root.gone_since.map(|it| it.saturating_add(COLLECTED_IN))
}

/// Whether the garbage collector still has something to take.
fn is_being_collected(world: &World, inventory: &Inventory) -> bool {
    inventory.iter().any(|(_, it)| it.claim.owned && !it.live.terminating) && !world.root.orphaning
}

fn remove_one(world: &World, live: &Live, claim: &Claim, decision: &mut Decision) -> Vec<Cause> {
    if world.unseen_write(&live.key).is_some() {
        let unseen = || Cause::Pending("our last write was not seen yet".to_owned());
        return vec![stuck(world, &live.key, claim).unwrap_or_else(unseen)];
    }
    let mut wake_at = |time: u64| decision.wake = Some(decision.wake.map_or(time, |it| it.min(time)));
    let Some(action) = next_removal(world, live, claim) else {
        let (why, again) = removal::being_deleted(live, world.root.going_since, world.now);
        again.into_iter().for_each(wake_at);
        return vec![why];
    };
    let refused = world.refused.get(&live.key).filter(|it| it.tried == action.tried());
    if let Some(refused) = refused.filter(|it| it.again() > world.now) {
        wake_at(refused.again());
        return vec![stuck(world, &live.key, claim).unwrap_or_else(|| Cause::refused(refused))];
    }
    let lasting = refused.and_then(|_| stuck(world, &live.key, claim));
    decision.actions.push(action);
    vec![lasting.unwrap_or_else(|| Cause::Pending(format!("{} is being removed", live.key)))]
}

/// Why an object is not removed although it was tried again and again, and how it is given up.
fn stuck(world: &World, key: &ObjectKey, claim: &Claim) -> Option<Cause> {
    let refused = world.refused.get(key).filter(|it| it.lasts())?;
    let entry = GivenUp::entry(key);
    let what = if claim.orphan { "released" } else { "deleted" };
    let text = format!("{key} cannot be {what}: {}; {}", refused.refusal, GivenUp::of(world).advice(&entry));
    Some(Cause::stalled(reason::REFUSED, text))
}

/// What brings an object nearer to its end.
fn next_removal(world: &World, live: &Live, claim: &Claim) -> Option<Action> {
    if world.root.orphaning && !mutant!(DeleteTheKept) {
        return Some(Action::release(live, false));
    }
    removal::removal(live, claim, true)
}

/// Nothing is left: the ledger goes, then our finalizers, then the root.
fn last_steps(world: &World, decision: &mut Decision) {
    if matches!(world.ledger_write, Some(OwnWrite::Lost)) {
        decision.actions.push(Action::ReadLedger);
        return;
    }
    if let Some(unmark) = remembered::unmark(world).filter(|_| !mutant!(MarkStays)) {
        if !world.writes.contains_key(&world.root.key) {
            decision.actions.push(unmark);
        }
        return;
    }
    match &world.ledger {
        _ if world.ledger_write.is_some() => return,
        LedgerFact::Unknown => return,
        LedgerFact::Present { resource_version, .. } if !mutant!(LeaveLedger) => {
            decision.actions.push(Action::Forget { resource_version: *resource_version });
            return;
        }
        LedgerFact::Present { .. } | LedgerFact::Absent | LedgerFact::Unreadable => {}
    }
    let root = world.root.live.as_ref();
    let ours = world.root.finalizers();
    let Some(root) = root.filter(|it| ours.hold(it)) else {
        // Only now is the instance over: whoever forgets it earlier leaves something behind.
        decision.conditions.reconciling = false;
        return;
    };
    if !world.writes.contains_key(&world.root.key) {
        decision.actions.push(Action::Finalize {
            uid: root.uid.clone(),
            resource_version: root.resource_version,
            finalizers: root.finalizers.iter().filter(|it| !ours.contains(it)).cloned().collect(),
        });
    }
}
