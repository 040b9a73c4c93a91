//! Shapes as data: what a live object, or a field of one, has to look like.
//!
//! A shape is open at every level: it says *at least this*. It is judged here, without the evaluator, and the
//! judgement says why ([`Judgement`]).

mod data;
mod describe;
mod judge;
mod why;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

pub use data::{MAX_SHAPE_DEPTH, MAX_SHAPE_PARTS, SHAPE_TAG, ShapeError};
pub use judge::{Contracts, Live, MAX_ITEMS, NoContracts};
pub use why::{Judgement, MAX_REASONS, Why};

/// What a value has to look like. Applies to a whole object and to a field of one alike.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// It is there.
    Any,
    /// It is not there (or null).
    Absent,
    /// The rules of its kind say that it is ready.
    Ready,
    /// Its condition `Available` is true.
    Available,
    /// Its condition `Complete` is true.
    Complete,
    /// Its condition `Failed` is true, or its phase says so.
    Failed,
    /// `Complete` or `Failed`.
    Finished,
    /// It is bound: a volume, a claim.
    Bound,
    /// It has a condition of this type and status.
    Condition {
        /// The condition's type.
        kind: String,
        /// The status it must have: `True`, `False` or `Unknown`.
        status: String,
        /// The reason it must have, if that matters.
        reason: Option<String>,
    },
    /// A record with at least these fields.
    Has(BTreeMap<String, Shape>),
    /// A list of exactly so many items, each of its shape.
    Items(Vec<Shape>),
    /// Exactly this value.
    Equals(Value),
    /// A number (or quantity) that is not smaller.
    AtLeast(Value),
    /// A number (or quantity) that is not larger.
    AtMost(Value),
    /// A number (or quantity) that is larger.
    MoreThan(Value),
    /// A number (or quantity) that is smaller.
    LessThan(Value),
    /// One of these values.
    OneOf(Vec<Value>),
    /// A string in which this regular expression is found.
    Matches(String),
    /// A list with an item of this shape.
    SomeItem(Box<Shape>),
    /// A list all of whose items have this shape.
    EveryItem(Box<Shape>),
    /// All of these.
    AllOf(Vec<Shape>),
    /// At least one of these.
    AnyOf(Vec<Shape>),
    /// Not this.
    Not(Box<Shape>),
    /// A contract of the blueprint, by its path there: only the evaluator can judge it.
    Contract(Vec<String>),
}

impl Shape {
    /// Whether it speaks of an object that is not there: it names `Absent`, and not only to forbid it.
    #[must_use]
    pub fn names_absence(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::AllOf(shapes) | Self::AnyOf(shapes) => shapes.iter().any(Self::names_absence),
            _ => false,
        }
    }
}
