//! The properties, each of any blueprint: of those made by hand or by chance here, and of the repository's examples.
//!
//! What may never happen is watched in every one of them ([`super::eyes`]): order, use, claims, the age of a view, gaps,
//! attempts side by side, the truth of `Ready`, and that the decision from what changed is the one from everything.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    brake::a_brake_stops_every_write_and_nothing_is_lost_by_it,
    history::the_end_is_a_function_of_the_objects,
    loss::a_ledger_that_is_lost_is_not_taken_for_an_empty_one,
    rename,
    rotation::a_new_key_replaces_an_older_one,
    sim::{Fault, Sim},
    subject::Subject,
    tenant::{a_forged_ledger_is_not_believed, what_another_tenant_forges_moves_nothing},
    walk::{Faults, at_every_step, explore},
};
use crate::{
    action::Action,
    blueprint::{Body, Conflict},
    decide::{Cause, Mode, decide},
    ledger::Slot,
    world::{CLAIM_ANNOTATION, Fact, OUR_PREFIX, ObjectKey, ROOT_LABEL, Refusal, Sight, without},
};

/// A property of a subject; the number says how hard it is tried.
pub type Law = fn(&Subject, u64);

/// Calls a macro with the names of all properties: for one test each, here and in other packages.
#[macro_export]
macro_rules! each_law {
    ($with:ident) => {
        $with! {
            the_world_settles_as_if_nothing_had_happened,
            a_deletion_at_any_moment_leaves_no_trace,
            nothing_acts_once_ready,
            depth_takes_as_many_rounds,
            no_edge_is_violated_not_even_after_a_late_write,
            nothing_acts_on_a_view_older_than_its_own_write,
            the_order_of_facts_does_not_matter,
            what_is_not_claimed_is_never_written,
            nothing_in_use_is_removed,
            a_renamed_node_keeps_its_object,
            a_replacement_leaves_no_gap,
            reverting_at_every_step_changes_nothing,
            flapping_at_every_step_drains_and_deletes_nothing,
            what_cannot_be_seen_deletes_nothing,
            each_attempt_completes_at_most_once,
            a_blueprint_that_breaks_at_any_step_blocks_no_removal,
            nodes_of_a_deletion_block_until_skipped,
            a_terminating_namespace_ends,
            withdrawn_permissions_leak_nothing,
            a_ledger_that_is_lost_is_not_taken_for_an_empty_one,
            a_forged_ledger_is_not_believed,
            what_another_tenant_forges_moves_nothing,
            a_new_key_replaces_an_older_one,
            a_brake_stops_every_write_and_nothing_is_lost_by_it,
            a_contended_field_ends_stalled,
            what_comes_back_is_deleted_with_a_pause,
            the_end_is_a_function_of_the_objects,
            objects_of_a_dead_root_are_left_and_taken_over_when_told,
            ready_is_never_said_too_early,
        }
    };
}

macro_rules! list {
    ($($name:ident,)*) => {
        /// Every property, by name.
        pub const LAWS: &[(&str, Law)] = &[$((stringify!($name), $name),)*];
    };
}
each_law!(list);

/// In the end it is ready, and as if nothing had ever gone wrong.
pub(super) fn as_if_nothing_happened(subject: &Subject) -> impl Fn(&mut Sim) -> Option<String> + use<> {
    let subject = subject.clone();
    move |sim| {
        // As its author wrote it: what Pemdas noted on it is of an instance that is there.
        let mut root = Value::clone(&sim.root()?.body);
        without(&mut root, &["metadata", "annotations", &sim.world.root.memory()].map(str::to_owned));
        let mut fresh = subject.start_at(sim.program?, &root);
        fresh.settle();
        if !sim.is_ready() {
            return Some(format!("it is not ready: {:?} {:#?}", sim.stalled(), sim.waits()));
        }
        let (is, wants) = (sim.result(), fresh.result());
        if is != wants {
            return Some(format!("the end differs:\n is    {is:?}\n wants {wants:?}"));
        }
        let moved = sim.cluster.version;
        sim.round();
        sim.round();
        (moved != sim.cluster.version).then(|| "it acts although it is ready".to_owned())
    }
}

