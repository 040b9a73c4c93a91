//! What is known of a node's object without an instance: its kind, and how its name is made.
//!
//! The function is called with inputs that nobody can know yet. `apiVersion` and `kind` have to come out all the
//! same. A name that comes out is always this one. How others are made is taken from the way they are written, where
//! that proves it ([`names`]); the rest is computed, and only the evaluator knows it, with the root and the member.

use std::collections::BTreeMap;

use pemdas_core::blueprint::{
    Function, Input as CoreInput, NamePart, NameSegment, ObjectIdentity, RESERVED_INPUTS, Read, StaticText,
};
use pemdas_core::diagnostic::Diagnostic;
use serde_json::Value;

use super::names::{self, Traced};
use super::outliner::{Outliner, Spot};
use super::reads::reads_in;
use super::trees::At;
use super::{codes, failures};
use crate::request::{Failure, Input, Kind, Place};
use crate::syntax::Expr;

/// What a name consists of.
const FIELDS: [&str; 2] = ["name", "namespace"];

/// What is wanted of an object that a function describes.
pub(super) struct Wanted {
    /// The clause, for messages.
    pub(super) clause: &'static str,
    /// Where the name is: below `metadata` in a template, at the top in a reference.
    pub(super) below_metadata: bool,
    /// Whether kind and name have to be given: not in the patch of a state.
    pub(super) complete: bool,
}

/// What was found.
pub(super) struct Found {
    pub(super) object: ObjectIdentity,
    /// Whether it has a selector instead of a name.
    pub(super) by_selector: bool,
}

