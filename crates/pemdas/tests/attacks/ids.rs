//! Names of instances: whoever may choose the name of a blueprint cannot choose somebody else's instance.

use std::collections::HashMap;

use pemdas_core::digest::Digest;
use serde_json::json;

use super::{bed::until, operators::Plan, space::Space};

/// Every ConfigMap with a label is a root; what is made for it has a random value.
const SEEDED: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "NAME",
  nodes = {
    map = {
      root = { apiVersion = "v1", kind = "ConfigMap", selector.matchLabels."GROUP/seeded" = "yes" },
      also = ["copy"],
    },
    copy.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-NAME", data.password = the.seed,
    },
  },
} | Blueprint
"#;

/// How many letters of a digest have 40 bits: once that was all that told two blueprints apart.
const ALIKE: usize = 8;

/// Two names of blueprints whose instances of the same root have names that begin alike.
fn alike(namespace: &str) -> [String; 2] {
    let mut seen: HashMap<[u8; ALIKE], u32> = HashMap::new();
    let pair = (0..u32::MAX).find_map(|number| {
        let digest = Digest::of(&[], &json!([namespace, format!("b{number}"), "map"])).id();
        let other = seen.insert(digest.as_bytes()[..ALIKE].try_into().unwrap(), number)?;
        Some([other, number])
    });
    pair.unwrap().map(|it| format!("b{it}"))
}

#[test]
fn names_that_were_chosen_to_collide_share_no_ledger() {
    let space = Space::new("collide");
    let _operator = Plan::over(&[&space]).start();
    let names = alike(&space.name);
    for name in &names {
        space.blueprint(name, &SEEDED.replace("NAME", name));
        space.runs(name);
    }
    let label = format!("{}/seeded", space.group);
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "target", "labels": { label: "yes" } },
    }));
    let [one, other] = names.map(|name| {
        until("it has a password", || {
            space.get("configmap", &format!("target-{name}"))?["data"]["password"].as_str().map(str::to_owned)
        })
    });
    assert_ne!(one, other, "each has a seed of its own");
    let mut ledgers = space.names("secret");
    ledgers.retain(|it| it.starts_with("pemdas-ledger-"));
    let uid = space.get("configmap", "target").unwrap()["metadata"]["uid"].as_str().unwrap().len();
    let same = "pemdas-ledger-".len() + uid + 1 + ALIKE;
    assert_eq!(ledgers.len(), 2, "{ledgers:?}");
    assert_eq!(ledgers[0][..same], ledgers[1][..same], "the names were chosen well");
}
