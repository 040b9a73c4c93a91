//! Conversions between versions: each is tried, there and back, on objects made from the contracts.

use pemdas_core::blueprint::Blueprint;
use pemdas_core::crd::{KindDraft, VersionDraft, codes, samples, to_json};
use pemdas_core::diagnostic::{Diagnostic, Span};
use serde_json::{Value, json};

use super::Drafts;
use crate::evaluator::Evaluator;
use crate::request::{Failure, Input, Place};

/// How many objects each conversion is tried on.
const OBJECTS: usize = 24;

/// Checks the conversions between the versions of all kinds.
pub fn check(evaluator: &dyn Evaluator, blueprint: &Blueprint, drafts: &Drafts) -> Vec<Diagnostic> {
    let mut told = Vec::new();
    for draft in &drafts.kinds {
        if !blueprint.kinds.contains_key(&draft.kind) {
            continue;
        }
        let Some((stored, hub)) = draft.versions.iter().find(|(_, version)| version.stored) else { continue };
        for (name, version) in draft.versions.iter().filter(|(name, _)| *name != stored) {
            let both = Pair { evaluator, draft, told: &mut told };
            both.check((name, version), (stored, hub));
        }
    }
    told
}

/// A version and the one that is stored.
struct Pair<'a> {
    evaluator: &'a dyn Evaluator,
    draft: &'a KindDraft,
    told: &'a mut Vec<Diagnostic>,
}

type Named<'a> = (&'a String, &'a VersionDraft);

impl Pair<'_> {
    fn check(self, one: Named<'_>, stored: Named<'_>) {
        let ways = [(one, stored), (stored, one)];
        if ways.iter().any(|(from, to)| !self.has(from.0, to.0)) {
            if to_json(&one.1.spec) != to_json(&stored.1.spec) {
                let message = format!(
                    "{} {} and {} differ, and there is no conversion both ways",
                    self.draft.kind, one.0, stored.0
                );
                let hint = format!(
                    "write `versions.{}.convert.{}` and `versions.{}.convert.{}`",
                    one.0, stored.0, stored.0, one.0
                );
                self.told.push(
                    Diagnostic::error(codes::NO_CONVERSION, message).at(one.1.span.clone(), "").hint(hint),
                );
            }
            return;
        }
        for (from, to) in ways {
            if let Some(problem) = self.round_trip(from, to) {
                self.told.push(problem);
            }
        }
    }

    fn place(&self, version: &str) -> Place {
        Place::at(["kinds", &self.draft.kind, "versions", version])
    }

    fn has(&self, from: &str, to: &str) -> bool {
        self.evaluator.look(&self.place(from).field("convert").field(to)).is_ok()
    }

    /// The first object that does not come back as it was, as a diagnostic.
    fn round_trip(&self, from: Named<'_>, to: Named<'_>) -> Option<Diagnostic> {
        let mut tried = 0;
        for sample in samples(&from.1.spec, OBJECTS) {
            // What the contract refuses is not converted either; defaults are filled as the API server does.
            let Ok(spec) = self.evaluator.check(&self.place(from.0).field("spec"), &sample) else { continue };
            tried += 1;
            if let Err(problem) = self.one_trip(from, to, &spec) {
                return Some(*problem);
            }
        }
        (tried == 0).then(|| {
            let message = format!(
                "the conversion from {} to {} was not tried: no object was found that {} accepts",
                from.0, to.0, from.0
            );
            Diagnostic::remark(codes::CONVERSION_FAILS, message).at(from.1.span.clone(), "")
        })
    }

    fn one_trip(&self, from: Named<'_>, to: Named<'_>, spec: &Value) -> Result<(), Box<Diagnostic>> {
        let there = self.converted(from, to, spec)?;
        let back = self.converted(to, from, &there)?;
        if &back == spec {
            return Ok(());
        }
        let message = format!(
            "{} loses something from {} to {} and back: {}",
            self.draft.kind,
            from.0,
            to.0,
            first_difference(spec, &back, "spec")
        );
        Err(Box::new(
            Diagnostic::error(codes::CONVERSION_LOSS, message)
                .at(self.span(from), "")
                .note(format!("the object: {spec}"))
                .note(format!("as {}: {there}", to.0))
                .note(format!("and back: {back}")),
        ))
    }

    /// A spec in another version, checked and filled by its contract.
    fn converted(&self, from: Named<'_>, to: Named<'_>, spec: &Value) -> Result<Value, Box<Diagnostic>> {
        let object = json!({
            "apiVersion": format!("{}/{}", self.draft.group, from.0),
            "kind": self.draft.kind,
            "metadata": { "name": "sample", "namespace": "default" },
            "spec": spec,
        });
        let function = self.place(from.0).field("convert").field(to.0);
        let failed = |what: &str, failure: &Failure| {
            let why = failure.diagnostics().first().map(|one| one.message.clone()).unwrap_or_default();
            let message =
                format!("the conversion of {} from {} to {} {what}: {why}", self.draft.kind, from.0, to.0);
            Box::new(
                Diagnostic::error(codes::CONVERSION_FAILS, message)
                    .at(self.span(from), "")
                    .note(format!("the object: {spec}")),
            )
        };
        let result = self
            .evaluator
            .evaluate(&function.call([Input::Json(object)]))
            .map_err(|failure| failed("fails", &failure))?;
        let result = result.get("spec").cloned().unwrap_or_else(|| json!({}));
        self.evaluator
            .check(&self.place(to.0).field("spec"), &result)
            .map_err(|failure| failed("yields what that version refuses", &failure))
    }

    fn span(&self, version: Named<'_>) -> Span {
        version.1.span.clone()
    }
}

/// Where two values differ first, and how.
fn first_difference(before: &Value, after: &Value, path: &str) -> String {
    if let (Value::Object(before), Value::Object(after)) = (before, after) {
        for (name, value) in before {
            match after.get(name) {
                None => return format!("{path}.{name} is gone"),
                Some(other) if other != value => {
                    return first_difference(value, other, &format!("{path}.{name}"));
                }
                Some(_) => {}
            }
        }
        if let Some(name) = after.keys().find(|name| !before.contains_key(*name)) {
            return format!("{path}.{name} has come");
        }
    }
    format!("{path} was {before}, and is {after}")
}
