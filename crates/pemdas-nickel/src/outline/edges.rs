//! The edges of both graphs.

use std::collections::BTreeMap;

use pemdas_core::blueprint::{AlsoEdge, SequenceEdge};

use super::outliner::{Outliner, Spot};

impl Outliner<'_> {
    /// The Also edges at a place: `also` or `deleting`.
    pub(super) fn also_edges(&mut self, spot: &Spot) -> BTreeMap<String, AlsoEdge> {
        let mut edges = BTreeMap::new();
        for field in self.fields(spot).unwrap_or_default() {
            let inner = spot.field(&field.name);
            let span =
                self.trees.name_of(&inner.path).or(field.span).unwrap_or_else(|| self.span_of(&spot.path));
            let mut edge = AlsoEdge::new(span);
            for clause in self.fields(&inner).unwrap_or_default() {
                let place = inner.field(&clause.name);
                match clause.name.as_str() {
                    "when" => edge.when = self.function(&place),
                    "before" => edge.before = self.sequence_edges(&place),
                    _ => self.unknown_field(&place, "an Also edge", &["when", "before"]),
                }
            }
            edges.insert(field.name, edge);
        }
        edges
    }

    /// The Sequence edges at a place: a `before`.
    pub(super) fn sequence_edges(&mut self, spot: &Spot) -> BTreeMap<String, SequenceEdge> {
        let mut edges = BTreeMap::new();
        for field in self.fields(spot).unwrap_or_default() {
            let inner = spot.field(&field.name);
            let span =
                self.trees.name_of(&inner.path).or(field.span).unwrap_or_else(|| self.span_of(&spot.path));
            let mut edge = SequenceEdge::new(span);
            for clause in self.fields(&inner).unwrap_or_default() {
                let place = inner.field(&clause.name);
                match clause.name.as_str() {
                    "until" => edge.until = self.shape(&place),
                    "extract" => edge.extract = self.function(&place),
                    "each" => edge.each = self.flag(&place).unwrap_or_default(),
                    "removal" => edge.removal = self.choice(&place),
                    _ => {
                        let known = ["until", "extract", "each", "removal"];
                        self.unknown_field(&place, "a Sequence edge", &known);
                    }
                }
            }
            edges.insert(field.name, edge);
        }
        edges
    }
}
