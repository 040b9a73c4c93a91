//! The syntax of a file as data: for checks that look at how something is written, not at what it means.
//!
//! The nodes lie in one list and name each other by number, so that no depth of nesting can hurt who reads them.

use pemdas_core::diagnostic::Span;
use serde::{Deserialize, Serialize};

/// The number of a node in its [`Syntax`].
pub type NodeId = u32;

/// The syntax of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Syntax {
    /// The outermost expression.
    pub root: NodeId,
    /// All nodes; children come before their parents.
    pub nodes: Vec<Node>,
}

impl Syntax {
    /// A node by its number.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id as usize)
    }
}

/// An expression with its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Where it is written; none for what the parser made up.
    pub span: Option<Span>,
    /// What it is.
    pub expr: Expr,
}

/// A name with its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it is written.
    pub span: Option<Span>,
}

/// The forms of expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expr {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as text.
    Number(String),
    /// A string without interpolation.
    String(String),
    /// A string with interpolation: what it is put together of, plain text too.
    Interpolation(Vec<NodeId>),
    /// A variable.
    Var(String),
    /// `inner.field`.
    Access {
        /// What is read from.
        inner: NodeId,
        /// The field.
        field: Name,
    },
    /// A record literal.
    Record {
        /// Its definitions as written: `a.b = 1` is one with two names.
        fields: Vec<FieldSyntax>,
        /// `include x`.
        includes: Vec<Name>,
        /// The expressions inside the annotations of what is included.
        annotations: Vec<NodeId>,
        /// Whether it ends in `..`.
        open: bool,
    },
    /// An array literal.
    Array(Vec<NodeId>),
    /// `fun a b => body`.
    Function {
        /// Each parameter.
        parameters: Vec<PatternSyntax>,
        /// The body.
        body: NodeId,
    },
    /// `let a = 1, b = 2 in body`.
    Let {
        /// Whether it is `let rec`.
        recursive: bool,
        /// Each binding.
        bindings: Vec<(PatternSyntax, NodeId)>,
        /// The body.
        body: NodeId,
    },
    /// `head argument argument`.
    Call {
        /// The function.
        head: NodeId,
        /// The arguments.
        arguments: Vec<NodeId>,
    },
    /// `if condition then a else b`.
    If {
        /// The condition.
        condition: NodeId,
        /// If it holds.
        then: NodeId,
        /// If not.
        otherwise: NodeId,
    },
    /// `match { pattern => body }`: pattern, guard, body.
    Match(Vec<(PatternSyntax, Option<NodeId>, NodeId)>),
    /// A tag, with an argument or without.
    Enum {
        /// Its name.
        tag: Name,
        /// Its argument.
        argument: Option<NodeId>,
    },
    /// An operator such as `&`, `==` or `record/get`.
    Operator {
        /// Its name.
        name: String,
        /// Its operands.
        operands: Vec<NodeId>,
    },
    /// `inner : Type` or `inner | Contract`.
    Annotated {
        /// What is annotated.
        inner: NodeId,
        /// The expressions inside the annotations.
        annotations: Vec<NodeId>,
        /// Whether each annotation is such an expression, and none a type.
        only_contracts: bool,
    },
    /// `import "file"`.
    Import(String),
    /// A type used as an expression, with the expressions inside it; its text is at the span.
    Type(Vec<NodeId>),
}

/// A definition in a record literal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldSyntax {
    /// The names on the left, a computed one is none.
    pub path: Vec<Option<Name>>,
    /// The expressions of computed names.
    pub computed: Vec<NodeId>,
    /// Where the whole definition is written.
    pub span: Option<Span>,
    /// The value.
    pub value: Option<NodeId>,
    /// The expressions inside its annotations.
    pub annotations: Vec<NodeId>,
    /// Whether it has a type or a contract, be it one without an expression inside such as `Number`.
    pub annotated: bool,
    /// Whether it is `optional`.
    pub optional: bool,
    /// Whether it has a priority of its own: `default`, `force`, or a number.
    pub ranked: bool,
    /// Whether it is `not_exported`: no part of the result.
    pub not_exported: bool,
}

/// A pattern: what it binds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatternSyntax {
    /// Where it is written.
    pub span: Option<Span>,
    /// The name, if the pattern is just a name.
    pub name: Option<String>,
    /// All names that it binds.
    pub binds: Vec<Name>,
    /// What it takes out of a record, if it does.
    pub takes: Option<TakenFields>,
    /// Whether it is `_`: nothing is looked at.
    pub ignores: bool,
    /// Whether what it stands for in a `let` has a type or a contract.
    pub annotated: bool,
    /// The expressions inside: defaults and annotations of destructured fields.
    pub inner: Vec<NodeId>,
}

/// The fields that a pattern takes out of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TakenFields {
    /// The fields that have to be there.
    pub needed: Vec<Name>,
    /// All fields that it names.
    pub named: Vec<String>,
    /// Whether there may be others.
    pub open: bool,
    /// The fields that become a name and no more than that: field and name. All others are taken apart further, or annotated.
    pub bound: Vec<(String, String)>,
    /// Whether the record as a whole, or what is left of it, has a name too.
    pub whole: bool,
}
