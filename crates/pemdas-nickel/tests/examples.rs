//! Every example loads clean, and every function of it works on its sample: what is rendered are objects.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod reading;

use std::collections::BTreeMap;
use std::path::Path;

use pemdas_core::blueprint::{Blueprint, Body, Function, Node, RootTarget, WantedShape, WantedShapeForm};
use pemdas_core::diagnostic::Severity;
use pemdas_core::evaluate::{Answer, Form, question};
use pemdas_core::kube_types::{Finding, Kind, Purpose, validate};
use pemdas_nickel::{Evaluator as _, InProcess, Limits, Loaded, Place, Renderer};
use serde_json::{Map, Value, json};

/// Calls the functions of an example for one root, with what its samples say of the cluster.
struct Run<'a> {
    blueprint: &'a Blueprint,
    renderer: &'a Renderer<InProcess>,
    root: Value,
    live: &'a Value,
    /// What each node's object looks like, once it is known.
    seen: BTreeMap<String, Value>,
    rendered: usize,
}

impl Run<'_> {
    /// Calls a function the way the core does: with what it is known to read, and nothing else. What is left out must
    /// make no difference.
    fn call(&self, function: &Function, argument: Value) -> Value {
        let asked = question(b"", "r1", function, Form::Whole, &argument);
        let answer = self.renderer.answers(&[asked]).remove(0);
        let Answer::Value(value) = answer else { panic!("{}: {answer:?}", function.path.join(".")) };
        let place = Place::at(function.path.iter().map(String::as_str)).call([argument.into()]);
        let whole = self.renderer.evaluator().evaluate(&place);
        assert_eq!(whole.as_ref(), Ok(&value), "{}", function.path.join("."));
        value
    }

    /// The identity of a template is what the whole of it says, and needs the root and the member only.
    fn identify(&self, function: &Function, each: Option<(&str, &Value)>, object: &Value) {
        let mut the = json!({ "root": self.root });
        if let Some((key, value)) = each {
            the["each"] = json!({ "key": key, "value": value });
        }
        let asked = question(b"", "r1", function, Form::Identity, &the);
        let Answer::Value(identity) = self.renderer.answers(&[asked]).remove(0) else {
            panic!("{}: no identity", function.path.join("."));
        };
        for field in ["name", "namespace"] {
            assert_eq!(identity.get(field), object["metadata"].get(field), "{}", function.path.join("."));
        }
    }

    /// The input of a node's functions.
    fn the(&mut self, node: &Node, each: Option<(&str, &Value)>) -> Value {
        let mut the = Map::from_iter([
            ("root".to_owned(), self.root.clone()),
            ("self".to_owned(), Value::Null),
            ("seed".to_owned(), json!("0123456789abcdef")),
        ]);
        if let Some((key, value)) = each {
            the.insert("each".to_owned(), json!({ "key": key, "value": value }));
        }
        for (precursor, edge) in &node.before {
            let Some(extract) = &edge.extract else { continue };
            let mut live = self.live(precursor);
            match each {
                Some((key, _)) if edge.each => live = live[key].clone(),
                // What flows from member to member is not there while there are no members yet.
                None if edge.each => continue,
                _ => {}
            }
            the.insert(precursor.clone(), self.call(extract, live));
        }
        Value::Object(the)
    }

    /// What a node's edges and the status see of it.
    fn live(&mut self, name: &str) -> Value {
        if let Some(seen) = self.seen.get(name) {
            return seen.clone();
        }
        let node = self.blueprint.nodes[name].clone();
        let live = match &node.for_each {
            None => self.object(name, &node, None),
            Some(for_each) => {
                let the = self.the(&node, None);
                let members = self.call(for_each, the);
                let members = members.as_object().unwrap_or_else(|| panic!("{name}: members are a record"));
                assert!(!members.is_empty(), "{name}: the sample has members");
                members
                    .iter()
                    .map(|(key, value)| (key.clone(), self.object(name, &node, Some((key, value)))))
                    .collect()
            }
        };
        self.seen.insert(name.to_owned(), live.clone());
        live
    }

    fn object(&mut self, name: &str, node: &Node, each: Option<(&str, &Value)>) -> Value {
        let the = self.the(node, each);
        self.judge_clauses(node, &the);
        let sample = self.live.get(name).cloned().unwrap_or_else(|| json!({}));
        match &node.body {
            Body::Root(_) => self.root.clone(),
            Body::Value(function) => self.call(function, the),
            Body::Observe(observe) => {
                let reference = self.call(&observe.function, the);
                assert!(reference["kind"].is_string(), "{name}: {reference}");
                sample
            }
            Body::Absent(absent) => {
                let reference = self.call(&absent.function, the);
                assert!(reference["name"].is_string(), "{name}: {reference}");
                Value::Null
            }
            Body::Template(template) => {
                let mut object = self.call(&template.function, the);
                if node.state_of.is_none() && !node.late_name {
                    self.identify(&template.function, each, &object);
                }
                if let Some(state_of) = &node.state_of {
                    let mut whole = self.live(state_of);
                    merge(&mut whole, &object);
                    object = whole;
                }
                is_object(name, &object);
                self.rendered += 1;
                merge(&mut object, &sample);
                match node.once.as_ref().and_then(|once| once.result.clone()) {
                    Some(result) => self.call(&result, object),
                    None => object,
                }
            }
        }
    }

    /// Functions beside the body: they have to work on what they see.
    fn judge_clauses(&self, node: &Node, the: &Value) {
        if let Some(key) = &node.key {
            self.call(key, the.clone());
        }
        let edges = node.before.values().filter_map(|edge| edge.until.as_ref());
        for shape in edges.chain(&node.ready).chain(&node.fails) {
            if let WantedShape { form: WantedShapeForm::Function(function), .. } = shape {
                let shape = self.call(function, the.clone());
                pemdas_core::shape::Shape::from_value(&shape)
                    .unwrap_or_else(|error| panic!("{}: {error}", function.path.join(".")));
            }
        }
    }

    /// Everything that the Also edges lead to, from a node on.
    fn need(&mut self, name: &str) {
        let node = self.blueprint.nodes[name].clone();
        for (to, edge) in node.also.iter().chain(&node.deleting) {
            let wanted = edge.when.as_ref().is_none_or(|when| {
                let mut the = Map::from_iter([("root".to_owned(), self.root.clone())]);
                for (precursor, read) in &edge.before {
                    let live = self.live(precursor);
                    if let Some(extract) = &read.extract {
                        the.insert(precursor.clone(), self.call(extract, live));
                    }
                }
                let when = self.call(when, Value::Object(the));
                when.as_bool().unwrap_or_else(|| panic!("{name}.also.{to}.when: {when}"))
            });
            if wanted && !self.seen.contains_key(to) {
                self.live(to);
                self.need(to);
            }
        }
    }

    fn root(&mut self, name: &str) {
        self.need(name);
        let node = self.blueprint.nodes[name].clone();
        let mut the = Map::from_iter([("root".to_owned(), self.root.clone())]);
        for other in self.blueprint.nodes.keys() {
            the.insert(other.clone(), self.seen.get(other).cloned().unwrap_or(Value::Null));
        }
        for function in [&node.status, &node.conditions].into_iter().flatten() {
            let status = self.call(function, Value::Object(the.clone()));
            assert!(status.is_object(), "{}: {status}", function.path.join("."));
        }
    }
}

