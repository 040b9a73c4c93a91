//! Memory that is missing is never taken for memory that is empty.

use serde_json::json;

use super::{at_rest, clean, jobs, rounds, stalled};
use crate::{
    blueprint::Body,
    evaluate::Answer,
    explore::{
        lab::{Lab, key},
        sim::{Fault, Sim},
        zoo::job,
    },
    world::{Fact, LedgerFact},
};

/// A job that ran and was cleaned up.
fn ran() -> Sim {
    let mut sim = at_rest(&[job()], json!({ "v": 1 }));
    let name = jobs(&sim)[0].clone();
    sim.cluster.delete(&name);
    assert!(sim.settle() && sim.is_ready() && jobs(&sim).is_empty());
    sim
}

/// A note with a random value.
fn generated() -> Sim {
    let mut lab = Lab::new().template("a", "Note", &[]).also("app", "a");
    let function = lab.function("nodes.a.template", &["seed"], |the| {
        Answer::Value(json!({
            "apiVersion": "example.com/v1", "kind": "Note", "metadata": { "name": "a-a" }, "spec": { "seed": the["seed"] },
        }))
    });
    if let Body::Template(it) = &mut lab.node("a").body {
        it.function = function;
    }
    at_rest(&[lab], json!({ "v": 1 }))
}

/// The ledger is deleted while no operator runs.
fn lose(sim: &mut Sim) {
    sim.cluster.ledger = None;
    sim.crash();
    sim.world.entropy = "other dice".to_owned();
    sim.settle();
}

pub(super) fn what_ran_does_not_run_again_without_a_ledger() {
    let mut sim = ran();
    let had = sim.cluster.ledger.clone().unwrap().1;
    lose(&mut sim);
    assert!(stalled(&sim, "MemoryLost") && stalled(&sim, "start-over=forget-1"), "{:?}", sim.stalled());
    assert!(jobs(&sim).is_empty() && sim.cluster.ledger.is_none() && !sim.is_ready());
    sim.cluster.ledger = Some((sim.cluster.next_version(), had));
    assert!(sim.settle() && sim.is_ready() && jobs(&sim).is_empty());
    assert_eq!(sim.entry("job").unwrap().attempt, 1);
    clean(&sim);
}

pub(super) fn what_was_generated_stays_without_a_ledger() {
    let mut sim = generated();
    let note = |sim: &Sim| sim.live(&key("Note", "a-a")).unwrap().body["spec"]["seed"].clone();
    let seed = note(&sim);
    lose(&mut sim);
    assert!(stalled(&sim, "MemoryLost") && note(&sim) == seed, "{:?}", sim.stalled());
    sim.annotate("start-over", "forget-1");
    assert!(sim.settle() && sim.is_ready() && note(&sim) != seed, "{:?}", sim.stalled());
    clean(&sim);
}

pub(super) fn a_ledger_that_went_meanwhile_is_written_again() {
    let mut sim = ran();
    sim.cluster.ledger = None;
    assert!(sim.settle() && sim.is_ready() && jobs(&sim).is_empty(), "{:?}", sim.stalled());
    assert_eq!(sim.entry("job").unwrap().attempt, 1);
    clean(&sim);
}

pub(super) fn a_human_may_begin_anew_once() {
    let mut sim = ran();
    // Said before anything was lost, or said wrongly, it has no effect.
    sim.annotate("start-over", "yes");
    lose(&mut sim);
    assert!(stalled(&sim, "MemoryLost") && jobs(&sim).is_empty());
    sim.forget_completions();
    sim.annotate("start-over", "forget-1");
    assert!(sim.settle() && sim.is_ready() && jobs(&sim).len() == 1, "{:?}", sim.stalled());
    // The word is spent.
    let name = jobs(&sim)[0].clone();
    sim.cluster.delete(&name);
    assert!(sim.settle() && sim.is_ready());
    lose(&mut sim);
    assert!(stalled(&sim, "start-over=forget-2") && jobs(&sim).is_empty(), "{:?}", sim.stalled());
    clean(&sim);
}

pub(super) fn a_list_that_is_older_than_the_root_is_no_loss() {
    let mut sim = ran();
    sim.crash();
    sim.relist();
    sim.world.learn(Fact::Ledger(LedgerFact::Absent));
    sim.world.torn_ledger = None;
    sim.decide();
    assert!(sim.stalled().is_empty() && sim.flights.len() == 1, "{:?} {:?}", sim.stalled(), sim.flights);
    sim.land(0, Fault::None);
    sim.decide();
    assert!(sim.is_ready() && sim.stalled().is_empty(), "{:?}", sim.stalled());
    clean(&sim);
}

pub(super) fn a_restored_root_asks_for_its_memory() {
    let mut sim = ran();
    for (key, _, _) in sim.claimed() {
        sim.cluster.objects.remove(&key);
    }
    let mut sim = sim.reborn();
    sim.settle();
    assert!(stalled(&sim, "MemoryLost") && stalled(&sim, "reclaim=u1"), "{:?}", sim.stalled());
    assert!(jobs(&sim).is_empty() && sim.cluster.ledger.is_none());
    sim.annotate("reclaim", "u1");
    assert!(sim.settle() && sim.is_ready() && jobs(&sim).is_empty(), "{:?} {:?}", sim.stalled(), sim.waits());
    assert_eq!((sim.entry("job").unwrap().attempt, sim.old_ledger()), (1, None));
    clean(&sim);
}

pub(super) fn a_forged_mark_gives_no_ledger() {
    let mut sim = Sim::new(&[job()], &json!({ "v": 1 }));
    let theirs = ran().cluster.ledger.unwrap();
    sim.cluster.old_ledger = Some(("u77".to_owned(), theirs.0, theirs.1));
    sim.annotate("memory", "1 u77 n/a 1.forged");
    sim.annotate("reclaim", "u77");
    sim.settle();
    assert!(stalled(&sim, "MemoryLost") && sim.old_ledger().is_some() && sim.cluster.ledger.is_none());
    // What is on a root of another name was copied with it.
    let mut sim = Sim::new(&[job()], &json!({ "v": 1 }));
    sim.annotate("memory", "1 u77 n/b 1.forged");
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
}

pub(super) fn a_root_that_is_left_says_nothing_of_a_ledger() {
    let mut sim = ran();
    let says = |sim: &Sim| sim.root().unwrap().annotation("pemdas.dev/memory").is_some();
    assert!(says(&sim));
    sim.world.learn(Fact::Selected(false));
    rounds(&mut sim, 20);
    assert!(!says(&sim) && sim.cluster.ledger.is_none() && sim.claimed().is_empty());
    sim.forget_completions();
    sim.world.learn(Fact::Selected(true));
    assert!(sim.settle() && sim.is_ready() && says(&sim), "{:?}", sim.stalled());
}
