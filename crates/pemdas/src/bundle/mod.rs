//! All that a cluster needs of a blueprint, as files to apply: the definitions of its kinds, its account and roles, its ConfigMap.
//!
//! The same blueprint gives the same bytes: nothing of the machine, the time or the place is in them.

mod helm;
mod kustomize;
mod text;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use pemdas_core::{crd::install::Policy, rights::Rights};
use pemdas_kube::files::{self, MAX_CONFIG_MAP, Packed};
use serde_json::Value;

use crate::{
    render,
    roles::{self, Whom},
};

/// What a bundle is made of.
#[derive(Debug)]
pub(crate) struct Bundle {
    /// What the blueprint calls itself.
    pub(crate) blueprint: String,
    /// Its files.
    pub(crate) sources: BTreeMap<String, String>,
    /// The same compressed, where the ConfigMap holds them so.
    pub(crate) packed: Option<Packed>,
    /// The definitions that come with it.
    pub(crate) definitions: Vec<Value>,
    /// Who makes definitions.
    pub(crate) policy: Policy,
    /// Of whom the roles are.
    pub(crate) whom: Whom,
    /// What has to be allowed.
    pub(crate) rights: Rights,
}

/// Files by their path within the bundle.
pub(crate) type Files = BTreeMap<String, String>;

/// The files compressed, where that is wanted or a ConfigMap could not hold them otherwise.
pub(crate) fn packed(sources: &BTreeMap<String, String>, wanted: bool) -> Option<Packed> {
    let size: usize = sources.values().map(String::len).sum();
    (wanted || size > MAX_CONFIG_MAP).then(|| files::pack(sources))
}

impl Bundle {
    /// Everything as one stream of documents.
    pub(crate) fn yaml(&self) -> String {
        let mut documents = Vec::new();
        if !self.definitions.is_empty() {
            documents.push(self.crds());
        }
        documents.push(self.rbac());
        documents.push(self.config_map(&self.whom.namespace, text::string));
        documents.join("---\n")
    }

    /// A base for kustomize, with the files of the blueprint in a folder there, or beside it.
    pub(crate) fn kustomize(&self, folder: &str) -> Files {
        kustomize::files(self, folder)
    }

    /// A chart for Helm.
    pub(crate) fn helm(&self, version: &str) -> Files {
        helm::files(self, version)
    }

    fn crds(&self) -> String {
        render::crds::definitions_yaml(&self.definitions)
    }

    fn rbac(&self) -> String {
        self.rbac_of(&self.whom)
    }

    fn rbac_of(&self, whom: &Whom) -> String {
        roles::text::manifest(whom, &self.blueprint, &whom.roles(&self.rights))
    }

    /// What says on the ConfigMap how the blueprint is to be run.
    fn annotations(&self) -> BTreeMap<&'static str, &str> {
        let policy = match self.policy {
            Policy::Create => "create",
            Policy::Await => "await",
            Policy::Publish => "publish",
        };
        BTreeMap::from([("pemdas.dev/crds", policy), ("pemdas.dev/service-account", &self.whom.account)])
    }

    /// The ConfigMap; `value` writes the text of a file, given its name.
    fn config_map(&self, namespace: &str, value: impl Fn(&str, &str) -> String) -> String {
        let mut out = format!(
            "# The blueprint. Pemdas reads it because of the label.\n\
             apiVersion: v1\n\
             kind: ConfigMap\n\
             metadata:\n  name: {}\n  namespace: {}\n  labels:\n    pemdas.dev/blueprint: \"\"\n  annotations:\n",
            self.whom.name,
            text::quoted(namespace),
        );
        for (name, value) in self.annotations() {
            out.push_str(&format!("    {name}: {value}\n"));
        }
        if let Some(packed) = &self.packed {
            out.push_str("# Each file compressed: `base64 -d` and `gunzip` give it back.\nbinaryData:\n");
            for (name, packed) in &packed.values {
                out.push_str(&format!("  {}: {packed}\n", text::quoted(name)));
            }
            return out;
        }
        out.push_str("data:\n");
        for (name, source) in &self.sources {
            out.push_str(&format!("  {}: {}\n", text::quoted(name), value(name, source)));
        }
        out
    }

    /// The first file that cannot be a key of a ConfigMap.
    pub(crate) fn misplaced(&self) -> Option<&str> {
        let fits = |name: &str| {
            name.len() <= 253
                && name != "."
                && name != ".."
                && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
        };
        self.sources.keys().map(String::as_str).find(|it| !fits(it))
    }

    /// How many bytes the ConfigMap holds.
    pub(crate) fn size(&self) -> usize {
        match &self.packed {
            Some(packed) => packed.bytes,
            None => self.sources.values().map(String::len).sum(),
        }
    }
}
