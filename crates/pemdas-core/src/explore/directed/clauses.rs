//! Clauses of a node, each alone: what it means, in one small world.

use serde_json::{Value, json};
use std::rc::Rc;

use super::{at_rest, clean, delete_root, jobs, rounds, stalled, there, v};
use crate::action::Action;
use crate::blueprint::{
    Absent, Body, Conflict, ContractRef, First, Fits, FittingField, Function, NamePart, Node, Once, Report,
    SequenceEdge, WantedShape, WantedShapeForm,
};
use crate::evaluate::Answer;
use crate::explore::lab::{Lab, key, kind, shape, span};
use crate::explore::sim::Sim;
use crate::explore::zoo::{chain, drain, fleet, job};
use crate::ledger::End;
use crate::shape::Shape;
use crate::world::{Fact, ObjectKey, Refusal, WriteOutcome};

pub(super) fn answering(
    lab: &mut Lab,
    path: &str,
    reads: &[&str],
    run: impl Fn(&Value) -> Value + 'static,
) -> Function {
    lab.function(path, reads, move |the| Answer::Value(run(the)))
}

fn note(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Note", "metadata": { "name": name }, "spec": spec })
}

pub(super) fn status(sim: &Sim) -> Value {
    sim.root().map_or(Value::Null, |it| it.body["status"].clone())
}

pub(super) fn condition(sim: &Sim, kind: &str) -> Value {
    let status = status(sim);
    let all = status["conditions"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|it| it["type"] == kind).unwrap_or_default()
}

pub(super) fn a_status_is_what_its_author_says() {
    let mut lab = chain();
    let function = answering(
        &mut lab,
        "nodes.app.status",
        &["a.status", "root.metadata.name"],
        |the| json!({ "seen": the["a"]["status"]["v"], "of": the["root"]["metadata"]["name"] }),
    );
    lab.node("app").status = Some(function);
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    assert_eq!(status(&sim)["seen"], 1);
    assert_eq!(status(&sim)["of"], "a");
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready());
    assert_eq!(status(&sim)["seen"], 2);
    clean(&sim);
    let sim = at_rest(&[chain()], json!({ "v": 1 }));
    assert_eq!(status(&sim)["a"]["v"], 1, "without one: the statuses of what the root needs");
}

pub(super) fn an_authors_condition_lowers_ready_and_never_raises_it() {
    for (says, expected) in [(false, "False"), (true, "True")] {
        let mut lab = chain();
        let function = answering(
            &mut lab,
            "nodes.app.conditions",
            &["a.status"],
            move |_| json!({ "Ready": { "status": says, "reason": "Night" }, "Extra": { "status": true } }),
        );
        lab.node("app").conditions = Some(function);
        let mut sim = at_rest(&[lab], json!({ "v": 1 }));
        assert_eq!(condition(&sim, "Ready")["status"], expected);
        assert_eq!(condition(&sim, "Extra")["status"], "True");
        sim.asleep.push(key("Thing", "a-a"));
        sim.set_spec(&json!({ "v": 2 }));
        sim.settle();
        assert_eq!(condition(&sim, "Ready")["status"], "False", "raised by an author's word");
        clean(&sim);
    }
}

pub(super) fn a_time_changes_only_with_what_it_speaks_of() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let before = status(&sim);
    sim.world.learn(Fact::Now(sim.world.now + 3_600_000));
    sim.cluster.edit(
        &key("Thing", "a-a"),
        "somebody",
        &json!({ "metadata": { "annotations": { "x": "y" } } }),
    );
    rounds(&mut sim, 5);
    assert_eq!(status(&sim), before, "nothing happened, and the status was written");
    sim.flap(&key("Thing", "a-a"));
    rounds(&mut sim, 5);
    assert_eq!(condition(&sim, "Ready")["status"], "False");
    let moved = |kind: &str| {
        let old = before["conditions"].as_array().unwrap().iter().find(|it| it["type"] == kind).unwrap();
        old["lastTransitionTime"] != condition(&sim, kind)["lastTransitionTime"]
    };
    assert!(moved("Ready") && !moved("Stalled"), "{:#}", status(&sim));
}

