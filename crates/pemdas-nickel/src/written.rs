//! Data as somebody has written it: the value of a file, and where each part of it stands.

use std::collections::BTreeMap;

use pemdas_core::diagnostic::{Diagnostic, Span};
use pemdas_core::shape::SHAPE_TAG;
use serde_json::{Map, Value, json};

use crate::codes;
use crate::evaluator::Evaluator;
use crate::library::is_library_file;
use crate::request::{Failure, Kind, Place, Seen};

/// How deep data may be nested.
const MAX_DEPTH: usize = 60;
/// How many parts it may have.
const MAX_PARTS: usize = 50_000;
/// The name under which the library wraps a contract.
const FITS: &str = "fits";

/// The value of a file. A contract in it is `{ "~shape": "contract", "path": [...] }`, to be asked for by that path.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The file.
    pub file: String,
    /// The value.
    pub value: Value,
    /// Where parts of it are written, by the names and numbers that lead there.
    pub spans: BTreeMap<Vec<String>, Span>,
}

impl Written {
    /// Where a part is written, or the nearest one around it.
    #[must_use]
    pub fn span(&self, path: &[String]) -> Span {
        let nearest = (0..=path.len()).rev().find_map(|length| self.spans.get(path.get(..length)?));
        nearest.cloned().unwrap_or(Span { file: self.file.clone(), start: 0, end: 0 })
    }
}

/// Reads the value of a file.
///
/// # Errors
/// What is wrong with it.
pub fn written(evaluator: &dyn Evaluator, file: &str) -> Result<Written, Vec<Diagnostic>> {
    let mut reader = Reader { evaluator, parts: MAX_PARTS, spans: BTreeMap::new() };
    let value = reader.read(&Place::file(file), &mut Vec::new(), MAX_DEPTH)?;
    Ok(Written { file: file.to_owned(), value, spans: reader.spans })
}

/// The place of a contract that was found in data.
#[must_use]
pub fn place_of(file: &str, path: &[String]) -> Place {
    path.iter().fold(Place::file(file), |place, step| match step.parse() {
        Ok(index) => place.index(index),
        Err(_) => place.field(step),
    })
}

struct Reader<'e> {
    evaluator: &'e dyn Evaluator,
    parts: usize,
    spans: BTreeMap<Vec<String>, Span>,
}

