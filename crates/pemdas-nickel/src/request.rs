//! What an evaluator is asked and what it answers: plain data, so that it can cross a process border.

use std::collections::BTreeMap;

use pemdas_core::diagnostic::{Diagnostic, Span};
use pemdas_core::evaluate::{Answer as Rendered, Form};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codes;
use crate::contract::Contract;
use crate::limits::Size;
use crate::sources::MAIN;
use crate::syntax::Syntax;

/// Where a value is: from the value of a file, through fields, elements and calls.
///
/// It is both the address and the handle of a function: evaluators remember what they found at a place without calls, so that
/// the second use costs nothing, and a place stays valid when a worker is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// A file of the blueprint or the library.
    pub file: String,
    /// The way from the file's value.
    pub steps: Vec<Step>,
}

/// One step of a [`Place`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Into a field of a record.
    Field(String),
    /// Into an element of an array.
    Index(usize),
    /// Call the function with these arguments.
    Call(Vec<Input>),
}

impl Place {
    /// The value of the blueprint itself.
    #[must_use]
    pub fn root() -> Self {
        Self { file: MAIN.to_owned(), steps: Vec::new() }
    }

    /// The value of another file, of the blueprint or the library.
    #[must_use]
    pub fn file(name: impl Into<String>) -> Self {
        Self { file: name.into(), steps: Vec::new() }
    }

    /// Fields below the value of the blueprint: `Place::at(["nodes", "app"])`.
    #[must_use]
    pub fn at<S: Into<String>>(fields: impl IntoIterator<Item = S>) -> Self {
        fields.into_iter().fold(Self::root(), Self::field)
    }

    /// A field of the value here.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>) -> Self {
        self.steps.push(Step::Field(name.into()));
        self
    }

    /// An element of the array here.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.steps.push(Step::Index(index));
        self
    }

    /// The result of the function here.
    #[must_use]
    pub fn call(mut self, arguments: impl IntoIterator<Item = Input>) -> Self {
        self.steps.push(Step::Call(arguments.into_iter().collect()));
        self
    }
}

/// An argument of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Plain data.
    Json(Value),
    /// A record of which some parts are not data.
    Record(BTreeMap<String, Input>),
    /// A value that nobody can know yet: reading it is [`Failure::Poisoned`], with this name.
    Poison(String),
}

impl From<Value> for Input {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

/// What an evaluator can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Evaluate a place fully, to JSON: [`Answer::Json`].
    Evaluate {
        /// What.
        place: Place,
    },
    /// Evaluate only some fields of a place, each alone, fully: [`Answer::Selected`] in the order asked.
    Select {
        /// The record, usually the result of a call.
        place: Place,
        /// The fields, each a path of names.
        fields: Vec<Vec<String>>,
    },
    /// Apply the contract at a place to a value: [`Answer::Json`], the value with defaults filled.
    Check {
        /// The contract.
        contract: Place,
        /// The value.
        value: Value,
    },
    /// Look at a place without evaluating what is inside: [`Answer::Seen`].
    Look {
        /// What.
        place: Place,
    },
    /// The structure of the contract at a place: [`Answer::Contract`].
    Describe {
        /// The contract.
        place: Place,
    },
    /// The syntax of the blueprint's own files: [`Answer::Syntax`].
    Syntax,
    /// Many functions at once, each on its own argument and with its own fuel, in the time of one request:
    /// [`Answer::Rendered`].
    Render {
        /// What is asked, in the order of the answers.
        calls: Vec<RenderCall>,
    },
}

/// One function of a [`Request::Render`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderCall {
    /// The fields that lead to the function or contract from the blueprint; a number leads into a list.
    pub path: Vec<String>,
    /// What of it is asked.
    pub form: Form,
    /// Its argument.
    pub input: Value,
}

/// What an evaluator answers, by kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A value.
    Json(Value),
    /// One result for each field asked for.
    Selected(Vec<Result<Value, Failure>>),
    /// What is at a place.
    Seen(Box<Seen>),
    /// What a contract says.
    Contract(Box<Contract>),
    /// The syntax of each file.
    Syntax(BTreeMap<String, Syntax>),
    /// What the first calls gave, at least one: the time may have ended before the last. Their texts quote no data.
    Rendered(Vec<Rendered>),
}

/// The kinds of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Null.
    Null,
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// A tag such as `'Whole`, with or without an argument.
    Enum,
    /// An array.
    Array,
    /// A record; also a record contract.
    Record,
    /// A function, or an old-style contract that is one.
    Function,
    /// A contract made by `std.contract.custom`, `from_predicate` and their like.
    Contract,
    /// A type used as a value, such as `String` or `Array Number`.
    Type,
    /// Anything else.
    Other,
}

