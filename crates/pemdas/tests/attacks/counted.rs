//! What the operator counts of itself, as Prometheus reads it.

use serde_json::json;

use super::{bed::until, given::CHAIN, operators::Plan, space::Space};

/// The value of a metric, all its labels taken together.
fn value(page: &str, name: &str) -> u64 {
    let lines = page.lines().filter(|it| it.strip_prefix(name).is_some_and(|it| it.starts_with(['{', ' '])));
    lines.filter_map(|it| it.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

#[test]
fn passes_requests_evaluations_and_instances_are_counted() {
    let space = Space::new("counted");
    let operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    until("it is ready", || operator.page("/readyz").starts_with("HTTP/1.1 200").then_some(()));
    space.instance("Chain", "one", &json!({ "value": "a" }));
    space.ready("Chain", "one");
    let of = format!("blueprint=\"{}/blueprint\"", space.name);
    let shown = until("the instance is counted", || {
        Some(operator.page("/metrics"))
            .filter(|it| it.contains(&format!("pemdas_instances{{{of},state=\"ready\"}} 1")))
    });
    for name in [
        "pemdas_reconciles_total",
        "pemdas_requests_total",
        "pemdas_evaluations_total",
        "pemdas_memo_hits_total",
        "pemdas_leading",
    ] {
        assert!(value(&shown, name) > 0, "{name} is not counted:\n{shown}");
    }
    for line in
        ["pemdas_requests_total{verb=\"patch\",result=\"20", "pemdas_evaluations_total{result=\"value\"}"]
    {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    assert!(shown.lines().any(|it| it.starts_with("pemdas_queue_depth ")), "{shown}");
    assert!(!shown.contains("one"), "names of instances are no labels:\n{shown}");
    let of_others = |it: &&str| it.contains("blueprint=") && !it.contains(&of);
    assert_eq!(shown.lines().find(of_others), None, "only this blueprint is run");
    // What was evaluated once is remembered: a change that matters to nobody costs no evaluation.
    let before = (value(&shown, "pemdas_evaluations_total"), value(&shown, "pemdas_memo_hits_total"));
    space.annotate("configmap", "one-b", "somebody", "was-here");
    let after = until("it is passed over", || {
        Some(operator.page("/metrics")).filter(|it| value(it, "pemdas_memo_hits_total") > before.1)
    });
    assert_eq!(value(&after, "pemdas_evaluations_total"), before.0);
    // What is gone is not counted any more.
    space.delete(&space.kind("Chain"), "one");
    space.delete("configmap", "blueprint");
    until("nothing is left of it", || Some(operator.page("/metrics")).filter(|it| !it.contains(&of)));
}
