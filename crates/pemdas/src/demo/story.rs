//! What was written in the cluster, and by whom: short sentences for people.

use pemdas_core::world::ROOT_LABEL;
use pemdas_sim::Change;
use serde_json::Value;

/// How many changed fields are named.
const MAX_FIELDS: usize = 2;
/// How long a value is at most.
const MAX_VALUE: usize = 40;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    /// What kind of thing: `+`, `~`, `-`, or `!` for what the operator tells.
    pub(crate) mark: char,
    /// In words.
    pub(crate) text: String,
}

/// What a change is worth telling; `is_root` says whether an object is one of those that somebody made.
pub(crate) fn told(change: &Change, is_root: impl Fn(&Value) -> bool) -> Option<Moment> {
    let moment = |mark: char, text: String| Some(Moment { mark, text });
    let any = change.after.as_ref().or(change.before.as_ref())?;
    if change.key.resource.plural == "events" {
        return event(change);
    }
    let ours = any.pointer("/metadata/labels").is_some_and(|it| it.get(ROOT_LABEL).is_some());
    if !ours && !is_root(any) {
        return None;
    }
    let name = format!("{} {}", any["kind"].as_str().unwrap_or_default(), change.key.path);
    match (&change.before, &change.after) {
        (None, Some(after)) => moment('+', format!("{name} created by {}", writer(None, after))),
        (Some(_), None) => moment('-', format!("{name} is gone")),
        (Some(before), Some(after)) => {
            let going = |it: &Value| it.pointer("/metadata/deletionTimestamp").is_some();
            if going(after) && !going(before) {
                return moment('-', format!("{name} is to go"));
            }
            let mut fields = Vec::new();
            differing("", before, after, &mut fields);
            if fields.is_empty() {
                return None;
            }
            let more = fields.len().saturating_sub(MAX_FIELDS);
            fields.truncate(MAX_FIELDS);
            let secret = any["kind"] == "Secret";
            let said: Vec<String> =
                fields.iter().map(|it| if secret { it.0.clone() } else { it.1.clone() }).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let by = writer(Some(before), after);
            moment('~', format!("{name} changed by {by}: {}{more}", said.join(", ")))
        }
        (None, None) => None,
    }
}

/// What the operator tells; once, and not each time it is counted up.
fn event(change: &Change) -> Option<Moment> {
    let after = change.after.as_ref().filter(|_| change.before.is_none())?;
    let text = |at: &str| after.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let note = if text("/note").is_empty() { text("/message") } else { text("/note") };
    let about = if after.get("regarding").is_some() { "regarding" } else { "involvedObject" };
    let (kind, name) = (text(&format!("/{about}/kind")), text(&format!("/{about}/name")));
    let (reason, first) = (text("/reason"), note.lines().next().unwrap_or_default());
    let said = if first.is_empty() { reason.to_owned() } else { format!("{reason}: {first}") };
    Some(Moment { mark: '!', text: format!("{kind} {name}: {said}") })
}

/// Who wrote last: whose entry among the managers is new.
fn writer(before: Option<&Value>, after: &Value) -> String {
    let entries = |it: &Value| {
        it.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let old = before.map(entries).unwrap_or_default();
    let new = entries(after).into_iter().rev().find(|it| !old.contains(it));
    let name = new.and_then(|it| it["manager"].as_str().map(str::to_owned)).unwrap_or_default();
    match name.split(['.', '/']).next() {
        Some(own) if own.starts_with("pemdas") => "pemdas".to_owned(),
        None | Some("") => "somebody".to_owned(),
        _ => name,
    }
}

/// The fields that somebody wrote: neither what servers keep about an object nor its status. Each with its path, and with its values.
fn differing(path: &str, before: &Value, after: &Value, found: &mut Vec<(String, String)>) {
    const KEPT: &[&str] =
        &["/status", "/metadata/managedFields", "/metadata/resourceVersion", "/metadata/generation"];
    if before == after || KEPT.contains(&path) || path.starts_with("/metadata/annotations/pemdas.dev") {
        return;
    }
    if let (Value::Object(old), Value::Object(new)) = (before, after) {
        let gone = old.keys().filter(|name| !new.contains_key(*name));
        for name in new.keys().chain(gone) {
            let (old, new) = (old.get(name).unwrap_or(&Value::Null), new.get(name).unwrap_or(&Value::Null));
            differing(&format!("{path}/{name}"), old, new, found);
        }
        return;
    }
    let name = path.trim_start_matches('/').replace('/', ".");
    // Finalizers are written for us and by us: they say nothing about what is wanted.
    if name == "metadata.finalizers" {
        return;
    }
    found.push((name.clone(), format!("{name} {} → {}", short(before), short(after))));
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::Null => "nothing".to_owned(),
        Value::Array(_) | Value::Object(_) => "…".to_owned(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_VALUE) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pemdas_sim::{Change, Key, ResourceId};
    use serde_json::{Value, json};

    use super::told;

    fn change(plural: &str, before: Option<Value>, after: Option<Value>) -> Change {
        let id = ResourceId { group: String::new(), plural: plural.to_owned() };
        let key = Key::new(&id, Some("default"), "a");
        Change { revision: 2, key, before: before.map(Arc::new), after: after.map(Arc::new) }
    }

    fn object(kind: &str, replicas: i64, manager: &str) -> Value {
        json!({
            "kind": kind, "spec": { "replicas": replicas }, "status": { "of": replicas },
            "metadata": { "labels": { "pemdas.dev/root": "x" }, "managedFields": [{ "manager": manager, "time": replicas }] },
        })
    }

    fn said(plural: &str, before: Option<Value>, after: Option<Value>) -> Option<String> {
        told(&change(plural, before, after), |_| false).map(|it| format!("{} {}", it.mark, it.text))
    }

    #[test]
    fn what_is_written_is_told_with_its_writer() {
        let one = || Some(object("Deployment", 1, "pemdas.abc"));
        assert_eq!(said("deployments", None, one()).unwrap(), "+ Deployment default/a created by pemdas");
        let two = Some(object("Deployment", 2, "kubectl-scale"));
        assert_eq!(
            said("deployments", one(), two.clone()).unwrap(),
            "~ Deployment default/a changed by kubectl-scale: spec.replicas 1 → 2"
        );
        assert_eq!(said("deployments", two, None).unwrap(), "- Deployment default/a is gone");
    }

    #[test]
    fn statuses_and_what_is_nobodys_are_not_told_and_no_value_of_a_secret() {
        let mut other = object("Deployment", 1, "kubectl");
        other["status"] = json!({});
        assert_eq!(said("deployments", Some(object("Deployment", 1, "kubectl")), Some(other)), None);
        assert_eq!(said("configmaps", None, Some(json!({ "kind": "ConfigMap", "metadata": {} }))), None);
        let secret = |token: &str| {
            let mut it = object("Secret", 1, token);
            it["data"] = json!({ "token": token });
            Some(it)
        };
        let told = said("secrets", secret("hidden"), secret("words")).unwrap();
        assert!(told.ends_with(": data.token"), "{told}");
    }

    #[test]
    fn an_event_is_told_once() {
        let event = json!({ "kind": "Event", "reason": "Ready", "note": "all is well", "regarding": { "kind": "Shop", "name": "one" } });
        assert_eq!(said("events", None, Some(event.clone())).unwrap(), "! Shop one: Ready: all is well");
        assert_eq!(said("events", Some(event.clone()), Some(event)), None);
    }
}
