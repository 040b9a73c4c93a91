#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "the helpers of a test are the test, and data is written where it is used"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Fate, Plan, Verb, assume, known_kinds, merge, plan};
use crate::{
    blueprint::Blueprint,
    evaluate::{Answer, Evaluator, Form, Question},
    graph::Graph,
    ledger::Slot,
    program::{Program, Revision},
    shape::Shape,
    world::{KindKey, Lease, LedgerFact, Live, ObjectKey, World},
};

mod fields;
mod root;

type Function = fn(&Value) -> Answer;

/// Functions by their path.
struct Functions(BTreeMap<&'static str, Function>);

impl Evaluator for Functions {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        let answer = |question: &Question| {
            let path = question.path.join(".");
            let Some(function) = self.0.get(path.as_str()) else { panic!("no function {path}") };
            match (question.form, function(&question.input)) {
                (Form::Identity, Answer::Value(value)) => Answer::Value(value["metadata"].clone()),
                (_, answer) => answer,
            }
        };
        batch.iter().map(answer).collect()
    }
}

fn span() -> Value {
    json!({ "file": "main.ncl", "start": 0, "end": 0 })
}

fn function(path: &str) -> Value {
    let whole =
        if path.starts_with("nodes.uses") { vec![json!({ "path": [], "span": span() })] } else { vec![] };
    let path: Vec<&str> = path.split('.').collect();
    json!({ "path": path, "span": span(), "reads": whole })
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({
        "api_version": { "known": api_version }, "kind": { "known": kind },
        "name": { "pattern": [{ "text": name }] }, "namespace": "missing",
    })
}

fn template(node: &str, kind: &str, more: Value) -> Value {
    let api_version = if kind == "Deployment" { "apps/v1" } else { "v1" };
    let function = function(&format!("nodes.{node}.template"));
    let mut made = json!({
        "span": span(),
        "body": { "template": { "function": function, "object": object(api_version, kind, node) } },
    });
    for (name, value) in more.as_object().unwrap() {
        made[name] = value.clone();
    }
    if made.get("for_each").is_some() {
        let key = json!({ "input": { "path": ["each", "key"], "span": span() } });
        made["body"]["template"]["object"]["name"] =
            json!({ "pattern": [{ "text": format!("{node}-") }, key] });
    }
    made
}

fn edge(more: Value) -> Value {
    let mut edge = json!({ "span": span() });
    for (name, value) in more.as_object().unwrap() {
        edge[name] = value.clone();
    }
    edge
}

fn root(also: &[&str]) -> Value {
    let also: BTreeMap<_, _> = also.iter().map(|it| (*it, json!({ "span": span() }))).collect();
    json!({
        "span": span(),
        "body": { "root": { "target": { "foreign": { "api_version": "v1", "kind": "Namespace" } } } },
        "also": also,
    })
}

fn blueprint(nodes: Value) -> Blueprint {
    serde_json::from_value(json!({ "name": "b", "library": 1, "span": span(), "nodes": nodes })).unwrap()
}

fn program(blueprint: Blueprint) -> Program {
    let (graph, problems) = Graph::of(&blueprint);
    assert!(problems.iter().all(|it| it.severity != crate::diagnostic::Severity::Error), "{problems:?}");
    let revision = Revision { name: "r1".to_owned(), ordinal: 1 };
    Program::new(blueprint, &graph, "app", revision).unwrap()
}

/// The Namespace `shop`, which is the root, and these objects.
fn world(program: &Program, objects: Vec<Live>) -> World {
    let key = ObjectKey::new(KindKey::new("v1", "Namespace"), String::new(), "shop".to_owned());
    let mut world = World::new(key.clone(), "u");
    world.lease = Lease { held: true, epoch: 0 };
    world.ledger = LedgerFact::Absent;
    world.kinds = known_kinds(&program.blueprint);
    world.objects = objects.into_iter().map(|it| (it.key.clone(), Arc::new(it))).collect();
    let root = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } });
    super::show_root(&mut world, live(&key, root));
    world
}

fn played(blueprint: Blueprint, functions: &[(&'static str, Function)], objects: Vec<Live>) -> Plan {
    let program = program(blueprint);
    let mut world = world(&program, objects);
    let mut functions = Functions(functions.iter().copied().collect());
    plan(Some(&program), &mut world, &mut functions)
}

fn live(key: &ObjectKey, body: Value) -> Live {
    Live {
        key: key.clone(),
        uid: "u".to_owned(),
        resource_version: 1,
        generation: None,
        terminating: false,
        finalizers: [].into(),
        managed: crate::packed::Packed::default(),
        body: body.into(),
    }
}

fn map(name: &str, data: &Value) -> Answer {
    Answer::Value(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "shop" }, "data": data,
    }))
}

