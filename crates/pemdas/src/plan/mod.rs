//! What would happen to one instance: the blueprint, the instance and what is observed meet the core's `plan`.

pub(crate) mod diff;
mod instance;
pub(crate) mod json;
pub(crate) mod observed;
pub(crate) mod text;
pub(crate) mod words;
mod world;

#[cfg(test)]
mod tests;

use std::path::Path;

use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_core::evaluate::Evaluator;
use pemdas_core::plan::{self, Plan};
use pemdas_core::program::{Program, Revision};
use pemdas_core::world::{ObjectKey, World};
use serde_json::Value;

use crate::input::Given;
use crate::load::{self, Checked};
use instance::Instance;
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
    observed: &mut dyn Observed,
) -> Result<Planned, Box<Checked>> {
    let (mut checked, renderer) = load::check_and_keep(given);
    let (Some(mut renderer), Some(blueprint), Some(graph)) =
        (renderer, checked.blueprint.clone(), checked.graph.clone())
    else {
        return Err(Box::new(checked));
    };
    if checked.worst() == Some(Severity::Error) {
        return Err(Box::new(checked));
    }
    checked.diagnostics.clear();
    let made = instance::read(instance, &mut checked, &blueprint, &graph)
        .and_then(|given| given.admitted(&renderer, &blueprint, &mut checked))
        .and_then(|given| {
            let mut notes = given.notes.clone();
            let mut world = world::of(&blueprint, &given, observed, &mut notes)?;
            let revision = Revision { name: "planned".to_owned(), ordinal: u64::MAX };
            let program = Program::new(blueprint.clone(), &graph, &given.root, revision);
            let Some(program) = program else {
                return Err(vec![Diagnostic::error(codes::NO_ROOT, "the blueprint has a circle")]);
            };
            let plan = world::played(&program, &mut world, observed, &mut renderer, &mut notes)?;
            Ok((given, world.root.key, plan, notes))
        });
    match made {
        Ok((given, instance, plan, notes)) => {
            Ok(Planned { checked, root: given.root, instance, plan, notes })
        }
        Err(problems) => {
            checked.diagnostics = problems;
            Err(Box::new(checked))
        }
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
