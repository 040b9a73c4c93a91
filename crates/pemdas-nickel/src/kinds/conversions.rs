//! Conversions between versions: each is tried, there and back, on objects made from the contracts.
//!
//! A function yields the object of the other version, or those parts of it that it changes: labels, annotations and status that it says
//! nothing of are carried over. Everything else of the metadata is not a conversion's to change.

mod smaller;

use pemdas_core::blueprint::Blueprint;
use pemdas_core::crd::{KindDraft, Schema, VersionDraft, codes, samples, to_json};
use pemdas_core::diagnostic::Diagnostic;
use serde_json::{Map, Value, json};

use super::Drafts;
use crate::evaluator::Evaluator;
use crate::request::{Failure, Input, Place};

/// How many objects each conversion is tried on.
const OBJECTS: usize = 24;
/// How many of them have no status.
const OBJECTS_WITHOUT_STATUS: usize = 2;

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

/// What is wrong with a conversion, on one object.
struct Trouble {
    code: &'static str,
    message: String,
    notes: Vec<String>,
}

impl Pair<'_> {
    fn check(self, one: Named<'_>, stored: Named<'_>) {
        let ways = [(one, stored), (stored, one)];
        if ways.iter().any(|(from, to)| !self.has(from.0, to.0)) {
            let same = |a: &Schema, b: &Schema| to_json(a) == to_json(b);
            if !same(&one.1.spec, &stored.1.spec) || !same(&one.1.status, &stored.1.status) {
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

    /// The smallest object found that does not come back as it was, as a diagnostic.
    fn round_trip(&self, from: Named<'_>, to: Named<'_>) -> Option<Diagnostic> {
        let mut tried = 0;
        let statuses = samples(&from.1.status, OBJECTS);
        let specs = samples(&from.1.spec, OBJECTS);
        // A status comes after its object: the first ones have none.
        let tries = specs.len().max(statuses.len() + OBJECTS_WITHOUT_STATUS);
        for (index, spec) in specs.iter().cycle().take(tries).enumerate() {
            let status = index.checked_sub(OBJECTS_WITHOUT_STATUS).and_then(|index| statuses.get(index));
            let mut parts = Map::from_iter([("spec".to_owned(), spec.clone())]);
            parts.extend(status.map(|status| ("status".to_owned(), status.clone())));
            // What the contract refuses is not converted either; defaults are filled as the API server does.
            let Some(object) = self.object(from, parts) else { continue };
            tried += 1;
            let Err(trouble) = self.one_trip(from, to, &object) else { continue };
            let smaller = smaller::object(&object, &mut |parts| {
                let object = self.object(from, parts)?;
                let same = |other: &Trouble| other.code == trouble.code;
                self.one_trip(from, to, &object).is_err_and(|other| same(&other)).then_some(object)
            });
            let trouble = self.one_trip(from, to, &smaller).err().unwrap_or(trouble);
            let told = Diagnostic::error(trouble.code, trouble.message).at(from.1.span.clone(), "");
            return Some(trouble.notes.into_iter().fold(told, Diagnostic::note));
        }
        (tried == 0).then(|| {
            let message = format!(
                "the conversion from {} to {} was not tried: no object was found that {} accepts",
                from.0, to.0, from.0
            );
            Diagnostic::remark(codes::CONVERSION_FAILS, message).at(from.1.span.clone(), "")
        })
    }

    /// An object of a version with this spec and status; none if the contracts refuse it.
    fn object(&self, version: Named<'_>, parts: Map<String, Value>) -> Option<Value> {
        let metadata = json!({ "name": "sample", "namespace": "default" });
        self.whole(version, &metadata, parts).ok()
    }

    fn whole(
        &self,
        version: Named<'_>,
        metadata: &Value,
        mut parts: Map<String, Value>,
    ) -> Result<Value, Failure> {
        let mut object = json!({
            "apiVersion": format!("{}/{}", self.draft.group, version.0),
            "kind": self.draft.kind,
            "metadata": metadata,
        });
        let spec = parts.remove("spec").unwrap_or_else(|| json!({}));
        object["spec"] = self.evaluator.check(&self.place(version.0).field("spec"), &spec)?;
        if let Some(status) = parts.remove("status") {
            let contract = self.place(version.0).field("status");
            // Without a contract, a version has nothing of the author's in its status.
            let empty = version.1.status.as_record().is_some_and(|record| record.fields.is_empty());
            object["status"] = if empty { status } else { self.evaluator.check(&contract, &status)? };
        }
        Ok(object)
    }

    fn one_trip(&self, from: Named<'_>, to: Named<'_>, object: &Value) -> Result<(), Trouble> {
        let there = self.converted(from, to, object)?;
        let back = self.converted(to, from, &there)?;
        let Some(lost) = ["spec", "status"].into_iter().find_map(|part| {
            // No status is an empty one.
            let given = |object: &'_ Value| object.get(part).cloned().unwrap_or_else(|| json!({}));
            first_difference(Some(&given(object)), Some(&given(&back)), part)
        }) else {
            return Ok(());
        };
        Err(Trouble {
            code: codes::CONVERSION_LOSS,
            message: format!(
                "{} loses something from {} to {} and back: {lost}",
                self.draft.kind, from.0, to.0
            ),
            notes: vec![
                format!("the object: {}", shown(object)),
                format!("as {}: {}", to.0, shown(&there)),
                format!("and back: {}", shown(&back)),
            ],
        })
    }

    /// An object in another version, checked and filled by its contract.
    fn converted(&self, from: Named<'_>, to: Named<'_>, object: &Value) -> Result<Value, Trouble> {
        let function = self.place(from.0).field("convert").field(to.0);
        let failed = |what: &str, failure: &Failure| {
            let why = failure.diagnostics().first().map(|one| one.message.clone()).unwrap_or_default();
            let why =
                why.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(": ");
            Trouble {
                code: codes::CONVERSION_FAILS,
                message: format!(
                    "the conversion of {} from {} to {} {what}: {why}",
                    self.draft.kind, from.0, to.0
                ),
                notes: vec![format!("the object: {}", shown(object))],
            }
        };
        let result = self
            .evaluator
            .evaluate(&function.call([Input::Json(object.clone())]))
            .map_err(|failure| failed("fails", &failure))?;
        let mut metadata = object["metadata"].clone();
        for part in ["labels", "annotations"] {
            if let Some(said) = result.pointer(&format!("/metadata/{part}")) {
                metadata[part] = said.clone();
            }
        }
        let mut parts = Map::new();
        parts.insert("spec".to_owned(), result.get("spec").cloned().unwrap_or_else(|| json!({})));
        let status = result.get("status").or_else(|| object.get("status"));
        parts.extend(status.map(|status| ("status".to_owned(), status.clone())));
        self.whole(to, &metadata, parts)
            .map_err(|failure| failed("yields what that version refuses", &failure))
    }
}

/// What of an object is worth showing.
fn shown(object: &Value) -> String {
    let mut shown = Map::new();
    for part in ["labels", "annotations"] {
        if let Some(said) = object.pointer(&format!("/metadata/{part}")) {
            shown.insert(part.to_owned(), said.clone());
        }
    }
    for part in ["spec", "status"] {
        shown.extend(object.get(part).map(|value| (part.to_owned(), value.clone())));
    }
    Value::Object(shown).to_string()
}

/// Where two values differ first, and how; none if they do not.
fn first_difference(before: Option<&Value>, after: Option<&Value>, path: &str) -> Option<String> {
    match (before, after) {
        (None, None) => None,
        (Some(_), None) => Some(format!("{path} is gone")),
        (None, Some(_)) => Some(format!("{path} has come")),
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let names = before.keys().chain(after.keys());
            names.into_iter().find_map(|name| {
                first_difference(before.get(name), after.get(name), &format!("{path}.{name}"))
            })
        }
        (Some(before), Some(after)) => {
            (before != after).then(|| format!("{path} was {before}, and is {after}"))
        }
    }
}
