//! What was seen when has no say in how it ends.

use super::{sim::Sim, subject::Subject};
use crate::{blueprint::Conflict, path::FieldPath, world::leaves};

/// Somebody takes a field of each object in turn, and the root changes: the end is the same, whether a process saw the one before the
/// other, both at once, or began only afterwards.
pub(super) fn the_end_is_a_function_of_the_objects(subject: &Subject, _: u64) {
    type Order = fn(&mut Sim);
    let seen: [(&str, Order); 3] = [
        ("one after the other", |sim| {
            sim.settle();
        }),
        ("both at once", |_| {}),
        ("after a restart", Sim::crash),
    ];
    let rest = subject.at_rest();
    let all = rest.claimed().into_iter().filter(|(_, _, it)| it.attempt.is_none());
    let nodes = &subject.programs[0].0.blueprint.nodes;
    let fails = |node: &str| nodes.get(node).is_some_and(|it| it.conflict == Conflict::Fail);
    let keys: Vec<_> = all.filter(|(_, _, it)| fails(&it.node)).map(|(key, _, _)| key).take(4).collect();
    for key in keys {
        for root in subject.roots.iter().skip(1).take(2) {
            let ends = seen.map(|(when, order)| {
                let mut sim = rest.clone();
                sim.edit_by("person", &key);
                order(&mut sim);
                sim.set_root(root);
                let rested = sim.settle();
                assert!(
                    rested && sim.violations.is_empty(),
                    "{}: {when}: {:?}",
                    subject.name,
                    sim.violations
                );
                (when, sim)
            });
            let (first, wants) = &ends[0];
            for (when, is) in &ends[1..] {
                let label =
                    format!("{}: {key} was taken and the root changed, {when} and {first}", subject.name);
                assert_eq!(
                    is.is_ready(),
                    wants.is_ready(),
                    "{label}: {:?} {:?}",
                    is.stalled(),
                    wants.stalled()
                );
                // What nobody wants any more stays with who took it.
                let (is, wants) = (is.result(), wants.result());
                assert!(is.keys().eq(wants.keys()), "{label}: {is:?}, {wants:?}");
                for (key, wants) in &wants {
                    fn at<'v>(
                        content: &'v serde_json::Value,
                        field: &FieldPath,
                    ) -> Option<&'v serde_json::Value> {
                        field.parts().iter().try_fold(content, |it, part| it.get(part))
                    }
                    let differs = |it: &FieldPath| at(&is[key][0], it) != at(&wants[0], it);
                    let found = leaves(&wants[0]).into_iter().find(differs);
                    assert!(found.is_none(), "{label}: {key} {found:?} {is:?}, {wants:?}");
                }
            }
        }
    }
}
