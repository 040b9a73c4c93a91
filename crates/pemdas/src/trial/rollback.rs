//! The same scenarios with one change taken back: everything has to be again as it was before the change.

use serde_json::{Map, Value};

use super::{
    Script,
    oracle::TO_REST,
    script::{Step, What},
};

/// For every change of an object: the scenario up to there, the change, and the way back. With the number of the step.
pub(crate) fn rollbacks(script: &Script) -> Vec<(usize, Script)> {
    let changes = script.steps.iter().enumerate();
    changes
        .filter_map(|(number, step)| {
            let What::Patch(object, with) = &step.what else { return None };
            let also = |what| Step { span: step.span.clone(), what };
            let mut steps = script.steps[..number].to_vec();
            steps.extend([
                also(What::Settles(TO_REST)),
                also(What::Keep(object.clone())),
                step.clone(),
                also(What::Settles(TO_REST)),
                also(What::Restore(object.clone(), with.clone())),
                also(What::Settles(TO_REST)),
                also(What::AsKept),
            ]);
            Some((number, Script { steps, ..script.clone() }))
        })
        .collect()
}

/// The merge patch that takes back what another one did to an object that was so before.
pub(crate) fn inverse(with: &Value, was: Option<&Value>) -> Value {
    match (with, was) {
        (Value::Object(changes), Some(Value::Object(fields))) => {
            let back = |(name, with): (&String, &Value)| (name.clone(), inverse(with, fields.get(name)));
            Value::Object(changes.iter().map(back).collect::<Map<_, _>>())
        }
        (_, was) => was.cloned().unwrap_or(Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::inverse;

    #[test]
    fn what_was_changed_added_and_removed_is_as_it_was() {
        let was = json!({ "spec": { "size": 1, "tags": ["a"], "old": { "x": 1 } }, "kind": "Shop" });
        let with = json!({ "spec": { "size": 2, "tags": ["b"], "old": null, "new": { "y": 1 } } });
        let back = json!({ "spec": { "size": 1, "tags": ["a"], "old": { "x": 1 }, "new": null } });
        assert_eq!(inverse(&with, Some(&was)), back);
        assert_eq!(inverse(&json!({ "data": { "a": "b" } }), Some(&json!({}))), json!({ "data": null }));
    }
}