fn deployment(replicas: u32, image: &Value) -> Answer {
    Answer::Value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": { "replicas": replicas, "image": image },
    }))
}

fn in_shop(mut blueprint: Blueprint) -> Blueprint {
    for node in blueprint.nodes.values_mut() {
        if let crate::blueprint::Body::Template(template) = &mut node.body {
            let part = serde_json::from_value(json!({ "pattern": [{ "text": "shop" }] })).unwrap();
            template.object.namespace = part;
        }
    }
    blueprint
}

fn written(plan: &Plan) -> Vec<Vec<String>> {
    let step = |it: &super::Step| format!("{:?} {}", it.verb, it.slot);
    plan.rounds.iter().map(|round| round.steps.iter().map(step).collect()).collect()
}

fn fate<'a>(plan: &'a Plan, node: &str) -> &'a Fate {
    &plan.nodes[&Slot::new(node, "")].fate
}

#[test]
fn depth_takes_rounds_and_width_does_not() {
    let nodes = json!({
        "app": root(&["a", "b", "web", "last"]),
        "a": template("a", "ConfigMap", json!({})),
        "b": template("b", "ConfigMap", json!({})),
        "web": template("web", "Deployment", json!({ "before": { "a": edge(json!({})), "b": edge(json!({})) } })),
        "last": template("last", "ConfigMap", json!({ "before": { "web": edge(json!({})) } })),
    });
    let functions: [(&str, Function); 4] = [
        ("nodes.a.template", |_| map("a", &json!({}))),
        ("nodes.b.template", |_| map("b", &json!({}))),
        ("nodes.web.template", |_| deployment(2, &json!("i"))),
        ("nodes.last.template", |_| map("last", &json!({}))),
    ];
    let plan = played(in_shop(blueprint(nodes)), &functions, Vec::new());
    assert_eq!(written(&plan), [vec!["Create a", "Create b"], vec!["Create web"], vec!["Create last"]]);
    assert!(plan.is_complete() && plan.conditions.ready, "{plan:?}");
    assert_eq!(*fate(&plan, "last"), Fate::Acts(vec![3]));
}

#[test]
fn a_service_gets_its_address_and_what_comes_after_it_is_planned() {
    let nodes = json!({
        "app": root(&["after", "balancer"]),
        "balancer": template("balancer", "Service", json!({})),
        "after": template("after", "ConfigMap", json!({ "before": { "balancer": edge(json!({})) } })),
    });
    let functions: [(&str, Function); 2] = [
        ("nodes.balancer.template", |_| {
            Answer::Value(json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "balancer" },
                "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] } }))
        }),
        ("nodes.after.template", |_| map("after", &json!({}))),
    ];
    let plan = played(in_shop(blueprint(nodes)), &functions, Vec::new());
    assert_eq!(written(&plan), [vec!["Create balancer"], vec!["Create after"]]);
    assert!(plan.is_complete() && plan.conditions.ready, "{plan:?}");
}

#[test]
fn data_that_only_the_cluster_knows_ends_a_branch() {
    let nodes = json!({
        "app": root(&["web", "uses", "free"]),
        "web": template("web", "Deployment", json!({})),
        "uses": template("uses", "ConfigMap", json!({ "before": {
            "web": edge(json!({ "extract": function("nodes.uses.before.web.extract") })),
        } })),
        "free": template("free", "ConfigMap", json!({ "before": { "web": edge(json!({})) } })),
    });
    let functions: [(&str, Function); 4] = [
        ("nodes.web.template", |_| deployment(1, &json!("i"))),
        ("nodes.uses.template", |the| map("uses", &the["web"])),
        ("nodes.uses.before.web.extract", |live| match &live["status"]["url"] {
            Value::Null => Answer::Missing("status.url".to_owned()),
            url => Answer::Value(json!({ "url": url })),
        }),
        ("nodes.free.template", |_| map("free", &json!({}))),
    ];
    let plan = played(in_shop(blueprint(nodes)), &functions, Vec::new());
    assert_eq!(written(&plan), [vec!["Create web"], vec!["Create free"]]);
    assert_eq!(*fate(&plan, "uses"), Fate::Waits);
    let why = plan.nodes[&Slot::new("uses", "")].last[0].to_string();
    assert!(why.contains("status.url is missing"), "{why}");
    assert!(!plan.is_complete());
}