/// Gone without a trace; what is to stay is nobody's, and what the garbage collector takes is left to it.
pub(super) fn gone(sim: &mut Sim) -> Option<String> {
    let root = sim.cluster.root.clone();
    sim.cluster.delete(&root);
    if !sim.settle() {
        return Some("the deletion does not come to rest".to_owned());
    }
    let left = sim.claimed().into_iter().filter(|(_, _, it)| !it.owned);
    let left: Vec<_> = left.map(|(key, _, _)| key.to_string()).collect();
    if sim.root().is_some() || !left.is_empty() || sim.cluster.ledger.is_some() {
        let (root, ledger) = (sim.root().is_some(), sim.cluster.ledger.is_some());
        let stalled = sim.stalled();
        return Some(format!("left behind: {left:?}, root {root}, ledger {ledger}, {stalled:?}"));
    }
    None
}

pub(super) fn both(subject: &Subject) -> impl Fn(&mut Sim) -> Option<String> + use<> {
    let first = as_if_nothing_happened(subject);
    move |sim| first(sim).or_else(|| gone(sim))
}

/// Settles in the same end state after any faults that end, and can then be deleted without a trace.
pub(super) fn the_world_settles_as_if_nothing_had_happened(subject: &Subject, walks: u64) {
    explore("settles", subject, Faults::ALL, (walks, 90), |_| {}, &both(subject));
}

/// The root is deleted at any moment, with faults before and after.
pub(super) fn a_deletion_at_any_moment_leaves_no_trace(subject: &Subject, walks: u64) {
    // A deletion's own nodes run at the revision and on the objects that there are.
    let faults = Faults { deletion: true, hands: !subject.has_deletion(), ..Faults::ALL };
    explore("deletion", subject, faults, (walks, 80), |_| {}, &|sim: &mut Sim| gone_or_asked(sim));
}

/// Gone without a trace, at the latest when a human lets it. What a deletion needs may be gone, or was never there: then it
/// waits for a human, and says so.
pub(super) fn gone_or_asked(sim: &mut Sim) -> Option<String> {
    gone(sim).and_then(|told| {
        let asked = sim.stalled().iter().any(|it| it.contains("DeletionBlocked"));
        sim.annotate("skip-deletion", "yes");
        if asked { gone(sim) } else { Some(told) }
    })
}

/// Such an instance has no actions, whatever repeats itself around it.
pub(super) fn nothing_acts_once_ready(subject: &Subject, walks: u64) {
    explore("quiet", subject, Faults { specs: 1, ..Faults::NONE }, (walks.min(2), 120), |_| {}, &|sim| {
        if !sim.is_ready() {
            return Some(format!("it is not ready: {:?} {:#?}", sim.stalled(), sim.waits()));
        }
        let version = sim.cluster.version;
        for round in 0..6 {
            sim.relist();
            sim.world.learn(Fact::Now(sim.world.now + 100_000));
            if round == 3 {
                sim.crash();
                sim.relist();
            }
            let moves = sim.decide().actions.iter().any(|it| !matches!(it, Action::Event(_)));
            if moves || !sim.is_ready() {
                return Some(format!("it acts although it is ready: {:?}", sim.decision));
            }
        }
        (version != sim.cluster.version).then(|| "the cluster moved".to_owned())
    });
}

