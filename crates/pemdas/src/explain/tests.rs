//! What a person sees of a simulated cluster in which an operator came to rest.

use pemdas_sim::Scenario;
use serde_json::{Value, json};

use super::{Explainer, State, text};
use crate::{demo::play, trial::scene::Scene};

/// What is told, without times, and without what differs with the library.
fn told(scene: &Scene, word: &str, name: &str) -> String {
    let session = scene.session("default");
    let explainer = Explainer::new(&session, scene.readers.clone());
    let all = explainer.object(word, name).unwrap_or_else(|lost| panic!("{lost:?}"));
    plain(&text::explained(&all, session.now(), false))
}

fn plain(told: &str) -> String {
    let line = |line: &str| {
        let line = line.split("  since ").next().unwrap_or(line).split(" since ").next().unwrap_or(line);
        let words = line.trim_end().split(' ').map(|word| {
            let bare = word.trim_end_matches([',', ':', ')', ';']);
            match bare.rsplit_once('-') {
                Some((name, digest)) if is_digest(digest) => format!("{name}-…{}", &word[bare.len()..]),
                _ => word.to_owned(),
            }
        });
        let line = words.collect::<Vec<_>>().join(" ");
        match line.trim_start().split_once(" ago  ") {
            Some((_, rest)) => format!("      … ago  {rest}"),
            None => line,
        }
    };
    told.lines().map(|it| line(it) + "\n").collect()
}

fn is_digest(text: &str) -> bool {
    matches!(text.len(), 10 | 32) && text.chars().all(|it| it.is_ascii_hexdigit())
}

fn blueprint(name: &str, text: &str) -> Value {
    play::config_map(name, &[("main.ncl".to_owned(), text.to_owned())].into(), None)
}

fn config_map(name: &str, labels: &Value) -> Value {
    let metadata = json!({ "name": name, "namespace": "default", "labels": labels });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "a": "theirs" } })
}

#[test]
fn a_cause_in_an_instance_of_another_root_is_told() {
    let play = play::find("foo-service").unwrap();
    let mut scene = Scene::new(play.script.scenario().unwrap());
    let mut objects = vec![play.blueprint("foo-service")];
    objects.extend(play.objects.iter().map(|it| it.1.clone()));
    for object in objects.iter_mut().filter(|it| it["kind"] == "FooService") {
        object["spec"]["schema"] = json!("44");
    }
    scene.apply(&objects);
    insta::assert_snapshot!("another_root", told(&scene, "fooservice", "foo"));
}

/// A blueprint whose root is a labelled ConfigMap.
const LABELLED: &str = r#"let { Blueprint, .. } = import "pemdas/v1.ncl" in
let map = fun name_ => { apiVersion = "v1", kind = "ConfigMap", metadata.name = name_ } in
{
  name = "labelled",
  nodes = {
    app = { root = { apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.app = "yes" }, also = ["first", "second"] },
    first = { template = fun _the => map "first" },
    second = { before = ["first"], template = fun _the => map "second" },
  },
} | Blueprint"#;

#[test]
fn a_configmap_that_a_selector_picks_is_an_instance() {
    let mut scene = Scene::new(Scenario::default());
    let yes = json!({ "app": "yes" });
    scene.apply(&[blueprint("labelled", LABELLED), config_map("it", &yes), config_map("other", &json!({}))]);
    insta::assert_snapshot!("selected", told(&scene, "cm", "it"));
    insta::assert_snapshot!("made_by_selected", told(&scene, "cm", "second"));
    insta::assert_snapshot!("not_selected", told(&scene, "cm", "other"));
    insta::assert_snapshot!("blueprint_of_selected", told(&scene, "cm", "labelled"));
}

#[test]
fn a_foreign_root_that_is_stalled_is_an_instance() {
    let mut scene = Scene::new(Scenario::default());
    let maker = r#"let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "maker",
  kinds.Maker = { group = "odd.example.com", versions.v1.spec = {} },
  nodes = {
    maker = { root = kinds.Maker, also = ["part", "after"] },
    part = {
      template = fun _the => { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "part", labels.app = "yes" } },
      ready = { data.done = "yes" },
    },
    after = { before = ["part"], template = fun _the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "after" } },
  },
} | Blueprint"#;
    let metadata = json!({ "name": "it", "namespace": "default" });
    let it = json!({ "apiVersion": "odd.example.com/v1", "kind": "Maker", "metadata": metadata, "spec": {} });
    let taken = config_map("first", &json!({}));
    scene.apply(&[taken, blueprint("labelled", LABELLED), blueprint("maker", maker), it]);
    insta::assert_snapshot!("stalled_foreign_root", told(&scene, "cm", "part"));
    insta::assert_snapshot!("stalled_behind_foreign_root", told(&scene, "maker", "it"));
}

