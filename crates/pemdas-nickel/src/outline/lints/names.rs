//! Names that mean something else than they seem to, because the fields of a record are in scope in its values.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::blueprint::Clause;
use pemdas_core::diagnostic::{Diagnostic, Span};

use super::super::codes;
use super::super::scopes::{Binding, Scopes, Use};
use super::super::trees::{At, Trees};
use crate::syntax::{Expr, NodeId, Syntax};

/// The clauses that one node may well take from another's definition.
const REUSED: [Clause; 8] = [
    Clause::Template,
    Clause::Observe,
    Clause::Absent,
    Clause::ForEach,
    Clause::Key,
    Clause::Ready,
    Clause::Fails,
    Clause::Before,
];

pub(in super::super) fn check(trees: &Trees<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (file, tree, scopes) in trees.each() {
        let page = Page { trees, file, tree, scopes, accessed: accessed(tree) };
        let (looping, diagnostics) = page.self_references();
        found.extend(diagnostics);
        for (id, used) in scopes.uses().filter(|(id, _)| !looping.contains(id)) {
            found.extend(page.bare_name(id, used).or_else(|| page.shadowed(id, used)));
        }
    }
    found
}

/// The field that is read of each expression of which one is read.
fn accessed(tree: &Syntax) -> BTreeMap<NodeId, &str> {
    tree.nodes
        .iter()
        .filter_map(|node| match &node.expr {
            Expr::Access { inner, field } => Some((*inner, field.text.as_str())),
            _ => None,
        })
        .collect()
}

struct Page<'t, 'a> {
    trees: &'t Trees<'a>,
    file: &'a str,
    tree: &'a Syntax,
    scopes: &'t Scopes,
    accessed: BTreeMap<NodeId, &'a str>,
}

