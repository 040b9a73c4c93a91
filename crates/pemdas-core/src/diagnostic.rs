//! What is wrong with a blueprint, as data: a stable code, a message, the places in the author's files, a hint.
//!
//! Broken input is data, not an error: what reads a blueprint returns what it understood *and* a list of these.

use serde::{Deserialize, Serialize};

/// A place in a source: a file of the blueprint by its name there, and a range of bytes in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The file as the blueprint names it, such as `main.ncl`; never a path of the machine.
    pub file: String,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

/// How bad it is. Only an error keeps a revision of a blueprint from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The blueprint cannot run.
    Error,
    /// It can run, and probably does not do what its author meant.
    Warning,
    /// Worth knowing.
    Note,
}

/// A place that a diagnostic speaks of, and what it says there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is to be said at that place; may be empty on a primary label.
    pub message: String,
    /// Whether this is the place to mend, rather than one that helps to understand.
    pub primary: bool,
}

/// One problem of a blueprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The stable code under which the problem is documented, such as `PM0101`.
    pub code: String,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence without a full stop: what is wrong.
    pub message: String,
    /// The places, the one to mend first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// Further facts, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error with a code and a message, without places yet.
    #[must_use]
    pub fn error(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A warning with a code and a message, without places yet.
    #[must_use]
    pub fn warning(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// Something worth knowing, with a code and a message, without places yet.
    #[must_use]
    pub fn remark(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    fn new(severity: Severity, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            severity,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            hint: None,
        }
    }

    /// Adds the place to mend.
    #[must_use]
    pub fn at(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into(), primary: true });
        self
    }

    /// Adds a place that helps to understand.
    #[must_use]
    pub fn see(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into(), primary: false });
        self
    }

    /// Adds a further fact.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
