//! Custom kinds: defaults, pruning, fields that are kept, types of lists, numbers that are strings.

use pemdas_kube::resource::Resource;
use serde_json::{Value, json};

use super::{Bench, WRITES, send, send_as};
use crate::{
    server::{client, namespace, until},
    settle::instance::Instance,
};

fn definition() -> Value {
    let text = || json!({ "type": "string" });
    let open = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let item = json!({ "type": "object", "required": ["name"], "properties": {
        "name": text(), "protocol": { "type": "string", "default": "TCP" }, "count": { "type": "integer" }, "bare": { "type": "object" },
    } });
    let list =
        |kind: &str, items: Value| json!({ "type": "array", "x-kubernetes-list-type": kind, "items": items });
    let mut map = list("map", item.clone());
    map["x-kubernetes-list-map-keys"] = json!(["name", "protocol"]);
    let spec = json!({ "type": "object", "properties": {
        "text": text(),
        "count": { "type": "integer", "format": "int64" },
        "ratio": { "type": "number" },
        "yes": { "type": "boolean" },
        "defaulted": { "type": "string", "default": "d" },
        "inner": { "type": "object", "default": {}, "properties": { "a": { "type": "string", "default": "x" }, "b": text() } },
        "nullable": { "type": "string", "nullable": true },
        "nulldefault": { "type": "string", "nullable": true, "default": "d" },
        "bare": { "type": "object" },
        "open": open(),
        "halfopen": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "known": { "type": "object", "properties": { "a": text() } } } },
        "embedded": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
        "either": { "x-kubernetes-int-or-string": true },
        "quantity": { "anyOf": [{ "type": "integer" }, { "type": "string" }], "x-kubernetes-int-or-string": true },
        "labels": { "type": "object", "additionalProperties": text() },
        "quantities": { "type": "object", "additionalProperties": { "x-kubernetes-int-or-string": true } },
        "records": { "type": "object", "additionalProperties": { "type": "object", "properties": { "a": text() } } },
        "whole": { "type": "object", "x-kubernetes-map-type": "atomic", "properties": { "a": text(), "b": text() } },
        "set": list("set", text()),
        "numbers": list("set", json!({ "type": "integer" })),
        "map": map,
        "atomic": list("atomic", item),
        "plain": { "type": "array", "items": text() },
        "lists": list("atomic", json!({ "type": "array", "items": text() })),
    } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "things.settle.example.com" },
        "spec": {
            "group": "settle.example.com", "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": spec, "status": { "type": "object", "properties": { "phase": text() } },
                } } },
            }],
        },
    })
}

/// What a template gives, and which fields the API server drops of it.
fn cases() -> Vec<(Value, Option<&'static str>)> {
    let kept = [
        json!({}),
        json!({ "text": "x", "count": 1, "ratio": 1.5, "yes": true }),
        json!({ "text": "", "count": 0, "ratio": 0, "yes": false }),
        json!({ "count": 1.0 }),
        json!({ "ratio": 2 }),
        json!({ "defaulted": "x" }),
        json!({ "defaulted": null }),
        json!({ "inner": {} }),
        json!({ "inner": null }),
        json!({ "inner": { "a": null } }),
        json!({ "inner": { "b": "y" } }),
        json!({ "nullable": null }),
        json!({ "nullable": "x" }),
        json!({ "nulldefault": null }),
        json!({ "bare": {} }),
        json!({ "open": {} }),
        json!({ "open": { "a": { "b": [], "c": null, "d": {}, "e": 0 } } }),
        json!({ "open": { "a": [{ "b": 1 }, null] } }),
        json!({ "halfopen": { "known": {}, "other": { "x": [1] } } }),
        json!({ "embedded": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "labels": {} }, "data": {} } }),
        json!({ "either": 1, "quantity": "1000m" }),
        json!({ "either": "1", "quantity": 1 }),
        json!({ "either": 0, "quantity": "" }),
        json!({ "labels": {} }),
        json!({ "labels": { "a.b/c": "", "d": "e" }, "quantities": { "cpu": 1, "memory": "1024Mi" } }),
        json!({ "records": {} }),
        json!({ "records": { "a": {}, "b": { "a": "x" } } }),
        json!({ "whole": {} }),
        json!({ "whole": { "a": "x" } }),
        json!({ "set": [], "numbers": [], "map": [], "atomic": [], "plain": [], "lists": [] }),
        json!({ "set": ["b", "a"], "numbers": [2, 1], "plain": ["b", "a", "a"], "lists": [[], ["a"]] }),
        json!({ "map": [{ "name": "a" }, { "name": "a", "protocol": "UDP", "count": 0 }, { "name": "b", "bare": {} }] }),
        json!({ "atomic": [{ "name": "a" }, { "name": "a", "count": 1 }] }),
    ];
    let dropped = [
        (json!({ "bare": { "x": 1 } }), "spec.bare.x"),
        (json!({ "map": [{ "name": "b", "bare": { "x": 1 } }, { "name": "a" }] }), "spec.map[].bare.x"),
        (json!({ "atomic": [{ "name": "b", "bare": { "x": { "y": 1 } } }] }), "spec.atomic[].bare.x"),
    ];
    kept.into_iter().map(|it| (it, None)).chain(dropped.map(|(it, fields)| (it, Some(fields)))).collect()
}

