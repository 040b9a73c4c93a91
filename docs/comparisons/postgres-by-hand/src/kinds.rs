//! The two kinds as the operator reads them. `crds.yaml` defines them, with their defaults and rules; the two have to agree.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::core::{ApiResource, GroupVersionKind, Object};
use serde::{Deserialize, Serialize};

pub(crate) type Instance = Object<InstanceSpec, InstanceStatus>;
pub(crate) type Backup = Object<BackupSpec, BackupStatus>;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceSpec {
    pub(crate) version: String,
    pub(crate) storage: String,
    pub(crate) backups: String,
    pub(crate) restore: Option<Restore>,
    pub(crate) final_backup: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Restore {
    pub(crate) request: String,
    pub(crate) backup: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstanceStatus {
    pub(crate) observed_generation: Option<i64>,
    pub(crate) endpoint: Option<String>,
    pub(crate) ready: Option<i32>,
    pub(crate) restored: Option<Restored>,
    #[serde(default)]
    pub(crate) conditions: Vec<Condition>,
}

/// The last restore: that it ran is remembered here, because its Job may be gone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Restored {
    pub(crate) request: String,
    pub(crate) finished: Option<Time>,
    pub(crate) failed: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BackupSpec {
    pub(crate) instance: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BackupStatus {
    pub(crate) observed_generation: Option<i64>,
    #[serde(default)]
    pub(crate) done: bool,
    pub(crate) finished: Option<Time>,
    pub(crate) failed: Option<String>,
    #[serde(default)]
    pub(crate) conditions: Vec<Condition>,
}

impl BackupStatus {
    /// Whether nothing more happens to it.
    pub(crate) fn is_over(&self) -> bool {
        self.done || self.failed.is_some()
    }
}

pub(crate) fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("db.example.com", "v1", kind))
}

/// The condition Ready; its time is that of its last change.
pub(crate) fn ready(
    before: &[Condition],
    generation: Option<i64>,
    is: bool,
    reason: &str,
    message: &str,
) -> Vec<Condition> {
    let status = if is { "True" } else { "False" };
    let since = before.iter().find(|it| it.type_ == "Ready" && it.status == status);
    vec![Condition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: generation,
        last_transition_time: since
            .map_or_else(|| Time(Timestamp::now()), |it| it.last_transition_time.clone()),
    }]
}
