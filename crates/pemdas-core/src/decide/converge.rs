//! Rule 11, and the acting half of rules 5 and 6: from what is wanted and what is there to one write, or none.
//!
//! *The accidents*: an object that somebody else made is overwritten because its name was free in an old view; two
//! controllers take a field from each other for ever; a hand's edit on our field stays unnoticed.

use std::collections::BTreeSet;

use super::{
    Cause,
    desired::{Desired, Notes},
    inventory::Item,
    pass::{Member, Pass},
    reason,
};
use crate::{
    action::Action,
    blueprint::{Conflict, Node, OnImmutable, Own, Replace},
    ledger::Slot,
    path::FieldPath,
    program::Program,
    truth::Truth,
    world::{
        CLAIM_ANNOTATION, Live, OUR_PREFIX, ObjectKey, Owner, ROOT_LABEL, Refusal, RootFact, Touch, had,
    },
};

/// Within so many milliseconds ...
const CONTENTION_WINDOW: u64 = 300_000;
/// ... more reversals than this by the same manager are a fight.
const MAX_REVERSALS: usize = 3;

/// How an object is changed: the resourceVersion it must have, whether fields of others are taken, and what the claim notes.
type Terms<'t> = (Option<u64>, bool, Notes<'t>);

/// Fields that others own, each with its owner.
fn conflict(fields: &[(String, String)]) -> Cause {
    let owners: Vec<_> = fields.iter().map(|(who, at)| format!("{at} ({who})")).collect();
    Cause::stalled(reason::CONFLICT, owners.join(", "))
}

/// What is on the root before this object of the instance is made.
pub(crate) fn finalizers(program: &Program, root: &RootFact, key: &ObjectKey) -> BTreeSet<String> {
    let outside = !root.key.namespace.is_empty() && root.key.namespace != key.namespace;
    let ours = root.finalizers();
    let mut wanted = BTreeSet::new();
    // Both at once, because nothing can be added to a root that goes.
    if program.ordered || outside || program.has_deletion() {
        wanted.insert(ours.removal);
    }
    if program.has_deletion() {
        wanted.insert(ours.deletion);
    }
    wanted
}

