//! What is written in a template, as far as it can be read without evaluating, for the check against the types of
//! Kubernetes.
//!
//! Names, imports, helper functions and branches are followed where they are plain; whatever a computation or a
//! contract may change is unknown, and so never wrong.

use std::collections::BTreeSet;

use pemdas_core::diagnostic::Span;
use pemdas_core::kube_types::template_tree::{Field, Form, Tree};
use serde_json::Number;

use super::scopes::Binding;
use super::trees::{At, Trees};
use crate::kube_contracts;
use crate::syntax::{Expr, FieldSyntax, Name, NodeId};

/// How many expressions of one template are read, and how deep.
const MAX_NODES: usize = 20_000;
const MAX_DEPTH: usize = 80;
/// How many names, imports and fields are followed in a row.
const MAX_HOPS: usize = 24;

/// The tree of what a function yields.
pub(super) fn of_function<'a>(trees: &'a Trees<'a>, function: At<'a>) -> Tree {
    let mut reader = Reader::new(trees);
    match trees.expr(function) {
        Some(Expr::Function { body, .. }) => reader.tree(At { file: function.file, id: *body }, MAX_DEPTH),
        _ => Tree::unknown(trees.span(function)),
    }
}

/// The tree of an expression.
pub(super) fn of_value<'a>(trees: &'a Trees<'a>, value: At<'a>) -> Tree {
    Reader::new(trees).tree(value, MAX_DEPTH)
}

struct Reader<'a> {
    trees: &'a Trees<'a>,
    nodes: usize,
    /// The values of `let`s with a contract: it may make something else of them.
    contracted: BTreeSet<At<'a>>,
}

impl<'a> Reader<'a> {
    fn new(trees: &'a Trees<'a>) -> Self {
        let mut contracted = BTreeSet::new();
        for (file, tree, _) in trees.each() {
            for node in &tree.nodes {
                let Expr::Let { bindings, .. } = &node.expr else { continue };
                let with = bindings.iter().filter(|(pattern, _)| !pattern.inner.is_empty());
                contracted.extend(with.map(|(_, value)| At { file, id: *value }));
            }
        }
        Self { trees, nodes: MAX_NODES, contracted }
    }

    fn tree(&mut self, at: At<'a>, depth: usize) -> Tree {
        let span = self.trees.span(at);
        let (Some(left), Some(depth)) = (self.nodes.checked_sub(1), depth.checked_sub(1)) else {
            return Tree::unknown(span);
        };
        self.nodes = left;
        let Some(target) = self.resolve(at, MAX_HOPS) else { return Tree::unknown(span) };
        let form = self.form(target, depth);
        // A plain value is mended where it is used; the parts of a record have places of their own.
        let composite = matches!(form, Form::Record { .. } | Form::List { .. } | Form::Either(_));
        let place = if composite { self.trees.span(target).or(span) } else { span };
        Tree { span: place, form }
    }

