//! The root itself: as nodes observe it, and as it goes.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    Answer, Fate, Function, Functions, blueprint, edge, fate, function, in_shop, map, object, program, root,
    span, template, world, written,
};
use crate::{
    action::Action,
    decide::{Mode, decide},
    plan::{Plan, delete_root, hold_root, plan},
    world::{Fact, LedgerFact},
};

const MADE: (&str, Function) = ("nodes.made.template", |_| map("made", &json!({})));

#[test]
fn a_node_that_observes_the_root_sees_it() {
    let observe = json!({
        "function": function("nodes.itself.observe"), "object": object("v1", "Namespace", "shop"),
        "by_selector": false, "optional": false,
    });
    let nodes = json!({
        "app": root(&["made"]),
        "itself": { "span": span(), "body": { "observe": observe } },
        "made": template("made", "ConfigMap", json!({ "before": { "itself": edge(json!({
            "until": { "span": span(), "form": { "native": { "metadata": { "name": "shop" } } } },
        })) } })),
    });
    let mut nodes = nodes;
    nodes["app"]["also"]["itself"] = json!({ "span": span() });
    let functions: [(&str, Function); 2] = [
        MADE,
        ("nodes.itself.observe", |_| {
            Answer::Value(json!({ "apiVersion": "v1", "kind": "Namespace", "name": "shop" }))
        }),
    ];
    let plan = super::played(in_shop(blueprint(nodes)), &functions, Vec::new());
    assert_eq!(written(&plan), [vec!["Create made"]]);
    assert_eq!((fate(&plan, "itself"), fate(&plan, "made")), (&Fate::Done, &Fate::Acts(vec![1])));
}

#[test]
fn a_node_that_observes_the_root_does_not_wait_for_itself() {
    let observe = json!({
        "function": function("nodes.itself.observe"), "object": object("v1", "Namespace", "shop"),
        "by_selector": false, "optional": false,
    });
    let mut nodes = json!({
        "app": root(&["made"]),
        "itself": { "span": span(), "body": { "observe": observe } },
        "made": template("made", "ConfigMap", json!({ "before": { "itself": edge(json!({})) } })),
    });
    nodes["app"]["also"]["itself"] = json!({ "span": span() });
    let functions: [(&'static str, Function); 2] = [
        MADE,
        ("nodes.itself.observe", |_| {
            Answer::Value(json!({ "apiVersion": "v1", "kind": "Namespace", "name": "shop" }))
        }),
    ];
    let mut functions = Functions(functions.into_iter().collect());
    let program = program(in_shop(blueprint(nodes)));
    let mut world = world(&program, Vec::new());
    // Something took a while, and so the root says that it is not ready.
    let mut root = (**world.root.live.as_ref().unwrap()).clone();
    let mut body = serde_json::Value::clone(&root.body);
    body["status"] =
        json!({ "conditions": [{ "type": "Ready", "status": "False", "reason": "Reconciling" }] });
    root.body = body.into();
    crate::plan::show_root(&mut world, root);
    let plan = plan(Some(&program), &mut world, &mut functions);
    assert_eq!(written(&plan), [vec!["Create made"]]);
    assert_eq!((fate(&plan, "itself"), fate(&plan, "made")), (&Fate::Done, &Fate::Acts(vec![1])));
}

#[test]
fn what_nobody_collects_is_deleted() {
    let nodes = json!({ "app": root(&["made"]), "made": template("made", "ConfigMap", json!({})) });
    let mut functions = Functions([MADE].into_iter().collect());
    let program = program(in_shop(blueprint(nodes)));
    let mut world = world(&program, Vec::new());
    plan(Some(&program), &mut world, &mut functions);
    let made = world.objects.keys().find(|it| it.name == "made").unwrap().clone();
    world.learn(Fact::RootVanished);
    let left = decide(Some(&program), &world);
    assert!(left.conditions.reconciling && left.actions.is_empty(), "{left:?}");
    let until = left.wake.expect("it looks again");
    world.learn(Fact::Now(until - 1));
    assert_eq!(decide(Some(&program), &world).actions, []);
    world.learn(Fact::Now(until));
    let actions = decide(Some(&program), &world).actions;
    assert!(matches!(&actions[..], [Action::Delete { key, .. }] if key.name == "made"), "{actions:?}");
    world.learn(Fact::Vanished(made, 1_000_000));
    assert!(!decide(Some(&program), &world).conditions.reconciling);
}

/// What would happen if the root were deleted, once the instance is as planned. Where files show the objects alone, the root loses its
/// finalizers between the two.
fn deleted(files_only: bool) -> Plan {
    let mut nodes = json!({
        "app": root(&["made", "used"]),
        "made": template("made", "ConfigMap", json!({})),
        "used": template("used", "ConfigMap", json!({ "before": { "made": edge(json!({})) } })),
        "last": template("last", "ConfigMap", json!({})),
    });
    nodes["app"]["deleting"] = json!({ "last": { "span": span() } });
    let functions: [(&'static str, Function); 3] = [
        MADE,
        ("nodes.used.template", |_| map("used", &json!({}))),
        ("nodes.last.template", |_| map("last", &json!({}))),
    ];
    let mut functions = Functions(functions.into_iter().collect());
    let program = program(in_shop(blueprint(nodes)));
    let mut world = world(&program, Vec::new());
    let made = plan(Some(&program), &mut world, &mut functions);
    assert_eq!(written(&made), [vec!["Create made"], vec!["Create used"]]);
    if files_only {
        let mut root = (**world.root.live.as_ref().unwrap()).clone();
        root.finalizers = BTreeSet::new();
        crate::plan::show_root(&mut world, root);
        world.ledger = LedgerFact::Absent;
        hold_root(&program, &mut world);
    }
    delete_root(&mut world);
    plan(Some(&program), &mut world, &mut functions)
}

#[test]
fn a_deletion_runs_its_nodes_and_goes_in_order() {
    for files_only in [false, true] {
        let plan = deleted(files_only);
        let steps: Vec<_> = written(&plan).concat();
        assert_eq!(steps[0], "Create last", "{steps:?}");
        let at = |step: &str| steps.iter().position(|it| it == step).unwrap_or_else(|| panic!("{steps:?}"));
        assert!(at("Delete used") < at("Delete made"), "{steps:?}");
        assert_eq!((steps.len(), plan.mode), (4, Mode::Removing), "{steps:?}");
    }
}
