//! Which object needs which other one, read from the fields that name objects.
//!
//! An edge is proposed only between objects that are imported together. Where the other object has to be there first, it comes
//! first; where two would wait for each other, or where waiting for *ready* could last for ever, no such order is proposed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Object, Order};

/// An edge to another object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) to: usize,
    pub(super) why: String,
    pub(super) order: Order,
}

/// What fields of a record with a name mean: the field, the kind it names if it does not say, why, and the order.
const RECORDS: &[(&str, &str, &str, Order)] = &[
    ("configMapKeyRef", "ConfigMap", "a variable of its pods comes from it", Order::Ready),
    ("configMapRef", "ConfigMap", "variables of its pods come from it", Order::Ready),
    ("configMap", "ConfigMap", "its pods mount it", Order::Ready),
    ("secretKeyRef", "Secret", "a variable of its pods comes from it", Order::Ready),
    ("secretRef", "Secret", "variables of its pods come from it", Order::Ready),
    ("secret", "Secret", "its pods mount it", Order::Ready),
    ("service", "Service", "requests go to it", Order::Ready),
    ("backendRefs", "Service", "requests go to it", Order::Ready),
    ("parentRefs", "Gateway", "it is attached to it", Order::Ready),
    ("imagePullSecrets", "Secret", "images are pulled with it", Order::Ready),
    ("scaleTargetRef", "", "it scales it, so that has to be there", Order::There),
    ("targetRef", "", "it is about it, so that has to be there", Order::There),
    ("roleRef", "", "it grants what that allows", Order::Ready),
    ("subjects", "", "it grants something to it", Order::Ready),
    ("issuerRef", "Issuer", "that signs it", Order::Ready),
];

/// What fields with a name for a value mean: the field, the kind, why, and the order.
const NAMES: &[(&str, &str, &str, Order)] = &[
    ("secretName", "Secret", "it reads it", Order::Ready),
    (
        "claimName",
        "PersistentVolumeClaim",
        "its pods mount it; a claim may wait for its first pod, so it only has to be there",
        Order::There,
    ),
    ("serviceAccountName", "ServiceAccount", "its pods run as it", Order::Ready),
    ("serviceName", "Service", "its pods are named by it", Order::There),
    ("ingressClassName", "IngressClass", "it is of this class", Order::There),
    ("storageClassName", "StorageClass", "it is of this class", Order::There),
    ("priorityClassName", "PriorityClass", "its pods are of this class", Order::There),
    ("runtimeClassName", "RuntimeClass", "its pods are of this class", Order::There),
    ("gatewayClassName", "GatewayClass", "it is of this class", Order::There),
    ("volumeName", "PersistentVolume", "it is bound to it", Order::There),
];

/// Words in the names of variables that say where something is.
const PLACES: &[&str] = &["HOST", "ADDR", "SERVER", "SERVICE", "ENDPOINT", "URL"];

struct Index<'a> {
    objects: &'a [Object],
    by_name: BTreeMap<(&'a str, &'a str, &'a str), usize>,
}

impl Index<'_> {
    /// An object by its kind and name, in a namespace or beside them.
    fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<usize> {
        let at = |namespace: &str| self.by_name.get(&(kind, namespace, name)).copied();
        at(namespace).or_else(|| at(""))
    }

    /// What runs pods that a selector picks.
    fn pods(&self, namespace: &str, selector: &Map<String, Value>) -> Vec<usize> {
        let labels = |object: &Object| {
            let paths = ["/spec/template/metadata/labels", "/spec/jobTemplate/spec/template/metadata/labels"];
            let of_pod = (object.kind == "Pod").then_some("/metadata/labels");
            paths.into_iter().chain(of_pod).find_map(|it| object.value.pointer(it)?.as_object().cloned())
        };
        let picked = |object: &Object| {
            object.namespace == namespace
                && labels(object)
                    .is_some_and(|it| selector.iter().all(|(key, value)| it.get(key) == Some(value)))
        };
        let all = self.objects.iter().enumerate();
        all.filter(|(_, it)| !selector.is_empty() && picked(it)).map(|(index, _)| index).collect()
    }
}

