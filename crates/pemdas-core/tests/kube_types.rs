//! The table of the built-in kinds, checked against what is known of Kubernetes and against a real API server.
// The helpers of tests stand outside the functions that the lint takes for tests.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "kube_types/formats.rs"]
mod formats;
#[path = "kube_types/lookup.rs"]
mod lookup;
#[path = "kube_types/template.rs"]
mod template;
#[path = "kube_types/validate.rs"]
mod validate;
#[path = "kube_types/verdicts.rs"]
mod verdicts;

/// Manifests of 41 kinds, all of which a real API server accepted (a dry run of server-side apply, strict).
fn manifests() -> Vec<serde_json::Value> {
    serde_json::from_str(include_str!("data/manifests.json")).unwrap()
}

fn kind_of(object: &serde_json::Value) -> pemdas_core::kube_types::Kind {
    let text = |field: &str| object[field].as_str().unwrap();
    pemdas_core::kube_types::Kind::find(text("apiVersion"), text("kind")).unwrap()
}
