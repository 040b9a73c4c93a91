//! Sequences of requests, generated from a seed.
//!
//! What a request needs to know of earlier answers (uids, resourceVersions) stands in it as a placeholder, because the two
//! servers give different ones: `$UID:plural/name`, `$RV:plural/name`, `$OLDRV:plural/name`, `$CONTINUE`, `$START` (the version
//! with which the sequence began) and `$LAST` (the last version that was seen).

use pemdas_sim::{Method, Request, Seed};
use serde_json::{Value, json};

use crate::bodies::{KINDS, Kind, content, metadata, widget_status};

const NAMES: &[&str] = &["a", "b", "c"];
const MANAGERS: &[&str] = &["one", "two", "three"];
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A sequence of requests in a namespace, which stands in it as `$NS`.
pub(crate) fn sequence(seed: u64, length: usize) -> Vec<Request> {
    let mut seed = Seed::new(seed.wrapping_mul(7919).wrapping_add(17));
    // A sequence is about few kinds, so that its requests meet.
    let kinds: Vec<Kind> = (0..2).map(|_| pick_kind(&mut seed)).collect();
    let mut requests: Vec<Request> = (0..length)
        .map(|_| {
            let kind = kinds[usize::try_from(seed.below(2)).unwrap()];
            request(&mut seed, &kind)
        })
        .collect();
    for request in &mut requests {
        if chance(&mut seed, 15) {
            other_version(request);
        }
    }
    for kind in kinds {
        let place = usize::try_from(seed.below(length as u64)).unwrap();
        let more = past(&mut seed, &kind);
        requests.splice(place..place, more);
        if !kind.dry {
            let place = usize::try_from(seed.below(length as u64)).unwrap();
            requests.insert(place, watch(&mut seed, &kind));
        }
    }
    requests
}

/// The same request in the other version of the custom kind; both are of one schema.
fn other_version(request: &mut Request) {
    let (one, other) = ("conformance.example.com/v1", "conformance.example.com/v2");
    if request.path.contains(one) {
        request.path = request.path.replace(one, other);
        request.body =
            String::from_utf8(std::mem::take(&mut request.body)).unwrap().replace(one, other).into_bytes();
    }
}

/// Reading what was, or what is at least as new as something.
fn past(seed: &mut Seed, kind: &Kind) -> Vec<Request> {
    let all = kind.path("$NS");
    let mut list = Request::new(Method::Get, &all);
    let one = format!("$RV:{}/{}", kind.plural, pick(seed, NAMES));
    let (version, matching) = match seed.below(12) {
        0..4 => (one.as_str(), "Exact"),
        4 => ("$START", "Exact"),
        5 => ("$LAST", "Exact"),
        6..9 => ("$LAST", *[&"NotOlderThan", &""][usize::try_from(seed.below(2)).unwrap()]),
        9 => ("0", pick(seed, &["Exact", "Sometimes"])),
        10 => ("", pick(seed, &["Exact", "NotOlderThan"])),
        _ => ("some", ""),
    };
    set(&mut list, "resourceVersion", version);
    set(&mut list, "resourceVersionMatch", matching);
    if matching == "Exact" && chance(seed, 30) {
        set(&mut list, "limit", "1");
    }
    // What is as new as the last version that was seen need not know of what was deleted after it: so something is written first.
    let name = format!("fresh-{}", seed.below(1_000));
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let fresh = Request::new(Method::Post, "/api/v1/namespaces/$NS/configmaps").json(JSON, &body);
    vec![fresh.header("user-agent", "fresh"), list]
}

/// A watch, which is read when the sequence is over. All of them see what ends it.
fn watch(seed: &mut Seed, kind: &Kind) -> Request {
    let mut request = Request::new(Method::Get, &kind.path("$NS"));
    set(&mut request, "watch", "1");
    set(&mut request, "timeoutSeconds", "30");
    match seed.below(8) {
        0..3 => set(&mut request, "resourceVersion", "$START"),
        3..5 => set(&mut request, "resourceVersion", "$LAST"),
        5 => set(&mut request, "sendInitialEvents", "true"),
        _ => {
            set(&mut request, "sendInitialEvents", "true");
            set(&mut request, "resourceVersionMatch", "NotOlderThan");
            set(&mut request, "allowWatchBookmarks", "true");
        }
    }
    match seed.below(6) {
        0 => set(&mut request, "fieldSelector", "metadata.name!=a"),
        1..3 => {
            let selectors = ["app=x", "app", "app in (x,y)", "tier!=y", "!tier"];
            set(&mut request, "labelSelector", pick(seed, &selectors));
        }
        _ => {}
    }
    if chance(seed, 15) {
        request = request.header("accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    }
    request
}

fn pick_kind(seed: &mut Seed) -> Kind {
    let count = KINDS.len() as u64;
    // The smaller of two: the first kinds come more often.
    let place = seed.below(count).min(seed.below(count));
    KINDS[usize::try_from(place).unwrap()]
}

fn pick<'a>(seed: &mut Seed, list: &[&'a str]) -> &'a str {
    list[usize::try_from(seed.below(list.len() as u64)).unwrap()]
}

