//! Checksums of Helm in the annotations of pods: they roll the pods when a rendered file changes. Where it can be told which object such a
//! file made, the annotation becomes the digest of that object.
//!
//! A wrong guess would roll pods for nothing, or not at all. So only an object that the pods use counts, of the kind that the annotation
//! says, and the only one that its words fit.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Object, Order, codes, refer::Found};
use crate::{diagnostic::Diagnostic, suggest};

/// What annotations with checksums begin with.
const PREFIX: &str = "checksum/";
/// Words that say the kind, and not which one.
const OF_MAPS: &[&str] =
    &["config", "configs", "configmap", "configmaps", "cm", "configuration", "conf", "settings", "env"];
const OF_SECRETS: &[&str] = &["secret", "secrets", "credentials"];

/// For each object, the annotations of its pods and the object that each follows.
pub(super) type Followed = Vec<BTreeMap<String, usize>>;

impl Object {
    /// The annotations of its pods with checksums of what else the chart makes: they roll the pods when that changes.
    pub(crate) fn checksums(&self) -> Vec<&str> {
        let annotations =
            self.value.pointer("/spec/template/metadata/annotations").and_then(Value::as_object);
        let names = annotations.into_iter().flatten().filter(|it| it.1.is_string()).map(|it| it.0.as_str());
        names.filter(|it| it.starts_with(PREFIX)).collect()
    }

    fn is_plain(&self, kind: &str) -> bool {
        self.kind == kind && self.api_version == "v1"
    }
}

/// Which object each checksum is of, as far as that can be told. The object then comes first, whether it is only mentioned or mounted.
pub(super) fn follow(objects: &[Object], edges: &mut [Vec<Found>]) -> Followed {
    let mut followed = vec![BTreeMap::new(); objects.len()];
    for (from, object) in objects.iter().enumerate() {
        for name in object.checksums() {
            let Some(to) = meant(objects, object, name, &edges[from]) else { continue };
            let why = "its pods are rolled when it changes".to_owned();
            super::refer::add(&mut edges[from], Found { to, why, order: Order::Ready });
            followed[from].insert(name.to_owned(), to);
        }
    }
    super::refer::without_circles(edges);
    for (from, found) in followed.iter_mut().enumerate() {
        let comes_first = |to: usize| edges[from].iter().any(|it| it.to == to && it.order != Order::None);
        found.retain(|_, to| comes_first(*to));
    }
    followed
}

/// The object that an annotation is the checksum of.
fn meant(objects: &[Object], object: &Object, annotation: &str, edges: &[Found]) -> Option<usize> {
    let suffix = annotation.strip_prefix(PREFIX)?.to_ascii_lowercase();
    let words: Vec<&str> = suffix.split(|it: char| !it.is_ascii_alphanumeric()).collect();
    let says = |kind: &[&str]| words.iter().any(|it| kind.contains(it));
    let which: Vec<&str> = words
        .iter()
        .copied()
        .filter(|it| !OF_MAPS.contains(it) && !OF_SECRETS.contains(it) && !it.is_empty() && *it != "yaml")
        .collect();
    let is_candidate = |at: usize| {
        let it = &objects[at];
        match (says(OF_MAPS), says(OF_SECRETS)) {
            (true, false) => it.is_plain("ConfigMap"),
            (false, true) => it.is_plain("Secret"),
            _ => it.is_plain("ConfigMap") || it.is_plain("Secret"),
        }
    };
    let is_called = |it: &Object| {
        (it.is_plain("ConfigMap") || it.is_plain("Secret")) && it.name.ends_with(&format!("-{suffix}"))
    };
    // A configuration may be a Secret: then its name says so.
    let mut called = edges.iter().map(|it| it.to).filter(|it| is_called(&objects[*it]));
    if let (Some(one), None) = (called.next(), called.next()) {
        return Some(one);
    }
    let used: Vec<usize> = edges.iter().map(|it| it.to).filter(|it| is_candidate(*it)).collect();
    only(objects, object, &suffix, &which, &used).or_else(|| {
        // A program that reads an object from the API server gets its name in an argument or a variable.
        let all = (0..objects.len()).filter(|it| is_candidate(*it) && mentions(object, &objects[*it]));
        only(objects, object, &suffix, &which, &all.collect::<Vec<_>>())
    })
}

