//! What everything is called: the instance, the blueprint, its kind, the nodes.
//!
//! Objects that belong together mostly share the beginning of their names. That beginning is the instance's name, and what is left of
//! each name is that of its node: of `shop`, `shop-api` and `shop-db` the instance is `shop`, the nodes `api` and `db`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::kube_types::{Kind, format};

use super::{GROUP, Object, Wishes, release::Release};

/// What everything is called.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// The blueprint.
    pub(super) blueprint: String,
    /// The proposed kind.
    pub(super) kind: String,
    /// Its group.
    pub(super) group: String,
    /// The instance that gives the objects again.
    pub(super) instance: String,
    /// Whether it is a release of Helm.
    pub(super) of_release: bool,
    /// Whether its name is no word of the application: then it means the instance wherever it stands.
    pub(super) distinct: bool,
    /// What the main object is called: the one that the kind is named after.
    pub(super) main: String,
    /// Whether the root lives beside namespaces: one of the objects is the namespace of others.
    pub(super) cluster: bool,
    /// Where the root lives, and objects that do not say where.
    pub(super) namespace: String,
    /// The node of the root.
    pub(super) root: String,
    /// The node of each object, in their order.
    pub(super) nodes: Vec<String>,
}

/// Names that a node cannot have: what functions see, and what would hide the fields around the nodes.
const RESERVED: &[&str] = &[
    "root",
    "self",
    "seed",
    "each",
    "kinds",
    "nodes",
    "name",
    "rollout",
    "the",
    "std",
    "at",
    "base64",
    "selector_labels",
    "common_labels",
];
/// Kinds that run something: of several objects with one name, they are what the name means.
const WORKLOADS: &[&str] = &["Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Pod", "ReplicaSet"];
/// The longest name of a node.
const MAX_NODE: usize = 63;

/// Chooses all names.
pub(super) fn choose(objects: &[Object], release: &Release, wishes: &Wishes) -> Named {
    let instance = release.name.clone().unwrap_or_else(|| instance(objects, wishes));
    let spaces: BTreeSet<&str> = objects
        .iter()
        .filter(|it| it.kind == "Namespace" && it.api_version == "v1")
        .map(|it| &*it.name)
        .collect();
    let cluster = objects.iter().any(|it| it.namespaced && spaces.contains(&*it.namespace))
        || objects.iter().all(|it| !it.namespaced);
    let namespace = match (cluster, spaces.first()) {
        // What says no namespace belongs into the one that comes with it.
        (true, Some(only)) if spaces.len() == 1 => (*only).to_owned(),
        _ => home(objects),
    };
    // An instance has the name of a release, what it is an instance of that of the chart.
    let of_names = || release.name.as_ref().and_then(|it| shared_rest(objects, it));
    let chart = release.chart.clone().or_else(of_names);
    let main = match &chart {
        Some(chart) if release.name.is_some() && *chart != instance => format!("{instance}-{chart}"),
        _ => instance.clone(),
    };
    let mut blueprint = wishes.name.clone().or(chart).unwrap_or_else(|| instance.clone());
    let kind = wishes.kind.clone().unwrap_or_else(|| kind_of(&blueprint, objects));
    // The blueprint is a ConfigMap itself.
    let plain = snake(&blueprint);
    let is_map = |it: &Object| it.kind == "ConfigMap" && it.api_version == "v1";
    while objects.iter().any(|it| is_map(it) && it.name == blueprint) {
        blueprint.push_str("-blueprint");
    }
    let nodes = nodes(objects, &instance, &main, &wishes.taken);
    let mut taken: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
    taken.extend(wishes.taken.iter().map(String::as_str));
    let root = [plain, snake(&kind), "app".to_owned(), "instance".to_owned()]
        .into_iter()
        .find(|it| is_free(it, &taken))
        .unwrap_or_else(|| numbered("instance", &taken));
    let group = wishes.group.clone().unwrap_or_else(|| GROUP.to_owned());
    let distinct = release.name.is_some() && !words(objects, release).any(|it| it.starts_with(&instance));
    let of_release = release.name.is_some();
    Named { blueprint, kind, group, instance, of_release, distinct, main, cluster, namespace, root, nodes }
}

/// What the application calls itself: its chart, its names, its images and their programs.
fn words<'a>(objects: &'a [Object], release: &'a Release) -> impl Iterator<Item = String> + 'a {
    let labels = objects.iter().filter_map(|it| it.tree.find(&["metadata", "labels"])).flat_map(|it| {
        ["app.kubernetes.io/name", "app.kubernetes.io/component", "app"]
            .map(|key| it.text(&[key]).unwrap_or_default())
    });
    let mut images = Vec::new();
    objects.iter().for_each(|it| of_images(&it.value, &mut images));
    let images =
        images.into_iter().flat_map(|it| it.split([':', '/']).map(str::to_owned).collect::<Vec<_>>());
    release.chart.clone().into_iter().chain(labels.map(str::to_owned)).chain(images)
}

