//! The roles of a blueprint: who may do what where, as objects to apply.

pub(crate) mod text;

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::{
    program::{Program, Revision},
    rights::{
        Reach, Right, Rights, Rule, Served, Setting,
        consent::BLUEPRINTS_ANNOTATION,
        hold::{PERMISSIONS_ANNOTATION, PERMISSIONS_LABEL},
        is_given, rights, rules,
    },
};
use serde_json::{Value, json};

use crate::load::Checked;

/// Of whom the roles are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Whom {
    /// What the blueprint's ConfigMap is called.
    pub(crate) name: String,
    /// Its namespace.
    pub(crate) namespace: String,
    /// The account that it acts as.
    pub(crate) account: String,
    /// The namespaces that all its instances are in; empty if they may be in any.
    pub(crate) only_in: BTreeSet<String>,
    /// The namespace and name of the account of Pemdas.
    pub(crate) operator: (String, String),
}

/// A role, and whom it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Role {
    /// The name of the role and of its binding.
    pub(crate) name: String,
    /// None: it is a ClusterRole.
    pub(crate) namespace: Option<String>,
    /// The rules.
    pub(crate) rules: Vec<Rule>,
    /// The namespace and name of the account; none for what becomes part of Pemdas' own role by its label.
    pub(crate) account: Option<(String, String)>,
    /// What it is, for people.
    pub(crate) about: String,
}

/// The label of what becomes part of Pemdas' own role.
const AGGREGATED: &str = "pemdas.dev/aggregate-to-operator";

/// The rights of a blueprint; nothing if it has errors.
pub(crate) fn rights_of(
    checked: &Checked,
    setting: Setting,
    served: &BTreeMap<(String, String), Served>,
) -> Option<Rights> {
    let (blueprint, graph) = (checked.blueprint.as_ref()?, checked.graph.as_ref()?);
    let revision = Revision { name: String::new(), ordinal: 0 };
    let program = |root: &String| Program::new(blueprint.clone(), graph, root, revision.clone());
    let programs: Vec<Program> = graph.roots.iter().filter_map(program).collect();
    let find = |api_version: &str, kind: &str| {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        served.get(&(kind.to_owned(), group.to_owned())).cloned()
    };
    let mut found = rights(&programs, setting, &find);
    // Two nodes of one kind have one question.
    found.open.dedup_by(|a, b| a.message == b.message);
    Some(found)
}

impl Whom {
    /// The roles that give these rights: those of the account, then what Pemdas itself needs for the blueprint.
    pub(crate) fn roles(&self, rights: &Rights) -> Vec<Role> {
        let account = (self.namespace.clone(), self.account.clone());
        let mut roles = Vec::new();
        let within = self.within(&rights.account);
        let is_anywhere = within.keys().any(|it| it.reach == Reach::Everywhere);
        for (namespace, rules) in rules(&within, &self.namespace) {
            let about = match &namespace {
                None if is_anywhere => {
                    "What the account may do in the whole cluster. `--only-in NAMESPACE` writes Roles in namespaces instead."
                        .to_owned()
                }
                None => "What the account may do in the whole cluster.".to_owned(),
                Some(namespace) => format!("What the account may do in the namespace {namespace}."),
            };
            let mut role = self.role(namespace, rules, "", Some(account.clone()), about);
            let nodes = self.with_all_secrets(rights).join(", ");
            if role.namespace.is_none() && !nodes.is_empty() {
                role.about.push_str(&format!("\nIt may read all Secrets of the cluster, for {nodes}."));
            }
            roles.push(role);
        }
        let mut own = self.within(&rights.operator);
        own.retain(|right, _| !is_given(right));
        for (namespace, rules) in rules(&own, &self.namespace) {
            let (account, about) = match &namespace {
                None => (None, "The operator removes finalizers: this becomes part of its own ClusterRole."),
                Some(_) => (Some(self.operator.clone()), "The operator removes finalizers."),
            };
            roles.push(self.role(namespace, rules, ":operator", account, about.to_owned()));
        }
        roles
    }

