//! The object that shows a mistake, made as small as it still shows it.

use serde_json::{Map, Value};

/// How many smaller objects are tried.
const TRIES: usize = 120;

/// A smaller object than the one given. `still` gives back the object of a spec and a status if it shows the same.
pub(super) fn object(whole: &Value, still: &mut dyn FnMut(Map<String, Value>) -> Option<Value>) -> Value {
    let mut best = whole.clone();
    let mut left = TRIES;
    // What was left out may let something else be left out.
    while left > 0 {
        let places = places(&best);
        let before = best.clone();
        for place in places {
            let Some(fewer) = left.checked_sub(1) else { break };
            left = fewer;
            let mut parts = Map::new();
            for part in ["spec", "status"] {
                parts.extend(best.get(part).map(|value| (part.to_owned(), value.clone())));
            }
            let mut candidate = Value::Object(parts);
            if !remove(&mut candidate, &place) {
                continue;
            }
            let Value::Object(parts) = candidate else { continue };
            // What a default fills in again is no smaller.
            if let Some(smaller) = still(parts).filter(|it| it.to_string().len() < best.to_string().len()) {
                best = smaller;
            }
        }
        if best == before {
            break;
        }
    }
    best
}

/// All parts of an object that can be left out, the larger ones first.
fn places(object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo: std::collections::VecDeque<(String, &Value)> = ["spec", "status"]
        .into_iter()
        .filter_map(|part| Some((format!("/{part}"), object.get(part)?)))
        .collect();
    while let Some((place, value)) = todo.pop_front() {
        if place != "/spec" {
            found.push(place.clone());
        }
        match value {
            Value::Object(fields) => todo.extend(fields.iter().map(|(name, field)| {
                (format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")), field)
            })),
            Value::Array(items) => {
                let items = items.iter().enumerate().rev();
                todo.extend(items.map(|(index, item)| (format!("{place}/{index}"), item)));
            }
            _ => {}
        }
    }
    found
}

/// Takes a part out; whether it was there.
fn remove(value: &mut Value, place: &str) -> bool {
    let Some((around, last)) = place.rsplit_once('/') else { return false };
    match value.pointer_mut(around) {
        Some(Value::Object(fields)) => fields.remove(&last.replace("~1", "/").replace("~0", "~")).is_some(),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_shows_the_mistake_is_left() {
        let whole =
            json!({ "spec": { "a": 1, "b": { "c": [1, 2, 3], "d/e": 4 }, "f": "x" }, "status": { "g": 1 } });
        let small = object(&whole, &mut |parts| {
            let object = Value::Object(parts);
            object
                .pointer("/spec/b/c")
                .and_then(Value::as_array)
                .is_some_and(|it| it.contains(&json!(2)))
                .then_some(object)
        });
        assert_eq!(small, json!({ "spec": { "b": { "c": [2] } } }));
    }
}
