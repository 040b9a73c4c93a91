//! What there is in a cluster, without what differs between two runs that came to the same: uids, times, versions, digests.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::decide::reason;
use pemdas_core::world::{CLAIM_ANNOTATION, OUR_PREFIX, ROOT_LABEL};
use pemdas_kube::ledgers::{LEDGER_LABEL, LEDGER_TYPE};
use pemdas_sim::Cluster;
use serde_json::Value;

/// The objects of a cluster by kind and name, normalised.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct State {
    all: BTreeMap<String, Vec<Value>>,
    /// What stands for the uid of an object: instances are named after those of their roots.
    uids: BTreeMap<String, String>,
    /// The instances with a ledger, where those are left out.
    ledgers: BTreeSet<String>,
}

/// What passes, or is counted: it says nothing of where something has come to.
const NO_STATE: &[&str] = &["events", "leases"];
/// Who writes the finalizers of roots.
const MANAGER: &str = "pemdas";
/// By what a root says that there is a ledger.
const MEMORY: &str = "pemdas.dev/memory";
/// What a blueprint says of itself.
const STATUS: &str = "pemdas.dev/status";
/// Fields of metadata that differ between any two runs.
const OF_A_RUN: &[&str] = &["uid", "resourceVersion", "creationTimestamp", "generation"];

