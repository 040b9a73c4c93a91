//! The brake: a human said that nothing is to be written.
//!
//! *The accident*: a blueprint does harm, and whoever sees it takes permissions away, object by object, while it goes
//! on elsewhere.
//!
//! What is decided is decided as ever, and told; only the writes wait. So a human sees what would be done, and lifting
//! the brake goes on from there.

use super::{Cause, Decision, Mode, pass::idle, status, tally::Tally};
use crate::{
    action::{Action, Event},
    secrets::Secrets,
    world::{OUR_PREFIX, World},
};

/// The word for it: in conditions and Events.
pub(super) const SUSPENDED: &str = "Suspended";
/// The annotation of a root or of a blueprint.
const SUSPEND: &str = "suspend";
/// How many objects that would be written are named.
const MAX_NAMED: usize = 3;

/// Why nothing may be written; nothing if it may.
pub(super) fn why(world: &World) -> Option<String> {
    let root = world.root.live.as_ref();
    let said = root.and_then(|it| it.annotation(&format!("{OUR_PREFIX}{SUSPEND}")));
    if said.is_some_and(is_set) && !mutant!(BrakeIgnored) {
        return Some(format!("its root has the annotation {OUR_PREFIX}{SUSPEND}"));
    }
    world.suspended.as_deref().map(str::to_owned)
}

/// Whether an annotation with this value suspends: anything but `false`.
#[must_use]
pub fn is_set(value: &str) -> bool {
    value != "false"
}

/// Takes the writes out of a decision; what waits, in words.
pub(super) fn hold(actions: &mut Vec<Action>) -> String {
    let held: Vec<_> = actions.extract_if(.., |it| it.moves_the_cluster()).collect();
    let mut named: Vec<_> = held.iter().filter_map(Action::written).map(ToString::to_string).collect();
    named.sort();
    named.dedup();
    let more = named.len().saturating_sub(MAX_NAMED);
    named.truncate(MAX_NAMED);
    match (held.len(), more) {
        (0, _) => "nothing has to be written".to_owned(),
        (_, _) if named.is_empty() => "its own notes have to be written".to_owned(),
        (_, 0) => format!("{} would be written", named.join(", ")),
        (_, more) => format!("{} and {more} more would be written", named.join(", ")),
    }
}

/// The sentence for people.
pub(super) fn told(why: &str, waits: &str) -> String {
    format!("nothing is written, because {why}: {waits}")
}

/// An instance that is to go waits, and says so.
pub(super) fn removal(world: &World, why: &str) -> Decision {
    let text = told(why, "the deletion waits");
    let mut decision = idle(&Cause::Pending(text.clone()));
    decision.mode = Mode::Removing;
    decision.suspended = true;
    let Some(root) = &world.root.live else { return decision };
    let secrets = Secrets::of(world, None);
    let message = secrets.mask(&text);
    let before = root.body.get("status").filter(|it| it.get("pemdas").is_some());
    if world
        .told
        .get(&None)
        .map_or(!before.is_some_and(|it| status::says(it, None, SUSPENDED)), |it| it != SUSPENDED)
    {
        let (about, reason, message) = (None, SUSPENDED.to_owned(), message.clone());
        decision.actions.push(Action::Event(Event { about, reason, message, warning: true }));
    }
    let Some(before) = before else { return decision };
    let public = |text: &str| secrets.mask(text);
    let nothing = Tally::default();
    let status =
        status::removing(before, &message, &nothing, (SUSPENDED, &[]), root.generation, world.now, &public);
    if status != *before
        && !world.is_what_became(&status, before)
        && !world.writes.contains_key(&world.root.key)
    {
        decision.actions.push(Action::Status { uid: root.uid.clone(), status });
    }
    decision
}