fn of_images(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| of_images(it, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                found.extend(value.as_str().filter(|_| name == "image").map(str::to_owned));
                of_images(value, found);
            }
        }
        _ => {}
    }
}

/// What all names have in common behind the name of the instance: `rel-metrics-server` and `rel-metrics-server-view` have `metrics-server`.
fn shared_rest(objects: &[Object], instance: &str) -> Option<String> {
    let rests = objects.iter().filter_map(|it| it.name.strip_prefix(instance)?.strip_prefix('-'));
    let shared = |one: String, other: &str| {
        let same = one.split('-').zip(other.split('-')).take_while(|(a, b)| a == b).map(|it| it.0);
        same.collect::<Vec<_>>().join("-")
    };
    let mut rests = rests.map(str::to_owned);
    let first = rests.next()?;
    let shared = rests.fold(first, |one, other| shared(one, &other));
    (shared.len() > 1 && format::dns_label(&shared).is_ok()).then_some(shared)
}

/// Where most of the objects live.
fn home(objects: &[Object]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects.iter().filter(|it| !it.namespace.is_empty()) {
        *counts.entry(&object.namespace).or_default() += 1;
    }
    let most = counts.iter().max_by_key(|(name, count)| (**count, std::cmp::Reverse(**name)));
    most.map_or_else(|| "default".to_owned(), |(name, _)| (*name).to_owned())
}

/// The longest beginning that most names share; of objects without one, what their labels say, where they live, or what they are from.
fn instance(objects: &[Object], wishes: &Wishes) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    // What every namespace has under the same name says nothing of the instance.
    let mut seen = BTreeSet::new();
    for object in objects.iter().filter(|it| seen.insert((&it.kind, &it.name))) {
        let ends = object.name.match_indices('-').map(|(at, _)| at).chain([object.name.len()]);
        for begin in ends.filter_map(|end| object.name.get(..end)) {
            let long = begin.len() > 1 || begin.len() == object.name.len();
            if long && format::dns_label(begin).is_ok() {
                *counts.entry(begin).or_default() += 1;
            }
        }
    }
    let best = counts.iter().max_by_key(|(begin, count)| (**count, begin.len(), std::cmp::Reverse(**begin)));
    let enough = objects.len().div_ceil(3).max(if objects.len() > 1 { 2 } else { 1 });
    let shared = best.filter(|(_, count)| **count >= enough).map(|(begin, _)| (*begin).to_owned());
    let label = |key: &str| {
        let values: BTreeSet<_> = objects
            .iter()
            .filter_map(|it| it.tree.find(&["metadata", "labels"])?.text(&[key]).map(str::to_owned))
            .collect();
        values.into_iter().next()
    };
    let lives = || objects.iter().map(|it| it.namespace.clone()).find(|it| !it.is_empty() && it != "default");
    let valid = |it: &String| it.len() > 1 && it.len() <= 40 && format::dns_label(it).is_ok();
    shared
        .or_else(|| wishes.name.clone())
        .or_else(|| label("app.kubernetes.io/instance").filter(valid))
        .or_else(|| label("app.kubernetes.io/part-of").filter(valid))
        .or_else(|| lives().filter(valid))
        .or_else(|| wishes.fallback.as_deref().map(dashed).filter(valid))
        .unwrap_or_else(|| "app".to_owned())
}

/// A name of lower-case letters, digits and dashes.
fn dashed(text: &str) -> String {
    let letters =
        text.chars().map(|it| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' });
    let text: String = letters.collect();
    text.split('-').filter(|it| !it.is_empty()).collect::<Vec<_>>().join("-")
}

/// The kind that a name suggests; never one of Kubernetes' own, or of the objects.
fn kind_of(name: &str, objects: &[Object]) -> String {
    let mut kind = camel(name, true);
    if !kind.starts_with(|it: char| it.is_ascii_uppercase()) {
        kind.insert_str(0, "App");
    }
    if Kind::all().any(|it| it.name == kind) || objects.iter().any(|it| it.kind == kind) {
        kind.push_str("App");
    }
    kind
}

/// The words of a name together: `LOG_LEVEL`, `log-level` and `logLevel` are `logLevel`.
pub(super) fn camel(text: &str, upper: bool) -> String {
    let mut out = String::new();
    for (index, word) in snake(text).split('_').filter(|it| !it.is_empty()).enumerate() {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if upper || index > 0 => out.push(first.to_ascii_uppercase()),
            Some(first) => out.push(first),
            None => {}
        }
        out.push_str(letters.as_str());
    }
    out
}

