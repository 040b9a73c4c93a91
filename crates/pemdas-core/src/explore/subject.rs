//! What is walked: revisions of a blueprint, an instance of it in several versions, and what is around it.

use std::rc::Rc;

use serde_json::{Value, json};

use super::{
    lab::{Lab, key, kind},
    sim::{Evaluation, KINDS, Kinds, Nature, Sim},
};
use crate::{
    program::Program,
    world::{KindKey, ObjectKey},
};

/// What the controller of a kind that is not built in writes into the status of an object; nothing where it has none.
/// Asked with null, it says whether the kind has a controller at all.
pub type Play = Rc<dyn Fn(&KindKey, &Value) -> Option<Value>>;

/// A blueprint and an instance of it, to be walked through the abstract world.
#[derive(Clone)]
pub struct Subject {
    /// What the line that replays a walk calls it.
    pub name: String,
    /// Its revisions, each with whoever answers its questions. The first one is run unless a walk says otherwise.
    pub programs: Rc<Vec<(Program, Evaluation)>>,
    /// The kinds of the cluster.
    pub kinds: Kinds,
    /// The identity of the root.
    pub root: ObjectKey,
    /// The root, as it may be: what people change it to and back.
    pub roots: Rc<Vec<Value>>,
    /// What others made.
    pub around: Vec<(ObjectKey, Value)>,
    /// The controllers of kinds that are not built in.
    pub play: Option<Play>,
}

impl Subject {
    /// An instance of a blueprint whose functions are closures.
    pub(super) fn of_labs(name: &str, labs: &[Lab], specs: &[Value]) -> Self {
        let programs =
            labs.iter().enumerate().map(|(at, lab)| (lab.program(at as u64 + 1), lab.evaluation())).collect();
        let body = |spec: &Value| {
            json!({
                "apiVersion": "example.com/v1", "kind": "App",
                "metadata": { "name": "a", "namespace": "n" }, "spec": spec,
            })
        };
        let mut kinds: Kinds =
            KINDS.iter().map(|(name, observed)| (kind(name), Nature::new(*observed))).collect();
        kinds.insert(kind("Zone"), Nature { observed_generation: false, namespaced: false });
        Self {
            name: name.to_owned(),
            programs: Rc::new(programs),
            kinds,
            root: key("App", "a"),
            roots: Rc::new(specs.iter().map(body).collect()),
            around: Vec::new(),
            play: None,
        }
    }

    /// The same with other revisions.
    pub(super) fn with_programs(&self, programs: Vec<(Program, Evaluation)>) -> Self {
        Self { programs: Rc::new(programs), ..self.clone() }
    }

    /// The world in which nothing has happened yet.
    pub(super) fn start(&self) -> Sim {
        self.start_at(0, &self.roots[0])
    }

    /// The same with another revision and another root.
    pub(super) fn start_at(&self, program: usize, root: &Value) -> Sim {
        let mut sim = Sim::of(self, root.clone());
        sim.program = Some(program);
        sim
    }

    /// Whether an instance with this root becomes ready when nothing goes wrong.
    #[must_use]
    pub fn becomes_ready(&self, root: &Value) -> bool {
        let mut sim = self.start_at(0, root);
        sim.settle() && sim.is_ready()
    }

    /// An instance at rest, ready.
    pub(super) fn at_rest(&self) -> Sim {
        let mut sim = self.start();
        let rest = sim.settle();
        assert!(rest && sim.is_ready(), "{}: not ready: {:?} {:#?}", self.name, sim.stalled(), sim.waits());
        assert!(sim.violations.is_empty(), "{}: {:?}", self.name, sim.violations);
        sim
    }

    /// Whether it has nodes of its deletion.
    pub(super) fn has_deletion(&self) -> bool {
        self.programs[0].0.has_deletion()
    }
}
