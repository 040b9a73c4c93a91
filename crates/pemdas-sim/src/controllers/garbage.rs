//! The garbage collector: what belongs to nothing goes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{path_of, send};
use crate::api::Method;
use crate::meta;
use crate::server::Server;
use crate::store::Key;
use crate::time::Time;

/// Every object by its uid, with whether it waits for its dependents.
type Known = BTreeMap<String, bool>;

fn known(server: &Server) -> Known {
    let of = |object: &Value| {
        let waits = meta::is_deleting(object) && has(object, "foregroundDeletion");
        (meta::text(object, "uid").to_owned(), waits)
    };
    server.store().all().map(|(_, object)| of(object)).collect()
}

fn has(object: &Value, finalizer: &str) -> bool {
    meta::finalizers(object).iter().any(|it| it == finalizer)
}

fn owners(object: &Value) -> &[Value] {
    let found = object.get("metadata").and_then(|it| it.get("ownerReferences")).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

fn uid_of(owner: &Value) -> &str {
    owner.get("uid").and_then(Value::as_str).unwrap_or_default()
}

/// One pass: whether something changed.
pub(super) fn collect(server: &mut Server, now: Time) -> bool {
    // Nobody else is anybody's concern here.
    let concerned = |object: &Value| !owners(object).is_empty() || meta::is_deleting(object);
    let some = server.store().all().filter(|(_, object)| concerned(object));
    let objects: Vec<(Key, Arc<Value>)> = some.map(|(key, it)| (key.clone(), Arc::clone(it))).collect();
    if objects.is_empty() {
        return false;
    }
    let known = known(server);
    let mut changed = false;
    for (key, object) in &objects {
        changed |= dependent(server, now, &known, key, object);
        changed |= owner(server, now, &objects, key, object);
    }
    changed
}

/// An object with owners: gone if none of them is there any more.
fn dependent(server: &mut Server, now: Time, known: &Known, key: &Key, object: &Value) -> bool {
    let owners = owners(object);
    if owners.is_empty() || meta::is_deleting(object) {
        return false;
    }
    let state = |owner: &Value| known.get(uid_of(owner)).copied();
    let solid = owners.iter().any(|owner| state(owner) == Some(false));
    let waiting = owners.iter().any(|owner| state(owner) == Some(true));
    let dangling: Vec<&Value> = owners.iter().filter(|owner| state(owner).is_none()).collect();
    let Some(path) = path_of(server, key) else { return false };
    if solid {
        if dangling.is_empty() && !waiting {
            return false;
        }
        // Somebody still has it: only the references to what is gone, or going, are dropped.
        let kept: Vec<Value> = owners.iter().filter(|owner| state(owner) == Some(false)).cloned().collect();
        return set_owners(server, now, &path, object, &kept);
    }
    let policy = if waiting { "Foreground" } else { "Background" };
    let policy = if !waiting && has(object, "orphan") { "Orphan" } else { policy };
    let body = json!({ "propagationPolicy": policy, "preconditions": { "uid": meta::text(object, "uid") } });
    send(server, now, Method::Delete, &path, "application/json", &body).is_some_and(|it| it.status < 300)
}

fn set_owners(server: &mut Server, now: Time, path: &str, object: &Value, owners: &[Value]) -> bool {
    let owners = if owners.is_empty() { Value::Null } else { json!(owners) };
    let body = json!({ "metadata": { "uid": meta::text(object, "uid"), "ownerReferences": owners } });
    let done = send(server, now, Method::Patch, path, "application/merge-patch+json", &body);
    done.is_some_and(|it| it.status < 300)
}

/// An object that is going and whose dependents are to be dealt with first.
fn owner(server: &mut Server, now: Time, objects: &[(Key, Arc<Value>)], key: &Key, object: &Value) -> bool {
    if !meta::is_deleting(object) {
        return false;
    }
    let uid = meta::text(object, "uid");
    let dependents: Vec<&(Key, Arc<Value>)> =
        objects.iter().filter(|(_, it)| owners(it).iter().any(|owner| uid_of(owner) == uid)).collect();
    if has(object, "orphan") {
        for (key, dependent) in &dependents {
            let kept: Vec<Value> =
                owners(dependent).iter().filter(|owner| uid_of(owner) != uid).cloned().collect();
            if let Some(path) = path_of(server, key) {
                set_owners(server, now, &path, dependent, &kept);
            }
        }
        return drop_finalizer(server, now, key, object, "orphan");
    }
    if has(object, "foregroundDeletion") {
        let blocks = |(_, dependent): &&(Key, Arc<Value>)| {
            owners(dependent)
                .iter()
                .any(|owner| uid_of(owner) == uid && owner.get("blockOwnerDeletion") == Some(&json!(true)))
        };
        if !dependents.iter().any(blocks) {
            return drop_finalizer(server, now, key, object, "foregroundDeletion");
        }
    }
    false
}

pub(super) fn drop_finalizer(server: &mut Server, now: Time, key: &Key, object: &Value, name: &str) -> bool {
    let Some(path) = path_of(server, key) else { return false };
    let kept: Vec<String> = meta::finalizers(object).into_iter().filter(|it| it != name).collect();
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    let body = json!({ "metadata": { "uid": meta::text(object, "uid"), "finalizers": kept } });
    let done = send(server, now, Method::Patch, &path, "application/merge-patch+json", &body);
    done.is_some_and(|it| it.status < 300)
}