/// The edges of each object.
pub(super) fn edges(objects: &[Object]) -> Vec<Vec<Found>> {
    let by_name =
        objects.iter().enumerate().map(|(at, it)| ((&*it.kind, &*it.namespace, &*it.name), at)).collect();
    let index = Index { objects, by_name };
    let mut edges: Vec<Vec<Found>> = vec![Vec::new(); objects.len()];
    for (from, object) in objects.iter().enumerate() {
        let mut found = Vec::new();
        surroundings(&index, object, &mut found);
        if object.kind != "CustomResourceDefinition" {
            walk(&index, object, &object.value, 0, &mut found);
            selectors(&index, object, &mut found);
        }
        for it in found.into_iter().filter(|it| it.to != from) {
            add(&mut edges[from], it);
        }
        for (kind, name) in &object.owners {
            if let Some(owner) = index.find(kind, &object.namespace, name).filter(|it| *it != from) {
                add(
                    &mut edges[owner],
                    Found { to: from, why: "it was the owner of it".to_owned(), order: Order::None },
                );
            }
        }
    }
    super::hooks::edges(objects, &mut edges);
    without_circles(&mut edges);
    edges
}

/// One edge to each object: the strongest order, and why.
pub(super) fn add(edges: &mut Vec<Found>, found: Found) {
    match edges.iter_mut().find(|it| it.to == found.to) {
        Some(known) if known.order < found.order => *known = found,
        Some(_) => {}
        None => edges.push(found),
    }
}

/// The namespace that it lives in, and the definition of its kind.
fn surroundings(index: &Index<'_>, object: &Object, found: &mut Vec<Found>) {
    if let Some(to) = index.by_name.get(&("Namespace", "", &*object.namespace)).filter(|_| object.namespaced)
    {
        found.push(Found { to: *to, why: "it lives there".to_owned(), order: Order::Ready });
    }
    let defines = |it: &Object| {
        let text = |pointer: &str| it.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        it.kind == "CustomResourceDefinition"
            && text("/spec/group") == object.group()
            && text("/spec/names/kind") == object.kind
    };
    if let Some(to) = index.objects.iter().position(defines) {
        found.push(Found { to, why: "its kind is defined there".to_owned(), order: Order::Ready });
    }
}

fn walk(index: &Index<'_>, object: &Object, value: &Value, depth: usize, found: &mut Vec<Found>) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| walk(index, object, it, depth + 1, found)),
        Value::Object(fields) => {
            called(index, object, value, found);
            let data = depth == 0 && ["ConfigMap", "Secret"].contains(&object.kind.as_str());
            for (field, value) in fields.iter().filter(|_| !data) {
                named(index, object, field, value, found);
                walk(index, object, value, depth + 1, found);
            }
        }
        _ => {}
    }
}

/// The host in an address, without its domain: `redis-cart` of `redis-cart:6379` and of `http://redis-cart.shop.svc/`. Of a word alone
/// nobody knows whether it is one.
pub(super) fn addressed(text: &str) -> Option<&str> {
    let rest = text.split_once("://").map_or(text, |it| it.1);
    let rest = rest.split('/').next().unwrap_or(rest);
    let rest = rest.rsplit('@').next().unwrap_or(rest);
    let (host, port) = match rest.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (rest, None),
    };
    let is_port = port.is_some_and(|it| !it.is_empty() && it.chars().all(|it| it.is_ascii_digit()));
    let is_address = is_port || text.contains("://") || host.contains(".svc");
    let name = host.split('.').next().filter(|it| !it.is_empty())?;
    (is_address && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '-')).then_some(name)
}

/// The Services whose addresses stand in variables and arguments. Nothing waits for them: whoever asks asks again.
fn called(index: &Index<'_>, object: &Object, value: &Value, found: &mut Vec<Found>) {
    let find = |it: &str| index.find("Service", &object.namespace, it);
    let addresses = |text: &str| -> Vec<usize> {
        text.split([',', ' ', '=']).filter_map(addressed).filter_map(find).collect()
    };
    let mut add = |all: Vec<usize>, why: &str| {
        found.extend(all.into_iter().map(|to| Found { to, why: why.to_owned(), order: Order::None }));
    };
    let items = |field: &str| value.get(field).and_then(Value::as_array).into_iter().flatten();
    for variable in items("env") {
        let text = |name: &str| variable.get(name).and_then(Value::as_str).unwrap_or_default();
        let (name, value) = (text("name").to_ascii_uppercase(), text("value"));
        // The name of a Service alone counts in a variable that says that it is a place.
        let alone = find(value).filter(|_| PLACES.iter().any(|it| name.contains(it)));
        let all = addresses(value).into_iter().chain(alone).collect();
        add(all, "a variable of its pods says where it is");
    }
    for argument in items("args").chain(items("command")).filter_map(Value::as_str) {
        add(addresses(argument), "an argument of its pods says where it is");
    }
}

