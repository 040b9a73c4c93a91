//! What a blueprint has to be allowed: the one table from which missing rights are told by name, and roles are written.
//!
//! A right is here because some action needs it, and for no other reason: reading is `list` and `watch`; a server-side apply is
//! `patch`, and `create` as well where it may create; `get` looks up what became of a write whose answer was lost. Who acts
//! is told apart: the account of the blueprint, or Pemdas itself, which takes its own finalizers off.

pub mod codes;
pub mod consent;
pub mod hold;
mod names;
mod rules;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    blueprint::{Blueprint, Body, Input, Node, ObjectIdentity, OnDelete, OnImmutable, RootTarget, Scope},
    crd::{install::Policy, plural_of},
    diagnostic::Diagnostic,
    kube_types::{self, Kind},
    program::Program,
};

pub use names::places;
pub use rules::{Rule, rules};

/// Something that has to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// Where.
    pub reach: Reach,
    /// The API group; empty for the oldest one.
    pub group: String,
    /// The plural name of the resource, with its subresource after a slash.
    pub resource: String,
    /// One object; none for all.
    pub name: Option<String>,
    /// `get`, `list`, `watch`, `create`, `patch`, `delete` or `bind`.
    pub verb: &'static str,
}

/// Where something has to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Beside the namespaces.
    Cluster,
    /// In whichever namespaces there are instances.
    Everywhere,
    /// In the blueprint's own namespace.
    Home,
    /// In this namespace.
    Namespace(String),
}

/// How a kind is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The API group.
    pub group: String,
    /// The name of the resource in paths.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// What decides on rights beside the blueprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Setting {
    /// Who makes the definitions.
    pub definitions: Policy,
}

/// All that has to be allowed, each with the nodes that need it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rights {
    /// Of the account that the blueprint acts as.
    pub account: BTreeMap<Right, BTreeSet<String>>,
    /// Of Pemdas itself.
    pub operator: BTreeMap<Right, BTreeSet<String>>,
    /// What cannot be known without an instance or a cluster.
    pub open: Vec<Diagnostic>,
}

/// What Pemdas may patch in the whole cluster anyway, by the manifest it is installed with: group and resource.
pub const GIVEN: &[(&str, &str)] = &[("", "configmaps"), ("", "secrets"), ("batch", "jobs")];

/// Whether Pemdas has a right anyway.
#[must_use]
pub fn is_given(right: &Right) -> bool {
    right.verb == "patch" && GIVEN.contains(&(right.group.as_str(), right.resource.as_str()))
}

/// Reading a kind.
const SEE: &[&str] = &["list", "watch"];

/// What a blueprint has to be allowed. `served` says how kinds are served that are neither built in nor the blueprint's own.
pub fn rights<'p>(
    programs: impl IntoIterator<Item = &'p Program>,
    setting: Setting,
    served: &dyn Fn(&str, &str) -> Option<Served>,
) -> Rights {
    let mut rights = Rights::default();
    let mut shared = true;
    for program in programs {
        let mut table = Table { blueprint: &program.blueprint, served, rights: &mut rights };
        // The programs of a blueprint differ in their roots only.
        if std::mem::take(&mut shared) {
            table.definitions(setting.definitions);
            for (name, node) in &program.blueprint.nodes {
                table.node(name, node);
            }
        }
        table.finalizers(program);
    }
    rights
}

struct Table<'a> {
    blueprint: &'a Blueprint,
    served: &'a dyn Fn(&str, &str) -> Option<Served>,
    rights: &'a mut Rights,
}

/// Who acts.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Account,
    Pemdas,
}

