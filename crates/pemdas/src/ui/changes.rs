//! What is new in a document, so that only that is sent. `page/stream.js` puts it in again.
//!
//! A document is an object. Of a list whose items all have an `id`, only the items that differ are sent; everything else is sent whole.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// What turns one document into another; nothing if they are the same.
pub(super) fn between(before: &Value, after: &Value) -> Option<Value> {
    let empty = Map::new();
    let (old, new) = (before.as_object().unwrap_or(&empty), after.as_object().unwrap_or(&empty));
    let mut set = Map::new();
    let mut lists = Map::new();
    for (name, value) in new {
        match old.get(name) {
            Some(known) if known == value => {}
            Some(known) => match (items(known), items(value)) {
                (Some(known), Some(now)) => drop(lists.insert(name.clone(), list(&known, &now))),
                _ => drop(set.insert(name.clone(), value.clone())),
            },
            None => drop(set.insert(name.clone(), value.clone())),
        }
    }
    let gone: Vec<&String> = old.keys().filter(|it| !new.contains_key(*it)).collect();
    if set.is_empty() && lists.is_empty() && gone.is_empty() {
        return None;
    }
    Some(json!({ "set": set, "lists": lists, "gone": gone }))
}

/// The items of a list, each with its id, if all have one.
fn items(value: &Value) -> Option<Vec<(&str, &Value)>> {
    value.as_array()?.iter().map(|it| Some((it.get("id")?.as_str()?, it))).collect()
}

/// The items that differ, and the order of all where that is another one.
fn list(before: &[(&str, &Value)], after: &[(&str, &Value)]) -> Value {
    let known: BTreeMap<&str, &Value> = before.iter().copied().collect();
    let put: Vec<&Value> =
        after.iter().filter(|(id, it)| known.get(id) != Some(it)).map(|(_, it)| *it).collect();
    let ids = |all: &[(&str, &Value)]| all.iter().map(|(id, _)| (*id).to_owned()).collect::<Vec<_>>();
    let (old, new) = (ids(before), ids(after));
    json!({ "put": put, "order": (old != new).then_some(new) })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::between;

    /// As `page/stream.js` does it.
    fn put(document: &Value, change: &Value) -> Value {
        let mut document = document.clone();
        let fields = document.as_object_mut().unwrap();
        for gone in change["gone"].as_array().unwrap() {
            fields.remove(gone.as_str().unwrap());
        }
        for (name, value) in change["set"].as_object().unwrap() {
            fields.insert(name.clone(), value.clone());
        }
        for (name, list) in change["lists"].as_object().unwrap() {
            let old = fields[name].as_array().unwrap().clone();
            let fresh = list["put"].as_array().unwrap();
            let find = |id: &Value| fresh.iter().chain(&old).find(|it| it["id"] == *id).unwrap().clone();
            let ids = match list["order"].as_array() {
                Some(order) => order.clone(),
                None => old.iter().map(|it| it["id"].clone()).collect(),
            };
            fields.insert(name.clone(), ids.iter().map(find).collect());
        }
        document
    }

    #[test]
    fn only_what_differs_is_sent_and_it_makes_the_same_document() {
        let node = |id: &str, state: &str| json!({ "id": id, "state": state });
        let documents = [
            json!({}),
            json!({ "nodes": [], "state": "Ready" }),
            json!({ "nodes": [node("a", "Ready"), node("b", "Waiting")], "state": "Reconciling" }),
            json!({ "nodes": [node("a", "Ready"), node("b", "Ready")], "state": "Ready", "notes": ["x"] }),
            json!({ "nodes": [node("b", "Ready"), node("c", "Ready")], "notes": ["y"] }),
            json!({ "nodes": ["no items"] }),
        ];
        for before in &documents {
            for after in &documents {
                match between(before, after) {
                    None => assert_eq!(before, after),
                    Some(change) => assert_eq!(put(before, &change), *after, "{change}"),
                }
            }
        }
        let change = between(&documents[2], &documents[3]).unwrap();
        let expected = json!({ "put": [node("b", "Ready")], "order": null });
        assert_eq!(change["lists"]["nodes"], expected, "one node changed");
    }
}
