//! What goes: renamed and replaced objects, deletions, roots that are gone.

use serde_json::json;
use std::{rc::Rc, sync::Arc};

use super::{at_rest, clean, delete_root, rounds, stalled, there, v};
use crate::action::Action;
use crate::blueprint::{OnDelete, Replace};
use crate::decide::decide;
use crate::explore::lab::{Lab, key};
use crate::explore::sim::Sim;
use crate::explore::zoo::{chain, diamond, drain, job, loose, renamed, replaced};
use crate::world::{Fact, Finalizers, Lease};

pub(super) fn a_renamed_node_keeps_its_object() {
    let mut sim = at_rest(&[chain(), renamed()], json!({ "v": 1 }));
    let uid = sim.live(&key("Thing", "a-b")).unwrap().uid.clone();
    sim.program = Some(1);
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    clean(&sim);
    assert_eq!(sim.live(&key("Thing", "a-b")).unwrap().uid, uid);
    assert!(sim.deleted.is_empty());
    let one = Lab::new().template("x", "Thing", &[]).also("app", "x");
    let mut other = one.clone();
    let node = other.blueprint.nodes.remove("x").unwrap();
    other.blueprint.nodes.insert("y".to_owned(), node);
    other.node("app").also.clear();
    let mut sim = at_rest(&[one, other.also("app", "y")], json!({ "v": 1 }));
    sim.watcher = Some(Rc::new(|_, action| {
        matches!(action, Action::Delete { .. }).then(|| "a renamed node's object is to be deleted".to_owned())
    }));
    sim.program = Some(1);
    assert!(sim.settle() && sim.is_ready());
    clean(&sim);
}

pub(super) fn an_attempt_makes_what_comes_later_due() {
    let lab = drain().template("job", "Job", &[]).once("job").keyed("job", "root.metadata.name");
    let lab = lab.orders("job", "drained").orders("serving", "job").also("app", "job");
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    assert_eq!(sim.entry("job").unwrap().attempt, 1);
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(sim.entry("job").unwrap().attempt, 2, "it was drained again, and the job did not run again");
}

pub(super) fn a_replacement_is_ready_before_the_old_goes() {
    let mut sim = at_rest(&[replaced()], json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a-2"));
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-a-1") && there(&sim, "Thing", "a-a-2"));
    sim.asleep.clear();
    sim.asleep.push(key("Thing", "a-b"));
    sim.settle();
    assert!(there(&sim, "Thing", "a-a-1"), "b is not settled without it");
    assert!(!sim.is_ready());
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready() && !there(&sim, "Thing", "a-a-1"));
    clean(&sim);
    let alone = Lab::new().template("a", "Thing", &[]).named_by("a", "root.spec.v").also("app", "a");
    let mut sim = at_rest(&[alone], json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a-2"));
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-a-1"), "a gap");
}

pub(super) fn a_one_off_that_ended_uses_nothing() {
    let mut sim = at_rest(&[job().named_by("before", "root.spec.v")], json!({ "v": 1 }));
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.decision);
    assert!(!there(&sim, "Thing", "a-before-1"), "nobody uses it any more");
    clean(&sim);
}

pub(super) fn with_before_the_old_goes_first() {
    let lab = Lab::new().template("a", "Thing", &[]).named_by("a", "root.spec.v").also("app", "a");
    let lab = lab.with("a", |it| it.replace = Replace::Before);
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    sim.watcher = Some(Rc::new(|sim, action| {
        let creates = matches!(action, Action::Create { .. });
        (creates && there(sim, "Thing", "a-a-1")).then(|| "created while the old one is there".to_owned())
    }));
    sim.set_spec(&json!({ "v": 2 }));
    for _ in 0..20 {
        rounds(&mut sim, 1);
        sim.control_all();
        assert!(!(there(&sim, "Thing", "a-a-1") && there(&sim, "Thing", "a-a-2")), "both at once");
    }
    assert!(sim.settle() && sim.is_ready());
}

/// An object that one instance makes and that is the root of another: the other one's finalizer is not ours to take off.
pub(super) fn what_holds_the_root_of_another_stays_on() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let held = key("Thing", "a-b");
    let mut live = (**sim.live(&held).unwrap()).clone();
    let theirs = Finalizers::of("another").removal;
    live.finalizers.insert(theirs.clone());
    sim.cluster.store(live);
    delete_root(&mut sim);
    sim.settle();
    let left = sim.live(&held).expect("it is held");
    assert!(left.terminating && left.finalizers.contains(&theirs));
    assert!(sim.root().is_some() && there(&sim, "Thing", "a-a"), "what it came after waits for its end");
    let mut live = (**left).clone();
    live.finalizers.clear();
    sim.cluster.store(live);
    sim.settle();
    assert!(sim.root().is_none() && !there(&sim, "Thing", "a-a"));
    clean(&sim);
}

