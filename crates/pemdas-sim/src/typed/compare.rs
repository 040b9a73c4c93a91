//! What changed between two values, and which fields a value has.

use serde_json::{Map, Value};

use super::element::Element;
use super::set::FieldSet;
use super::types::{Atom, Items, TypeRef};

/// The paths that changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comparison {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

impl Comparison {
    /// The same without what lies under some paths.
    pub(crate) fn outside(&self, ignored: &FieldSet) -> Self {
        Self {
            added: self.added.outside(ignored),
            modified: self.modified.outside(ignored),
            removed: self.removed.outside(ignored),
        }
    }
}

/// What changed from one value to another.
pub(crate) fn compare(of: TypeRef<'_>, old: &Value, new: &Value) -> Comparison {
    let mut found = Comparison::default();
    walk(of, Some(old), Some(new), &mut Vec::new(), &mut found);
    found
}

fn walk(
    of: TypeRef<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<Element>,
    found: &mut Comparison,
) {
    let Some(sample) = new.filter(|it| !it.is_null()).or(old.filter(|it| !it.is_null())).or(new).or(old)
    else {
        return;
    };
    let mut is_leaf = false;
    match of.atom(sample) {
        Atom::Map(of) => {
            let (before, after) = (map_of(old), map_of(new));
            // Between nothing and an empty map there is a difference, which only the place itself can show.
            if before.is_none_or(Map::is_empty) && after.is_none_or(Map::is_empty) {
                is_leaf = true;
            } else {
                let names =
                    before.into_iter().flatten().chain(after.into_iter().flatten()).map(|(name, _)| name);
                let mut names: Vec<&String> = names.collect();
                names.sort();
                names.dedup();
                for name in names {
                    path.push(Element::Field(name.clone()));
                    let (was, is) = (before.and_then(|it| it.get(name)), after.and_then(|it| it.get(name)));
                    walk(of.child(name).0, was, is, path, found);
                    path.pop();
                }
            }
        }
        Atom::List(items, of) => {
            let (before, after) = (list_of(old), list_of(new));
            if before.is_none_or(<[Value]>::is_empty) && after.is_none_or(<[Value]>::is_empty) {
                is_leaf = true;
            } else {
                walk_items(items, of, before.unwrap_or_default(), after.unwrap_or_default(), path, found);
            }
        }
        Atom::Leaf => is_leaf = true,
    }
    match (old, new) {
        (None, Some(_)) => found.added.insert(path),
        (Some(_), None) => found.removed.insert(path),
        (Some(old), Some(new)) if is_leaf && old != new => found.modified.insert(path),
        _ => {}
    }
}

fn walk_items(
    items: Items<'_>,
    of: TypeRef<'_>,
    before: &[Value],
    after: &[Value],
    path: &mut Vec<Element>,
    found: &mut Comparison,
) {
    let keyed = |list: &[Value]| -> Vec<Element> {
        list.iter().filter_map(|item| Element::of_item(items, item).ok()).collect()
    };
    let (old_keys, new_keys) = (keyed(before), keyed(after));
    let mut all = new_keys.clone();
    all.extend(old_keys.iter().filter(|key| !new_keys.contains(key)).cloned());
    all.sort();
    all.dedup();
    let every = |keys: &[Element], list: &[Value], key: &Element| -> Vec<Value> {
        keys.iter().zip(list).filter(|(its, _)| *its == key).map(|(_, item)| item.clone()).collect()
    };
    for key in all {
        let (was, is) = (every(&old_keys, before, &key), every(&new_keys, after, &key));
        path.push(key);
        if was.len() > 1 || is.len() > 1 {
            // Duplicates are compared as a whole.
            match (was.is_empty(), is.is_empty()) {
                (true, false) => found.added.insert(path),
                (false, true) => found.removed.insert(path),
                _ if was != is => found.modified.insert(path),
                _ => {}
            }
        } else {
            walk(of, was.first(), is.first(), path, found);
        }
        path.pop();
    }
}

fn map_of(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn list_of(value: Option<&Value>) -> Option<&[Value]> {
    value.and_then(Value::as_array).map(Vec::as_slice)
}

/// The fields that a value has.
pub(crate) fn fields_of(of: TypeRef<'_>, value: &Value) -> FieldSet {
    let mut found = FieldSet::default();
    gather(of, value, &mut Vec::new(), &mut found);
    found
}

fn gather(of: TypeRef<'_>, value: &Value, path: &mut Vec<Element>, found: &mut FieldSet) {
    match of.atom(value) {
        Atom::Leaf => found.insert(path),
        Atom::Map(of) => {
            for (name, field) in value.as_object().into_iter().flatten() {
                let (child, known) = of.child(name);
                path.push(Element::Field(name.clone()));
                gather(child, field, path, found);
                if field.is_null() || field.as_object().is_some_and(Map::is_empty) || !known {
                    found.insert(path);
                }
                path.pop();
            }
        }
        Atom::List(items, of) => {
            for item in value.as_array().into_iter().flatten() {
                let Ok(step) = Element::of_item(items, item) else { continue };
                path.push(step);
                gather(of, item, path, found);
                found.insert(path);
                path.pop();
            }
        }
    }
}
