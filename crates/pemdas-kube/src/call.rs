//! Actions become calls, and their answers outcomes. Nothing is decided here.

use std::{collections::BTreeSet, time::Duration};

use http::{Method, Request};
use kube::{Client, client::Body, core::Status};
use pemdas_core::world::{
    CLAIM_ANNOTATION, Live, ONCE_FINALIZER, ObjectKey, ROOT_LABEL, Refusal, WriteOutcome,
};
use serde_json::{Value, json};

use crate::{
    live::{self, Object},
    refusal::{Meant, refusal},
    resource::Resource,
};

/// How long an answer is waited for; what became of the write is not known then.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest pause that a busy server can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What came of a call.
#[derive(Debug)]
pub struct Done {
    /// What became of the write.
    pub outcome: WriteOutcome,
    /// The object as it is after the write.
    pub live: Option<Live>,
    /// How long the server wants to be left alone.
    pub pause: Option<Duration>,
}

impl Done {
    /// What became of a write, of which nothing else is known.
    fn of(outcome: WriteOutcome) -> Self {
        Self { outcome, live: None, pause: None }
    }
}

/// What became of a request that was not accepted, and how long the server wants to be left alone.
pub(crate) type NotDone = (WriteOutcome, Option<Duration>);

/// What a call sends.
pub(crate) struct Sent {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    /// Null where there is none.
    pub(crate) body: Value,
    pub(crate) meant: Meant,
}

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON: &str = "application/json";

/// Where an object, or a part of it, is written in the name of a field manager. The server is not asked to warn of fields that it does
/// not know: it refuses an apply with such a field anyway, and to look for them it reads what it is sent a second time. What it prunes is
/// seen in its answer.
fn place(resource: &Resource, key: &ObjectKey, part: &str, manager: &str) -> String {
    let objects = resource.path(&key.namespace);
    format!("{objects}/{}{part}?fieldManager={manager}&fieldValidation=Ignore", key.name)
}

/// Server-side apply that creates or is refused: an object that exists has another resourceVersion.
pub async fn create(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    manager: &str,
    body: &Value,
) -> Done {
    let mut body = body.clone();
    if !mutant!(CreateTakesOver) {
        body["metadata"]["resourceVersion"] = json!("1");
    }
    let path = format!("{}&force=false", place(resource, key, "", manager));
    let sent = Sent { method: Method::PATCH, path, content_type: APPLY, body, meant: Meant::Create };
    write(client, resource, sent).await
}

/// What a change must find, and what it may take.
#[derive(Debug, Clone)]
pub struct Terms<'a> {
    /// The uid it must find.
    pub uid: &'a str,
    /// The resourceVersion it must find.
    pub resource_version: Option<u64>,
    /// Whether it takes fields of other managers.
    pub force: bool,
}

/// Server-side apply on an object with this uid.
pub async fn change(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    manager: &str,
    body: &Value,
    terms: &Terms<'_>,
) -> Done {
    let mut body = body.clone();
    if !mutant!(ChangeWithoutUid) {
        body["metadata"]["uid"] = json!(terms.uid);
    }
    let force = (terms.force || mutant!(ChangeForces)) && !mutant!(ChangeNeverForces);
    if let Some(version) = terms.resource_version {
        body["metadata"]["resourceVersion"] = json!(version.to_string());
    }
    let path = format!("{}&force={force}", place(resource, key, "", manager));
    let sent = Sent { method: Method::PATCH, path, content_type: APPLY, body, meant: Meant::Change };
    write(client, resource, sent).await
}

/// Makes the status of the root what it shall be: what is there and not wanted goes. It is replaced, which is less work for the API
/// server than any patch; of the rest of the object a custom object's status takes nothing. Only over the version that was
/// seen: another object may have come under the same name.
pub async fn status(
    client: &Client,
    resource: &Resource,
    seen: &Live,
    manager: &str,
    status: &Value,
) -> Done {
    let mut body = typed(json!({ "metadata": { "name": seen.key.name, "uid": seen.uid } }), resource);
    if !seen.key.namespace.is_empty() {
        body["metadata"]["namespace"] = json!(seen.key.namespace);
    }
    if !mutant!(StatusWithoutVersion) {
        body["metadata"]["resourceVersion"] = json!(seen.resource_version.to_string());
    }
    body["status"] = without_nulls(status);
    if mutant!(StatusOnlyAdds) {
        for (name, value) in seen.body.get("status").and_then(Value::as_object).into_iter().flatten() {
            let told = &mut body["status"][name];
            *told = if told.is_null() { value.clone() } else { told.take() };
        }
    }
    let path = place(resource, &seen.key, "/status", manager);
    let sent = Sent { method: Method::PUT, path, content_type: JSON, body, meant: Meant::Change };
    write(client, resource, sent).await
}