#[test]
fn an_edge_is_closed_while_what_comes_after_waits_for_it() {
    let mut scene = Scene::new(Scenario::default());
    let text = LABELLED.replace(
        r#"first = { template = fun _the => map "first" }"#,
        r#"first = { template = fun _the => map "first", ready = { data.done = "yes" } }"#,
    );
    scene.apply(&[blueprint("labelled", &text), config_map("it", &json!({ "app": "yes" }))]);
    let seen = |scene: &Scene| {
        let session = scene.session("default");
        let explainer = Explainer::new(&session, scene.readers.clone());
        let all = explainer.object("cm", "it").unwrap_or_else(|lost| panic!("{lost:?}"));
        super::json::explained(&all)["explained"][0].clone()
    };
    let told = seen(&scene);
    assert_eq!(told["graph"]["sequence"][0]["now"], "closed", "{:#}", told["graph"]);
    let why = &told["nodes"][0]["why"][0];
    assert_eq!(why["reasons"][0]["path"], "data", "{why:#}");
    assert!(why["text"].as_str().unwrap().starts_with(why["reasons"][0]["path"].as_str().unwrap()));
    let mut first = config_map("first", &json!({}));
    first["data"] = json!({ "done": "yes" });
    scene.apply(&[first]);
    let told = seen(&scene);
    assert_eq!(told["graph"]["sequence"][0]["now"], "open", "{:#}", told["graph"]);
}

/// A blueprint that owns the kind `Note`.
fn notes(name: &str, fields: &str, by: &str) -> Value {
    let text = r#"let { Blueprint, .. } = import "pemdas/v1.ncl" in
let Short = std.contract.from_predicate (fun text => std.string.length text < 5) in
{
  name = "NAME",
  kinds.Note = { group = "notes.example.com", versions.v1.spec = { text | String | Short, FIELDS } },
  nodes = {
    note = { root = kinds.Note, also = ["paper"] },
    paper.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = "NAME-%{the.root.metadata.name}", data = { text = the.root.spec.text, by = "BY" },
    },
  },
} | Blueprint"#;
    blueprint(name, &text.replace("NAME", name).replace("FIELDS", fields).replace("BY", by))
}

fn note(name: &str, text: &str) -> Value {
    let metadata = json!({ "name": name, "namespace": "default" });
    json!({ "apiVersion": "notes.example.com/v1", "kind": "Note", "metadata": metadata, "spec": { "text": text } })
}

#[test]
fn a_blueprint_whose_kind_is_another_ones_does_not_look_as_if_it_ran() {
    let mut scene = Scene::new(Scenario::default());
    scene.apply(&[notes("first", "", "1"), note("one", "a")]);
    scene.apply(&[notes("second", "", "2")]);
    insta::assert_snapshot!("served_by_first", told(&scene, "note", "one"));
    insta::assert_snapshot!("refused_second", told(&scene, "cm", "second"));
}

#[test]
fn a_revision_that_waits_for_its_crd_is_told_with_what_is_refused() {
    let mut scene = Scene::new(Scenario::default());
    let color = r#"color | String | default = "blue""#;
    scene.apply(&[notes("notes", color, "1"), note("one", "a")]);
    scene.apply(&[notes("notes", "", "2")]);
    insta::assert_snapshot!("waiting_revision", told(&scene, "cm", "notes"));
    insta::assert_snapshot!("instance_of_waiting_revision", told(&scene, "note", "one"));
}

#[test]
fn a_list_says_of_each_instance_what_is_said_of_it_alone() {
    let mut scene = Scene::new(Scenario::default());
    scene.apply(&[notes("notes", "", "1"), note("one", "a"), note("two", "much too long")]);
    let session = scene.session("default");
    let explainer = Explainer::new(&session, scene.readers.clone());
    let (listed, _) = explainer.list("note", false, 10).unwrap_or_else(|lost| panic!("{lost:?}"));
    let states: Vec<State> = listed.iter().map(|it| it.state).collect();
    assert_eq!(states, [State::Ready, State::Stalled]);
    insta::assert_snapshot!("stalled_instance", told(&scene, "note", "two"));
}

#[test]
fn a_blueprint_that_is_being_deleted_names_what_it_waits_for() {
    let told = json!({ "instances": { "total": 12 } });
    let left: Vec<_> = (10..22).map(|it| format!("Shop n/{it}")).collect();
    let text = super::advice::of_going_blueprint("n/shop", &left, &told);
    assert!(
        text.contains("until its 12 instances are gone: delete Shop n/10, ") && text.ends_with("n/19, ..."),
        "{text}"
    );
    // Whoever may not list them is told how many there are.
    let text = super::advice::of_going_blueprint("n/shop", &[], &told);
    assert!(text.ends_with("stays until its 12 instances are gone: delete them"), "{text}");
    assert!(super::advice::of_going_blueprint("n/shop", &[], &json!({})).ends_with("nothing is left"));
}
