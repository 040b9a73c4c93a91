//! What a decision costs, as counts of steps. Times are measured by the benchmark `decide`.

use serde_json::json;

use super::{
    sim::Sim,
    stage::{Stage, layered},
};
use crate::decide::Memo;

#[test]
fn a_settled_instance_costs_no_pass() {
    let mut sim = Sim::new(&[layered(20)], &json!({ "v": 1 }));
    assert!(sim.settle() && sim.is_ready());
    let program = sim.program().cloned().unwrap();
    let mut memo = Memo::default();
    for _ in 0..5 {
        sim.relist();
        sim.world.learn(crate::world::Fact::Now(sim.world.now + 1_000));
        assert!(memo.decide(Some(&program), &sim.world).conditions.ready);
    }
    assert_eq!(memo.passes(), 1, "a list that repeats itself costs a pass");
    sim.set_spec(&json!({ "v": 2 }));
    sim.deliver_all();
    assert!(!memo.decide(Some(&program), &sim.world).conditions.ready);
    assert_eq!(memo.passes(), 2);
}

#[test]
fn a_pass_costs_what_changed() {
    let mut stage = Stage::settled(50);
    let steps = |stage: &Stage| stage.memo().steps();
    let settled = steps(&stage);
    let unimportant = stage.unimportant();
    stage.learn(unimportant);
    assert!(steps(&stage) - settled <= 12, "an annotation costs {} steps", steps(&stage) - settled);
    let irrelevant = stage.irrelevant();
    let before = steps(&stage);
    stage.learn(irrelevant);
    assert_eq!(steps(&stage), before, "an object that nobody reads costs steps");
    for nodes in [5, 60] {
        let mut stage = Stage::settled(nodes);
        for _ in 0..4 {
            let before = steps(&stage);
            let fact = stage.important();
            let ready = stage.learn(fact).conditions.ready;
            let fact = stage.important();
            assert_ne!(ready, stage.learn(fact).conditions.ready, "{nodes} nodes: a change that matters");
            assert!(steps(&stage) - before <= 60, "{nodes} nodes: {} steps", steps(&stage) - before);
        }
    }
}

#[test]
fn what_nobody_waits_for_costs_the_same_among_few_and_among_many() {
    let cost = |nodes: usize| {
        let mut stage = Stage::brief(nodes);
        let before = stage.memo().steps();
        let fact = stage.last();
        stage.learn(fact);
        stage.memo().steps() - before
    };
    assert_eq!(cost(8), cost(80));
}

/// Every batch of answers costs the steps that asked, not all of them: no quadratic rounds.
#[test]
fn a_chain_of_questions_costs_each_node_a_few_steps() {
    let mut sim = Sim::new(&[layered(50)], &json!({ "v": 1 }));
    sim.round();
    let first = sim.memo.steps();
    assert!(first < 50 * 6, "{first} steps for the first decision of 50 nodes");
}