/// A JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        patch.clone_into(target);
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(target) = target.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

fn is_object(name: &str, object: &Value) {
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        let found = object.pointer(pointer).and_then(Value::as_str);
        assert!(found.is_some_and(|text| !text.is_empty()), "{name}: {pointer} of {object}");
    }
    // Of a built-in kind, it is one that the API server would take.
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    if let Ok(kind) = Kind::find(text("apiVersion"), text("kind")) {
        // What is patched over a sample of the cluster has a status.
        let serious = |finding: &&Finding| finding.problem.severity() == Severity::Error;
        let findings = validate(&kind, object, Purpose::Apply).findings;
        let told: Vec<String> = findings.iter().filter(serious).map(Finding::message).collect();
        assert!(told.is_empty(), "{name}: {told:#?}");
    }
}

/// The root as functions see it: with the contract of its kind applied.
fn checked_root(
    renderer: &Renderer<InProcess>,
    blueprint: &Blueprint,
    target: &RootTarget,
    sample: &Value,
) -> Value {
    renderer
        .admit(blueprint, target, sample)
        .unwrap_or_else(|failure| panic!("the sample of {target:?}: {failure:?}"))
}

fn load_clean(directory: &Path) -> (Renderer<InProcess>, Blueprint) {
    let sources = reading::sources_of(directory);
    let loaded = Loaded::in_process(&sources, &Limits::default());
    let serious: Vec<_> =
        loaded.diagnostics.iter().filter(|it| it.severity != Severity::Note).cloned().collect();
    assert!(serious.is_empty(), "{}:\n{}", directory.display(), reading::shown(&serious, &sources));
    assert!(loaded.is_sound() && loaded.graph.is_some());
    (loaded.renderer.expect("a renderer"), loaded.blueprint.expect("a blueprint"))
}

/// Checks one example; how many objects it rendered.
fn check_example(name: &str) -> usize {
    let directory = reading::workspace("examples").join(name);
    let readme = std::fs::read_to_string(directory.join("README.md")).expect("a README");
    assert!(readme.starts_with(&format!("# {name}\n")), "{name}: the README begins with its name");
    let (renderer, blueprint) = load_clean(&directory);
    assert_eq!(blueprint.name, name);
    let live = reading::yaml(&directory.join("sample/live.yaml"));
    let mut rendered = 0;
    for (root, node) in &blueprint.nodes {
        let Body::Root(body) = &node.body else { continue };
        let sample = reading::yaml(&directory.join(format!("sample/{root}.yaml")));
        let instance = checked_root(&renderer, &blueprint, &body.target, &sample);
        let mut run = Run {
            blueprint: &blueprint,
            renderer: &renderer,
            root: instance,
            live: &live,
            seen: BTreeMap::new(),
            rendered: 0,
        };
        run.root(root);
        rendered += run.rendered;
    }
    rendered
}

macro_rules! examples {
    ($($test:ident = $name:literal renders $count:literal,)*) => {
        const EXAMPLES: &[&str] = &[$($name,)*];
        $(
            #[test]
            fn $test() {
                assert_eq!(check_example($name), $count, "objects rendered from the samples");
            }
        )*
    };
}

examples! {
    web_app = "web-app" renders 5,
    foo_service = "foo-service" renders 8,
    postgres = "postgres" renders 7,
    redis_cache = "redis-cache" renders 15,
    namespace_defaults = "namespace-defaults" renders 5,
    on_secret = "on-secret" renders 3,
    blue_green = "blue-green" renders 5,
}

#[test]
fn every_example_has_a_test() {
    let mut found: Vec<String> = std::fs::read_dir(reading::workspace("examples"))
        .expect("examples")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let mut known = EXAMPLES.to_vec();
    known.sort_unstable();
    assert_eq!(found, known);
}