impl Reader<'_> {
    fn read(
        &mut self,
        place: &Place,
        path: &mut Vec<String>,
        depth: usize,
    ) -> Result<Value, Vec<Diagnostic>> {
        let seen = self.evaluator.look(place).map_err(|failure| self.failed(path, &failure))?;
        if let Some(span) = seen.span.clone().filter(|it| !is_library_file(&it.file)) {
            self.spans.entry(path.clone()).or_insert(span);
        }
        let (Some(parts), Some(depth)) = (self.parts.checked_sub(1), depth.checked_sub(1)) else {
            return Err(self.refused(path, "this has too many parts, or is nested too deep"));
        };
        self.parts = parts;
        match seen.kind {
            Kind::Record => self.record(place, &seen, path, depth),
            Kind::Array => (0..seen.length.unwrap_or(0))
                .map(|index| {
                    path.push(index.to_string());
                    let item = self.read(&place.clone().index(index), path, depth);
                    path.pop();
                    item
                })
                .collect::<Result<Vec<_>, _>>()
                .map(Value::Array),
            Kind::Contract | Kind::Type => Ok(json!({ SHAPE_TAG: "contract", "path": path })),
            // Objects of a cluster hold strings; a tag can only mean the string of its name.
            Kind::Enum => Ok(Value::from(seen.tag)),
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => Ok(seen.scalar.unwrap_or(Value::Null)),
            Kind::Function | Kind::Other => Err(self.refused(path, "this is no data")),
        }
    }

    fn record(
        &mut self,
        place: &Place,
        seen: &Seen,
        path: &mut Vec<String>,
        depth: usize,
    ) -> Result<Value, Vec<Diagnostic>> {
        let mut record = Map::new();
        for field in seen.fields.iter().filter(|it| it.defined && !it.not_exported) {
            path.push(field.name.clone());
            if let Some(span) = field.span.clone().filter(|it| !is_library_file(&it.file)) {
                self.spans.insert(path.clone(), span);
            }
            let inner = place.clone().field(&field.name);
            let is_contract = field.name == "contract" && record.get(SHAPE_TAG).is_some_and(|it| it == FITS);
            let value = if is_contract { Ok(Value::Null) } else { self.read(&inner, path, depth) };
            path.pop();
            record.insert(field.name.clone(), value?);
        }
        if record.get(SHAPE_TAG).is_some_and(|it| it == FITS) {
            let contract: Vec<&str> = path.iter().map(String::as_str).chain(["contract"]).collect();
            return Ok(json!({ SHAPE_TAG: "contract", "path": contract }));
        }
        Ok(Value::Object(record))
    }

    fn failed(&self, path: &[String], failure: &Failure) -> Vec<Diagnostic> {
        let mut told = failure.diagnostics();
        for it in told.iter_mut().filter(|it| it.labels.is_empty()) {
            if let Some(span) = self.nearest(path) {
                *it = it.clone().at(span, "");
            }
        }
        told
    }

    fn refused(&self, path: &[String], message: &str) -> Vec<Diagnostic> {
        let told = Diagnostic::error(codes::NOT_DATA, message);
        vec![match self.nearest(path) {
            Some(span) => told.at(span, ""),
            None => told,
        }]
    }

    fn nearest(&self, path: &[String]) -> Option<Span> {
        (0..=path.len()).rev().find_map(|length| self.spans.get(path.get(..length)?).cloned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{place_of, written};
    use crate::{Evaluator as _, InProcess, Limits, Sources};

    #[test]
    fn data_knows_where_it_is_written() {
        let text = "let { fits, at_least, .. } = import \"pemdas/v1.ncl\" in\n{ a.b = [1, { c = 'Tag }], d = { is = fits { e | Number, .. }, n = at_least 2 } }";
        let sources = Sources::single("{}").with("parts/data.ncl", text);
        let evaluator = InProcess::load(&sources, &Limits::default()).unwrap();
        let found = written(&evaluator, "parts/data.ncl").unwrap();
        let contract = ["d", "is", "contract"].map(str::to_owned);
        let expected = json!({
            "a": { "b": [1, { "c": "Tag" }] },
            "d": {
                "is": { "~shape": "contract", "path": contract },
                "n": { "~shape": "at_least", "value": 2 },
            },
        });
        assert_eq!(found.value, expected);
        let at = |path: &[&str]| {
            let span = found.span(&path.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
            text.get(span.start as usize..span.end as usize).unwrap().to_owned()
        };
        assert_eq!(at(&["a", "b", "1", "c"]), "c");
        assert_eq!(at(&["a", "b", "0"]), "1");
        assert_eq!(at(&["d", "is", "nowhere"]), "is");
        let judged = |value| evaluator.check(&place_of("parts/data.ncl", &contract), &value);
        assert!(judged(json!({ "e": 1 })).is_ok() && judged(json!({ "e": "x" })).is_err());
    }

    #[test]
    fn what_is_no_data_is_told_with_its_place() {
        let evaluator = |text: &str| {
            let sources = Sources::single("{}").with("data.ncl", text);
            InProcess::load(&sources, &Limits::default()).unwrap()
        };
        for text in
            ["{ a = { b = fun x => x } }", "{ a = { b = 1 + \"x\" } }", "{ a = { b | Number = \"x\" } }"]
        {
            let told = written(&evaluator(text), "data.ncl").unwrap_err();
            assert_eq!(told[0].labels[0].span.file, "data.ncl", "{text}: {told:?}");
        }
    }
}
