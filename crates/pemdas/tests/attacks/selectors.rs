//! What a selector sees: the namespace that it says, and all only with permission.

use serde_json::json;

use super::{bed::until, operators::Plan, space::Space};

/// Counts the ConfigMaps of a pool: around the root, and everywhere.
const COUNTS: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
let count = fun all => std.to_string (std.array.length (std.record.fields all)) in
{
  name = "counts",
  nodes = {
    start = {
      root = { apiVersion = "v1", kind = "ConfigMap", selector.matchLabels."GROUP/start" = "yes" },
      also = ["near_count", "far_count"],
    },
    near.observe = fun _the => { apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.pool = "POOL" },
    near_count = {
      before.near.extract = count,
      template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "near", data.count = the.near },
    },
    far.observe = fun _the => {
      apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.pool = "POOL", namespace = "*",
    },
    far_count = {
      before.far.extract = count,
      template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "far", data.count = the.far },
    },
  },
} | Blueprint
"#;

/// A space that counts, and what is counted there.
fn counts(space: &Space, pool: &str) {
    in_pool(space, "here", pool);
    space.blueprint("blueprint", &COUNTS.replace("POOL", pool));
    space.runs("blueprint");
    let label = format!("{}/start", space.group);
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "start", "labels": { label: "yes" } },
    }));
}

fn in_pool(space: &Space, name: &str, pool: &str) {
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": { "pool": pool } },
    }));
}

fn counted(space: &Space, name: &str, wanted: &str) {
    until(&format!("{name} counts {wanted}"), || {
        space.get("configmap", name).filter(|it| it["data"]["count"] == wanted)
    });
}

#[test]
fn a_selector_sees_its_own_namespace_and_all_only_with_a_word_and_permission() {
    let (rich, poor, other) = (Space::new("sees-all"), Space::poor("sees-few"), Space::new("seen"));
    let account = poor.account("default");
    poor.allows(
        "own",
        &json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] }]),
        &account,
    );
    let _operator = Plan::over(&[&rich, &poor]).start();
    let pool = rich.name.clone();
    in_pool(&other, "a", &pool);
    in_pool(&other, "b", &pool);
    counts(&rich, &pool);
    counted(&rich, "near", "1");
    counted(&rich, "far", "3");
    // Whoever may see one namespace only does not see all, and is told what is missing.
    counts(&poor, &pool);
    counted(&rich, "far", "4");
    let missing = until("it is told what is missing", || {
        let told = poor.told("blueprint")?["missing"].to_string();
        told.contains("configmaps").then_some(told)
    });
    assert!(missing.contains("list"), "{missing}");
    assert!(poor.get("configmap", "far").is_none(), "what is not seen is not counted");
}
