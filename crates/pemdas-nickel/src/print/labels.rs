//! Labels that objects share, as functions of the root.

use pemdas_core::import::{Expression, Labels, What, Which};

use super::{Printer, reads};

/// What templates call.
pub(super) fn name(which: Which) -> &'static str {
    match which {
        Which::Selecting => "selector_labels",
        Which::Common => "common_labels",
    }
}

/// The functions, one for each group of labels that there is.
pub(super) fn functions(labels: &Labels) -> String {
    let printer = Printer { argument: "the".to_owned() };
    let function = |which: Which, what: What| {
        let argument = if reads(&plain(what.clone())) { "the" } else { "_the" };
        format!("let {} = fun {argument} => {} in\n", name(which), printer.block(&what, 0))
    };
    let Labels { selecting, common } = labels;
    if common.is_empty() {
        return String::new();
    }
    if selecting.is_empty() {
        let said = "# Labels that the objects share. Selectors cannot be changed while an instance lives.\n";
        return said.to_owned() + &function(Which::Common, What::Record(common.clone()));
    }
    let more: Vec<(String, Expression)> =
        common.iter().filter(|it| !selecting.iter().any(|other| other.0 == it.0)).cloned().collect();
    format!(
        "# What selectors have: it cannot be changed while an instance lives.\n{}# Labels that the objects share.\n{}",
        function(Which::Selecting, What::Record(selecting.clone())),
        function(Which::Common, What::Labels(Which::Selecting, more)),
    )
}

fn plain(what: What) -> Expression {
    Expression { what, above: Vec::new(), beside: None }
}
