//! Orphans for programs.

use pemdas_core::world::ObjectKey;
use serde_json::{Value, json};

use super::Found;

/// All that was found.
pub(crate) fn found(found: &Found) -> Value {
    let key = |it: &ObjectKey| json!({ "group": it.kind.group, "kind": it.kind.kind, "namespace": it.namespace, "name": it.name });
    let orphans = found.orphans.iter().map(|it| {
        json!({
            "object": key(&it.live.key), "uid": it.live.uid, "node": it.node, "root": key(&it.root),
            "instance": it.instance, "verified": it.verified, "deleting": it.live.terminating,
        })
    });
    json!({
        "version": 1, "orphans": orphans.collect::<Vec<_>>(), "forged": found.forged,
        "onPurpose": found.on_purpose, "unseen": found.unseen,
    })
}
