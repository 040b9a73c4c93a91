//! Where a release lives, of objects that do not say it.
//!
//! Most charts leave the namespace to `helm install -n`. What they render says it all the same: in the subject of a binding, in the address
//! of a Service. If the objects went elsewhere, a binding would grant its permissions to an account that does not exist.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Object;

/// The namespace that everything which names one of the objects says; none if nothing does, or if there are several.
pub(super) fn said_elsewhere(objects: &[Object]) -> Option<String> {
    let homeless = objects.iter().filter(|it| it.namespaced && it.namespace.is_empty());
    let known: BTreeSet<(&str, &str)> = homeless.map(|it| (it.kind.as_str(), it.name.as_str())).collect();
    let mut found = BTreeSet::new();
    // What an object says of itself is no reference.
    let fields = objects.iter().filter_map(|it| it.value.as_object()).flatten();
    fields.filter(|it| it.0 != "metadata").for_each(|it| of_value(it.1, &known, &mut found));
    let mut found = found.into_iter();
    found.next().filter(|_| found.next().is_none())
}

fn of_value(value: &Value, known: &BTreeSet<(&str, &str)>, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => of_text(text, known, found),
        Value::Array(items) => items.iter().for_each(|it| of_value(it, known, found)),
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            if let (Some(name), Some(namespace)) = (text("name"), text("namespace")) {
                // The Service of a webhook stands in a field of that name, without a kind.
                let kind = text("kind").unwrap_or("Service");
                if known.contains(&(kind, name)) && !namespace.is_empty() {
                    found.insert(namespace.to_owned());
                }
            }
            fields.values().for_each(|it| of_value(it, known, found));
        }
        _ => {}
    }
}

/// Addresses: `NAME.NAMESPACE.svc`.
fn of_text(text: &str, known: &BTreeSet<(&str, &str)>, found: &mut BTreeSet<String>) {
    let word = |it: char| it.is_ascii_alphanumeric() || it == '-';
    for (at, _) in text.match_indices(".svc") {
        let before = text.get(..at).unwrap_or_default();
        let Some((rest, namespace)) = before.rsplit_once('.') else { continue };
        let name = rest.rsplit(|it| !word(it)).next().unwrap_or_default();
        if known.contains(&("Service", name)) && !namespace.is_empty() && namespace.chars().all(word) {
            found.insert(namespace.to_owned());
        }
    }
}
