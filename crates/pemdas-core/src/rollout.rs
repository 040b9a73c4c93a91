//! A new revision over the instances of a blueprint: who is next.
//!
//! *The accident*: a mistake in a blueprint, or a new binary whose library renders something else, is in every instance before
//! anybody has looked at one.
//!
//! Like everything that is decided, it is a function of how things are: which instances are at the new revision, and how they
//! are. A process that starts anew goes on where the last one stopped. Instances that are not let through run on at the revision they
//! are at.

use serde_json::Value;

use crate::{
    blueprint::Rollout,
    health::{self, HealthState},
    world::{Live, ObjectKey, Owner, World},
};

/// How an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// Everything that it needs is ready.
    Ready,
    /// It is on its way.
    Reconciling,
    /// A human must look.
    Stalled,
}

/// An instance, as far as a rollout is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name, for people.
    pub name: String,
    /// Whether it is at the new revision. One that was just created begins there.
    pub arrived: bool,
    /// How it is, at the revision that it is at.
    pub health: Health,
    /// Whether it is being deleted: it stays at the revision it is at, and nobody waits for it.
    pub going: bool,
    /// Whether a human said that the rollout goes on without it.
    pub passed_over: bool,
}

/// The kinds that bring a change to their pods one after the other.
const WORKLOADS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

/// How far the workloads of an instance are: ready only if all of their pods are of the last template. What a node
/// calls ready may be less: a Deployment is available while the pods of its last template cannot even start.
#[must_use]
pub fn workloads(world: &World) -> Health {
    let is_workload =
        |key: &ObjectKey| key.kind.group == "apps" && WORKLOADS.contains(&key.kind.kind.as_str());
    let all = world.objects.values().filter(|it| is_workload(&it.key));
    let ours = all.filter(|it| matches!(world.owner(it), Owner::Us(_)));
    // Where only metadata are watched, nothing can be said of it.
    let seen = ours.filter(|it| it.body.get("spec").is_some());
    let health = seen.map(|it| match health::of(&it.body).state {
        HealthState::Current => Health::Ready,
        HealthState::InProgress | HealthState::Terminating => Health::Reconciling,
        HealthState::Failed => Health::Stalled,
    });
    health.max().unwrap_or(Health::Ready)
}

/// How an instance is as its status tells: until this process has looked at it, that is all that is known.
#[must_use]
pub fn told(root: &Live) -> Health {
    let conditions = root.body.pointer("/status/conditions").and_then(Value::as_array);
    let has =
        |name: &str| conditions.into_iter().flatten().any(|it| it["type"] == name && it["status"] == "True");
    match (has("Stalled"), has("Ready")) {
        (true, _) => Health::Stalled,
        (_, true) => Health::Ready,
        _ => Health::Reconciling,
    }
}

/// What to do next, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// Who goes to the new revision now: places in the list.
    pub next: Vec<usize>,
    /// How many are at the new revision and ready.
    pub rolled: usize,
    /// Who is on its way there, those of `next` included.
    pub in_flight: Vec<usize>,
    /// How many wait for their turn.
    pub waiting: usize,
    /// Why nobody is let through now.
    pub paused: Option<String>,
}

impl Step {
    /// Whether everybody is where they should be.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.waiting == 0 && self.in_flight.is_empty()
    }
}

/// Who is next. Those that are ready go first: they say most about the new revision. Those that stall already go last,
/// where no pause protects anybody from what they show.
#[must_use]
pub fn step(rollout: Rollout, revision: &str, members: &[Member]) -> Step {
    let staying = || members.iter().enumerate().filter(|(_, it)| !it.going);
    let arrived = |health: Health| staying().filter(move |(_, it)| it.arrived && it.health == health);
    let mut step = Step {
        rolled: arrived(Health::Ready).count(),
        in_flight: arrived(Health::Reconciling).map(|(at, _)| at).collect(),
        ..Step::default()
    };
    let mut candidates: Vec<_> = staying().filter(|(_, it)| !it.arrived).collect();
    candidates.sort_by(|(_, one), (_, other)| (one.health, &one.name).cmp(&(other.health, &other.name)));
    let well = candidates.iter().any(|(_, it)| it.health != Health::Stalled);
    let stalled = arrived(Health::Stalled).find(|(_, it)| !it.passed_over);
    let stalled = stalled.filter(|_| rollout.pause_on_stalled && well);
    let free =
        usize::try_from(rollout.max_in_flight).unwrap_or(usize::MAX).saturating_sub(step.in_flight.len());
    match stalled {
        Some((_, it)) => {
            step.paused = Some(format!(
                "{} stalls at the new revision; to go on without it, annotate it with pemdas.dev/resume={revision}",
                it.name
            ));
        }
        None => step.next = candidates.iter().take(free).map(|(at, _)| *at).collect(),
    }
    step.waiting = candidates.len() - step.next.len();
    step.in_flight.extend(&step.next);
    step
}

