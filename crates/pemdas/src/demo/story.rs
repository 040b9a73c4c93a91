//! What was written in the cluster, and by whom: short sentences for people.

use pemdas_core::world::{OUR_PREFIX, ROOT_LABEL};
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
        (None, Some(after)) => moment('+', format!("{name} created by {}", writer(None, after, &[]))),
        (Some(_), None) => moment('-', format!("{name} is deleted")),
        (Some(before), Some(after)) => {
            let going = |it: &Value| it.pointer("/metadata/deletionTimestamp").is_some();
            if going(after) && !going(before) {
                return moment('-', format!("{name} is being deleted"));
            }
            let mut fields = Vec::new();
            differing(&mut Vec::new(), before, after, &mut fields);
            let first = fields.first()?;
            let by = writer(Some(before), after, &first.path);
            let secret = any["kind"] == "Secret";
            let said = |it: &Field| if secret { it.name() } else { it.to_string() };
            let more = fields.len().saturating_sub(MAX_FIELDS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let said: Vec<String> = fields.iter().take(MAX_FIELDS).map(said).collect();
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

/// Who wrote last: whose entry among the managers is new, or gone because nothing is left of it, or else who owns most of the way to
/// the field that changed.
fn writer(before: Option<&Value>, after: &Value, path: &[String]) -> String {
    let entries = |it: &Value| {
        it.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (old, new) = (before.map(entries).unwrap_or_default(), entries(after));
    let owned = |entry: &Value| {
        let mut at = &entry["fieldsV1"];
        let known = path.iter().map_while(|step| {
            at = at.get(format!("f:{step}"))?;
            Some(())
        });
        known.count()
    };
    let owner = || new.iter().filter(|it| owned(it) > 0).max_by_key(|it| owned(it));
    let fresh = new.iter().rev().find(|it| !old.contains(it));
    let same = |it: &Value, other: &Value| {
        it["manager"] == other["manager"] && it["subresource"] == other["subresource"]
    };
    let gone = old.iter().find(|it| !new.iter().any(|other| same(it, other)));
    let entry = fresh.or(gone).or_else(owner);
    let name = entry.and_then(|it| it["manager"].as_str()).unwrap_or_default();
    match name.split(['.', '/']).next() {
        Some(own) if own.starts_with("pemdas") => "pemdas".to_owned(),
        None | Some("") => "somebody".to_owned(),
        _ => name.to_owned(),
    }
}

/// A field that somebody wrote.
struct Field {
    /// The steps to it; those of lists in brackets.
    path: Vec<String>,
    before: String,
    after: String,
}

impl Field {
    fn name(&self) -> String {
        self.path.join(".").replace(".[", "[")
    }
}

impl std::fmt::Display for Field {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {} → {}", self.name(), self.before, self.after)
    }
}

/// Whether a field is kept by servers and operators: it says nothing about what somebody wants.
fn is_kept(path: &[String]) -> bool {
    const OF_METADATA: &[&str] = &["managedFields", "resourceVersion", "generation", "finalizers"];
    match path {
        [only] => only == "status",
        [first, field] => first == "metadata" && OF_METADATA.contains(&field.as_str()),
        [first, second, name] => {
            first == "metadata" && second == "annotations" && name.starts_with(OUR_PREFIX)
        }
        _ => false,
    }
}

/// The fields in which two states of an object differ.
fn differing(path: &mut Vec<String>, before: &Value, after: &Value, found: &mut Vec<Field>) {
    if before == after || is_kept(path) {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let gone = old.keys().filter(|name| !new.contains_key(*name));
            for name in new.keys().chain(gone) {
                let of = |all: &serde_json::Map<String, Value>| all.get(name).cloned().unwrap_or_default();
                path.push(name.clone());
                differing(path, &of(old), &of(new), found);
                path.pop();
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                path.push(format!("[{index}]"));
                differing(path, old, new, found);
                path.pop();
            }
        }
        _ => found.push(Field { path: path.clone(), before: short(before), after: short(after) }),
    }
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
        assert_eq!(said("deployments", two, None).unwrap(), "- Deployment default/a is deleted");
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
    fn who_writes_a_field_again_is_its_owner() {
        let object = |value: &str| {
            let owned = json!({ "f:spec": { "f:list": { "k:{}": {} } } });
            Some(json!({
                "kind": "Deployment", "spec": { "list": [{ "value": "same" }, { "value": value }] },
                "metadata": {
                    "labels": { "pemdas.dev/root": "x" }, "managedFields": [{ "manager": "pemdas.abc", "fieldsV1": owned }],
                },
            }))
        };
        assert_eq!(
            said("deployments", object("a"), object("b")).unwrap(),
            "~ Deployment default/a changed by pemdas: spec.list[1].value \"a\" → \"b\""
        );
    }

    #[test]
    fn an_event_is_told_once() {
        let event = json!({ "kind": "Event", "reason": "Ready", "note": "all is well", "regarding": { "kind": "Shop", "name": "one" } });
        assert_eq!(said("events", None, Some(event.clone())).unwrap(), "! Shop one: Ready: all is well");
        assert_eq!(said("events", Some(event.clone()), Some(event)), None);
    }
}