#[test]
fn what_a_shape_asks_for_is_known_to_those_who_wait_for_it() {
    let until = json!({ "span": span(), "form": { "native": { "status": { "url": "http://x" } } } });
    let nodes = json!({
        "app": root(&["web", "uses"]),
        "web": template("web", "Deployment", json!({})),
        "uses": template("uses", "ConfigMap", json!({ "before": { "web": edge(json!({
            "until": until, "extract": function("nodes.uses.before.web.extract"),
        })) } })),
    });
    let functions: [(&str, Function); 3] = [
        ("nodes.web.template", |_| deployment(1, &json!("i"))),
        ("nodes.uses.template", |the| map("uses", &the["web"])),
        ("nodes.uses.before.web.extract", |live| match &live["status"]["url"] {
            Value::Null => Answer::Missing("status.url".to_owned()),
            url => Answer::Value(json!({ "url": url })),
        }),
    ];
    let plan = played(in_shop(blueprint(nodes)), &functions, Vec::new());
    assert_eq!(written(&plan), [vec!["Create web"], vec!["Create uses"]]);
    let assumed = &plan.rounds[0].assumed[0];
    assert_eq!(assumed.fields, [("status.url".to_owned(), json!("http://x"))]);
    assert_eq!(plan.rounds[1].steps[0].after.as_ref().unwrap()["data"], json!({ "url": "http://x" }));
}

#[test]
fn a_state_that_is_only_a_baseline_is_passed_without_its_object() {
    let nodes = json!({
        "app": root(&["drained", "migrated", "web"]),
        "drained": json!({
            "span": span(), "state_of": "web", "first": "Skip",
            "body": { "template": { "function": function("nodes.drained.template"), "object": {
                "api_version": "missing", "kind": "missing", "name": "missing", "namespace": "missing" } } },
            "key": function("nodes.drained.key"),
        }),
        "migrated": template("migrated", "ConfigMap", json!({ "before": { "drained": edge(json!({})) } })),
        "web": template("web", "Deployment", json!({ "before": { "migrated": edge(json!({})) } })),
    });
    let functions: [(&str, Function); 4] = [
        ("nodes.drained.template", |_| Answer::Value(json!({ "spec": { "replicas": 0 } }))),
        ("nodes.drained.key", |_| Answer::Value(json!("1"))),
        ("nodes.migrated.template", |_| map("migrated", &json!({}))),
        ("nodes.web.template", |_| deployment(3, &json!("i"))),
    ];
    let plan = played(in_shop(blueprint(nodes)), &functions, Vec::new());
    assert_eq!(written(&plan), [vec!["Create migrated"], vec!["Create web"]]);
    assert_eq!(*fate(&plan, "drained"), Fate::Done);
    assert_eq!(plan.rounds[1].steps[0].after.as_ref().unwrap()["spec"]["replicas"], json!(3));
}

/// Members that are not known yet are waited for, also member by member.
#[test]
fn a_member_waits_for_its_like_even_before_there_is_one() {
    let each = |function_path: &str| json!({ "for_each": function(function_path) });
    let mut replicas = each("nodes.replicas.for_each");
    replicas["before"] = json!({ "first": edge(json!({})) });
    let mut caches = each("nodes.caches.for_each");
    caches["before"] = json!({ "replicas": edge(json!({ "each": true })) });
    let nodes = json!({
        "app": root(&["first", "replicas", "caches"]),
        "first": template("first", "ConfigMap", json!({})),
        "replicas": template("replicas", "ConfigMap", replicas),
        "caches": template("caches", "ConfigMap", caches),
    });
    let functions: [(&str, Function); 5] = [
        ("nodes.first.template", |_| map("first", &json!({}))),
        ("nodes.replicas.for_each", |_| Answer::Value(json!({ "x": 1 }))),
        ("nodes.replicas.template", |_| map("replicas-x", &json!({}))),
        ("nodes.caches.for_each", |_| Answer::Value(json!({ "x": 1 }))),
        ("nodes.caches.template", |_| map("caches-x", &json!({}))),
    ];
    let plan = played(in_shop(blueprint(nodes)), &functions, Vec::new());
    assert_eq!(written(&plan), [vec!["Create first"], vec!["Create replicas[x]"], vec!["Create caches[x]"]]);
    // What was said of all members before there were any is said of each.
    assert!(!plan.nodes.contains_key(&Slot::new("replicas", "")), "{:?}", plan.nodes);
    assert!(!plan.nodes[&Slot::new("replicas", "x")].first.is_empty());
    // Whoever comes after waits for the node, which says what it waits for itself.
    let first = &plan.nodes[&Slot::new("caches", "x")].first;
    assert_eq!(first.iter().map(ToString::to_string).collect::<Vec<_>>(), ["waits for replicas"]);
}