fn chance(seed: &mut Seed, percent: u64) -> bool {
    seed.below(100) < percent
}

fn object(seed: &mut Seed, kind: &Kind, name: &str) -> Value {
    let mut object = content(seed, kind);
    object["apiVersion"] = json!(kind.api_version);
    object["kind"] = json!(kind.kind);
    object["metadata"] = metadata(seed);
    object["metadata"]["name"] = json!(name);
    object
}

fn request(seed: &mut Seed, kind: &Kind) -> Request {
    let name = pick(seed, NAMES);
    let all = kind.path("$NS");
    let one = format!("{all}/{name}");
    let mut request = match seed.below(100) {
        0..18 => create(seed, kind, name, &all),
        18..24 => Request::new(Method::Get, &one),
        24..30 => list(seed, &all),
        30..42 => replace(seed, kind, name, &one),
        42..52 => merge(seed, kind, &one),
        52..57 => json_patch(seed, kind, &one),
        57..62 if kind.api_version != "conformance.example.com/v1" => strategic(seed, kind, &one),
        57..84 => apply(seed, kind, name, &one),
        84..92 if kind.kind == "Widget" => subresource(seed, kind, name, &one),
        84..97 => delete(seed, kind, name, &one),
        97..99 => delete_some(seed, &all),
        _ => wrong(seed, kind, name, &all),
    };
    if kind.dry && request.method != Method::Get {
        set(&mut request, "dryRun", "All");
    } else if request.method != Method::Get && chance(seed, 5) {
        set(&mut request, "dryRun", pick(seed, &["All", "All", "Some"]));
    }
    if request.method != Method::Get && request.method != Method::Delete && chance(seed, 8) {
        set(&mut request, "fieldValidation", pick(seed, &["Strict", "Ignore", "Warn"]));
    }
    if chance(seed, 3) {
        let is_list = request.path.ends_with(kind.plural);
        let list = if is_list && request.method != Method::Post { "List" } else { "" };
        request = request
            .header("accept", &format!("application/json;as=PartialObjectMetadata{list};g=meta.k8s.io;v=v1"));
    }
    request.header("user-agent", pick(seed, &["alpha/1.0", "beta"]))
}

fn set(request: &mut Request, name: &str, value: &str) {
    request.query.retain(|(known, _)| known != name);
    request.query.push((name.to_owned(), value.to_owned()));
}

fn create(seed: &mut Seed, kind: &Kind, name: &str, all: &str) -> Request {
    let mut body = object(seed, kind, name);
    if chance(seed, 3) {
        body["metadata"]["resourceVersion"] = json!("1");
    }
    if chance(seed, 3) {
        body["metadata"]["name"] = json!("Not_A_Name");
    }
    if chance(seed, 2) {
        body["metadata"].as_object_mut().unwrap().remove("name");
    }
    if chance(seed, 2) {
        body["metadata"]["namespace"] = json!("elsewhere");
    }
    if chance(seed, 4) {
        body["unknownField"] = json!(1);
    }
    if chance(seed, 15) {
        body["status"] = json!({ "phase": "x" });
    }
    let mut request = Request::new(Method::Post, all).json(JSON, &body);
    if chance(seed, 40) {
        set(&mut request, "fieldManager", pick(seed, MANAGERS));
    }
    request
}