impl State {
    /// As it is now.
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let store = cluster.server().store();
        let mut names = BTreeMap::new();
        for (key, object) in store.all() {
            if let Some(uid) = object["metadata"]["uid"].as_str() {
                names.insert(
                    uid.to_owned(),
                    format!("<{} {}>", key.resource.plural, plain(key.path.as_str(), &BTreeMap::new())),
                );
            }
        }
        let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut uids = BTreeMap::new();
        for (key, object) in store.all().filter(|(key, _)| !NO_STATE.contains(&key.resource.plural.as_str()))
        {
            let name =
                format!("{} {}", object["kind"].as_str().unwrap_or_default(), plain(&key.path, &names));
            let uid = object["metadata"]["uid"].as_str().and_then(|it| names.get(it)).cloned();
            uids.insert(name.clone(), uid.unwrap_or_default());
            all.entry(name).or_default().push(normal(object, &names));
        }
        for some in all.values_mut() {
            some.sort_by_cached_key(ToString::to_string);
        }
        Self { all, uids, ledgers: BTreeSet::new() }
    }

    /// The same without the way that led there: how the author came to change something, how often something was tried.
    /// What was done once is remembered in a ledger, which stays when the reason for it is taken back.
    pub(crate) fn without_history(mut self, author: &str) -> Self {
        let is_ledger = |it: &Value| it["type"] == LEDGER_TYPE;
        let ledgers = self.all.values().flatten().filter(|it| is_ledger(it));
        self.ledgers = ledgers.filter_map(|it| labelled(it, LEDGER_LABEL)).map(str::to_owned).collect();
        self.all.values_mut().for_each(|some| some.retain(|it| !is_ledger(it)));
        self.all.retain(|_, some| !some.is_empty());
        for object in self.all.values_mut().flatten() {
            if let Some(entries) = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut)
            {
                entries.retain(|it| it["manager"] != author);
            }
            let at = format!("/metadata/annotations/{}", CLAIM_ANNOTATION.replace('/', "~1"));
            if let Some(claim) = object.pointer_mut(&at)
                && let Some(text) = claim.as_str()
                && let Ok(mut read) = serde_json::from_str::<Value>(text)
                && let Some(attempt) = read.pointer_mut("/attempt/1")
            {
                *attempt = Value::from(0);
                *claim = Value::from(read.to_string());
            }
        }
        self
    }

    /// Two states without what holds the roots of instances that have a ledger in one of them: it has to be taken away in the end.
    pub(crate) fn without_holders(mut self, mut other: Self) -> (Self, Self) {
        let with: BTreeSet<String> = self.ledgers.union(&other.ledgers).cloned().collect();
        for state in [&mut self, &mut other] {
            for (name, some) in &mut state.all {
                if state.uids.get(name).is_some_and(|it| with.contains(it)) {
                    some.iter_mut().for_each(let_go);
                }
            }
        }
        (self, other)
    }

    /// The objects that need not be as in another state, because a way back cannot undo what happened to their instances.
    pub(crate) fn excused(&self, other: &Self) -> BTreeSet<String> {
        let stalled = [self.stalled_by_history(), other.stalled_by_history()];
        let mut uids: BTreeSet<&str> =
            stalled[0].symmetric_difference(&stalled[1]).filter_map(|it| self.uid(other, it)).collect();
        uids.extend([self, other].into_iter().flat_map(Self::held));
        // Who waits for such an instance is as little as before, and so is what it made.
        let objects = || [self, other].into_iter().flat_map(Self::objects);
        loop {
            let before = uids.len();
            for (of, uid, _) in objects() {
                let concerned = of.is_some_and(|it| uids.contains(it)) || uids.contains(uid);
                uids.extend(Some(uid).into_iter().chain(of).filter(|_| concerned));
            }
            if uids.len() == before {
                break;
            }
        }
        objects().filter(|(_, uid, _)| uids.contains(uid)).map(|(.., name)| name.to_owned()).collect()
    }

    /// All objects: of which instance each is, its own uid, its name.
    fn objects(&self) -> impl Iterator<Item = (Option<&str>, &str, &str)> {
        let own = |name: &str| self.uids.get(name).map(String::as_str).unwrap_or_default();
        self.all.iter().flat_map(move |(name, some)| {
            some.iter().map(move |it| (instance_of(it), own(name), name.as_str()))
        })
    }

    fn uid<'s>(&'s self, other: &'s Self, name: &str) -> Option<&'s str> {
        self.uids.get(name).or_else(|| other.uids.get(name)).map(String::as_str)
    }

    /// The instances that wait for a human because of something that lasts: what is done once failed, or a name belongs to another one.
    fn stalled_by_history(&self) -> BTreeSet<&str> {
        let stalled = |it: &Value| {
            let lasting = [reason::FAILED, reason::EXISTS];
            it["type"] == "Stalled"
                && it["status"] == "True"
                && it["reason"].as_str().is_some_and(|it| lasting.contains(&it))
        };
        let is_stalled = |it: &Value| {
            it.pointer("/status/conditions")
                .and_then(Value::as_array)
                .is_some_and(|it| it.iter().any(stalled))
        };
        let named = self.all.iter().filter(|(_, some)| some.iter().any(is_stalled));
        named.map(|(name, _)| name.as_str()).collect()
    }

    /// The instances with something that cannot go, because of a finalizer that is not the operator's: what follows has not come yet.
    fn held(&self) -> impl Iterator<Item = &str> {
        let foreign = |it: &Value| it.as_str().is_some_and(|it| !it.starts_with(OUR_PREFIX));
        let held = move |it: &Value| {
            let going = it.pointer("/metadata/deletionTimestamp").is_some();
            let finalizers = it.pointer("/metadata/finalizers").and_then(Value::as_array);
            going && finalizers.into_iter().flatten().any(foreign)
        };
        self.all.iter().filter_map(move |(name, some)| {
            let it = some.iter().find(|it| held(it))?;
            instance_of(it).or_else(|| self.uids.get(name).map(String::as_str))
        })
    }

    /// The same without these objects, and without how many instances a blueprint says it has of which sort: they are among those.
    pub(crate) fn without_these(mut self, names: &BTreeSet<String>) -> Self {
        self.all.retain(|name, _| !names.contains(name));
        if !names.is_empty() {
            self.all.values_mut().flatten().for_each(uncounted);
        }
        self
    }

    /// The same without these objects, named by kind and path.
    pub(crate) fn without(mut self, names: &BTreeSet<(String, String)>) -> Self {
        for (kind, path) in names {
            self.all.remove(&format!("{kind} {}", plain(path, &BTreeMap::new())));
        }
        self
    }

    /// In what another state differs from this one, a line each.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, some) in &self.all {
            match other.all.get(name) {
                None => found.push(format!("{name} is not there")),
                Some(others) if some.len() != others.len() => {
                    found.push(format!("{name}: {} of them, not {}", others.len(), some.len()));
                }
                Some(others) => {
                    for (one, another) in some.iter().zip(others) {
                        differing(&mut Vec::new(), one, another, &mut |path, one, another| {
                            found.push(format!("{name}: {path} is {another}, not {one}"));
                        });
                    }
                }
            }
        }
        found.extend(
            other.all.keys().filter(|it| !self.all.contains_key(*it)).map(|it| format!("{it} is left over")),
        );
        found
    }
}

/// The instance that an object is of: what stands for the uid of its root.
fn instance_of(object: &Value) -> Option<&str> {
    labelled(object, ROOT_LABEL)
}

