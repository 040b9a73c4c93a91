//! Shapes as an author writes them: data, a function of `the`, or a contract.

use pemdas_core::blueprint::{ContractRef, WantedShape, WantedShapeForm};
use pemdas_core::diagnostic::Diagnostic;
use pemdas_core::shape::{MAX_SHAPE_DEPTH, MAX_SHAPE_PARTS, SHAPE_TAG, Shape};
use serde_json::{Map, Value, json};

use super::codes;
use super::outliner::{Outliner, Spot};
use crate::request::{Kind, Seen};

/// The name under which the library wraps a contract.
const FITS: &str = "fits";

impl Outliner<'_> {
    /// The shape at a place.
    pub(super) fn shape(&mut self, spot: &Spot) -> Option<WantedShape> {
        let seen = self.look(spot)?;
        let span = self.value_span_of(&spot.path);
        let form = if seen.kind == Kind::Function {
            WantedShapeForm::Function(self.function_seen(spot, seen.span.as_ref()))
        } else {
            let mut parts = MAX_SHAPE_PARTS;
            let data = self.shape_data(spot, &seen, MAX_SHAPE_DEPTH, &mut parts)?;
            match Shape::from_value(&data) {
                Ok(Shape::Contract(path)) => {
                    WantedShapeForm::Contract(ContractRef { path, span: span.clone(), fits: None })
                }
                Ok(shape) => WantedShapeForm::Native(shape),
                Err(error) => {
                    self.report(Diagnostic::error(codes::CLAUSE_FORM, error.to_string()).at(span, ""));
                    return None;
                }
            }
        };
        Some(WantedShape { span, form })
    }

    /// A shape as data; a contract inside it by its path.
    fn shape_data(&mut self, spot: &Spot, seen: &Seen, depth: usize, parts: &mut usize) -> Option<Value> {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), parts.checked_sub(1)) else {
            return self.no_shape(spot, "a shape cannot be nested so deep, or have so many parts");
        };
        *parts = left;
        match seen.kind {
            Kind::Record => self.record_data(spot, seen, depth, parts),
            Kind::Array => {
                let items = (0..seen.length.unwrap_or(0)).map(|index| {
                    let item = spot.index(index);
                    let seen = self.look(&item)?;
                    self.shape_data(&item, &seen, depth, parts)
                });
                items.collect::<Option<Vec<_>>>().map(Value::Array)
            }
            Kind::Contract | Kind::Type => Some(json!({ SHAPE_TAG: "contract", "path": spot.path })),
            // Objects of a cluster hold strings; a tag can only mean the string of its name.
            Kind::Enum => Some(Value::from(seen.tag.clone())),
            Kind::Function => self.no_shape(spot, "a function cannot stand inside a shape"),
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => {
                Some(seen.scalar.clone().unwrap_or(Value::Null))
            }
            Kind::Other => self.no_shape(spot, "this cannot stand inside a shape"),
        }
    }

    fn record_data(&mut self, spot: &Spot, seen: &Seen, depth: usize, parts: &mut usize) -> Option<Value> {
        let mut record = Map::new();
        let tagged = seen.fields.iter().any(|field| field.name == SHAPE_TAG);
        if tagged && self.value(&spot.field(SHAPE_TAG))? == FITS {
            let path = spot.field("contract").path;
            return Some(json!({ SHAPE_TAG: "contract", "path": path }));
        }
        for field in seen.fields.iter().filter(|field| field.defined) {
            let inner = spot.field(&field.name);
            let seen = self.look(&inner)?;
            record.insert(field.name.clone(), self.shape_data(&inner, &seen, depth, parts)?);
        }
        // Declared and not defined: a record contract that forgot to say so.
        if seen.fields.iter().any(|field| !field.defined && !field.optional) {
            return self.no_shape(spot, "this is a record contract, not a record of wanted fields");
        }
        Some(Value::Object(record))
    }

    fn no_shape(&mut self, spot: &Spot, message: &str) -> Option<Value> {
        let span = self.span_of(&spot.path);
        self.report(
            Diagnostic::error(codes::CLAUSE_FORM, message)
                .at(span, "")
                .hint("make the whole shape a function `fun the => ...`, or a contract with `fits { ... }`"),
        );
        None
    }
}