/// What is at a place, one level deep. Nothing inside has been evaluated for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The kind of value.
    pub kind: Kind,
    /// Where the value is written, if it is written in a file.
    pub span: Option<Span>,
    /// Of a record: its fields in the order of their names; fields that are only declared are here too.
    #[serde(default)]
    pub fields: Vec<FieldSeen>,
    /// Of a record: whether it ends in `..`.
    #[serde(default)]
    pub open: bool,
    /// Of an array: how many elements it has.
    pub length: Option<usize>,
    /// Of a tag: its name.
    pub tag: Option<String>,
    /// Of null, booleans, numbers and strings: the value.
    pub scalar: Option<Value>,
}

/// A field of a record that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldSeen {
    /// The name.
    pub name: String,
    /// Where the name is written.
    pub span: Option<Span>,
    /// Where the value is written.
    pub value_span: Option<Span>,
    /// Whether it has a value.
    pub defined: bool,
    /// Whether it is `optional`.
    pub optional: bool,
    /// Whether its value is only a `default`.
    pub default: bool,
    /// Whether it is left out of JSON.
    pub not_exported: bool,
    /// Its documentation.
    pub doc: Option<String>,
}

/// Why a worker was stopped, or stopped itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kill {
    /// It took too long.
    Time,
    /// It wanted too much memory.
    Memory,
    /// It broke off: a stack that overflowed, or a fault of the evaluator.
    Crash,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The program is at fault. The same question will always fail so.
    Failed {
        /// At least one.
        diagnostics: Vec<Diagnostic>,
    },
    /// Something was read that cannot be known here.
    Poisoned {
        /// The name of the [`Input::Poison`].
        what: String,
        /// Where it was read.
        span: Option<Span>,
    },
    /// The program took more steps than allowed: a verdict on the program, not worth a retry.
    FuelExhausted {
        /// How many it had.
        fuel: u64,
    },
    /// Something passed a limit on size: a verdict as well.
    TooLarge {
        /// What.
        what: Size,
        /// The limit.
        limit: u64,
    },
    /// The evaluation was stopped from outside. Nothing is known about the program; a retry may succeed.
    Killed {
        /// Why.
        why: Kill,
    },
    /// There was no evaluation: too many wait already, or no worker can be started.
    Unavailable {
        /// Why.
        reason: String,
    },
}

impl Failure {
    /// A failure with one diagnostic.
    #[must_use]
    pub fn of(diagnostic: Diagnostic) -> Self {
        Self::Failed { diagnostics: vec![diagnostic] }
    }

    /// Whether the same question may get another answer later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Killed { .. } | Self::Unavailable { .. })
    }

    /// The failure in the words of diagnostics; never empty.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Failed { diagnostics } if !diagnostics.is_empty() => diagnostics.clone(),
            Self::Failed { .. } => vec![Diagnostic::error(codes::EVALUATION, "the evaluation failed")],
            Self::Poisoned { what, span } => {
                let message = format!("{what} is read where it cannot be known yet");
                let diagnostic = Diagnostic::error(codes::UNKNOWABLE, message);
                vec![match span {
                    Some(span) => diagnostic.at(span.clone(), "read here"),
                    None => diagnostic,
                }]
            }
            Self::FuelExhausted { fuel } => vec![
                Diagnostic::error(codes::FUEL, format!("the evaluation takes more than {fuel} steps"))
                    .hint("look for a function that calls itself without end, or for work that grows with the square of its input"),
            ],
            Self::TooLarge { what, limit } => vec![too_large(*what, *limit)],
            Self::Killed { why } => vec![killed(*why)],
            Self::Unavailable { reason } => {
                vec![Diagnostic::error(codes::UNAVAILABLE, format!("no evaluator is available: {reason}"))]
            }
        }
    }
}

fn too_large(what: Size, limit: u64) -> Diagnostic {
    let message = match what {
        Size::Sources => format!("the blueprint's files have more than {limit} bytes"),
        Size::Files => format!("the blueprint has more than {limit} files"),
        Size::Input => format!("an input has more than {limit} bytes"),
        Size::Output => format!("a result has more than {limit} bytes"),
        Size::Depth => format!("values or expressions are nested more than {limit} deep"),
        Size::Comments => format!("more than {limit} lines of comments follow one another"),
    };
    Diagnostic::error(codes::TOO_LARGE, message)
}

fn killed(why: Kill) -> Diagnostic {
    let message = match why {
        Kill::Time => "the evaluation took too long and was stopped",
        Kill::Memory => "the evaluation wanted too much memory and was stopped",
        Kill::Crash => "the evaluator broke off",
    };
    Diagnostic::error(codes::KILLED, message)
        .note("nothing is known about the program: the same evaluation may succeed at another time")
}