/// Two blueprints may have the same root: the one that has ended does not let it go for both.
pub(super) fn what_holds_a_root_for_another_blueprint_stays_on() {
    let ours = Finalizers::of("u.0123456789ab");
    assert_ne!(ours, Finalizers::of("u.ba9876543210"));
    let theirs = Finalizers::of("u.ba9876543210");
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let mut live = (**sim.root().unwrap()).clone();
    live.finalizers.extend([theirs.removal.clone(), theirs.deletion.clone()]);
    sim.cluster.store(live);
    delete_root(&mut sim);
    sim.settle();
    let left = sim.root().expect("it is held");
    assert!(!there(&sim, "Thing", "a-a") && !there(&sim, "Thing", "a-b"), "what we made is gone");
    assert_eq!(left.finalizers, [theirs.deletion, theirs.removal].into());
    clean(&sim);
}

pub(super) fn the_finalizer_comes_first() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.watcher = Some(Rc::new(|sim, action| {
        let ours = sim.world.root.finalizers();
        let finalized = sim.root().is_some_and(|it| it.finalizers.contains(&ours.removal));
        (matches!(action, Action::Create { .. }) && !finalized)
            .then(|| "created before the finalizer".to_owned())
    }));
    sim.settle();
    clean(&sim);
}

fn with_deletion() -> Lab {
    drain().template("final", "Thing", &["serving"]).deleting("final")
}

pub(super) fn the_nodes_of_the_deletion_run_first() {
    let mut sim = at_rest(&[with_deletion()], json!({ "v": 1 }));
    assert!(!there(&sim, "Thing", "a-final"));
    sim.asleep.push(key("Thing", "a-final"));
    delete_root(&mut sim);
    sim.settle();
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-final") && there(&sim, "Server", "a-serving"));
    assert_eq!(v(&sim, "Thing", "a-migrated"), 1, "what is frozen does not change");
    sim.asleep.clear();
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty() && sim.cluster.ledger.is_none());
    clean(&sim);
}

pub(super) fn a_late_answer_brings_no_root_back() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let mut last = (**sim.root().unwrap()).clone();
    delete_root(&mut sim);
    assert!(sim.settle() && sim.root().is_none(), "{:?}", sim.decision);
    last.terminating = true;
    last.finalizers.clear();
    sim.world.learn(Fact::Root(Arc::new(last)));
    assert!(sim.world.root.live.is_none());
}

pub(super) fn a_deletion_without_order_ends() {
    let lab = Lab::new().template("a", "Thing", &[]).also("app", "a").template("final", "Thing", &[]);
    let mut sim = at_rest(&[lab.deleting("final")], json!({ "v": 1 }));
    delete_root(&mut sim);
    assert!(sim.settle() && sim.root().is_none(), "{:?}", sim.decision);
    clean(&sim);
}

pub(super) fn a_deletion_does_not_wait_for_conditions_that_are_not_its_own() {
    let lab = Lab::new().template("slow", "Thing", &[]).also("app", "slow").template("note", "Thing", &[]);
    let lab = lab.also_if("app", "note", "on").asked_after("app", "note", "slow");
    let lab = lab.template("final", "Thing", &[]).deleting("final");
    let mut sim = Sim::new(&[lab], &json!({ "on": true }));
    sim.asleep.push(key("Thing", "a-slow"));
    sim.settle();
    delete_root(&mut sim);
    assert!(sim.settle() && sim.root().is_none(), "{:?}", sim.waits());
    clean(&sim);
}

pub(super) fn a_broken_blueprint_blocks_no_removal_and_skips_nothing() {
    let mut sim = at_rest(&[with_deletion()], json!({ "v": 1 }));
    sim.program = None;
    delete_root(&mut sim);
    sim.settle();
    assert!(there(&sim, "Server", "a-serving") && stalled(&sim, "DeletionBlocked"), "{:?}", sim.stalled());
    sim.annotate("skip-deletion", "yes");
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty());
    let mut sim = at_rest(&[diamond()], json!({ "v": 1 }));
    sim.program = None;
    delete_root(&mut sim);
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty());
    clean(&sim);
}

pub(super) fn a_terminating_namespace_ends() {
    let mut sim = at_rest(&[with_deletion()], json!({ "v": 1 }));
    sim.cluster.namespace_ending = true;
    delete_root(&mut sim);
    sim.deliver_all();
    let warned = sim.decide().actions.iter().any(|it| matches!(it, Action::Event(event) if event.warning));
    sim.settle();
    assert!(warned && sim.root().is_none() && sim.claimed().is_empty());
    assert!(!there(&sim, "Thing", "a-final"));
}

