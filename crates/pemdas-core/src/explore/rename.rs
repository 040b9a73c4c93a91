//! The same blueprint with other names for its nodes.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

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

/// New names of nodes, by the old ones. The others keep theirs.
pub(super) type Names = BTreeMap<String, String>;

/// The next revision, in which a node has another name. Its functions are where they were.
pub(super) fn renamed(program: &Program, evaluation: &Evaluation, old: &str) -> (Program, Evaluation) {
    all_renamed(program, evaluation, &[(old.to_owned(), format!("{old}_renamed"))].into())
}

/// The next revision, in which nodes have other names. Their functions are where they were.
pub(super) fn all_renamed(
    program: &Program,
    evaluation: &Evaluation,
    names: &Names,
) -> (Program, Evaluation) {
    let mut blueprint = program.blueprint.clone();
    let name = |it: &str| names.get(it).cloned().unwrap_or_else(|| it.to_owned());
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
                edge.when.iter_mut().for_each(|it| reads(it, names));
                sequence(&mut edge.before, names);
            }
        }
        sequence(&mut node.before, names);
        match &mut node.body {
            Body::Root(_) => {}
            Body::Template(it) => reads(&mut it.function, names),
            Body::Observe(it) => reads(&mut it.function, names),
            Body::Absent(it) => {
                reads(&mut it.function, names);
                it.having.iter_mut().for_each(|it| shape(it, names));
            }
            Body::Value(it) => reads(it, names),
        }
        let functions = [&mut node.for_each, &mut node.key, &mut node.status, &mut node.conditions];
        functions.into_iter().flatten().for_each(|it| reads(it, names));
        [&mut node.ready, &mut node.fails].into_iter().flatten().for_each(|it| shape(it, names));
        if let Some(done) = node.once.as_mut().and_then(|it| it.done.as_mut()) {
            shape(done, names);
        }
        blueprint.nodes.insert(name(&key), node);
    }
    let (graph, _) = Graph::of(&blueprint);
    let ordinal = program.revision.ordinal + 1;
    let revision = Revision { name: format!("{}-renamed", program.revision.name), ordinal };
    let program = Program::new(blueprint, &graph, &program.root, revision).expect("a program");
    let old = names.iter().map(|(old, new)| (new.clone(), old.clone())).collect();
    let evaluation = Renaming { inner: evaluation.clone(), old };
    (program, Rc::new(RefCell::new(evaluation)))
}

fn sequence(before: &mut BTreeMap<String, SequenceEdge>, names: &Names) {
    let name = |it: String| names.get(&it).cloned().unwrap_or(it);
    *before = std::mem::take(before).into_iter().map(|(from, edge)| (name(from), edge)).collect();
    for edge in before.values_mut() {
        edge.until.iter_mut().for_each(|it| shape(it, names));
    }
}

fn shape(wanted: &mut WantedShape, names: &Names) {
    if let WantedShapeForm::Function(function) = &mut wanted.form {
        reads(function, names);
    }
}

fn reads(function: &mut Function, names: &Names) {
    for read in &mut function.reads {
        if let Input::Node(node) = read.input()
            && let Some(new) = names.get(node)
        {
            read.path[0] = new.clone();
        }
    }
}

/// Gives functions what they read under the names they know.
struct Renaming {
    inner: Evaluation,
    /// By the new name.
    old: Names,
}

impl Evaluator for Renaming {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        let known = |question: &Question| {
            let mut question = question.clone();
            let of_the_world = matches!(question.path.last().map(String::as_str), Some("extract" | "result"));
            if !of_the_world
                && question.form != Form::Contract
                && let Some(fields) = question.input.as_object_mut()
            {
                let name = |it: String| self.old.get(&it).cloned().unwrap_or(it);
                *fields = std::mem::take(fields).into_iter().map(|(it, value)| (name(it), value)).collect();
            }
            question
        };
        let batch: Vec<_> = batch.iter().map(known).collect();
        self.inner.borrow_mut().evaluate(&batch)
    }
}