impl<'a> Page<'_, 'a> {
    fn expr(&self, id: NodeId) -> Option<&'a Expr> {
        self.tree.get(id).map(|node| &node.expr)
    }

    fn span(&self, id: NodeId) -> Option<Span> {
        self.tree.get(id)?.span.clone()
    }

    /// Fields whose value needs the field itself: `name = name`.
    fn self_references(&self) -> (BTreeSet<NodeId>, Vec<Diagnostic>) {
        let mut looping = BTreeSet::new();
        let mut found = Vec::new();
        for (record, node) in (0..).zip(&self.tree.nodes) {
            let Expr::Record { fields, .. } = &node.expr else { continue };
            for field in fields {
                let names: Option<Vec<&str>> =
                    field.path.iter().map(|name| name.as_ref().map(|name| name.text.as_str())).collect();
                let (Some(names), Some(value)) = (names, field.value) else { continue };
                let Some((first, rest)) = names.split_first() else { continue };
                let mut needed = Vec::new();
                self.needed(value, &mut Vec::new(), &mut needed);
                for (id, chain) in needed {
                    let meets = chain.iter().zip(rest).all(|(read, name)| read == name);
                    let used = self.scopes.of_var(id);
                    let is_itself = used.is_some_and(|used| used.binding == Some(Binding::Field { record }));
                    if is_itself && meets && self.expr(id) == Some(&Expr::Var((*first).to_owned())) {
                        looping.insert(id);
                        found.extend(used.and_then(|used| self.self_reference(id, first, used)));
                    }
                }
            }
        }
        (looping, found)
    }

    /// The variables that a value cannot do without, each with the fields read of it.
    fn needed(&self, id: NodeId, chain: &mut Vec<&'a str>, found: &mut Vec<(NodeId, Vec<&'a str>)>) {
        let mut each = |parts: &[NodeId]| {
            for part in parts {
                self.needed(*part, &mut Vec::new(), found);
            }
        };
        match self.expr(id) {
            Some(Expr::Var(_)) => found.push((id, chain.iter().rev().copied().collect())),
            Some(Expr::Access { inner, field }) => {
                chain.push(&field.text);
                self.needed(*inner, chain, found);
                chain.pop();
            }
            Some(Expr::Interpolation(parts)) => each(parts),
            Some(Expr::Operator { operands, .. }) => each(operands),
            Some(Expr::Call { head, arguments }) => {
                each(&[*head]);
                each(arguments);
            }
            Some(Expr::If { condition, then, otherwise }) => each(&[*condition, *then, *otherwise]),
            Some(Expr::Let { body, .. }) => each(&[*body]),
            Some(Expr::Annotated { inner, .. }) => each(&[*inner]),
            // What is inside of records, lists and functions is needed later, if at all.
            _ => {}
        }
    }

    fn self_reference(&self, id: NodeId, name: &str, used: &Use) -> Option<Diagnostic> {
        let destructured = matches!(used.hidden, Some(Binding::Parameter { whole: false, .. }));
        let code = if destructured { codes::SHADOWED } else { codes::SELF_REFERENCE };
        let hint = match used.hidden {
            Some(Binding::Parameter { whole: false, .. }) => {
                format!("take the inputs whole: `fun the => ... the.{name}`")
            }
            Some(_) => format!("write `{{ include {name} }}`, or give the outer `{name}` another name"),
            None => "there is nothing else of this name to be meant".to_owned(),
        };
        Some(
            Diagnostic::error(code, format!("the field `{name}` is defined by itself"))
                .at(self.span(id)?, "this is the field, not what is outside of the record")
                .note("the fields of a record are in scope in its values")
                .hint(hint),
        )
    }

    /// A node's name, or a clause's, read as if it were an input.
    fn bare_name(&self, id: NodeId, used: &Use) -> Option<Diagnostic> {
        let Some(Binding::Field { record }) = used.binding else { return None };
        let Some(Expr::Var(name)) = self.expr(id) else { return None };
        let path = self.trees.path_of_record(At { file: self.file, id: record })?;
        if path.first().is_none_or(|first| first != "nodes") {
            return None;
        }
        let is_node = path.len() == 1;
        let next = self.accessed.get(&id).copied();
        if is_node && next.is_some_and(|next| REUSED.iter().any(|clause| clause.name() == next)) {
            return None; // One node's clause used for another.
        }
        let function = used.function.filter(|function| self.is_within(*function, record));
        let message = if is_node {
            format!("`{name}` is the node's definition here, not its object or value")
        } else {
            format!("`{name}` is the clause here, not an input")
        };
        let hint = match function.and_then(|function| self.parameter(function)) {
            Some(parameter) => format!("write `{parameter}.{name}`"),
            None if function.is_some() => format!("take the inputs whole, and write `the.{name}`"),
            None if is_node => format!("name a node by a string: `\"{name}\"`"),
            None => return None,
        };
        Some(Diagnostic::error(codes::BARE_NAME, message).at(self.span(id)?, "").hint(hint))
    }

    /// A name that is bound outside of the record, and means the record's field all the same.
    fn shadowed(&self, id: NodeId, used: &Use) -> Option<Diagnostic> {
        let Some(Binding::Field { record }) = used.binding else { return None };
        let Some(Expr::Var(name)) = self.expr(id) else { return None };
        let outer = match used.hidden? {
            Binding::Parameter { .. } => "the argument of the function",
            Binding::Let { .. } => "the `let`",
            Binding::Field { .. } | Binding::Pattern => return None,
        };
        let field = self.field_span(record, name)?;
        Some(
            Diagnostic::warning(
                codes::SHADOWED,
                format!("`{name}` means the field of this record, not {outer} of the same name"),
            )
            .at(self.span(id)?, "read here")
            .see(field, "this field")
            .hint("give one of them another name"),
        )
    }

    fn field_span(&self, record: NodeId, name: &str) -> Option<Span> {
        let Some(Expr::Record { fields, includes, .. }) = self.expr(record) else { return None };
        // `include` says on purpose that both are the same.
        if includes.iter().any(|include| include.text == name) {
            return None;
        }
        let named = fields.iter().filter_map(|field| field.path.first()?.as_ref());
        named.into_iter().find(|field| field.text == name)?.span.clone()
    }

    fn is_within(&self, inner: NodeId, outer: NodeId) -> bool {
        match (self.span(inner), self.span(outer)) {
            (Some(inner), Some(outer)) => outer.start <= inner.start && inner.end <= outer.end,
            _ => false,
        }
    }

    /// The name of a function's argument, if it is taken whole.
    fn parameter(&self, function: NodeId) -> Option<&'a str> {
        match self.expr(function) {
            Some(Expr::Function { parameters, .. }) => parameters.first()?.name.as_deref(),
            _ => None,
        }
    }
}