/// A field that is null says that there is none; where a definition wants something else, the API server would refuse it.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, it)| !it.is_null());
            kept.map(|(name, it)| (name.clone(), without_nulls(it))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// Deletes an object with this uid and resourceVersion, in the background.
pub async fn delete(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    uid: &str,
    resource_version: u64,
) -> Done {
    let mut body = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
        "preconditions": { "uid": uid, "resourceVersion": resource_version.to_string() },
    });
    if mutant!(DeleteWithoutPreconditions) {
        body["preconditions"] = Value::Null;
    }
    let path = format!("{}/{}", resource.path(&key.namespace), key.name);
    let sent = Sent { method: Method::DELETE, path, content_type: JSON, body, meant: Meant::Change };
    let done = write(client, resource, sent).await;
    match done.outcome {
        WriteOutcome::Done(_) => Done { outcome: WriteOutcome::Deleted(uid.to_owned()), ..done },
        // It is gone: whoever did it, that was what was wanted.
        WriteOutcome::Refused(Refusal::Gone) => {
            Done { outcome: WriteOutcome::Deleted(uid.to_owned()), ..Done::of(WriteOutcome::Lost) }
        }
        _ => done,
    }
}

/// Sets which finalizers a root has, if it is still the one that this was decided for.
pub async fn finalize(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    (uid, resource_version): (&str, u64),
    finalizers: &BTreeSet<String>,
) -> Done {
    let body = json!({ "metadata": {
        "uid": uid, "resourceVersion": resource_version.to_string(), "finalizers": finalizers,
    } });
    let path = place(resource, key, "", "pemdas");
    let sent = Sent { method: Method::PATCH, path, content_type: MERGE, body, meant: Meant::Change };
    write(client, resource, sent).await
}

/// Sets an annotation of a root, or takes it off, if it is still the one that this was decided for.
pub async fn annotate(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    (uid, resource_version): (&str, u64),
    (name, value): (&str, Option<&str>),
) -> Done {
    let body = json!({ "metadata": {
        "uid": uid, "resourceVersion": resource_version.to_string(), "annotations": { name: value },
    } });
    let path = place(resource, key, "", "pemdas");
    let sent = Sent { method: Method::PATCH, path, content_type: MERGE, body, meant: Meant::Change };
    write(client, resource, sent).await
}

/// Takes our finalizer off an object; with `disown`, the label and the annotation of our claim as well.
pub async fn release(client: &Client, resource: &Resource, seen: &Live, disown: bool) -> Done {
    let finalizers: Vec<_> =
        seen.finalizers.iter().filter(|it| *it != ONCE_FINALIZER && !mutant!(ReleaseTakesAll)).collect();
    let mut body = json!({ "metadata": {
        "uid": seen.uid, "resourceVersion": seen.resource_version.to_string(), "finalizers": finalizers,
    } });
    if disown {
        body["metadata"]["labels"] = json!({ ROOT_LABEL: null });
        body["metadata"]["annotations"] = json!({ CLAIM_ANNOTATION: null });
    }
    let path = place(resource, &seen.key, "", "pemdas");
    let sent = Sent { method: Method::PATCH, path, content_type: MERGE, body, meant: Meant::Change };
    write(client, resource, sent).await
}

/// Reads an object itself, with the resourceVersion as of which it is there or not.
///
/// # Errors
/// If there was no answer: it is asked again.
pub async fn look(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
) -> Result<(Option<Live>, u64), String> {
    if !is_addressable(key) {
        return Err("its name is no part of a path".to_owned());
    }
    // A list of one: its version also says as of when an object is *not* there.
    let path = format!("{}?fieldSelector=metadata.name%3D{}", resource.path(&key.namespace), key.name);
    let request = Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
    let list: Value = match tokio::time::timeout(TIMEOUT, client.request(request)).await {
        Err(_) => return Err("there was no answer in time".to_owned()),
        Ok(Err(error)) => return Err(error.to_string()),
        Ok(Ok(list)) => list,
    };
    let version = list.pointer("/metadata/resourceVersion").and_then(live::version).unwrap_or(0);
    let item = list.get("items").and_then(Value::as_array).and_then(|it| it.first()).cloned();
    Ok((item.and_then(|it| live::live(&resource.kind, typed(it, resource))), version))
}