impl Outliner<'_> {
    /// What a function says of its object's identity.
    pub(super) fn identity(&mut self, spot: &Spot, function: &Function, wanted: &Wanted) -> Found {
        let mut found = Found { object: ObjectIdentity::default(), by_selector: false };
        let unknown = spot.place.clone().call([poisoned(function)]);
        let seen = match self.evaluator.look(&unknown) {
            Ok(seen) => seen,
            Err(Failure::Poisoned { what, span }) => {
                let why = self.why_unknown(spot, function, &what);
                let span = span.filter(|span| !crate::is_library_file(&span.file));
                found.object.api_version = StaticText::Unknown { why: why.clone(), span: span.clone() };
                found.object.kind = StaticText::Unknown { why, span };
                return found;
            }
            Err(failure) => {
                self.diagnostics.extend(failures::diagnostics(&failure, &function.span));
                return found;
            }
        };
        if seen.kind != Kind::Record {
            self.incomplete(function, format!("`{}` has to yield a record", wanted.clause), "");
            return found;
        }
        let has = |name: &str| seen.fields.iter().any(|field| field.defined && field.name == name);
        found.by_selector = !wanted.below_metadata && has("selector");
        found.object.api_version = self.static_text(&unknown, function, "apiVersion", has("apiVersion"));
        found.object.kind = self.static_text(&unknown, function, "kind", has("kind"));
        self.names(spot, function, wanted, &mut found);
        found
    }

    fn static_text(&mut self, place: &Place, function: &Function, field: &str, given: bool) -> StaticText {
        if !given {
            return StaticText::Missing;
        }
        let result = self.evaluator.select(place, &[&[field]]).map(|mut results| results.pop());
        match result {
            Ok(Some(Ok(Value::String(text)))) => StaticText::Known(text),
            Ok(Some(Ok(_))) => {
                self.incomplete(function, format!("`{field}` has to be a string"), "");
                StaticText::Missing
            }
            Ok(Some(Err(Failure::Poisoned { what, span }))) => {
                let span = span.filter(|span| !crate::is_library_file(&span.file));
                StaticText::Unknown { why: format!("it reads {what}"), span }
            }
            Ok(Some(Err(failure))) | Err(failure) => {
                self.diagnostics.extend(failures::diagnostics(&failure, &function.span));
                StaticText::Missing
            }
            Ok(None) => StaticText::Missing,
        }
    }

    /// Why nothing is known of a whole object: most often there is an `if` around it.
    fn why_unknown(&self, spot: &Spot, function: &Function, what: &str) -> String {
        let body = self.literal_of(spot, Some(&function.span)).and_then(|at| match self.trees.expr(at) {
            Some(Expr::Function { body, .. }) => Some(At { file: at.file, id: *body }),
            _ => None,
        });
        if body.is_some_and(|body| self.trees.is_conditional(body)) {
            format!("there is a condition around the whole object, which reads {what}")
        } else {
            format!("the whole object reads {what}")
        }
    }

    fn incomplete(&mut self, function: &Function, message: String, hint: &str) {
        let diagnostic = Diagnostic::error(codes::INCOMPLETE_OBJECT, message).at(function.span.clone(), "");
        self.report(if hint.is_empty() { diagnostic } else { diagnostic.hint(hint) });
    }

    fn names(&mut self, spot: &Spot, function: &Function, wanted: &Wanted, found: &mut Found) {
        let below = wanted.below_metadata.then_some("metadata");
        let seen = self.evaluator.look(&spot.place).ok().and_then(|seen| seen.span);
        // Only of the literal itself: what wraps it may do more.
        let literal = seen.and_then(|span| self.trees.function_at(&span));
        let traced = match literal {
            Some(at) => names::trace(self.trees, at, below, FIELDS),
            None => [Traced::Open(None), Traced::Open(None)],
        };
        let [name, namespace] = if traced.iter().all(|it| matches!(it, Traced::Certain(_))) {
            traced.map(|it| certain(it).unwrap_or_default())
        } else {
            let run = self.run_without_inputs(spot, function, below);
            let late = self.late_reads(spot, function, below);
            let mut parts = traced.into_iter().zip(run).zip(late).map(|((traced, run), late)| match traced {
                Traced::Certain(part) => part,
                Traced::Open(at) => run.unwrap_or_else(|| {
                    let written = at.zip(literal).map(|(at, it)| reads_in(self.trees, it, at));
                    NamePart::Computed(computed_from(function, written, late))
                }),
            });
            [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()]
        };
        if name == NamePart::Missing && wanted.complete && !found.by_selector {
            let field = if wanted.below_metadata { "metadata.name" } else { "name" };
            let hint = "a name has to be the same each time: `generateName` cannot be used; `the.root.metadata.name` is a good start";
            self.incomplete(function, format!("`{}` yields no `{field}`", wanted.clause), hint);
        }
        found.object.name = name;
        found.object.namespace = namespace;
    }

    /// The parts of the name that come out although nothing is known of the argument: they are always so.
    fn run_without_inputs(
        &self,
        spot: &Spot,
        function: &Function,
        below: Option<&str>,
    ) -> [Option<NamePart>; 2] {
        let whole = function.reads.iter().any(|read| read.path.is_empty());
        let argument = if whole { Input::Poison("the".to_owned()) } else { poisoned(function) };
        let called = spot.place.clone().call([argument]);
        let Ok(whole) = self.evaluator.look(&called) else { return [None, None] };
        let holder = match below {
            Some(field) if whole.fields.iter().any(|held| held.defined && held.name == field) => {
                called.field(field)
            }
            Some(_) if whole.kind == Kind::Record => return [const { Some(NamePart::Missing) }; 2],
            _ => called,
        };
        let Ok(seen) = self.evaluator.look(&holder) else { return [None, None] };
        FIELDS.map(|field| {
            if !seen.fields.iter().any(|held| held.defined && held.name == field) {
                return (seen.kind == Kind::Record).then_some(NamePart::Missing);
            }
            let selected = self.evaluator.select(&holder, &[&[field]]).ok()?.pop()?;
            match selected.ok()? {
                Value::Null => Some(NamePart::Missing),
                Value::String(text) => Some(NamePart::Pattern(vec![NameSegment::Text(text)])),
                _ => None,
            }
        })
    }

    /// What the parts of the name read beside the root and the member, found by running the function with marks in their
    /// place. That may take another way than a real root would, so it proves nothing but that such a read is there.
    fn late_reads(&self, spot: &Spot, function: &Function, below: Option<&str>) -> [Vec<Read>; 2] {
        let called = spot.place.clone().call([marked_input(function)]);
        FIELDS.map(|field| {
            let path: Vec<&str> = below.into_iter().chain([field]).collect();
            let selected = self.evaluator.select(&called, &[&path]).ok().and_then(|mut it| it.pop());
            match selected {
                Some(Err(Failure::Poisoned { what, .. })) => {
                    reads_from(function, &what).into_iter().filter(is_late).collect()
                }
                _ => Vec::new(),
            }
        })
    }
}

