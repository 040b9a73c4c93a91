//! Templates that say how many replicas there are of what another node of the blueprint scales: the autoscaler and the template would
//! take the number from each other.

use pemdas_core::{
    blueprint::{Blueprint, Body, Conflict, Node},
    diagnostic::{Diagnostic, Span},
    kube_types::template_tree::{Form, Tree},
};

use super::{
    codes,
    outliner::{Outliner, Spot},
};

/// What an autoscaler scales, as far as it is written down.
struct Scaler<'a> {
    node: &'a str,
    kind: String,
    name: Name,
    span: Span,
}

/// A name: its literal text, or how it is written.
#[derive(PartialEq)]
struct Name {
    literal: Option<String>,
    written: Option<String>,
}

impl Name {
    /// Whether two names are the same, if that can be told.
    fn is(&self, other: &Self) -> Option<bool> {
        if let (Some(one), Some(other)) = (&self.literal, &other.literal) {
            return Some(one == other);
        }
        (self.written.is_some() && self.written == other.written).then_some(true)
    }
}

/// Looks at every node that an autoscaler of the blueprint means.
pub(super) fn run(outliner: &mut Outliner<'_>, blueprint: &Blueprint) {
    let trees: Vec<(&str, &Node, Tree)> = blueprint
        .nodes
        .iter()
        .filter_map(|(name, node)| Some((&**name, node, tree(outliner, name, node)?)))
        .collect();
    let scalers: Vec<_> =
        trees.iter().filter_map(|(name, node, tree)| scaler(outliner, name, node, tree)).collect();
    let mut found = Vec::new();
    for scaler in &scalers {
        let of_kind = || trees.iter().filter(|(_, node, _)| is_of_kind(node, &scaler.kind));
        let alone = of_kind().count() == 1;
        for (name, node, tree) in of_kind() {
            let own = all(tree, &["metadata", "name"]);
            let same = own.first().and_then(|it| named(outliner, it).is(&scaler.name));
            let meant = same.unwrap_or(alone);
            let numbers = all(tree, &["spec", "replicas"]);
            let number = numbers.iter().find(|it| it.form != Form::Null);
            if let Some(number) = number.filter(|_| meant && node.conflict == Conflict::Fail) {
                found.push(problem(name, node, number, scaler));
            }
        }
    }
    outliner.diagnostics.extend(found);
}

fn problem(name: &str, node: &Node, number: &Tree, scaler: &Scaler<'_>) -> Diagnostic {
    let by = scaler.node;
    Diagnostic::warning(codes::AUTOSCALED, format!("`{name}` sets `spec.replicas`, and `{by}` scales it"))
        .at(
            number.span.clone().unwrap_or_else(|| node.span.clone()),
            "counts until the autoscaler has set another number",
        )
        .see(scaler.span.clone(), "it is scaled here")
        .hint("leave `replicas` out of the template: the autoscaler sets it")
}

/// What is written as the template of a node that makes an object; a patch of a state is passed on the way.
fn tree(outliner: &Outliner<'_>, name: &str, node: &Node) -> Option<Tree> {
    let Body::Template(template) = &node.body else { return None };
    let spot = Spot::root().field("nodes").field(name).field("template");
    node.state_of.is_none().then(|| outliner.written(&spot, &template.function.span))?
}

fn is_of_kind(node: &Node, kind: &str) -> bool {
    node.body.identity().and_then(|it| it.kind.known()).is_some_and(|it| it == kind)
}

fn scaler<'a>(outliner: &Outliner<'_>, node: &'a str, of: &Node, tree: &Tree) -> Option<Scaler<'a>> {
    let group = of.body.identity()?.api_version.known()?.split('/').next()?;
    let keda = group == "keda.sh" && is_of_kind(of, "ScaledObject");
    let horizontal = group == "autoscaling" && is_of_kind(of, "HorizontalPodAutoscaler");
    if !(keda || horizontal) {
        return None;
    }
    let kind = match all(tree, &["spec", "scaleTargetRef", "kind"]).first() {
        Some(kind) => kind.as_text()?.to_owned(),
        None if keda => "Deployment".to_owned(),
        None => return None,
    };
    let name = *all(tree, &["spec", "scaleTargetRef", "name"]).first()?;
    let span = name.span.clone().unwrap_or_else(|| of.span.clone());
    Some(Scaler { node, kind, name: named(outliner, name), span })
}

fn named(outliner: &Outliner<'_>, name: &Tree) -> Name {
    let written = name.span.as_ref().and_then(|it| outliner.trees.text(it));
    let written = written.map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
    Name { literal: name.as_text().map(str::to_owned), written }
}

/// What stands at a path, in each of the forms that a template may take.
fn all<'t>(tree: &'t Tree, path: &[&str]) -> Vec<&'t Tree> {
    let Some((first, rest)) = path.split_first() else { return vec![tree] };
    match &tree.form {
        Form::Either(branches) => branches.iter().flat_map(|it| all(it, path)).collect(),
        _ => tree.field(first).map(|it| all(it, rest)).unwrap_or_default(),
    }
}
