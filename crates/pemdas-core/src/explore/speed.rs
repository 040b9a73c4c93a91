//! How fast a decision is. Not a test of time: numbers for people, printed on demand.
//!
//! `cargo test --release -p pemdas-core --lib speed -- --ignored --nocapture`

use std::time::Duration;

use serde_json::json;

use super::{lab::Lab, sim::Sim, walk::Dice};
use crate::decide::{Memo, decide};

fn layered(nodes: usize) -> Lab {
    let mut dice = Dice::new(7);
    let names: Vec<String> = (0..nodes).map(|at| format!("n{at}")).collect();
    let mut lab = Lab::new();
    for (at, name) in names.iter().enumerate() {
        let layer = at / nodes.div_ceil(8);
        let earlier = &names[..layer * nodes.div_ceil(8)];
        let mut before: Vec<&str> = Vec::new();
        for _ in 0..2 {
            if !earlier.is_empty() {
                before.push(&earlier[dice.roll(earlier.len())]);
            }
        }
        before.sort_unstable();
        before.dedup();
        lab = lab.template(name, "Thing", &before).also("app", name);
    }
    lab
}

#[expect(clippy::disallowed_types, reason = "a measurement, not a decision")]
#[expect(clippy::disallowed_methods, reason = "a measurement, not a decision")]
fn each(mut run: impl FnMut()) -> Duration {
    let begin = std::time::Instant::now();
    let mut times = 0_u32;
    while begin.elapsed() < Duration::from_millis(300) {
        run();
        times += 1;
    }
    begin.elapsed() / times
}

#[expect(clippy::disallowed_macros, reason = "numbers for people")]
#[test]
#[ignore = "prints numbers; run it alone, optimised"]
fn speed() {
    for nodes in [5, 20, 50, 500] {
        let mut sim = Sim::new(&[layered(nodes)], &json!({ "v": 1 }));
        assert!(sim.settle() && sim.is_ready());
        let program = sim.program().cloned().unwrap();
        let pass = each(|| {
            std::hint::black_box(decide(Some(&program), &sim.world));
        });
        let mut memo = Memo::default();
        let settled = each(|| {
            std::hint::black_box(memo.decide(Some(&program), &sim.world));
        });
        println!("{nodes} nodes: a whole pass {pass:?}, a settled one {settled:?}");
    }
}

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
