//! What a failed evaluation may say where its input may be a secret: what went wrong and where, never which value.
//!
//! An author's own message is told if it is written in the blueprint or the library exactly so: then nothing of the input was
//! put into it.

use nickel_lang_core::error::{Error, EvalErrorKind};
use nickel_lang_core::eval::callstack::StackElem;
use nickel_lang_core::identifier::LocIdent;
use pemdas_core::diagnostic::{Diagnostic, Span};
use serde_json::Value;

use super::files::FileTable;
use crate::library::is_library_file;
use crate::sources::Sources;

/// What may be told of a failure.
#[derive(Debug, Clone)]
pub(super) struct Told {
    code: &'static str,
    what: String,
    /// The name in it, if there is one: a program can make names of data.
    name: Option<String>,
    /// A text of the program that may hold anything.
    message: Option<String>,
    /// The field that was read and is not there.
    missing: Option<MissingField>,
    /// Whether data does not fit a contract, as opposed to a program that cannot be evaluated.
    pub(super) contract: bool,
    /// Where the program was, for what has no place of its own.
    around: Option<Span>,
    place: Option<(String, usize)>,
}

#[derive(Debug, Clone)]
struct MissingField {
    field: String,
    /// The fields that are there, sorted.
    present: Vec<String>,
    /// Where it was read.
    read: Option<Span>,
}

impl Told {
    pub(super) fn of(error: &Error, files: &FileTable) -> Self {
        let mut told = Self {
            code: super::errors::code_of(error),
            what: "the evaluation failed".to_owned(),
            name: None,
            message: None,
            missing: None,
            contract: false,
            around: None,
            place: None,
        };
        let data = match error {
            Error::EvalError(data) => data,
            Error::ExportError(_) => {
                "the result is not data".clone_into(&mut told.what);
                return told;
            }
            _ => return told,
        };
        told.what = what_of(&data.error);
        told.name = named(&data.error).map(name);
        let own = |span: &Span| !is_library_file(&span.file);
        told.around = data.ctxt.call_stack.0.iter().rev().find_map(|elem| {
            let at = match elem {
                StackElem::Field { pos_access, .. } => *pos_access,
                StackElem::Var { pos, .. } | StackElem::Fun(pos) | StackElem::App(pos) => *pos,
            };
            files.of_idx(&data.ctxt.pos_table, at).filter(own)
        });
        match &data.error {
            EvalErrorKind::BlameError { label, .. } => {
                told.contract = true;
                told.message = label.diagnostics.last().and_then(|it| it.message.clone());
            }
            EvalErrorKind::MissingFieldDef { .. } => told.contract = true,
            EvalErrorKind::FieldMissing { id, field_names, pos_record, pos_op, .. } => {
                let table = &data.ctxt.pos_table;
                // What is written in a file is not the input.
                if files.of_idx(table, *pos_record).is_none() {
                    let mut present: Vec<String> = field_names.iter().map(name).collect();
                    present.sort_unstable();
                    let read = files.of_idx(table, *pos_op);
                    told.missing = Some(MissingField { field: name(id), present, read });
                }
            }
            EvalErrorKind::Other(text, _) => match twice(text) {
                Some(field) => {
                    told.what = format!("a record gets the field `{field}` twice");
                    told.name = Some(field.to_owned());
                }
                None => told.message = Some(text.clone()),
            },
            _ => {}
        }
        told
    }

    /// With the place in the author's files, if there is one.
    pub(super) fn at(mut self, diagnostics: &[Diagnostic], sources: &Sources) -> Self {
        let labels = || diagnostics.iter().flat_map(|it| &it.labels).map(|label| &label.span);
        let own = labels().find(|span| !is_library_file(&span.file)).or(self.around.as_ref());
        self.place = own.or_else(|| labels().next()).map(|span| {
            let before = sources.get(&span.file).and_then(|text| text.get(..span.start as usize));
            let line = before.map_or(0, |before| before.matches('\n').count()) + 1;
            (span.file.clone(), line)
        });
        self
    }

    /// The whole sentence, for a failure of what is at this path.
    pub(super) fn sentence(&self, path: &[String], input: &Value, sources: &Sources) -> String {
        let what = match &self.name {
            Some(name) if holds(input, name) => self.what.replace(name.as_str(), "…"),
            _ => self.what.clone(),
        };
        let mut text = format!("{}: {what}", path.join("."));
        if let Some(message) = self.message.as_deref().filter(|it| is_written(it, input, sources)) {
            text.push_str(": ");
            text.push_str(message);
        }
        match &self.place {
            Some((file, line)) => text.push_str(&format!(" ({file}:{line}, {})", self.code)),
            None => text.push_str(&format!(" ({})", self.code)),
        }
        text
    }

