//! What server-side apply makes of an object: fields are set, lists of a known kind are merged as the server merges them, and what the
//! same manager set before and does not set now is taken away.

use serde_json::{Map, Value};

use crate::{
    kube_types::{Field, Kind, ListType, Shape, Type, format::Quantity},
    path::FieldPath,
    world::FieldSet,
};

/// The object after an apply of `wanted`, of which the manager owned `owned` before.
pub(super) fn applied(live: &Value, wanted: &Value, owned: &FieldSet) -> Value {
    let mut result = live.clone();
    for path in owned {
        if !is_set(wanted, path.parts()) {
            remove(&mut result, path.parts());
        }
    }
    let text = |field: &str| wanted.get(field).and_then(Value::as_str).unwrap_or_default();
    let of = Kind::find(text("apiVersion"), text("kind")).ok().and_then(|kind| kind.body());
    let mut wanted = wanted.clone();
    if text_of(&wanted, "kind") == "Secret" && text_of(&wanted, "apiVersion") == "v1" {
        encode(&mut wanted);
    }
    record(&mut result, &wanted, of);
    result
}

fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// `stringData` is written and never read: the server keeps it as `data`.
fn encode(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else { return };
    let Some(Value::Object(texts)) = fields.remove("stringData") else { return };
    let data = fields.entry("data").or_insert_with(|| Value::Object(Map::new()));
    let Some(data) = data.as_object_mut() else { return };
    for (name, text) in texts {
        if let Value::String(text) = text {
            data.insert(name, Value::String(base64(text.as_bytes())));
        }
    }
}

