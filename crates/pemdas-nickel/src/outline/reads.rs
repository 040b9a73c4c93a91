//! What a function reads of its argument, from the way it is written.

use std::collections::BTreeSet;

use pemdas_core::blueprint::Read;
use pemdas_core::diagnostic::Span;

use super::scopes::{Binding, children};
use super::trees::{At, Trees};
use crate::syntax::{Expr, Name, NodeId, PatternSyntax};

/// How deep calls of the author's own functions are followed.
const MAX_CALLS: usize = 8;
/// How many places of reading are told of one function.
const MAX_READS: usize = 1_000;

/// What a function literal reads of its one parameter, in the order of the source. Where that cannot be said, it reads all.
pub(super) fn reads_of<'a>(trees: &Trees<'a>, function: At<'a>) -> Vec<Read> {
    let mut reader = Reader { trees, reads: BTreeSet::new(), followed: BTreeSet::new() };
    match trees.expr(function) {
        // Of a function of several parameters this may be what is left when some are given.
        Some(Expr::Function { parameters, .. }) if parameters.len() == 1 => {
            reader.function(function, 0, MAX_CALLS);
        }
        _ => reader.whole(function),
    }
    reader.in_order(function)
}

/// What a part of a function literal reads of its one parameter.
pub(super) fn reads_in<'a>(trees: &Trees<'a>, function: At<'a>, part: At<'a>) -> Vec<Read> {
    let mut reader = Reader { trees, reads: BTreeSet::new(), followed: BTreeSet::new() };
    if let Some(Expr::Function { parameters, .. }) = trees.expr(function)
        && let Some(pattern) = parameters.first()
    {
        let argument = Argument { function: function.id, index: 0, pattern };
        reader.expression(part, MAX_CALLS, &argument);
    }
    reader.in_order(function)
}

struct Reader<'t, 'a> {
    trees: &'t Trees<'a>,
    reads: BTreeSet<Read>,
    followed: BTreeSet<(String, NodeId, usize)>,
}

/// The parameter that stands for the argument.
struct Argument<'p> {
    function: NodeId,
    index: usize,
    pattern: &'p PatternSyntax,
}

impl Argument<'_> {
    /// What a binding gives of the argument: nothing if it is something else; else whether it is all of it.
    fn is_bound_by(&self, binding: Option<Binding>) -> Option<bool> {
        match binding? {
            Binding::Parameter { function, index, whole }
                if function == self.function && index == self.index =>
            {
                Some(whole)
            }
            _ => None,
        }
    }

    /// The field that a name was taken from, if the name stands for that field and no part of it.
    fn field_of(&self, name: &str) -> Option<&str> {
        let mut bound = self.pattern.takes.as_ref()?.bound.iter().filter(|(_, it)| it == name);
        bound.next().map(|(field, _)| field.as_str())
    }
}

