//! How a kind shows itself: columns and scale.

use crate::diagnostic::Span;

/// A column of `kubectl get`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// The field, with dots between names: `spec.image`.
    pub path: String,
    /// Its type, if it is not that of the field.
    pub of: Option<String>,
    /// 0 is always shown, more only with `-o wide`.
    pub priority: i64,
    /// What it says.
    pub description: Option<String>,
    /// Where it is written.
    pub span: Option<Span>,
}

/// The fields by which a kind is scaled, with dots between names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// The wanted number.
    pub replicas: String,
    /// The number that there is.
    pub status_replicas: String,
    /// The selector of the pods, as a string.
    pub selector: Option<String>,
    /// Where it is written.
    pub span: Option<Span>,
}
