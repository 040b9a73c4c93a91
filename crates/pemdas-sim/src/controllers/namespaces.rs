//! Namespaces and definitions that go take what is in them along; namespaces that come get what every one has.

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

fn all(server: &Server, group: &str, plural: &str) -> Vec<(Key, Value)> {
    let all = server.store().list(&id(group, plural), None, None);
    all.map(|(key, object)| (key.clone(), Value::clone(object))).collect()
}

/// Deletes objects that are not going yet: whether there was one.
fn delete_all(server: &mut Server, now: Time, objects: &[Key]) -> bool {
    let mut changed = false;
    for key in objects {
        let going = server.store().get(key).is_none_or(|object| meta::is_deleting(object));
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
        }
    }
    changed
}

/// Every namespace has an account and the certificate of the cluster's authority.
fn furnish(server: &mut Server, now: Time, name: &str) -> bool {
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
