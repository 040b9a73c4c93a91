//! Requests and responses, without a transport.

use std::collections::BTreeMap;

use serde_json::Value;

/// What is to be done with what stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read.
    Get,
    /// Create.
    Post,
    /// Replace.
    Put,
    /// Change.
    Patch,
    /// Delete.
    Delete,
}

impl Method {
    /// The method of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "GET" | "HEAD" => Self::Get,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "PATCH" => Self::Patch,
            "DELETE" => Self::Delete,
            _ => return None,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub method: Method,
    /// Where, decoded.
    pub path: String,
    /// The parameters of the query, decoded.
    pub query: Vec<(String, String)>,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A request to a path with a query, as it stands in a URL.
    #[must_use]
    pub fn new(method: Method, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name, true), decoded(value, true))
        });
        Self {
            method,
            path: decoded(path, false),
            query: query.collect(),
            headers: BTreeMap::new(),
            body: Vec::new(),
        }
    }

    /// The same with a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_ascii_lowercase(), value.to_owned());
        self
    }

    /// The same with a body of JSON and its type.
    #[must_use]
    pub fn json(mut self, content_type: &str, body: &Value) -> Self {
        self.body = body.to_string().into_bytes();
        self.header("content-type", content_type)
    }

    /// The first parameter of this name that is not empty.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is given and true.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.query.iter().any(|(known, value)| known == name && matches!(value.as_str(), "true" | "1"))
    }

    /// The media type of the body, without its parameters.
    #[must_use]
    pub fn content_type(&self) -> &str {
        let given = self.headers.get("content-type").map_or("application/json", String::as_str);
        given.split(';').next().unwrap_or_default().trim()
    }

    /// Who writes, for `managedFields`: the parameter, or what the client calls itself.
    #[must_use]
    pub fn field_manager(&self) -> &str {
        let agent = || self.headers.get("user-agent").and_then(|agent| agent.split('/').next());
        self.parameter("fieldManager").or_else(agent).filter(|name| !name.is_empty()).unwrap_or("unknown")
    }
}

fn decoded(text: &str, plus_is_space: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (first, hex.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) if plus_is_space => bytes.push(b' '),
            _ => bytes.push(first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A response that is whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The code of HTTP.
    pub status: u16,
    /// The media type of the body.
    pub content_type: &'static str,
    /// Warnings, each as the text of a header.
    pub warnings: Vec<String>,
    /// The body.
    pub body: Value,
}

impl Response {
    /// A response of JSON.
    #[must_use]
    pub fn json(status: u16, body: Value) -> Self {
        Self { status, content_type: "application/json", warnings: Vec::new(), body }
    }

    /// The bytes of the body.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        match &self.body {
            Value::String(text) if self.content_type == "text/plain" => text.clone().into_bytes(),
            body => body.to_string().into_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Method, Request};

    #[test]
    fn a_target_is_taken_apart() {
        let request =
            Request::new(Method::Get, "/api/v1/pods?labelSelector=a%3Db%2Cc+in+%28d%29&watch=1&limit=");
        assert_eq!(request.path, "/api/v1/pods");
        assert_eq!(request.parameter("labelSelector"), Some("a=b,c in (d)"));
        assert!(request.flag("watch") && request.parameter("limit").is_none());
    }
}
