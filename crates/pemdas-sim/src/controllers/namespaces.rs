//! Namespaces and definitions that go take what is in them along; namespaces that come get what every one has.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::path_of;
use super::send;
use crate::api::Method;
use crate::meta;
use crate::server::Server;
use crate::store::{Key, ResourceId};
use crate::time::Time;

fn id(group: &str, plural: &str) -> ResourceId {
    ResourceId { group: group.to_owned(), plural: plural.to_owned() }
}

fn all(server: &Server, group: &str, plural: &str) -> Vec<(Key, Arc<Value>)> {
    let all = server.store().list(&id(group, plural), None, None);
    all.map(|(key, object)| (key.clone(), Arc::clone(object))).collect()
}

/// Deletes objects that are not going yet, or wait for what depends on them, which is over then: whether there was one.
fn delete_all(server: &mut Server, now: Time, objects: &[Key]) -> bool {
    let mut changed = false;
    for key in objects {
        let waits = |object: &Value| {
            meta::finalizers(object).iter().any(|it| matches!(it.as_str(), "foregroundDeletion" | "orphan"))
        };
        let object = server.store().get(key);
        let going = object.is_none_or(|object| meta::is_deleting(object) && !waits(object));
        if let Some(path) = path_of(server, key).filter(|_| !going) {
            let body = json!({ "propagationPolicy": "Background" });
            let done = send(server, now, Method::Delete, &path, "application/json", &body);
            changed |= done.is_some_and(|it| it.status < 300);
        }
    }
    changed
}

/// One pass over all namespaces.
pub(super) fn settle(server: &mut Server, now: Time) -> bool {
    let mut changed = false;
    for (key, namespace) in all(server, "", "namespaces") {
        let name = key.name();
        if !meta::is_deleting(&namespace) {
            changed |= furnish(server, now, name);
            continue;
        }
        let inside: Vec<Key> = server
            .store()
            .all()
            .map(|(key, _)| key)
            .filter(|key| key.namespace() == Some(name))
            .cloned()
            .collect();
        changed |= delete_all(server, now, &inside);
        let empty = !server.store().all().any(|(key, _)| key.namespace() == Some(name));
        if empty && meta::finalizers(&namespace).is_empty() {
            server.forget(&key);
            changed = true;
        } else {
            changed |= explain(server, now, name, &namespace);
        }
    }
    changed
}

