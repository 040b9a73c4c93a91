//! The same blueprint with another name for one of its nodes.

use std::{cell::RefCell, rc::Rc};

use super::sim::Evaluation;
use crate::{
    blueprint::{Body, Function, Input, SequenceEdge, WantedShape, WantedShapeForm},
    evaluate::{Answer, Evaluator, Form, Question},
    graph::Graph,
    program::{Program, Revision},
};

/// The nodes whose objects have to survive a new name. A once is its node's: under another name it is another one.
pub(super) fn candidates(program: &Program) -> Vec<String> {
    let nodes = program.blueprint.nodes.iter();
    let made = nodes.filter(|(_, it)| matches!(it.body, Body::Template(_)) && it.once.is_none());
    made.map(|(name, _)| name.clone()).collect()
}

/// The next revision, in which a node has another name. Its functions are where they were.
pub(super) fn renamed(program: &Program, evaluation: &Evaluation, old: &str) -> (Program, Evaluation) {
    let new = format!("{old}_renamed");
    let mut blueprint = program.blueprint.clone();
    let name = |it: &str| if it == old { new.clone() } else { it.to_owned() };
    let nodes = std::mem::take(&mut blueprint.nodes);
    for (key, mut node) in nodes {
        node.state_of = node.state_of.as_deref().map(name);
        if let Some(report) = &mut node.report {
            report.service = name(&report.service);
        }
        let edges = [&mut node.also, &mut node.deleting].into_iter();
        for also in edges {
            *also = std::mem::take(also).into_iter().map(|(to, edge)| (name(&to), edge)).collect();
            for edge in also.values_mut() {
                edge.when.iter_mut().for_each(|it| reads(it, old, &new));
                sequence(&mut edge.before, old, &new);
            }
        }
        sequence(&mut node.before, old, &new);
        match &mut node.body {
            Body::Root(_) => {}
            Body::Template(it) => reads(&mut it.function, old, &new),
            Body::Observe(it) => reads(&mut it.function, old, &new),
            Body::Absent(it) => {
                reads(&mut it.function, old, &new);
                it.having.iter_mut().for_each(|it| shape(it, old, &new));
            }
            Body::Value(it) => reads(it, old, &new),
        }
        let functions = [&mut node.for_each, &mut node.key, &mut node.status, &mut node.conditions];
        functions.into_iter().flatten().for_each(|it| reads(it, old, &new));
        [&mut node.ready, &mut node.fails].into_iter().flatten().for_each(|it| shape(it, old, &new));
        if let Some(done) = node.once.as_mut().and_then(|it| it.done.as_mut()) {
            shape(done, old, &new);
        }
        blueprint.nodes.insert(name(&key), node);
    }
    let (graph, _) = Graph::of(&blueprint);
    let ordinal = program.revision.ordinal + 1;
    let revision = Revision { name: format!("{}-renamed", program.revision.name), ordinal };
    let program = Program::new(blueprint, &graph, &program.root, revision).expect("a program");
    let evaluation = Renaming { inner: evaluation.clone(), old: old.to_owned(), new };
    (program, Rc::new(RefCell::new(evaluation)))
}

fn sequence(before: &mut std::collections::BTreeMap<String, SequenceEdge>, old: &str, new: &str) {
    if let Some(edge) = before.remove(old) {
        before.insert(new.to_owned(), edge);
    }
    for edge in before.values_mut() {
        edge.until.iter_mut().for_each(|it| shape(it, old, new));
    }
}

fn shape(wanted: &mut WantedShape, old: &str, new: &str) {
    if let WantedShapeForm::Function(function) = &mut wanted.form {
        reads(function, old, new);
    }
}

fn reads(function: &mut Function, old: &str, new: &str) {
    for read in &mut function.reads {
        if read.input() == Input::Node(old) {
            new.clone_into(&mut read.path[0]);
        }
    }
}

/// Gives functions what they read under the name they know.
struct Renaming {
    inner: Evaluation,
    old: String,
    new: String,
}

impl Evaluator for Renaming {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        let known = |question: &Question| {
            let mut question = question.clone();
            let of_the_world = matches!(question.path.last().map(String::as_str), Some("extract" | "result"));
            if !of_the_world
                && question.form != Form::Contract
                && let Some(fields) = question.input.as_object_mut()
                && let Some(value) = fields.remove(&self.new)
            {
                fields.insert(self.old.clone(), value);
            }
            question
        };
        let batch: Vec<_> = batch.iter().map(known).collect();
        self.inner.borrow_mut().evaluate(&batch)
    }
}