/// What stands for the uid of the root of an instance that a label names.
fn labelled<'v>(object: &'v Value, label: &str) -> Option<&'v str> {
    let at = format!("/metadata/labels/{}", label.replace('/', "~1"));
    object.pointer(&at)?.as_str()?.rsplit_once('.').map(|(uid, _)| uid)
}

/// Takes the counts of instances out of what a blueprint says of itself.
fn uncounted(blueprint: &mut Value) {
    let at = format!("/metadata/annotations/{}", STATUS.replace('/', "~1"));
    if let Some(said) = blueprint.pointer_mut(&at)
        && let Some(Value::Object(mut read)) = said.as_str().and_then(|it| serde_json::from_str(it).ok())
    {
        read.remove("instances");
        *said = Value::from(Value::Object(read).to_string());
    }
}

/// Takes the finalizer for removal off a root, and that it has a ledger, with the mark of whoever wrote it.
fn let_go(root: &mut Value) {
    let Some(metadata) = root.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if let Some(Value::Object(mut annotations)) = metadata.remove("annotations") {
        annotations.retain(|name, _| !name.starts_with(MEMORY));
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), annotations.into());
        }
    }
    let holds = |it: &Value| it.as_str().is_some_and(|it| it.starts_with("pemdas.dev/removal"));
    if let Some(Value::Array(mut finalizers)) = metadata.remove("finalizers") {
        finalizers.retain(|it| !holds(it));
        if !finalizers.is_empty() {
            metadata.insert("finalizers".to_owned(), finalizers.into());
        }
    }
    if let Some(entries) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
        entries.retain(|it| it["manager"] != MANAGER || it.get("subresource").is_some());
    }
}

fn differing(
    path: &mut Vec<String>,
    one: &Value,
    other: &Value,
    tell: &mut impl FnMut(String, &Value, &Value),
) {
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) => {
            let more = others.keys().filter(|it| !fields.contains_key(*it));
            for name in fields.keys().chain(more) {
                path.push(name.clone());
                let of = |it: &serde_json::Map<String, Value>| it.get(name).cloned().unwrap_or_default();
                differing(path, &of(fields), &of(others), tell);
                path.pop();
            }
        }
        _ if one == other => {}
        _ => tell(path.join("."), one, other),
    }
}

fn normal(object: &Value, names: &BTreeMap<String, String>) -> Value {
    let mut object = object.clone();
    let secret = object["kind"] == "Secret";
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| !OF_A_RUN.contains(&name.as_str()));
        // Who came first does not matter.
        if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
            finalizers.sort_by_cached_key(ToString::to_string);
        }
        if let Some(entries) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
            for entry in entries.iter_mut() {
                if let Some(fields) = entry.as_object_mut() {
                    fields.remove("time");
                }
                *entry = plain_value(entry, names);
            }
            entries.sort_by_cached_key(ToString::to_string);
        }
    }
    without_digests(&mut object);
    // Secrets are made by chance; and what is not compared cannot be printed.
    if secret && let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
        data.values_mut().for_each(|it| *it = Value::from("…"));
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("observedGeneration");
    }
    if object["kind"] == "Service" {
        without_addresses(&mut object["spec"]);
    }
    plain_value(&object, names)
}

/// A claim names fields by digests that are keyed, and ends with a seal, as does what a root says of its ledger: only
/// how long these are says something.
fn without_digests(object: &mut Value) {
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    for (_, memory) in annotations.into_iter().flatten().filter(|(name, _)| name.starts_with(MEMORY)) {
        let parts = memory.as_str().and_then(|it| it.rsplit_once(' '));
        if let Some(plain) = parts.map(|(said, seal)| format!("{said} {}", seal.len())) {
            *memory = Value::from(plain);
        }
    }
    let at = format!("/metadata/annotations/{}", CLAIM_ANNOTATION.replace('/', "~1"));
    let Some(claim) = object.pointer_mut(&at) else { return };
    let Some(Value::Object(mut read)) = claim.as_str().and_then(|it| serde_json::from_str(it).ok()) else {
        return;
    };
    for name in ["fields", "seal", "unkept"] {
        if let Some(digests) = read.get_mut(name) {
            let length = digests.as_str().map(str::len).or_else(|| digests.as_array().map(Vec::len));
            *digests = Value::from(length);
        }
    }
    *claim = Value::from(Value::Object(read).to_string());
}