/// A graph of depth D needs D rounds: what comes after nothing is there in the first, and so on.
pub(super) fn depth_takes_as_many_rounds(subject: &Subject, _: u64) {
    let program = &subject.programs[0].0;
    let mut layer = std::collections::BTreeMap::new();
    let mut asked = std::collections::BTreeMap::new();
    for step in &program.steps {
        let of = |it: &String| layer.get(it).copied().unwrap_or(0);
        let name = match step {
            crate::graph::Vertex::Node(name) => name,
            crate::graph::Vertex::Condition { from, to, deleting } => {
                let reads =
                    program.condition(from, to, *deleting).into_iter().flat_map(|it| it.before.keys());
                let known = asked.entry(to.clone()).or_insert(0);
                *known = reads.map(of).max().unwrap_or(0).max(*known);
                continue;
            }
        };
        let Some(node) = program.node(name) else { continue };
        let needed = asked.get(name).copied().unwrap_or(0);
        let earlier = node.before.keys().map(of).chain([needed]);
        // Nodes without an object take no round.
        let own = usize::from(matches!(node.body, Body::Template(_)));
        layer.insert(name.clone(), earlier.max().unwrap_or(0) + own);
    }
    let memory = |name: &str| {
        program.remembers(name)
            || program.after.iter().any(|(it, after)| after.contains(name) && program.remembers(it))
    };
    let mut sim = subject.start();
    sim.round(); // The finalizer, and what the ledger holds of seeds.
    if sim.flights.is_empty() && program.ordered {
        sim.round();
        sim.round();
    }
    let deepest = layer.values().copied().max().unwrap_or(0);
    let mut seen: BTreeSet<ObjectKey> = BTreeSet::new();
    for round in 1..=deepest + 1 {
        let now: Vec<_> = sim.claimed().into_iter().filter(|(key, _, _)| seen.insert(key.clone())).collect();
        for (key, _, claim) in now {
            let at = layer.get(&claim.node).copied().unwrap_or(0);
            let late = round.saturating_sub(1) > at && !memory(&claim.node);
            assert!(!late, "{}: {key} comes in round {round}, and its depth is {at}", subject.name);
        }
        sim.control_all();
        sim.round();
    }
    assert!(sim.violations.is_empty(), "{}: {:?}", subject.name, sim.violations);
}

/// Old views, flaps, crashes, and what a deposed process had sent: no successor goes ahead of what it has seen.
pub(super) fn no_edge_is_violated_not_even_after_a_late_write(subject: &Subject, walks: u64) {
    let faults = Faults { answers: false, hands: false, ..Faults::ALL };
    explore("order", subject, faults, (walks, 120), |_| {}, &as_if_nothing_happened(subject));
}

/// Answers that are lost, watches that lag.
pub(super) fn nothing_acts_on_a_view_older_than_its_own_write(subject: &Subject, walks: u64) {
    let faults = Faults { crashes: false, hands: false, ..Faults::ALL };
    explore(
        "view",
        subject,
        faults,
        (walks, 120),
        |sim| sim.telling = false,
        &as_if_nothing_happened(subject),
    );
}

/// The same facts, in whatever order the watches of the kinds bring them, give the same decision.
pub(super) fn the_order_of_facts_does_not_matter(subject: &Subject, _: u64) {
    let mut sim = subject.start();
    let kinds: Vec<_> = subject.kinds.keys().cloned().collect();
    for round in 0..14 {
        if round == 8 {
            sim.set_root(&subject.roots[1 % subject.roots.len()]);
        }
        let mut seen = BTreeSet::new();
        for turn in 0..4 {
            let mut order = kinds.clone();
            order.rotate_left(turn * kinds.len() / 4);
            if turn % 2 == 1 {
                order.reverse();
            }
            let mut other = sim.clone();
            if turn > 1 {
                other.read_ledger();
            }
            for kind in &order {
                while other.deliver(kind) {}
            }
            other.read_ledger();
            seen.insert(serde_json::to_string(other.decide()).unwrap());
        }
        assert_eq!(
            seen.len(),
            1,
            "{}: the same facts, two decisions in round {round}: {seen:#?}",
            subject.name
        );
        sim.round();
        sim.control_all();
        sim.world.learn(Fact::Now(sim.world.now + 1_000));
    }
}

