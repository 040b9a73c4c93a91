//! What a blueprint has to see of the cluster: kinds, and whether their bodies matter.

use std::collections::BTreeMap;

use pemdas_core::{
    blueprint::{Blueprint, Body, Function, Node},
    world::KindKey,
};

/// How a kind has to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The version in which the blueprint speaks of it.
    pub api_version: String,
    /// Whether nothing but the metadata of its objects is read.
    pub metadata_only: bool,
}

/// Kinds whose objects are ready as soon as they are there: nothing of their bodies is judged.
const INERT: &[&str] = &[
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
    "NetworkPolicy",
    "PriorityClass",
    "LimitRange",
    "ResourceQuota",
];

/// The kinds that a blueprint speaks of.
#[must_use]
pub fn kinds(blueprint: &Blueprint) -> BTreeMap<KindKey, Need> {
    let mut kinds: BTreeMap<KindKey, Need> = BTreeMap::new();
    let mut add = |api_version: &str, kind: &str, metadata_only: bool| {
        let need = kinds
            .entry(KindKey::new(api_version, kind))
            .or_insert_with(|| Need { api_version: api_version.to_owned(), metadata_only });
        need.metadata_only &= metadata_only;
    };
    for (name, node) in &blueprint.nodes {
        if let Some((api_version, kind)) = blueprint.kind_of_root(&node.body) {
            add(&api_version, &kind, false);
        }
        let Some(object) = node.body.identity() else { continue };
        let (Some(api_version), Some(kind)) = (object.api_version.known(), object.kind.known()) else {
            continue;
        };
        add(api_version, kind, INERT.contains(&kind) && only_metadata(blueprint, name, node));
    }
    kinds
}

/// Whether nobody reads more of a node's object than its metadata.
fn only_metadata(blueprint: &Blueprint, name: &str, node: &Node) -> bool {
    let judged =
        node.ready.is_some() || node.fails.is_some() || node.once.is_some() || node.state_of.is_some();
    let reads_self = match &node.body {
        Body::Template(template) => reads(&template.function, Some("self")),
        Body::Observe(_) | Body::Absent(_) => false,
        Body::Root(_) | Body::Value(_) => true,
    };
    let having = matches!(&node.body, Body::Absent(absent) if absent.having.is_some());
    let read_by_others = blueprint.nodes.values().any(|other| {
        let conditions = other.also.values().chain(other.deleting.values()).map(|it| &it.before);
        let edges = std::iter::once(&other.before).chain(conditions);
        let by_edge = edges
            .filter_map(|it| it.get(name))
            .any(|edge| edge.until.is_some() || edge.extract.as_ref().is_some_and(|it| reads(it, None)));
        let told = [&other.status, &other.conditions];
        by_edge || told.into_iter().flatten().any(|it| reads(it, Some(name)))
    });
    !(judged || reads_self || having || read_by_others)
}

/// Whether a function reads something of an input (or of its argument itself) other than metadata.
fn reads(function: &Function, input: Option<&str>) -> bool {
    function.reads.iter().any(|read| {
        let rest = match input {
            None => Some(read.path.as_slice()),
            Some(_) if read.path.is_empty() => Some(&[][..]),
            Some(input) => read.path.split_first().filter(|(first, _)| *first == input).map(|(_, rest)| rest),
        };
        rest.is_some_and(|rest| rest.first().is_none_or(|it| it != "metadata"))
    })
}
