//! Lists, in pages, as of a resourceVersion.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Form, Selection, table};
use crate::api::Failure;
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
        let selection = call.selection()?;
        let current = self.store.revision();
        let asked = request.parameter("resourceVersion");
        let asked = match asked {
            None => 0,
            Some(text) => text.parse::<u64>().map_err(|_| wrong_version(text))?,
        };
        let matching = request.parameter("resourceVersionMatch");
        check_match(matching, request.parameter("resourceVersion"), request.parameter("continue"))?;
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
            let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.";
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

fn wrong_version(text: &str) -> Failure {
    Failure::bad_request(format!(
        "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
    ))
}

fn check_match(matching: Option<&str>, version: Option<&str>, from: Option<&str>) -> Result<(), Failure> {
    use crate::api::Cause;
    let invalid = |cause: Cause| Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &[cause]));
    let field = "resourceVersionMatch";
    match matching {
        None => Ok(()),
        Some(_) if from.is_some() => {
            invalid(Cause::forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
        }
        Some(_) if version.is_none() => invalid(Cause::forbidden(
            field,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        )),
        Some("Exact") if version == Some("0") => invalid(Cause::forbidden(
            field,
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        )),
        Some("Exact" | "NotOlderThan") => Ok(()),
        Some(other) => {
            invalid(Cause::unsupported(field, &Value::from(other), &["Exact", "NotOlderThan", ""]))
        }
    }
}