/// Objects of somebody, or of another instance, stand under every name that it wants: they stay as they are.
pub(super) fn what_is_not_claimed_is_never_written(subject: &Subject, walks: u64) {
    let rest = subject.at_rest();
    let adopts = |node: &str| {
        subject.programs[0].0.node(node).is_some_and(|it| it.own == crate::blueprint::Own::Adopt)
    };
    let wanted: Vec<_> = rest.claimed().into_iter().filter(|(_, _, it)| it.attempt.is_none()).collect();
    for another in [false, true] {
        let mut sim = subject.start();
        let mut theirs = Vec::new();
        for (key, live, claim) in wanted.iter().filter(|(_, _, it)| another || !adopts(&it.node)) {
            let mut body = json!({
                "apiVersion": live.body["apiVersion"], "kind": live.body["kind"],
                "metadata": { "name": key.name }, "spec": { "mine": true },
            });
            if another {
                body["metadata"]["labels"] = json!({ ROOT_LABEL: "u99" });
                let mut other = claim.clone();
                other.root = ObjectKey::new(other.root.kind.clone(), other.root.namespace.clone(), "another");
                let other = other.sealed("u99", &key.kind, &super::sim::seal());
                body["metadata"]["annotations"] = json!({ CLAIM_ANNOTATION: other });
            }
            sim.cluster.create(key, "somebody", body);
            theirs.push((key.clone(), sim.live(key).unwrap().resource_version));
        }
        if theirs.is_empty() {
            continue;
        }
        let faults = Faults { hands: false, ..Faults::ALL };
        let start = sim.clone();
        let given = theirs.clone();
        let name = if another { "another's" } else { "somebody's" };
        let prepare = move |sim: &mut Sim| *sim = start.clone();
        explore(name, subject, faults, (walks.min(3), 60), prepare, &move |sim| {
            let same = |(key, version): &(ObjectKey, u64)| {
                sim.live(key).is_some_and(|it| it.resource_version == *version || sim.plays(&key.kind))
            };
            let written = given.iter().find(|it| !same(it));
            if let Some((key, _)) = written {
                return Some(format!("{key} was written"));
            }
            let touched = sim.live(&given[0].0).is_none_or(|it| it.body["spec"] != json!({ "mine": true }));
            if touched {
                return Some(format!("{} was changed", given[0].0));
            }
            let told = sim.stalled().iter().any(|it| it.contains("Exists"));
            (!told || sim.is_ready()).then(|| format!("it is not told: {:?}", sim.waits()))
        });
    }
}

/// Names change, members and conditions come and go, while those that use them lag.
pub(super) fn nothing_in_use_is_removed(subject: &Subject, walks: u64) {
    let faults = Faults { hands: false, crashes: false, ..Faults::ALL };
    explore("use", subject, faults, (walks, 140), |_| {}, &both(subject));
}

/// Renaming a node preserves its objects: each node in turn, in the next revision.
pub(super) fn a_renamed_node_keeps_its_object(subject: &Subject, _: u64) {
    let (program, evaluation) = &subject.programs[0];
    for name in rename::candidates(program) {
        let renamed = rename::renamed(program, evaluation, &name);
        let two = subject.with_programs(vec![(program.clone(), evaluation.clone()), renamed]);
        let mut sim = two.at_rest();
        let before = sim.uids();
        sim.program = Some(1);
        let rest = sim.settle();
        let label = format!("{}: {name} renamed", subject.name);
        assert!(rest && sim.is_ready(), "{label}: {:?} {:#?}", sim.stalled(), sim.waits());
        assert!(sim.violations.is_empty(), "{label}: {:?}", sim.violations);
        assert_eq!(sim.uids(), before, "{label}");
    }
}

/// With `'After`, something that was ready stands in the place of what is replaced at every moment.
pub(super) fn a_replacement_leaves_no_gap(subject: &Subject, walks: u64) {
    let faults = Faults { hands: false, ..Faults::ALL };
    explore("gap", subject, faults, (walks, 140), |_| {}, &as_if_nothing_happened(subject));
    // And without faults, at every step of every change: whatever had an object that was ready has one.
    for root in subject.roots.iter().skip(1) {
        let mut sim = subject.at_rest();
        sim.set_root(root);
        at_every_step("gap, step", subject, 400, sim, &|sim, _| {
            let decision = sim.decision.as_ref()?;
            let standing: BTreeSet<Slot> = sim
                .claimed()
                .into_iter()
                .filter(|(_, live, _)| !live.terminating)
                .map(|(_, _, it)| Slot::new(&it.node, &it.member))
                .collect();
            let program = sim.program()?;
            let made = |slot: &&Slot| {
                program.node(&slot.node).is_some_and(|it| {
                    matches!(it.body, Body::Template(_)) && it.once.is_none() && it.state_of.is_none()
                })
            };
            let had = decision.nodes.iter().filter(|(_, it)| it.phase == crate::decide::Phase::Ready);
            let lost = had.map(|(slot, _)| slot).filter(made).find(|it| !standing.contains(it));
            lost.map(|it| format!("{it} was ready, and has no object"))
        });
    }
}

