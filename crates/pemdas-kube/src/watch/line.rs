//! One line of a watch.

use std::borrow::Cow;

use kube::core::Status;
use pemdas_core::world::{KindKey, Live, ObjectKey};
use serde::Deserialize;

use crate::{live::Object, resource::Resource};

/// What happened.
#[derive(Debug)]
pub(super) enum What {
    Seen,
    Gone,
    /// Nothing, up to this version.
    Mark,
    Error(Box<Status>),
}

/// A line.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) what: What,
    /// Up to which version everything was told with it.
    pub(super) version: Option<String>,
    /// The object that it is about; none if it does not say who it is.
    pub(super) unread: Option<Unread>,
}

/// An object of which only so much was read as tells whether it is known already.
#[derive(Debug, Clone)]
pub struct Unread {
    /// Which object.
    pub key: ObjectKey,
    /// Which one of that name.
    pub uid: String,
    /// In which version.
    pub resource_version: u64,
    text: String,
}

/// The beginning of a line; everything else in it is passed over without being kept.
#[derive(Deserialize)]
struct Head<'t> {
    #[serde(rename = "type", borrow)]
    what: Cow<'t, str>,
    object: Peeked,
}

#[derive(Deserialize)]
struct Peeked {
    metadata: Option<Metadata>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

#[derive(Deserialize)]
struct Of<T> {
    object: T,
}

impl Line {
    /// Reads as much of a line as is needed at once.
    pub(super) fn read(kind: &KindKey, text: String) -> serde_json::Result<Self> {
        let head: Head<'_> = match serde_json::from_str(&text) {
            Ok(head) => head,
            // Servers in trouble answer with a status in the place of events.
            Err(error) => return serde_json::from_str(&text).map(Self::error).map_err(|_| error),
        };
        let what = match &*head.what {
            "ADDED" | "MODIFIED" => What::Seen,
            "DELETED" => What::Gone,
            "BOOKMARK" => What::Mark,
            _ => return serde_json::from_str(&text).map(|it: Of<Status>| Self::error(it.object)),
        };
        let Metadata { name, namespace, uid, resource_version } = head.object.metadata.unwrap_or_default();
        let number = resource_version.as_deref().and_then(|it| it.parse().ok());
        let unread = match (name, uid, number) {
            (Some(name), Some(uid), Some(resource_version)) => {
                let key = ObjectKey::new(kind.clone(), namespace.unwrap_or_default(), name);
                Some(Unread { key, uid, resource_version, text })
            }
            _ => None,
        };
        Ok(Self { what, version: resource_version, unread })
    }

    fn error(status: Status) -> Self {
        Self { what: What::Error(Box::new(status)), version: None, unread: None }
    }
}

impl Unread {
    /// The object itself.
    pub(crate) fn read(&self, resource: &Resource) -> Option<Live> {
        let line: Of<Object> = serde_json::from_str(&self.text).ok()?;
        line.object.of(resource).live(&resource.kind)
    }

    /// Whether this is the same object in the same version.
    pub(crate) fn is(&self, live: &Live) -> bool {
        self.resource_version == live.resource_version && self.uid == live.uid
    }
}

#[cfg(test)]
mod tests {
    use pemdas_core::world::KindKey;

    use super::{Line, What};
    use crate::resource::Resource;

    fn line(text: &str) -> serde_json::Result<Line> {
        Line::read(&KindKey::new("v1", "ConfigMap"), text.to_owned())
    }

    #[test]
    fn an_object_is_known_before_it_is_read() {
        let text = r#"{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{
            "name":"a","namespace":"n","uid":"u","resourceVersion":"12","labels":{"x":"y"},
            "managedFields":[{"manager":"us","fieldsV1":{"f:data":{"f:k":{}}}}]},"data":{"k":"v"}}}"#;
        let read = line(text).unwrap();
        assert!(matches!(read.what, What::Seen));
        assert_eq!(read.version.as_deref(), Some("12"));
        let unread = read.unread.unwrap();
        assert_eq!((unread.key.name.as_str(), unread.resource_version), ("a", 12));
        let live = unread.read(&Resource::built_in("v1", "ConfigMap").unwrap()).unwrap();
        assert!(unread.is(&live));
        assert_eq!(live.body["data"]["k"], "v");
        assert!(live.body["metadata"].get("managedFields").is_none());
        assert_eq!(live.managed["us"].len(), 1);
    }

    #[test]
    fn marks_errors_and_halves_are_told_apart() {
        let mark = line(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}"#).unwrap();
        assert!(matches!(mark.what, What::Mark) && mark.unread.is_none());
        assert_eq!(mark.version.as_deref(), Some("9"));
        for gone in [
            r#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}"#,
            r#"{"kind":"Status","code":410,"message":"too old"}"#,
        ] {
            assert!(matches!(line(gone).unwrap().what, What::Error(status) if status.code == 410));
        }
        assert!(line(r#"{"type":"ADDED","object":{"meta"#).unwrap_err().is_eof());
        assert!(!line("<html>").unwrap_err().is_eof());
        let nameless = line(r#"{"type":"ADDED","object":{"metadata":null}}"#).unwrap();
        assert!(nameless.version.is_none() && nameless.unread.is_none());
    }
}