#[cfg(test)]
mod tests {
    use proptest::{
        collection::vec, prelude::any, prop_assert, prop_assert_eq, proptest,
        test_runner::Config as ProptestConfig,
    };

    use serde_json::{Value, json};
    use std::{collections::BTreeSet, sync::Arc};

    use super::{Health, Member, step, told, workloads};
    use crate::{
        blueprint::Rollout,
        digest::Digest,
        world::{CLAIM_ANNOTATION, KindKey, Live, ObjectKey, ROOT_LABEL, World},
    };

    fn member(name: usize, arrived: bool, health: Health) -> Member {
        Member { name: format!("m{name}"), arrived, health, going: false, passed_over: false }
    }

    const TWO: Rollout = Rollout { max_in_flight: 2, pause_on_stalled: true };

    #[test]
    fn no_more_than_allowed_are_in_flight_and_the_ready_go_first() {
        let mut members = vec![
            member(0, false, Health::Stalled),
            member(1, false, Health::Reconciling),
            member(2, false, Health::Ready),
            member(3, false, Health::Ready),
            member(4, true, Health::Reconciling),
        ];
        let now = step(TWO, "r2", &members);
        assert_eq!((now.next.clone(), now.in_flight.clone(), now.waiting), (vec![2], vec![4, 2], 3));
        members[2].going = true;
        assert_eq!(step(TWO, "r2", &members).next, [3], "what goes is left alone");
        members[4].health = Health::Ready;
        let now = step(TWO, "r2", &members);
        assert_eq!((now.next, now.rolled), (vec![3, 1], 1));
    }

    #[test]
    fn one_that_stalls_pauses_until_it_is_mended() {
        let mut members = vec![member(0, true, Health::Stalled), member(1, false, Health::Ready)];
        let now = step(TWO, "r2", &members);
        assert_eq!((now.next, now.waiting), (vec![], 1));
        assert!(now.paused.unwrap().ends_with("annotate it with pemdas.dev/resume=r2"));
        let bold = Rollout { pause_on_stalled: false, ..TWO };
        assert_eq!(step(bold, "r2", &members).next, [1], "unless nobody wants that");
        members[0].passed_over = true;
        assert_eq!(step(TWO, "r2", &members).next, [1], "a human said to go on without it");
        members[0].passed_over = false;
        members[0].health = Health::Ready;
        assert_eq!(step(TWO, "r2", &members).next, [1]);
        members[1].arrived = true;
        assert!(step(TWO, "r2", &members).is_over());
        members[0].health = Health::Stalled;
        assert_eq!(step(TWO, "r2", &members).paused, None, "there is nothing to pause");
    }

    #[test]
    fn one_that_stalls_at_the_old_revision_holds_nobody_up() {
        let mut members = [
            member(0, false, Health::Stalled),
            member(1, false, Health::Ready),
            member(2, false, Health::Stalled),
            member(3, false, Health::Reconciling),
        ];
        assert_eq!(step(TWO, "r2", &members).next, [1, 3]);
        // Those that stall go last; where they go on stalling, nobody else is protected from them.
        (members[1].arrived, members[3].arrived) = (true, true);
        (members[0].arrived, members[3].health) = (true, Health::Ready);
        let now = step(TWO, "r2", &members);
        assert_eq!((now.next, now.paused), (vec![2], None));
    }

    #[test]
    fn what_a_status_says_counts_until_somebody_has_looked() {
        let root = |conditions: Value| {
            let live = object("Deployment", &json!({ "status": { "conditions": conditions } }));
            told(&live)
        };
        let is = |name: &str, status: &str| json!({ "type": name, "status": status });
        assert_eq!(root(json!([is("Ready", "True"), is("Stalled", "False")])), Health::Ready);
        assert_eq!(root(json!([is("Ready", "False"), is("Stalled", "True")])), Health::Stalled);
        assert_eq!(root(json!([is("Ready", "False")])), Health::Reconciling);
        assert_eq!(root(Value::Null), Health::Reconciling);
    }