/// Whatever was begun for a change that is taken back: the same identities with the same contents.
pub(super) fn reverting_at_every_step_changes_nothing(subject: &Subject, _: u64) {
    let start = subject.at_rest();
    for (number, root) in subject.roots.iter().enumerate().skip(1) {
        let mut sim = start.clone();
        sim.set_root(root);
        at_every_step(&format!("revert {number}"), subject, 400, sim, &|mut sim, _| {
            sim.set_root(&subject.roots[0]);
            let rest = sim.settle();
            if !rest || !sim.is_ready() || !sim.violations.is_empty() {
                return Some(format!("{:?} {:#?} {:?}", sim.stalled(), sim.waits(), sim.violations));
            }
            let (is, wants) = (sim.result(), start.result());
            if is != wants {
                return Some(format!("the end differs:\n is    {is:?}\n wants {wants:?}"));
            }
            let kept = |(key, uid): &(&ObjectKey, &String)| {
                sim.deleted.contains(key) || sim.live(key).is_some_and(|it| it.uid == **uid)
            };
            let other = start.uids().iter().find(|it| !kept(it)).map(|(key, _)| key.to_string());
            other.map(|it| format!("{it} is another one, and nobody deleted it"))
        });
    }
}

/// Everything becomes unready at once, at every step of a change: nothing more is deleted, made or drained for that.
pub(super) fn flapping_at_every_step_drains_and_deletes_nothing(subject: &Subject, _: u64) {
    fn drains(sim: &Sim) -> Vec<(String, u32)> {
        let ledger = sim.cluster.ledger.as_ref().map(|(_, it)| it.entries.clone()).unwrap_or_default();
        ledger.iter().map(|(slot, entry)| (slot.to_string(), entry.attempt)).collect()
    }
    let start = subject.at_rest();
    for (number, root) in subject.roots.iter().enumerate() {
        let mut sim = start.clone();
        sim.set_root(root);
        let mut calm = sim.clone();
        calm.settle();
        at_every_step(&format!("flap {number}"), subject, 400, sim, &|mut sim, _| {
            let keys: Vec<_> = sim.cluster.objects.keys().cloned().collect();
            keys.iter().for_each(|it| sim.flap(it));
            for _ in 0..2 {
                sim.round();
                sim.world.learn(Fact::Now(sim.world.now + 1_000));
            }
            let rest = sim.settle();
            if !rest || !sim.is_ready() || !sim.violations.is_empty() {
                return Some(format!("{:?} {:#?} {:?}", sim.stalled(), sim.waits(), sim.violations));
            }
            let sorted = |sim: &Sim| {
                let mut all = sim.deleted.clone();
                all.sort();
                all
            };
            let same = sorted(&sim) == sorted(&calm) && sim.created == calm.created;
            if !same {
                return Some(format!(
                    "{} made and {:?} deleted, and without the flap {} and {:?}",
                    sim.created, sim.deleted, calm.created, calm.deleted
                ));
            }
            (drains(&sim) != drains(&calm) || sim.result() != calm.result())
                .then(|| format!("attempts {:?}, and without the flap {:?}", drains(&sim), drains(&calm)))
        });
    }
}

/// Kinds that are not synced, forbidden or without their definition: what is not seen is not gone.
pub(super) fn what_cannot_be_seen_deletes_nothing(subject: &Subject, _: u64) {
    let rest = subject.at_rest();
    for kind in subject.kinds.keys().filter(|it| **it != subject.root.kind) {
        for sight in [Sight::Unsynced, Sight::Forbidden, Sight::NoSuchKind] {
            for root in subject.roots.iter() {
                let mut sim = rest.clone();
                sim.set_root(root);
                sim.deliver_all();
                sim.world.objects.retain(|it, _| it.kind != *kind);
                if let Some(view) = sim.world.kinds.get_mut(kind) {
                    view.sight = sight;
                }
                sim.world.touch_everything();
                let wrong = |sim: &Sim, when: &str| {
                    let label = format!("{}: {kind} is {sight:?}, {when}", subject.name);
                    let decision = decide(sim.program(), &sim.world);
                    let acts =
                        decision.actions.iter().filter(|it| it.written().is_some_and(|it| it.kind == *kind));
                    let acts: Vec<_> = acts.collect();
                    assert!(acts.is_empty(), "{label}: {acts:?}");
                    let used = rest.claimed().iter().any(|(key, _, _)| key.kind == *kind);
                    assert!(!used || !decision.conditions.ready, "{label}: ready");
                };
                wrong(&sim, "at once");
                sim.decide();
                while !sim.flights.is_empty() {
                    sim.land(0, Fault::None);
                }
                wrong(&sim, "later");
            }
        }
    }
}