    /// The path in the input of the field that was read and is not there; none if the input is not at fault.
    pub(super) fn missing(&self, input: &Value, sources: &Sources) -> Option<Vec<String>> {
        let missing = self.missing.as_ref()?;
        let mut found = Vec::new();
        places_of(input, missing, &mut Vec::new(), &mut found);
        // Where several records have the same fields, the words of the program decide.
        let read = missing.read.as_ref().and_then(|span| {
            sources.get(&span.file).and_then(|text| text.get(span.start as usize..span.end as usize))
        });
        let at = read.and_then(|read| {
            let words: Vec<&str> = read.split('.').map(str::trim).collect();
            found.iter().position(|path: &Vec<String>| {
                let tail = words.get(1..).unwrap_or_default();
                !tail.is_empty() && path.iter().map(String::as_str).collect::<Vec<_>>().ends_with(tail)
            })
        });
        let at = at.unwrap_or(0);
        let mut path = (at < found.len()).then(|| found.swap_remove(at))?;
        if holds(input, &missing.field) {
            path.pop();
            path.push("…".to_owned());
        }
        Some(path)
    }
}

/// How many records of an input are compared with the one that lacks a field.
const MAX_FOUND: usize = 100;

/// Where in the input are records with these fields, and what the missing one would be called there.
fn places_of(value: &Value, missing: &MissingField, at: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if found.len() >= MAX_FOUND {
        return;
    }
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            if names.iter().copied().eq(missing.present.iter()) {
                found.push(at.iter().cloned().chain([missing.field.clone()]).collect());
            }
            for (name, field) in fields {
                at.push(name.clone());
                places_of(field, missing, at, found);
                at.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push(index.to_string());
                places_of(item, missing, at, found);
                at.pop();
            }
        }
        _ => {}
    }
}

/// The name that is told of an error.
fn named(error: &EvalErrorKind) -> Option<&LocIdent> {
    match error {
        EvalErrorKind::BlameError { label, .. } => label.field_name.as_ref(),
        EvalErrorKind::MissingFieldDef { id, .. }
        | EvalErrorKind::FieldMissing { id, .. }
        | EvalErrorKind::UnboundIdentifier(id, _)
        | EvalErrorKind::QueryNonRecord { id, .. } => Some(id),
        _ => None,
    }
}

/// The field that was inserted into a record that has it. The evaluator has no kind of error for this.
fn twice(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("tried to extend a record with the field ")?;
    rest.strip_suffix(", but it already exists")
}

fn name(id: &LocIdent) -> String {
    id.label().to_owned()
}

/// Whether a text is written so, as a string of its own, in the files; and is not itself a string of the input.
fn is_written(text: &str, input: &Value, sources: &Sources) -> bool {
    let quoted = Value::from(text).to_string();
    let in_library = || crate::library::LIBRARY.iter().any(|file| file.text.contains(&quoted));
    !text.is_empty()
        && (sources.iter().any(|(_, file)| file.contains(&quoted)) || in_library())
        && !holds(input, text)
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own == text,
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(fields) => fields.values().any(|field| holds(field, text)),
        _ => false,
    }
}

/// What happened, from its kind and from names only.
fn what_of(error: &EvalErrorKind) -> String {
    match error {
        EvalErrorKind::BlameError { label, .. } => match &label.field_name {
            Some(field) => format!("`{}` does not fit its contract", field.label()),
            None => "a value does not fit its contract".to_owned(),
        },
        EvalErrorKind::IllegalPolymorphicTailAccess { .. } => "a value does not fit its contract".to_owned(),
        EvalErrorKind::MissingFieldDef { id, .. } => format!("`{}` has no value", id.label()),
        EvalErrorKind::FieldMissing { id, .. } => format!("the field `{}` is missing", id.label()),
        EvalErrorKind::TypeError { expected, .. } => format!("a value is not of type {expected}"),
        EvalErrorKind::UnaryPrimopTypeError { primop, expected, .. } => {
            format!("`{primop}` is given something else than {expected}")
        }
        EvalErrorKind::NAryPrimopTypeError { primop, expected, arg_number, .. } => {
            format!("`{primop}` is given something else than {expected} as argument {arg_number}")
        }
        EvalErrorKind::NotAFunc(..) => "what is called is not a function".to_owned(),
        EvalErrorKind::NotEnoughArgs(..) => "a function is given too few arguments".to_owned(),
        EvalErrorKind::MergeIncompatibleArgs { .. } => "two values cannot be merged".to_owned(),
        EvalErrorKind::UnboundIdentifier(id, _) => format!("`{}` is not defined", id.label()),
        EvalErrorKind::InfiniteRecursion(..) => "a value needs itself".to_owned(),
        EvalErrorKind::DeserializationError(format, ..) => format!("a text is not {format}"),
        EvalErrorKind::IncomparableValues { .. } => "two values cannot be compared".to_owned(),
        EvalErrorKind::NonExhaustiveEnumMatch { .. }
        | EvalErrorKind::NonExhaustiveMatch { .. }
        | EvalErrorKind::FailedDestructuring { .. } => "a value fits none of the patterns".to_owned(),
        EvalErrorKind::QueryNonRecord { id, .. } => {
            format!("`{}` is read of something that is not a record", id.label())
        }
        _ => "the evaluation failed".to_owned(),
    }
}
