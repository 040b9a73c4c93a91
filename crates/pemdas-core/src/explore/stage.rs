//! Settled instances, for measurements.

use std::sync::Arc;

use serde_json::json;

use super::{
    exhaust::{Budget, exhaust, pair},
    lab::{Lab, key, kind},
    sim::Sim,
    walk::Dice,
};
use crate::{
    decide::{Decision, Memo},
    evaluate::Answer,
    packed::Packed,
    program::Program,
    world::{Fact, Live, World},
};

/// A graph of so many nodes in up to eight layers, each node after two of the layers before.
pub(super) fn layered(nodes: usize) -> Lab {
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

/// The same, with a status of one field: that of the first node.
fn briefly(nodes: usize) -> Lab {
    let mut lab = layered(nodes);
    let status = lab.function("nodes.app.status", &["n0.status"], |the| {
        Answer::Value(json!({ "first": the["n0"]["status"]["conditions"] }))
    });
    lab.with("app", |it| it.status = Some(status))
}

/// An instance that is settled, with what its process remembers.
#[derive(Clone)]
pub struct Stage {
    sim: Sim,
    nodes: usize,
}

impl Stage {
    /// An instance of so many nodes, all ready.
    #[must_use]
    pub fn settled(nodes: usize) -> Self {
        Self::of(layered(nodes), nodes)
    }

    /// The same, with a status that does not grow with them.
    #[must_use]
    pub fn brief(nodes: usize) -> Self {
        Self::of(briefly(nodes), nodes)
    }

    fn of(lab: Lab, nodes: usize) -> Self {
        let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
        assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
        Self { sim, nodes }
    }

    /// Its program.
    #[must_use]
    pub fn program(&self) -> &Program {
        self.sim.program().expect("a program")
    }

    /// Its world.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.sim.world
    }

    /// What its process remembers.
    #[must_use]
    pub fn memo(&self) -> &Memo {
        &self.sim.memo
    }

    /// What stays in a process of a settled instance.
    #[must_use]
    pub fn into_parts(self) -> (World, Memo) {
        (self.sim.world, self.sim.memo)
    }

    /// Takes a fact in and decides.
    pub fn learn(&mut self, fact: Fact) -> &Decision {
        self.sim.world.learn(fact);
        let (program, evaluation) = &self.sim.programs[0];
        let evaluator = &mut *evaluation.borrow_mut();
        self.sim.memo.decide_with(Some(program), &mut self.sim.world, evaluator)
    }

    /// An object of a watched kind that no node speaks of.
    pub fn irrelevant(&mut self) -> Fact {
        let version = self.sim.cluster.next_version();
        Fact::Seen(Arc::new(Live {
            key: key("Thing", "somebodys"),
            uid: "u".to_owned(),
            resource_version: version,
            generation: Some(1),
            terminating: false,
            finalizers: [].into(),
            managed: Packed::default(),
            body: json!({ "kind": "Thing", "metadata": { "name": "somebodys" } }).into(),
        }))
    }

    /// One of the first objects, with an annotation that nobody reads.
    pub fn unimportant(&mut self) -> Fact {
        self.changed(0, |live, version| live.body["metadata"]["annotations"]["seen"] = json!(version))
    }

    /// One of the first objects, ready or not in turn.
    pub fn important(&mut self) -> Fact {
        self.changed(0, ready_in_turn)
    }

    /// The last object, which no other waits for, ready or not in turn.
    pub fn last(&mut self) -> Fact {
        self.changed(self.nodes - 1, ready_in_turn)
    }

    fn changed(&mut self, at: usize, change: impl FnOnce(&mut Live, u64)) -> Fact {
        let version = self.sim.cluster.next_version();
        let live = self.sim.world.objects.get(&key("Thing", &format!("a-n{at}"))).expect("the node");
        let mut live = (**live).clone();
        live.resource_version = version;
        change(&mut live, version);
        assert_eq!(live.key.kind, kind("Thing"));
        Fact::Seen(Arc::new(live))
    }
}

fn ready_in_turn(live: &mut Live, version: u64) {
    let ready = if version.is_multiple_of(2) { "True" } else { "False" };
    live.body["status"]["conditions"] = json!([{ "type": "Ready", "status": ready }]);
}

/// Visits up to so many states of a small world with faults; how many there were.
#[must_use]
pub fn explored_states(limit: u64) -> usize {
    let faults = Budget { crash: 1, lost: 1, spec: 2, flap: 1, hand: 1 };
    exhaust(&pair(), faults, limit).states
}
