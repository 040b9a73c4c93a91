//! The check of templates, and of all kinds that a blueprint names, against the types of Kubernetes.

use pemdas_core::blueprint::{Blueprint, Body, Node, ObjectIdentity, RootTarget};
use pemdas_core::diagnostic::Span;
use pemdas_core::kube_types::Purpose;
use pemdas_core::kube_types::template_tree::{Form, Tree, check, check_named, unknown_kind};

use super::outliner::{Outliner, Spot};
use super::template_tree;

/// Looks at every node.
pub(super) fn run(outliner: &mut Outliner<'_>, blueprint: &Blueprint) {
    for (name, node) in &blueprint.nodes {
        let spot = Spot::root().field("nodes").field(name);
        match &node.body {
            Body::Template(template) => {
                let (object, purpose) = described(blueprint, node, &template.object);
                outliner.template(&spot.field("template"), object, &template.function.span, purpose);
            }
            Body::Observe(observe) => outliner.served_kind(&observe.object, &observe.function.span),
            Body::Absent(absent) => outliner.served_kind(&absent.object, &absent.function.span),
            Body::Root(root) => {
                if let RootTarget::Foreign { api_version, kind, .. } = &root.target {
                    let span = outliner.value_span_of(&spot.field("root").path);
                    outliner.diagnostics.extend(unknown_kind(api_version, kind, Some(&span), Some(&span)));
                }
            }
            Body::Value(_) => {}
        }
    }
}

/// The identity that says the kind of a template: its own, or for the patch of a state that of the named node.
fn described<'b>(
    blueprint: &'b Blueprint,
    node: &'b Node,
    own: &'b ObjectIdentity,
) -> (&'b ObjectIdentity, Purpose) {
    match node.state_of.as_ref().and_then(|name| blueprint.nodes.get(name)) {
        Some(Node { body: Body::Template(template), .. }) => (&template.object, Purpose::Patch),
        _ if node.state_of.is_some() => (own, Purpose::Patch),
        _ => (own, Purpose::Apply),
    }
}

impl Outliner<'_> {
    fn template(&mut self, spot: &Spot, object: &ObjectIdentity, function: &Span, purpose: Purpose) {
        let Some(tree) = self.written(spot, function) else {
            // Made by something that cannot be followed: its kind may be known all the same.
            return self.served_kind(object, function);
        };
        let found = match (object.api_version.known(), object.kind.known()) {
            (Some(api_version), Some(kind)) => check_named(&tree, api_version, kind, purpose),
            // The evaluator could not tell, perhaps because of a contract on the template: what is written may.
            _ => check(&tree, purpose),
        };
        self.diagnostics.extend(found);
    }

    /// What is written as a template: the body of a function, or the object itself.
    pub(super) fn written(&self, spot: &Spot, function: &Span) -> Option<Tree> {
        if let Some(literal) = self.literal_of(spot, Some(function)) {
            return Some(template_tree::of_function(self.trees, literal));
        }
        let tree = template_tree::of_value(self.trees, self.trees.value_of(&spot.path)?);
        matches!(tree.form, Form::Record { .. } | Form::Either(_)).then_some(tree)
    }

    /// The role that a binding always binds, as far as that is written down.
    pub(super) fn role_of(&self, spot: &Spot, function: &Span) -> Option<(String, String)> {
        let tree = self.written(spot, function)?;
        let role = tree.field("roleRef")?;
        Some((role.field("kind")?.as_text()?.to_owned(), role.field("name")?.as_text()?.to_owned()))
    }

    fn served_kind(&mut self, object: &ObjectIdentity, place: &Span) {
        let (Some(api_version), Some(kind)) = (object.api_version.known(), object.kind.known()) else {
            return;
        };
        self.diagnostics.extend(unknown_kind(api_version, kind, Some(place), Some(place)));
    }
}
