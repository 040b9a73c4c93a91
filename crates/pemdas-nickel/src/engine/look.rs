//! A look at a value without evaluating what is inside.

use nickel_lang_core::ast::MergePriority;
use nickel_lang_core::eval::value::{Container, EnumVariantData, NickelValue, ValueContentRef};
use nickel_lang_core::term::Term;
use nickel_lang_core::term::record::RecordData;
use serde_json::Value;

use super::Engine;
use crate::request::{Failure, FieldSeen, Kind, Place, Seen};

impl Engine {
    /// What is at a place.
    pub(super) fn look(&mut self, place: &Place) -> Result<Seen, Failure> {
        let value = self.resolve(place)?;
        let value = self.whnf(value)?.value;
        let mut seen = Seen {
            kind: kind_of(&value),
            span: self.files.of_idx(&self.ctx.pos_table, value.pos_idx()),
            fields: Vec::new(),
            open: false,
            length: None,
            tag: None,
            scalar: None,
        };
        match value.content_ref() {
            ValueContentRef::Record(Container::Alloc(data)) => {
                seen.open = data.attrs.open;
                seen.fields = self.fields_of(data);
            }
            ValueContentRef::Array(Container::Alloc(data)) => seen.length = Some(data.array.len()),
            ValueContentRef::Array(Container::Empty) => seen.length = Some(0),
            ValueContentRef::EnumVariant(EnumVariantData { tag, .. }) => {
                seen.tag = Some(tag.label().to_owned());
            }
            ValueContentRef::Null => seen.scalar = Some(Value::Null),
            ValueContentRef::Bool(_) | ValueContentRef::Number(_) | ValueContentRef::String(_) => {
                seen.scalar = Some(self.json_of(&value)?);
            }
            _ => {}
        }
        Ok(seen)
    }

    fn fields_of(&self, data: &RecordData) -> Vec<FieldSeen> {
        let mut fields: Vec<FieldSeen> = data
            .fields
            .iter()
            .map(|(name, field)| FieldSeen {
                name: name.label().to_owned(),
                span: self.files.of_pos(name.pos),
                value_span: field
                    .value
                    .as_ref()
                    .and_then(|value| self.files.of_idx(&self.ctx.pos_table, value.pos_idx())),
                defined: field.value.is_some(),
                optional: field.metadata.opt(),
                default: matches!(field.metadata.priority(), MergePriority::Bottom),
                not_exported: field.metadata.not_exported(),
                doc: field.metadata.doc().map(|doc| self.bounded(doc)),
            })
            .collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        fields
    }
}

/// The kind of an evaluated value.
pub(super) fn kind_of(value: &NickelValue) -> Kind {
    match value.content_ref() {
        ValueContentRef::Null => Kind::Null,
        ValueContentRef::Bool(_) => Kind::Bool,
        ValueContentRef::Number(_) => Kind::Number,
        ValueContentRef::String(_) => Kind::String,
        ValueContentRef::EnumVariant(_) => Kind::Enum,
        ValueContentRef::Array(_) => Kind::Array,
        ValueContentRef::Record(_) | ValueContentRef::Term(Term::RecRecord(_)) => Kind::Record,
        ValueContentRef::Term(Term::Fun(_)) => Kind::Function,
        ValueContentRef::CustomContract(_) => Kind::Contract,
        ValueContentRef::Type(_) => Kind::Type,
        _ => Kind::Other,
    }
}
