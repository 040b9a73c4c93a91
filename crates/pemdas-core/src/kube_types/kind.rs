//! The built-in kinds: how they are served.

use std::sync::LazyLock;

use super::table;
use super::types::Type;
use crate::suggest;

/// A kind that the API server of the pinned version serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Group and version, such as `apps/v1`, or `v1` for the core group.
    pub api_version: &'static str,
    /// The name, such as `Deployment`.
    pub name: &'static str,
    /// The name of its resource in paths and permissions, such as `deployments`.
    pub plural: &'static str,
    /// Where its objects live.
    pub scope: Scope,
    type_id: &'static str,
    verbs: &'static str,
    subresources: &'static str,
}

/// Where the objects of a kind live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In namespaces.
    Namespaced,
    /// Beside them.
    Cluster,
}

/// Why a kind was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownKind {
    /// The group is none of the built-in ones: a custom resource, of which nothing is known here.
    Custom,
    /// The group is built in and has this kind, in the apiVersions given: those are served.
    OtherVersion(Vec<&'static str>),
    /// The apiVersion is built in, and the kind is a built-in one of these other apiVersions.
    OtherGroup(Vec<&'static str>),
    /// The apiVersion is built in and has no such kind, nor anything else of the name; perhaps this was meant.
    Misspelt(Option<&'static str>),
    /// The group is built in, and serves no such version and no such kind.
    NoVersion(Vec<&'static str>),
}

/// All kinds, ordered by apiVersion and name.
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| table::kind_lines().filter_map(Kind::parse).collect());

impl Kind {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split('\t');
        Some(Self {
            api_version: words.next()?,
            name: words.next()?,
            plural: words.next()?,
            scope: if words.next()? == "N" { Scope::Namespaced } else { Scope::Cluster },
            type_id: words.next()?,
            verbs: words.next()?,
            subresources: words.next()?,
        })
    }

    /// All kinds, ordered by apiVersion and name.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().copied()
    }

    /// The kind of this apiVersion and name.
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(api_version: &str, name: &str) -> Result<Self, UnknownKind> {
        let found = KINDS.binary_search_by(|kind| (kind.api_version, kind.name).cmp(&(api_version, name)));
        let kind = found.ok().and_then(|place| KINDS.get(place));
        kind.copied().ok_or_else(|| why_unknown(api_version, name))
    }

    /// The kind whose objects are of a type, if they are of one kind's.
    #[must_use]
    pub fn of_type(id: &str) -> Option<Self> {
        Self::all().find(|kind| kind.type_id == id)
    }

    /// The version within its group.
    #[must_use]
    pub fn version(&self) -> &'static str {
        self.api_version.split_once('/').map_or(self.api_version, |(_, version)| version)
    }

    /// The group, empty for the core group.
    #[must_use]
    pub fn group(&self) -> &'static str {
        group_of(self.api_version)
    }

    /// The type of its objects.
    #[must_use]
    pub fn body(&self) -> Option<Type> {
        Type::find(self.type_id)
    }

    /// What can be done with its objects: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` and
    /// `deletecollection`, ordered by name.
    pub fn verbs(&self) -> impl Iterator<Item = &'static str> {
        self.verbs.split(',').filter(|verb| !verb.is_empty())
    }

    /// Whether something can be done with its objects.
    #[must_use]
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs().any(|one| one == verb)
    }

    /// Its subresources, such as `status` and `scale`, ordered by name.
    pub fn subresources(&self) -> impl Iterator<Item = &'static str> {
        self.subresources.split(',').filter(|one| !one.is_empty())
    }

    /// Whether its status is written apart from the rest.
    #[must_use]
    pub fn has_status_subresource(&self) -> bool {
        self.subresources().any(|one| one == "status")
    }

    /// Whether it can be scaled.
    #[must_use]
    pub fn has_scale(&self) -> bool {
        self.subresources().any(|one| one == "scale")
    }

    /// Whether each of its objects says in `status.observedGeneration` which generation the rest of the status is of. That the field is in
    /// the schema is not enough: where nobody fills it in, waiting for it would never end.
    #[must_use]
    pub fn observes_generation(&self) -> bool {
        let has_field = self.body().is_some_and(|it| it.at(&["status", "observedGeneration"]).is_some());
        has_field && !UNREPORTED.contains(&(self.group(), self.name))
    }
}

/// The kinds that have the field and whose objects do not all fill it in: group and kind. `docs/design/kubernetes-types.md` says of each why.
const UNREPORTED: [(&str, &str); 3] = [
    ("", "Pod"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("autoscaling", "HorizontalPodAutoscaler"),
];

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn why_unknown(api_version: &str, name: &str) -> UnknownKind {
    let (mut versions, mut same_version) = (Vec::new(), Vec::new());
    let (mut other_versions, mut other_groups) = (Vec::new(), Vec::new());
    for kind in Kind::all() {
        let own_group = kind.group() == group_of(api_version);
        if own_group && versions.last() != Some(&kind.api_version) {
            versions.push(kind.api_version);
        }
        if kind.api_version == api_version {
            same_version.push(kind.name);
        }
        if kind.name == name {
            if own_group { &mut other_versions } else { &mut other_groups }.push(kind.api_version);
        }
    }
    // A group that Kubernetes had and gave up (`extensions`) is still no place for a custom resource.
    let gone = !api_version.contains('.') && !other_groups.is_empty();
    match (versions.is_empty(), same_version.is_empty()) {
        (true, _) if gone => UnknownKind::OtherGroup(other_groups),
        (true, _) => UnknownKind::Custom,
        _ if !other_versions.is_empty() => UnknownKind::OtherVersion(other_versions),
        (_, true) => UnknownKind::NoVersion(versions),
        _ if !other_groups.is_empty() => UnknownKind::OtherGroup(other_groups),
        _ => UnknownKind::Misspelt(suggest::closest(name, same_version)),
    }
}