impl<'a> Reader<'_, 'a> {
    fn in_order(mut self, function: At<'a>) -> Vec<Read> {
        if self.reads.len() >= MAX_READS {
            self.reads.clear();
            self.whole(function);
        }
        let mut reads: Vec<Read> = self.reads.into_iter().collect();
        reads.sort_by(|a, b| {
            (&a.span.file, a.span.start, &a.path).cmp(&(&b.span.file, b.span.start, &b.path))
        });
        reads
    }

    fn whole(&mut self, at: At<'a>) {
        self.reads.insert(Read { path: Vec::new(), span: self.place(at) });
    }

    /// Where an expression is written. What the parser made up is read all the same.
    fn place(&self, at: At<'a>) -> Span {
        let nowhere = || Span { file: at.file.to_owned(), start: 0, end: 0 };
        self.trees.span(at).unwrap_or_else(nowhere)
    }

    /// Collects what the function reads of its parameter.
    fn function(&mut self, function: At<'a>, index: usize, calls: usize) {
        if !self.followed.insert((function.file.to_owned(), function.id, index)) {
            return;
        }
        let Some(Expr::Function { body, parameters }) = self.trees.expr(function) else { return };
        let Some(pattern) = parameters.get(index) else { return };
        let argument = Argument { function: function.id, index, pattern };
        for part in parameters.iter().flat_map(|it| &it.inner).chain([body]) {
            self.expression(At { file: function.file, id: *part }, calls, &argument);
        }
        self.taken_apart(pattern, function);
    }

    /// What a pattern takes has to be there, whether or not it is used.
    fn taken_apart(&mut self, pattern: &PatternSyntax, function: At<'a>) {
        if pattern.name.is_some() || pattern.ignores {
            return;
        }
        // One that allows no other field looks at all of them.
        let taken = pattern.takes.as_ref().filter(|it| it.open && !it.whole);
        let Some(takes) = taken else { return self.whole(function) };
        let span = pattern.span.clone().unwrap_or_else(|| self.place(function));
        for field in &takes.named {
            let plain = takes.bound.iter().any(|(name, _)| name == field);
            let read = |it: &Read| it.path.first().is_none_or(|first| first == field);
            if !plain || !self.reads.iter().any(read) {
                self.reads.insert(Read { path: vec![field.clone()], span: span.clone() });
            }
        }
    }

    fn expression(&mut self, at: At<'a>, calls: usize, argument: &Argument<'_>) {
        if self.reads.len() >= MAX_READS {
            return;
        }
        if let Some((path, span)) = self.chain(at, argument) {
            self.reads.insert(Read { path, span });
            return;
        }
        let Some(expr) = self.trees.expr(at) else { return };
        if let Expr::Call { head, arguments } = expr {
            let head = At { file: at.file, id: *head };
            self.expression(head, calls, argument);
            for (index, given) in arguments.iter().enumerate() {
                let given = At { file: at.file, id: *given };
                if !self.handed_on(head, index, given, calls, argument) {
                    self.expression(given, calls, argument);
                }
            }
            return;
        }
        if let Expr::Record { includes, .. } = expr {
            self.included(at, includes, argument);
        }
        for child in children(expr) {
            self.expression(At { file: at.file, id: child }, calls, argument);
        }
    }

    /// `{ include the }` reads it.
    fn included(&mut self, record: At<'a>, includes: &[Name], argument: &Argument<'_>) {
        let bindings = self.trees.scopes(record.file).map_or(&[][..], |it| it.of_includes(record.id));
        for (name, binding) in includes.iter().zip(bindings) {
            let Some(whole) = argument.is_bound_by(*binding) else { continue };
            let field = argument.field_of(&name.text).filter(|_| !whole);
            let span = name.span.clone().unwrap_or_else(|| self.place(record));
            if whole || field.is_some() {
                self.reads.insert(Read { path: field.map(str::to_owned).into_iter().collect(), span });
            }
        }
    }

    /// Follows the argument into a function of the author's own that it is given to.
    fn handed_on(
        &mut self,
        head: At<'a>,
        index: usize,
        given: At<'a>,
        calls: usize,
        argument: &Argument<'_>,
    ) -> bool {
        let Some(calls) = calls.checked_sub(1) else { return false };
        if self.chain(given, argument).is_none_or(|(path, _)| !path.is_empty()) {
            return false;
        }
        let Some(functions) = self.trees.all_views(head) else { return false };
        let takes = |at: &At<'a>| matches!(self.trees.expr(*at), Some(Expr::Function { parameters, .. }) if index < parameters.len());
        if functions.is_empty() || !functions.iter().all(takes) {
            return false;
        }
        for function in functions {
            self.function(function, index, calls);
        }
        true
    }

    /// The fields read from the argument, if the expression is the argument or a field of it.
    fn chain(&self, at: At<'a>, argument: &Argument<'_>) -> Option<(Vec<String>, Span)> {
        let mut names = Vec::new();
        let mut current = at;
        loop {
            match self.trees.expr(current)? {
                Expr::Access { inner, field } => {
                    names.push(field.text.clone());
                    current = At { file: at.file, id: *inner };
                }
                Expr::Var(name) => {
                    let binding = self.trees.scopes(at.file)?.of_var(current.id)?.binding;
                    if !argument.is_bound_by(binding)? {
                        // Of what was taken apart further, the whole field is read already.
                        names.push(argument.field_of(name)?.to_owned());
                    }
                    names.reverse();
                    return Some((names, self.place(at)));
                }
                _ => return None,
            }
        }
    }
}