pub(super) fn what_a_server_makes_of_a_status_is_not_fought() {
    let mut sim = Sim::new(&[chain()], &json!({ "v": 1 }));
    sim.cluster.pruned = Some("a");
    assert!(sim.settle() && sim.is_ready(), "it writes for ever");
    assert!(status(&sim).get("a").is_none() && status(&sim).get("b").is_some());
    let version = sim.cluster.version;
    rounds(&mut sim, 10);
    assert_eq!(sim.cluster.version, version);
}

pub(super) fn a_report_is_copied_into_the_status() {
    let mut lab = chain();
    lab.node("app").report = Some(Report {
        service: "a".to_owned(),
        service_span: span(),
        port: 80,
        path: "/".to_owned(),
        field: Some("web".to_owned()),
        map: None,
    });
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    assert!(status(&sim).get("web").is_none());
    sim.world.learn(Fact::Report(Some(json!({ "users": 3 }))));
    assert!(sim.settle() && sim.is_ready());
    assert_eq!(status(&sim)["web"]["users"], 3);
    sim.world.learn(Fact::Report(Some(json!({ "users": 4 }))));
    sim.settle();
    assert_eq!(status(&sim)["web"]["users"], 4);
    clean(&sim);
}

pub(super) fn a_contract_is_asked_of_the_evaluator() {
    let mut lab = chain();
    answering(&mut lab, "nodes.b.before.a.until", &[], |live| {
        if live["status"]["v"] == 2 { json!(true) } else { json!("v is too small") }
    });
    let path = ["nodes", "b", "before", "a", "until"].map(str::to_owned).to_vec();
    let form = WantedShapeForm::Contract(ContractRef { path, span: span(), fits: None });
    lab.node("b").before.get_mut("a").unwrap().until = Some(WantedShape { span: span(), form });
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.settle();
    assert!(!there(&sim, "Thing", "a-b") && !sim.is_ready());
    let told = format!("{:?}", sim.decision.as_ref().unwrap().nodes);
    assert!(told.contains("v is too small"), "{told}");
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready() && there(&sim, "Thing", "a-b"));
    clean(&sim);
}

pub(super) fn a_root_that_breaks_its_contract_is_left_as_it_is() {
    let field = |fits, default| FittingField { fits, optional: false, default };
    let fields = [
        ("v".to_owned(), field(Fits::Whole { least: None, most: Some(8) }, None)),
        ("filled".to_owned(), field(Fits::Text { least: 0, most: None }, Some(json!("yes")))),
    ];
    judged_by(None);
    judged_by(Some(Fits::Record(fields.into())));
}

fn judged_by(fits: Option<Fits>) {
    let mut lab = chain();
    let described = fits.is_some();
    lab.function("contract", &[], move |spec| match spec["v"].as_u64() {
        Some(9) => Answer::Error("v: 9 is too much".to_owned()),
        _ if described => Answer::Error("nobody has to be asked".to_owned()),
        _ => Answer::Value(json!({ "v": spec["v"], "filled": "yes" })),
    });
    let contract = ContractRef { path: vec!["contract".to_owned()], span: span(), fits };
    lab.blueprint.kinds.get_mut("App").unwrap().versions.get_mut("v1").unwrap().spec = Some(contract);
    renamed_by(&mut lab, "a", &["root.spec"], |the| {
        json!({
            "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "a-a" },
            "spec": { "v": the["root"]["spec"]["v"], "filled": the["root"]["spec"]["filled"] },
        })
    });
    let mut sim = at_rest(&[lab.clone()], json!({ "v": 1 }));
    let spec = |sim: &Sim| sim.cluster.objects[&key("Thing", "a-a")].body["spec"].clone();
    assert_eq!(spec(&sim), json!({ "v": 1, "filled": "yes" }), "templates see what the contract fills in");
    sim.set_spec(&json!({ "v": 9 }));
    sim.settle();
    assert!(
        !sim.is_ready() && sim.stalled().iter().any(|it| it.contains("v: 9 is too much")),
        "{:?}",
        sim.stalled()
    );
    assert_eq!(condition(&sim, "Stalled")["reason"], "BreaksContract");
    assert_eq!(spec(&sim)["v"], 1, "nothing is changed");
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(spec(&sim)["v"], 2);
    sim.set_spec(&json!({ "v": 9 }));
    sim.settle();
    delete_root(&mut sim);
    assert!(sim.settle() && !there(&sim, "Thing", "a-a") && sim.root().is_none(), "it can still be deleted");
    clean(&sim);
}

