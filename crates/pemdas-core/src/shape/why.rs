//! Why a value is not of a shape, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{path::FieldPath, truth::Truth};

/// How many reasons a judgement keeps: the first ones help, a thousand do not.
pub const MAX_REASONS: usize = 8;

/// One reason: what stands there, and what should.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Why {
    /// Where.
    pub path: FieldPath,
    /// What is there, in few characters.
    pub is: String,
    /// What is wanted, in few characters.
    pub wants: String,
}

impl Why {
    /// A reason.
    #[must_use]
    pub fn new(path: FieldPath, is: impl Into<String>, wants: impl Into<String>) -> Self {
        Self { path, is: is.into(), wants: wants.into() }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} is {}, wants {}", self.path, self.is, self.wants)
    }
}

/// Whether a value is of a shape and, unless it is, why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// Whether it is.
    pub truth: Truth,
    /// Why it is not, or why that cannot be said; empty when it is. At most [`MAX_REASONS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Why>,
    /// How many reasons were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Judgement {
    /// It is of the shape.
    #[must_use]
    pub fn holds() -> Self {
        Self { truth: Truth::True, why: Vec::new(), left_out: 0 }
    }

    /// It is not, for this reason.
    #[must_use]
    pub fn fails(why: Why) -> Self {
        Self { truth: Truth::False, why: vec![why], left_out: 0 }
    }

    /// It cannot be said, for this reason.
    #[must_use]
    pub fn unknown(why: Why) -> Self {
        Self { truth: Truth::Unknown, why: vec![why], left_out: 0 }
    }

    /// All of them hold. The reasons are those of what decided: what is false, else what is unknown.
    #[must_use]
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts: Vec<_> = parts.into_iter().collect();
        let truth = parts.iter().fold(Truth::True, |truth, part| truth.and(part.truth));
        Self::of_deciding(truth, parts)
    }

    /// One of them holds. If none does, the reasons of all.
    #[must_use]
    pub fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts: Vec<_> = parts.into_iter().collect();
        let truth = parts.iter().fold(Truth::False, |truth, part| truth.or(part.truth));
        Self::of_deciding(truth, parts)
    }

    fn of_deciding(truth: Truth, parts: Vec<Self>) -> Self {
        let mut result = Self { truth, why: Vec::new(), left_out: 0 };
        if truth == Truth::True {
            return result;
        }
        for part in parts.into_iter().filter(|part| part.truth == truth) {
            result.left_out += part.left_out;
            result.why.extend(part.why);
        }
        result.left_out += result.why.len().saturating_sub(MAX_REASONS);
        result.why.truncate(MAX_REASONS);
        result
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.truth == Truth::True {
            return out.write_str("holds");
        }
        for (index, why) in self.why.iter().enumerate() {
            if index > 0 {
                out.write_str("; ")?;
            }
            write!(out, "{why}")?;
        }
        if self.left_out > 0 {
            write!(out, "; and {} more", self.left_out)?;
        }
        Ok(())
    }
}
