//! The types of expressions.

use crate::crd::schema::{Schema, Type};

/// The type of an expression.
#[derive(Debug, Clone)]
pub(super) enum Kind<'s> {
    /// Known only when the rule is asked: it fits everything.
    Dyn,
    /// Null.
    Null,
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A whole number without a sign.
    Uint,
    /// A number.
    Double,
    /// A string.
    Text,
    /// Bytes.
    Bytes,
    /// A length of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// A list of such.
    List(Box<Kind<'s>>),
    /// A dictionary from such to such.
    Map(Box<Kind<'s>>, Box<Kind<'s>>),
    /// A record with known fields: the schema tells records apart.
    Object(&'s Schema),
    /// A type of the API server's own functions, by name.
    Named(&'static str),
}

impl<'s> Kind<'s> {
    /// The type of a value of a schema; none if rules cannot see it.
    pub(super) fn of(schema: &'s Schema) -> Option<Self> {
        Some(match &schema.of {
            Type::Any => return None,
            Type::String => match schema.format.as_deref() {
                Some("date-time" | "date") => Self::Timestamp,
                Some("duration") => Self::Duration,
                Some("byte") => Self::Bytes,
                _ => Self::Text,
            },
            Type::Integer => Self::Int,
            Type::Number => Self::Double,
            Type::Boolean => Self::Bool,
            Type::IntOrString => Self::Dyn,
            Type::List(items) => Self::List(Box::new(Self::of(items)?)),
            Type::Dictionary(values) => Self::Map(Box::new(Self::Text), Box::new(Self::of(values)?)),
            Type::Record(_) => Self::Object(schema),
        })
    }

    /// What two types have in common, if they are the same.
    pub(super) fn with(&self, other: &Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Dyn, other) | (other, Self::Dyn) => other.clone(),
            // Records and times may be null, plain values may not.
            (Self::Null, other @ (Self::Object(_) | Self::Duration | Self::Timestamp))
            | (other @ (Self::Object(_) | Self::Duration | Self::Timestamp), Self::Null) => other.clone(),
            (Self::List(a), Self::List(b)) => Self::List(Box::new(a.with(b)?)),
            (Self::Map(a, b), Self::Map(c, d)) => Self::Map(Box::new(a.with(c)?), Box::new(b.with(d)?)),
            (Self::Object(a), Self::Object(b)) => return std::ptr::eq(*a, *b).then(|| self.clone()),
            (Self::Named(a), Self::Named(b)) => return (a == b).then(|| self.clone()),
            (a, b) => {
                return (std::mem::discriminant(a) == std::mem::discriminant(b)).then(|| a.clone());
            }
        })
    }

    /// For messages.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Dyn => "anything".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Bool => "a boolean".to_owned(),
            Self::Int => "a whole number".to_owned(),
            Self::Uint => "a whole number without a sign".to_owned(),
            Self::Double => "a number with a fraction".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::Duration => "a duration".to_owned(),
            Self::Timestamp => "a point in time".to_owned(),
            Self::List(of) => format!("a list of {}", of.plain_words()),
            Self::Map(_, of) => format!("a dictionary of {}", of.plain_words()),
            Self::Object(_) => "a record".to_owned(),
            Self::Named(name) => format!("a {name}"),
        }
    }

    fn plain_words(&self) -> String {
        let words = self.words();
        words.strip_prefix("a ").map_or_else(|| words.clone(), |bare| format!("{bare}s"))
    }
}