/// Jobs fail, are cleaned up, the process crashes: each attempt completes at most once, and a human can resume.
pub(super) fn each_attempt_completes_at_most_once(subject: &Subject, walks: u64) {
    let runs = subject.programs[0].0.blueprint.nodes.values().any(|it| it.once.is_some());
    if !runs {
        return;
    }
    let first = both(subject);
    explore("attempts", subject, Faults { jobs: true, ..Faults::ALL }, (walks, 120), |_| {}, &move |sim| {
        for nonce in ["one", "two", "three"] {
            if sim.is_ready() {
                break;
            }
            let stalled = sim.stalled();
            if !stalled.iter().any(|it| it.contains("Failed") || it.contains("Cut")) {
                return Some(format!(
                    "neither ready nor stalled for a reason: {stalled:?} {:#?}",
                    sim.waits()
                ));
            }
            sim.annotate("resume", nonce);
            sim.settle();
        }
        first(sim)
    });
}

/// No revision can run any more, from any step on: everything is removed all the same.
pub(super) fn a_blueprint_that_breaks_at_any_step_blocks_no_removal(subject: &Subject, _: u64) {
    at_every_step("broken", subject, 400, subject.start(), &|mut sim, at| {
        sim.program = None;
        sim.evaluator_broken = at % 2 == 0;
        let told = gone(&mut sim)?;
        let asked = sim.stalled().iter().any(|it| it.contains("DeletionBlocked"));
        if !asked {
            return Some(told);
        }
        sim.annotate("skip-deletion", "yes");
        gone(&mut sim)
    });
}

/// Nodes of a deletion that cannot run are waited for, said, and only skipped by a human.
pub(super) fn nodes_of_a_deletion_block_until_skipped(subject: &Subject, _: u64) {
    if !subject.has_deletion() {
        return;
    }
    let rest = subject.at_rest();
    for broken in [true, false] {
        let mut sim = rest.clone();
        if broken {
            sim.program = None;
        } else {
            sim.evaluator_broken = true;
        }
        let before = sim.claimed().len();
        let root = sim.cluster.root.clone();
        sim.cluster.delete(&root);
        for _ in 0..12 {
            sim.round();
            sim.world.learn(Fact::Now(sim.world.now + 400_000));
        }
        let label = format!("{}, {}", subject.name, if broken { "no revision" } else { "no evaluator" });
        // With nothing left to be asked the nodes may have run: they were asked before.
        if sim.root().is_none() {
            assert!(!broken, "{label}: skipped");
            continue;
        }
        assert!(sim.claimed().len() >= before, "{label}: {:?}", sim.deleted);
        assert!(
            sim.stalled().iter().any(|it| it.contains("DeletionBlocked")),
            "{label}: {:?}",
            sim.stalled()
        );
        sim.annotate("skip-deletion", "yes");
        let found = gone(&mut sim);
        assert!(found.is_none(), "{label}: {found:?}");
    }
}

/// Everything in a namespace is deleted in any order, and nothing can be made: it ends, unless somebody else's finalizer
/// holds it.
pub(super) fn a_terminating_namespace_ends(subject: &Subject, _: u64) {
    at_every_step("namespace", subject, 400, subject.start(), &|mut sim, at| {
        sim.cluster.namespace_ending = true;
        let mut keys: Vec<_> = sim.cluster.objects.keys().cloned().collect();
        if at % 2 == 0 {
            keys.reverse();
        }
        let held = keys.iter().find(|it| **it != sim.cluster.root && at % 3 == 0).cloned();
        if let Some(live) = held.as_ref().and_then(|it| sim.live(it)) {
            let mut live = (**live).clone();
            live.finalizers.insert("somebody/else".to_owned());
            sim.cluster.store(live);
        }
        keys.iter().for_each(|it| sim.cluster.delete(it));
        sim.settle();
        if let Some(held) = held {
            if sim.live(&held).is_none() {
                return Some(format!("{held} is gone although somebody holds it"));
            }
            let mut live = (**sim.live(&held)?).clone();
            live.finalizers.retain(|it| it.starts_with(OUR_PREFIX));
            sim.cluster.store(live);
            sim.settle();
        }
        // What was given up to nobody was deleted with the namespace; a root of the cluster has no namespace.
        let left: Vec<_> = sim.cluster.objects.keys().map(ToString::to_string).collect();
        (!left.is_empty() || sim.cluster.ledger.is_some())
            .then(|| format!("left behind: {left:?}, ledger {}", sim.cluster.ledger.is_some()))
    });
}

