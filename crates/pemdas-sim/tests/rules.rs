//! Rules of the real API server that surprise, each as small as it can be said. The comparison with the real server found them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use pemdas_sim::{Method, Request, Server, Time};
use serde_json::{Value, json};

const GADGETS: &str = "/apis/example.com/v1/namespaces/default/gadgets";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

struct Client {
    server: Server,
    now: Time,
}

impl Client {
    /// A server with a kind that has two versions, a status, and can be scaled.
    fn new() -> Self {
        let now = Time(1_700_000_000_000);
        let mut client = Self { server: Server::new(1, now), now };
        let spec = json!({ "type": "object", "properties": { "size": { "type": "integer" }, "replicas": { "type": "integer" } } });
        let status = json!({ "type": "object", "properties": { "phase": { "type": "string" } } });
        let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
        let version = |name: &str, stored: bool| {
            json!({
                "name": name, "served": true, "storage": stored, "schema": { "openAPIV3Schema": schema },
                "subresources": {
                    "status": {}, "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
                },
            })
        };
        let definition = json!({
            "metadata": { "name": "gadgets.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": { "plural": "gadgets", "kind": "Gadget" },
                "versions": [version("v1", true), version("v2", false)],
            },
        });
        client.send(Method::Post, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
        client
    }

    fn typed(&mut self, method: Method, target: &str, kind: &str, body: &Value) -> (u16, Value) {
        self.now = Time(self.now.0 + 1_000);
        let mut request = Request::new(method, target);
        if !body.is_null() {
            request = request.json(kind, body);
        }
        let response = self.server.handle(self.now, &request).whole().unwrap();
        (response.status, response.body)
    }

    fn send(&mut self, method: Method, target: &str, body: &Value) -> Value {
        let kind = if method == Method::Patch { MERGE } else { "application/json" };
        let (status, body) = self.typed(method, target, kind, body);
        assert!(status < 300, "{body:#}");
        body
    }

    fn apply(&mut self, metadata: &Value, spec: &Value) -> Value {
        let mut body =
            json!({ "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata, "spec": spec });
        body["metadata"]["name"] = json!("a");
        let target = format!("{GADGETS}/a?fieldManager=applier");
        let (status, body) = self.typed(Method::Patch, &target, APPLY, &body);
        assert!(status < 300, "{body:#}");
        body
    }

    /// Scales the gadget; who manages its number of replicas then, and whether the entry has a time.
    fn scale(&mut self, replicas: i64) -> Vec<(String, bool)> {
        let target = format!("{GADGETS}/a/scale?fieldManager=scaler");
        self.send(Method::Patch, &target, &json!({ "spec": { "replicas": replicas } }));
        let object = self.send(Method::Get, &format!("{GADGETS}/a"), &Value::Null);
        assert_eq!(object["spec"]["replicas"], replicas);
        let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let managing = entries.iter().filter(|entry| entry.pointer("/fieldsV1/f:spec/f:replicas").is_some());
        managing
            .map(|entry| (entry["manager"].as_str().unwrap().to_owned(), entry.get("time").is_some()))
            .collect()
    }
}

fn version(object: &Value) -> &Value {
    &object["metadata"]["resourceVersion"]
}

fn list(names: &[(&str, bool)]) -> Vec<(String, bool)> {
    names.iter().map(|(name, timed)| ((*name).to_owned(), *timed)).collect()
}

#[test]
fn a_number_of_replicas_that_nobody_manages_is_managed_by_nobody_after_a_scale() {
    let mut client = Client::new();
    client.apply(&json!({}), &json!({ "size": 1 }));
    assert_eq!(client.scale(0), list(&[]), "it is set although it was nothing before");
    assert_eq!(client.scale(3), list(&[]));
}

#[test]
fn a_scale_takes_the_number_of_replicas_from_its_manager_and_0_from_everybody() {
    let mut client = Client::new();
    client.apply(&json!({}), &json!({ "replicas": 3 }));
    assert_eq!(client.scale(3), list(&[("applier", true)]), "nothing changed");
    assert_eq!(client.scale(4), list(&[("scaler", false)]));
    assert_eq!(client.scale(0), list(&[]));
}

#[test]
fn a_scale_that_changes_nothing_splits_the_entry_of_who_updated() {
    let mut client = Client::new();
    let body = json!({ "metadata": { "name": "a" }, "apiVersion": "example.com/v1", "kind": "Gadget", "spec": { "size": 1, "replicas": 3 } });
    client.send(Method::Post, &format!("{GADGETS}?fieldManager=creator"), &body);
    assert_eq!(client.scale(3), list(&[("creator", false)]));
    assert_eq!(client.scale(3), list(&[]), "of two entries of one manager the last one counts");
}

#[test]
fn a_scale_has_to_say_a_number_if_there_is_none() {
    let mut client = Client::new();
    client.apply(&json!({}), &json!({ "size": 1 }));
    let (status, refusal) = client.typed(Method::Patch, &format!("{GADGETS}/a/scale"), MERGE, &json!({}));
    assert_eq!((status, refusal["reason"].as_str()), (400, Some("BadRequest")), "{refusal}");
}

#[test]
fn empty_metadata_that_was_applied_to_a_custom_object_is_written_away_by_a_patch_that_changes_nothing() {
    let mut client = Client::new();
    let applied = client.apply(&json!({ "labels": {} }), &json!({ "size": 1 }));
    let target = format!("{GADGETS}/a");
    let settled = client.send(Method::Patch, &target, &json!({}));
    assert_ne!(version(&applied), version(&settled));
    let same = client.send(Method::Patch, &target, &json!({}));
    assert_eq!(version(&settled), version(&same));
}

#[test]
fn an_empty_list_of_managers_forgets_those_of_built_in_objects_only() {
    let mut client = Client::new();
    let name = json!({ "name": "a", "managedFields": [], "labels": { "x": "y" } });
    let created = client.apply(&json!({}), &json!({ "size": 1 }));
    let mut body =
        json!({ "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": name, "spec": { "size": 2 } });
    body["metadata"]["resourceVersion"] = version(&created).clone();
    let replaced = client.send(Method::Put, &format!("{GADGETS}/a"), &body);
    assert!(replaced.pointer("/metadata/managedFields").is_some());
    let maps = "/api/v1/namespaces/default/configmaps";
    client.send(Method::Post, maps, &json!({ "metadata": { "name": "a" }, "data": { "a": "b" } }));
    let replaced = client.send(Method::Put, &format!("{maps}/a"), &json!({ "metadata": name }));
    assert!(replaced.pointer("/metadata/managedFields").is_none());
}

#[test]
fn families_of_addresses_are_kept_by_a_patch_but_not_by_a_replacement() {
    let complaints = |method: Method| {
        let mut client = Client::new();
        let ports = json!([{ "port": 80 }]);
        let headless =
            json!({ "metadata": { "name": "a" }, "spec": { "clusterIP": "None", "ports": ports } });
        client.send(Method::Post, SERVICES, &headless);
        let selects =
            json!({ "metadata": { "name": "a" }, "spec": { "ports": ports, "selector": { "x": "y" } } });
        let kind = if method == Method::Patch { MERGE } else { "application/json" };
        let (status, refusal) = client.typed(method, &format!("{SERVICES}/a"), kind, &selects);
        assert_eq!(status, 422);
        refusal["details"]["causes"].as_array().unwrap().len()
    };
    assert_eq!(complaints(Method::Patch), 2);
    assert_eq!(complaints(Method::Put), 1);
}

#[test]
fn labels_of_a_job_are_those_of_its_template_only_if_it_has_none() {
    let labels = |own: Value| {
        let spec = json!({ "restartPolicy": "Never", "containers": [{ "name": "a", "image": "a" }] });
        let template = json!({ "metadata": { "labels": { "app": "x" } }, "spec": spec });
        let body = json!({ "metadata": { "name": "a", "labels": own }, "spec": { "template": template } });
        let created = Client::new().send(Method::Post, "/apis/batch/v1/namespaces/default/jobs", &body);
        created["metadata"]["labels"].as_object().unwrap().len()
    };
    assert_eq!(labels(json!({ "app": "x" })), 1);
    assert_eq!(labels(json!({})), 5, "one map with the template's, which gets the name and the uid");
}

#[test]
fn the_name_of_a_stateful_set_is_a_label() {
    let spec = json!({ "containers": [{ "name": "a", "image": "a" }] });
    let template = json!({ "metadata": { "labels": { "app": "x" } }, "spec": spec });
    let spec =
        json!({ "serviceName": "a", "selector": { "matchLabels": { "app": "x" } }, "template": template });
    let named = |name: &str| {
        let body = json!({ "metadata": { "name": name }, "spec": spec });
        let target = "/apis/apps/v1/namespaces/default/statefulsets";
        Client::new().typed(Method::Post, target, "application/json", &body).0
    };
    assert_eq!((named("a"), named("a.b")), (201, 422));
}

#[test]
fn a_replacement_without_a_status_takes_it_from_managers_of_another_version_only() {
    let managers = |written: &str| {
        let mut client = Client::new();
        let created = client.apply(&json!({}), &json!({ "size": 1 }));
        let target = format!("{GADGETS}/a/status?fieldManager=observer");
        let status = json!({ "status": { "phase": "x" } });
        let mut body = json!({ "kind": "Gadget", "metadata": { "name": "a" }, "spec": { "size": 2 } });
        body["metadata"]["resourceVersion"] = version(&client.send(Method::Patch, &target, &status)).clone();
        assert_ne!(*version(&created), body["metadata"]["resourceVersion"]);
        body["apiVersion"] = json!(format!("example.com/{written}"));
        let target = format!("{}/a", GADGETS.replace("v1", written));
        let replaced = client.send(Method::Put, &target, &body);
        assert_eq!(replaced["status"]["phase"], "x", "the status itself stays");
        let entries = replaced["metadata"]["managedFields"].as_array().unwrap().clone();
        entries.iter().filter(|entry| entry["manager"] == "observer").count()
    };
    assert_eq!(managers("v1"), 1);
    assert_eq!(managers("v2"), 0);
}
