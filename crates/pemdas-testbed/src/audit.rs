//! The API server's audit log: who asked for what, and how often. It is the deterministic measure of what an operator
//! costs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{Doing, Result};

/// One answered request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who asked.
    pub user: String,
    /// As whom, if it was somebody else.
    pub impersonated: Option<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, ...
    pub verb: String,
    /// The plural name of the resource, with its subresource after a slash; empty for requests of no resource.
    pub resource: String,
    /// The namespace, if the resource has one.
    pub namespace: Option<String>,
    /// The name, if one object was meant.
    pub name: Option<String>,
    /// The HTTP status of the answer.
    pub code: u16,
    /// When it came in, in a form whose order is that of time. Lines stand in the order of answers, and whoever sees what a request
    /// did may be answered before it.
    pub received: String,
    /// Which fields a patch of an operator touches that it makes for nobody else: `spec`, `metadata.finalizers`,
    /// `metadata.annotations.NAME`. What says which object is meant is no field of it.
    pub touched: Vec<String>,
    /// Whether this line is the end of the request, or the beginning of a long answer such as a watch.
    pub complete: bool,
}

/// Counts by user, verb and resource.
pub type Counts = BTreeMap<(String, String, String), usize>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    #[serde(default)]
    request_received_timestamp: String,
    verb: String,
    user: User,
    impersonated_user: Option<User>,
    object_ref: Option<Object>,
    response_status: Option<Status>,
    request_object: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    resource: String,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

/// Reads the log from the byte `offset` on, and gives the offset of its end. A line that is being written is left for
/// the next time.
pub fn read(log: &Path, offset: usize) -> Result<(Vec<Request>, usize)> {
    let mut fresh = Vec::new();
    File::open(log)
        .and_then(|mut file| {
            file.seek(SeekFrom::Start(offset as u64))?;
            file.read_to_end(&mut fresh)
        })
        .doing(|| format!("read {}", log.display()))?;
    let whole = fresh.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let lines = String::from_utf8_lossy(fresh.get(..whole).unwrap_or_default());
    Ok((lines.lines().filter_map(request).collect(), offset + whole))
}

fn request(line: &str) -> Option<Request> {
    let event: Event = serde_json::from_str(line).ok()?;
    let object = event.object_ref;
    let resource = object.as_ref().map(|object| match &object.subresource {
        Some(subresource) => format!("{}/{subresource}", object.resource),
        None => object.resource.clone(),
    });
    let own = event.request_object.filter(|_| event.impersonated_user.is_none());
    let touched = own.map(|it| touched(&it)).unwrap_or_default();
    let (namespace, name) = object.map_or((None, None), |object| (object.namespace, object.name));
    Some(Request {
        user: event.user.username,
        impersonated: event.impersonated_user.map(|user| user.username),
        verb: event.verb,
        resource: resource.unwrap_or_default(),
        namespace,
        name,
        code: event.response_status.map_or(0, |status| status.code),
        received: event.request_received_timestamp,
        touched,
        complete: event.stage == "ResponseComplete",
    })
}

fn touched(body: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (field, value) in body.iter().filter(|(it, _)| !matches!(it.as_str(), "apiVersion" | "kind")) {
        let Some(fields) = value.as_object().filter(|_| field == "metadata") else {
            found.push(field.clone());
            continue;
        };
        let which = ["name", "namespace", "uid", "resourceVersion"];
        for (field, value) in fields.iter().filter(|(it, _)| !which.contains(&it.as_str())) {
            match value.as_object() {
                Some(inner) => found.extend(inner.keys().map(|it| format!("metadata.{field}.{it}"))),
                None => found.push(format!("metadata.{field}")),
            }
        }
    }
    found
}

/// Counts the completed requests by user, verb and resource.
#[must_use]
pub fn count(requests: &[Request]) -> Counts {
    let mut counts = Counts::new();
    for request in requests.iter().filter(|request| request.complete) {
        let user = request.impersonated.as_ref().unwrap_or(&request.user).clone();
        *counts.entry((user, request.verb.clone(), request.resource.clone())).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = concat!(
        r#"{"stage":"ResponseComplete","verb":"patch","user":{"username":"a"},"impersonatedUser":{"username":"b"},"#,
        r#""objectRef":{"resource":"pods","subresource":"status","namespace":"n","name":"p"},"responseStatus":{"code":200}}"#,
        "\n",
        r#"{"stage":"ResponseStarted","verb":"watch","user":{"username":"a"},"objectRef":{"resource":"pods"}}"#,
        "\n",
        r#"{"stage":"ResponseComp"#,
    );

    #[test]
    fn it_is_told_what_a_patch_touches_that_is_made_for_nobody_else() {
        let line = |impersonated: &str| {
            let body =
                r#"{"metadata":{"name":"n","uid":"u","finalizers":[],"annotations":{"a/b":"c"}},"data":{}}"#;
            let line = format!(
                r#"{{"stage":"ResponseComplete","verb":"patch","user":{{"username":"a"}},{impersonated}"requestObject":{body}}}"#
            );
            request(&line).unwrap().touched
        };
        assert_eq!(line(""), ["data", "metadata.annotations.a/b", "metadata.finalizers"]);
        assert_eq!(line(r#""impersonatedUser":{"username":"b"},"#), [""; 0]);
    }

    #[test]
    fn requests_are_counted_by_who_they_were_made_for() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        std::fs::write(&log, LINES).unwrap();
        let (requests, end) = read(&log, 0).unwrap();
        assert_eq!(requests.len(), 2, "the line that is being written is left alone");
        assert_eq!(requests[0].resource, "pods/status");
        assert_eq!(requests[0].code, 200);
        let expected = Counts::from([(("b".into(), "patch".into(), "pods/status".into()), 1)]);
        assert_eq!(count(&requests), expected, "a watch that has only begun is not counted");
        assert_eq!(read(&log, end).unwrap().0, []);
    }
}
