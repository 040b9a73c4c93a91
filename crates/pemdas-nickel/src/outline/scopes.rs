//! What each variable of a file means: the binding it resolves to, and the one that this binding hides.
//!
//! The fields of a record literal are in scope in its values: that is where most traps of the language come from.
//! Of a definition `a.b = 1` only `a` is.

use std::collections::BTreeMap;

use crate::syntax::{Expr, FieldSyntax, NodeId, PatternSyntax, Syntax};

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    /// A `let`; `whole` unless it is destructured, `annotated` if it, or a part of it, has a type, a contract or a default.
    Let { value: NodeId, whole: bool, annotated: bool },
    /// A parameter of a function.
    Parameter { function: NodeId, index: usize, whole: bool },
    /// A field of a record literal around it.
    Field { record: NodeId },
    /// A pattern of a `match`.
    Pattern,
}

/// A use of a variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use {
    /// What it means; none for what the file does not bind.
    pub(super) binding: Option<Binding>,
    /// What it would mean without the innermost binding.
    pub(super) hidden: Option<Binding>,
    /// The innermost function around it.
    pub(super) function: Option<NodeId>,
}

/// The variables of a file.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    uses: BTreeMap<NodeId, Use>,
    /// What `include x` in a record means by `x`.
    includes: BTreeMap<NodeId, Vec<Option<Binding>>>,
}

impl Scopes {
    /// Resolves every variable of a file.
    pub(super) fn of(tree: &Syntax) -> Self {
        let mut walker = Walker { tree, stack: Vec::new(), functions: Vec::new(), scopes: Self::default() };
        walker.visit(tree.root);
        walker.scopes
    }

    /// What a variable means.
    pub(super) fn of_var(&self, id: NodeId) -> Option<&Use> {
        self.uses.get(&id)
    }

    /// What each `include` of a record means, in their order.
    pub(super) fn of_includes(&self, record: NodeId) -> &[Option<Binding>] {
        self.includes.get(&record).map_or(&[], Vec::as_slice)
    }

    /// All variables.
    pub(super) fn uses(&self) -> impl Iterator<Item = (NodeId, &Use)> {
        self.uses.iter().map(|(id, used)| (*id, used))
    }
}

struct Walker<'a> {
    tree: &'a Syntax,
    stack: Vec<(&'a str, Binding)>,
    functions: Vec<NodeId>,
    scopes: Scopes,
}

impl<'a> Walker<'a> {
    fn visit(&mut self, id: NodeId) {
        let Some(node) = self.tree.get(id) else { return };
        match &node.expr {
            Expr::Var(name) => self.resolve(id, name),
            Expr::Record { fields, includes, annotations, .. } => {
                let before = self.stack.len();
                // The name of a field is computed outside of its record.
                fields.iter().filter_map(outermost).for_each(|part| self.visit(part));
                if !includes.is_empty() {
                    let outer = includes.iter().map(|name| self.bindings(&name.text).next());
                    self.scopes.includes.insert(id, outer.collect());
                }
                let names = fields.iter().filter_map(|field| field.path.first()?.as_ref());
                for name in names.chain(includes) {
                    self.stack.push((&name.text, Binding::Field { record: id }));
                }
                annotations.iter().for_each(|part| self.visit(*part));
                for field in fields {
                    self.visit_field(field);
                }
                self.stack.truncate(before);
            }
            Expr::Function { parameters, body } => {
                let before = self.stack.len();
                for (index, parameter) in parameters.iter().enumerate() {
                    let whole = parameter.name.is_some();
                    self.bind(parameter, Binding::Parameter { function: id, index, whole });
                }
                self.functions.push(id);
                self.visit(*body);
                self.functions.pop();
                self.stack.truncate(before);
            }
            Expr::Let { recursive, bindings, body } => self.visit_let(*recursive, bindings, *body),
            Expr::Match(branches) => {
                for (pattern, guard, body) in branches {
                    let before = self.stack.len();
                    self.bind(pattern, Binding::Pattern);
                    guard.iter().chain(std::iter::once(body)).for_each(|part| self.visit(*part));
                    self.stack.truncate(before);
                }
            }
            other => children(other).into_iter().for_each(|child| self.visit(child)),
        }
    }