#[tokio::test]
async fn custom_kinds_settle_whatever_their_schema_makes_of_a_template() {
    let client = client().await;
    let namespace = namespace(&client, "settle").await;
    send(&client, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition()).await;
    let resource = until("the kind is served", async || {
        let found = Resource::find(&client, "settle.example.com/v1", "Thing").await.ok()?;
        let list = send(&client, "GET", &found.path(&namespace), &Value::Null).await;
        list["items"].is_array().then_some(found)
    })
    .await;
    let bench = Bench { client: client.clone(), resource, namespace };
    let mut cases = cases();
    cases.push((json!({ "text": "a status" }), Some("status")));
    let mut wrong = Vec::new();
    for (number, (spec, expected)) in cases.into_iter().enumerate() {
        let mut manifest = json!({
            "apiVersion": "settle.example.com/v1", "kind": "Thing", "metadata": { "name": format!("t-{number}") }, "spec": spec,
        });
        if expected == Some("status") {
            manifest["status"] = json!({ "phase": "Up" });
        }
        let mut instance = Instance::new(&bench.resource, &bench.namespace, manifest);
        instance.settle(&client).await;
        let body = send(&client, "GET", &bench.path(&instance), &Value::Null).await;
        if instance.refused.is_none() {
            bench.settles_as_seen(&mut instance, body).await;
        }
        let sentence = expected.map(|it| format!("the API server dropped {it} of {}", instance.key));
        if instance.refused.is_some() || instance.writes > WRITES || instance.dropped() != sentence {
            let (writes, dropped) = (instance.writes, instance.dropped());
            let causes = instance.causes();
            wrong.push(format!("{spec}: {writes} writes, {dropped:?}, {:?}, {causes}", instance.refused));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The accident: a template gives empty annotations, a controller notes something there, and both write in turn.
#[tokio::test]
async fn what_others_put_into_an_empty_record_is_no_drift() {
    let client = client().await;
    let namespace = namespace(&client, "records").await;
    let manifest = json!({
        "apiVersion": "v1", "kind": "PodTemplate", "metadata": { "name": "t" },
        "template": { "metadata": { "annotations": {} }, "spec": {
            "securityContext": {}, "volumes": [], "containers": [{ "name": "c", "image": "i", "env": [] }],
        } },
    });
    let resource = Resource::built_in("v1", "PodTemplate").unwrap();
    let bench = Bench { client: client.clone(), resource, namespace };
    let mut instance = Instance::new(&bench.resource, &bench.namespace, manifest);
    instance.settle(&client).await;
    assert_eq!((instance.writes, &instance.refused), (1, &None));
    let theirs = json!({
        "apiVersion": "v1", "kind": "PodTemplate", "metadata": { "name": "t" },
        "template": { "metadata": { "annotations": { "restarted": "now" } }, "spec": {
            "securityContext": { "runAsUser": 1 }, "volumes": [{ "name": "v" }],
            "containers": [{ "name": "c", "env": [{ "name": "A" }] }],
        } },
    });
    let path = format!("{}?fieldManager=them&force=true", bench.path(&instance));
    let body = send_as(&client, "PATCH", &path, &theirs, "application/apply-patch+yaml").await;
    assert_eq!(body["template"]["spec"]["securityContext"], json!({ "runAsUser": 1 }), "{body}");
    bench.settles_as_seen(&mut instance, body).await;
    let causes = instance.causes();
    assert_eq!(instance.writes, 1, "{causes}");
}

#[tokio::test]
async fn a_field_that_the_schema_does_not_have_is_named() {
    let client = client().await;
    let namespace = namespace(&client, "unknown").await;
    let manifests = [
        (
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "dta": { "secret": "x" } }),
            "dta",
        ),
        (
            json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" }, "spec": {
                "selector": { "matchLabels": { "a": "b" } }, "template": { "metadata": { "labels": { "a": "b" } }, "spec": {
                    "containers": [{ "name": "secret", "image": "i", "prts": [] }],
                } },
            } }),
            "spec.template.spec.containers[].prts",
        ),
    ];
    for (manifest, field) in manifests {
        let resource =
            Resource::built_in(manifest["apiVersion"].as_str().unwrap(), manifest["kind"].as_str().unwrap());
        let mut instance = Instance::new(&resource.unwrap(), &namespace, manifest);
        instance.settle(&client).await;
        assert_eq!(instance.refused.as_deref(), Some(&*format!("its kind has no field {field}")));
        assert_eq!(instance.wants(), None, "it is not sent again at once");
        assert!(
            instance.causes().contains(&format!("UnknownField: its kind has no field {field}")),
            "{}",
            instance.causes()
        );
        assert_eq!(instance.decide().conditions.stalled.len(), 1);
    }
}
