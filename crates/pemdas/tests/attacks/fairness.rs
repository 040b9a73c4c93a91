//! Nobody waits for a bad neighbour: shown by the order and the number of requests, not by the time they take.

use serde_json::{Value, json};

use super::{
    bed::{Space, a_while, bed, condition, until},
    input::NOTE,
    operators::Plan,
};

#[test]
fn a_crowded_blueprint_does_not_delay_another() {
    const CROWD: usize = 100;
    let (crowd, quiet) = (Space::new("crowd"), Space::new("quiet"));
    let operator = Plan::over(&[&crowd, &quiet]).start();
    for space in [&crowd, &quiet] {
        space.blueprint("blueprint", NOTE);
        space.runs("blueprint");
    }
    // Everything is there when the operator goes on: who is first is its choice alone.
    operator.signal("STOP");
    let items: Vec<_> = (0..CROWD)
        .map(|it| {
            json!({
                "apiVersion": format!("{}/v1", crowd.group), "kind": "Note",
                "metadata": { "name": format!("n{it}"), "namespace": crowd.name }, "spec": { "value": "a" },
            })
        })
        .collect();
    bed().cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()).unwrap();
    quiet.instance("Note", "one", &json!({ "value": "a" }));
    operator.signal("CONT");
    quiet.ready("Note", "one");
    until("the crowd is ready", || {
        let text = crowd.kubectl(&["get", &crowd.kind("Note"), "-o", "json"]).ok()?;
        let list: Value = serde_json::from_str(&text).ok()?;
        let items = list["items"].as_array()?;
        items.iter().all(|it| condition(it, "Ready")["status"] == "True").then_some(())
    });
    let writes = operator.writes();
    let maps: Vec<_> = writes
        .iter()
        .filter(|it| it.starts_with("patch ") && it.contains(" configmaps ") && !it.contains("blueprint"))
        .collect();
    let place = maps.iter().position(|it| it.contains(&quiet.name)).expect("the quiet one was made");
    assert!(maps.len() > CROWD, "{}", maps.len());
    assert!(place < CROWD / 2, "the quiet one was number {place} of {}", maps.len());
    // And the crowd cost what it has to: an object and a status each.
    let of_crowd = writes.iter().filter(|it| it.contains(&crowd.name) && !it.contains("blueprint")).count();
    assert!(of_crowd <= 2 * CROWD + CROWD / 4, "{of_crowd} writes for {CROWD} instances");
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
    // What the bad ones cost while they are left alone.
    a_while();
    let before = operator.writes().len();
    for _ in 0..4 {
        a_while();
    }
    let cost = operator.writes().len() - before;
    assert!(cost <= 60, "{cost} writes of thirty bad instances in twelve seconds");
    let kind = space.kind("Note");
    for name in ["endless0", "invalid0", "taken0"] {
        let why = until("it says why", || {
            space.get(&kind, name)?["status"]["pemdas"]["nodes"][0]["why"].as_str().map(str::to_owned)
        });
        assert!(!why.is_empty());
    }
}