/// The words of a name with `_` between them, in lower case.
pub(super) fn snake(text: &str) -> String {
    let mut out = String::new();
    let letters: Vec<char> = text.chars().collect();
    for (index, letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            if !out.ends_with('_') {
                out.push('_');
            }
            continue;
        }
        let before = index.checked_sub(1).and_then(|it| letters.get(it));
        let after = letters.get(index + 1);
        let begins = letter.is_ascii_uppercase()
            && (before.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
                || (before.is_some_and(char::is_ascii_uppercase)
                    && after.is_some_and(char::is_ascii_lowercase)));
        if begins && !out.ends_with('_') {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out.trim_matches('_').to_owned()
}

/// A kind in a word.
fn word_of(kind: &str) -> String {
    match kind {
        "HorizontalPodAutoscaler" => "autoscaler".to_owned(),
        "PodDisruptionBudget" => "budget".to_owned(),
        "PersistentVolumeClaim" => "claim".to_owned(),
        "PersistentVolume" => "volume".to_owned(),
        "CustomResourceDefinition" => "definition".to_owned(),
        "ServiceAccount" => "account".to_owned(),
        "ValidatingWebhookConfiguration" => "validation".to_owned(),
        "MutatingWebhookConfiguration" => "mutation".to_owned(),
        other => snake(other),
    }
}

fn is_free(name: &str, taken: &BTreeSet<&str>) -> bool {
    let begins = name.starts_with(|it: char| it.is_ascii_lowercase());
    begins && name.len() <= MAX_NODE && !RESERVED.contains(&name) && !taken.contains(name)
}

fn numbered(name: &str, taken: &BTreeSet<&str>) -> String {
    let short: String = name.chars().take(MAX_NODE - 6).collect();
    let free = (2..).map(|number| format!("{short}_{number}")).find(|it| is_free(it, taken));
    free.unwrap_or(short)
}

/// A name for the node of each object.
fn nodes(objects: &[Object], instance: &str, main: &str, taken: &[String]) -> Vec<String> {
    let rest = |object: &Object| {
        let name = object.name.as_str();
        if object.kind == "CustomResourceDefinition" {
            return format!("{}_definition", snake(name.split('.').next().unwrap_or(name)));
        }
        let goes_on = |it: &&str| it.starts_with(['-', '.', ':']);
        let of_main = name.strip_prefix(main).filter(goes_on);
        let rest = || name.strip_prefix(instance).filter(|it| it.is_empty() || goes_on(it));
        snake(of_main.or_else(rest).unwrap_or(name))
    };
    let rests: Vec<String> = objects.iter().map(rest).collect();
    let mut meant: BTreeMap<&str, usize> = BTreeMap::new();
    // The object that a name means: the one that runs something, or the only one.
    for (index, (object, rest)) in objects.iter().zip(&rests).enumerate() {
        let rank = |kind: &str| WORKLOADS.iter().position(|it| *it == kind);
        let better = meant.get(rest.as_str()).and_then(|it| objects.get(*it)).is_none_or(|other| {
            rank(&object.kind).is_some_and(|rank_of| rank(&other.kind).is_none_or(|it| rank_of < it))
        });
        if better {
            meant.insert(rest, index);
        }
    }
    let mut used: BTreeSet<String> = taken.iter().cloned().collect();
    let mut names = vec![String::new(); objects.len()];
    let only = |index: &usize| meant.get(rests[*index].as_str()) == Some(index);
    let (first, others): (Vec<_>, Vec<_>) = (0..objects.len()).partition(only);
    for index in first.into_iter().chain(others) {
        let (object, rest) = (&objects[index], &rests[index]);
        let kind = word_of(&object.kind);
        let space = snake(&object.namespace);
        let mut tries = Vec::new();
        if meant.get(rest.as_str()) == Some(&index) && !rest.is_empty() {
            tries.push(rest.clone());
        }
        // The same name in several namespaces: where it lives tells it apart.
        let twin = |it: &Object| {
            it.kind == object.kind && it.name == object.name && it.namespace != object.namespace
        };
        if objects.iter().any(twin) && !rest.is_empty() {
            let space = object.namespace.strip_prefix(instance).unwrap_or(&object.namespace);
            tries.push(format!("{}_{rest}", snake(space)));
        }
        tries.push(match rest.is_empty() {
            true => kind.clone(),
            false => format!("{rest}_{kind}"),
        });
        tries.push(format!("{kind}_{rest}").trim_matches('_').to_owned());
        tries.push(format!("{rest}_{kind}_{space}").trim_matches('_').to_owned());
        let taken: BTreeSet<&str> = used.iter().map(String::as_str).collect();
        let name = tries.iter().find(|it| is_free(it, &taken)).cloned();
        let name = name.unwrap_or_else(|| numbered(&kind, &taken));
        used.insert(name.clone());
        names[index] = name;
    }
    names
}
