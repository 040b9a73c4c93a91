//! Where objects of a kind are found.

use serde_json::Value;

/// A kind, as paths name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The path of its group and version.
    pub(crate) root: String,
    plural: String,
    namespaced: bool,
}

/// Kinds that tests speak of: singular, plural, version, and whether they are of namespaces.
const BUILT_IN: &[(&str, &str, &str, bool)] = &[
    ("configmap", "configmaps", "v1", true),
    ("endpoints", "endpoints", "v1", true),
    ("namespace", "namespaces", "v1", false),
    ("pod", "pods", "v1", true),
    ("resourcequota", "resourcequotas", "v1", true),
    ("secret", "secrets", "v1", true),
    ("service", "services", "v1", true),
    ("serviceaccount", "serviceaccounts", "v1", true),
    ("controllerrevision", "controllerrevisions", "apps/v1", true),
    ("deployment", "deployments", "apps/v1", true),
    ("job", "jobs", "batch/v1", true),
    ("lease", "leases", "coordination.k8s.io/v1", true),
    ("event", "events", "events.k8s.io/v1", true),
    ("role", "roles", "rbac.authorization.k8s.io/v1", true),
    ("rolebinding", "rolebindings", "rbac.authorization.k8s.io/v1", true),
    ("clusterrole", "clusterroles", "rbac.authorization.k8s.io/v1", false),
    ("clusterrolebinding", "clusterrolebindings", "rbac.authorization.k8s.io/v1", false),
    ("crd", "customresourcedefinitions", "apiextensions.k8s.io/v1", false),
    ("customresourcedefinition", "customresourcedefinitions", "apiextensions.k8s.io/v1", false),
];

/// The path of an `apiVersion`.
pub(crate) fn root_of(version: &str) -> String {
    if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") }
}

/// A kind that is built in, by its singular.
pub(crate) fn built_in(name: &str) -> Option<Kind> {
    let (_, plural, version, namespaced) = *BUILT_IN.iter().find(|it| it.0 == name)?;
    Some(Kind { root: root_of(version), plural: plural.to_owned(), namespaced })
}

impl Kind {
    /// A kind in the list of what is served at a root.
    pub(crate) fn in_list(list: &Value, root: &str, singular: &str) -> Option<Self> {
        let is = |it: &&Value| it["kind"].as_str().is_some_and(|it| it.to_lowercase() == singular);
        // Of its subresources, the names have a slash.
        let whole = |it: &&Value| it["name"].as_str().is_some_and(|it| !it.contains('/'));
        let found = list["resources"].as_array()?.iter().filter(whole).find(is)?;
        Some(Self {
            root: root.to_owned(),
            plural: found["name"].as_str()?.to_owned(),
            namespaced: found["namespaced"].as_bool()?,
        })
    }

    /// The path of an object, or of all if no name is given; of all namespaces if none is given.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        let Self { root, plural, namespaced } = self;
        let place = if *namespaced && !namespace.is_empty() {
            format!("/namespaces/{namespace}")
        } else {
            String::new()
        };
        let name = if name.is_empty() { String::new() } else { format!("/{name}") };
        format!("{root}{place}/{plural}{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Kind, built_in};

    #[test]
    fn kinds_are_found_where_they_are_served() {
        let path = |kind: Option<Kind>, name| kind.unwrap().path("n", name);
        assert_eq!(path(built_in("configmap"), "a"), "/api/v1/namespaces/n/configmaps/a");
        assert_eq!(path(built_in("job"), ""), "/apis/batch/v1/namespaces/n/jobs");
        assert_eq!(path(built_in("namespace"), "a"), "/api/v1/namespaces/a");
        assert_eq!(built_in("note"), None);
        let list = json!({ "resources": [
            { "name": "copies/status", "kind": "Copy", "namespaced": true },
            { "name": "copies", "kind": "Copy", "namespaced": true },
        ] });
        let copy = Kind::in_list(&list, "/apis/example.com/v1", "copy");
        assert_eq!(path(copy, "a"), "/apis/example.com/v1/namespaces/n/copies/a");
        assert_eq!(Kind::in_list(&list, "/apis/example.com/v1", "note"), None);
    }
}