pub(super) fn what_is_to_stay_stays() {
    let lab = chain().with("c", |it| it.on_delete = OnDelete::Orphan);
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    delete_root(&mut sim);
    sim.settle();
    assert!(there(&sim, "Note", "a-c") && sim.claimed().is_empty() && sim.root().is_none());
}

pub(super) fn what_the_garbage_collector_takes_is_left_to_it() {
    let lab = Lab::new().template("a", "Thing", &[]).template("b", "Note", &[]);
    let mut sim = at_rest(&[lab.also("app", "a").also("app", "b")], json!({ "v": 1 }));
    delete_root(&mut sim);
    at_once(&mut sim);
    assert!(sim.root().is_none() && there(&sim, "Thing", "a-a"), "nobody collects garbage in this world");
    assert!(sim.deleted.is_empty(), "{:?}", sim.deleted);
    // As long as it takes where there is one. Then somebody else has to.
    sim.settle();
    assert!(sim.claimed().is_empty());
}

/// What happens while no time passes.
fn at_once(sim: &mut Sim) {
    (0..10).for_each(|_| sim.round());
}

/// What the edges say nothing about needs neither finalizer nor waiting, and is made in order all the same.
pub(super) fn edges_may_leave_the_removal_open() {
    let mut sim = Sim::new(&[loose()], &json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a"));
    sim.settle();
    assert!(!there(&sim, "Thing", "a-b"), "b comes after a");
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready() && sim.root().unwrap().finalizers.is_empty());
    delete_root(&mut sim);
    at_once(&mut sim);
    assert!(sim.root().is_none() && sim.deleted.is_empty(), "it is left to the garbage collector");
    clean(&sim);
    let mut sim = at_rest(&[loose().named_by("a", "root.spec.v")], json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-b"));
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(!there(&sim, "Thing", "a-a-1") && there(&sim, "Thing", "a-a-2"), "b does not hold it");
    clean(&sim);
}

/// A revision may take the order away or bring it: what there is follows, and goes as the last one says.
pub(super) fn an_order_of_removal_may_come_and_go() {
    let ordered = |sim: &Sim| {
        let held = !sim.root().unwrap().finalizers.is_empty();
        let owned =
            sim.claimed().iter().all(|(_, live, _)| live.body["metadata"]["ownerReferences"].is_array());
        (held, !owned)
    };
    let mut sim = at_rest(&[loose(), chain()], json!({ "v": 1 }));
    assert_eq!(ordered(&sim), (false, false));
    sim.program = Some(1);
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(ordered(&sim), (true, true));
    delete_root(&mut sim);
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty());
    assert_eq!(sim.deleted.len(), 3, "in its order: {:?}", sim.deleted);
    clean(&sim);
    let mut sim = at_rest(&[chain(), loose()], json!({ "v": 1 }));
    sim.program = Some(1);
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    // The finalizer stays: to take it off would be one more write, and whoever deletes the root does it.
    assert_eq!(ordered(&sim), (true, false));
    delete_root(&mut sim);
    at_once(&mut sim);
    assert!(
        sim.root().is_none() && sim.deleted.is_empty(),
        "the garbage collector has them: {:?}",
        sim.deleted
    );
    clean(&sim);
}

pub(super) fn a_root_deleted_without_its_objects_leaves_them() {
    let lab = chain().template("job", "Job", &[]).once("job").also("app", "job");
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    let root = sim.cluster.root.clone();
    let mut live = (**sim.root().unwrap()).clone();
    live.finalizers.insert("orphan".to_owned());
    sim.cluster.store(live);
    sim.cluster.delete(&root);
    sim.deliver_all();
    let mut live = (**sim.root().unwrap()).clone();
    live.finalizers.remove("orphan");
    sim.cluster.store(live);
    sim.settle();
    assert!(sim.root().is_none(), "{:?}", sim.root());
    assert!(there(&sim, "Thing", "a-a") && there(&sim, "Thing", "a-b") && there(&sim, "Note", "a-c"));
    assert!(sim.cluster.objects.values().all(|it| it.finalizers.is_empty()), "nothing of ours holds them");
}

pub(super) fn objects_of_a_root_that_was_not_seen_going_are_left() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    sim.crash();
    sim.relist();
    sim.world.root.live = None;
    sim.world.root.seen_going = false;
    let decision = decide(sim.program(), &sim.world);
    assert!(decision.actions.is_empty() && decision.conditions.stalled[0].contains("RootMissing"));
    sim.world.root.seen_going = true;
    assert!(!decide(sim.program(), &sim.world).actions.is_empty());
}

pub(super) fn a_list_of_an_earlier_lease_does_not_count() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.round();
    sim.world.lease = Lease { held: true, epoch: 2 };
    let actions = sim.decide().actions.clone();
    assert!(!actions.iter().any(|it| it.written().is_some()), "{actions:?}");
    sim.world.lease.held = false;
    assert!(sim.decide().actions.is_empty());
}
