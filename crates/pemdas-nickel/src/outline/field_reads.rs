//! Which fields of a record are computed from others, as the text has it: for who wants to know whether a default or a
//! contract is the same for every object.

use pemdas_core::diagnostic::Span;

use super::scopes::{Binding, Scopes, children};
use super::trees::Trees;
use crate::kinds::{Around, FieldRead};
use crate::syntax::{Expr, NodeId, Syntax};

/// Every read of a field of a record by what stands in that record.
pub(super) fn of(trees: &Trees<'_>) -> Vec<FieldRead> {
    let mut found = Vec::new();
    for (_, tree, scopes) in trees.each() {
        let mut walker = Walker { tree, scopes, within: Vec::new(), found: &mut found };
        walker.visit(tree.root);
    }
    found
}

struct Walker<'a> {
    tree: &'a Syntax,
    scopes: &'a Scopes,
    /// The fields around, from the outside in.
    within: Vec<Around>,
    found: &'a mut Vec<FieldRead>,
}

impl Walker<'_> {
    fn visit(&mut self, id: NodeId) {
        let Some(node) = self.tree.get(id) else { return };
        match &node.expr {
            Expr::Var(name) => self.read(id, name),
            Expr::Record { fields, annotations, .. } => {
                annotations.iter().for_each(|part| self.visit(*part));
                for field in fields {
                    field.computed.iter().for_each(|part| self.visit(*part));
                    let name = field.path.last().and_then(Option::as_ref).and_then(|name| name.span.clone());
                    let depth = self.within.len();
                    self.within.extend(name.map(|name| Around { name, in_value: false }));
                    field.annotations.iter().for_each(|part| self.visit(*part));
                    if let Some(own) = self.within.get_mut(depth) {
                        own.in_value = true;
                    }
                    field.value.iter().for_each(|part| self.visit(*part));
                    self.within.truncate(depth);
                }
            }
            other => children(other).into_iter().for_each(|child| self.visit(child)),
        }
    }

    fn read(&mut self, id: NodeId, name: &str) {
        let Some(Binding::Field { record }) = self.scopes.of_var(id).and_then(|used| used.binding) else {
            return;
        };
        let Some(Expr::Record { fields, .. }) = self.tree.get(record).map(|node| &node.expr) else { return };
        let Some(span) = self.tree.get(id).and_then(|node| node.span.clone()) else { return };
        let first = |path: &[Option<crate::syntax::Name>]| path.first().and_then(Option::as_ref).cloned();
        let targets: Vec<Span> = fields
            .iter()
            .filter_map(|field| first(&field.path).filter(|first| first.text == name))
            .filter_map(|first| first.span)
            .collect();
        if !targets.is_empty() && !self.within.is_empty() {
            let within = self.within.clone();
            self.found.push(FieldRead { name: name.to_owned(), span, targets, within });
        }
    }
}
