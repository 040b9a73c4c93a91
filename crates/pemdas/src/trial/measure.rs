//! By what it is measured whether a node is as those that come after it want it: what the author says, or the rules of its kind.

use std::collections::BTreeMap;

use pemdas_core::{
    blueprint::{Blueprint, WantedShape, WantedShapeForm},
    health::{self, HealthState},
    shape::{Live, Shape},
    truth::Truth,
};
use serde_json::Value;

/// What a blueprint wants of its nodes.
#[derive(Debug, Default)]
pub(crate) struct Measures {
    /// By node: its `ready`.
    nodes: BTreeMap<String, Measure>,
    /// By successor and precursor: the `until` between them.
    edges: BTreeMap<(String, String), Measure>,
}

#[derive(Debug)]
enum Measure {
    Data(Shape),
    /// Only the evaluator could tell, and it is not asked: that the object is there has to do.
    Code,
}

impl Measure {
    fn of(wanted: &WantedShape) -> Self {
        match &wanted.form {
            WantedShapeForm::Native(shape) => Self::Data(shape.clone()),
            WantedShapeForm::Function(_) | WantedShapeForm::Contract(_) => Self::Code,
        }
    }
}

impl Measures {
    /// Those of a blueprint.
    pub(crate) fn of(blueprint: &Blueprint) -> Self {
        let mut measures = Self::default();
        for (name, node) in &blueprint.nodes {
            if let Some(ready) = &node.ready {
                measures.nodes.insert(name.clone(), Measure::of(ready));
            }
            for (precursor, edge) in &node.before {
                if let Some(until) = &edge.until {
                    measures.edges.insert((name.clone(), precursor.clone()), Measure::of(until));
                }
            }
        }
        measures
    }

    /// Whether an object of a precursor is as a successor wants it.
    pub(crate) fn fits(&self, successor: &str, precursor: &str, object: &Value) -> bool {
        let of_edge = self.edges.get(&(successor.to_owned(), precursor.to_owned()));
        match of_edge.or_else(|| self.nodes.get(precursor)) {
            None => health::of(object).state == HealthState::Current,
            Some(Measure::Data(shape)) => shape.judge(Live::Present(object)).truth != Truth::False,
            Some(Measure::Code) => true,
        }
    }
}
