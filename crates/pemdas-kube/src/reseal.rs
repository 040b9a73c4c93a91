//! Asking the operator to seal anew what an older key sealed: only it has the keys, so a person's command asks on the blueprint and
//! reads there how far it is.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{
    connect::{Connection, Trouble},
    hub::RESEAL_ANNOTATION,
    survey::Found,
};

/// The field manager of the command.
const MANAGER: &str = "pemdas-reseal";

/// How far an operator is, as it tells.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Progress {
    /// The word of the question that it answers.
    pub asked: String,
    /// Whether it has a key that only verifies.
    pub older_keys: bool,
    /// How many instances there are.
    pub instances: usize,
    /// Of how many everything is sealed with the new key.
    pub sealed: usize,
    /// How many have something that cannot be sealed anew now.
    pub stuck: usize,
    /// The first of those.
    pub named: Vec<String>,
}

impl Progress {
    /// What is told on a blueprint of the question with this word; nothing if nobody answered it yet.
    #[must_use]
    pub fn of(found: &Found, word: &str) -> Option<Self> {
        let told = serde_json::from_value::<Self>(found.told.get("reseal")?.clone()).ok()?;
        (told.asked == word).then_some(told)
    }

    /// Whether nothing more can be done now.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.sealed + self.stuck >= self.instances
    }
}

/// Asks for a blueprint with this word, or takes the question back.
///
/// # Errors
/// If the ConfigMap may not be written, or the cluster does not answer.
pub async fn ask(connection: &Connection, found: &Found, word: Option<&str>) -> Result<(), Trouble> {
    let api: Api<ConfigMap> = Api::namespaced(connection.client.clone(), &found.namespace);
    let patch = json!({ "metadata": { "annotations": { RESEAL_ANNOTATION: word } } });
    let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let done = api.patch_metadata(&found.name, &parameters, &Patch::Merge(patch)).await;
    done.map(drop).map_err(|error| connection.trouble(&error))
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn what_waits_for_something_is_not_waited_for() {
        let told = Progress { instances: 3, sealed: 1, stuck: 1, ..Progress::default() };
        assert!(!told.is_over());
        assert!(Progress { sealed: 2, ..told }.is_over() && Progress::default().is_over());
    }
}
