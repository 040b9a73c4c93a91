//! Traps: what is legal Nickel and most likely not what its author meant.

mod merges;
mod names;
mod values;

use super::outliner::Outliner;
pub(super) use values::FieldsOfKinds;

pub(super) use names::check as hidden_names;

/// Looks for all of them.
pub(super) fn run(outliner: &mut Outliner<'_>) {
    let mut found = names::check(outliner.trees);
    found.extend(values::check(outliner.trees, &outliner.fields_of_kinds));
    found.extend(merges::check(outliner.trees));
    outliner.diagnostics.extend(found);
}
