//! Merging what is applied into what is there.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::element::Element;
use super::types::{Atom, Items, TypeRef};

/// What is there, with what is applied laid over it. Nothing is removed.
pub(crate) fn merge(of: TypeRef<'_>, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let (Some(old), Some(new)) = (live, applied) else {
        return applied.or(live).cloned();
    };
    let sample = if new.is_null() { old } else { new };
    match of.atom(sample) {
        Atom::Leaf => Some(new.clone()),
        Atom::Map(of) => {
            let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return Some(new.clone()) };
            let mut merged = Map::new();
            for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
                let value = merge(of.child(name).0, old.get(name), new.get(name));
                merged.extend(value.map(|value| (name.clone(), value)));
            }
            Some(Value::Object(merged))
        }
        Atom::List(items, of) => {
            let (Some(old), Some(new)) = (old.as_array(), new.as_array()) else { return Some(new.clone()) };
            Some(Value::Array(merge_items(items, of, old, new)))
        }
    }
}

/// The items in the order of what is applied, with items that only the live object has where they stood among the shared ones.
fn merge_items(items: Items<'_>, of: TypeRef<'_>, old: &[Value], new: &[Value]) -> Vec<Value> {
    let keyed = |list: &[Value]| -> Vec<(Element, Value)> {
        list.iter().filter_map(|item| Some((Element::of_item(items, item).ok()?, item.clone()))).collect()
    };
    let (old, new) = (keyed(old), keyed(new));
    let in_old = |key: &Element| old.iter().find(|(its, _)| its == key).map(|(_, item)| item);
    let in_new = |key: &Element| new.iter().any(|(its, _)| its == key);
    let mut shared = new.iter().map(|(key, _)| key).filter(|key| in_old(key).is_some());
    let mut next_shared = shared.next();
    let mut done: BTreeSet<&Element> = BTreeSet::new();
    let mut merged = Vec::new();
    let (mut left, mut right) = (0, 0);
    while left < old.len() || right < new.len() {
        let (here, there) = (old.get(left), new.get(right));
        if let (Some((key, item)), Some((applied_key, applied))) = (here, there) {
            if key == applied_key {
                done.insert(key);
                merged.extend(merge(of, Some(item), Some(applied)));
                (left, right) = (left + 1, right + 1);
                next_shared = shared.next();
                continue;
            }
            if in_new(key) && next_shared.is_some_and(|next| next != key) {
                left += 1;
                continue;
            }
        }
        if let Some((key, item)) = here {
            if !in_new(key) {
                merged.push(item.clone());
                left += 1;
                continue;
            }
            if done.contains(key) {
                left += 1;
            }
        }
        if let Some((key, applied)) = there {
            done.insert(key);
            merged.extend(merge(of, in_old(key), Some(applied)));
            right += 1;
            if next_shared == Some(key) {
                next_shared = shared.next();
            }
        }
    }
    merged
}