/// The account loses the right to delete a kind, to write it, or to see it, at any moment, and the root is deleted: it stays while
/// something of it may be left, and says why. Everything goes once the right is back.
pub(super) fn withdrawn_permissions_leak_nothing(subject: &Subject, _: u64) {
    let kinds: Vec<_> = subject.kinds.keys().filter(|it| **it != subject.root.kind).cloned().collect();
    at_every_step("withdrawn", subject, 400, subject.start(), &|mut sim, at| {
        let kind = kinds[at % kinds.len()].clone();
        let text = "withdrawn".to_owned();
        let refusal = if at % 2 == 0 { Refusal::Forbidden(text) } else { Refusal::Denied(text) };
        sim.cluster.undeletable.insert(kind.clone(), refusal.clone());
        if at % 3 > 0 {
            sim.cluster.unwritable.insert(kind.clone(), refusal);
        }
        if at % 3 > 1 {
            sim.cluster.unlistable.insert(kind.clone());
        }
        let root = sim.cluster.root.clone();
        sim.cluster.delete(&root);
        if at % 5 == 0 {
            sim.crash();
        }
        for _ in 0..24 {
            sim.round();
            sim.control_all();
            sim.world.learn(Fact::Now(sim.world.now + 5_000));
        }
        let left = sim.claimed().into_iter().find(|(key, _, claim)| key.kind == kind && !claim.owned);
        if let Some((key, _, _)) = left {
            let decision = sim.decision.as_ref()?;
            let tried = sim.root().is_some() && decision.mode == Mode::Removing;
            let waits = decision.nodes.values().flat_map(|it| &it.causes);
            let refused = waits.into_iter().any(|it| matches!(it, Cause::Refused { .. }));
            if sim.root().is_none() {
                return Some(format!("{key} is left, and its root is gone"));
            }
            if tried && (refused || sim.stalled().is_empty()) {
                return Some(format!("{key} is left, and nobody is told: {:#?}", sim.waits()));
            }
        }
        sim.cluster.undeletable.clear();
        sim.cluster.unwritable.clear();
        sim.cluster.unlistable.clear();
        gone(&mut sim).and_then(|told| {
            let asked = sim.stalled().iter().any(|it| it.contains("DeletionBlocked"));
            sim.annotate("skip-deletion", "yes");
            if asked { gone(&mut sim) } else { Some(told) }
        })
    });
}

/// Another manager takes a field again and again, of each object in turn: no loop, and it is told. A node that yields gives way.
pub(super) fn a_contended_field_ends_stalled(subject: &Subject, _: u64) {
    let rest = subject.at_rest();
    let all = rest.claimed().into_iter().filter(|(_, _, it)| it.attempt.is_none());
    let nodes = &subject.programs[0].0.blueprint.nodes;
    let yields = |node: &str| nodes.get(node).is_some_and(|it| it.conflict == Conflict::Yield);
    for (key, yields) in all.map(|(key, _, claim)| (key, yields(&claim.node))).take(6) {
        let mut sim = rest.clone();
        let mut ours = 0;
        for _ in 0..12 {
            let version = sim.cluster.version;
            sim.edit_by("robot", &key);
            if version == sim.cluster.version {
                break;
            }
            for _ in 0..2 {
                sim.deliver_all();
                let wrote = |it: &&Action| it.written() == Some(&key);
                ours += sim.decide().actions.iter().filter(wrote).count();
                while !sim.flights.is_empty() {
                    sim.land(0, Fault::None);
                }
                sim.control_all();
                sim.world.learn(Fact::Now(sim.world.now + 1_000));
            }
        }
        if ours == 0 {
            continue;
        }
        sim.round();
        let label = format!("{}: {key}", subject.name);
        if yields {
            assert!(sim.settle() && sim.is_ready() && sim.deleted.is_empty(), "{label}: {:?}", sim.stalled());
            continue;
        }
        assert!(sim.stalled().iter().any(|it| it.contains("Contended")), "{label}: {:?}", sim.stalled());
        assert!(ours <= 8, "{label}: it fought {ours} times");
        assert!(!sim.is_ready() && sim.deleted.is_empty(), "{label}");
    }
}

