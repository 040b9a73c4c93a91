//! Rules about several fields, or about the change of one: as an author means them, and as the API server runs them.

use serde_json::Value;

use crate::diagnostic::Span;

/// A rule as the API server evaluates it: an entry of `x-kubernetes-validations`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CelRule {
    /// The expression, true for what is allowed.
    pub rule: String,
    /// What is said to whom it refuses.
    pub message: Option<String>,
    /// An expression that yields the message.
    pub message_expression: Option<String>,
    /// The kind of refusal.
    pub reason: Option<Reason>,
    /// The field that the refusal is about, from where the rule stands.
    pub field_path: Option<String>,
    /// Whether the rule is asked on creation as well, with no old value.
    pub optional_old_self: bool,
}

/// The kinds of refusal that the API server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The value is not allowed.
    Invalid,
    /// The value is not allowed here.
    Forbidden,
    /// The value is missing.
    Required,
    /// The value is there twice.
    Duplicate,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Invalid, Self::Forbidden, Self::Required, Self::Duplicate];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Forbidden => "FieldValueForbidden",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
        }
    }

    /// The reason of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// A rule as an author means it.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// What it relates, and how.
    pub relation: Relation,
    /// The author's message.
    pub message: Option<String>,
    /// The author's reason.
    pub reason: Option<Reason>,
    /// The field that a refusal is about.
    pub field_path: Option<String>,
    /// Where the rule is written.
    pub span: Option<Span>,
}

/// The relations that rules are made of. Paths of fields have dots between their names.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// Each of these numbers is at most the next one that is given.
    Ordered(Vec<String>),
    /// Exactly one of these fields is given.
    ExactlyOneOf(Vec<String>),
    /// At most one of these fields is given.
    AtMostOneOf(Vec<String>),
    /// At least one of these fields is given.
    AtLeastOneOf(Vec<String>),
    /// All of these fields are given, or none.
    Together(Vec<String>),
    /// Where all of these fields have these values, those are given.
    RequiredWhen(Vec<(String, Value)>, Vec<String>),
    /// Where all of these fields have these values, those are not given.
    ForbiddenWhen(Vec<(String, Value)>, Vec<String>),
    /// Once given, the value stays as it is.
    Immutable,
    /// The value never becomes less: a number, an amount; and of a list nothing is taken away.
    GrowOnly,
    /// An expression of the author's.
    Cel {
        /// The expression.
        rule: String,
        /// Whether the author gave the contract's side of it.
        checked: bool,
    },
}

impl Relation {
    /// Whether it is about the change of a value.
    #[must_use]
    pub fn is_about_change(&self) -> bool {
        match self {
            Self::Immutable | Self::GrowOnly => true,
            Self::Cel { rule, .. } => rule.contains("oldSelf"),
            _ => false,
        }
    }

    /// The rule in words, for reports.
    #[must_use]
    pub fn words(&self) -> String {
        let listed = |names: &[String]| names.join(", ");
        let when = |tests: &[(String, Value)]| {
            tests.iter().map(|(name, value)| format!("{name} is {value}")).collect::<Vec<_>>().join(" and ")
        };
        match self {
            Self::Ordered(names) => format!("{} in this order", names.join(" <= ")),
            Self::ExactlyOneOf(names) => format!("exactly one of {}", listed(names)),
            Self::AtMostOneOf(names) => format!("at most one of {}", listed(names)),
            Self::AtLeastOneOf(names) => format!("at least one of {}", listed(names)),
            Self::Together(names) => format!("all or none of {}", listed(names)),
            Self::RequiredWhen(tests, names) => format!("{} required when {}", listed(names), when(tests)),
            Self::ForbiddenWhen(tests, names) => {
                format!("{} not allowed when {}", listed(names), when(tests))
            }
            Self::Immutable => "cannot be changed once it is set".to_owned(),
            Self::GrowOnly => "may grow, not shrink".to_owned(),
            Self::Cel { rule, .. } => format!("the rule `{rule}`"),
        }
    }
}
