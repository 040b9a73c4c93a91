//! One turn of an instance: decide, show what has to be seen, have asked what has to be asked, act.

use pemdas_core::{
    action::Action,
    decide::{Decision, Mode},
    evaluate::MAX_BATCHES,
};

use super::{Hub, InstanceId, instances::Standing, past::revision_of, runway::Permit};
use crate::metrics::Outcome;
use pemdas_core::world::{Fact, Sight, World};

/// When to try again if the evaluator takes no more questions, in milliseconds.
const LATER: u64 = 100;

impl Hub {
    pub(super) fn turn(&mut self, id: InstanceId) {
        let now = self.clock.now();
        let Some(instance) = self.instances.get_mut(id) else { return };
        if instance.evaluating {
            return; // its answers bring it back
        }
        instance.world.learn(Fact::Now(now));
        if self.waits_for_the_past(id) || !self.is_seated(id) || self.waits_to_begin(id) {
            self.leaves_its_place(id);
            return; // what is missing brings it back
        }
        for _ in 0..MAX_BATCHES {
            let Some(instance) = self.instances.get_mut(id) else { return };
            let running = revision_of(&self.blueprints, instance);
            let program = running.and_then(|it| it.programs.get(&instance.root)).cloned();
            let decision = instance.memo.decide_shared(program.as_deref(), &instance.world).clone();
            if matches!(decision.mode, Mode::Present | Mode::Deleting) && self.show(id, &decision.interests) {
                continue;
            }
            if self.ask(id, &decision) {
                self.holds_its_place(id);
                return;
            }
            break;
        }
        self.act(id);
    }

    /// Has the open questions of the last decision answered; whether there are any.
    fn ask(&mut self, id: InstanceId, decision: &Decision) -> bool {
        let questions = decision.questions();
        if questions.is_empty() {
            return false;
        }
        let Some(instance) = self.instances.get_mut(id) else { return false };
        let running = revision_of(&self.blueprints, instance);
        let questions = questions.to_vec();
        let count = questions.len();
        if running.is_some_and(|it| it.evaluations.ask(id, questions)) {
            instance.evaluating = true;
            instance.asked += count;
        } else {
            self.timers.insert((self.clock.now() + LATER, id));
        }
        true
    }

    /// Carries out the last decision, which has no open question.
    fn act(&mut self, id: InstanceId) {
        let now = self.clock.now();
        // Held until its writes are sent, which have places of their own.
        let place = self.leaves_its_place(id);
        let Some(instance) = self.instances.get_mut(id) else { return };
        let running = revision_of(&self.blueprints, instance);
        let program = running.and_then(|it| it.programs.get(&instance.root)).cloned();
        let decision = instance.memo.decide_shared(program.as_deref(), &instance.world).clone();
        if self.held_back(id, &decision) {
            return; // its turn in the rollout brings it back
        }
        let permit = self.may_write(id, &decision, place.is_some());
        if permit == Permit::Wait {
            return; // it gets another turn when others have landed
        }
        let Some(instance) = self.instances.get_mut(id) else { return };
        let standing = Standing::of(&decision);
        let wake = decision.wake;
        let actions: Vec<_> = decision.actions.iter().filter(|it| permit.allows(it)).collect();
        let over = decision.mode == Mode::Removing
            && !decision.conditions.reconciling
            && actions.iter().all(|it| matches!(**it, Action::Event(_)))
            && (instance.world.root.live.is_none() || !instance.world.root.selected);
        instance.world.decided(&decision);
        if std::mem::replace(&mut instance.counted, instance.memo.passes()) != instance.memo.passes() {
            // What it used and had not to ask for.
            let asked = std::mem::take(&mut instance.asked);
            self.beside.metrics.remembered(decision.used.len().saturating_sub(asked) as u64);
        }
        instance.judged |= instance.world.kinds.values().all(|it| it.sight != Sight::Unsynced);
        let was = instance.standing.replace(standing);
        let changed = was != Some(standing);
        instance.not_ready_since = match standing {
            Standing::Ready | Standing::Suspended => None,
            _ => instance.not_ready_since.or_else(|| Some(lost_readiness(&instance.world).unwrap_or(now))),
        };
        let blueprint = instance.blueprint.to_string();
        let old_wake = std::mem::replace(&mut instance.wake, wake);
        if old_wake != wake {
            if let Some(at) = old_wake {
                self.timers.remove(&(at, id));
            }
            if let Some(at) = wake.filter(|_| !mutant!(NeverWakes)) {
                self.timers.insert((at, id));
            }
        }
        self.beside.metrics.reconciled(&blueprint, outcome(standing, actions.is_empty()));
        if changed {
            self.beside.metrics.moved(&blueprint, was.map(Standing::counted), Some(standing.counted()));
            self.report_soon();
        }
        self.has_decided(id, changed);
        self.has_sealed(id, &decision);
        self.follow_report(id);
        let idle = actions.is_empty();
        for action in actions {
            self.send(id, action);
        }
        if over {
            self.departs(id);
            self.end(id);
        } else if idle {
            self.rest_soon(id);
        }
    }
}

/// Since when a root says that it is not ready, in milliseconds since 1970: another process may have seen that.
fn lost_readiness(world: &World) -> Option<u64> {
    let conditions = world.root.live.as_ref()?.body.pointer("/status/conditions")?.as_array()?;
    let ready = conditions.iter().find(|it| it["type"] == "Ready" && it["status"] == "False")?;
    let at: jiff::Timestamp = ready["lastTransitionTime"].as_str()?.parse().ok()?;
    u64::try_from(at.as_millisecond()).ok()
}

/// What a turn came to, for those who count.
fn outcome(standing: Standing, idle: bool) -> Outcome {
    match (standing, idle) {
        (Standing::Stalled, _) => Outcome::failed,
        (_, true) => Outcome::unchanged,
        (_, false) => Outcome::acted,
    }
}
