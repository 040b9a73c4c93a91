//! The API server's audit log: who asked for what, and how often. It is the deterministic measure of what an operator
//! costs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::Deserialize;

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
        complete: event.stage == "ResponseComplete",
    })
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
