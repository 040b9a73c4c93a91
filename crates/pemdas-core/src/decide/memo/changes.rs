//! What changed since the last pass, and what follows from it while the steps are taken.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::super::{
    edges::Taken,
    pass::{Found, NodeView, Pass, root_input, same_input, same_marks},
    tally::{Tally, moved},
};
use super::{
    State,
    steps::{Step, Steps},
};
use crate::{
    blueprint::{Body, Function, Input, RootTarget},
    graph::Vertex,
    program::Program,
    truth::Truth,
    world::{Live, ObjectKey, Touch, World},
};

/// What a step had found before it is taken again.
pub(super) enum Before<'p> {
    Node(&'p str, Option<NodeView>),
    Condition(Option<Truth>),
}

impl<'p> Before<'p> {
    pub(super) fn of(vertex: &'p Vertex, pass: &mut Pass<'_>) -> Self {
        match vertex {
            Vertex::Node(name) => Self::Node(name, pass.nodes.remove(name)),
            Vertex::Condition { .. } => Self::Condition(pass.decided.get(vertex).copied()),
        }
    }
}

/// What changed since the last pass, and what follows from it as the steps are taken.
#[derive(Default)]
pub(super) struct Changes {
    touched: BTreeSet<Touch>,
    /// Those of them whose readers were not looked for yet.
    new: Vec<Touch>,
    /// Whether an object came into the inventory, went, or says something else of itself.
    claims: bool,
    /// The objects that were looked at again.
    objects: Vec<ObjectKey>,
}

impl Changes {
    pub(super) fn of(world: &World, state: &mut State) -> Option<Self> {
        let mut changes = Self::default();
        for (touch, object) in world.journal.since(state.changes)? {
            if touch == Touch::EVERYTHING {
                return None;
            }
            changes.add(touch);
            if let Some(key) = object {
                let (touched, moved) = state.inventory.renew(key, world);
                touched.into_iter().for_each(|it| changes.add(it));
                changes.claims |= moved;
                changes.objects.push(key.clone());
            }
        }
        Some(changes)
    }

    fn add(&mut self, touch: Touch) {
        if self.touched.insert(touch) {
            self.new.push(touch);
        }
    }

    pub(super) fn has(&self, touch: Touch) -> bool {
        self.touched.contains(&touch)
    }

    /// The steps, after the one that was just taken, that what is new may concern.
    pub(super) fn new_readers(&mut self, steps: &Steps, after: Option<usize>, again: &mut BTreeSet<usize>) {
        for touch in self.new.drain(..) {
            again.extend(steps.readers(touch).filter(|at| after.is_none_or(|it| *at > it)));
        }
    }

    /// Counts the nodes that were taken again, and the objects that were looked at again.
    pub(super) fn count(&self, tally: &mut Tally, pass: &Pass<'_>, nodes: &[(&str, Option<NodeView>)]) {
        let mut objects: BTreeSet<_> = self.objects.iter().collect();
        let mut others = false;
        for (name, old) in nodes {
            let new = pass.nodes.get(*name);
            if !mutant!(StatesStay) {
                tally.renew(name, old.as_ref(), new);
            }
            if moved(old.as_ref(), new) && !mutant!(StraysStay) {
                others = true;
                objects.extend(pass.inventory.of_node(name).map(|(key, _)| key));
            }
        }
        if others {
            tally.look_around(&pass.nodes);
        }
        for key in objects {
            tally.renew_stray(pass.program, &pass.nodes, &pass.inventory, key);
        }
    }

    fn hits(&self, reads: &[Touch]) -> bool {
        reads.iter().any(|it| self.touched.contains(it))
    }

    /// The root changed: perhaps only what its templates do not see.
    pub(super) fn root(&mut self, state: &mut State, root: &Arc<Live>) {
        if !same_input(&state.root.body, &root.body) {
            state.root_input = Arc::new(root_input(&root.body));
            self.add(Touch::ROOT_INPUT);
        }
        if !same_marks(&state.root, root) {
            self.add(Touch::ROOT_MARKS);
        }
    }

    /// Whether a step has to be taken again.
    pub(super) fn reach(&self, step: &Step, now: u64, recorded: bool) -> bool {
        step.restless
            || step.wake.is_some_and(|wake| wake <= now)
            || (self.hits(&step.reads) && !mutant!(StepsStay))
            || (recorded && step.reads.binary_search(&Touch::LEDGER).is_ok())
    }

    /// Whether a step takes something else from the nodes before it, now that their objects look different.
    pub(super) fn flow(&self, pass: &Pass<'_>, vertex: &Vertex, step: &Step) -> bool {
        let flows = |taken: &&Taken| self.has(Touch::found(&taken.precursor));
        let differs = step.taken.iter().filter(flows).any(|it| !pass.takes_the_same(vertex, it));
        pass.facts.take_reads();
        differs
    }

    /// Whether the report has to be made again, whatever the steps find.
    pub(super) fn report(&self, state: &State) -> bool {
        !state.quiet
            || self.claims
            || self.hits(&[Touch::LEDGER, Touch::ROOT, Touch::REPORT])
            || self.hits(&state.report)
    }

    /// A node was looked at again: what its successors have to know, and whether the report does.
    pub(super) fn node(
        &mut self,
        program: &Program,
        name: &str,
        old: Option<&NodeView>,
        new: Option<&NodeView>,
    ) -> bool {
        let (Some(old), Some(new)) = (old, new) else {
            self.add(Touch::node(name));
            self.add(Touch::found(name));
            return true;
        };
        if old == new {
            return false;
        }
        if mutant!(FindingsStay) {
            return true;
        }
        self.add(Touch::found(name));
        if old.differs_beside_found(new) {
            self.add(Touch::node(name));
            return true;
        }
        shows_in_status(program, name, old, new)
    }
}

/// Whether the status of the root shows how two views differ in what is found of the objects.
fn shows_in_status(program: &Program, name: &str, old: &NodeView, new: &NodeView) -> bool {
    let Some(root) = program.node(&program.root) else { return false };
    if !matches!(&root.body, Body::Root(it) if matches!(it.target, RootTarget::Owned(_))) {
        return false;
    }
    let differs = |path: &[String]| new.collection || part(old, path) != part(new, path);
    let reads = |function: &Function| {
        function.reads.iter().any(|read| match read.input() {
            Input::Whole => true,
            Input::Node(node) => node == name && differs(&read.path[1..]),
            _ => false,
        })
    };
    let by_default = root.status.is_none() && differs(&["status".to_owned()]);
    by_default || root.status.iter().chain(&root.conditions).any(reads)
}

/// A field of what is found of a node's one object.
fn part<'v>(view: &'v NodeView, path: &[String]) -> Option<&'v Value> {
    match &view.members.get("")?.found {
        Found::Present(live) => path.iter().try_fold(live.value(), |it, part| it.get(part)),
        Found::Absent | Found::Unknown(_) => None,
    }
}
