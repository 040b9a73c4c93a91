//! What is known of a node's object without an instance: its kind, and how its name is made.
//!
//! The function is called with inputs that nobody can know yet. `apiVersion` and `kind` have to come out all the
//! same. The name may read the root and the member's key: there stand marks, which are found again in the result
//! whatever helper functions it went through.

use std::collections::BTreeMap;

use pemdas_core::blueprint::{
    Function, NamePart, NameSegment, ObjectIdentity, RESERVED_INPUTS, Read, StaticText,
};
use pemdas_core::diagnostic::Diagnostic;
use serde_json::Value;

use super::outliner::{Outliner, Spot};
use super::trees::At;
use super::{codes, failures};
use crate::request::{Failure, Input, Kind, Place};
use crate::syntax::Expr;

/// A mark is the number of a read between these: characters that no name of an object can have.
const MARK_START: char = '\u{E000}';
const MARK_END: char = '\u{E001}';

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
        let marks = Marks::of(function);
        let place = spot.place.clone().call([marks.input(function)]);
        let paths: [&[&str]; 2] = if wanted.below_metadata {
            [&["metadata", "name"], &["metadata", "namespace"]]
        } else {
            [&["name"], &["namespace"]]
        };
        let Ok(results) = self.evaluator.select(&place, &paths) else {
            found.object.name = NamePart::Computed(marks.reads);
            return;
        };
        let holder = if wanted.below_metadata { place.field("metadata") } else { place };
        let holds = self.evaluator.look(&holder).map(|seen| seen.fields).unwrap_or_default();
        let mut parts = results.into_iter().zip(["name", "namespace"]).map(|(result, field)| {
            let given = holds.iter().any(|held| held.defined && held.name == field);
            if given { name_part(function, &marks, result) } else { NamePart::Missing }
        });
        let (name, namespace) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if name == NamePart::Missing && wanted.complete && !found.by_selector {
            let field = paths[0].join(".");
            let hint = "a name has to be the same each time: `generateName` cannot be used; `the.root.metadata.name` is a good start";
            self.incomplete(function, format!("`{}` yields no `{field}`", wanted.clause), hint);
        }
        found.object.name = name;
        found.object.namespace = namespace;
    }
}

fn name_part(function: &Function, marks: &Marks, result: Result<Value, Failure>) -> NamePart {
    match result {
        Ok(Value::String(text)) => marks.decode(&text),
        Ok(Value::Null) => NamePart::Missing,
        Err(Failure::Poisoned { what, .. }) => {
            let reads = reads_from(function, &what);
            NamePart::Computed(if reads.is_empty() { function.reads.clone() } else { reads })
        }
        // Made in a way that marks do not survive, such as arithmetic: all that can be said is what it reads.
        Ok(_) | Err(_) => NamePart::Computed(marks.reads.clone()),
    }
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

/// The reads that may make a name, each with a mark.
struct Marks {
    reads: Vec<Read>,
}

impl Marks {
    fn of(function: &Function) -> Self {
        let mut reads: Vec<Read> = Vec::new();
        for read in &function.reads {
            let names: Vec<&str> = read.path.iter().map(String::as_str).collect();
            let allowed = matches!(names.as_slice(), ["root" | "each", _, ..]);
            if allowed && !reads.iter().any(|known| known.path == read.path) {
                reads.push(read.clone());
            }
        }
        // Helper functions that get the root as a whole read its name.
        for field in ["name", "namespace"] {
            let path = ["root", "metadata", field].map(str::to_owned).to_vec();
            if !reads.iter().any(|known| known.path == path) {
                let whole = function.reads.iter().find(|read| path.starts_with(&read.path));
                let span = whole.map_or(&function.span, |read| &read.span).clone();
                reads.push(Read { path, span });
            }
        }
        Self { reads }
    }

    /// An argument with a mark for each of the reads; all else cannot be known.
    fn input(&self, function: &Function) -> Input {
        let mut inputs = poisons(function);
        for name in ["root", "each"] {
            let below: Vec<(usize, &[String])> = self
                .reads
                .iter()
                .enumerate()
                .filter(|(_, read)| read.path.first().is_some_and(|first| first == name))
                .filter_map(|(number, read)| Some((number, read.path.get(1..)?)))
                .collect();
            inputs.insert(name.to_owned(), marked(&below, &format!("the.{name}")));
        }
        Input::Record(inputs)
    }

    /// The pieces of a name in which marks stand for inputs.
    fn decode(&self, text: &str) -> NamePart {
        let mut segments = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(MARK_START) {
            let read = after
                .split_once(MARK_END)
                .and_then(|(number, after)| Some((self.reads.get(number.parse::<usize>().ok()?)?, after)));
            let Some((read, after)) = read else { return NamePart::Computed(self.reads.clone()) };
            if !before.is_empty() {
                segments.push(NameSegment::Text(before.to_owned()));
            }
            segments.push(NameSegment::Input(read.clone()));
            rest = after;
        }
        if rest.contains(MARK_END) {
            return NamePart::Computed(self.reads.clone());
        }
        if !rest.is_empty() || segments.is_empty() {
            segments.push(NameSegment::Text(rest.to_owned()));
        }
        NamePart::Pattern(segments)
    }
}

fn marked(reads: &[(usize, &[String])], name: &str) -> Input {
    if let [(number, [])] = reads {
        return Input::Json(Value::String(format!("{MARK_START}{number}{MARK_END}")));
    }
    let mut groups: BTreeMap<&str, Vec<(usize, &[String])>> = BTreeMap::new();
    for (number, path) in reads {
        if let [first, rest @ ..] = path {
            groups.entry(first).or_default().push((*number, rest));
        }
    }
    if groups.is_empty() {
        return Input::Poison(name.to_owned());
    }
    let fields = groups.into_iter().map(|(field, below)| {
        let deeper: Vec<_> = below.iter().copied().filter(|(_, path)| !path.is_empty()).collect();
        let below =
            if deeper.is_empty() { below.get(..1).map(<[_]>::to_vec).unwrap_or_default() } else { deeper };
        (field.to_owned(), marked(&below, &format!("{name}.{field}")))
    });
    Input::Record(fields.collect())
}