impl Pass<'_> {
    pub(super) fn converge(
        &mut self,
        slot: &Slot,
        node: &Node,
        desired: &Desired,
        need: Truth,
        member: &mut Member,
        holds: &[Cause],
    ) {
        let key = &desired.key;
        if let Some(cause) = self.facts.unseen_kind(&key.kind) {
            let blind = std::mem::replace(member, Member::new(None));
            *member = blind.unknown(cause);
            return;
        }
        if let Some(cause) = self.unseen(key) {
            member.causes.push(cause);
            return;
        }
        if need != Truth::True {
            member.causes.push(Cause::Unknown("whether it is needed is not known".to_owned()));
            return;
        }
        let Some(live) = self.facts.object(key) else {
            self.create(slot, node, desired, member, holds);
            return;
        };
        if let Some(item) = self.inventory.get(key).cloned() {
            self.change_ours(slot, node, desired, &item, member, holds);
            return;
        }
        match self.facts.owner(live) {
            // The inventory has all of these.
            Owner::Us(_) => {}
            Owner::Forged => {
                let text = format!(
                    "{key} has the label {ROOT_LABEL}, and its annotation {CLAIM_ANNOTATION} is missing or was not written by Pemdas: delete the object, or restore the annotation"
                );
                member.causes.push(Cause::stalled(reason::CLAIM_INVALID, text));
            }
            Owner::Another { uid, root } => {
                let same_root = super::reclaim::is_dead(self.facts.all(), &uid, &root);
                if same_root && self.annotation("reclaim") == Some(uid.as_str()) && member.open == Truth::True
                {
                    let terms = (Some(live.resource_version), true, Notes::NONE);
                    self.change(desired, live, terms, member);
                } else if same_root {
                    let text = format!(
                        "{key} was made for an earlier {} (uid {uid}); annotate the root with {OUR_PREFIX}reclaim={uid} to take it over",
                        self.facts.root().key
                    );
                    member.causes.push(Cause::stalled(reason::EXISTS, text));
                } else if mutant!(TakeClaimed) {
                    self.change(desired, live, (None, true, Notes::NONE), member);
                } else {
                    let text = format!("{key} belongs to another instance (root uid {uid})");
                    member.causes.push(Cause::stalled(reason::EXISTS, text));
                }
            }
            Owner::Nobody if node.own == Own::Adopt || mutant!(AdoptAlways) => {
                member.causes.extend(holds.iter().cloned());
                if member.open == Truth::True && !live.terminating {
                    let force = node.conflict == Conflict::Force;
                    let terms = (Some(live.resource_version), force, Notes::NONE);
                    let refused = self.facts.refused(&live.key);
                    let tried = self.changing(desired, live, terms).tried();
                    let refused = refused.filter(|it| it.tried == tried).map(|it| &it.refusal);
                    if let Some(Refusal::FieldConflict(fields)) = refused {
                        member.causes.push(conflict(fields));
                    }
                    self.change(desired, live, terms, member);
                }
            }
            Owner::Nobody => {
                let text = format!("{key} exists and is not ours");
                member.causes.push(Cause::stalled(reason::EXISTS, text));
            }
        }
    }

    fn create(&mut self, slot: &Slot, node: &Node, desired: &Desired, member: &mut Member, holds: &[Cause]) {
        let last = self.facts.vanished(&desired.key) == Some(desired.digest) && !mutant!(NoRepairWhileHeld);
        let may = last || mutant!(HeldCreates);
        if !self.may_act(slot, node, desired, member, holds, may) {
            return;
        }
        if node.replace == Replace::Before && !mutant!(ReplaceBeforeAtOnce) {
            let mut made = self.claims_of(&slot.node);
            let old = made.find(|(key, it)| **key != desired.key && it.claim.member == slot.member);
            if let Some((key, _)) = old {
                member.causes.push(Cause::Pending(format!("{key} has to go first")));
                return;
            }
        }
        if let Some(cause) = self.pauses(desired) {
            member.causes.push(cause);
            return;
        }
        member.causes.push(Cause::Pending("it is being created".to_owned()));
        let body = self.sent(desired, Notes::NONE);
        let action = Action::Create { key: desired.key.clone(), body };
        self.send(action, member);
    }

    fn change_ours(
        &mut self,
        slot: &Slot,
        node: &Node,
        desired: &Desired,
        item: &Item,
        member: &mut Member,
        holds: &[Cause],
    ) {
        let live = &*item.live;
        if live.terminating && !mutant!(ApplyTerminating) {
            let why = self.being_deleted(live);
            member.causes.push(why);
            return;
        }
        let has_states = self.program.states.contains_key(&slot.node);
        let version = has_states.then_some(live.resource_version).filter(|_| !mutant!(StatesWithoutVersion));
        if item.claim.applied == desired.digest {
            let missing = self.missing(desired, item);
            let dropped = self.facts.dropped(&live.key).unwrap_or(&item.claim.dropped);
            let noted = missing == item.claim.unkept && *dropped == item.claim.dropped;
            if (noted && !(item.claim.older && self.facts.reseals())) || mutant!(IgnoreDrift) {
                member.settled = member.open;
                member.causes.extend(holds.iter().cloned());
                return;
            }
            if let Some(cause) = self.contended(live) {
                member.causes.push(cause);
                return;
            }
            // What the server itself made of this very apply is no drift: it is written down, and then left as it is.
            let known = missing.is_empty()
                || missing == item.claim.unkept
                || self.facts.unkept(&live.key) == Some(&missing);
            let (why, notes) = if noted {
                ("its claim is being sealed with the new key", Notes::of(&item.claim))
            } else if known && !mutant!(ApplyForEver) {
                ("what the server keeps of it is being noted", Notes { unkept: &missing, dropped })
            } else {
                ("somebody changed it: Pemdas sets it again", Notes::of(&item.claim))
            };
            member.causes.push(Cause::Pending(why.to_owned()));
            let force = node.conflict != Conflict::Yield && !mutant!(RepairUnforced);
            self.change(desired, live, (version, force, notes), member);
            return;
        }
        if !self.may_act(slot, node, desired, member, holds, mutant!(HeldChanges)) {
            return;
        }
        let taken = live.taken_from(&self.manager, self.body(desired));
        let back = self.takes_back(node, desired, item, &taken);
        // Only what was seen is taken back: over another version it is asked again whose the fields are.
        let version = version.or(back.then_some(live.resource_version));
        let force = node.conflict == Conflict::Force || back || mutant!(ForceNew);
        let action = self.changing(desired, live, (version, force, Notes::of(&item.claim)));
        let refused = self.facts.refused(&live.key).filter(|it| it.tried == action.tried());
        match refused.map(|it| &it.refusal) {
            Some(Refusal::Immutable(field)) if node.on_immutable == OnImmutable::Recreate => {
                member.causes.push(Cause::Pending(format!("{field} may not change: it is made anew")));
                self.push(Action::delete(live));
            }
            Some(Refusal::Immutable(field)) => {
                let text = format!("{field} may not change");
                member.causes.push(Cause::stalled(reason::IMMUTABLE, text));
                self.send(action, member);
            }
            // Our view does not show yet who took them.
            Some(Refusal::FieldConflict(_))
                if taken.is_empty() && refused.is_some_and(|it| it.times == 0) =>
            {
                member.causes.push(Cause::Pending("it is being changed".to_owned()));
                self.send(action, member);
            }
            Some(Refusal::FieldConflict(fields)) => {
                member.causes.push(conflict(fields));
                self.send(action, member);
            }
            _ => {
                member.causes.push(Cause::Pending("it is being changed".to_owned()));
                self.send(action, member);
            }
        }
    }

    /// Whether all that others took of what is wanted was ours: who owned a field before decides, not who saw that it was taken.
    fn takes_back(&self, node: &Node, desired: &Desired, item: &Item, taken: &[(String, FieldPath)]) -> bool {
        let (secret, wanted) = (self.facts.secret(), self.body(desired));
        let ours = |at: &FieldPath| had(&item.claim.fields, at, wanted, secret);
        let all = !taken.is_empty() && taken.iter().all(|(_, at)| ours(at) || mutant!(TakeAll));
        all && node.conflict == Conflict::Fail && !mutant!(NeverTakeBack)
    }

    fn change(&mut self, desired: &Desired, live: &Live, terms: Terms<'_>, member: &mut Member) {
        if !self.finalized(&desired.key, member) {
            return;
        }
        let action = self.changing(desired, live, terms);
        self.send(action, member);
    }

    fn changing(&self, desired: &Desired, live: &Live, (version, force, notes): Terms<'_>) -> Action {
        Action::Change {
            key: live.key.clone(),
            uid: live.uid.clone(),
            resource_version: version,
            body: self.sent(desired, notes),
            force,
        }
    }

    /// Whether something new may be written: not over a closed edge, nor before a human or our finalizer.
    fn may_act(
        &mut self,
        slot: &Slot,
        node: &Node,
        desired: &Desired,
        member: &mut Member,
        holds: &[Cause],
        all_the_same: bool,
    ) -> bool {
        if member.open != Truth::True && !all_the_same {
            member.causes.extend(holds.iter().cloned());
            if member.causes.is_empty() {
                member.causes.push(Cause::Pending("it is held as it is".to_owned()));
            }
            return false;
        }
        self.approved(slot, node, desired, member) && self.finalized(&desired.key, member)
    }

    fn send(&mut self, action: Action, member: &mut Member) {
        let refused = action.written().and_then(|key| self.facts.refused(key));
        let refused = refused.filter(|it| it.tried == action.tried()).map(|it| &it.refusal);
        if let Some(Refusal::UnknownField(_)) = refused {
            // Not said while it is tried again, it would come and go.
            member.causes.extend(refused.map(|it| Cause::stalled(reason::UNKNOWN_FIELD, it.to_string())));
            self.try_again(action);
            return;
        }
        member.causes.extend(self.try_again(action));
    }

    /// Which fields the API server dropped of an object, in words: what this process saw, or what an earlier one noted.
    pub(super) fn dropped(&self, item: &Item) -> Option<String> {
        let key = &item.live.key;
        let fields = self.facts.dropped(key).unwrap_or(&item.claim.dropped);
        let list: Vec<_> = fields.iter().map(String::as_str).collect();
        (!list.is_empty() && !mutant!(DropUntold))
            .then(|| format!("the API server dropped {} of {key}", list.join(", ")))
    }

    /// What our entry of managed fields does not cover of what is wanted; that it covers all is known while neither of the two changes.
    fn missing(&mut self, desired: &Desired, item: &Item) -> BTreeSet<String> {
        if item.covered.get() == Some(desired.digest) {
            return BTreeSet::new();
        }
        let missing = item.live.unkept(&self.manager, self.body(desired), self.facts.secret());
        if missing.is_empty()
            && let Some(item) = self.inventory.get(&desired.key)
        {
            item.covered.set(Some(desired.digest));
        }
        missing
    }

    /// A human opens a gate for one digest.
    fn approved(&mut self, slot: &Slot, node: &Node, desired: &Desired, member: &mut Member) -> bool {
        let short = desired.digest.short();
        if !node.approve || self.annotation(&format!("approve.{}", slot.node)) == Some(short.as_str()) {
            return true;
        }
        member.causes.push(Cause::Pending(format!("waits for approval of {short}")));
        mutant!(ApproveNothing)
    }

    /// Our finalizers are on the root before the first object that needs them.
    pub(super) fn finalized(&mut self, key: &ObjectKey, member: &mut Member) -> bool {
        let root = &self.facts.root().key;
        let wanted = finalizers(self.program, self.facts.root(), key);
        self.facts.read(Touch::ROOT_MARKS);
        if wanted.is_subset(&self.root.finalizers) || self.root.terminating || mutant!(NoFinalizer) {
            return true;
        }
        if !self.facts.has_write(root) {
            self.facts.read(Touch::ROOT);
            // Why that is refused comes first: it is what people have to know.
            let refused = self.hold_root(wanted.union(&self.root.finalizers).cloned().collect());
            member.causes.extend(refused);
        }
        member.causes.push(Cause::Pending("the root gets our finalizer first".to_owned()));
        false
    }

    /// Puts finalizers on the root, and says why that was refused. It is done as the blueprint's account, which may lack the permission: nothing is made for the root before.
    pub(super) fn hold_root(&mut self, finalizers: BTreeSet<String>) -> Option<Cause> {
        let (uid, resource_version) = (self.facts.root().uid.clone(), self.root.resource_version);
        let action = Action::Finalize { uid, resource_version, finalizers };
        let refused = self.facts.refused(&self.facts.root().key).filter(|it| it.tried == action.tried());
        self.push(action);
        refused.map(|it| Cause::refused_of("the finalizer of the root", it))
    }

    /// Whether our fields are taken again and again: by another manager, or by nobody who says so.
    fn contended(&mut self, live: &Live) -> Option<Cause> {
        let reversals = self.facts.reversals(&live.key)?;
        let last = reversals.last()?;
        let from = self.facts.now().saturating_sub(CONTENTION_WINDOW);
        let recent = reversals.iter().filter(|it| it.at >= from && it.from == last.from).count();
        if recent < MAX_REVERSALS || mutant!(FightForEver) {
            return None;
        }
        let (key, field) = (&live.key, &last.field);
        let text = match last.from.as_str() {
            "" => format!("{field} of {key} does not stay as it is applied"),
            who if field == "spec.replicas" => {
                format!(
                    "{who} takes {field} of {key} again and again: if it scales it, leave the field out of the template"
                )
            }
            who => format!("{who} takes {field} of {key} again and again"),
        };
        let again = last.at.saturating_add(CONTENTION_WINDOW);
        self.wake_at(again.max(self.facts.now() + 1));
        Some(Cause::stalled(reason::CONTENDED, text))
    }

    /// Whether an object that goes away again and again is not made yet.
    fn pauses(&mut self, desired: &Desired) -> Option<Cause> {
        let gone = self.facts.gone(&desired.key)?;
        if gone.again() <= self.facts.now() || desired.is_attempt() || mutant!(RecreateAtOnce) {
            return None;
        }
        self.wake_at(gone.again());
        let text =
            format!("{} went away {} times, each time soon after it was made", desired.key, gone.times);
        Some(Cause::stalled(reason::RECREATED, text))
    }
}
