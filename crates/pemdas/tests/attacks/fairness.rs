//! Nobody waits for a bad neighbour: shown by the number of requests, not by the time they take.

use pemdas_tier::size;
use serde_json::json;

use super::{bed::until, input::NOTE, operators::Plan, space::Space};

#[test]
fn who_burns_time_keeps_no_other_namespace_from_being_served() {
    let (hostile, quiet) = (Space::new("burns"), Space::new("quiet"));
    let mut operator = Plan::over(&[&hostile, &quiet]).start();
    // Each evaluation runs until its worker is killed: there are no steps to count.
    let burns = |number: usize| {
        let kind = format!("Burn{number}");
        let power = format!("std.to_string (std.number.pow 3 {})", 1_000_000_000 + number);
        NOTE.replace("Note", &kind)
            .replace("the.root.spec.value,", &format!("the.root.spec.value ++ {power},"))
    };
    for number in 0..8 {
        hostile.blueprint(&format!("burn{number}"), &burns(number));
        hostile.runs(&format!("burn{number}"));
        for instance in 0..4 {
            hostile.instance(
                &format!("Burn{number}"),
                &format!("b{number}-{instance}"),
                &json!({ "value": "a" }),
            );
        }
    }
    let mut turn = 0;
    let mut served = || {
        turn += 1;
        quiet.instance("Note", "one", &json!({ "value": turn.to_string() }));
        until("it is served", || {
            quiet
                .get("configmap", "one")
                .filter(|it| it["data"]["value"].as_str() == Some(&*turn.to_string()))
        });
    };
    quiet.blueprint("blueprint", NOTE);
    quiet.runs("blueprint");
    (0..3).for_each(|_| served());
    operator.kill();
    operator.start();
    (0..3).for_each(|_| served());
    assert!(!quiet.events().contains("others go first") && !operator.log().contains("PM0510"));
    let label = format!("{{namespace=\"{}\"}}", hostile.name);
    let page = operator.page("/metrics");
    let used = page.lines().any(|it| it.starts_with("pemdas_worker_milliseconds") && it.contains(&label));
    assert!(used, "{page}");
}

#[test]
fn who_takes_more_than_a_share_is_told() {
    let (hostile, quiet) = (Space::new("slowed"), Space::new("served"));
    let operator = Plan::over(&[&hostile, &quiet]).argument("--workers=2".to_owned()).start();
    // Not so long that anybody stops it, and nothing that is answered without a worker.
    let works = |kind: &str, more: &str| {
        let value = format!("the.root.spec.value ++ {more},");
        NOTE.replace("Note", kind).replace("the.root.spec.value,", &value)
    };
    let long = "std.string.substring 0 1 (std.to_string (std.number.pow 3 200000))";
    let kinds: Vec<_> = (0..4).map(|it| format!("Work{it}")).collect();
    for kind in &kinds {
        hostile.blueprint(&kind.to_lowercase(), &works(kind, long));
    }
    quiet.blueprint("blueprint", &works("Note", r#""!""#));
    kinds.iter().for_each(|it| drop(hostile.runs(&it.to_lowercase())));
    quiet.runs("blueprint");
    let mut turn = 0;
    until("it is told", || {
        turn += 1;
        let spec = json!({ "value": turn.to_string() });
        kinds.iter().for_each(|it| hostile.instance(it, "one", &spec));
        quiet.instance("Note", "one", &spec);
        hostile.events().contains("others go first").then_some(())
    });
    assert!(!quiet.events().contains("others go first"));
    let page = operator.page("/metrics");
    let slowed = format!("pemdas_evaluations_slowed{{namespace=\"{}\"}} ", hostile.name);
    let count = page.lines().find_map(|it| it.strip_prefix(&slowed)?.parse::<u64>().ok());
    assert!(count.is_some_and(|it| it > 0), "{page}");
    assert!(page.contains("pemdas_limits{limit=\"writes_each\"} 96"), "{page}");
}

#[test]
fn bad_instances_cost_little_and_delay_nobody() {
    let space = Space::new("bad");
    let operator = Plan::over(&[&space]).start();
    let source = NOTE.replace(
        "metadata.name = the.root.metadata.name, data.value = the.root.spec.value",
        r#"metadata.name = the.root.metadata.name,
        metadata.labels.label = if the.root.spec.value == "invalid" then "no value of a label!" else "fine",
        data.value = let rec endless = fun x => endless x in
          if the.root.spec.value == "endless" then endless 1 else the.root.spec.value"#,
    );
    space.blueprint("blueprint", &source);
    space.runs("blueprint");
    // Ten whose rendering never ends, ten that are refused, ten whose object is somebody else's.
    let bad = || (0..10).flat_map(|it| ["endless", "invalid", "taken"].map(|why| format!("{why}{it}")));
    for it in 0..10 {
        space.instance("Note", &format!("endless{it}"), &json!({ "value": "endless" }));
        space.instance("Note", &format!("invalid{it}"), &json!({ "value": "invalid" }));
        space.apply(
            &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("taken{it}") } }),
        );
        space.instance("Note", &format!("taken{it}"), &json!({ "value": "a" }));
    }
    for it in 0..5 {
        space.instance("Note", &format!("good{it}"), &json!({ "value": "a" }));
        space.ready("Note", &format!("good{it}"));
    }
    let kind = space.kind("Note");
    for name in bad() {
        let why = until("it says why", || {
            space.get(&kind, &name)?["status"]["pemdas"]["nodes"][0]["why"].as_str().map(str::to_owned)
        });
        assert!(!why.is_empty());
    }
    // What the bad ones cost while they are left alone: for as long as a good one takes for a few statuses, each a second after the
    // one before.
    let of_bad_ones = || operator.writes().iter().filter(|it| !it.contains("marker")).count();
    let before = of_bad_ones();
    for _ in 0..size(2, 12) {
        space.settles("Note", |turn| json!({ "value": turn }));
    }
    let cost = of_bad_ones() - before;
    assert!(cost <= 60, "{cost} writes of thirty bad instances that are left alone");
}
