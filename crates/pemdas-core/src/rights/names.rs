//! What is known of names and namespaces without an instance.

use std::collections::BTreeSet;

use super::Reach;
use crate::{
    blueprint::{Blueprint, Body, EVERY_NAMESPACE, NamePart, NameSegment, ObjectIdentity, RootTarget},
    world::KindKey,
};

/// The text of a name that is always the same.
pub(super) fn literal(part: &NamePart) -> Option<&str> {
    match part {
        NamePart::Pattern(segments) => match segments.as_slice() {
            [NameSegment::Text(text)] if !text.is_empty() => Some(text),
            _ => None,
        },
        NamePart::Missing | NamePart::Computed(_) => None,
    }
}

/// Whether a part of a name is the namespace of the root, written or not.
pub(super) fn is_of_root(part: &NamePart) -> bool {
    match part {
        NamePart::Missing => true,
        NamePart::Pattern(segments) => match segments.as_slice() {
            [NameSegment::Input(read)] => read.path == ["root", "metadata", "namespace"],
            _ => false,
        },
        NamePart::Computed(_) => false,
    }
}

/// Whether the blueprint's ConfigMap is its only root: then the namespace of the root is the blueprint's own.
fn is_at_home(blueprint: &Blueprint) -> bool {
    blueprint.nodes.values().all(|it| match &it.body {
        Body::Root(root) => root.target == RootTarget::Blueprint,
        _ => true,
    })
}

/// Where the objects of a node of a kind with namespaces are.
pub(super) fn reach(blueprint: &Blueprint, object: &ObjectIdentity) -> Reach {
    match literal(&object.namespace) {
        Some(EVERY_NAMESPACE) => Reach::Everywhere,
        Some(namespace) => Reach::Namespace(namespace.to_owned()),
        None if is_of_root(&object.namespace) && is_at_home(blueprint) => Reach::Home,
        None => Reach::Everywhere,
    }
}

/// The namespaces that all objects of a kind are in, as far as this blueprint is concerned, `home` being its own; nothing if
/// they may be anywhere.
#[must_use]
pub fn places(blueprint: &Blueprint, kind: &KindKey, home: &str) -> Option<BTreeSet<String>> {
    let mut places = BTreeSet::new();
    for node in blueprint.nodes.values() {
        if blueprint
            .kind_of_root(&node.body)
            .is_some_and(|(version, it)| KindKey::new(&version, &it) == *kind)
        {
            return None;
        }
        let Some(object) = node.body.identity() else { continue };
        let (Some(version), Some(it)) = (object.api_version.known(), object.kind.known()) else { continue };
        if KindKey::new(version, it) != *kind {
            continue;
        }
        places.insert(match reach(blueprint, object) {
            Reach::Namespace(namespace) => namespace,
            Reach::Home => home.to_owned(),
            Reach::Everywhere | Reach::Cluster => return None,
        });
    }
    (!places.is_empty()).then_some(places)
}
