//! Conversions between versions.

use pemdas_core::blueprint::Blueprint;
use pemdas_core::diagnostic::Diagnostic;

use crate::evaluator::Evaluator;

/// Checks the conversions between the versions of all kinds.
pub fn check(_evaluator: &dyn Evaluator, _blueprint: &Blueprint) -> Vec<Diagnostic> {
    Vec::new()
}