/// The addresses and ports of a Service are drawn by chance; that it has none is not.
fn without_addresses(spec: &mut Value) {
    let drawn = |it: &Value| it.as_str().is_some_and(|it| it != "None");
    if spec.get("clusterIP").is_some_and(drawn) {
        spec["clusterIP"] = Value::from("…");
        spec["clusterIPs"] = Value::from("…");
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if port.get("nodePort").is_some() {
            port["nodePort"] = Value::from("…");
        }
    }
}

fn plain_value(value: &Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => Value::from(plain(text, names)),
        Value::Array(items) => items.iter().map(|it| plain_value(it, names)).collect(),
        Value::Object(fields) => {
            let own = |(name, it): (&String, &Value)| {
                let it = if name == "observedGeneration" { Value::Null } else { plain_value(it, names) };
                (plain(name, names), it)
            };
            Value::Object(fields.iter().map(own).collect())
        }
        other => other.clone(),
    }
}

/// A path without what differs from run to run.
pub(super) fn named(path: &str) -> String {
    plain(path.split('?').next().unwrap_or_default(), &BTreeMap::new())
}

/// A text in which uids are called after their objects, and times and digests are all the same.
fn plain(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let begins = out.chars().next_back().is_none_or(|it| !it.is_ascii_alphanumeric());
        if let Some((length, instead)) = token(rest, names).filter(|_| begins) {
            out.push_str(&instead);
            rest = rest.get(length..).unwrap_or_default();
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    out
}

/// Something at the beginning of a text that differs from run to run: how long it is, and what stands for it.
fn token(text: &str, names: &BTreeMap<String, String>) -> Option<(usize, String)> {
    let word = |allowed: fn(char) -> bool| text.find(|it| !allowed(it)).unwrap_or(text.len());
    let uid = text.get(..36).filter(|it| {
        it.char_indices()
            .all(|(at, c)| if matches!(at, 8 | 13 | 18 | 23) { c == '-' } else { c.is_ascii_hexdigit() })
    });
    if let Some(uid) = uid {
        return Some((36, names.get(uid).cloned().unwrap_or_else(|| "<gone>".to_owned())));
    }
    let time = text.get(..19).filter(|it| {
        let shape = |(at, c): (usize, char)| match at {
            4 | 7 => c == '-',
            10 => c == 'T',
            13 | 16 => c == ':',
            _ => c.is_ascii_digit(),
        };
        it.char_indices().all(shape)
    });
    if time.is_some() {
        let rest = text.get(19..).unwrap_or_default();
        let fraction =
            rest.strip_prefix('.').map_or(rest, |it| it.trim_start_matches(|c: char| c.is_ascii_digit()));
        let rest = fraction.strip_prefix('Z').unwrap_or(fraction);
        return Some((text.len() - rest.len(), "<time>".to_owned()));
    }
    let length = word(|it| it.is_ascii_alphanumeric());
    let hex = text.get(..length).is_some_and(|it| it.chars().all(|c| c.is_ascii_hexdigit()));
    (hex && matches!(length, 10 | 16 | 32 | 40 | 64)).then(|| (length, "#".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::{normal, plain};

    #[test]
    fn what_differs_between_runs_is_not_seen() {
        let uid = "21af8cfd-4c4c-4ee5-9360-00f4bd6ae8f8";
        let names = BTreeMap::from([(uid.to_owned(), "<foos a>".to_owned())]);
        let text =
            format!("pemdas-{uid}.558ea06832 at 2030-01-01T00:00:03Z: foo-migrate-763679680b of \"42\"");
        assert_eq!(plain(&text, &names), "pemdas-<foos a>.# at <time>: foo-migrate-# of \"42\"");
        assert_eq!(plain("registry.example.com/foo:7.1", &names), "registry.example.com/foo:7.1");
    }

    #[test]
    fn addresses_of_services_are_drawn_by_chance_and_that_there_is_none_is_not() {
        let service = |address: &str, port: u16| {
            let ports = json!([{ "port": 80, "nodePort": port }]);
            let spec = json!({ "clusterIP": address, "clusterIPs": [address], "ports": ports });
            normal(&json!({ "kind": "Service", "metadata": {}, "spec": spec }), &BTreeMap::new())
        };
        assert_eq!(service("10.96.0.1", 30_001), service("10.96.0.2", 30_002));
        assert_ne!(service("10.96.0.1", 30_001), service("None", 30_001));
    }
}
