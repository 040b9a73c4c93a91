//! What has to be so of every draft.

use pemdas_core::mutation::at_length;

use super::{
    Verdict::{self, Differs, Refused, Same},
    compare,
    dice::Dice,
    draft::Draft,
    operated,
    outcome::Run,
    planned::{self, Sound},
    reference::Reference,
    transform,
};
use crate::trial::readers::Readers;

/// A draft in which `check` finds no error.
fn sound(text: &str) -> Result<Sound, Verdict> {
    planned::load(text).map_err(|problems| Refused(problems.into_iter().next().unwrap_or_default()))
}

fn verdict(difference: Option<String>) -> Verdict {
    difference.map_or(Same, Differs)
}

/// In what runs differ from what the reference says.
fn against_the_reference(draft: &Draft, text: &str, runs: &[(&str, &Run)]) -> Verdict {
    let reference = match Reference::read(text) {
        Ok(reference) => reference,
        Err(why) => return Differs(format!("unreadable: {why}")),
    };
    let Some(right) = reference.play(&draft.roots, &draft.around) else {
        return Refused("two nodes want one object".to_owned());
    };
    verdict(runs.iter().find_map(|(who, run)| {
        let wrong = compare::wrong(&right, run, reference.has_history())?;
        Some(format!("{wrong} ({who})"))
    }))
}

/// The engine, as `plan` plays it: through all versions of the root, and to its end.
pub(super) fn engine_is_right(draft: &Draft) -> Verdict {
    let text = draft.text();
    match sound(&text) {
        Ok(mut sound) => against_the_reference(draft, &text, &[("plan", &sound.run(draft))]),
        Err(refused) => refused,
    }
}

/// The operator: it comes to what is right, and to what `plan` foresees.
pub(super) fn operator_is_right(draft: &Draft) -> Verdict {
    let text = draft.text();
    let mut sound = match sound(&text) {
        Ok(sound) => sound,
        Err(refused) => return refused,
    };
    if draft.gap && text.contains("the.self") {
        return Refused("what keeps its own object keeps an edit of it".to_owned());
    }
    let mut run = match operated::run(draft, &Readers::default()) {
        Ok(run) => run,
        Err(why) => return Differs(format!("operator: {why}")),
    };
    let plan = sound.run(draft);
    for (operator, plan) in run.outcomes.iter_mut().zip(&plan.outcomes) {
        compare::with_waits(operator, plan);
    }
    match against_the_reference(draft, &text, &[("operator", &run)]) {
        Same => {}
        other => return other,
    }
    let all = plan.outcomes.iter().zip(&run.outcomes).enumerate();
    verdict(all.into_iter().find_map(|(version, (plan, operator))| {
        let difference = compare::foreseen(plan, operator, draft.gap && version > 0)?;
        Some(format!("plan and operator: {difference} (version {version})"))
    }))
}

/// The next revision of a blueprint decides once its definition serves it. One whose definition may not change so never does.
pub(super) fn revisions_wait_for_their_definitions(draft: &Draft) -> Verdict {
    let draft = &Draft { roots: draft.roots[..1].to_vec(), ..draft.clone() };
    let next = draft.revised();
    let mut outcomes = Vec::new();
    for draft in [draft, &next] {
        let text = draft.text();
        if let Err(refused) = sound(&text) {
            return refused;
        }
        let reference = Reference::read(&text).map(|it| it.play(&draft.roots, &draft.around));
        match reference {
            Ok(Some(mut right)) => outcomes.push(right.swap_remove(0)),
            Ok(None) => return Refused("two nodes want one object".to_owned()),
            Err(why) => return Differs(format!("unreadable: {why}")),
        }
    }
    if !outcomes.iter().all(compare::is_ready) {
        return Refused("what waits is history".to_owned());
    }
    let right = &outcomes[usize::from(draft.next.1)];
    match operated::revised(draft, &Readers::default()) {
        Ok(mut is) => {
            is.gone.clone_from(&right.gone);
            verdict(compare::difference(right, &is, false).map(|it| format!("revision: {it}")))
        }
        Err(why) => Differs(format!("operator: {why}")),
    }
}

/// The same in other words comes to the same.
pub(super) fn other_words_change_nothing(draft: &Draft) -> Verdict {
    let draft = &Draft { roots: draft.roots[..1].to_vec(), ..draft.clone() };
    let mut sound = match sound(&draft.text()) {
        Ok(sound) => sound,
        Err(refused) => return refused,
    };
    let was = sound.run(draft).outcomes.remove(0);
    if let Some(name) = was.objects.iter().find_map(|(key, it)| compare::misnamed(key, it)) {
        return Differs(format!("name: {name}"));
    }
    let mut dice = Dice::new(7);
    for (how, transform) in transform::ALL {
        let other = transform(draft, &mut dice);
        let difference = match planned::load(&other.text()) {
            Ok(mut sound) => {
                let is = sound.run(&other).outcomes.remove(0);
                compare::change(&was, &transform::as_before(&is, draft, &other))
            }
            Err(problems) => Some(format!("{problems:?}")),
        };
        if let Some(difference) = difference {
            return Differs(format!("{how}: {difference}"));
        }
    }
    Same
}

/// Without what only saves work (what was decided last, functions and contracts that are answered without the evaluator, instances
/// that are put away) everything comes to the same.
pub(super) fn savings_change_nothing(draft: &Draft) -> Verdict {
    let mut sound = match sound(&draft.text()) {
        Ok(sound) => sound,
        Err(refused) => return refused,
    };
    let (plan, length) = (sound.run(draft), at_length(|| sound.run(draft)));
    if let Some(difference) = apart(&plan, &length) {
        return Differs(format!("savings: {difference} (plan)"));
    }
    let readers = Readers::default();
    let (operator, length) = (operated::run(draft, &readers), at_length(|| operated::run(draft, &readers)));
    match (operator, length) {
        (Ok(operator), Ok(length)) => {
            verdict(apart(&operator, &length).map(|it| format!("savings: {it} (operator)")))
        }
        (Err(one), Err(other)) if one == other => Same,
        (one, other) => Differs(format!("savings: {:?} and {:?}", one.err(), other.err())),
    }
}

fn apart(one: &Run, other: &Run) -> Option<String> {
    let outcomes = one.outcomes.iter().zip(&other.outcomes);
    outcomes
        .into_iter()
        .find_map(|(one, other)| compare::change(one, other))
        .or_else(|| (one.left != other.left).then(|| format!("left: {:?} and {:?}", one.left, other.left)))
}