    fn visit_field(&mut self, field: &'a FieldSyntax) {
        let inside = usize::from(outermost(field).is_some());
        field
            .computed
            .iter()
            .skip(inside)
            .chain(&field.annotations)
            .chain(&field.value)
            .for_each(|part| self.visit(*part));
    }

    fn visit_let(&mut self, recursive: bool, bindings: &'a [(PatternSyntax, NodeId)], body: NodeId) {
        let before = self.stack.len();
        let parts = |(pattern, value): &'a (PatternSyntax, NodeId)| {
            pattern.inner.iter().copied().chain(std::iter::once(*value))
        };
        if !recursive {
            bindings.iter().flat_map(parts).for_each(|part| self.visit(part));
        }
        for (pattern, value) in bindings {
            let (whole, annotated) = (pattern.name.is_some(), pattern.annotated || !pattern.inner.is_empty());
            self.push(pattern, Binding::Let { value: *value, whole, annotated });
        }
        if recursive {
            bindings.iter().flat_map(parts).for_each(|part| self.visit(part));
        }
        self.visit(body);
        self.stack.truncate(before);
    }

    /// What stands in a pattern does not see the names that the pattern binds.
    fn bind(&mut self, pattern: &'a PatternSyntax, binding: Binding) {
        pattern.inner.iter().for_each(|inner| self.visit(*inner));
        self.push(pattern, binding);
    }

    fn push(&mut self, pattern: &'a PatternSyntax, binding: Binding) {
        self.stack.extend(pattern.binds.iter().map(|name| (name.text.as_str(), binding)));
    }

    /// What a name means here, from the innermost on.
    fn bindings(&self, name: &str) -> impl Iterator<Item = Binding> {
        self.stack.iter().rev().filter(move |(bound, _)| *bound == name).map(|(_, binding)| *binding)
    }

    fn resolve(&mut self, id: NodeId, name: &str) {
        let mut found = self.bindings(name);
        let binding = found.next();
        // A field that is defined in pieces binds its name more than once in the same record.
        let hidden = found.find(|outer| Some(*outer) != binding);
        drop(found);
        self.scopes.uses.insert(id, Use { binding, hidden, function: self.functions.last().copied() });
    }
}

/// The expression of the first name of a definition, if that is computed.
fn outermost(field: &FieldSyntax) -> Option<NodeId> {
    field.computed.first().copied().filter(|_| field.path.first().is_some_and(Option::is_none))
}

/// The expressions directly inside an expression.
pub(super) fn children(expr: &Expr) -> Vec<NodeId> {
    let pattern_parts = |pattern: &PatternSyntax| pattern.inner.clone();
    match expr {
        Expr::Null | Expr::Bool(_) | Expr::Number(_) | Expr::String(_) | Expr::Var(_) | Expr::Import(_) => {
            Vec::new()
        }
        Expr::Interpolation(parts) | Expr::Array(parts) | Expr::Type(parts) => parts.clone(),
        Expr::Access { inner, .. } => vec![*inner],
        Expr::Record { fields, annotations, .. } => fields
            .iter()
            .flat_map(|field| field.computed.iter().chain(&field.annotations).chain(&field.value))
            .chain(annotations)
            .copied()
            .collect(),
        Expr::Function { parameters, body } => {
            parameters.iter().flat_map(pattern_parts).chain(std::iter::once(*body)).collect()
        }
        Expr::Let { bindings, body, .. } => bindings
            .iter()
            .flat_map(|(pattern, value)| pattern_parts(pattern).into_iter().chain(std::iter::once(*value)))
            .chain(std::iter::once(*body))
            .collect(),
        Expr::Call { head, arguments } => std::iter::once(*head).chain(arguments.iter().copied()).collect(),
        Expr::If { condition, then, otherwise } => vec![*condition, *then, *otherwise],
        Expr::Match(branches) => branches
            .iter()
            .flat_map(|(pattern, guard, body)| {
                pattern_parts(pattern).into_iter().chain(*guard).chain(std::iter::once(*body))
            })
            .collect(),
        Expr::Enum { argument, .. } => argument.iter().copied().collect(),
        Expr::Operator { operands, .. } => operands.clone(),
        Expr::Annotated { inner, annotations, .. } => {
            std::iter::once(*inner).chain(annotations.iter().copied()).collect()
        }
    }
}
