//! What is checked: a JSON value, or the syntax of a template. Both answer the same questions.

use serde_json::{Number, Value};

/// A value, or what can be said of one before it is computed.
pub(crate) trait Node<'a>: Copy + 'a {
    /// Where it is written.
    type Mark: Clone;

    /// What it is.
    fn form(self) -> Form<'a, Self>;
    /// Where it is written.
    fn mark(self) -> Self::Mark;
    /// Whether it is null, which is as good as missing.
    fn is_null(self) -> bool;
}

/// What a node is.
pub(crate) enum Form<'a, N: Node<'a>> {
    /// Computed: nothing is known of it.
    Unknown,
    Null,
    Boolean,
    /// A number, if it is known which.
    Number(Option<&'a Number>),
    /// A string, if it is known which.
    Text(Option<&'a str>),
    Function,
    List(Box<dyn Iterator<Item = N> + 'a>),
    Record {
        entries: Box<dyn Iterator<Item = Entry<'a, N>> + 'a>,
        /// Whether these are all fields.
        complete: bool,
    },
    /// One of these, which one depends.
    Alternatives(Box<dyn Iterator<Item = N> + 'a>),
}

/// A field of a record.
pub(crate) struct Entry<'a, N: Node<'a>> {
    pub(crate) name: &'a str,
    /// Where the name is written.
    pub(crate) mark: N::Mark,
    pub(crate) value: N,
}

impl<'a> Node<'a> for &'a Value {
    type Mark = ();

    fn form(self) -> Form<'a, Self> {
        match self {
            Value::Null => Form::Null,
            Value::Bool(_) => Form::Boolean,
            Value::Number(number) => Form::Number(Some(number)),
            Value::String(text) => Form::Text(Some(text)),
            Value::Array(items) => Form::List(Box::new(items.iter())),
            Value::Object(fields) => Form::Record {
                entries: Box::new(fields.iter().map(|(name, value)| Entry { name, mark: (), value })),
                complete: true,
            },
        }
    }

    fn mark(self) -> Self::Mark {}

    fn is_null(self) -> bool {
        Value::is_null(self)
    }
}

impl<'a, N: Node<'a>> Form<'a, N> {
    /// What it is, for a message.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Form::Unknown | Form::Alternatives(_) => "a computed value",
            Form::Null => "null",
            Form::Boolean => "a boolean",
            Form::Number(_) => "a number",
            Form::Text(_) => "a string",
            Form::Function => "a function",
            Form::List(_) => "a list",
            Form::Record { .. } => "a record",
        }
    }
}
