//! What changes on an object, as a diff of YAML. Values of Secrets are not shown, only that they change.

use pemdas_core::plan::Step;
use serde_json::{Map, Value};
use similar::TextDiff;

/// What stands in place of a value of a Secret.
const MASKED: &str = "***";
/// What stands in its place where it becomes another one.
const CHANGED: &str = "*** (changed)";
/// Fields of Secrets with values.
const HIDDEN: [&str; 2] = ["data", "stringData"];
/// An annotation that repeats the whole object, as somebody's tool applied it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Both sides of a step as people may see them.
pub(crate) fn sides(step: &Step) -> (Option<Value>, Option<Value>) {
    let (mut before, mut after) = (step.before.clone(), step.after.clone());
    for side in [&mut before, &mut after].into_iter().flatten() {
        if let Some(names) = side.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            names.remove(LAST_APPLIED);
        }
    }
    if step.object.kind.group.is_empty() && step.object.kind.kind == "Secret" {
        let plain = before.clone();
        for side in [&mut before, &mut after].into_iter().flatten() {
            mask(side, plain.as_ref());
        }
    }
    (before, after)
}

/// An object of a cluster as people may see it, as YAML: without what repeats it, without who wrote which field, and without values
/// of Secrets.
pub(crate) fn shown(object: &Value) -> String {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(names) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            names.remove(LAST_APPLIED);
        }
    }
    if object["apiVersion"] == "v1" && object["kind"] == "Secret" {
        mask(&mut object, None);
    }
    serde_saphyr::to_string(&object).unwrap_or_else(|_| format!("{object:#}\n"))
}

fn mask(secret: &mut Value, before: Option<&Value>) {
    for field in HIDDEN {
        let Some(values) = secret.get_mut(field).and_then(Value::as_object_mut) else { continue };
        let known: Option<&Map<String, Value>> = before.and_then(|it| it.get(field)?.as_object());
        for (name, value) in values {
            let other = known.and_then(|it| it.get(name)).is_some_and(|it| it != value);
            *value = Value::from(if other { CHANGED } else { MASKED });
        }
    }
}

/// The lines that differ, with some around them; empty if none does.
pub(crate) fn unified(step: &Step) -> String {
    let (before, after) = sides(step);
    let yaml = |side: &Option<Value>| {
        side.as_ref()
            .map(|it| serde_saphyr::to_string(it).unwrap_or_else(|_| format!("{it:#}\n")))
            .unwrap_or_default()
    };
    let (before, after) = (yaml(&before), yaml(&after));
    TextDiff::from_lines(&before, &after).unified_diff().context_radius(3).to_string()
}