/// What goes when the root changes is made again by somebody, each time it goes: no loop, and it is told.
pub(super) fn what_comes_back_is_deleted_with_a_pause(subject: &Subject, _: u64) {
    let rest = subject.at_rest();
    for root in subject.roots.iter().skip(1).take(2) {
        let mut after = rest.clone();
        after.set_root(root);
        after.settle();
        let gone: BTreeSet<_> = after.deleted.iter().filter(|it| after.live(it).is_none()).collect();
        for key in gone.into_iter().filter(|it| it.kind.kind != "Job").take(2) {
            let Some(copy) = rest.live(key).map(|it| serde_json::Value::clone(&it.body)) else { continue };
            let mut sim = after.clone();
            let (before, mut told) = (sim.deleted.len(), false);
            for _ in 0..40 {
                if sim.live(key).is_none() {
                    sim.cluster.create(key, "somebody", copy.clone());
                }
                sim.round();
                told |= sim.stalled().iter().any(|it| it.contains("Recreated"));
                sim.world.learn(Fact::Now(sim.world.now + 1_000));
            }
            let deleted = sim.deleted[before..].iter().filter(|it| *it == key).count();
            assert!(deleted < 10, "{}: {key} was deleted {deleted} times in 40 seconds", subject.name);
            assert!(told || deleted < 4, "{}: {key}: {:?}", subject.name, sim.stalled());
        }
    }
}

/// A backup was restored: the objects are there, their root is not, or is another one of the same name.
pub(super) fn objects_of_a_dead_root_are_left_and_taken_over_when_told(subject: &Subject, _: u64) {
    let rest = subject.at_rest();
    let mut stray = rest.clone();
    stray.crash();
    stray.relist();
    stray.world.root.live = None;
    stray.world.root.seen_going = false;
    let decision = decide(stray.program(), &stray.world);
    assert!(decision.actions.is_empty(), "{}: {:?}", subject.name, decision.actions);
    assert!(decision.conditions.stalled[0].contains("RootMissing"), "{}", subject.name);

    let (before, contents) = (rest.uids(), rest.result());
    let mut sim = rest.reborn();
    let rested = sim.settle();
    let label = format!("{}: {:?} {:#?}", subject.name, sim.stalled(), sim.waits());
    assert!(rested && sim.deleted.is_empty() && sim.violations.is_empty(), "{label}: {:?}", sim.violations);
    let same = before.iter().all(|(key, uid)| sim.live(key).is_some_and(|it| it.uid == *uid));
    assert!(same, "{label}: something is not the same");
    let word = format!("reclaim={}", rest.uid);
    assert!(sim.stalled().iter().any(|it| it.contains(&word)) && !sim.is_ready(), "{label}");
    sim.annotate("reclaim", &rest.uid);
    let created = sim.created;
    let rested = sim.settle();
    let label = format!("{}, taken over: {:?} {:#?}", subject.name, sim.stalled(), sim.waits());
    assert!(rested && sim.is_ready() && sim.violations.is_empty(), "{label} {:?}", sim.violations);
    assert_eq!(sim.uids(), before, "{label}");
    assert_eq!(sim.result(), contents, "{label}");
    assert_eq!(sim.created, created, "{label}: something was made or run again");
    assert!(sim.old_ledger().is_none(), "{label}: the old ledger is left");
    let found = gone(&mut sim);
    assert!(found.is_none(), "{label}: {found:?}");
}

/// `Ready` is compared with the real objects at every decision; here with everything that makes a view old.
pub(super) fn ready_is_never_said_too_early(subject: &Subject, walks: u64) {
    explore("ready", subject, Faults { jobs: true, ..Faults::ALL }, (walks, 140), |_| {}, &|_| None);
}
