//! The examples: what they make, and what a plan says that it does not foresee.

use serde_json::{Value, json};

use super::{Stage, Subject};
use crate::demo::play;

fn subject(name: &'static str) -> (Subject, Vec<Value>) {
    let play = play::find(name).unwrap();
    let subject = Subject {
        name,
        files: play.given.files.clone(),
        account: play.account.clone(),
        given: Vec::new(),
        scenario: play.script.scenario().unwrap(),
        exact: false,
    };
    let prepared = subject.prepared();
    let all = play.objects.into_iter().map(|it| it.1);
    let (mut roots, given): (Vec<_>, Vec<_>) = all.partition(|it| prepared.root_of(it).is_ok());
    for root in &mut roots {
        if root["kind"] != "Namespace" {
            root["metadata"]["namespace"] = json!("default");
        }
    }
    (Subject { given, ..subject }, roots)
}

/// An example with its samples, then with a change, then to its end. What was not foreseen, a line each.
fn played(name: &'static str, kind: &str, change: &Value) -> String {
    let (subject, roots) = subject(name);
    let mut stage: Stage<'_> = subject.begin();
    for root in &roots {
        stage.apply(root);
    }
    let mut changed = roots.iter().find(|it| it["kind"] == kind).unwrap().clone();
    merge(&mut changed, change);
    stage.apply(&changed);
    for root in roots.iter().rev() {
        stage.delete(root);
    }
    stage.unforeseen.into_iter().map(|it| format!("{it}\n")).collect()
}

fn merge(into: &mut Value, with: &Value) {
    match (into, with) {
        (Value::Object(fields), Value::Object(others)) => {
            for (name, other) in others {
                if other.is_null() {
                    fields.remove(name);
                } else {
                    merge(fields.entry(name.clone()).or_insert(Value::Null), other);
                }
            }
        }
        (into, with) => with.clone_into(into),
    }
}

#[test]
fn blue_green_is_as_planned() {
    insta::assert_snapshot!(
        "unforeseen_blue_green",
        played("blue-green", "Site", &json!({ "spec": { "version": "r43" } }))
    );
}

#[test]
fn foo_service_is_as_planned() {
    insta::assert_snapshot!(
        "unforeseen_foo_service",
        played("foo-service", "FooService", &json!({ "spec": { "replicas": 5 } }))
    );
}

#[test]
fn namespace_defaults_is_as_planned() {
    let change = json!({ "metadata": { "labels": { "tenancy.example.com/defaults": "small" } } });
    insta::assert_snapshot!(
        "unforeseen_namespace_defaults",
        played("namespace-defaults", "Namespace", &change)
    );
}

#[test]
fn on_secret_is_as_planned() {
    insta::assert_snapshot!(
        "unforeseen_on_secret",
        played("on-secret", "Secret", &json!({ "stringData": { "token": "another" } }))
    );
}

#[test]
fn postgres_is_as_planned() {
    insta::assert_snapshot!(
        "unforeseen_postgres",
        played("postgres", "PostgresInstance", &json!({ "spec": { "storage": "20Gi" } }))
    );
}

#[test]
fn redis_cache_is_as_planned() {
    insta::assert_snapshot!(
        "unforeseen_redis_cache",
        played("redis-cache", "GeoDatabase", &json!({ "spec": { "regions": ["eu-west", "us-east"] } }))
    );
}

#[test]
fn web_app_is_as_planned() {
    insta::assert_snapshot!(
        "unforeseen_web_app",
        played("web-app", "WebApp", &json!({ "spec": { "replicas": 1, "host": null } }))
    );
}
