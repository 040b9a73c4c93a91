//! Traps: what is legal Nickel and most likely not what its author meant.

use pemdas_core::blueprint::Blueprint;

use super::outliner::Outliner;

/// Looks for all of them.
pub(super) fn run(_outliner: &mut Outliner<'_>, _blueprint: Option<&Blueprint>) {}
