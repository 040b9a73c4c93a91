//! A draft beside a CRD that is given: a file, or what a cluster has.

use std::collections::BTreeMap;

use serde_json::Value;

use super::difference::{Effect, differences};
use super::gap::{Gap, Side};
use super::json::from_json;
use super::schema::Schema;

/// A CRD that is given, as far as it matters here.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The kind.
    pub kind: String,
    /// The group.
    pub group: String,
    /// The plural.
    pub plural: String,
    /// `Namespaced` or `Cluster`.
    pub scope: String,
    /// The versions, by name.
    pub versions: BTreeMap<String, GivenVersion>,
}

/// A version of a CRD that is given.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenVersion {
    /// Whether it is served.
    pub served: bool,
    /// Whether it is the one that is stored.
    pub stored: bool,
    /// The schema of whole objects.
    pub schema: Schema,
}

impl Given {
    /// Reads a CRD; none if the value is something else.
    #[must_use]
    pub fn read(value: &Value) -> Option<Self> {
        if value.get("kind")?.as_str()? != "CustomResourceDefinition" {
            return None;
        }
        let spec = value.get("spec")?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let names = spec.get("names")?;
        let mut versions = BTreeMap::new();
        for version in spec.get("versions")?.as_array()? {
            let flag = |key: &str| version.get(key).and_then(Value::as_bool).unwrap_or_default();
            let schema = version.pointer("/schema/openAPIV3Schema").map_or_else(Schema::any, from_json);
            let read = GivenVersion { served: flag("served"), stored: flag("storage"), schema };
            versions.insert(text(version.get("name"))?, read);
        }
        Some(Self {
            kind: text(names.get("kind"))?,
            group: text(spec.get("group"))?,
            plural: text(names.get("plural"))?,
            scope: text(spec.get("scope")).unwrap_or_default(),
            versions,
        })
    }
}

/// A change from the contract to a CRD, told as the difference of two that stand beside each other.
fn beside(change: &str, whose: &str) -> String {
    let change = change.strip_suffix(" now").unwrap_or(change);
    match change.split_once(", and ") {
        Some((was, is)) => {
            let is = is.strip_prefix("is ").unwrap_or(is);
            format!("{} in the contract, and {is} {whose}", was.replacen(" was ", " is ", 1))
        }
        None => format!("{change} {whose}"),
    }
}

/// What a CRD that is given checks beyond a draft, and what it does not check of the draft. `whose` says in the report which
/// one it is.
#[must_use]
pub fn gaps(drafted: &Given, given: &Given, whose: &str) -> Vec<Gap> {
    let mut found = Vec::new();
    for (name, version) in &given.versions {
        let Some(draft) = drafted.versions.get(name) else { continue };
        for difference in differences(&draft.schema, &version.schema, "") {
            let side = match difference.effect {
                Effect::Looser => Side::OnlyContract,
                Effect::Tighter | Effect::Removed | Effect::OtherType => Side::OnlyKubernetes,
                Effect::OtherMeaning => continue,
            };
            found.push(Gap {
                kind: given.kind.clone(),
                version: name.clone(),
                path: difference.path,
                side,
                what: beside(&difference.what, whose),
                span: None,
            });
        }
    }
    found
}