/// Whether an object can be asked for at all: a template may render any name, and one with slashes and dots would lead to another
/// object of another kind.
#[must_use]
pub fn is_addressable(key: &ObjectKey) -> bool {
    let segment = |text: &str| {
        let plain = |it: u8| it.is_ascii_alphanumeric() || b"-._:".contains(&it);
        !text.is_empty() && text.len() <= 253 && text.bytes().all(plain) && text != "." && text != ".."
    };
    segment(&key.name) && (key.namespace.is_empty() || segment(&key.namespace))
}

/// Sends a write and sorts its answer.
async fn write(client: &Client, resource: &Resource, sent: Sent) -> Done {
    match send(client, sent).await {
        Ok(bytes) => accepted(resource, bytes.as_ref()),
        Err((WriteOutcome::Lost, _)) if mutant!(LostIsDone) => Done::of(WriteOutcome::Done(0)),
        Err((outcome, pause)) => Done { pause, ..Done::of(outcome) },
    }
}

/// Sends a request; what was answered if it was accepted, otherwise what became of it.
pub(crate) async fn send(client: &Client, sent: Sent) -> Result<impl AsRef<[u8]>, NotDone> {
    let refused = |text: &str| (WriteOutcome::Refused(Refusal::Invalid(text.to_owned())), None);
    let body = match &sent.body {
        Value::Null => Vec::new(),
        body => serde_json::to_vec(body).map_err(|_| refused("it is no JSON"))?,
    };
    let request = Request::builder()
        .method(sent.method)
        .uri(sent.path)
        .header(http::header::CONTENT_TYPE, sent.content_type)
        .header(http::header::ACCEPT, JSON)
        .body(Body::from(body))
        .map_err(|_| refused("its name is no part of a path"))?;
    let patience = if mutant!(WaitsForEver) { Duration::MAX } else { TIMEOUT };
    let answered = tokio::time::timeout(patience, async {
        let response = client.send(request).await.ok()?;
        let (head, body) = response.into_parts();
        let bytes = body.collect_bytes().await.ok()?;
        Some((head, bytes))
    });
    let Ok(Some((head, bytes))) = answered.await else { return Err((WriteOutcome::Lost, None)) };
    if head.status.is_success() {
        return Ok(bytes);
    }
    let pause = head.headers.get(http::header::RETRY_AFTER).and_then(|it| it.to_str().ok()?.parse().ok());
    let status: Status = serde_json::from_slice(&bytes).unwrap_or_else(|_| Status {
        code: head.status.as_u16(),
        message: head.status.to_string(),
        ..Status::default()
    });
    let pause = pause.filter(|it| *it > 1).map(|it| Duration::from_secs(it).min(MAX_RETRY_AFTER));
    Err((WriteOutcome::Refused(refusal(&status, sent.meant)), pause))
}

fn accepted(resource: &Resource, bytes: &[u8]) -> Done {
    let object: Option<Object> = serde_json::from_slice(bytes).ok();
    let live = object.filter(|it| it.is(&resource.kind)).and_then(|it| it.live(&resource.kind));
    let version = live.as_ref().map_or(0, |it| it.resource_version);
    Done { outcome: WriteOutcome::Done(version), live, pause: None }
}

fn typed(mut body: Value, resource: &Resource) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.insert("apiVersion".to_owned(), json!(resource.api_version));
        fields.insert("kind".to_owned(), json!(resource.kind.kind));
    }
    body
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use pemdas_core::world::{KindKey, ObjectKey};

    use super::{is_addressable, without_nulls};

    #[test]
    fn a_name_leads_nowhere_else() {
        let at = |namespace: &str, name: &str| {
            let kind = KindKey::new("v1", "ConfigMap");
            is_addressable(&ObjectKey::new(kind, namespace.to_owned(), name.to_owned()))
        };
        for (namespace, name) in [("n", "a.b-c"), ("", "system:node"), ("n", "Under_Score")] {
            assert!(at(namespace, name), "{namespace} {name}");
        }
        let long = "x".repeat(254);
        for name in
            ["", ".", "..", "../../secrets/x", "a/b", "a%2fb", "a?b", "a#b", "a b", "ä", "a\nb", &long]
        {
            assert!(!at("n", name), "{name}");
        }
        assert!(!at("../x", "a") && !at("a/b", "a"));
    }

    #[test]
    fn nulls_are_left_out_of_records_and_stay_in_lists() {
        let given = json!({ "a": null, "b": { "c": null, "d": [null, { "e": null, "f": 1 }] }, "g": {} });
        assert_eq!(without_nulls(&given), json!({ "b": { "d": [null, { "f": 1 }] }, "g": {} }));
    }
}