/// Where a text holds a seed, and the object has a text already, that one stays.
pub(super) fn recall(wanted: &mut Value, live: &Value, seed: &str) {
    if let (Some(fields), Some(data)) = (wanted.as_object_mut(), live.get("data").and_then(Value::as_object))
        && let Some(texts) = fields.get_mut("stringData").and_then(Value::as_object_mut)
    {
        let held = |it: &Value| it.as_str().is_some_and(|it| it.contains(seed));
        let names: Vec<String> = texts
            .iter()
            .filter(|(name, it)| held(it) && data.contains_key(*name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &names {
            texts.remove(name);
        }
        let kept = fields.entry("data").or_insert_with(|| Value::Object(Map::new()));
        if let Some(kept) = kept.as_object_mut() {
            kept.extend(names.into_iter().filter_map(|name| Some((name.clone(), data.get(&name)?.clone()))));
        }
    }
    match (wanted, live) {
        (Value::String(text), Value::String(known)) if text.contains(seed) => known.clone_into(text),
        (Value::Object(fields), Value::Object(known)) => {
            for (name, field) in fields {
                if let Some(known) = known.get(name) {
                    recall(field, known, seed);
                }
            }
        }
        (Value::Array(items), Value::Array(known)) => {
            items.iter_mut().zip(known).for_each(|(item, known)| recall(item, known, seed));
        }
        _ => {}
    }
}

pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let part = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = part(0) << 16 | part(1) << 8 | part(2);
        for place in 0..4_usize {
            let letter = LETTERS.get((bits >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'=');
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

fn record(live: &mut Value, wanted: &Value, of: Option<Type>) {
    let (Some(fields), Some(wanted)) = (live.as_object_mut(), wanted.as_object()) else {
        wanted.clone_into(live);
        return;
    };
    // Null asks for nothing: an apply leaves it out.
    for (name, value) in wanted.iter().filter(|(_, value)| !value.is_null()) {
        let field = of.and_then(|of| of.field(name));
        let there = fields.entry(name.clone()).or_insert(Value::Null);
        merged(there, value, field, field.map(|field| field.shape()));
    }
}

fn merged(live: &mut Value, wanted: &Value, field: Option<Field>, shape: Option<Shape>) {
    match (&*live, wanted, shape) {
        (Value::Object(_), Value::Object(_), shape) if field.is_none_or(|it| !it.is_atomic()) => {
            let of = match shape {
                Some(Shape::Record(id)) => Type::find(id),
                _ => None,
            };
            if of.is_some_and(|of| of.is_atomic()) {
                wanted.clone_into(live);
            } else if let (Some(Shape::Dictionary(item)), Some(fields), Some(wanted)) =
                (shape, live.as_object_mut(), wanted.as_object())
            {
                for (name, value) in wanted {
                    let there = fields.entry(name.clone()).or_insert(Value::Null);
                    merged(there, value, None, Some(item.shape()));
                }
            } else {
                record(live, wanted, of);
            }
        }
        (Value::Array(_), Value::Array(items), Some(Shape::List(item))) => {
            let of = match item.shape() {
                Shape::Record(id) => Type::find(id),
                _ => None,
            };
            list(live, items, field, of);
        }
        (is, wants, Some(Shape::Quantity)) if same_quantity(is, wants) => {}
        (Value::Number(is), Value::Number(wants), _) if is.as_f64() == wants.as_f64() => {}
        _ => wanted.clone_into(live),
    }
}

fn same_quantity(left: &Value, right: &Value) -> bool {
    let read = |value: &Value| -> Option<Quantity> {
        match value {
            Value::String(text) => text.parse().ok(),
            Value::Number(number) => number.to_string().parse().ok(),
            _ => None,
        }
    };
    read(left).zip(read(right)).is_some_and(|(left, right)| left == right)
}

fn list(live: &mut Value, wanted: &[Value], field: Option<Field>, of: Option<Type>) {
    let Some(items) = live.as_array_mut() else { return };
    match field.and_then(|field| field.list_type()) {
        Some(ListType::Map) => {
            let keys: Vec<&str> = field.into_iter().flat_map(|field| field.list_keys()).collect();
            for want in wanted {
                let known =
                    items.iter_mut().find(|item| keys.iter().all(|key| same_key(item, want, key, of)));
                match known {
                    Some(item) => record(item, want, of),
                    None => items.push(want.clone()),
                }
            }
        }
        Some(ListType::Set) => {
            for want in wanted {
                if !items.contains(want) {
                    items.push(want.clone());
                }
            }
        }
        _ => {
            // As a whole; what the server fills in again is left.
            let old = std::mem::replace(items, wanted.to_vec());
            for (item, old) in items.iter_mut().zip(&old) {
                refill(item, old, of);
            }
        }
    }
}

fn same_key(left: &Value, right: &Value, key: &str, of: Option<Type>) -> bool {
    let default = of.and_then(|of| of.field(key)).and_then(|field| field.default());
    let read = |item: &Value| match item.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
        None => default.map(|it| it.trim_matches('"').to_owned()),
    };
    read(left) == read(right)
}

/// Defaults of the type that stood there come back.
fn refill(item: &mut Value, old: &Value, of: Option<Type>) {
    let (Some(fields), Some(old), Some(of)) = (item.as_object_mut(), old.as_object(), of) else { return };
    for (name, value) in old {
        let default = of.field(name).and_then(|field| field.default());
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if !fields.contains_key(name) && default.is_some_and(|it| it.trim_matches('"') == text) {
            fields.insert(name.clone(), value.clone());
        }
    }
}

/// The place in a list that a part of an owned path names: `[{"name":"web"}]`, `[="a"]` or `[0]`.
fn place(items: &[Value], part: &str) -> Option<usize> {
    let inner = part.strip_prefix('[')?.strip_suffix(']')?;
    if let Some(value) = inner.strip_prefix('=') {
        let value: Value = serde_json::from_str(value).ok()?;
        return items.iter().position(|item| *item == value);
    }
    if let Ok(index) = inner.parse::<usize>() {
        return (index < items.len()).then_some(index);
    }
    let keys: Map<String, Value> = serde_json::from_str(inner).ok()?;
    // A key that an item leaves out was filled in by the server.
    items.iter().position(|item| keys.iter().all(|(key, value)| item.get(key).is_none_or(|it| it == value)))
}

/// Whether something stands at a path, or the path runs into a value that is set as a whole.
fn is_set(value: &Value, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    match value {
        Value::Object(fields) => fields.get(first).is_some_and(|below| is_set(below, rest)),
        Value::Array(items) => {
            place(items, first).and_then(|at| items.get(at)).is_some_and(|item| is_set(item, rest))
        }
        _ => false,
    }
}

fn remove(value: &mut Value, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    match value {
        Value::Object(fields) => {
            if rest.is_empty() {
                fields.remove(first);
            } else if let Some(below) = fields.get_mut(first) {
                remove(below, rest);
                let empty = match &*below {
                    Value::Object(fields) => fields.is_empty(),
                    Value::Array(items) => items.is_empty(),
                    _ => false,
                };
                if empty {
                    fields.remove(first);
                }
            }
        }
        Value::Array(items) => {
            let Some(at) = place(items, first) else { return };
            if rest.is_empty() {
                items.remove(at);
            } else if let Some(item) = items.get_mut(at) {
                remove(item, rest);
                if item.as_object().is_some_and(Map::is_empty) {
                    items.remove(at);
                }
            }
        }
        _ => {}
    }
}

/// What people compare: the object without what the server and we ourselves write on it.
pub(super) fn without_marks(object: &Value) -> Value {
    let mut shown = object.clone();
    let Some(fields) = shown.as_object_mut() else { return shown };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in [
            "managedFields",
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            metadata.remove(field);
        }
        for group in ["labels", "annotations"] {
            if let Some(names) = metadata.get_mut(group).and_then(Value::as_object_mut) {
                names.retain(|name, _| !name.starts_with(crate::world::OUR_PREFIX));
                if names.is_empty() {
                    metadata.remove(group);
                }
            }
        }
        if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
            finalizers.retain(|it| it.as_str().is_none_or(|it| !it.starts_with(crate::world::OUR_PREFIX)));
            if finalizers.is_empty() {
                metadata.remove("finalizers");
            }
        }
    }
    shown
}

/// Sets a field, making the records on the way.
pub(super) fn set(value: &mut Value, path: &FieldPath, to: Value) {
    let mut at = value;
    for part in path.parts() {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(part.clone()).or_insert(Value::Null);
    }
    *at = to;
}
