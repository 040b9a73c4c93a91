//! Watches: subscriptions that are polled.

use std::sync::Arc;

use serde_json::{Value, json};

use super::list::{check_options, wrong_version};
use super::{Form, Selection, shown};
use crate::api::Failure;
use crate::custom;
use crate::kinds::Resource;
use crate::server::{Call, Server};
use crate::store::ResourceId;
use crate::time::Time;

/// How often a watch that wants them gets a bookmark.
const BOOKMARK_EVERY: u64 = 60_000;
/// How long watches go on by the old schema after a CRD changed, until the server ends them.
const OUTDATED: u64 = 1_000;

/// A watch. It holds no part of the server: whoever serves it polls.
#[derive(Debug, Clone)]
pub struct Watch {
    resource: Resource,
    id: ResourceId,
    namespace: Option<String>,
    selection: Selection,
    form: Form,
    /// The last change it has seen.
    seen: u64,
    /// What is to be sent before any change.
    initial: Vec<Value>,
    bookmarks: bool,
    last_bookmark: Time,
    /// When the server ends it.
    until: Option<Time>,
    /// Since when its kind has another schema.
    outdated: Option<Time>,
    ended: bool,
}

impl Watch {
    /// Whether it has ended.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// When it ends by itself, if it does.
    #[must_use]
    pub fn until(&self) -> Option<Time> {
        self.until
    }

    fn event(&self, kind: &str, object: &Value, now: &str) -> Value {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), Value::from(self.resource.api_version()));
        }
        json!({ "type": kind, "object": shown(&self.resource, &object, self.form, now) })
    }

    fn bookmark(&self, revision: u64, initial_ends: bool) -> Value {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if initial_ends {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let (kind, version) = match self.form {
            Form::Whole => (self.resource.kind.clone(), self.resource.api_version()),
            Form::Metadata => ("PartialObjectMetadata".to_owned(), "meta.k8s.io/v1".to_owned()),
            Form::Table => ("Table".to_owned(), "meta.k8s.io/v1".to_owned()),
        };
        let mut object = json!({ "kind": kind, "apiVersion": version, "metadata": metadata });
        // A typed object has its structs even when it is empty.
        if let (Form::Whole, crate::kinds::Body::BuiltIn(kind)) = (self.form, &self.resource.body)
            && let Some(body) = kind.body()
            && let Value::Object(fields) = crate::built_in::zero(body)
            && let Some(object) = object.as_object_mut()
        {
            for (name, value) in fields {
                object.entry(name).or_insert(value);
            }
        }
        json!({ "type": "BOOKMARK", "object": object })
    }
}

impl Server {
    /// Begins a watch.
    ///
    /// # Errors
    /// If the request makes no sense.
    pub(crate) fn watch(&self, call: &Call<'_>) -> Result<Watch, Failure> {
        let request = call.request;
        check_options(request)?;
        let given = request.parameter("resourceVersion");
        let asked = match given {
            None => 0,
            Some(text) => text.parse::<u64>().map_err(|_| Failure::plain(wrong_version(text)))?,
        };
        let lists = request.flag("sendInitialEvents");
        let seconds = request.parameter("timeoutSeconds").and_then(|it| it.parse::<u64>().ok());
        let mut watch = Watch {
            id: call.resource.id(),
            resource: call.resource.clone(),
            namespace: call.namespace.clone(),
            selection: call.selection()?,
            form: call.form,
            seen: self.store.revision(),
            initial: Vec::new(),
            bookmarks: request.flag("allowWatchBookmarks"),
            last_bookmark: call.now,
            until: seconds.map(|seconds| call.now.after(seconds * 1000)),
            outdated: None,
            ended: false,
        };
        let sends_none = request.parameter("sendInitialEvents") == Some("false");
        if lists || (asked == 0 && !sends_none) {
            let now = call.now.text();
            let all = self.store.list(&watch.id, watch.namespace.as_deref(), None);
            let chosen = all.filter(|(_, object)| watch.selection.takes(object));
            watch.initial = chosen.map(|(_, object)| watch.event("ADDED", object, &now)).collect();
            if lists && watch.bookmarks {
                watch.initial.push(watch.bookmark(self.store.revision(), true));
            }
        } else {
            watch.seen = asked;
        }
        Ok(watch)
    }

    /// What has happened since a watch was polled last.
    pub fn poll(&self, watch: &mut Watch, now: Time) -> Vec<Value> {
        if watch.ended {
            return Vec::new();
        }
        if watch.outdated.is_none() && self.is_redefined(&watch.resource) {
            watch.outdated = Some(now);
        }
        let mut events = std::mem::take(&mut watch.initial);
        let Some(changes) = self.store.since(watch.seen) else {
            watch.ended = true;
            let status = Failure::expired(&format!(
                "too old resource version: {} ({})",
                watch.seen,
                self.store.compacted() + 1
            ));
            events.push(json!({ "type": "ERROR", "object": status.status() }));
            return events;
        };
        let mut text = None;
        for change in changes.iter().filter(|change| change.key.resource == watch.id) {
            if watch.namespace.is_some() && change.key.namespace() != watch.namespace.as_deref() {
                continue;
            }
            let takes =
                |object: &Option<Arc<Value>>| object.as_ref().is_some_and(|it| watch.selection.takes(it));
            let (was, is) = (takes(&change.before), takes(&change.after));
            let (kind, object) = match (was, is) {
                (false, false) => continue,
                (false, true) => ("ADDED", &change.after),
                (true, true) => ("MODIFIED", &change.after),
                (true, false) => ("DELETED", &change.before),
            };
            let Some(object) = object else { continue };
            let mut object = Value::clone(object);
            object["metadata"]["resourceVersion"] = Value::from(change.revision.to_string());
            if let (Some(_), Some(definition)) = (watch.outdated, watch.resource.definition()) {
                custom::prune(&definition.schema, &mut object);
            }
            events.push(watch.event(kind, &object, text.get_or_insert_with(|| now.text())));
        }
        watch.seen = watch.seen.max(self.store.revision());
        if watch.bookmarks && now >= watch.last_bookmark.after(BOOKMARK_EVERY) {
            watch.last_bookmark = now;
            events.push(watch.bookmark(watch.seen, false));
        }
        let end = watch.outdated.map(|since| since.after(OUTDATED)).into_iter().chain(watch.until).min();
        watch.ended = end.is_some_and(|end| now >= end);
        events
    }

    /// Whether a CRD says something else of a kind now.
    fn is_redefined(&self, resource: &Resource) -> bool {
        let Some(definition) = resource.definition() else { return false };
        let now = self.kinds.find(&resource.group, &resource.version, &resource.plural);
        now.is_none_or(|it| it.definition() != Some(definition))
    }
}
