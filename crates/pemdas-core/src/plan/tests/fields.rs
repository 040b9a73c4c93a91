//! Whose a field is decides what an apply makes of it.

use serde_json::{Value, json};

use super::{
    Answer, Fate, Function, Functions, blueprint, fate, in_shop, program, root, template, world, written,
};
use crate::{
    path::FieldPath,
    plan::{Plan, plan},
    world::Live,
};

fn web(spec: &Value) -> Answer {
    Answer::Value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "shop" }, "spec": spec,
    }))
}

/// A Deployment that was made with three replicas and is wanted otherwise, after somebody did something to it.
fn changed(wanted: Function, hand: impl Fn(&mut Live)) -> Plan {
    let nodes = || json!({ "app": root(&["web"]), "web": template("web", "Deployment", json!({})) });
    let program = program(in_shop(blueprint(nodes())));
    let mut world = world(&program, Vec::new());
    let functions = |it: Function| Functions([("nodes.web.template", it)].into());
    plan(Some(&program), &mut world, &mut functions(|_| web(&json!({ "replicas": 3, "image": "i" }))));
    for live in world.objects.values_mut().filter(|it| it.key.name == "web") {
        let mut it = (**live).clone();
        hand(&mut it);
        *live = it.into();
    }
    // Another revision gives other answers.
    world.answers = crate::evaluate::Answers::default();
    plan(Some(&program), &mut world, &mut functions(wanted))
}

fn replicas() -> FieldPath {
    FieldPath::of(&["spec", "replicas"])
}

/// `kubectl scale` takes the field from whoever owned it, unless it says the same.
fn scaled(live: &mut Live, to: u32) {
    let mut body = Value::clone(&live.body);
    if body["spec"]["replicas"] != json!(to) {
        live.managed.values_mut().for_each(|it| {
            it.remove(&replicas());
        });
    }
    body["spec"]["replicas"] = json!(to);
    live.body = body.into();
    live.managed.insert("kubectl".to_owned(), [replicas()].into());
}

#[test]
fn a_field_that_nobody_else_owns_goes_with_the_wish_for_it() {
    let plan = changed(|_| web(&json!({ "image": "i" })), |_| {});
    assert_eq!(written(&plan), [vec!["Change web"]]);
    assert_eq!(plan.rounds[0].steps[0].after.as_ref().unwrap()["spec"], json!({ "image": "i" }));
}

#[test]
fn a_field_that_somebody_else_owns_too_stays() {
    // Where it was scaled up, the new pods are still to come.
    for (to, becomes) in [(3, Fate::Done), (5, Fate::Becomes)] {
        let plan = changed(|_| web(&json!({ "image": "i" })), |live| scaled(live, to));
        assert!(plan.is_idle(), "{:?}", plan.rounds);
        assert_eq!(*fate(&plan, "web"), becomes, "{to}");
    }
}

#[test]
fn a_field_that_was_never_ours_is_a_conflict() {
    let hand = |live: &mut Live| {
        let mut body = Value::clone(&live.body);
        body["spec"]["paused"] = json!(true);
        live.body = body.into();
        live.managed.insert("somebody".to_owned(), [FieldPath::of(&["spec", "paused"])].into());
    };
    let plan = changed(|_| web(&json!({ "replicas": 3, "image": "i", "paused": false })), hand);
    assert!(plan.is_idle(), "{:?}", plan.rounds);
    let state = &plan.nodes[&crate::ledger::Slot::new("web", "")];
    assert_eq!(
        (&state.fate, state.last[0].to_string().as_str()),
        (&Fate::Stalled, "Conflict: spec.paused (somebody)")
    );
    // Who wants the same is no obstacle.
    let plan = changed(|_| web(&json!({ "replicas": 3, "image": "j", "paused": true })), hand);
    assert_eq!(written(&plan), [vec!["Change web"]]);
}

#[test]
fn a_quota_is_told_in_its_own_words() {
    let nodes = json!({ "app": root(&["web"]), "web": template("web", "Deployment", json!({})) });
    let program = program(in_shop(blueprint(nodes)));
    let mut world = world(&program, Vec::new());
    let mut functions =
        Functions([("nodes.web.template", (|_| web(&json!({ "replicas": 3 }))) as Function)].into());
    plan(Some(&program), &mut world, &mut functions);
    for live in world.objects.values_mut().filter(|it| it.key.name == "web") {
        let mut it = (**live).clone();
        let mut body = Value::clone(&it.body);
        let message = "pods \"web-7c5\" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0";
        let refused = json!({ "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message });
        body["status"] =
            json!({ "observedGeneration": it.generation, "replicas": 0, "conditions": [refused] });
        it.body = body.into();
        *live = it.into();
    }
    let (decision, _) = crate::plan::standing(Some(&program), &mut world, &mut functions);
    let state = &decision.nodes[&crate::ledger::Slot::new("web", "")];
    let told = state.causes[0].to_string();
    assert!(told.starts_with("status.conditions[ReplicaFailure] is \"True\" (pods"), "{told}");
    assert!(told.contains("exceeded quota: small") && told.contains("status.replicas is 0"), "{told}");
}

#[test]
fn a_field_that_was_ours_is_taken_back() {
    let plan = changed(|_| web(&json!({ "replicas": 4, "image": "i" })), |live| scaled(live, 5));
    assert_eq!(written(&plan), [vec!["Change web"]]);
    assert_eq!(plan.rounds[0].steps[0].after.as_ref().unwrap()["spec"]["replicas"], json!(4));
}
