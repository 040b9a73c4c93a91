//! Strings that are made from the root's name: names of objects, what refers to them, and labels.

use std::collections::BTreeSet;

use super::{Object, Part, is_data, is_opaque};
use crate::{
    import::{names::Named, seeds::base64},
    secrets::decoded,
};

/// Lists whose items are called something within their object only.
const LOCAL: &[&str] = &[
    "containers",
    "initContainers",
    "ephemeralContainers",
    "volumes",
    "volumeMounts",
    "volumeDevices",
    "ports",
    "env",
];
/// Labels that say what something is rather than which one.
const WHAT_IT_IS: &[&str] = &["app.kubernetes.io/part-of", "helm.sh/chart", "app.kubernetes.io/version"];

/// What is known for turning strings into parts.
pub(in crate::import) struct Texts<'a> {
    named: &'a Named,
    /// Names of objects that begin with the instance's and are longer, the longest first.
    longer: Vec<&'a str>,
    /// Names of Services that live where the root does: addresses begin with them.
    services: BTreeSet<&'a str>,
    /// Whether objects say with a label of their own which instance they are of.
    instance_label: bool,
}

impl<'a> Texts<'a> {
    pub(super) fn new(objects: &'a [Object], named: &'a Named) -> Self {
        let prefix = format!("{}-", named.instance);
        let mut longer: Vec<&str> =
            objects.iter().map(|it| it.name.as_str()).filter(|it| it.starts_with(&prefix)).collect();
        longer.sort_unstable_by_key(|it| (std::cmp::Reverse(it.len()), *it));
        longer.dedup();
        let labelled = |it: &Object| {
            let label =
                it.tree.find(&["metadata", "labels"]).and_then(|it| it.text(&["app.kubernetes.io/instance"]));
            label == Some(named.instance.as_str())
        };
        let at_home = |it: &&Object| it.kind == "Service" && it.namespace == named.namespace;
        let services = objects.iter().filter(at_home).map(|it| it.name.as_str()).collect();
        Self { named, longer, services, instance_label: objects.iter().any(labelled) }
    }

    /// A value in the `data` of a Secret, if it mentions names: the parts of its text.
    pub(super) fn encoded(&self, object: &Object, path: &[String], text: &str) -> Option<Vec<Part>> {
        let is_value = object.kind == "Secret" && path.len() == 2 && path[0] == "data";
        let plain = is_value.then(|| decoded(text)).flatten()?;
        let parts = self.mentions(&plain);
        let mentions = parts.iter().any(|it| !matches!(it, Part::Literal(_)));
        // What another encoder wrote otherwise would not come out the same.
        (mentions && base64(plain.as_bytes()) == text).then_some(parts)
    }

    /// A string of an object as parts.
    pub(super) fn parts(&self, object: &Object, path: &[String], text: &str) -> Vec<Part> {
        let literal = || vec![Part::Literal(text.to_owned())];
        let last = path.last().map(String::as_str).unwrap_or_default();
        let top = path.len() == 1 && (last == "apiVersion" || last == "kind");
        let is_encoded = is_data(object, path) && (object.kind == "Secret" || path[0] == "binaryData");
        if top || last == "image" || is_opaque(object) || (is_encoded && path[0] != "stringData") {
            return literal();
        }
        if path.len() == 2 && path[0] == "metadata" && last == "name" {
            return self.name(text).unwrap_or_else(literal);
        }
        let of_namespaces = path.iter().rev().nth(1).is_some_and(|it| it == "matchNames");
        if last == "namespace" || of_namespaces {
            return match () {
                () if !self.named.cluster && text == self.named.namespace => vec![Part::RootNamespace],
                () if self.named.cluster && self.begins_with_instance(text) => {
                    self.name(text).unwrap_or_else(literal)
                }
                () => literal(),
            };
        }
        if is_label(path) {
            return self.label(last, text).unwrap_or_else(literal);
        }
        if is_local(path) {
            return literal();
        }
        let refers = last == "name" || last.ends_with("Name");
        if refers && self.begins_with_instance(text) {
            return self.name(text).unwrap_or_else(literal);
        }
        self.mentions(text)
    }

    /// A name around the instance's.
    fn name(&self, text: &str) -> Option<Vec<Part>> {
        let instance = &self.named.instance;
        let around = |before: &str, after: &str| {
            let part = |text: &str| (!text.is_empty()).then(|| Part::Literal(text.to_owned()));
            part(before).into_iter().chain([Part::RootName]).chain(part(after)).collect()
        };
        let begins = |it: &str| it.is_empty() || it.starts_with('-');
        if let Some(rest) = text.strip_prefix(instance.as_str()).filter(|it| begins(it)) {
            return Some(around("", rest));
        }
        let at = text.match_indices(instance.as_str()).map(|(at, _)| at).find(|at| {
            let after = text.get(at + instance.len()..).unwrap_or_default();
            text.get(..*at).is_some_and(|it| it.ends_with('-')) && begins(after)
        })?;
        Some(around(text.get(..at)?, text.get(at + instance.len()..)?))
    }

    fn label(&self, key: &str, text: &str) -> Option<Vec<Part>> {
        let what = WHAT_IT_IS.contains(&key) || (key == "app.kubernetes.io/name" && self.instance_label);
        (!what && self.begins_with_instance(text)).then(|| self.name(text))?
    }

