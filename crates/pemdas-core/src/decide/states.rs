//! Rule 9, for states: an object that passes through states on its way.
//!
//! *The accident*: a flapping precursor, a crash or a reverted spec drains a serving Deployment for no reason, or
//! lets it serve before the migration ran.

use serde_json::Value;

use super::{
    Cause, Mode,
    edges::Edges,
    inventory::Item,
    pass::{Asked, Data, Found, Member, Pass},
    reason,
};
use crate::{
    blueprint::{Body, First, Node},
    digest::Digest,
    evaluate::Form,
    ledger::{End, Entry, Slot},
    truth::Truth,
    world::ObjectKey,
};

impl Pass<'_> {
    /// A state, seen from the nodes after it. What is done to the object is decided at the object's own step.
    pub(super) fn state(
        &mut self,
        name: &str,
        node: &Node,
        object: &str,
        slot: &Slot,
        each: Option<&Value>,
    ) -> Member {
        let program = self.program;
        let (Body::Template(template), Some(of)) = (&node.body, program.node(object)) else {
            return Member::new(None);
        };
        let Body::Template(whole) = &of.body else { return Member::new(None) };
        let identity = self.identity(of, &whole.object, &whole.function, each);
        let mut member = Member::new(identity.as_ref().ok().cloned());
        let edges = self.edges(slot, &node.before, each);
        member.open = edges.open;
        if self.mode == Mode::Deleting && !self.of_deletion(name) {
            member.open = Truth::False;
        }
        // What is not due is not rendered, nor named: that its template or its object fails would hold others for nothing.
        if node.key.is_some() && matches!(self.key(slot, node, &edges, each, None), Ok(None)) {
            return not_due(member);
        }
        let key = match identity {
            Ok(key) => key,
            Err(cause) => return member.unknown(cause),
        };
        member.found = self.found_ours(&key);
        let Some(ledger) = self.ledger() else {
            return member.unknown(Cause::Pending("the ledger is being written".to_owned()));
        };
        let own = Found::Absent;
        let patch = match self.render(slot, &template.function, &edges, each, &own) {
            Ok(patch) => patch.data,
            Err(cause) => {
                let mut member = member.unknown(cause);
                member.causes.splice(0..0, edges.causes);
                return member;
            }
        };
        let entry = ledger.entries.get(slot);
        let key = match self.key(slot, node, &edges, each, Some(&patch)) {
            Ok(Some(key)) => key,
            Ok(None) => return not_due(member),
            Err(cause) => return member.unknown(cause),
        };
        member.patch = Some(patch.clone());
        member.state_key = Some(key);
        let passed = entry.is_some_and(|it| it.passed_for(key));
        let left =
            entry.is_some_and(|it| it.left) || self.later_attempted(object, name, &slot.member, ledger);
        let vain = passed && entry.is_some_and(|it| it.vain) && member.found == Found::Absent;
        // A baseline was never run: it is not a state to be in.
        let baseline = passed && entry.is_some_and(|it| it.attempt == 0) && !mutant!(BaselineIsAState);
        if vain || baseline || (passed && left && !mutant!(PassedStatesNeedShape)) {
            member.settled = Truth::True;
            member.ready = Truth::True;
            member.by_memory = true;
            return member;
        }
        self.state_of_object(name, node, slot, &patch, &mut member, &edges, each);
        if entry.is_some_and(|it| it.attempted_for(key) && it.end.is_none())
            && member.ready == Truth::True
            && let Some(next) = self.record().entries.get_mut(slot)
        {
            next.end = Some(End::Passed);
        }
        if !passed && !mutant!(OpenBeforeRecorded) {
            // Its edges open when its being passed is on record, not when it was merely observed.
            if member.ready == Truth::True {
                member.causes.push(Cause::Pending("its being passed is being recorded".to_owned()));
            }
            member.settled = member.settled.and(Truth::False);
            member.ready = Truth::False;
        }
        // What it waits for says more than that it has not come yet.
        member.causes.splice(0..0, edges.causes);
        member
    }

    /// Whether the object stands in this state: its patch is applied and caught up, and it has its shape.
    #[expect(clippy::too_many_arguments, reason = "a state, its object and its edges")]
    fn state_of_object(
        &mut self,
        name: &str,
        node: &Node,
        slot: &Slot,
        patch: &Data,
        member: &mut Member,
        edges: &Edges,
        each: Option<&Value>,
    ) {
        let Some(Item { live, claim, .. }) = self.ours(member.key.as_ref()).cloned() else {
            member.causes.push(Cause::Pending("its object is not there".to_owned()));
            return;
        };
        let applied = claim.state.as_deref() == Some(name)
            && claim.member == slot.member
            && claim.patch == Some(self.facts.digest(patch.value()))
            && live.unkept(&self.manager, patch.value(), self.facts.secret()).is_subset(&claim.unkept);
        if !applied || live.terminating || !matches!(member.found, Found::Present(_)) {
            member.causes.push(Cause::Pending("its object is not in this state".to_owned()));
            return;
        }
        if let Some(cause) = self.behind(&live, node) {
            member.causes.push(cause);
            return;
        }
        member.settled = Truth::True;
        self.health(node, member, edges, each);
    }

    /// The key of a state or a once as a digest; none where it is null: not due. Unknown keeps the last key.
    pub(super) fn key(
        &mut self,
        slot: &Slot,
        node: &Node,
        edges: &Edges,
        each: Option<&Value>,
        rendered: Option<&Data>,
    ) -> Result<Option<Digest>, Cause> {
        let Some(function) = &node.key else {
            let rendered = rendered.map_or(&Value::Null, Data::value);
            return Ok(Some(self.facts.digest(rendered.get("spec").unwrap_or(rendered))));
        };
        let answer = match self.the(function, edges, each, None) {
            Err(cause) => Asked::Unknown(cause.to_string()),
            Ok(the) => self.ask(function, Form::Whole, &the),
        };
        match answer {
            Asked::Value(value) if value.value().is_null() => Ok(None),
            Asked::Value(value) => Ok(Some(self.facts.digest(value.value()))),
            Asked::Error(text) => Err(Cause::stalled(reason::ERROR, format!("its key: {text}"))),
            Asked::Unknown(text) => {
                let last = self.ledger().and_then(|it| it.entries.get(slot)).map(|it| it.key);
                match last {
                    Some(key) if !mutant!(UnknownKeyIsNew) => Ok(Some(key)),
                    Some(_) => Ok(Some(self.facts.digest(&Value::Null))),
                    None => Err(Cause::Unknown(format!("its key: {text}"))),
                }
            }
        }
    }

    /// Whether a later state of the same object was attempted since.
    fn later_attempted(
        &self,
        object: &str,
        name: &str,
        member: &str,
        ledger: &crate::ledger::Ledger,
    ) -> bool {
        let states = self.program.states.get(object).map(Vec::as_slice).unwrap_or_default();
        let later = states.iter().skip_while(|it| *it != name).skip(1);
        later.into_iter().any(|it| {
            ledger.entries.get(&Slot::new(it, member)).is_some_and(|entry| !entry.due && entry.attempt > 0)
        })
    }

    /// Records an attempt: what comes later in its chain is due again.
    pub(super) fn attempt(&mut self, slot: &Slot, key: Digest, retries: u32) {
        let attempt = self.next_ledger().entries.get(slot).map_or(0, |it| it.attempt) + 1;
        self.record().entries.insert(slot.clone(), Entry::begun(key, attempt, retries));
        if mutant!(AttemptForgetsLater) {
            return;
        }
        self.leave_states(slot);
        let later: Vec<String> = self.program.later(&slot.node).map(str::to_owned).collect();
        for (other, entry) in &mut self.record().entries {
            let same_chain = other.member == slot.member || other.member.is_empty() || slot.member.is_empty();
            if same_chain && later.contains(&other.node) {
                entry.due = true;
            }
        }
    }

    /// An attempt brings an object back to the states that it comes after, and to no other: those that were left stay so.
    fn leave_states(&mut self, slot: &Slot) {
        let program = self.program;
        let ledger = self.next_ledger().clone();
        let comes_after = |one: &str, other: &str| program.later(other).any(|it| it == one);
        for (object, states) in &program.states {
            for state in states.iter().filter(|it| *it != object && **it != slot.node) {
                if comes_after(&slot.node, state) || comes_after(state, &slot.node) {
                    continue;
                }
                for (at, entry) in ledger.entries.iter().filter(|(at, _)| at.node == *state) {
                    let passed = entry.end == Some(End::Passed) && !entry.due && !entry.left;
                    if passed
                        && self.later_attempted(object, state, &at.member, &ledger)
                        && !mutant!(AnyAttemptReturns)
                        && let Some(entry) = self.record().entries.get_mut(at)
                    {
                        entry.left = true;
                    }
                }
            }
        }
    }

    /// The step of an object that has states: which one it shall be in, and one write towards it.
    #[expect(clippy::too_many_arguments, reason = "the object, its edges, and what is known of it so far")]
    pub(super) fn object_with_states(
        &mut self,
        slot: &Slot,
        node: &Node,
        edges: &Edges,
        each: Option<&Value>,
        need: Truth,
        identity: Result<ObjectKey, Cause>,
        mut member: Member,
        frozen: bool,
    ) -> Member {
        let Body::Template(template) = &node.body else { return member };
        let Some(ledger) = self.ledger() else {
            return member.unknown(Cause::Pending("the ledger is being written".to_owned()));
        };
        let target = match self.target(slot, ledger, member.open, frozen, &member) {
            Target::Plain => Some((slot.node.clone(), None, member.open)),
            Target::State(name, patch, open) => Some((name, patch, open)),
            Target::Hold => None,
            Target::Unknown(cause) => return member.unknown(cause),
        };
        let claimed = self
            .ours(member.key.as_ref())
            .map(|it| it.claim.state.clone().unwrap_or_else(|| slot.node.clone()));
        let (name, patch, open) = match target {
            Some(target) => target,
            // Nothing is passed for the current keys: it is held in the state it is in.
            None => {
                let Some(name) = claimed else {
                    member.causes.extend(edges.causes.iter().cloned());
                    member.causes.push(Cause::Pending("its first state has not begun".to_owned()));
                    return member;
                };
                let patch = self.patch_of(&name, slot);
                (name, patch, Truth::False)
            }
        };
        let last = name == slot.node;
        let own = self.own(&member);
        let patch = if last { None } else { patch.map(|it| (name.clone(), it)) };
        if !last && patch.is_none() {
            member.causes.push(Cause::Pending(format!("it is held in the state {name}")));
            return member;
        }
        let opened = member.open;
        member.open = open;
        match self.desired(slot, node, &template.function, edges, each, identity, &own, patch) {
            Err(cause) => {
                self.pass_in_vain(slot, ledger, &member);
                member = member.unknown(cause);
                member.causes.splice(0..0, edges.causes.iter().cloned());
            }
            Ok(desired) => {
                let holds = if last { edges.causes.clone() } else { Vec::new() };
                self.converge(slot, node, &desired, need, &mut member, &holds);
            }
        }
        member.open = opened;
        if last {
            self.finish_member(node, &mut member, edges, each, frozen);
        } else {
            // In an earlier state it is not what its own successors wait for.
            let settled = frozen && matches!(member.found, Found::Present(_));
            member.settled = settled.into();
            member.ready = Truth::False;
            if settled {
                self.finish_member(node, &mut member, edges, each, frozen);
            }
            member.causes.extend(edges.causes.iter().cloned());
            member.causes.push(Cause::Pending(format!("it is in the state {name}")));
        }
        member
    }

    fn patch_of(&self, name: &str, slot: &Slot) -> Option<Data> {
        self.earlier(name)?.members.get(&slot.member)?.patch.clone()
    }

    /// Which state the object shall be in now.
    fn target(
        &mut self,
        slot: &Slot,
        ledger: &crate::ledger::Ledger,
        open: Truth,
        frozen: bool,
        member: &Member,
    ) -> Target {
        let program = self.program;
        let names = program.states.get(&slot.node).cloned().unwrap_or_default();
        let last_key = self.facts.digest(&Value::Bool(true));
        let mut furthest = Target::Hold;
        let mut plain = true;
        for name in names {
            let at = Slot::new(&name, &slot.member);
            let last = name == slot.node;
            if frozen && (last || !self.of_deletion(&name)) {
                continue;
            }
            let (key, patch, may) = if last {
                (last_key, None, open)
            } else {
                match self.earlier(&name).map(|view| (view.need, view.members.get(&slot.member))) {
                    None | Some((Truth::False, _)) => continue,
                    Some((Truth::Unknown, _)) => {
                        return Target::Unknown(Cause::Unknown(format!(
                            "whether {name} is needed is not known"
                        )));
                    }
                    Some((Truth::True, state)) => match state
                        .map(|it| (it.state_key, it.patch.clone(), it.open))
                    {
                        Some((Some(key), patch, may)) => (key, patch, may),
                        Some((None, _, _)) if state.is_some_and(|it| it.by_memory) => continue,
                        _ => {
                            return Target::Unknown(Cause::Unknown(format!("the state {name} is not known")));
                        }
                    },
                }
            };
            if last && plain && !ledger.entries.contains_key(&at) {
                return if frozen { Target::Hold } else { Target::Plain };
            }
            plain = false;
            let entry = ledger.entries.get(&at);
            if let Some(entry) = entry.filter(|it| it.passed_for(key) && !last) {
                if (entry.attempt == 0 && !mutant!(BaselineIsAState)) || entry.left {
                    continue;
                }
                furthest = Target::State(name, patch, may);
                continue;
            }
            if entry.is_some_and(|it| it.attempted_for(key)) {
                return Target::State(name, patch, may);
            }
            let baseline =
                !last && entry.is_none() && program.node(&name).is_some_and(|it| it.first == First::Skip);
            if baseline {
                self.record().entries.insert(at, Entry::baseline(key));
                return furthest;
            }
            if may == Truth::True {
                if !last && matches!(member.found, Found::Unknown(_)) {
                    return furthest;
                }
                self.attempt(&at, key, 0);
                if mutant!(StateBeforeRecord) {
                    return Target::State(name, patch, may);
                }
            }
            return furthest;
        }
        if plain && !frozen { Target::Plain } else { furthest }
    }

    /// An object that never was, and cannot be rendered because something that comes only after the state is taken
    /// from there: there is nothing to bring into that state, and it counts as passed.
    fn pass_in_vain(&mut self, slot: &Slot, ledger: &crate::ledger::Ledger, member: &Member) {
        let never = !ledger.entries.contains_key(slot);
        let open = !self.asked.open.is_empty();
        if !never || open || member.found != Found::Absent {
            return;
        }
        let program = self.program;
        let Some(node) = program.node(&slot.node) else { return };
        for name in program.states.get(&slot.node).into_iter().flatten().filter(|it| **it != slot.node) {
            let at = Slot::new(name, &slot.member);
            let attempted = ledger.entries.get(&at).is_some_and(|it| it.end.is_none() && !it.due);
            let taken_later = node.before.iter().any(|(precursor, edge)| {
                let comes_later = program.after.get(name).is_some_and(|it| it.contains(precursor));
                let absent = self
                    .earlier_found(precursor)
                    .is_some_and(|view| view.members.values().all(|it| it.found == Found::Absent));
                edge.extract.is_some() && comes_later && absent
            });
            if attempted
                && taken_later
                && let Some(entry) = self.record().entries.get_mut(&at)
            {
                entry.end = Some(End::Passed);
                entry.vain = true;
            }
        }
    }
}

enum Target {
    /// No state counts: an object like any other.
    Plain,
    /// This state, its patch, and whether something new may be applied in it.
    State(String, Option<Data>, Truth),
    /// Nothing is passed for the current keys.
    Hold,
    Unknown(Cause),
}

/// A state without a key: nothing has to be done for it.
fn not_due(mut member: Member) -> Member {
    member.settled = Truth::True;
    member.ready = Truth::True;
    member.by_memory = true;
    member
}
