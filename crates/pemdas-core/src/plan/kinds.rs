//! What is known of kinds without a cluster.

use std::collections::BTreeMap;

use crate::{
    blueprint::{Blueprint, Body, RootTarget, Scope},
    kube_types::{self, Kind},
    world::{KindKey, KindView, Sight},
};

/// The kinds that a blueprint speaks of: built-in ones and its own as they are, all others as most are.
#[must_use]
pub fn known_kinds(blueprint: &Blueprint) -> BTreeMap<KindKey, KindView> {
    let mut kinds = BTreeMap::new();
    for node in blueprint.nodes.values() {
        let named = match &node.body {
            Body::Root(root) => match &root.target {
                RootTarget::Foreign { api_version, kind, .. } => Some((api_version.as_str(), kind.as_str())),
                RootTarget::Owned(_) | RootTarget::Blueprint => None,
            },
            body => body.identity().and_then(|it| Some((it.api_version.known()?, it.kind.known()?))),
        };
        if let Some((api_version, kind)) = named {
            kinds.insert(KindKey::new(api_version, kind), view(blueprint, api_version, kind));
        }
    }
    for (kind, owned) in &blueprint.kinds {
        for version in owned.versions.keys() {
            let api_version = format!("{}/{version}", owned.group);
            kinds.insert(KindKey::new(&api_version, kind), view(blueprint, &api_version, kind));
        }
    }
    kinds
}

/// How a kind is seen where all is known that there is.
#[must_use]
pub fn view(blueprint: &Blueprint, api_version: &str, kind: &str) -> KindView {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let own = blueprint.kinds.get(kind).filter(|it| it.group == group);
    let built_in = Kind::find(api_version, kind).ok();
    let (namespaced, observed_generation) = match (own, built_in) {
        (Some(own), _) => (own.scope == Scope::Namespaced, true),
        (None, Some(kind)) => (kind.scope == kube_types::Scope::Namespaced, kind.observes_generation()),
        (None, None) => (true, false),
    };
    KindView { sight: Sight::Synced, epoch: 0, watermark: 0, observed_generation, namespaced }
}