/// The only one that the words fit; several fit no better than none.
fn only(
    objects: &[Object],
    object: &Object,
    suffix: &str,
    which: &[&str],
    candidates: &[usize],
) -> Option<usize> {
    let alone = |of: &dyn Fn(&Object) -> bool| {
        let mut fitting = candidates.iter().copied().filter(|it| of(&objects[*it]));
        fitting.next().filter(|_| fitting.next().is_none())
    };
    let ends = |it: &Object| it.name == suffix || it.name.ends_with(&format!("-{suffix}"));
    if which.is_empty() {
        return alone(&|_| true).or_else(|| alone(&ends)).or_else(|| alone(&|it| it.name == object.name));
    }
    let has = |it: &Object| {
        let mut words = it.name.split(|it: char| !it.is_ascii_alphanumeric());
        let all: Vec<&str> = words.by_ref().collect();
        which.iter().all(|wanted| all.iter().any(|it| is_same_word(it, wanted)))
    };
    alone(&ends).or_else(|| alone(&has))
}

/// Whether two words are the same but for an `s` at the end.
fn is_same_word(one: &str, other: &str) -> bool {
    one.trim_end_matches('s') == other.trim_end_matches('s')
}

/// Whether the pods of an object get the name of another object, in an argument, a command or a variable.
fn mentions(object: &Object, other: &Object) -> bool {
    fn holds(value: &Value, name: &str) -> bool {
        match value {
            Value::String(text) => text
                .split(|it: char| !it.is_ascii_alphanumeric() && it != '-' && it != '.')
                .any(|it| it == name),
            Value::Array(items) => items.iter().any(|it| holds(it, name)),
            Value::Object(fields) => fields
                .iter()
                .any(|(key, it)| ["args", "command", "env", "value"].contains(&&**key) && holds(it, name)),
            _ => false,
        }
    }
    let containers = ["/spec/template/spec/containers", "/spec/template/spec/initContainers"];
    object.namespace == other.namespace
        && containers.iter().filter_map(|it| object.value.pointer(it)).any(|it| holds(it, &other.name))
}

/// The fields of an object whose values its digest is made from.
pub(super) fn digested(object: &Object) -> Vec<String> {
    let binary = object.value.get("binaryData").map(|_| "binaryData".to_owned());
    std::iter::once("data".to_owned()).chain(binary).collect()
}

/// Tells what became of the checksums.
pub(super) fn tell(objects: &[Object], followed: &Followed, problems: &mut Vec<Diagnostic>) {
    let (mut known, mut open) = (Vec::new(), Vec::new());
    for (object, followed) in objects.iter().zip(followed) {
        for name in object.checksums() {
            match followed.get(name) {
                Some(to) => known.push(format!("{name} of {} ({})", object.title(), objects[*to].title())),
                None => open.push(format!("{name} of {}", object.title())),
            }
        }
    }
    let quoted = |all: &[String]| suggest::quoted(&all.iter().map(String::as_str).collect::<Vec<_>>());
    if !known.is_empty() {
        let message = format!("checksums of Helm become digests of what they are of: {}", quoted(&known));
        problems.push(Diagnostic::remark(codes::CHECKSUM, message));
    }
    if !open.is_empty() {
        let message =
            format!("checksums of Helm stay as they are, and follow nothing any more: {}", quoted(&open));
        problems.push(Diagnostic::remark(codes::CHECKSUM, message).hint(
            "if the pods are to be rolled when an object changes, extract a digest of it, as the page of this code shows",
        ));
    }
}
