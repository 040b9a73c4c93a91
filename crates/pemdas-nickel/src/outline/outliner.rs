//! The state of outlining a blueprint: whom to ask, where things are written, and what was found wrong.

use pemdas_core::blueprint::{Function, Read};
use pemdas_core::diagnostic::{Diagnostic, Span};
use serde_json::Value;

use super::lints::FieldsOfKinds;
use super::plain::plain_of;
use super::reads::reads_of;
use super::trees::{At, Trees};
use super::{codes, failures};
use crate::evaluator::Evaluator;
use crate::library::{LIBRARY, is_library_file};
use crate::request::{Failure, FieldSeen, Kind, Place, Seen};
use crate::syntax::Expr;

/// A place in the blueprint: the names that lead there, for the core; and the way, for the evaluator.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) path: Vec<String>,
    pub(super) place: Place,
}

impl Spot {
    pub(super) fn root() -> Self {
        Self { path: Vec::new(), place: Place::root() }
    }

    pub(super) fn field(&self, name: &str) -> Self {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Self { path, place: self.place.clone().field(name) }
    }

    pub(super) fn index(&self, index: usize) -> Self {
        let mut path = self.path.clone();
        path.push(index.to_string());
        Self { path, place: self.place.clone().index(index) }
    }
}

/// Outlines one blueprint.
pub(super) struct Outliner<'e> {
    pub(super) evaluator: &'e dyn Evaluator,
    pub(super) trees: &'e Trees<'e>,
    /// The blueprint as a whole.
    pub(super) whole: Span,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// What is known of the fields of owned kinds.
    pub(super) fields_of_kinds: FieldsOfKinds,
}

impl<'e> Outliner<'e> {
    /// Where a path is written: its last name, or the nearest name on the way to it.
    pub(super) fn span_of(&self, path: &[String]) -> Span {
        let nearest = (1..=path.len()).rev().find_map(|length| self.trees.name_of(path.get(..length)?));
        nearest.unwrap_or_else(|| self.whole.clone())
    }

    /// Where the value of a path is written, else its name.
    pub(super) fn value_span_of(&self, path: &[String]) -> Span {
        let value = self.trees.value_of(path).and_then(|at| self.trees.span(at));
        value.unwrap_or_else(|| self.span_of(path))
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports why something at a path cannot be had.
    pub(super) fn failed(&mut self, path: &[String], failure: &Failure) {
        let span = self.span_of(path);
        self.diagnostics.extend(failures::diagnostics(failure, &span));
    }

    /// Looks at a place; a failure is reported.
    pub(super) fn look(&mut self, spot: &Spot) -> Option<Seen> {
        match self.evaluator.look(&spot.place) {
            Ok(seen) => Some(seen),
            Err(failure) => {
                self.failed(&spot.path, &failure);
                None
            }
        }
    }

    /// The fields of a record that have a value; a failure, or something else than a record, is none.
    pub(super) fn fields(&mut self, spot: &Spot) -> Option<Vec<FieldSeen>> {
        let seen = self.look(spot)?;
        (seen.kind == Kind::Record).then(|| seen.fields.into_iter().filter(|field| field.defined).collect())
    }

    /// Reports a field that means nothing where it stands, unless the library has more to say about it.
    pub(super) fn unknown_field(&mut self, spot: &Spot, what: &str, known: &[&str]) {
        if self.look(spot).is_none() {
            return;
        }
        let name = spot.path.last().map_or("", String::as_str);
        let span = self.span_of(&spot.path);
        self.report(
            Diagnostic::error(codes::UNKNOWN_CLAUSE, format!("{what} has no `{name}`"))
                .at(span, "")
                .hint(suggestion(name, known)),
        );
    }

    /// A value as data; a failure is reported.
    pub(super) fn value(&mut self, spot: &Spot) -> Option<Value> {
        match self.evaluator.evaluate(&spot.place) {
            Ok(value) => Some(value),
            Err(failure) => {
                self.failed(&spot.path, &failure);
                None
            }
        }
    }

    /// A string; a failure is reported, anything else is what the library's contracts have refused already.
    pub(super) fn text(&mut self, spot: &Spot) -> Option<String> {
        self.value(spot)?.as_str().map(str::to_owned)
    }

    /// True or false.
    pub(super) fn flag(&mut self, spot: &Spot) -> Option<bool> {
        self.value(spot)?.as_bool()
    }

    /// The function at a place, with what it reads.
    pub(super) fn function(&mut self, spot: &Spot) -> Option<Function> {
        let seen = self.look(spot)?;
        (seen.kind == Kind::Function).then(|| self.function_seen(spot, seen.span.as_ref()))
    }

    /// A function that was looked at already.
    pub(super) fn function_seen(&self, spot: &Spot, seen_at: Option<&Span>) -> Function {
        let literal = self.literal_of(spot, seen_at);
        let span =
            literal.and_then(|at| self.trees.span(at)).unwrap_or_else(|| self.value_span_of(&spot.path));
        // Only of the literal itself: what wraps it may do more.
        let bare = seen_at.and_then(|it| self.trees.function_at(it));
        // What the library wraps gets the argument as it is.
        let of_library = seen_at.filter(|it| is_library_file(&it.file));
        let wrapped = || of_library.and_then(|_| self.trees.function_of(&spot.path));
        let reads = match bare.or_else(wrapped) {
            Some(at) => reads_of(self.trees, at),
            None if of_library.is_some_and(is_constant) => Vec::new(),
            // Made by something that cannot be followed: it may read anything.
            None => vec![Read { path: Vec::new(), span: span.clone() }],
        };
        let plain = bare.and_then(|at| plain_of(self.trees, at));
        Function { path: spot.path.clone(), span, reads, plain }
    }

    /// The function literal that a place is defined as.
    pub(super) fn literal_of(&self, spot: &Spot, seen_at: Option<&Span>) -> Option<At<'e>> {
        if let Some(at) = seen_at.and_then(|span| self.trees.function_at(span)) {
            return Some(at);
        }
        let views = self.trees.views(self.trees.value_of(&spot.path)?);
        let only = views.as_slice();
        match only {
            [at] if matches!(self.trees.expr(*at), Some(Expr::Function { .. })) => Some(*at),
            _ => None,
        }
    }
}

/// Whether a function of the library is the one that stands for what is no function.
fn is_constant(span: &Span) -> bool {
    let text = LIBRARY.iter().find(|file| file.name == span.file).map(|file| file.text);
    let text = text.and_then(|text| text.get(span.start as usize..span.end as usize));
    text == Some("fun _the => value")
}

/// What may have been meant.
pub(super) fn suggestion(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(other) => format!("did you mean `{other}`?"),
        None => format!("there are: {}", known.join(", ")),
    }
}

/// The name that is so near that it may have been meant.
pub(super) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let nearest = known.iter().map(|other| (strsim::osa_distance(name, other), *other)).min();
    nearest.filter(|(distance, _)| *distance <= 1.max(name.len() / 3)).map(|(_, other)| other)
}