/// Says in its status why a namespace that goes is still there.
fn explain(server: &mut Server, now: Time, name: &str, namespace: &Value) -> bool {
    let mut resources: BTreeMap<String, usize> = BTreeMap::new();
    let mut finalizers: BTreeMap<String, usize> = BTreeMap::new();
    for (key, object) in server.store().all().filter(|(key, _)| key.namespace() == Some(name)) {
        *resources.entry(format!("{}.{}", key.resource.plural, key.resource.group)).or_default() += 1;
        for finalizer in meta::finalizers(object) {
            *finalizers.entry(finalizer).or_default() += 1;
        }
    }
    let counted = |all: &BTreeMap<String, usize>, word: &str| {
        let each = all.iter().map(|(name, count)| format!("{name} {word} {count} resource instances"));
        each.collect::<Vec<_>>().join(", ")
    };
    let remaining = format!("Some resources are remaining: {}", counted(&resources, "has"));
    let held =
        format!("Some content in the namespace has finalizers remaining: {}", counted(&finalizers, "in"));
    let old = namespace.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let condition = |kind: &str, holds: bool, reason: &str, message: &str| {
        let status = if holds { "True" } else { "False" };
        let before = old.iter().find(|it| it["type"] == kind && it["status"] == status);
        let since = before.map_or_else(|| json!(now.text()), |it| it["lastTransitionTime"].clone());
        json!({ "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since })
    };
    let choose = |holds: bool, yes: (&'static str, &str), no: (&'static str, &str)| {
        let (reason, message) = if holds { yes } else { no };
        (reason, message.to_owned())
    };
    let (left, bound) = (!resources.is_empty(), !finalizers.is_empty());
    let content = choose(
        left,
        ("SomeResourcesRemain", &remaining),
        ("ContentRemoved", "All content successfully removed"),
    );
    let finishing = choose(
        bound,
        ("SomeFinalizersRemain", &held),
        ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
    );
    let new = json!([
        condition(
            "NamespaceDeletionDiscoveryFailure",
            false,
            "ResourcesDiscovered",
            "All resources successfully discovered"
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed"
        ),
        condition(
            "NamespaceDeletionContentFailure",
            false,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization"
        ),
        condition("NamespaceContentRemaining", left, content.0, &content.1),
        condition("NamespaceFinalizersRemaining", bound, finishing.0, &finishing.1),
    ]);
    if new.as_array() == Some(&old) {
        return false;
    }
    let body = json!({ "status": { "conditions": new } });
    let path = format!("/api/v1/namespaces/{name}/status");
    let done = send(server, now, Method::Patch, &path, "application/merge-patch+json", &body);
    done.is_some_and(|it| it.status < 300)
}

/// Every namespace has an account and the certificate of the cluster's authority.
fn furnish(server: &mut Server, now: Time, name: &str) -> bool {
    let is_there = |plural: &str, object: &str| {
        server.store().get(&Key::new(&id("", plural), Some(name), object)).is_some()
    };
    if is_there("serviceaccounts", "default") && is_there("configmaps", "kube-root-ca.crt") {
        return false;
    }
    let wanted = [
        ("serviceaccounts", json!({ "metadata": { "name": "default" } })),
        (
            "configmaps",
            json!({ "metadata": { "name": "kube-root-ca.crt", "annotations": {
                "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
            } }, "data": { "ca.crt": "" } }),
        ),
    ];
    let mut changed = false;
    for (plural, body) in wanted {
        let key = Key::new(&id("", plural), Some(name), meta::text(&body, "name"));
        if server.store().get(&key).is_none() {
            let path = format!("/api/v1/namespaces/{name}/{plural}");
            changed |= send(server, now, Method::Post, &path, "application/json", &body)
                .is_some_and(|it| it.status < 300);
        }
    }
    changed
}

/// One pass over all definitions that go.
pub(super) fn definitions(server: &mut Server, now: Time) -> bool {
    const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
    let mut changed = false;
    for (key, definition) in all(server, "apiextensions.k8s.io", "customresourcedefinitions") {
        let finalizers = meta::finalizers(&definition);
        if !meta::is_deleting(&definition) || !finalizers.iter().any(|it| it == CLEANUP) {
            continue;
        }
        changed |= says_that_it_goes(server, now, &key, &definition);
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let kind = id(text("/spec/group"), text("/spec/names/plural"));
        let objects: Vec<Key> = server.store().list(&kind, None, None).map(|(key, _)| key.clone()).collect();
        changed |= delete_all(server, now, &objects);
        if server.store().list(&kind, None, None).next().is_none() {
            let kept: Vec<String> = finalizers.into_iter().filter(|it| it != CLEANUP).collect();
            let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
            let body = json!({ "metadata": { "finalizers": kept } });
            if let Some(path) = path_of(server, &key) {
                let done = send(server, now, Method::Patch, &path, "application/merge-patch+json", &body);
                changed |= done.is_some_and(|it| it.status < 300);
            }
        }
    }
    changed
}

/// A definition that goes says so in its status, once.
fn says_that_it_goes(server: &mut Server, now: Time, key: &Key, definition: &Value) -> bool {
    let mut conditions =
        definition.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    if conditions.iter().any(|it| it["type"] == "Terminating") {
        return false;
    }
    conditions.push(json!({
        "type": "Terminating", "status": "True", "lastTransitionTime": now.text(),
        "reason": "InstanceDeletionInProgress", "message": "CustomResource deletion is in progress",
    }));
    let Some(path) = path_of(server, key) else { return false };
    let body = json!({ "status": { "conditions": conditions } });
    let kind = "application/merge-patch+json";
    let done = send(server, now, Method::Patch, &format!("{path}/status"), kind, &body);
    done.is_some_and(|it| it.status < 300)
}
