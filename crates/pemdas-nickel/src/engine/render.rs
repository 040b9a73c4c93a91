//! Many functions of a blueprint in one request: what the core asks in one pass.

use nickel_lang_core::eval::value::{Container, NickelValue, ValueContentRef};
use nickel_lang_core::identifier::LocIdent;
use nickel_lang_core::term::make;
use pemdas_core::evaluate::{Answer as Rendered, Form};
use serde_json::{Map, Value};

use super::Engine;
use crate::codes;
use crate::request::{Failure, Input, Kill, Kind, Place, RenderCall};

/// How many bytes of results one answer holds at most before the rest is left for the next request.
const ENOUGH_BYTES: usize = 8 << 20;
/// What an identity consists of.
const IDENTITY: [&str; 2] = ["name", "namespace"];
/// Clauses whose functions see a live object and not `the`.
const OF_LIVE_OBJECTS: [&str; 2] = ["extract", "result"];

impl Engine {
    /// Answers as many calls as the time of one request allows, at least one.
    pub(super) fn render(&mut self, calls: &[RenderCall]) -> Result<Vec<Rendered>, Failure> {
        let mut answers = Vec::with_capacity(calls.len());
        let mut bytes = 0;
        for call in calls {
            self.refuel();
            self.told = None;
            let answer = match self.rendered(call) {
                Ok(answer) => {
                    if let Rendered::Value(value) | Rendered::Partial(value, _) = &answer {
                        bytes += weight(value);
                    }
                    answer
                }
                // The next request has fresh time and memory; the one that used them up alone is told so.
                Err(Failure::Killed { .. }) if !answers.is_empty() => break,
                Err(Failure::Killed { why: Kill::Time }) => {
                    answers
                        .push(crate::renderer::answer_of(&call.path, &Failure::Killed { why: Kill::Time }));
                    break;
                }
                Err(failure @ (Failure::Killed { .. } | Failure::Unavailable { .. })) => return Err(failure),
                Err(failure) => self.explained(call, &failure),
            };
            answers.push(answer);
            if bytes > ENOUGH_BYTES {
                break;
            }
        }
        Ok(answers)
    }

    fn rendered(&mut self, call: &RenderCall) -> Result<Rendered, Failure> {
        match call.form {
            Form::Contract => {
                return Ok(Rendered::Value(match self.fits(call)? {
                    Ok(_) => Value::Bool(true),
                    Err(why) => Value::String(why),
                }));
            }
            Form::Admitted => {
                return Ok(match self.fits(call)? {
                    Ok(filled) => Rendered::Value(filled),
                    Err(why) => Rendered::Error(why),
                });
            }
            Form::Whole | Form::Identity | Form::Fields => {}
        }
        let place = Place::at(call.path.iter().map(String::as_str)).call([Input::Json(call.input.clone())]);
        let value = self.resolve(&place)?;
        let rendered = match call.form {
            Form::Identity => {
                let record = self.kept(value)?;
                let metadata = make::static_access(record, [LocIdent::from("metadata")]);
                self.fields_alone(metadata, Some(&IDENTITY), None).map(|(fields, _)| fields)
            }
            Form::Fields => {
                let (fields, failed) = self.fields_alone(value, None, Some(call))?;
                return Ok(match failed {
                    Some(why) => Rendered::Partial(fields, why),
                    None => Rendered::Value(fields),
                });
            }
            _ => self.export(value),
        };
        rendered.map(Rendered::Value)
    }

    /// The fields of a record, each evaluated by itself. Nothing else of it is evaluated. Where some may fail, `call` is
    /// what they answer: then why the first of them does, unless something that it reads is missing.
    fn fields_alone(
        &mut self,
        record: NickelValue,
        only: Option<&[&str]>,
        call: Option<&RenderCall>,
    ) -> Result<(Value, Option<String>), Failure> {
        let record = self.kept(record)?;
        let names: Vec<LocIdent> = match self.whnf(record.clone())?.value.content_ref() {
            ValueContentRef::Record(Container::Alloc(data)) => {
                let told = data
                    .fields
                    .iter()
                    .filter(|(_, field)| field.value.is_some() && !field.metadata.not_exported());
                told.map(|(name, _)| *name).collect()
            }
            ValueContentRef::Record(Container::Empty) => Vec::new(),
            _ => {
                let message = "the result is not a record";
                return Err(Failure::of(pemdas_core::diagnostic::Diagnostic::error(
                    codes::NOT_DATA,
                    message,
                )));
            }
        };
        let (mut fields, mut failed) = (Map::new(), None);
        for name in names {
            if only.is_some_and(|only| !only.contains(&name.label())) {
                continue;
            }
            match self.export(make::static_access(record.clone(), [name])) {
                Ok(value) => {
                    fields.insert(name.label().to_owned(), value);
                }
                Err(failure) if failure.is_transient() => return Err(failure),
                // What cannot be evaluated is left out. Out of fuel, so is everything after it.
                Err(failure) => match call.map(|call| self.explained(call, &failure)) {
                    None => return Err(failure),
                    Some(Rendered::Error(why)) if failed.is_none() => {
                        failed = Some(format!("{}: {why}", name.label()));
                    }
                    Some(_) => {}
                },
            }
        }
        Ok((Value::Object(fields), failed))
    }

    /// The input with a contract applied, or why it does not fit.
    fn fits(&mut self, call: &RenderCall) -> Result<Result<Value, String>, Failure> {
        let place = self.place_of(&call.path)?;
        match self.check(&place, &call.input) {
            Ok(filled) => Ok(Ok(filled)),
            Err(Failure::Failed { diagnostics }) if self.told.as_ref().is_some_and(|told| told.contract) => {
                let told = self.told.take();
                let sentence = told.map(|it| it.sentence(&call.path, &call.input, &self.sources));
                let part = diagnostics.iter().flat_map(|it| &it.notes).find_map(|note| {
                    note.strip_prefix(super::placed::IN_THE_DATA).filter(|part| !part.contains(' '))
                });
                let sentence = sentence.unwrap_or_default();
                Ok(Err(match part {
                    Some(part) => format!("{part}: {sentence}"),
                    None => sentence,
                }))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The place of a path in which a number may lead into a list.
    fn place_of(&mut self, path: &[String]) -> Result<Place, Failure> {
        let mut place = Place::root();
        for name in path {
            let index = name.parse::<usize>().ok();
            place = match index {
                Some(index) if self.look(&place)?.kind == Kind::Array => place.index(index),
                _ => place.field(name),
            };
        }
        Ok(place)
    }

    /// A failure in words that quote nothing of the input.
    fn explained(&mut self, call: &RenderCall, failure: &Failure) -> Rendered {
        let (Some(told), Failure::Failed { .. }) = (self.told.take(), failure) else {
            return crate::renderer::answer_of(&call.path, failure);
        };
        if let Some(mut path) = told.missing(&call.input, &self.sources) {
            let of_live = call.path.last().is_some_and(|last| OF_LIVE_OBJECTS.contains(&last.as_str()));
            if !of_live {
                path.insert(0, "the".to_owned());
            }
            return Rendered::Missing(path.join("."));
        }
        Rendered::Error(told.sentence(&call.path, &call.input, &self.sources))
    }
}

/// About how many bytes a value has as JSON.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, field)| name.len() + 4 + weight(field)).sum::<usize>()
        }
    }
}