fn certain(traced: Traced<'_>) -> Option<NamePart> {
    match traced {
        Traced::Certain(part) => Some(part),
        Traced::Open(_) => None,
    }
}

/// What a computed name is computed from: what its expression reads and what was found to be read late; where neither is known,
/// whatever the function reads early.
fn computed_from(function: &Function, written: Option<Vec<Read>>, late: Vec<Read>) -> Vec<Read> {
    let mut reads = match written {
        Some(written) => written,
        None if !late.is_empty() => return late,
        None => function.reads.iter().filter(|read| !is_late(read)).cloned().collect(),
    };
    for read in late {
        if !reads.contains(&read) {
            reads.push(read);
        }
    }
    reads
}

/// Whether something is read that is not known with the root and the member.
fn is_late(read: &Read) -> bool {
    !matches!(read.input(), CoreInput::Root | CoreInput::Each | CoreInput::Whole)
}

/// An argument of which nothing can be known.
fn poisoned(function: &Function) -> Input {
    Input::Record(poisons(function))
}

fn poisons(function: &Function) -> BTreeMap<String, Input> {
    let read = function.reads.iter().filter_map(|read| read.path.first().map(String::as_str));
    let names = RESERVED_INPUTS.into_iter().chain(read);
    names.map(|name| (name.to_owned(), Input::Poison(format!("the.{name}")))).collect()
}

fn reads_from(function: &Function, what: &str) -> Vec<Read> {
    let name = what.strip_prefix("the.").unwrap_or(what);
    function
        .reads
        .iter()
        .filter(|read| read.path.join(".") == name || read.path.first().is_some_and(|first| first == name))
        .cloned()
        .collect()
}

/// An argument with texts in the place of what is read of the root and the member; all else cannot be known.
fn marked_input(function: &Function) -> Input {
    let mut inputs = poisons(function);
    for name in ["root", "each"] {
        let mut below: Vec<&[String]> = function
            .reads
            .iter()
            .filter(|read| read.path.first().is_some_and(|first| first == name) && read.path.len() > 1)
            .filter_map(|read| read.path.get(1..))
            .collect();
        // Helper functions that get the root as a whole read its name.
        let named = ["name", "namespace"].map(|field| ["metadata", field].map(str::to_owned));
        if name == "root" {
            below.extend(named.iter().map(<[String; 2]>::as_slice));
        }
        inputs.insert(name.to_owned(), marked(&below, &format!("the.{name}")));
    }
    Input::Record(inputs)
}

fn marked(reads: &[&[String]], name: &str) -> Input {
    let mut groups: BTreeMap<&str, Vec<&[String]>> = BTreeMap::new();
    for path in reads {
        match path {
            [first] => drop(groups.entry(first).or_default()),
            [first, rest @ ..] => groups.entry(first).or_default().push(rest),
            [] => {}
        }
    }
    if groups.is_empty() {
        return Input::Poison(name.to_owned());
    }
    let fields = groups.into_iter().map(|(field, below)| {
        let value = match below.as_slice() {
            [] => Input::Json(Value::String("x".to_owned())),
            below => marked(below, &format!("{name}.{field}")),
        };
        (field.to_owned(), value)
    });
    Input::Record(fields.collect())
}
