//! Taking fields out of a value.

use serde_json::{Map, Value};

use super::element::Element;
use super::set::FieldSet;
use super::types::{Atom, TypeRef};

/// The value without the fields and items of a set. What is emptied so becomes null.
pub(crate) fn remove(of: TypeRef<'_>, value: &Value, set: &FieldSet) -> Value {
    let empty = FieldSet::default();
    match of.atom(value) {
        Atom::Leaf => value.clone(),
        Atom::Map(of) => {
            let Some(fields) = value.as_object().filter(|it| !it.is_empty()) else { return value.clone() };
            let kept = fields.iter().filter_map(|(name, field)| {
                let step = Element::Field(name.clone());
                if set.members.contains(&step) {
                    return None;
                }
                let below = set.children.get(&step).unwrap_or(&empty);
                let kept =
                    if below.is_empty() { field.clone() } else { remove(of.child(name).0, field, below) };
                Some((name.clone(), kept))
            });
            let kept: Map<String, Value> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        Atom::List(items, of) => {
            let Some(list) = value.as_array().filter(|it| !it.is_empty()) else { return value.clone() };
            let kept = list.iter().filter_map(|item| {
                let Ok(step) = Element::of_item(items, item) else { return Some(item.clone()) };
                if set.members.contains(&step) {
                    return None;
                }
                let below = set.children.get(&step).unwrap_or(&empty);
                Some(if below.is_empty() { item.clone() } else { remove(of, item, below) })
            });
            let kept: Vec<Value> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
    }
}

/// The same set, with every field that its type names and below which something is in the set.
pub(crate) fn with_named_fields(set: &FieldSet, of: TypeRef<'_>, value: &Value) -> FieldSet {
    let mut all = FieldSet { members: set.members.clone(), ..FieldSet::default() };
    for (step, child) in &set.children {
        let (below, inside) = match (step, of.atom(value)) {
            (Element::Field(name), Atom::Map(of)) => {
                let (below, known) = of.child(name);
                if known {
                    all.members.insert(step.clone());
                }
                (below, value.get(name).unwrap_or(&Value::Null))
            }
            (_, Atom::List(items, of)) => {
                let item = value.as_array().into_iter().flatten();
                let mut item = item.filter(|item| Element::of_item(items, item).as_ref() == Ok(step));
                (of, item.next().unwrap_or(&Value::Null))
            }
            _ => (TypeRef::Deduced, &Value::Null),
        };
        all.children.insert(step.clone(), with_named_fields(child, below, inside));
    }
    all
}