#[test]
fn what_is_in_the_way_is_told_and_not_written() {
    let nodes = json!({ "app": root(&["a"]), "a": template("a", "ConfigMap", json!({})) });
    let key = ObjectKey::new(KindKey::new("v1", "ConfigMap"), "shop".to_owned(), "a".to_owned());
    let there = live(
        &key,
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "shop" } }),
    );
    let functions: [(&str, Function); 1] = [("nodes.a.template", |_| map("a", &json!({})))];
    let plan = played(in_shop(blueprint(nodes)), &functions, vec![there]);
    assert!(plan.is_idle() && !plan.is_complete());
    assert_eq!(*fate(&plan, "a"), Fate::Stalled, "{:?}", plan.nodes);
}

/// Plans, takes the objects that would be there, and plans again.
#[test]
fn what_was_applied_is_not_applied_again_and_what_changed_is() {
    fn nodes() -> Value {
        json!({ "app": root(&["a", "b"]), "a": template("a", "ConfigMap", json!({})), "b": template("b", "ConfigMap", json!({})) })
    }
    let functions: [(&str, Function); 2] = [
        ("nodes.a.template", |_| map("a", &json!({ "x": "1" }))),
        ("nodes.b.template", |_| map("b", &json!({ "y": "1" }))),
    ];
    let objects = || {
        let program = program(in_shop(blueprint(nodes())));
        let mut world = world(&program, Vec::new());
        // Another key: digests of a cluster are not ours to make.
        world.secret = b"other".to_vec();
        let mut functions = Functions(functions.iter().copied().collect());
        plan(Some(&program), &mut world, &mut functions);
        let root = world.root.key.clone();
        world.objects.values().filter(|it| it.key != root).map(|it| (**it).clone()).collect::<Vec<_>>()
    };
    let again = played(in_shop(blueprint(nodes())), &functions, objects());
    assert!(again.is_idle() && again.is_complete(), "{:?}", written(&again));
    let other: [(&str, Function); 2] =
        [("nodes.a.template", |_| map("a", &json!({ "z": "2" }))), functions[1]];
    let changed = played(in_shop(blueprint(nodes())), &other, objects());
    assert_eq!(written(&changed), [vec!["Change a"]]);
    let step = &changed.rounds[0].steps[0];
    assert_eq!(step.verb, Verb::Change);
    assert_eq!(step.before.as_ref().unwrap()["data"], json!({ "x": "1" }));
    assert_eq!(step.after.as_ref().unwrap()["data"], json!({ "z": "2" }));
    // A node less: its object goes.
    let fewer = json!({ "app": root(&["a"]), "a": template("a", "ConfigMap", json!({})) });
    let fewer = played(in_shop(blueprint(fewer)), &functions, objects());
    assert_eq!(written(&fewer), [vec!["Delete b"]]);
    assert_eq!(*fate(&fewer, "b"), Fate::Goes(vec![1]));
}

#[test]
fn lists_are_merged_as_the_server_does() {
    let live = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "spec": { "replicas": 2, "template": { "spec": {
            "restartPolicy": "Always",
            "containers": [
                { "name": "side", "image": "s" },
                { "name": "web", "image": "old", "terminationMessagePath": "/dev/termination-log",
                  "ports": [{ "containerPort": 80, "protocol": "TCP" }],
                  "resources": { "limits": { "memory": "1Gi" } } },
            ],
        } } },
    });
    let wanted = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "spec": { "template": { "spec": { "containers": [
            { "name": "web", "image": "new", "ports": [{ "containerPort": 80 }],
              "resources": { "limits": { "memory": "1024Mi" } }, "args": null },
        ] } } },
    });
    let owned = ["spec.replicas"].map(|it| crate::path::FieldPath::of(&it.split('.').collect::<Vec<_>>()));
    let after = merge::applied(&live, &wanted, &owned.into_iter().collect());
    let mut expected = live.clone();
    expected["spec"].as_object_mut().unwrap().remove("replicas");
    expected["spec"]["template"]["spec"]["containers"][1]["image"] = json!("new");
    assert_eq!(after, expected);
}

