//! What can be wrong with an object of a kind, and how it is told.

use crate::diagnostic::{Diagnostic, Severity};
use crate::kube_types::types::Type;

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The path to it, such as `spec.template.spec.containers[0].image`; empty is the object itself.
    pub path: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A record has a field that its type does not know.
    UnknownField {
        /// The field.
        name: String,
        /// The type, such as `core/v1/Container`.
        owner: &'static str,
        /// The field that was perhaps meant.
        meant: Option<&'static str>,
        /// Where a field of this name is, from the record on.
        elsewhere: Option<String>,
    },
    /// A value has the wrong type.
    WrongType {
        /// What it must be, such as `a whole number`.
        wanted: String,
        /// What it is, such as `a string`.
        found: &'static str,
        /// How to write it instead.
        cure: Option<String>,
    },
    /// A record has not all fields that it needs.
    MissingField {
        /// The field.
        name: &'static str,
        /// The type, such as `core/v1/Container`.
        owner: &'static str,
    },
    /// A value has the right type and cannot be of the format it must be.
    BadValue {
        /// The value, cut off where it is long.
        value: String,
        /// What it must be.
        wanted: String,
    },
    /// A string is none of those that are allowed.
    NotAllowed {
        /// The string, cut off where it is long.
        value: String,
        /// What it may be.
        allowed: Vec<&'static str>,
        /// What was perhaps meant.
        meant: Option<&'static str>,
    },
    /// Two items of a list have the same key.
    SameKey {
        /// The key, such as `name "http"`.
        key: String,
        /// The index of the earlier item.
        first: usize,
    },
    /// An object of a kind without namespaces has one.
    NamespaceOfClusterKind {
        /// The kind.
        kind: &'static str,
    },
    /// A field that the API server fills in, and ignores or refuses when somebody else does.
    ServerField {
        /// What fills it in instead.
        by: &'static str,
    },
    /// Something is nested deeper than any object of Kubernetes.
    TooDeep,
}

/// How many fields or values a hint lists.
const MAX_LISTED: usize = 16;

impl Problem {
    /// The stable code of its documentation page.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownField { .. } => "PM0301",
            Self::WrongType { .. } => "PM0302",
            Self::MissingField { .. } => "PM0303",
            Self::BadValue { .. } => "PM0304",
            Self::NotAllowed { .. } => "PM0305",
            Self::SameKey { .. } => "PM0306",
            Self::NamespaceOfClusterKind { .. } => "PM0308",
            Self::ServerField { .. } => "PM0309",
            Self::TooDeep => "PM0310",
        }
    }

    /// How bad it is: only what the API server ignores is a warning.
    #[must_use]
    pub fn severity(&self) -> Severity {
        if matches!(self, Self::ServerField { .. }) { Severity::Warning } else { Severity::Error }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownField { elsewhere: Some(path), .. } => Some(format!("it belongs at {path}")),
            Self::UnknownField { meant: Some(meant), .. } => Some(format!("did you mean {meant}?")),
            Self::UnknownField { owner, .. } => {
                let names: Vec<&str> = Type::find(owner)?.fields().map(|field| field.name).collect();
                Some(if names.is_empty() {
                    format!("{} has no fields", short(owner))
                } else {
                    format!("{} has {}", short(owner), listed(&names))
                })
            }
            Self::WrongType { cure, .. } => cure.clone(),
            Self::MissingField { .. } | Self::BadValue { .. } | Self::TooDeep => None,
            Self::NotAllowed { meant: Some(meant), .. } => Some(format!("did you mean \"{meant}\"?")),
            Self::NotAllowed { allowed, .. } => Some(format!("it may be {}", listed(allowed))),
            Self::SameKey { .. } => Some("remove one of them, or give it another key".to_owned()),
            Self::NamespaceOfClusterKind { .. } => Some("remove metadata.namespace".to_owned()),
            Self::ServerField { .. } => Some("remove it".to_owned()),
        }
    }

    /// What to say at the place itself.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::UnknownField { owner, .. } => format!("no field of {}", short(owner)),
            Self::WrongType { wanted, .. } => format!("wants {wanted}"),
            Self::MissingField { name, .. } => format!("has no {name}"),
            Self::BadValue { wanted, .. } => wanted.clone(),
            Self::NotAllowed { .. } => "not an allowed value".to_owned(),
            Self::SameKey { first, .. } => format!("has the key of item {first}"),
            Self::NamespaceOfClusterKind { kind } => format!("{kind} has no namespace"),
            Self::ServerField { by } => format!("written by {by}"),
            Self::TooDeep => "nested too deeply".to_owned(),
        }
    }
}

impl Finding {
    /// One sentence: what is wrong, and where.
    #[must_use]
    pub fn message(&self) -> String {
        let place = if self.path.is_empty() { "the object" } else { &self.path };
        match &self.problem {
            Problem::UnknownField { name, owner, .. } => {
                format!("{place}: {} has no field {}", short(owner), quoted(name))
            }
            Problem::WrongType { wanted, found, .. } => format!("{place} is {found}, wants {wanted}"),
            Problem::MissingField { name, owner } => {
                format!("{place}: {} needs the field {name}", short(owner))
            }
            Problem::BadValue { value, wanted } => format!("{place} is {value}: {wanted}"),
            Problem::NotAllowed { value, .. } => format!("{place} is {value}, which is not an allowed value"),
            Problem::SameKey { key, first } => format!("{place} has {key}, as item {first} has"),
            Problem::NamespaceOfClusterKind { kind } => {
                format!("{place} is set, but a {kind} belongs to no namespace")
            }
            Problem::ServerField { by } => format!("{place} is written by {by}, setting it has no effect"),
            Problem::TooDeep => format!("{place} is nested too deeply"),
        }
    }

    /// The diagnostic of this finding, without a place yet.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic {
            severity: self.problem.severity(),
            ..Diagnostic::error(self.problem.code(), self.message())
        };
        diagnostic.hint = self.problem.hint();
        diagnostic
    }
}

fn short(owner: &str) -> &str {
    owner.rsplit('/').next().unwrap_or(owner)
}

fn listed(names: &[&str]) -> String {
    let mut shown = names.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED {
        shown += &format!(" and {} more", names.len() - MAX_LISTED);
    }
    shown
}

/// A text of somebody in a message: quoted, and cut off where it is long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}