fn list(seed: &mut Seed, all: &str) -> Request {
    let mut request = Request::new(Method::Get, all);
    match seed.below(8) {
        0 => set(
            &mut request,
            "labelSelector",
            pick(seed, &["app=x", "app", "!app", "app in (x,y),tier", "app notin (z)", "app!=x"]),
        ),
        1 => set(
            &mut request,
            "fieldSelector",
            pick(seed, &["metadata.name=a", "metadata.name!=a", "metadata.namespace=elsewhere"]),
        ),
        2 => set(&mut request, "limit", "1"),
        3 => {
            set(&mut request, "limit", "1");
            set(&mut request, "continue", "$CONTINUE");
        }
        _ => {}
    }
    request
}

fn versions(seed: &mut Seed, kind: &Kind, name: &str, body: &mut Value) {
    let place = format!("{}/{name}", kind.plural);
    match seed.below(10) {
        0..6 => body["metadata"]["resourceVersion"] = json!(format!("$RV:{place}")),
        6 => body["metadata"]["resourceVersion"] = json!(format!("$OLDRV:{place}")),
        _ => {}
    }
    match seed.below(20) {
        0..4 => body["metadata"]["uid"] = json!(format!("$UID:{place}")),
        4 => body["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000"),
        _ => {}
    }
}

fn replace(seed: &mut Seed, kind: &Kind, name: &str, one: &str) -> Request {
    let mut body = object(seed, kind, name);
    versions(seed, kind, name, &mut body);
    if chance(seed, 2) {
        body["metadata"]["name"] = json!("other");
    }
    if chance(seed, 4) {
        body["metadata"]["managedFields"] = if chance(seed, 50) { json!([{}]) } else { json!([]) };
    }
    let mut request = Request::new(Method::Put, one).json(JSON, &body);
    if chance(seed, 40) {
        set(&mut request, "fieldManager", pick(seed, MANAGERS));
    }
    request
}

/// A part of an object, some of it taken away.
fn part(seed: &mut Seed, kind: &Kind) -> Value {
    let mut part = if chance(seed, 60) { content(seed, kind) } else { json!({}) };
    if chance(seed, 60) {
        part["metadata"] = metadata(seed);
    }
    if chance(seed, 20) {
        part["metadata"]["labels"] = json!({ "app": null });
    }
    if chance(seed, 15) {
        part["metadata"]["finalizers"] = Value::Null;
    }
    if chance(seed, 10) {
        match kind.kind {
            "ConfigMap" => part["data"]["a"] = Value::Null,
            "Widget" => part["spec"]["limits"]["cpu"] = Value::Null,
            _ => {}
        }
    }
    part
}

fn merge(seed: &mut Seed, kind: &Kind, one: &str) -> Request {
    let body = part(seed, kind);
    let mut request = Request::new(Method::Patch, one).json(MERGE, &body);
    if chance(seed, 40) {
        set(&mut request, "fieldManager", pick(seed, MANAGERS));
    }
    if chance(seed, 2) {
        set(&mut request, "force", "true");
    }
    request
}

fn strategic(seed: &mut Seed, kind: &Kind, one: &str) -> Request {
    let mut body = part(seed, kind);
    if kind.kind == "PodTemplate" && chance(seed, 50) {
        let containers = match seed.below(4) {
            0 => json!([{ "name": "side", "$patch": "delete" }]),
            1 => json!([{ "name": "main", "env": [{ "name": "A", "value": "patched" }] }]),
            2 => json!([{ "name": "new", "image": "new:1" }]),
            _ => json!([{ "image": "nameless" }]),
        };
        body["template"] = json!({ "spec": { "containers": containers } });
    }
    Request::new(Method::Patch, one).json(STRATEGIC, &body)
}

fn json_patch(seed: &mut Seed, kind: &Kind, one: &str) -> Request {
    let place = if kind.kind == "ConfigMap" { "/data" } else { "/metadata/labels" };
    let operation = match seed.below(7) {
        0 => json!({ "op": "add", "path": place, "value": { "a": "added" } }),
        1 => json!({ "op": "add", "path": format!("{place}/app"), "value": "x" }),
        2 => json!({ "op": "remove", "path": format!("{place}/app") }),
        3 => json!({ "op": "replace", "path": format!("{place}/a"), "value": "replaced" }),
        4 => json!({ "op": "test", "path": "/kind", "value": kind.kind }),
        5 => json!({ "op": "test", "path": "/metadata/name", "value": "a" }),
        _ => json!({ "op": "copy", "from": "/metadata/name", "path": format!("{place}/copied") }),
    };
    let more = json!({ "op": "add", "path": "/metadata/annotations", "value": { "patched": "yes" } });
    let body = if chance(seed, 50) { json!([operation, more]) } else { json!([operation]) };
    Request::new(Method::Patch, one).json("application/json-patch+json", &body)
}