#[test]
fn a_list_element_that_is_no_longer_wanted_goes() {
    let live = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "spec": { "template": { "spec": { "containers": [
        { "name": "web", "image": "i", "args": ["a"] }, { "name": "side", "image": "s" } ] } } } });
    let wanted = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "spec": { "template": { "spec": { "containers": [
        { "name": "web", "image": "i" } ] } } } });
    let at = |last: &[&str]| {
        let mut path = vec!["spec", "template", "spec", "containers"];
        path.extend(last);
        crate::path::FieldPath::of(&path)
    };
    let owned = [
        at(&["[{\"name\":\"web\"}]", "args"]),
        at(&["[{\"name\":\"web\"}]", "image"]),
        at(&["[{\"name\":\"side\"}]", "name"]),
        at(&["[{\"name\":\"side\"}]", "image"]),
    ];
    assert_eq!(merge::applied(&live, &wanted, &owned.into_iter().collect()), wanted);
}

#[test]
fn string_data_of_a_secret_becomes_data() {
    let wanted =
        json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "a": "hunter2", "b": "", "c": "ab" } });
    let after = merge::applied(&json!({}), &wanted, &[].into());
    assert_eq!(after["data"], json!({ "a": "aHVudGVyMg==", "b": "", "c": "YWI=" }));
    assert!(after.get("stringData").is_none());
}

#[test]
fn a_seed_that_is_not_on_record_is_what_the_object_holds() {
    let live =
        json!({ "data": { "token": "b2xk", "url": "x" }, "metadata": { "labels": { "id": "a-old" } } });
    let mut wanted = json!({ "stringData": { "token": "seed1", "more": "seed1", "url": "y" }, "metadata": { "labels": { "id": "a-seed1" } } });
    merge::recall(&mut wanted, &live, "seed1");
    assert_eq!(
        wanted,
        json!({ "stringData": { "more": "seed1", "url": "y" }, "data": { "token": "b2xk" }, "metadata": { "labels": { "id": "a-old" } } })
    );
}

#[test]
fn only_the_status_is_made_up() {
    let shape = |data: Value| Shape::from_value(&data).unwrap();
    let mut object = json!({ "spec": { "paused": true } });
    assert!(assume::satisfy(
        &mut object,
        &shape(json!({ "status": { "phase": "Up", "n": { "~shape": "more_than", "value": 2 } } }))
    ));
    assert_eq!(object["status"], json!({ "phase": "Up", "n": 3 }));
    assert!(!assume::satisfy(&mut object, &shape(json!({ "spec": { "paused": false } }))));
    assert!(!assume::satisfy(
        &mut object,
        &shape(json!({ "status": { "url": { "~shape": "matches", "pattern": "^h" } } }))
    ));
    assert_eq!(object["spec"], json!({ "paused": true }));
    assert!(assume::satisfy(
        &mut object,
        &shape(json!({ "status": { "list": { "~shape": "some", "item": { "a": 1 } } } }))
    ));
    assert_eq!(object["status"]["list"], json!([{ "a": 1 }]));
}

/// Played with the accidents of the engine, where deliberate bugs are looked for.
pub(crate) fn what_has_no_members_is_needed_all_the_same() {
    let mut watched = object("v1", "ConfigMap", "x");
    watched["namespace"] = json!({ "pattern": [{ "text": "shop" }] });
    let observe = json!({
        "function": function("nodes.watch.observe"), "object": watched,
        "by_selector": true, "optional": false,
    });
    let mut nodes = json!({
        "app": root(&["watch", "made", "unit"]),
        "watch": { "span": span(), "body": { "observe": observe } },
        "made": template("made", "ConfigMap", json!({ "before": { "watch": edge(json!({})) } })),
        "unit": template("unit", "ConfigMap", json!({ "for_each": function("nodes.unit.for_each") })),
        "never": template("never", "ConfigMap", json!({})),
    });
    nodes["app"]["also"]["never"] = json!({ "span": span(), "when": function("nodes.app.also.never.when") });
    let functions: [(&'static str, Function); 5] = [
        ("nodes.watch.observe", |_| {
            let labels = json!({ "matchLabels": { "x": "y" } });
            let (kind, namespace) = ("ConfigMap", "shop");
            Answer::Value(
                json!({ "apiVersion": "v1", "kind": kind, "namespace": namespace, "selector": labels }),
            )
        }),
        ("nodes.made.template", |_| map("made", &json!({}))),
        ("nodes.unit.for_each", |_| Answer::Value(json!({}))),
        ("nodes.never.template", |_| map("never", &json!({}))),
        ("nodes.app.also.never.when", |_| Answer::Value(json!(false))),
    ];
    let plan = played(in_shop(blueprint(nodes)), &functions, Vec::new());
    assert_eq!((fate(&plan, "watch"), fate(&plan, "unit")), (&Fate::Passes, &Fate::Passes));
    assert_eq!((fate(&plan, "made"), fate(&plan, "never")), (&Fate::Acts(vec![1]), &Fate::NotNeeded));
}