    /// The literal, branch or operation that an expression leads to, through names and imports.
    fn resolve(&self, at: At<'a>, hops: usize) -> Option<At<'a>> {
        let hops = hops.checked_sub(1)?;
        let here = |id: NodeId| At { file: at.file, id };
        match self.trees.expr(at)? {
            Expr::Let { body, .. } => self.resolve(here(*body), hops),
            Expr::Annotated { inner, annotations, .. } if self.harmless(at, annotations) => {
                self.resolve(here(*inner), hops)
            }
            Expr::Annotated { .. } => None,
            Expr::Import(path) => {
                let (file, tree) = self.trees.imported(at.file, path)?;
                self.resolve(At { file, id: tree.root }, hops)
            }
            Expr::Access { inner, field } => {
                let record = self.resolve(here(*inner), hops)?;
                self.resolve(self.field_of(record, &field.text)?, hops)
            }
            Expr::Var(name) => match self.trees.scopes(at.file)?.of_var(at.id)?.binding? {
                Binding::Let { value, .. } if self.contracted.contains(&here(value)) => None,
                Binding::Let { value, whole: true, .. } => self.resolve(here(value), hops),
                Binding::Let { value, whole: false, .. } => {
                    let record = self.resolve(here(value), hops)?;
                    self.resolve(self.field_of(record, name)?, hops)
                }
                Binding::Field { record } => self.resolve(self.field_of(here(record), name)?, hops),
                Binding::Parameter { .. } | Binding::Pattern => None,
            },
            _ => Some(at),
        }
    }

    /// The value of a field of a record literal, if it is plainly that.
    fn field_of(&self, record: At<'a>, name: &str) -> Option<At<'a>> {
        let Expr::Record { fields, .. } = self.trees.expr(record)? else { return None };
        let mut of_name = fields.iter().filter(|field| {
            field.path.first().and_then(Option::as_ref).is_some_and(|first| first.text == name)
        });
        let field = of_name.next().filter(|field| field.path.len() == 1 && field.annotations.is_empty())?;
        // A default is there to be replaced, and two definitions are merged.
        if field.ranked || of_name.next().is_some() {
            return None;
        }
        Some(At { file: record.file, id: field.value? })
    }

    fn harmless(&self, at: At<'a>, annotations: &[NodeId]) -> bool {
        are_harmless(self.trees, at, annotations)
    }

    fn form(&mut self, at: At<'a>, depth: usize) -> Form {
        let here = |id: NodeId| At { file: at.file, id };
        match self.trees.expr(at) {
            Some(Expr::Null) => Form::Null,
            Some(Expr::Bool(_)) => Form::Boolean,
            Some(Expr::Number(text)) => Form::Number(number(text)),
            Some(Expr::String(text)) => Form::String(Some(text.clone())),
            Some(Expr::Interpolation(_)) => Form::String(None),
            // A tag is exported as a string.
            Some(Expr::Enum { tag, argument: None }) => Form::String(Some(tag.text.clone())),
            Some(Expr::Function { .. } | Expr::Match(_)) => Form::Function,
            Some(Expr::Array(items)) => Form::List {
                items: items.iter().map(|item| self.tree(here(*item), depth)).collect(),
                complete: true,
            },
            Some(Expr::Record { fields, includes, open, .. }) => {
                self.record(at, fields, includes, *open, depth)
            }
            Some(Expr::If { then, otherwise, .. }) => {
                Form::Either(vec![self.tree(here(*then), depth), self.tree(here(*otherwise), depth)])
            }
            Some(Expr::Call { head, .. }) => self.call(here(*head), depth),
            Some(Expr::Operator { name, operands }) => self.operator(at, name, operands, depth),
            _ => Form::Unknown,
        }
    }

    /// What a function of the blueprint yields, whatever its arguments; or a `match`.
    fn call(&mut self, head: At<'a>, depth: usize) -> Form {
        let Some(function) = self.resolve(head, MAX_HOPS) else { return Form::Unknown };
        let here = |id: NodeId| At { file: function.file, id };
        match self.trees.expr(function) {
            Some(Expr::Function { body, .. }) => {
                let result = self.tree(here(*body), depth);
                // With fewer arguments than parameters it would yield a function; nothing is said then.
                if matches!(result.form, Form::Function) { Form::Unknown } else { result.form }
            }
            Some(Expr::Match(branches)) => {
                Form::Either(branches.iter().map(|(_, _, body)| self.tree(here(*body), depth)).collect())
            }
            _ => Form::Unknown,
        }
    }

    fn operator(&mut self, at: At<'a>, name: &str, operands: &[NodeId], depth: usize) -> Form {
        let here = |id: &NodeId| At { file: at.file, id: *id };
        match (name, operands) {
            ("(&)", [left, right]) => {
                let (left, right) = (self.tree(here(left), depth), self.tree(here(right), depth));
                left.merge(right).form
            }
            ("(@)", [left, right]) => {
                let mut items = Vec::new();
                let mut complete = true;
                for side in [left, right] {
                    match self.tree(here(side), depth).form {
                        Form::List { items: more, complete: all } => {
                            items.extend(more);
                            complete &= all;
                        }
                        _ => complete = false,
                    }
                }
                Form::List { items, complete }
            }
            // A negative number is written as a difference.
            ("(-)", [zero, amount]) => match (self.trees.expr(here(zero)), self.trees.expr(here(amount))) {
                (Some(Expr::Number(zero)), Some(Expr::Number(amount))) if zero == "0" => {
                    Form::Number(number(&format!("-{amount}")))
                }
                _ => Form::Number(None),
            },
            ("(+)" | "(*)" | "(/)" | "(%)" | "pow" | "string/length" | "array/length", _) => {
                Form::Number(None)
            }
            (
                "string/indented" | "string/concat" | "to_string" | "string/trim" | "string/uppercase"
                | "string/lowercase",
                _,
            ) => Form::String(None),
            ("(==)" | "(<)" | "(<=)" | "(>)" | "(>=)" | "(&&)" | "(||)" | "bool/not", _) => Form::Boolean,
            _ => Form::Unknown,
        }
    }

    fn record(
        &mut self,
        at: At<'a>,
        fields: &'a [FieldSyntax],
        includes: &[Name],
        open: bool,
        depth: usize,
    ) -> Form {
        let empty = |complete| Tree::new(Form::Record { fields: Vec::new(), complete });
        let mut record = empty(!open);
        for include in includes {
            let value = Tree::unknown(include.span.clone());
            record = record.merge(nested(&[(include.text.clone(), include.span.clone())], value));
        }
        for field in fields.iter().filter(|field| !field.not_exported) {
            let names: Option<Vec<(String, Option<Span>)>> = field
                .path
                .iter()
                .map(|name| name.as_ref().map(|name| (name.text.clone(), name.span.clone())))
                .collect();
            let Some(names) = names else {
                record = record.merge(empty(false));
                continue;
            };
            let value = match field.value {
                Some(value) if self.harmless(at, &field.annotations) => {
                    self.tree(At { file: at.file, id: value }, depth)
                }
                _ => Tree::unknown(field.span.clone()),
            };
            record = record.merge(nested(&names, value));
        }
        record.form
    }
}

/// Whether annotations leave the value as it is: types do, and so do the contracts of built-in kinds.
pub(super) fn are_harmless(trees: &Trees<'_>, at: At<'_>, annotations: &[NodeId]) -> bool {
    annotations.iter().all(|id| is_kube_contract(trees, At { file: at.file, id: *id }))
}

fn is_kube_contract(trees: &Trees<'_>, at: At<'_>) -> bool {
    match trees.expr(at) {
        Some(Expr::Import(path)) => kube_contracts::is_file(path),
        Some(Expr::Var(_)) => match trees.scopes(at.file).and_then(|scopes| scopes.of_var(at.id)?.binding) {
            Some(Binding::Let { value, whole: true, .. }) => {
                is_kube_contract(trees, At { file: at.file, id: value })
            }
            _ => false,
        },
        _ => false,
    }
}

/// `a.b = value` as a record of a record.
fn nested(names: &[(String, Option<Span>)], value: Tree) -> Tree {
    names.iter().rev().fold(value, |value, (name, span)| {
        let field = Field { name: name.clone(), span: span.clone(), value };
        // Without a place of its own: what is wrong with it is told at the name it belongs to.
        Tree::new(Form::Record { fields: vec![field], complete: true })
    })
}

/// A number as it is written: whole, decimal, or the fraction that a decimal is kept as.
fn number(text: &str) -> Option<Number> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let (above, below) = text.split_once('/')?;
    Number::from_f64(above.trim().parse::<f64>().ok()? / below.trim().parse::<f64>().ok()?)
}
