//! What is stuck, changed or broken is told in the same words everywhere: Events, the log, metrics.

use serde_json::json;

use super::{
    bed::until,
    input::NOTE,
    operators::{Operator, Plan, events},
    space::Space,
};

/// Waits for a line of the metrics.
fn counted(operator: &Operator, line: &str) {
    until(&format!("the metrics say {line}"), || {
        let page = operator.page("/metrics");
        page.lines().any(|it| it.starts_with(line)).then_some(())
    });
}

#[test]
fn a_repair_of_drift_is_told() {
    let space = Space::new("drift");
    let operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", &NOTE.replace("GROUP", &space.group));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    space.apply_as("somebody", &json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "other" }, "data": { "value": "x" },
    }));
    space.merge("configmap", "one", &json!({ "data": { "value": "drift" } }));
    until("it is put right", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "a"));
    let told = |words: &str| {
        until(&format!("a repair: {words}"), || {
            events(&space, "one")
                .into_iter()
                .find(|it| it.starts_with("Normal DriftRepaired") && it.contains(words))
        })
    };
    let changed = told("data.value was changed by ");
    assert!(changed.contains(&format!("ConfigMap {}/one", space.name)), "{changed}");
    space.delete("configmap", "one");
    until("it is back", || space.get("configmap", "one"));
    told("was deleted by somebody else");
    let of = format!("blueprint=\"{}/blueprint\"", space.name);
    counted(&operator, &format!("pemdas_repairs_total{{{of}}} 2"));
    counted(&operator, "pemdas_events_total{reason=\"DriftRepaired\",type=\"Normal\"} 2");
    counted(&operator, &format!("pemdas_not_ready_since_timestamp_seconds{{{of}}} 0"));
    let log = operator.log();
    let line = log.lines().find(|it| it.contains("\"reason\":\"DriftRepaired\""));
    assert!(
        line.is_some_and(|it| it.contains("\"message\":\"event\"") && it.contains("\"name\":\"one\"")),
        "{log}"
    );
}

#[test]
fn what_is_broken_or_stalled_is_in_the_metrics_and_in_the_log() {
    let space = Space::new("broken");
    let operator = Plan::over(&[&space]).start();
    space.map_of_a_hand("one");
    space.blueprint("blueprint", &NOTE.replace("GROUP", &space.group));
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.stalls("Note", "one", "exists and is not ours");
    let of = format!("blueprint=\"{}/blueprint\"", space.name);
    counted(&operator, &format!("pemdas_instances{{{of},state=\"stalled\"}} 1"));
    // A time, and none of long ago.
    counted(&operator, &format!("pemdas_not_ready_since_timestamp_seconds{{{of}}} 1"));
    space.blueprint(
        "blueprint",
        &NOTE.replace("GROUP", &space.group).replace("the.root.spec.value", "the.root.spec.valu"),
    );
    counted(&operator, &format!("pemdas_blueprint_problems{{{of},problem=\"errors\"}} 1"));
    let log = operator.log();
    let line = log.lines().find(|it| it.contains("a blueprint has errors"));
    let line = line.expect("the log says so");
    assert!(line.contains("\"code\":\"PM") && line.contains("main.ncl:"), "{line}");
    space.blueprint("blueprint", &NOTE.replace("GROUP", &space.group));
    counted(&operator, &format!("pemdas_blueprint_problems{{{of},problem=\"errors\"}} 0"));
}