fn renamed_by(lab: &mut Lab, node: &str, reads: &[&str], run: impl Fn(&Value) -> Value + 'static) {
    let function = answering(lab, &format!("nodes.{node}.template"), reads, run);
    let Body::Template(template) = &mut lab.node(node).body else { panic!("no template") };
    template.object.name = NamePart::Computed(function.reads.clone());
    template.function = function;
}

pub(super) fn a_computed_name_is_asked_alone() {
    let mut lab = Lab::new().template("a", "Note", &[]).also("app", "a");
    renamed_by(&mut lab, "a", &["root.spec.v"], |the| {
        let v = the["root"]["spec"]["v"].as_str().unwrap_or_default();
        note(&format!("note-{v}"), &json!({ "v": v }))
    });
    let mut sim = at_rest(&[lab], json!({ "v": "one" }));
    assert!(there(&sim, "Note", "note-one"));
    sim.set_spec(&json!({ "v": "two" }));
    assert!(sim.settle() && sim.is_ready());
    assert!(there(&sim, "Note", "note-two") && !there(&sim, "Note", "note-one"));
    clean(&sim);
}

pub(super) fn a_late_name_is_known_with_its_inputs() {
    let mut lab = Lab::new().template("a", "Thing", &[]).template("b", "Note", &["a"]);
    renamed_by(&mut lab, "b", &["a", "root.spec.v"], |the| {
        let from = the["a"].as_str().unwrap_or_default().replace('/', "-").to_lowercase();
        note(&format!("{from}-{}", the["root"]["spec"]["v"]), &json!({ "v": the["root"]["spec"]["v"] }))
    });
    lab.node("b").late_name = true;
    let mut sim = at_rest(&[lab.also("app", "a").also("app", "b")], json!({ "v": 1 }));
    assert!(there(&sim, "Note", "thing-a-a-1"));
    sim.cluster.delete(&key("Thing", "a-a"));
    sim.asleep.push(key("Thing", "a-a"));
    rounds(&mut sim, 4);
    assert!(there(&sim, "Note", "thing-a-a-1"), "a name that is not known for a while removes nothing");
    sim.asleep.clear();
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert!(there(&sim, "Note", "thing-a-a-2") && !there(&sim, "Note", "thing-a-a-1"));
}

pub(super) fn a_value_is_passed_on() {
    let mut lab = Lab::new().template("a", "Thing", &[]);
    let function = answering(
        &mut lab,
        "nodes.sum.value",
        &["root.spec.v"],
        |the| json!({ "kind": "Sum", "metadata": { "name": format!("of-{}", the["root"]["spec"]["v"]) } }),
    );
    let mut node = Node::new(span(), Body::Value(function));
    node.before.insert("a".to_owned(), SequenceEdge::new(span()));
    lab.blueprint.nodes.insert("sum".to_owned(), node);
    let lab = lab.template("b", "Note", &["sum"]).also("app", "a").also("app", "sum").also("app", "b");
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a"));
    sim.settle();
    assert!(!there(&sim, "Note", "a-b"), "a value is settled when its edges are open");
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready());
    let uses = |sim: &Sim| sim.live(&key("Note", "a-b")).unwrap().body["spec"]["uses"].clone();
    assert_eq!(uses(&sim), json!(["Sum/of-1"]));
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready());
    assert_eq!(uses(&sim), json!(["Sum/of-2"]));
    clean(&sim);
}

