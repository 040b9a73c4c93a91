//! Strategic merge patches: merge patches that know which lists are keyed.

use pemdas_core::kube_types::{Field, Shape, Type};
use serde_json::{Map, Value};

/// Lays a patch over an object of a built-in type.
///
/// # Errors
/// If an item of a list lacks its key, or a directive is not known.
pub(crate) fn apply_strategic(of: Option<Type>, target: &mut Value, patch: &Value) -> Result<(), String> {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return Ok(());
    };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            let mut whole = patch.clone();
            whole.remove("$patch");
            *target = Value::Object(whole);
            return Ok(());
        }
        Some("delete") => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => return Err(format!("Unknown patch type found: {other}")),
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else { return Ok(()) };
    if let Some(kept) = patch.get("$retainKeys").and_then(Value::as_array) {
        fields.retain(|name, _| kept.iter().any(|one| one == name));
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = value.as_array().cloned().unwrap_or_default();
            if let Some(items) = fields.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|item| !gone.contains(item));
            }
        }
    }
    for (name, value) in patch.iter().filter(|(name, _)| !name.starts_with('$')) {
        let order = patch.get(&format!("$setElementOrder/{name}")).and_then(Value::as_array);
        apply_field(of.and_then(|of| of.field(name)), fields, name, value, order)?;
    }
    for (name, order) in patch {
        if let Some(list) = name.strip_prefix("$setElementOrder/")
            && !patch.contains_key(list)
            && let (Some(items), Some(order)) =
                (fields.get_mut(list).and_then(Value::as_array_mut), order.as_array())
        {
            let key = of.and_then(|of| of.field(list)).and_then(|field| field.patch_merge_key());
            let before = items.clone();
            reorder(items, order, &before, key);
        }
    }
    Ok(())
}

fn apply_field(
    field: Option<Field>,
    fields: &mut Map<String, Value>,
    name: &str,
    value: &Value,
    order: Option<&Vec<Value>>,
) -> Result<(), String> {
    if value.is_null() {
        fields.remove(name);
        return Ok(());
    }
    let merges = field.is_some_and(|field| field.patch_strategies().any(|one| one == "merge"));
    let shape = field.map_or(Shape::Any, |field| field.shape());
    match (shape, value) {
        (Shape::List(item), Value::Array(items)) if merges => {
            let key = field.and_then(|field| field.patch_merge_key());
            let of = match item.shape() {
                Shape::Record(id) => Type::find(id),
                _ => None,
            };
            let target = fields.entry(name.to_owned()).or_insert_with(|| Value::Array(Vec::new()));
            if !target.is_array() {
                *target = Value::Array(Vec::new());
            }
            if let Some(target) = target.as_array_mut() {
                let before = target.clone();
                apply_items(of, key, target, items, name)?;
                reorder(target, order.unwrap_or(items), &before, key);
            }
            Ok(())
        }
        (Shape::Record(id), Value::Object(_)) => {
            // A union's members exclude each other: what the patch does not name goes.
            let target = fields.entry(name.to_owned()).or_insert(Value::Null);
            apply_strategic(Type::find(id), target, value)
        }
        (Shape::Object | Shape::Any, Value::Object(patch))
            if fields.get(name).is_some_and(Value::is_object) =>
        {
            let first = patch.keys().next().map_or("", String::as_str);
            Err(format!("unable to find api field in struct RawExtension for the json field {first:?}"))
        }
        (_, Value::Object(patch)) => {
            let target = fields.entry(name.to_owned()).or_insert(Value::Null);
            if patch.get("$patch").is_some() || target.is_object() || patch.values().any(Value::is_null) {
                return apply_strategic(None, target, value);
            }
            *target = value.clone();
            Ok(())
        }
        _ => {
            fields.insert(name.to_owned(), value.clone());
            Ok(())
        }
    }
}

fn apply_items(
    of: Option<Type>,
    key: Option<&str>,
    target: &mut Vec<Value>,
    items: &[Value],
    name: &str,
) -> Result<(), String> {
    let Some(key) = key else {
        for item in items {
            if !target.contains(item) {
                target.push(item.clone());
            }
        }
        return Ok(());
    };
    let replaces = items.iter().any(|item| item.get("$patch").is_some_and(|it| it == "replace"));
    if replaces {
        let plain = items.iter().filter(|item| item.get("$patch").is_none_or(|it| it != "replace"));
        *target = plain.cloned().collect();
        return Ok(());
    }
    for item in items {
        let Some(value) = item.get(key) else {
            return Err(format!("map: {} does not contain declared merge key: {key}", shown(item)));
        };
        let place = target.iter().position(|other| other.get(key) == Some(value));
        match (item.get("$patch").and_then(Value::as_str), place) {
            (Some("delete"), Some(_)) => target.retain(|other| other.get(key) != Some(value)),
            (Some("delete"), None) => {}
            (_, Some(place)) => {
                if let Some(other) = target.get_mut(place) {
                    apply_strategic(of, other, item).map_err(|why| format!("{name}: {why}"))?;
                }
            }
            (_, None) => {
                let mut fresh = Value::Object(Map::new());
                apply_strategic(of, &mut fresh, item)?;
                target.push(fresh);
            }
        }
    }
    Ok(())
}

fn shown(item: &Value) -> String {
    let fields = item.as_object().into_iter().flatten();
    let fields: Vec<String> = fields
        .map(|(name, value)| {
            format!("{name}:{}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        })
        .collect();
    format!("map[{}]", fields.join(" "))
}

/// Puts the items that the patch names into its order; the others stay where they were among those that were there.
fn reorder(items: &mut Vec<Value>, order: &[Value], before: &[Value], key: Option<&str>) {
    let key_of = |item: &Value| match key {
        Some(key) => item.get(key).cloned().unwrap_or_default(),
        None => item.clone(),
    };
    let place = |list: &[Value], item: &Value| list.iter().position(|one| key_of(one) == key_of(item));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        items.drain(..).partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    others.sort_by_key(|item| place(before, item));
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    while let (Some(one), Some(other)) = (named.peek(), others.peek()) {
        let other_first =
            matches!((place(before, one), place(before, other)), (Some(one), Some(other)) if other < one);
        items.extend(if other_first { others.next() } else { named.next() });
    }
    items.extend(named);
    items.extend(others);
}

#[cfg(test)]
mod tests {
    use pemdas_core::kube_types::Type;
    use serde_json::json;

    use super::apply_strategic;

    #[test]
    fn keyed_lists_merge_item_by_item() {
        let mut pod = json!({ "spec": { "containers": [{ "name": "a", "image": "1" }, { "name": "b", "image": "1" }] } });
        let patch = json!({ "spec": {
            "containers": [{ "name": "b", "image": "2" }, { "name": "a", "$patch": "delete" }, { "name": "c", "image": "3" }],
            "nodeName": null,
        } });
        apply_strategic(Type::find("core/v1/Pod"), &mut pod, &patch).unwrap();
        assert_eq!(
            pod,
            json!({ "spec": { "containers": [{ "name": "b", "image": "2" }, { "name": "c", "image": "3" }] } })
        );
        let wrong = json!({ "spec": { "containers": [{ "image": "2" }] } });
        assert!(apply_strategic(Type::find("core/v1/Pod"), &mut pod, &wrong).is_err());
    }
}
