//! What several tests are given: blueprints, and what accounts may do.

use serde_json::{Value, json};

use super::{
    bed::{binding, logged},
    space::Space,
};

/// An instance with one ConfigMap, which has this data.
pub(crate) fn note(data: &str) -> String {
    r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "note",
  kinds.Note = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Note, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data = DATA,
    },
  },
} | Blueprint
"#
    .replace("DATA", data)
}

/// Four objects that have nothing to do with each other.
pub(crate) const FAN_OUT: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "fan-out",
  kinds.Fan = { group = "GROUP", versions.v1.spec = { value | String | doc "A value", other | String | doc "Another" | default = "x" } },
  nodes = {
    instance = { root = kinds.Fan, also = ["map", "secret", "account", "service"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.value = the.root.spec.value,
    },
    secret.template = fun the => {
      apiVersion = "v1", kind = "Secret", metadata.name = the.root.metadata.name, stringData.value = the.root.spec.value,
    },
    account.template = fun the => { apiVersion = "v1", kind = "ServiceAccount", metadata.name = the.root.metadata.name },
    service.template = fun the => {
      apiVersion = "v1", kind = "Service", metadata.name = the.root.metadata.name,
      spec = { selector.app = the.root.spec.other, ports = [{ port = 80 }] },
    },
  },
} | Blueprint
"#;

/// Each of three needs the uid of the one before.
pub(crate) const CHAIN: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
let link = fun name the from => {
  apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-%{name}", data.value = "%{the.root.spec.value} %{from}",
} in
{
  name = "chain",
  kinds.Chain = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Chain, also = ["a", "b", "c"] },
    a.template = fun the => link "a" the "start",
    b = { before.a.extract = fun live => live.metadata.uid, template = fun the => link "b" the the.a },
    c = { before.b.extract = fun live => live.metadata.uid, template = fun the => link "c" the the.b },
  },
} | Blueprint
"#;

/// `where` says in which namespace the map is.
pub(crate) const PLACED: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "placed",
  kinds.Note = {
    group = "GROUP",
    versions.v1.spec = { value | String | doc "A value", where | String | doc "The namespace of the map" },
  },
  nodes = {
    instance = { root = kinds.Note, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = the.root.metadata.name, namespace = the.root.spec.where },
      data.value = the.root.spec.value,
    },
  },
} | Blueprint
"#;

/// Lets the account of a space do all that it needs in a namespace, and nothing elsewhere.
pub(crate) fn grant(space: &Space, there: &Space) {
    let rules = json!([
        { "apiGroups": [space.group], "resources": ["*"], "verbs": ["*"] },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch", "delete"] },
    ]);
    there.allows(&space.name, &rules, &space.account("default"));
}

/// A space whose account has rights in its own namespace only; definitions are the one thing of the cluster that it may make.
pub(crate) fn modest(about: &str) -> Space {
    let space = Space::poor(about);
    grant(&space, &space);
    allow(
        &space,
        &[
            json!({ "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"] }),
        ],
    );
    space
}

/// The blueprint that owns the kind.
pub(crate) const OWNER: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "owner",
  kinds.Common = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Common, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.value = the.root.spec.value,
    },
  },
} | Blueprint
"#;

/// A blueprint of somebody else that reads it, whatever its status: when its owner goes, nobody writes that any more.
const READER: &str = r#"
let { Blueprint, Any, .. } = import "pemdas/v1.ncl" in
{
  name = "reader",
  kinds.Copy = { group = "GROUP", versions.v1.spec = { name | String | doc "What is copied" } },
  nodes = {
    instance = { root = kinds.Copy, also = ["map"] },
    common = {
      observed = false,
      observe = fun the => {
        apiVersion = "OTHERS/v1", kind = "Common", name = the.root.spec.name, namespace = "PLACE",
      },
    },
    map = {
      before.common = { until = Any, extract = fun live => live.spec.value },
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.value = the.common,
      },
    },
  },
} | Blueprint
"#;

pub(crate) fn reader(owner: &Space) -> String {
    READER.replace("OTHERS", &owner.group).replace("PLACE", &owner.name)
}

/// As whom a resource was listed so far.
pub(crate) fn listed_by(resource: &str) -> Vec<String> {
    let lists = logged(|it| it.verb == "list" && it.resource == resource && it.code == 200);
    lists.into_iter().filter_map(|it| it.impersonated).collect()
}

/// Lets the account of a space do this in the whole cluster, and no more.
pub(crate) fn allow(space: &Space, rules: &[Value]) {
    space.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": space.name }, "rules": rules,
    }));
    space.apply(&binding(&space.name, &space.name, &space.account("default")));
    rules.iter().for_each(|it| space.in_force("", it, &space.account("default")));
}
