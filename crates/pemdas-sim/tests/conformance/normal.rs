//! What is the same in two answers although it is written differently: uids, versions, times.

use std::collections::BTreeMap;

use pemdas_sim::Request;
use serde_json::{Value, json};

/// What one server has said so far in a sequence.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// By `plural/name`: uid and the versions so far.
    objects: BTreeMap<String, (String, Vec<String>)>,
    /// Uids and versions in the order in which they were first seen.
    uids: Vec<String>,
    versions: Vec<String>,
    next_page: String,
    /// The version with which the sequence began, and the last one that was seen.
    start: String,
    last: u64,
    /// The part of a path that differs.
    namespace: String,
}

/// What controllers put into every namespace.
pub(crate) const PUBLISHED: &str = "kube-root-ca.crt";
/// What stands for something that was never seen.
const NEVER: &str = "11111111-1111-4111-8111-111111111111";

impl Side {
    /// In a namespace, in which something of this version was written last.
    pub(crate) fn new(namespace: &str, version: &Value) -> Self {
        let start = version.as_str().unwrap().to_owned();
        let last = start.parse().unwrap();
        Self { namespace: namespace.to_owned(), start, last, ..Self::default() }
    }

    /// The request with this server's own values in its placeholders.
    pub(crate) fn filled(&self, request: &Request) -> Request {
        let mut request = request.clone();
        request.path = request.path.replace("$NS", &self.namespace);
        let page = &self.next_page;
        for (_, value) in &mut request.query {
            *value = value.replace("$CONTINUE", page);
            let known = value.strip_prefix("$RV:").map(|place| self.objects.get(place));
            if let Some(known) = known {
                *value = known.and_then(|(_, all)| all.last()).unwrap_or(&self.start).clone();
            }
            *value = value.replace("$START", &self.start).replace("$LAST", &self.last.to_string());
        }
        request.query.retain(|(_, value)| !value.is_empty());
        if let Ok(body) = serde_json::from_slice::<Value>(&request.body) {
            request.body = self.fill(body).to_string().into_bytes();
        }
        request
    }

    fn fill(&self, value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (name, self.fill(value))).collect()
            }
            Value::Array(items) => items.into_iter().map(|item| self.fill(item)).collect(),
            Value::String(text) => {
                let known = |place: &str| self.objects.get(place);
                let filled = if let Some(place) = text.strip_prefix("$UID:") {
                    known(place).map_or(NEVER, |(uid, _)| uid)
                } else if let Some(place) = text.strip_prefix("$RV:") {
                    known(place).and_then(|(_, all)| all.last()).map_or("1", String::as_str)
                } else if let Some(place) = text.strip_prefix("$OLDRV:") {
                    known(place).and_then(|(_, all)| all.iter().rev().nth(1)).map_or("1", String::as_str)
                } else {
                    &text
                };
                Value::from(filled)
            }
            other => other,
        }
    }

    /// Remembers what an answer says of objects, and gives it back with names in place of values.
    pub(crate) fn read(&mut self, request: &Request, status: u16, answer: Value) -> Value {
        let dry = request.query.iter().any(|(name, _)| name == "dryRun");
        let plural = request
            .path
            .split('/')
            .nth(if request.path.starts_with("/apis") { 6 } else { 5 })
            .unwrap_or_default();
        self.next_page =
            answer.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default().to_owned();
        if status < 300 && !dry && answer.get("items").is_none() && answer["kind"] != "Status" {
            self.learn(plural, &answer);
        }
        self.normal(answer, "")
    }

    /// Events of a watch with names in place of values, without the bookmarks that are sent from time to time.
    pub(crate) fn events(&mut self, events: Vec<Value>) -> Value {
        let marks = |event: &Value| event.pointer("/object/metadata/annotations").is_some();
        let kept = events.into_iter().filter(|event| {
            (event["type"] != "BOOKMARK" || marks(event)) && event["object"]["metadata"]["name"] != PUBLISHED
        });
        kept.map(|mut event| {
            if event["type"] == "BOOKMARK" {
                // That of the last change anywhere in the cluster.
                event["object"]["metadata"]["resourceVersion"] = Value::Null;
            }
            self.normal(event, "")
        })
        .collect()
    }

    fn learn(&mut self, plural: &str, object: &Value) {
        let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
        if text("name").is_empty() || text("uid").is_empty() {
            return;
        }
        self.last = self.last.max(text("resourceVersion").parse().unwrap_or_default());
        let entry = self.objects.entry(format!("{plural}/{}", text("name"))).or_default();
        entry.0 = text("uid");
        if entry.1.last() != Some(&text("resourceVersion")) {
            entry.1.push(text("resourceVersion"));
        }
    }

    fn named(list: &mut Vec<String>, value: &str, kind: &str) -> String {
        let place = list.iter().position(|known| known == value).unwrap_or_else(|| {
            list.push(value.to_owned());
            list.len() - 1
        });
        format!("{kind}#{place}")
    }

    /// An answer with names in place of values.
    pub(crate) fn normal(&mut self, value: Value, key: &str) -> Value {
        match value {
            Value::Object(fields) => {
                let is_list = fields.contains_key("items");
                let entries = fields.into_iter().map(|(name, value)| {
                    if is_list && name == "metadata" {
                        let continues = value.get("continue").is_some_and(|it| it != "");
                        let remaining = value.get("remainingItemCount");
                        let normal = json!({ "continues": continues, "remaining": remaining });
                        return (name, normal);
                    }
                    let value = self.normal(value, &name);
                    (name, value)
                });
                Value::Object(entries.collect())
            }
            Value::Array(items) => {
                let items = items.into_iter().filter(|item| item["metadata"]["name"] != PUBLISHED);
                let mut items: Vec<Value> = items.map(|item| self.normal(item, "")).collect();
                if key == "managedFields" {
                    items.sort_by_key(Value::to_string);
                }
                if key == "causes" {
                    // The real server checks some things several times, and says so several times.
                    items.sort_by_key(Value::to_string);
                    items.dedup();
                }
                Value::Array(items)
            }
            Value::String(text) => Value::from(self.text(&text, key)),
            other => other,
        }
    }

    fn text(&mut self, text: &str, key: &str) -> String {
        let is_time = text.len() >= 20
            && text.as_bytes()[4] == b'-'
            && text.as_bytes()[10] == b'T'
            && text.ends_with('Z');
        match key {
            "uid" => Self::named(&mut self.uids, text, "uid"),
            _ if key.ends_with("controller-uid") => Self::named(&mut self.uids, text, "uid"),
            "resourceVersion" => Self::named(&mut self.versions, text, "version"),
            "clusterIP" if text != "None" => "an address".to_owned(),
            _ if text.starts_with("10.96.") => "an address".to_owned(),
            "renewTime" | "acquireTime" => text.to_owned(),
            _ if is_time => "a time".to_owned(),
            _ => self.message(text),
        }
    }

    /// A message with uids and versions named.
    fn message(&mut self, text: &str) -> String {
        let mut text = text.replace(&self.namespace, "$NS");
        // A version may be seen for the first time where it is said that another one is not it.
        let recorded = text.split_once("in record (").and_then(|(_, rest)| rest.split_once(')'));
        if let Some(version) = recorded.map(|(version, _)| version.to_owned()) {
            Self::named(&mut self.versions, &version, "version");
        }
        for (place, uid) in self.uids.iter().enumerate() {
            text = text.replace(uid, &format!("uid#{place}"));
        }
        for (place, version) in self.versions.iter().enumerate() {
            text = text.replace(&format!("({version})"), &format!("(version#{place})"));
        }
        text
    }
}