    /// An object of the instance `u`.
    fn object(kind: &str, more: &Value) -> Live {
        let key = ObjectKey::new(KindKey::new("apps/v1", kind), "n".to_owned(), "a".to_owned());
        let claim = json!({
            "root": { "kind": { "group": "g", "kind": "Web" }, "namespace": "n", "name": "a" },
            "object": "n/a", "node": "web", "revision": "r", "ordinal": 1, "applied": Digest::of(&[], &json!(1)),
        });
        let mut body = json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": {
            "name": "a", "namespace": "n", "generation": 2, "labels": { ROOT_LABEL: "u" },
            "annotations": { CLAIM_ANNOTATION: claim.to_string() },
        } });
        for (field, value) in more.as_object().unwrap() {
            body[field] = value.clone();
        }
        Live {
            key,
            uid: "o".to_owned(),
            resource_version: 1,
            generation: Some(2),
            terminating: false,
            finalizers: BTreeSet::new(),
            managed: crate::packed::Packed::default(),
            body: body.into(),
        }
    }

    #[test]
    fn an_instance_is_rolled_out_when_all_pods_are_of_the_last_template() {
        let web = ObjectKey::new(KindKey::new("g/v1", "Web"), "n".to_owned(), "a".to_owned());
        let with = |kind: &str, more: Value| {
            let mut world = World::new(web.clone(), "u");
            let live = object(kind, &more);
            world.objects.insert(live.key.clone(), Arc::new(live));
            workloads(&world)
        };
        let available = json!([{ "type": "Available", "status": "True" }, { "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated" }]);
        let status = |updated: u64, old: u64| {
            json!({ "spec": { "replicas": 2 }, "status": {
                "observedGeneration": 2, "replicas": updated + old, "updatedReplicas": updated,
                "readyReplicas": 2, "availableReplicas": 2, "conditions": available,
            } })
        };
        // Available throughout, because the old pods are.
        assert_eq!(with("Deployment", status(0, 2)), Health::Reconciling);
        assert_eq!(with("Deployment", status(1, 2)), Health::Reconciling);
        assert_eq!(with("Deployment", status(2, 1)), Health::Reconciling);
        assert_eq!(with("Deployment", status(2, 0)), Health::Ready);
        let late = json!({ "spec": { "replicas": 2 }, "status": { "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2 } });
        assert_eq!(with("Deployment", late), Health::Reconciling);
        let mut failed = status(1, 2);
        failed["status"]["conditions"][1] =
            json!({ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded" });
        assert_eq!(with("Deployment", failed), Health::Stalled);
        // Of others, the nodes say when they are ready; of what is not seen, nothing is known.
        assert_eq!(with("ReplicaSet", status(0, 2)), Health::Ready);
        assert_eq!(with("Deployment", json!({})), Health::Ready);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(pemdas_tier::size(256, 50_000)))]

        /// Whatever becomes of those that are let through, as long as it is not a stall, everybody arrives, and never more than allowed
        /// are on their way.
        #[test]
        fn everybody_arrives(most in 1_u32..5, health in vec(any::<u8>(), 1..30), order in vec(any::<u8>(), 200)) {
            let rollout = Rollout { max_in_flight: most, pause_on_stalled: true };
            let of = |it: u8| [Health::Ready, Health::Reconciling, Health::Stalled][usize::from(it % 3)];
            let mut members: Vec<_> =
                health.iter().enumerate().map(|(at, it)| member(at, false, of(*it))).collect();
            for pick in order {
                let now = step(rollout, "r2", &members);
                prop_assert!(now.in_flight.len() <= most as usize);
                prop_assert_eq!(now.rolled + now.in_flight.len() + now.waiting, members.len());
                for at in &now.next {
                    members[*at].arrived = true;
                    members[*at].health = Health::Reconciling;
                }
                if let Some(done) = now.in_flight.get(usize::from(pick) % now.in_flight.len().max(1)) {
                    members[*done].health = Health::Ready;
                }
            }
            let now = step(rollout, "r2", &members);
            prop_assert!(now.is_over(), "{now:?}");
        }
    }
}