impl Table<'_> {
    /// The account writes the definitions, and Pemdas reads them.
    fn definitions(&mut self, policy: Policy) {
        if policy != Policy::Create {
            return;
        }
        for (kind, owned) in &self.blueprint.kinds {
            let plural = owned.plural.clone().unwrap_or_else(|| plural_of(kind));
            for verb in ["create", "patch"] {
                let right = Right {
                    reach: Reach::Cluster,
                    group: "apiextensions.k8s.io".to_owned(),
                    resource: "customresourcedefinitions".to_owned(),
                    name: Some(format!("{plural}.{}", owned.group)),
                    verb,
                };
                self.rights.account.entry(right).or_default().insert(format!("kinds.{kind}"));
            }
        }
    }

    fn node(&mut self, name: &str, node: &Node) {
        if let Some((api_version, kind)) = self.blueprint.kind_of_root(&node.body)
            && let Some(served) = self.resolve(&api_version, &kind, node)
        {
            let reach = if served.namespaced { Reach::Everywhere } else { Reach::Cluster };
            self.add(Who::Account, name, &served, "", &reach, None, SEE);
            if matches!(&node.body, Body::Root(root) if matches!(root.target, RootTarget::Owned(_))) {
                self.add(Who::Account, name, &served, "/status", &reach, None, &["update"]);
            }
        }
        let Some(object) = node.body.identity() else { return };
        let (Some(api_version), Some(kind)) = (object.api_version.known(), object.kind.known()) else {
            return;
        };
        let Some(served) = self.resolve(api_version, kind, node) else { return };
        let reach = self.reach(&served, object);
        // Every attempt of a once has a name of its own.
        let fixed = names::literal(&object.name).filter(|_| node.once.is_none());
        self.add(Who::Account, name, &served, "", &reach, None, SEE);
        match &node.body {
            Body::Template(template) => {
                self.add(Who::Account, name, &served, "", &reach, fixed, &["get", "create", "patch"]);
                if is_deleted(node) {
                    self.add(Who::Account, name, &served, "", &reach, fixed, &["delete"]);
                }
                if node.once.is_some() {
                    self.add(Who::Pemdas, name, &served, "", &reach, fixed, &["patch"]);
                }
                if served.group == "rbac.authorization.k8s.io" {
                    self.grants(name, node, kind, template.role.as_ref(), &reach);
                }
            }
            Body::Absent(_) => {
                self.add(Who::Account, name, &served, "", &reach, fixed, &["get", "delete"]);
            }
            Body::Observe(_) | Body::Root(_) | Body::Value(_) => {}
        }
        let reported = |it: &Node| it.report.as_ref().is_some_and(|it| it.service == name);
        if self.blueprint.nodes.values().any(reported) {
            self.add(Who::Account, name, &served, "/proxy", &reach, fixed, &["get"]);
        }
    }

    /// Finalizers of roots are put on as the account, and taken off as Pemdas.
    fn finalizers(&mut self, program: &Program) {
        let Some(node) = program.node(&program.root) else { return };
        let Some((api_version, kind)) = self.blueprint.kind_of_root(&node.body) else { return };
        let Some(served) = self.resolve(&api_version, &kind, node) else { return };
        if finalizes(program, served.namespaced) {
            let reach = if served.namespaced { Reach::Everywhere } else { Reach::Cluster };
            for who in [Who::Account, Who::Pemdas] {
                self.add(who, &program.root, &served, "", &reach, None, &["patch"]);
            }
        }
    }

    /// Nobody gives away rights that they do not have, unless they may hand out this very role.
    fn grants(
        &mut self,
        name: &str,
        node: &Node,
        kind: &str,
        role: Option<&(String, String)>,
        reach: &Reach,
    ) {
        match (kind, role) {
            ("RoleBinding" | "ClusterRoleBinding", Some((of, role))) => {
                let cluster = of == "ClusterRole";
                let served = Served {
                    group: "rbac.authorization.k8s.io".to_owned(),
                    plural: if cluster { "clusterroles" } else { "roles" }.to_owned(),
                    namespaced: !cluster,
                };
                let reach = if cluster { &Reach::Cluster } else { reach };
                self.add(Who::Account, name, &served, "", reach, Some(role), &["bind"]);
            }
            _ => self.rights.open.push(codes::grants(name, node, kind)),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "a right has so many parts")]
    fn add(
        &mut self,
        who: Who,
        node: &str,
        served: &Served,
        subresource: &str,
        reach: &Reach,
        name: Option<&str>,
        verbs: &[&'static str],
    ) {
        let rights = match who {
            Who::Account => &mut self.rights.account,
            Who::Pemdas => &mut self.rights.operator,
        };
        for verb in verbs {
            let right = Right {
                reach: reach.clone(),
                group: served.group.clone(),
                resource: format!("{}{subresource}", served.plural),
                name: name.map(str::to_owned),
                verb,
            };
            rights.entry(right).or_default().insert(node.to_owned());
        }
    }

    /// How a kind is served: the blueprint's own and the built-in ones are known.
    fn resolve(&mut self, api_version: &str, kind: &str, node: &Node) -> Option<Served> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        if let Some(owned) = self.blueprint.kinds.get(kind).filter(|it| it.group == group) {
            return Some(Served {
                group: group.to_owned(),
                plural: owned.plural.clone().unwrap_or_else(|| plural_of(kind)),
                namespaced: owned.scope == Scope::Namespaced,
            });
        }
        if let Ok(known) = Kind::find(api_version, kind) {
            return Some(Served {
                group: group.to_owned(),
                plural: known.plural.to_owned(),
                namespaced: known.scope == kube_types::Scope::Namespaced,
            });
        }
        let served = (self.served)(api_version, kind);
        if served.is_none() {
            self.rights.open.push(codes::unknown_resource(group, kind, node));
        }
        served
    }

    fn reach(&self, served: &Served, object: &ObjectIdentity) -> Reach {
        if served.namespaced { names::reach(self.blueprint, object) } else { Reach::Cluster }
    }
}

/// Whether a root ever gets a finalizer of ours: for an order, for memory, or for objects that do not go with it by themselves.
fn finalizes(program: &Program, namespaced: bool) -> bool {
    let outside = |node: &Node| {
        let namespace = node.body.identity().map(|it| &it.namespace);
        namespaced && matches!(node.body, Body::Template(_)) && !namespace.is_none_or(names::is_of_root)
    };
    let seeded = |node: &Node| {
        let body = match &node.body {
            Body::Template(it) => Some(&it.function),
            Body::Observe(it) => Some(&it.function),
            Body::Absent(it) => Some(&it.function),
            Body::Value(it) => Some(it),
            Body::Root(_) => None,
        };
        let mut functions = body.into_iter().chain(&node.for_each);
        functions.any(|it| it.reads.iter().any(|it| matches!(it.input(), Input::Seed | Input::Whole)))
    };
    program.ordered
        || program.has_deletion()
        || program.blueprint.nodes.values().any(|it| outside(it) || seeded(it))
}

/// Whether an object of a node is ever deleted: what is left to others on removal may still have to be made anew.
fn is_deleted(node: &Node) -> bool {
    node.on_delete == OnDelete::Delete || node.on_immutable == OnImmutable::Recreate || node.once.is_some()
}