fn apply(seed: &mut Seed, kind: &Kind, name: &str, one: &str) -> Request {
    let mut body = object(seed, kind, name);
    if chance(seed, 60) {
        body["metadata"].as_object_mut().unwrap().retain(|field, _| field == "name" || field == "labels");
    }
    if chance(seed, 40) && kind.kind == "ConfigMap" {
        body.as_object_mut().unwrap().remove("data");
    }
    let place = format!("{}/{name}", kind.plural);
    match seed.below(20) {
        0 => body["metadata"]["resourceVersion"] = json!("1"),
        1 => body["metadata"]["resourceVersion"] = json!(format!("$RV:{place}")),
        2 => body["metadata"]["uid"] = json!(format!("$UID:{place}")),
        3 => body["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000"),
        4 => body["unknownField"] = json!(1),
        5 if chance(seed, 30) => body["apiVersion"] = json!("v2"),
        _ => {}
    }
    if kind.kind == "Secret" {
        // What is only written cannot be managed.
        body.as_object_mut().unwrap().remove("stringData");
    }
    let mut request = Request::new(Method::Patch, one).json(APPLY, &body);
    if !chance(seed, 2) {
        set(&mut request, "fieldManager", pick(seed, MANAGERS));
    }
    if chance(seed, 35) {
        set(&mut request, "force", "true");
    }
    request
}

fn subresource(seed: &mut Seed, kind: &Kind, name: &str, one: &str) -> Request {
    let status = format!("{one}/status");
    let mut body = object(seed, kind, name);
    body["status"] = widget_status(seed);
    match seed.below(8) {
        0 => Request::new(Method::Get, &format!("{one}/scale")),
        1 => Request::new(Method::Patch, &format!("{one}/scale"))
            .json(MERGE, &json!({ "spec": { "replicas": seed.below(5) } })),
        2 => {
            versions(seed, kind, name, &mut body);
            Request::new(Method::Put, &status).json(JSON, &body)
        }
        3..6 => {
            body.as_object_mut().unwrap().remove("spec");
            body["metadata"] = json!({ "name": name });
            let mut request = Request::new(Method::Patch, &status).json(APPLY, &body);
            set(&mut request, "fieldManager", pick(seed, MANAGERS));
            if chance(seed, 50) {
                set(&mut request, "force", "true");
            }
            request
        }
        _ => Request::new(Method::Patch, &status)
            .json(MERGE, &json!({ "status": widget_status(seed), "spec": { "size": 9 } })),
    }
}

fn delete(seed: &mut Seed, kind: &Kind, name: &str, one: &str) -> Request {
    let place = format!("{}/{name}", kind.plural);
    let mut body = json!({});
    match seed.below(8) {
        0 => body["preconditions"] = json!({ "uid": format!("$UID:{place}") }),
        1 => body["preconditions"] = json!({ "resourceVersion": format!("$RV:{place}") }),
        2 => body["preconditions"] = json!({ "resourceVersion": format!("$OLDRV:{place}") }),
        3 => body["preconditions"] = json!({ "uid": "00000000-0000-4000-8000-000000000000" }),
        4 => body["propagationPolicy"] = json!(pick(seed, &["Background", "Background", "Sideways"])),
        _ => return Request::new(Method::Delete, one),
    }
    Request::new(Method::Delete, one).json(JSON, &body)
}

fn delete_some(seed: &mut Seed, all: &str) -> Request {
    let mut request = Request::new(Method::Delete, all);
    set(&mut request, "labelSelector", pick(seed, &["app=x", "app", "tier=y"]));
    request
}

fn wrong(seed: &mut Seed, kind: &Kind, name: &str, all: &str) -> Request {
    let mut body = object(seed, kind, name);
    match seed.below(4) {
        0 => Request::new(Method::Get, &format!("{all}/{name}/nothing")),
        1 => Request::new(Method::Get, &all.replace(kind.plural, "nonsenses")),
        2 => {
            body["kind"] = json!("Other");
            Request::new(Method::Post, all).json(JSON, &body)
        }
        _ => Request::new(Method::Post, &all.replace("$NS", "no-such-namespace")).json(JSON, &body),
    }
}
