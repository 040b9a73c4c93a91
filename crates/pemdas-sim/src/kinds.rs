//! Which resources there are: the built-in ones and those that definitions add.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use pemdas_core::kube_types::{Kind, Scope};

use crate::custom::Definition;
use crate::store::ResourceId;

/// A resource in one version, as it is served.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The group, empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind of its objects.
    pub kind: String,
    /// Its name in paths.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What its objects are made of.
    pub body: Body,
}

/// What objects are made of.
#[derive(Debug, Clone)]
pub enum Body {
    /// A type of the table.
    BuiltIn(Kind),
    /// The schema of a definition.
    Custom(Arc<Definition>),
}

impl Resource {
    fn built_in(kind: Kind) -> Self {
        Self {
            group: kind.group().to_owned(),
            version: kind.version().to_owned(),
            kind: kind.name.to_owned(),
            plural: kind.plural.to_owned(),
            namespaced: kind.scope == Scope::Namespaced,
            body: Body::BuiltIn(kind),
        }
    }

    /// Where its objects are stored.
    #[must_use]
    pub fn id(&self) -> ResourceId {
        ResourceId { group: self.group.clone(), plural: self.plural.clone() }
    }

    /// Group and version as objects name them.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// As messages name it, such as `deployments.apps`.
    #[must_use]
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The definition, if it is a custom one.
    #[must_use]
    pub fn definition(&self) -> Option<&Definition> {
        match &self.body {
            Body::Custom(definition) => Some(definition),
            Body::BuiltIn(_) => None,
        }
    }

    /// Whether it is a resource of the core's with this name.
    #[must_use]
    pub fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// Whether it has this subresource.
    #[must_use]
    pub fn has_subresource(&self, name: &str) -> bool {
        match &self.body {
            Body::BuiltIn(kind) => kind.subresources().any(|one| one == name),
            Body::Custom(definition) => match name {
                "status" => definition.status,
                "scale" => definition.scale.is_some(),
                _ => false,
            },
        }
    }

    /// What can be done with its objects.
    #[must_use]
    pub fn allows(&self, verb: &str) -> bool {
        match &self.body {
            Body::BuiltIn(kind) => kind.allows(verb),
            Body::Custom(_) => true,
        }
    }

    /// The kind of its lists.
    #[must_use]
    pub fn list_kind(&self) -> String {
        self.definition().map_or_else(|| format!("{}List", self.kind), |it| it.list_kind.clone())
    }
}

/// The built-in kinds by their plural names: every request asks for one.
static BUILT_IN: LazyLock<BTreeMap<&'static str, Vec<Kind>>> = LazyLock::new(|| {
    let mut all: BTreeMap<&'static str, Vec<Kind>> = BTreeMap::new();
    for kind in Kind::all() {
        all.entry(kind.plural).or_default().push(kind);
    }
    all
});

/// All resources.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    /// By group, version and plural name.
    custom: BTreeMap<(String, String, String), Arc<Definition>>,
}

impl Kinds {
    /// The resource at this place.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Resource> {
        let key = (group.to_owned(), version.to_owned(), plural.to_owned());
        if let Some(definition) = self.custom.get(&key) {
            return Some(Self::custom_resource(definition));
        }
        let of_group = BUILT_IN.get(plural).into_iter().flatten();
        let mut found = of_group.filter(|kind| kind.group() == group && kind.version() == version);
        found.next().copied().map(Resource::built_in)
    }

    /// A served version of the resource of a group.
    #[must_use]
    pub fn any_version(&self, id: &ResourceId) -> Option<Resource> {
        let custom = self.custom.values().find(|it| it.group == id.group && it.plural == id.plural);
        custom.map(Self::custom_resource).or_else(|| {
            let mut of_name = BUILT_IN.get(id.plural.as_str()).into_iter().flatten();
            of_name.find(|kind| kind.group() == id.group).copied().map(Resource::built_in)
        })
    }

    /// The resource of a kind.
    #[must_use]
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<Resource> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let custom =
            self.custom.values().find(|it| it.group == group && it.version == version && it.kind == kind);
        custom
            .map(Self::custom_resource)
            .or_else(|| Kind::find(api_version, kind).ok().map(Resource::built_in))
    }

    /// Every resource in every version.
    pub fn all(&self) -> impl Iterator<Item = Resource> {
        Kind::all().map(Resource::built_in).chain(self.custom.values().map(Self::custom_resource))
    }

    /// Serves the versions of a definition, in place of those it had.
    pub fn define(&mut self, group: &str, plural: &str, versions: Vec<Definition>) {
        self.custom.retain(|(its_group, _, its_plural), _| its_group != group || its_plural != plural);
        for version in versions {
            let key = (version.group.clone(), version.version.clone(), version.plural.clone());
            self.custom.insert(key, Arc::new(version));
        }
    }

    fn custom_resource(definition: &Arc<Definition>) -> Resource {
        Resource {
            group: definition.group.clone(),
            version: definition.version.clone(),
            kind: definition.kind.clone(),
            plural: definition.plural.clone(),
            namespaced: definition.namespaced,
            body: Body::Custom(Arc::clone(definition)),
        }
    }
}
