//! Rule 11, its end: the objects of a dead root are taken over together with its ledger, when a human says so.
//!
//! *The accident*: a backup is restored, the new root takes the objects of the old one, and knows nothing of what was
//! done: every migration runs again, and every password that was made from a seed is another one.

use super::{Cause, Decision, pass::idle, remembered::Mark};
use crate::{
    action::Action,
    ledger::{End, Ledger},
    world::{LedgerFact, Live, OUR_PREFIX, ObjectKey, OwnWrite, Owner, World},
};

/// What is to be done before anything else where the root names an earlier one; nothing if its ledger is taken over.
pub(super) fn take_over(world: &World, root: &Live) -> Option<Decision> {
    let old = earlier(world, root)?;
    let wait = |text: &str| idle(&Cause::Pending(text.to_owned()));
    let mut decision = wait("the ledger of the earlier root is being taken over");
    match world.old_ledger.as_ref().filter(|(of, _)| of == old).map(|(_, fact)| fact) {
        None => decision.actions.push(Action::ReadLedgerOf { instance: old.to_owned() }),
        Some(LedgerFact::Unknown) => {}
        // Nothing to take over, or nothing that can be: then nothing that needs a memory goes on.
        Some(LedgerFact::Absent | LedgerFact::Unreadable) => return None,
        Some(LedgerFact::Present { resource_version, ledger }) => match &world.ledger_write {
            Some(OwnWrite::Lost) => decision.actions.push(Action::ReadLedger),
            Some(_) => {}
            None => {
                let ours = world.ledger_or_empty();
                let both = merged(&ours, ledger);
                if world.ledger == LedgerFact::Unreadable {
                    return None;
                }
                decision.actions.push(if both == ours {
                    Action::ForgetLedgerOf { instance: old.to_owned(), resource_version: *resource_version }
                } else {
                    record(world, root, both)?
                });
            }
        },
    }
    Some(decision)
}

/// The name of the earlier instance that a human named, where an object says that it was of a root of this name.
fn earlier<'r>(world: &World, root: &'r Live) -> Option<&'r str> {
    let named = root.annotation(&format!("{OUR_PREFIX}reclaim"))?;
    let left = |live: &Live| match world.owner(live) {
        Owner::Another { uid, root } => uid == named && is_dead(world, &uid, &root),
        _ => false,
    };
    // Where nothing is left of it, the root itself may say so.
    let noted = || {
        let mark = Mark::of(world, root);
        mark.is_some_and(|it| it.genuine && it.instance == named && is_dead(world, named, &world.root.key))
    };
    ((world.objects.values().any(|it| left(it)) || noted()) && !mutant!(LeaveOldLedger)).then_some(named)
}

/// Whether a claim is of an earlier root with the identity of this one: not of another root, and not of another
/// blueprint's instance of this very root.
pub(super) fn is_dead(world: &World, instance: &str, root: &ObjectKey) -> bool {
    *root == world.root.key && !instance.contains(&world.root.uid)
}

/// Whether the ledger of the earlier root cannot be read: what it says, nobody knows.
pub(super) fn is_unreadable(world: &World, root: &Live) -> bool {
    let of = earlier(world, root);
    matches!(&world.old_ledger, Some((old, LedgerFact::Unreadable)) if of == Some(old.as_str()))
}

/// The objects carry what the old seeds gave. An attempt that we made and that passed is as good as the old one.
fn merged(ours: &Ledger, old: &Ledger) -> Ledger {
    let mut both = ours.clone();
    both.seeds.extend(old.seeds.iter().map(|(slot, seed)| (slot.clone(), seed.clone())));
    for (slot, entry) in &old.entries {
        let passed = both.entries.get(slot).is_some_and(|it| it.end == Some(End::Passed));
        if !passed {
            both.entries.insert(slot.clone(), entry.clone());
        }
    }
    both
}

/// A ledger has to be taken away in the end: the root gets our finalizer before its first one.
fn record(world: &World, root: &Live, ledger: Ledger) -> Option<Action> {
    let resource_version = match &world.ledger {
        LedgerFact::Present { resource_version, .. } => Some(*resource_version),
        _ => None,
    };
    let removal = world.root.finalizers().removal;
    if root.finalizers.contains(&removal) {
        return Some(Action::Record { ledger: Box::new(ledger), resource_version });
    }
    let finalizers = root.finalizers.iter().cloned().chain([removal]).collect();
    let (uid, resource_version) = (root.uid.clone(), root.resource_version);
    (!world.writes.contains_key(&world.root.key)).then_some(Action::Finalize {
        uid,
        resource_version,
        finalizers,
    })
}