    fn begins_with_instance(&self, text: &str) -> bool {
        text.strip_prefix(self.named.instance.as_str()).is_some_and(|it| it.is_empty() || it.starts_with('-'))
    }

    /// A text that mentions names of objects: an address, a line of a configuration.
    fn mentions(&self, text: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let before = text.get(..text.len() - rest.len()).unwrap_or_default();
            let here = rest.starts_with(self.named.instance.as_str());
            let found = self.longer.iter().filter(|_| here).find(|name| {
                let after = rest.strip_prefix(**name);
                // A pod has a name before that of its Service: `db-0.db.shop.svc`.
                let precedes =
                    may_precede(before) || (before.ends_with('.') && self.services.contains(**name));
                after.is_some_and(|after| precedes && self.may_follow(after))
            });
            if let Some(name) = found {
                literal_into(&mut parts, &mut literal);
                parts.push(Part::RootName);
                literal.push_str(name.get(self.named.instance.len()..).unwrap_or_default());
                rest = rest.get(name.len()..).unwrap_or_default();
                continue;
            }
            if here && self.named.distinct && is_boundary(before) && self.goes_on(text, rest) {
                literal_into(&mut parts, &mut literal);
                parts.push(Part::RootName);
                rest = rest.get(self.named.instance.len()..).unwrap_or_default();
                continue;
            }
            if let Some(after) = self.is_in_address(before, rest) {
                literal_into(&mut parts, &mut literal);
                parts.push(Part::RootNamespace);
                rest = after;
                continue;
            }
            let Some(letter) = rest.chars().next() else { break };
            literal.push(letter);
            rest = rest.get(letter.len_utf8()..).unwrap_or_default();
        }
        literal_into(&mut parts, &mut literal);
        if parts.is_empty() {
            parts.push(Part::Literal(String::new()));
        }
        parts
    }

    /// Behind the name of a Service that is imported too, the namespace is that of the root, and so it is behind a variable: in
    /// `$(NAME).shop.svc`, the variable most likely holds such a name. Returns what follows it.
    fn is_in_address<'t>(&self, before: &str, rest: &'t str) -> Option<&'t str> {
        let host = before.strip_suffix('.').filter(|_| !self.named.cluster)?;
        let after = rest.strip_prefix(self.named.namespace.as_str())?;
        let word = |it: char| it.is_ascii_alphanumeric() || it == '-';
        let of_cluster = after.strip_prefix(".svc").is_some_and(|it| !it.starts_with(word));
        let name = host.rsplit(|it| !word(it)).next().unwrap_or_default();
        let is_service = self.services.contains(name);
        let ends = of_cluster || !(after.starts_with(word) || after.starts_with(['.', '_']));
        ((is_service && ends) || (host.ends_with([')', '}']) && of_cluster)).then_some(after)
    }

    /// Whether the name of an instance that is no other word is meant here: it is all there is, or the beginning of a longer name.
    fn goes_on(&self, text: &str, rest: &str) -> bool {
        let after = rest.get(self.named.instance.len()..).unwrap_or_default();
        let longer =
            after.strip_prefix('-').is_some_and(|it| it.starts_with(|it: char| it.is_ascii_alphanumeric()));
        longer || (after.is_empty() && rest.len() == text.len())
    }

    /// Whether a name may end here: in an address, or between words.
    fn may_follow(&self, after: &str) -> bool {
        let Some(letter) = after.chars().next() else { return true };
        if letter == '.' {
            // The names of a Service go on with its namespace.
            let word = after
                .get(1..)
                .unwrap_or_default()
                .split(|it: char| !it.is_ascii_alphanumeric() && it != '-')
                .next();
            return word.is_some_and(|it| it == "svc" || it == self.named.namespace);
        }
        letter.is_whitespace() || ":/,;\"')]}".contains(letter)
    }
}

fn literal_into(parts: &mut Vec<Part>, literal: &mut String) {
    if !literal.is_empty() {
        parts.push(Part::Literal(std::mem::take(literal)));
    }
}

/// Whether no word goes on behind this.
fn is_boundary(before: &str) -> bool {
    !before.ends_with(|it: char| it.is_ascii_alphanumeric() || "-_.".contains(it))
}

/// Whether a name may begin behind this.
fn may_precede(before: &str) -> bool {
    let Some(letter) = before.chars().next_back() else { return true };
    letter.is_whitespace() || "\"'=@,([{".contains(letter) || before.ends_with("//")
}

fn is_label(path: &[String]) -> bool {
    let has = |name: &str| path.iter().rev().skip(1).any(|it| it == name);
    has("labels")
        || has("matchLabels")
        || has("matchExpressions")
        || (path.len() == 3 && path[0] == "spec" && path[1] == "selector")
}

/// Whether a name means something within its object only.
fn is_local(path: &[String]) -> bool {
    let [.., list, _, last] = path else { return false };
    let of_template = path.iter().any(|it| it == "volumeClaimTemplates") && list != "labels";
    let port = path.iter().rev().nth(1).is_some_and(|it| it == "port");
    last == "name" && (LOCAL.contains(&list.as_str()) || port || of_template)
}
