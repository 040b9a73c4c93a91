//! What a server does not keep of a status: a definition drops the fields that it does not know, without a word.

use std::collections::BTreeSet;

use serde_json::Value;

/// How many fields are named.
const MAX_PRUNED: usize = 20;

/// The paths of what was sent and is not there; of a record that is not there, its own. Values are no part of it.
pub(super) fn pruned(sent: &Value, kept: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    look(sent, kept, "status", &mut found);
    found
}

fn look(sent: &Value, kept: &Value, at: &str, found: &mut BTreeSet<String>) {
    match (sent, kept) {
        (Value::Object(sent), kept) => {
            // A null is not even sent.
            for (name, value) in sent.iter().filter(|(_, it)| !it.is_null()) {
                let at = format!("{at}.{name}");
                match kept.get(name) {
                    Some(kept) => look(value, kept, &at, found),
                    None if found.len() < MAX_PRUNED => drop(found.insert(at)),
                    None => return,
                }
            }
        }
        (Value::Array(sent), Value::Array(kept)) if sent.len() == kept.len() => {
            let at = format!("{at}[]");
            sent.iter().zip(kept).for_each(|(sent, kept)| look(sent, kept, &at, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_PRUNED, pruned};

    #[test]
    fn fields_that_are_not_kept_are_named_by_their_paths() {
        let sent = json!({
            "url": "x", "web": { "users": 3, "more": { "a": 1 } }, "none": null,
            "pods": [{ "name": "a", "ip": "1" }, { "name": "b", "ip": "2" }], "same": [1, 2], "empty": {},
        });
        let kept = json!({
            "web": { "users": 4 }, "pods": [{ "name": "a" }, { "name": "b" }], "same": [1, 2], "empty": {},
            "theirs": true,
        });
        let paths = ["status.pods[].ip", "status.url", "status.web.more"].map(str::to_owned);
        assert_eq!(pruned(&sent, &kept), paths.into());
        assert_eq!(pruned(&sent, &sent), [].into());
        assert_eq!(pruned(&json!({ "a": 1 }), &json!(null)), ["status.a".to_owned()].into());
    }

    #[test]
    fn not_more_than_some_are_named() {
        let many: serde_json::Map<_, _> = (0..100).map(|it| (format!("f{it}"), json!(it))).collect();
        assert_eq!(pruned(&many.into(), &json!({})).len(), MAX_PRUNED);
    }
}
