//! Selectors that are the same for every instance: two instances in one namespace would select each other's pods.

use pemdas_core::{
    blueprint::{Blueprint, Body, NamePart, NameSegment, Node, RootTarget},
    diagnostic::{Diagnostic, Span},
    kube_types::template_tree::{Form, Tree},
};

use super::{
    codes,
    outliner::{Outliner, Spot},
};

/// Kinds that run the pods they select.
const WORKLOADS: &[&str] = &["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"];
/// Kinds that select pods of others, and where they say which.
const PICKERS: &[(&str, &[&str])] = &[
    ("Service", &["spec", "selector"]),
    ("PodDisruptionBudget", &["spec", "selector", "matchLabels"]),
    ("NetworkPolicy", &["spec", "podSelector", "matchLabels"]),
];

type Labels<'a> = Vec<(&'a str, &'a str)>;

/// Looks at every selector.
pub(super) fn run(outliner: &mut Outliner<'_>, blueprint: &Blueprint) {
    if !has_many_instances(blueprint) {
        return;
    }
    let trees: Vec<(&str, &Node, Tree)> = blueprint
        .nodes
        .iter()
        .filter(|(_, node)| is_per_instance(node))
        .filter_map(|(name, node)| Some((&**name, node, tree(outliner, name, node)?)))
        .collect();
    let pods: Vec<Labels<'_>> = trees
        .iter()
        .filter(|(_, node, _)| kind(node).is_some_and(|it| WORKLOADS.contains(&it)))
        .filter_map(|it| at(&it.2, &["spec", "template", "metadata", "labels"]).map(known))
        .collect();
    let mut found = Vec::new();
    for (name, node, tree) in &trees {
        let Some(kind) = kind(node) else { continue };
        let selector = match PICKERS.iter().find(|it| it.0 == kind) {
            // What it selects may be of somebody else, who knows how many there are.
            Some((_, path)) => at(tree, path).filter(|it| {
                let wanted = known(it);
                pods.iter().any(|pod| wanted.iter().all(|label| pod.contains(label)))
            }),
            None if WORKLOADS.contains(&kind) => at(tree, &["spec", "selector", "matchLabels"]),
            None => None,
        };
        if let Some(selector) = selector.filter(|it| is_fixed(it)) {
            found.push(
                Diagnostic::warning(
                    codes::SHARED_PODS,
                    format!("the selector of `{name}` is the same for every instance"),
                )
                .at(
                    place(selector).unwrap_or_else(|| node.span.clone()),
                    "selects the pods of every instance in the namespace",
                )
                .hint("put the name of the root into a label of the selector and of the pods, as `labels_of` does"),
            );
        }
    }
    outliner.diagnostics.extend(found);
}

/// Whether there may be several instances in one namespace.
fn has_many_instances(blueprint: &Blueprint) -> bool {
    blueprint.nodes.values().any(|node| match &node.body {
        Body::Root(root) => match &root.target {
            RootTarget::Owned(_) => true,
            // Each is a namespace of its own.
            RootTarget::Foreign { kind, .. } => kind != "Namespace",
            RootTarget::Blueprint => false,
        },
        _ => false,
    })
}

/// Whether each instance makes its own object, in a namespace that instances may share. `PM0124` warns of an object that all share.
fn is_per_instance(node: &Node) -> bool {
    let fixed = |part: &NamePart| match part {
        NamePart::Missing => true,
        NamePart::Computed(_) => false,
        NamePart::Pattern(all) => all.iter().all(|it| matches!(it, NameSegment::Text(_))),
    };
    node.state_of.is_none() && node.body.identity().is_some_and(|it| !fixed(&it.name) && fixed(&it.namespace))
}

fn kind(node: &Node) -> Option<&str> {
    node.body.identity()?.kind.known()
}

fn tree(outliner: &Outliner<'_>, name: &str, node: &Node) -> Option<Tree> {
    let Body::Template(template) = &node.body else { return None };
    let spot = Spot::root().field("nodes").field(name).field("template");
    outliner.written(&spot, &template.function.span)
}

fn at<'t>(tree: &'t Tree, path: &[&str]) -> Option<&'t Tree> {
    path.iter().try_fold(tree, |tree, name| tree.field(name))
}

/// Where a selector is written: as a record, or as the path of its only label.
fn place(selector: &Tree) -> Option<Span> {
    let Form::Record { fields, .. } = &selector.form else { return selector.span.clone() };
    let of_label = || fields.first().and_then(|it| it.value.span.clone().or_else(|| it.span.clone()));
    selector.span.clone().or_else(of_label)
}

/// The labels that are written down as they are.
fn known(labels: &Tree) -> Labels<'_> {
    let Form::Record { fields, .. } = &labels.form else { return Vec::new() };
    fields.iter().filter_map(|it| Some((it.name.as_str(), it.value.as_text()?))).collect()
}

/// Whether a selector is written down as a whole, and nothing in it depends on the instance.
fn is_fixed(labels: &Tree) -> bool {
    let Form::Record { fields, complete: true } = &labels.form else { return false };
    !fields.is_empty() && fields.iter().all(|it| it.value.as_text().is_some())
}
