//! What a function reads of its argument, from the way it is written.

use std::collections::BTreeSet;

use pemdas_core::blueprint::Read;
use pemdas_core::diagnostic::Span;

use super::scopes::{Binding, children};
use super::trees::{At, Trees};
use crate::syntax::{Expr, NodeId};

/// How deep calls of the author's own functions are followed.
const MAX_CALLS: usize = 8;
/// How many places of reading are told of one function.
const MAX_READS: usize = 1_000;

/// What a function literal reads of one of its parameters, in the order of the source.
pub(super) fn reads_of<'a>(trees: &Trees<'a>, function: At<'a>, parameter: usize) -> Vec<Read> {
    let mut reader = Reader { trees, reads: BTreeSet::new(), followed: BTreeSet::new() };
    reader.function(function, parameter, &[], MAX_CALLS);
    let mut reads: Vec<Read> = reader.reads.into_iter().collect();
    reads.sort_by(|a, b| (&a.span.file, a.span.start, &a.path).cmp(&(&b.span.file, b.span.start, &b.path)));
    reads.truncate(MAX_READS);
    reads
}

struct Reader<'t, 'a> {
    trees: &'t Trees<'a>,
    reads: BTreeSet<Read>,
    followed: BTreeSet<(String, NodeId, usize, Vec<String>)>,
}

impl<'a> Reader<'_, 'a> {
    /// Collects what the function reads of its parameter, which stands for `prefix` of the outermost argument.
    fn function(&mut self, function: At<'a>, parameter: usize, prefix: &[String], calls: usize) {
        let known = (function.file.to_owned(), function.id, parameter, prefix.to_vec());
        if !self.followed.insert(known) {
            return;
        }
        let Some(Expr::Function { body, parameters }) = self.trees.expr(function) else { return };
        let scopes = self.trees.scopes(function.file);
        let is_argument = |id: NodeId| {
            let binding = scopes.and_then(|scopes| scopes.of_var(id)?.binding)?;
            match binding {
                Binding::Parameter { function: of, index, whole }
                    if of == function.id && index == parameter =>
                {
                    Some(whole)
                }
                _ => None,
            }
        };
        if parameters.get(parameter).is_none() {
            return;
        }
        let body = At { file: function.file, id: *body };
        self.expression(body, prefix, calls, &is_argument);
    }

    fn expression(
        &mut self,
        at: At<'a>,
        prefix: &[String],
        calls: usize,
        is_argument: &dyn Fn(NodeId) -> Option<bool>,
    ) {
        if self.reads.len() >= MAX_READS {
            return;
        }
        if let Some((path, span)) = self.chain(at, is_argument) {
            let full: Vec<String> = prefix.iter().cloned().chain(path).collect();
            self.reads.insert(Read { path: full, span });
            return;
        }
        let Some(expr) = self.trees.expr(at) else { return };
        if let Expr::Call { head, arguments } = expr {
            let head = At { file: at.file, id: *head };
            self.expression(head, prefix, calls, is_argument);
            for (index, argument) in arguments.iter().enumerate() {
                let argument = At { file: at.file, id: *argument };
                if !self.handed_on(head, index, argument, prefix, calls, is_argument) {
                    self.expression(argument, prefix, calls, is_argument);
                }
            }
            return;
        }
        for child in children(expr) {
            self.expression(At { file: at.file, id: child }, prefix, calls, is_argument);
        }
    }

    /// Follows the argument into a function of the author's own that it is given to.
    fn handed_on(
        &mut self,
        head: At<'a>,
        index: usize,
        argument: At<'a>,
        prefix: &[String],
        calls: usize,
        is_argument: &dyn Fn(NodeId) -> Option<bool>,
    ) -> bool {
        let Some(calls) = calls.checked_sub(1) else { return false };
        let Some((path, _)) = self.chain(argument, is_argument) else { return false };
        if !path.is_empty() {
            return false;
        }
        let functions = self.trees.views(head);
        let takes = |at: &&At<'a>| matches!(self.trees.expr(**at), Some(Expr::Function { parameters, .. }) if index < parameters.len());
        if functions.is_empty() || functions.iter().filter(takes).count() != functions.len() {
            return false;
        }
        for function in functions {
            self.function(function, index, prefix, calls);
        }
        true
    }

    /// The fields read from the argument, if the expression is the argument or a field of it.
    fn chain(&self, at: At<'a>, is_argument: &dyn Fn(NodeId) -> Option<bool>) -> Option<(Vec<String>, Span)> {
        let mut names = Vec::new();
        let mut current = at;
        loop {
            match self.trees.expr(current)? {
                Expr::Access { inner, field } => {
                    names.push(field.text.clone());
                    current = At { file: at.file, id: *inner };
                }
                Expr::Var(name) => {
                    // A destructured argument is read by the name it was taken apart into.
                    if !is_argument(current.id)? {
                        names.push(name.clone());
                    }
                    names.reverse();
                    return Some((names, self.trees.span(at)?));
                }
                _ => return None,
            }
        }
    }
}