pub(super) fn with_each_a_member_waits_for_its_own() {
    let mut lab = fleet().template("edge", "Note", &[]).for_each("edge", "members").also("app", "edge");
    let edge = SequenceEdge { each: true, ..SequenceEdge::new(span()) };
    lab.node("edge").before.insert("unit".to_owned(), edge);
    let mut sim = Sim::new(&[lab], &json!({ "v": 1, "members": { "x": 1, "y": 1 } }));
    sim.asleep.push(key("Thing", "a-unit-y"));
    sim.settle();
    let made: Vec<_> = sim.cluster.objects.keys().map(|it| it.name.clone()).collect();
    let nodes = &sim.decision.as_ref().unwrap().nodes;
    assert!(there(&sim, "Note", "a-edge-x") && !there(&sim, "Note", "a-edge-y"), "{made:?} {nodes:?}");
    assert!(!there(&sim, "Note", "a-front"), "without `each`, all members are waited for");
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready() && there(&sim, "Note", "a-edge-y"));
    clean(&sim);
}

pub(super) fn a_yielded_field_is_left_to_its_owner() {
    let lab = chain().with("c", |it| it.conflict = Conflict::Yield);
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    sim.cluster.edit(&key("Note", "a-c"), "hand", &json!({ "spec": { "uses": ["mine"] } }));
    rounds(&mut sim, 6);
    assert_eq!(sim.live(&key("Note", "a-c")).unwrap().body["spec"]["uses"], json!(["mine"]));
    assert!(sim.is_ready(), "{:?}", sim.decision);
    let version = sim.cluster.version;
    rounds(&mut sim, 6);
    assert_eq!(version, sim.cluster.version, "it goes on writing");
}

/// How many there are is an autoscaler's to say once it has said so; a person's number is drift, and so is every other field.
pub(super) fn the_number_of_replicas_is_left_to_an_autoscaler() {
    let lab = Lab::new().template_with("a", "Server", &[], |_| json!({ "replicas": 2 })).also("app", "a");
    let server = key("Server", "a-a");
    let replicas = |sim: &Sim| sim.live(&server).unwrap().body["spec"]["replicas"].clone();
    let scale = |sim: &mut Sim, by: &str, to: i64| {
        sim.cluster.edit(&server, by, &json!({ "spec": { "replicas": to } }));
        rounds(sim, 4);
        sim.settle();
    };
    let mut sim = at_rest(std::slice::from_ref(&lab), json!({ "v": 1 }));
    scale(&mut sim, "kubectl", 5);
    assert_eq!(replicas(&sim), 2, "a person's number is drift");
    for to in [5, 3, 9, 4, 7, 1] {
        scale(&mut sim, "kube-controller-manager", to);
        assert!(replicas(&sim) == to && sim.is_ready(), "{} {:?}", replicas(&sim), sim.stalled());
    }
    let version = sim.cluster.version;
    rounds(&mut sim, 6);
    sim.crash();
    sim.settle();
    assert_eq!(version, sim.cluster.version, "it goes on writing");
    // The rest of the template is applied as ever.
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!((replicas(&sim), v(&sim, "Server", "a-a")), (json!(1), json!(2)));
    sim.edit_by("somebody", &server);
    assert!(sim.settle() && sim.is_ready() && v(&sim, "Server", "a-a") == 2, "{:?}", sim.stalled());
    clean(&sim);
    // Unless the blueprint says otherwise.
    let mut sim = at_rest(&[lab.with("a", |it| it.conflict = Conflict::Force)], json!({ "v": 1 }));
    scale(&mut sim, "kube-controller-manager", 5);
    assert_eq!(replicas(&sim), 2);
}

