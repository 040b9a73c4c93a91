//! What would happen to one instance: the blueprint, the instance and what is observed meet the core's `plan`.

pub(crate) mod diff;
#[cfg(test)]
mod differential;
pub(crate) mod fleet;
mod instance;
pub(crate) mod json;
pub(crate) mod live;
pub(crate) mod observed;
pub(crate) mod text;
pub(crate) mod words;
mod world;

#[cfg(test)]
mod tests;

use std::path::Path;

use pemdas_core::blueprint::Blueprint;
use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_core::evaluate::Evaluator;
use pemdas_core::graph::{Graph, OWN_ROOT};
use pemdas_core::plan::{self, Plan};
use pemdas_core::program::{Program, Revision};
use pemdas_core::world::{ObjectKey, World};
use pemdas_nickel::Renderer;
use serde_json::Value;

use crate::input::Given;
use crate::load::{self, Checked};
use crate::workers::Evaluation;
pub(crate) use instance::Instance;
use observed::Observed;

/// The codes of what keeps an instance from being planned. Each has a page.
pub(crate) mod codes {
    /// The instance cannot be read.
    pub(crate) const INSTANCE: &str = "PM0501";
    /// The instance is of no root of the blueprint.
    pub(crate) const NO_ROOT: &str = "PM0502";
    /// The instance breaks the contract of its kind.
    pub(crate) const CONTRACT: &str = "PM0503";
    /// What is observed cannot be read.
    pub(crate) const OBSERVED: &str = "PM0504";

    /// All of them.
    #[cfg(test)]
    pub(crate) const ALL: &[&str] = &[INSTANCE, NO_ROOT, CONTRACT, OBSERVED];
}

/// A blueprint, an instance, and what would happen to it.
pub(crate) struct Planned {
    /// The blueprint as it was looked at.
    pub(crate) checked: Checked,
    /// The node of the root.
    pub(crate) root: String,
    /// The object that is the root.
    pub(crate) instance: ObjectKey,
    /// What would happen.
    pub(crate) plan: Plan,
    /// What is good to know about the plan.
    pub(crate) notes: Vec<String>,
}

/// Plans an instance; without one, the blueprint is its own. The observed objects come from wherever they are.
///
/// Otherwise the blueprint with everything that is wrong.
pub(crate) fn make(
    given: Given,
    instance: Option<&Path>,
    delete: bool,
    observed: &mut dyn Observed,
) -> Result<Planned, Box<Checked>> {
    let mut ready = Prepared::new(given)?;
    let read = instance::read(instance, &mut ready.checked, &ready.blueprint, &ready.graph);
    match read.and_then(|given| ready.plan(given, delete, observed)) {
        Ok(played) => Ok(played.of(ready.checked)),
        Err(problems) => {
            ready.checked.diagnostics = problems;
            Err(Box::new(ready.checked))
        }
    }
}

/// A blueprint without errors, to make plans with.
pub(crate) struct Prepared {
    /// The blueprint as it was looked at.
    pub(crate) checked: Checked,
    /// As data.
    pub(crate) blueprint: Blueprint,
    graph: Graph,
    renderer: Renderer<Evaluation>,
}

/// What would happen to an instance, apart from the blueprint.
pub(crate) struct Played {
    /// The node of the root.
    pub(crate) root: String,
    /// The object that is the root.
    pub(crate) instance: ObjectKey,
    /// What would happen.
    pub(crate) plan: Plan,
    /// What is good to know about the plan.
    pub(crate) notes: Vec<String>,
}

impl Played {
    /// With the blueprint.
    pub(crate) fn of(self, checked: Checked) -> Planned {
        let Self { root, instance, plan, notes } = self;
        Planned { checked, root, instance, plan, notes }
    }
}

impl Prepared {
    /// Otherwise the blueprint with everything that is wrong.
    pub(crate) fn new(given: Given) -> Result<Self, Box<Checked>> {
        let (mut checked, renderer) = load::check_and_keep(given);
        let (Some(renderer), Some(blueprint), Some(graph)) =
            (renderer, checked.blueprint.clone(), checked.graph.clone())
        else {
            return Err(Box::new(checked));
        };
        if checked.worst() == Some(Severity::Error) {
            return Err(Box::new(checked));
        }
        checked.diagnostics.clear();
        Ok(Self { checked, blueprint, graph, renderer })
    }

    /// Reads the instance from a file, or takes the blueprint for its own.
    pub(crate) fn read(&mut self, path: Option<&Path>) -> Result<Instance, Vec<Diagnostic>> {
        instance::read(path, &mut self.checked, &self.blueprint, &self.graph)
    }

    /// An object of the cluster as an instance.
    pub(crate) fn live(&self, object: Value, root: &str) -> Instance {
        Instance::live(object, root, &self.blueprint)
    }

    /// The root that an object of the cluster starts.
    pub(crate) fn root_of(&self, object: &Value) -> Result<String, Vec<Diagnostic>> {
        let own = self.graph.roots == [OWN_ROOT];
        instance::root_of(&self.blueprint, own, object).map(|(root, _)| root).map_err(|it| vec![*it])
    }

    /// Plans an instance, or its deletion.
    pub(crate) fn plan(
        &mut self,
        given: Instance,
        delete: bool,
        observed: &mut dyn Observed,
    ) -> Result<Played, Vec<Diagnostic>> {
        // Whatever is wrong with what goes, it goes.
        let given =
            if delete { given } else { given.admitted(&self.renderer, &self.blueprint, &self.checked)? };
        let mut notes = given.notes.clone();
        let mut world = world::of(&self.blueprint, &given, observed, &mut notes)?;
        let revision = Revision { name: "planned".to_owned(), ordinal: u64::MAX };
        let program = Program::new(self.blueprint.clone(), &self.graph, &given.root, revision);
        let Some(program) = program else {
            return Err(vec![Diagnostic::error(codes::NO_ROOT, "the blueprint has a circle")]);
        };
        if delete {
            world::shown(&program, &mut world, observed, &mut self.renderer)?;
            if !observed.is_given() {
                notes.push("nothing is observed: what goes is what a plan of the instance makes".to_owned());
                let _made = play(Some(&program), &mut world, &mut self.renderer);
            } else if !observed.sees_root() && world.root.uid == world::PLANNED {
                plan::hold_root(&program, &mut world);
            }
            plan::delete_root(&mut world);
            notes.push("what others do to the objects of a deletion (finalizers, garbage collection) is not foreseen".to_owned());
        }
        let plan = world::played(&program, &mut world, observed, &mut self.renderer, &mut notes)?;
        // What was stopped halfway is no plan.
        if let Some(stopped) = self.renderer.evaluator().stopped() {
            return Err(vec![stopped]);
        }
        Ok(Played { root: given.root, instance: world.root.key, plan, notes })
    }
}

/// The world of a live object that starts a root, with everything in it that decisions are interested in.
pub(crate) fn look(
    program: &Program,
    object: Value,
    observed: &mut dyn Observed,
    evaluator: &mut dyn Evaluator,
    notes: &mut Vec<String>,
) -> Result<World, Vec<Diagnostic>> {
    let instance = Instance::live(object, &program.root, &program.blueprint);
    let mut world = world::of(&program.blueprint, &instance, observed, notes)?;
    world::shown(program, &mut world, observed, evaluator)?;
    Ok(world)
}

/// Plays, then says the plan; split so that what is observed can be asked for more on the way.
pub(crate) use plan::plan as play;
