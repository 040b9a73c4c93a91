//! Data with places: when a contract is broken, which part of the data it was.
//!
//! The usual way in gives data no places, because it is faster. If a check then fails, it is made once more with data that is written out
//! as a text of its own, each part at a known place; the evaluator's labels in that text are paths of the data.

use nickel_lang_core::cache::SourcePath;
use nickel_lang_core::eval::value::NickelValue;
use nickel_lang_core::files::FileId;
use nickel_lang_core::identifier::LocIdent;
use nickel_lang_core::position::{PosIdx, RawSpan, TermPos};
use nickel_lang_core::term::record::RecordData;
use serde_json::Value;

use super::Engine;
use crate::request::Failure;

/// The data of a check, written out.
#[derive(Debug)]
pub(super) struct PlacedData {
    /// The text's file in the evaluator.
    file: FileId,
    /// Where each part is, with its path: parts come before what contains them.
    parts: Vec<(usize, usize, String)>,
}

impl PlacedData {
    /// The path of the smallest part that covers a range of the text.
    pub(super) fn path(&self, file: FileId, start: usize, end: usize) -> Option<&str> {
        if file != self.file {
            return None;
        }
        let covering = self.parts.iter().find(|(from, to, _)| *from <= start && end <= *to);
        covering.map(|(_, _, path)| path.as_str())
    }
}

/// How a note begins that says which part of the data it was.
pub(super) const IN_THE_DATA: &str = "in the data: ";
/// How the value itself is called.
const WHOLE: &str = "the value itself";

impl Engine {
    /// Data as a value of the evaluator, with places.
    pub(super) fn placed(&mut self, data: &Value) -> Result<(NickelValue, PlacedData), Failure> {
        // One text is enough: only the last failure is ever told.
        let name = SourcePath::Generated("value".to_owned());
        let file = self.ctx.import_resolver.sources.replace_string(name, data.to_string());
        let mut placer = Placer { engine: self, file, at: 0, parts: Vec::new() };
        let value = placer.value(data, "")?;
        let parts = placer.parts;
        Ok((value, PlacedData { file, parts }))
    }
}

/// Walks over the data in the order in which it is written, and counts along.
struct Placer<'a> {
    engine: &'a mut Engine,
    file: FileId,
    at: usize,
    parts: Vec<(usize, usize, String)>,
}

impl Placer<'_> {
    fn value(&mut self, data: &Value, path: &str) -> Result<NickelValue, Failure> {
        let start = self.at;
        let value = match data {
            Value::Array(elements) if !elements.is_empty() => {
                let mut values = Vec::with_capacity(elements.len());
                for (index, element) in elements.iter().enumerate() {
                    self.at += 1;
                    let value = self.value(element, &format!("{path}[{index}]"))?;
                    values.push(self.engine.suspended(value));
                }
                self.at += 1;
                NickelValue::array(values.into_iter().collect(), Vec::new(), PosIdx::NONE)
            }
            Value::Object(fields) if !fields.is_empty() => {
                let mut values = Vec::with_capacity(fields.len());
                for (name, field) in fields {
                    let id = self.name(name);
                    let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    let value = self.value(field, &below)?;
                    values.push((id, self.engine.suspended(value)));
                }
                self.at += 1;
                NickelValue::record_posless(RecordData::with_field_values(values))
            }
            other => {
                self.at += other.to_string().len();
                self.engine.json_value(other)?
            }
        };
        let shown = if path.is_empty() { WHOLE } else { path };
        self.parts.push((start, self.at, shown.to_owned()));
        let pos = TermPos::Original(RawSpan::from_range(self.file, start..self.at));
        Ok(value.with_pos(&mut self.engine.ctx.pos_table, pos))
    }

    /// The name of a field, and the comma or brace before it, and the colon after it.
    fn name(&mut self, name: &str) -> LocIdent {
        self.at += 1;
        let start = self.at;
        self.at += Value::from(name).to_string().len();
        let pos = TermPos::Original(RawSpan::from_range(self.file, start..self.at));
        self.at += 1;
        LocIdent::from(name).with_pos(pos)
    }
}