pub(super) fn a_human_lets_the_old_one_go_first() {
    let lab = Lab::new().template("a", "Thing", &[]).named_by("a", "root.spec.v").also("app", "a");
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a-2"));
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(there(&sim, "Thing", "a-a-1"));
    sim.annotate("replace-first", "a");
    sim.settle();
    assert!(!there(&sim, "Thing", "a-a-1") && there(&sim, "Thing", "a-a-2"));
}

pub(super) fn a_once_is_retried_as_often_as_it_says() {
    let lab = job().with("job", |it| it.once = Some(Once { done: None, result: None, retry: 2 }));
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    for _ in 0..40 {
        rounds(&mut sim, 1);
        sim.control(&key("Thing", "a-before"), End::Passed);
        for name in jobs(&sim) {
            sim.control(&name, End::Failed);
        }
    }
    let entry = sim.entry("job").unwrap();
    assert_eq!((entry.attempt, entry.retries, entry.end), (3, 2, Some(End::Failed)));
    assert!(stalled(&sim, "Failed") && !there(&sim, "Note", "a-after"));
}

pub(super) fn a_first_key_may_be_a_baseline() {
    let lab = job().with("job", |it| it.first = First::Skip);
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    assert!(jobs(&sim).is_empty());
    assert_eq!(sim.entry("job").unwrap().attempt, 0);
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(sim.entry("job").unwrap().attempt, 1);
    let lab = drain().with("drained", |it| it.first = First::Skip);
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.watcher = Some(Rc::new(|_, action| match action {
        Action::Create { body, .. } | Action::Change { body, .. } => {
            (body["spec"]["replicas"] == 0).then(|| "it is drained for its first key".to_owned())
        }
        _ => None,
    }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    clean(&sim);
    sim.watcher = None;
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(sim.entry("drained").unwrap().attempt, 1);
}

fn kept_away(having: WantedShapeForm) -> Lab {
    let mut lab = Lab::new().absent("old", "Thing", "legacy", &[]).also("app", "old");
    let Body::Absent(Absent { having: limit, .. }) = &mut lab.node("old").body else { panic!("no absent") };
    *limit = Some(WantedShape { span: span(), form: having });
    lab
}

fn legacy(sim: &mut Sim, version: i64) {
    let body = json!({ "kind": "Thing", "metadata": { "name": "legacy" }, "spec": { "v": version } });
    sim.cluster.create(&key("Thing", "legacy"), "somebody", body);
}

pub(super) fn having_limits_what_is_kept_away() {
    let seven = Shape::from_value(&json!({ "spec": { "v": 7 } })).unwrap();
    for (version, stays) in [(1, true), (7, false)] {
        let mut sim = Sim::new(&[kept_away(WantedShapeForm::Native(seven.clone()))], &json!({ "v": 1 }));
        legacy(&mut sim, version);
        assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
        assert_eq!(there(&sim, "Thing", "legacy"), stays);
    }
    let mut lab = kept_away(WantedShapeForm::Native(Shape::Any));
    let function =
        lab.function("nodes.old.having", &["root.spec.w"], |_| Answer::Missing("spec.w".to_owned()));
    let Body::Absent(absent) = &mut lab.node("old").body else { panic!("no absent") };
    absent.having = Some(WantedShape { span: span(), form: WantedShapeForm::Function(function) });
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    legacy(&mut sim, 7);
    sim.settle();
    assert!(there(&sim, "Thing", "legacy") && !sim.is_ready(), "what is not known deletes nothing");
}

pub(super) fn an_object_of_the_cluster_has_no_namespace() {
    let lab = Lab::new().template("z", "Zone", &[]).template("b", "Note", &["z"]);
    let mut sim = at_rest(&[lab.also("app", "z").also("app", "b")], json!({ "v": 1 }));
    let zone = ObjectKey::new(kind("Zone"), String::new(), "a-z".to_owned());
    let live = sim.live(&zone).expect("the zone").clone();
    assert!(live.body["metadata"].get("namespace").is_none());
    assert!(live.body["metadata"].get("ownerReferences").is_none(), "its owner would be in a namespace");
    delete_root(&mut sim);
    sim.settle();
    assert!(sim.root().is_none() && sim.live(&zone).is_none());
    clean(&sim);
}

pub(super) fn a_state_may_be_part_of_the_deletion() {
    let mut sim = at_rest(&[drain().deleting("drained")], json!({ "v": 1 }));
    sim.watcher = Some(Rc::new(|sim, action| {
        let server = key("Server", "a-serving");
        let serves = sim.live(&server).is_some_and(|it| it.body["spec"]["replicas"] != 0);
        let deletes = matches!(action, Action::Delete { key, .. } if *key == server);
        (deletes && serves).then(|| "it is deleted before it is drained".to_owned())
    }));
    delete_root(&mut sim);
    sim.settle();
    clean(&sim);
    assert!(sim.root().is_none() && sim.claimed().is_empty(), "{:?}", sim.stalled());
}

pub(super) fn a_deletion_that_takes_too_long_asks_a_human() {
    let lab = drain().template("final", "Thing", &["serving"]).deleting("final");
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-final"));
    delete_root(&mut sim);
    rounds(&mut sim, 6);
    assert!(!stalled(&sim, "DeletionBlocked"), "{:?}", sim.stalled());
    let wake = sim.decision.as_ref().and_then(|it| it.wake).expect("it looks again when the time is over");
    sim.world.learn(Fact::Now(wake));
    rounds(&mut sim, 1);
    assert!(stalled(&sim, "DeletionBlocked") && there(&sim, "Server", "a-serving"), "{:?}", sim.stalled());
    sim.annotate("skip-deletion", "yes");
    sim.settle();
    assert!(sim.root().is_none() && sim.claimed().is_empty());
}

pub(super) fn what_was_refused_otherwise_is_deleted_all_the_same() {
    let mut sim = at_rest(&[chain()], json!({ "v": 1 }));
    let tried = crate::digest::Digest::of(&[], &json!(["create", "of long ago"]));
    let refused = WriteOutcome::Refused(Refusal::Forbidden("not then".to_owned()));
    sim.world.learn(Fact::Outcome(key("Thing", "a-b"), tried, refused));
    delete_root(&mut sim);
    assert!(sim.settle() && sim.root().is_none() && sim.claimed().is_empty(), "{:?}", sim.stalled());
    clean(&sim);
}

pub(super) fn a_kind_that_reports_no_generation_may_say_so() {
    let lab = chain().with("a", |it| it.observed = false);
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a"));
    sim.settle();
    assert!(there(&sim, "Thing", "a-b"), "with `observed = false` nothing is missing");
    let ready = json!({ "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": 1 }] });
    sim.cluster.set_status(&key("Thing", "a-a"), ready);
    assert!(sim.settle() && sim.is_ready());
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert!(!sim.is_ready(), "a condition that speaks of the generation before");
}

pub(super) fn a_shape_that_fails_is_told_and_closes_no_edge() {
    let failed = Shape::Condition { kind: "Broken".to_owned(), status: "True".to_owned(), reason: None };
    let lab = chain().with("a", |it| it.fails = Some(shape(failed)));
    let mut sim = at_rest(&[lab], json!({ "v": 1 }));
    let mut status = sim.live(&key("Thing", "a-a")).unwrap().body["status"].clone();
    status["conditions"] =
        json!([{ "type": "Broken", "status": "True" }, { "type": "Ready", "status": "True" }]);
    sim.cluster.set_status(&key("Thing", "a-a"), status);
    rounds(&mut sim, 2);
    assert!(stalled(&sim, "Failed") && !sim.is_ready());
    sim.cluster.delete(&key("Note", "a-c"));
    rounds(&mut sim, 4);
    assert!(there(&sim, "Note", "a-c"), "what comes after it is held");
}
