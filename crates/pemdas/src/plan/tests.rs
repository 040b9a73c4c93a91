use pemdas_core::ledger::Slot;
use pemdas_core::plan::{Step, Verb};
use pemdas_core::world::{KindKey, ObjectKey};
use serde_json::{Value, json};

use super::{codes, diff, words};
use crate::pages;

#[test]
fn every_code_has_a_page() {
    let missing: Vec<_> = codes::ALL.iter().filter(|code| pages::page(code).is_none()).collect();
    assert!(missing.is_empty(), "no page for {missing:?}");
}

fn step(kind: &str, before: Option<Value>, after: Option<Value>) -> Step {
    let object = ObjectKey::new(KindKey::new("v1", kind), "n".to_owned(), "x-abc".to_owned());
    let verb = if before.is_some() { Verb::Change } else { Verb::Create };
    let slot = Slot::new("x", "");
    Step { slot, verb, object, once: false, state: None, before, after, unneeded: false }
}

#[test]
fn values_of_secrets_are_never_shown_and_their_change_is() {
    let before = json!({ "data": { "same": "aHVudGVyMg==", "other": "c2VjcmV0", "gone": "b2xk" } });
    let after = json!({ "data": { "same": "aHVudGVyMg==", "other": "bmV3", "added": "bW9yZQ==" } });
    let said = diff::unified(&step("Secret", Some(before.clone()), Some(after.clone())));
    for value in ["aHVudGVyMg==", "c2VjcmV0", "b2xk", "bmV3", "bW9yZQ=="] {
        assert!(!said.contains(value), "{said}");
    }
    assert!(
        said.contains("-  other: '***'")
            || said.contains("-  other: \"***\"")
            || said.contains("-  other: ***"),
        "{said}"
    );
    assert!(said.contains("(changed)"), "{said}");
    assert!(said.contains("-  gone:") && said.contains("+  added:"), "{said}");
    // Of other kinds, everything is shown.
    let plain = diff::unified(&step("ConfigMap", Some(before), Some(after)));
    assert!(plain.contains("bmV3"), "{plain}");
}

#[test]
fn what_somebodys_tool_wrote_down_is_no_way_around_the_mask() {
    let annotation =
        json!({ "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"a\":\"aHVudGVyMg==\"}}" });
    let object = json!({ "metadata": { "annotations": annotation }, "data": { "a": "aHVudGVyMg==" } });
    let said = diff::unified(&step("Secret", None, Some(object)));
    assert!(!said.contains("aHVudGVyMg=="), "{said}");
}

#[test]
fn the_name_of_a_once_is_left_open() {
    let mut once = step("Job", None, Some(json!({})));
    once.once = true;
    assert_eq!(words::object(&once), "Job n/x-…");
    assert_eq!(words::object(&step("Job", None, None)), "Job n/x-abc");
}
