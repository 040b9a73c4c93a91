//! Lists, in pages, as of a resourceVersion.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Form, Selection, table};
use crate::api::{Cause, Failure, Request};
use crate::server::{Call, Server};

/// Where the next page begins: after which path, at which revision.
struct Continue {
    revision: u64,
    behind: String,
}

impl Continue {
    fn text(&self) -> String {
        // Opaque to clients; hex, so that it is one word in a query.
        let plain = format!("{}:{}", self.revision, self.behind);
        plain.bytes().map(|byte| format!("{byte:02x}")).collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes: Option<Vec<u8>> = (0..text.len() / 2)
            .map(|place| u8::from_str_radix(text.get(place * 2..place * 2 + 2)?, 16).ok())
            .collect();
        let plain = String::from_utf8(bytes?).ok()?;
        let (revision, behind) = plain.split_once(':')?;
        Some(Self { revision: revision.parse().ok()?, behind: behind.to_owned() })
    }
}

impl Server {
    /// A list of objects.
    ///
    /// # Errors
    /// If the request makes no sense, or asks for a time that is forgotten or has not come.
    pub(crate) fn list(&self, call: &Call<'_>) -> Result<Value, Failure> {
        let request = call.request;
        check_options(request)?;
        let selection = call.selection()?;
        let current = self.store.revision();
        let asked = request.parameter("resourceVersion");
        let asked = match asked {
            None => 0,
            Some(text) => text.parse::<u64>().map_err(|_| {
                Failure::bad_request(format!("invalid resource version: {}", wrong_version(text)))
            })?,
        };
        let matching = request.parameter("resourceVersionMatch");
        let limit = request.parameter("limit").and_then(|it| it.parse::<usize>().ok()).filter(|it| *it > 0);
        let from = match request.parameter("continue") {
            None => None,
            Some(text) => Some(Continue::parse(text).ok_or_else(|| {
                Failure::bad_request("continue key is not valid: illegal base64 data at input byte 0")
            })?),
        };
        if asked > current && from.is_none() {
            return Err(Failure::too_large_resource_version(asked, current));
        }
        let exact = (matching == Some("Exact") && asked > 0).then_some(asked);
        let revision = from.as_ref().map(|it| it.revision).or(exact).unwrap_or(current);
        let all = self.objects_at(call, revision)?;
        let behind = from.as_ref().map_or("", |it| it.behind.as_str());
        let mut chosen =
            all.iter().filter(|(path, object)| path.as_str() > behind && selection.takes(object)).peekable();
        let mut page: Vec<(&String, &Arc<Value>)> = Vec::new();
        while limit.is_none_or(|limit| page.len() < limit)
            && let Some(next) = chosen.next()
        {
            page.push((&next.0, &next.1));
        }
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if call.resource.definition().is_some() {
            metadata["continue"] = json!("");
        }
        if chosen.peek().is_some()
            && let Some((last, _)) = page.last()
        {
            metadata["continue"] = Value::from(Continue { revision, behind: (*last).clone() }.text());
            // With a selection the rest is not counted.
            if selection == Selection::default() {
                metadata["remainingItemCount"] = Value::from(chosen.count());
            }
        }
        Ok(self.shown_list(call, &page, &metadata))
    }

    fn objects_at(&self, call: &Call<'_>, revision: u64) -> Result<Vec<(String, Arc<Value>)>, Failure> {
        let id = call.resource.id();
        let namespace = call.namespace.as_deref();
        if revision == self.store.revision() {
            let now = self.store.list(&id, namespace, None);
            return Ok(now.map(|(key, object)| (key.path.clone(), Arc::clone(object))).collect());
        }
        let Some(then) = self.store.list_at(&id, revision) else {
            let message = if call.request.parameter("continue").is_some() {
                "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter."
            } else {
                "The resourceVersion for the provided list is too old."
            };
            return Err(Failure::expired(message));
        };
        let prefix = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        Ok(then.into_iter().filter(|(path, _)| path.starts_with(&prefix)).collect())
    }

    fn shown_list(&self, call: &Call<'_>, page: &[(&String, &Arc<Value>)], metadata: &Value) -> Value {
        let objects: Vec<Value> = page.iter().map(|(_, object)| call.converted(object)).collect();
        match call.form {
            Form::Table => {
                let objects: Vec<&Value> = objects.iter().collect();
                table::table(&call.resource, &objects, metadata, &call.now.text())
            }
            Form::Metadata => {
                let items: Vec<Value> = objects
                    .iter()
                    .map(|object| json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] }))
                    .collect();
                let items = if items.is_empty() { Value::Null } else { Value::Array(items) };
                json!({ "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items })
            }
            Form::Whole => {
                let is_custom = call.resource.definition().is_some();
                let items: Vec<Value> = objects
                    .into_iter()
                    .map(|mut object| {
                        // The items of a typed list do not say what they are.
                        if let Some(fields) = object.as_object_mut().filter(|_| !is_custom) {
                            fields.remove("apiVersion");
                            fields.remove("kind");
                        }
                        object
                    })
                    .collect();
                json!({ "kind": call.resource.list_kind(), "apiVersion": call.resource.api_version(),
                    "metadata": metadata, "items": items })
            }
        }
    }
}

/// What is wrong with a version, in the words of the real server.
pub(super) fn wrong_version(text: &str) -> String {
    format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax")
}

/// What the real server demands of the options of lists and watches.
///
/// # Errors
/// If they make no sense together.
pub(super) fn check_options(request: &Request) -> Result<(), Failure> {
    let field = "resourceVersionMatch";
    let (version, matching) = (request.parameter("resourceVersion"), request.parameter(field));
    let (watches, sends) = (request.flag("watch"), request.parameter("sendInitialEvents").is_some());
    let mut causes = Vec::new();
    let mut forbid = |wrong: bool, field: &str, why: &str| {
        if wrong {
            causes.push(Cause::forbidden(field, why));
        }
    };
    if watches {
        let fitting = matching == Some("NotOlderThan");
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        forbid(sends && !fitting, field, why);
        let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        forbid(matching.is_some() && !sends, field, why);
    } else {
        let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        forbid(matching.is_some() && version.is_none(), field, why);
        let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        forbid(matching == Some("Exact") && version == Some("0"), field, why);
        forbid(sends, "sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    let why = "resourceVersionMatch is forbidden when continue is provided";
    forbid(matching.is_some() && request.parameter("continue").is_some(), field, why);
    let known: &[&str] = if watches { &["NotOlderThan"] } else { &["Exact", "NotOlderThan", ""] };
    if let Some(other) = matching.filter(|it| !known.contains(it)) {
        causes.push(Cause::unsupported(field, &Value::from(other), known));
    }
    if causes.is_empty() { Ok(()) } else { Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &causes)) }
}