    /// The nodes for which the account may read all Secrets of the cluster.
    pub(crate) fn with_all_secrets(&self, rights: &Rights) -> Vec<String> {
        let within = self.within(&rights.account);
        let everywhere = within.iter().filter(|(right, _)| {
            right.group.is_empty() && right.resource == "secrets" && right.reach == Reach::Everywhere
        });
        everywhere.flat_map(|(_, nodes)| nodes.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn role(
        &self,
        namespace: Option<String>,
        rules: Vec<Rule>,
        suffix: &str,
        account: Option<(String, String)>,
        about: String,
    ) -> Role {
        // Blueprints of one name in several namespaces do not take each other's roles.
        let name = format!("pemdas:{}:{}{suffix}", self.namespace, self.name);
        Role { name, namespace, rules, account, about }
    }

    /// The rights where instances are in certain namespaces only.
    fn within(&self, rights: &BTreeMap<Right, BTreeSet<String>>) -> BTreeMap<Right, BTreeSet<String>> {
        let mut within: BTreeMap<Right, BTreeSet<String>> = BTreeMap::new();
        for (right, nodes) in rights {
            let everywhere = right.reach == Reach::Everywhere && !self.only_in.is_empty();
            let places: Vec<Reach> = if everywhere {
                self.only_in.iter().cloned().map(Reach::Namespace).collect()
            } else {
                vec![right.reach.clone()]
            };
            for reach in places {
                within.entry(Right { reach, ..right.clone() }).or_default().extend(nodes.iter().cloned());
            }
        }
        within
    }

    /// What says that something belongs to the blueprint.
    fn belongs(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The account, its roles and their bindings, as they are applied.
    pub(crate) fn objects(&self, roles: &[Role]) -> Vec<Value> {
        let mut objects: Vec<_> =
            std::iter::once(self.service_account()).chain(roles.iter().flat_map(Role::objects)).collect();
        for object in &mut objects {
            object["metadata"]["labels"][PERMISSIONS_LABEL] = json!("");
            object["metadata"]["annotations"][PERMISSIONS_ANNOTATION] = json!(self.belongs());
        }
        objects
    }

    /// The account, which says that the blueprint may act as it.
    fn service_account(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {
                "name": self.account, "namespace": self.namespace,
                "annotations": { BLUEPRINTS_ANNOTATION: self.name },
            },
        })
    }
}

impl Role {
    /// The role and its binding, as they are applied.
    fn objects(&self) -> Vec<Value> {
        let api_version = "rbac.authorization.k8s.io/v1";
        let kind = self.kind();
        let mut metadata = json!({ "name": self.name });
        if let Some(namespace) = &self.namespace {
            metadata["namespace"] = json!(namespace);
        }
        let mut labelled = metadata.clone();
        if self.account.is_none() {
            labelled["labels"] = json!({ AGGREGATED: "true" });
        }
        let rules: Vec<Value> = self.rules.iter().map(rule).collect();
        let role = json!({ "apiVersion": api_version, "kind": kind, "metadata": labelled, "rules": rules });
        let binding = self.account.as_ref().map(|(namespace, account)| {
            json!({
                "apiVersion": api_version, "kind": format!("{kind}Binding"), "metadata": metadata,
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": self.name },
                "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": namespace }],
            })
        });
        std::iter::once(role).chain(binding).collect()
    }

    fn kind(&self) -> &'static str {
        if self.namespace.is_some() { "Role" } else { "ClusterRole" }
    }
}

fn rule(rule: &Rule) -> Value {
    let mut value = json!({ "apiGroups": [rule.group], "resources": rule.resources, "verbs": rule.verbs });
    if !rule.names.is_empty() {
        value["resourceNames"] = json!(rule.names);
    }
    value
}
