//! The structure of a contract, as far as it has one that data can say.

use pemdas_core::diagnostic::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a contract says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contract {
    /// The form.
    pub form: Form,
    /// Where it is written, if it is written in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// What it answers when it is asked for its schema, keyword by keyword; none of a contract that does not know the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Vec<(String, Argument)>>,
}

/// The forms of contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Anything at all.
    Any,
    /// A string.
    String,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// An array of such elements.
    Array(Box<Contract>),
    /// A record with any names and such values.
    Dictionary(Box<Contract>),
    /// A record with these fields.
    Record {
        /// The fields in the order of their names.
        fields: Vec<FieldContract>,
        /// Whether other fields are allowed.
        open: bool,
    },
    /// One of these tags; an argument has a contract of its own.
    Enum(Vec<(String, Option<Contract>)>),
    /// A function.
    Function,
    /// All of these at once.
    All(Vec<Contract>),
    /// Exactly this value: a field of a record contract that has a value.
    Exactly(Value),
    /// A contract known by its name in the library, such as `Port` or `OneOf ["a", "b"]`: its meaning is the library's documentation.
    Library {
        /// The name.
        name: String,
        /// What it was made with, if it is a function of the library.
        arguments: Vec<Argument>,
    },
    /// A contract that can only be applied: a predicate, a validator, a computed contract. With the name it was used by, if there is one.
    Opaque(Option<String>),
    /// Deeper than anybody wants to look, or a contract that contains itself.
    Deeper,
}

/// An argument of a contract of the library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// Data.
    Data(Value),
    /// A contract, such as in `Nullable String`.
    Contract(Contract),
}

/// A field of a record contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldContract {
    /// The name.
    pub name: String,
    /// What its value must be.
    pub contract: Contract,
    /// Whether it may be missing.
    pub optional: bool,
    /// The value it has if it is missing, as far as it can be had without an object.
    pub default: Option<Value>,
    /// Why its default cannot be had: it is no data, does not fit, or needs a field that has no value yet.
    pub default_fails: Option<String>,
    /// Whether the contract holds a value for it, so that an object without it gets that: `a = { b | Number | default = 1 }`.
    #[serde(default)]
    pub given: bool,
    /// Its documentation.
    pub doc: Option<String>,
    /// Where the field is written.
    pub span: Option<Span>,
}