/// What a field names.
fn named(index: &Index<'_>, object: &Object, field: &str, value: &Value, found: &mut Vec<Found>) {
    if let (Some(name), Some((_, kind, why, order))) = (value.as_str(), NAMES.iter().find(|it| it.0 == field))
    {
        if let Some(to) = index.find(kind, &object.namespace, name) {
            found.push(Found { to, why: (*why).to_owned(), order: *order });
        }
        return;
    }
    let known = RECORDS.iter().find(|it| it.0 == field);
    let other = ("", "", "it refers to it", Order::There);
    let Some((_, kind, why, order)) = known.or_else(|| field.ends_with("Ref").then_some(&other)) else {
        return;
    };
    let records: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        one => vec![one],
    };
    for record in records {
        let text = |name: &str| record.get(name).and_then(Value::as_str);
        let Some(name) = text("name").or_else(|| text("secretName")) else { continue };
        let kind = text("kind").unwrap_or(kind);
        let namespace = text("namespace").unwrap_or(&object.namespace);
        if let Some(to) = index.find(kind, namespace, name) {
            found.push(Found { to, why: (*why).to_owned(), order: *order });
        }
    }
}

/// What an object picks by labels. Nothing waits for that: a Service is there before its pods, a policy too.
fn selectors(index: &Index<'_>, object: &Object, found: &mut Vec<Found>) {
    let map = |pointer: &str| object.value.pointer(pointer).and_then(Value::as_object);
    let (selector, why) = match object.kind.as_str() {
        "Service" => (map("/spec/selector"), "its pods answer"),
        "PodDisruptionBudget" => (map("/spec/selector/matchLabels"), "it protects its pods"),
        "NetworkPolicy" => (map("/spec/podSelector/matchLabels"), "it is about its pods"),
        "PodMonitor" => (map("/spec/selector/matchLabels"), "it watches its pods"),
        "ServiceMonitor" => {
            let Some(selector) = map("/spec/selector/matchLabels").filter(|it| !it.is_empty()) else {
                return;
            };
            for (to, other) in index.objects.iter().enumerate() {
                let labels = other.value.pointer("/metadata/labels").and_then(Value::as_object);
                let picked =
                    labels.is_some_and(|it| selector.iter().all(|(key, value)| it.get(key) == Some(value)));
                if other.kind == "Service" && picked {
                    found.push(Found { to, why: "it watches it".to_owned(), order: Order::None });
                }
            }
            return;
        }
        _ => return,
    };
    let Some(selector) = selector else { return };
    for to in index.pods(&object.namespace, selector) {
        found.push(Found { to, why: why.to_owned(), order: Order::None });
    }
}

/// Of edges that would wait for each other, the later ones order nothing.
pub(super) fn without_circles(edges: &mut [Vec<Found>]) {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for from in 0..edges.len() {
        for at in 0..edges[from].len() {
            let Found { to, order, .. } = edges[from][at];
            if order == Order::None {
                continue;
            }
            if reaches(&after, to, from) {
                let edge = &mut edges[from][at];
                edge.order = Order::None;
                edge.why.push_str("; it comes after this one, so there is no order");
            } else {
                after[from].push(to);
            }
        }
    }
}

fn reaches(after: &[Vec<usize>], start: usize, goal: usize) -> bool {
    let mut seen = vec![false; after.len()];
    let mut open = vec![start];
    while let Some(index) = open.pop() {
        if index == goal {
            return true;
        }
        if !std::mem::replace(&mut seen[index], true) {
            open.extend(&after[index]);
        }
    }
    false
}
