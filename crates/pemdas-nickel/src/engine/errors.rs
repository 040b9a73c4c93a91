//! Errors of the evaluator as diagnostics: spans in the author's files, its notes and hints kept, all texts bounded.

use codespan_reporting::diagnostic::{Diagnostic as Raw, LabelStyle, Severity as RawSeverity};
use nickel_lang_core::error::{Error, EvalErrorKind, IntoDiagnostics as _};
use nickel_lang_core::eval::callstack::{CallStack, StackElem};
use nickel_lang_core::files::{FileId, Files};
use nickel_lang_core::position::PosTable;
use pemdas_core::diagnostic::{Diagnostic, Label, Severity, Span};

use super::Engine;
use super::meter::Stop;
use super::placed::IN_THE_DATA;
use super::plain_words::Told;
use crate::codes;
use crate::request::{Failure, Kill};

/// How many diagnostics of one failure are told.
pub(crate) const MAX_DIAGNOSTICS: usize = 50;
/// How many places and notes a diagnostic has at most.
const MAX_PARTS: usize = 12;
/// What the message of a poison starts with. No program can make an error that starts with a zero byte.
pub(crate) const POISON: &str = "\0poison:";

impl Engine {
    /// Why an evaluation failed.
    pub(super) fn failure(&mut self, error: Error) -> Failure {
        if let Some(stop) = self.meter.stopped() {
            return match stop {
                Stop::Fuel => Failure::FuelExhausted { fuel: self.meter.given() },
                Stop::Time => Failure::Killed { why: Kill::Time },
                Stop::Memory => Failure::Killed { why: Kill::Memory },
            };
        }
        if let Error::EvalError(data) = &error
            && let EvalErrorKind::Other(text, _) = &data.error
            && let Some(what) = text.strip_prefix(POISON)
        {
            let span = self.last_read(&data.ctxt.call_stack, &data.ctxt.pos_table);
            return Failure::Poisoned { what: what.to_owned(), span };
        }
        let told = (!self.quote_values).then(|| Told::of(&error, &self.files));
        let mut diagnostics = self.diagnostics_of(error);
        self.told = told.map(|told| told.at(&diagnostics, &self.sources));
        if diagnostics.is_empty() {
            diagnostics.push(Diagnostic::error(codes::EVALUATION, "the evaluation failed"));
        }
        Failure::Failed { diagnostics }
    }

    /// The diagnostics of an error.
    pub(super) fn diagnostics_of(&self, error: Error) -> Vec<Diagnostic> {
        let code = code_of(&error);
        let mut files = self.ctx.import_resolver.sources.files.clone();
        let raw = error.into_diagnostics(&mut files);
        let mut told: Vec<Diagnostic> = Vec::new();
        for raw in raw.into_iter().take(MAX_DIAGNOSTICS) {
            let next = self.diagnostic(raw, code, &files);
            // The evaluator tells its call stack as notes of their own: they belong to the error before them.
            match told.last_mut() {
                Some(last) if next.severity == Severity::Note => {
                    last.notes.extend(std::iter::once(next.message).chain(next.notes));
                    last.labels
                        .extend(next.labels.into_iter().map(|label| Label { primary: false, ..label }));
                    last.labels.truncate(MAX_PARTS);
                    last.notes.retain(|note| !note.trim().is_empty());
                    last.notes.truncate(MAX_PARTS);
                }
                _ => told.push(next),
            }
        }
        told
    }

    fn diagnostic(&self, raw: Raw<FileId>, code: &str, files: &Files) -> Diagnostic {
        // Which file it was is said by the label, with the name that people know it by.
        let message = raw.message.split(" when parsing ").next().unwrap_or_default();
        let mut diagnostic = Diagnostic::error(code, self.bounded(message));
        diagnostic.severity = match raw.severity {
            RawSeverity::Bug | RawSeverity::Error => Severity::Error,
            RawSeverity::Warning => Severity::Warning,
            RawSeverity::Note | RawSeverity::Help => Severity::Note,
        };
        for label in raw.labels.into_iter().take(MAX_PARTS) {
            let message = self.bounded(&label.message);
            let placed = self.placed.as_ref();
            if let Some(path) =
                placed.and_then(|placed| placed.path(label.file_id, label.range.start, label.range.end))
            {
                let note = self.bounded(&format!("{IN_THE_DATA}{path}"));
                if !diagnostic.notes.contains(&note) {
                    diagnostic.notes.push(note);
                }
                continue;
            }
            match self.files.name(label.file_id) {
                Some(file) => diagnostic.labels.push(Label {
                    span: Span {
                        file: file.to_owned(),
                        start: u32::try_from(label.range.start).unwrap_or(u32::MAX),
                        end: u32::try_from(label.range.end).unwrap_or(u32::MAX),
                    },
                    message,
                    primary: label.style == LabelStyle::Primary,
                }),
                // A place in the evaluator's own library helps nobody; a value that it printed is quoted, unless it may be
                // somebody's data.
                None if files.is_stdlib(label.file_id) || !self.quote_values => {}
                None => {
                    let quoted = files.source(label.file_id).get(label.range).unwrap_or_default();
                    let quoted = self.bounded(quoted.trim());
                    if !quoted.is_empty() {
                        diagnostic.notes.push(format!("{message}: {quoted}"));
                    }
                }
            }
        }
        diagnostic.labels.sort_by_key(|label| !label.primary);
        let notes = raw.notes.iter().filter(|note| !note.trim().is_empty()).take(MAX_PARTS);
        diagnostic.notes.extend(notes.map(|note| self.bounded(note)));
        diagnostic
    }

    /// A text that cannot be used to flood anything.
    pub(super) fn bounded(&self, text: &str) -> String {
        let max = usize::try_from(self.limits.text_bytes).unwrap_or(usize::MAX);
        let text = text.replace(super::files::ROOT, "");
        if text.len() <= max {
            return text;
        }
        let mut end = max;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        format!("{}…", text.get(..end).unwrap_or_default())
    }

    /// Where the evaluator last read something that is written in a file.
    fn last_read(&self, stack: &CallStack, table: &PosTable) -> Option<Span> {
        stack.0.iter().rev().find_map(|elem| match elem {
            StackElem::Field { pos_access, .. } => self.files.of_idx(table, *pos_access),
            StackElem::Var { pos, .. } => self.files.of_idx(table, *pos),
            StackElem::Fun(_) | StackElem::App(_) => None,
        })
    }
}

pub(super) fn code_of(error: &Error) -> &'static str {
    match error {
        Error::ParseErrors(_) => codes::SYNTAX,
        Error::TypecheckError(_) => codes::TYPES,
        Error::ImportError(_) | Error::IOError(_) => codes::IMPORT,
        Error::ExportError(_) => codes::NOT_DATA,
        Error::ReplError(_) => codes::EVALUATION,
        Error::EvalError(data) => match &data.error {
            EvalErrorKind::BlameError { .. } | EvalErrorKind::IllegalPolymorphicTailAccess { .. } => {
                codes::CONTRACT
            }
            EvalErrorKind::MissingFieldDef { .. } | EvalErrorKind::FieldMissing { .. } => {
                codes::MISSING_FIELD
            }
            EvalErrorKind::InfiniteRecursion(..) => codes::RECURSION,
            EvalErrorKind::ParseError(_) => codes::SYNTAX,
            _ => codes::EVALUATION,
        },
    }
}
