//! From a blueprint to its two graphs. What names no node is reported and left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{AlsoLink, AlsoOrigin, Graph, OWN_ROOT, SequenceLink, SequenceReason, Vertex, codes, need};
use crate::suggest;
use crate::{
    blueprint::{
        AlsoEdge, Blueprint, Body, Clause, Node, Removal, RootTarget, SequenceEdge, WantedShape,
        WantedShapeForm,
    },
    diagnostic::{Diagnostic, Span},
};

pub(super) fn build(blueprint: &Blueprint) -> (Graph, Vec<Diagnostic>) {
    let mut builder = Builder { blueprint, graph: Graph::default(), problems: Vec::new() };
    builder.roots();
    for (name, node) in &blueprint.nodes {
        builder.needs(name, node);
        builder.waits(name, node);
    }
    if builder.graph.roots == [OWN_ROOT] {
        builder.own_root();
    }
    builder.graph.also.sort();
    builder.graph.also.dedup();
    builder.gates();
    builder.graph.sequence.sort();
    builder.graph.sequence.dedup();
    (builder.graph, builder.problems)
}

struct Builder<'a> {
    blueprint: &'a Blueprint,
    graph: Graph,
    problems: Vec<Diagnostic>,
}

impl<'a> Builder<'a> {
    fn roots(&mut self) {
        let mut owners: BTreeMap<&str, (&str, &Node)> = BTreeMap::new();
        for (name, node) in &self.blueprint.nodes {
            let Body::Root(root) = &node.body else { continue };
            self.graph.roots.push(name.clone());
            let RootTarget::Owned(kind) = &root.target else { continue };
            if !self.blueprint.kinds.contains_key(kind) {
                let known = self.blueprint.kinds.keys().map(String::as_str);
                let problem = Diagnostic::error(
                    codes::UNKNOWN_KIND,
                    format!("`{name}` is rooted at `{kind}`, which is not among the blueprint's `kinds`"),
                )
                .at(node.span_of(Clause::Root).clone(), "no such kind");
                self.problems.push(hinted(problem, suggest::did_you_mean(kind, known)));
            }
            if let Some((other, first)) = owners.insert(kind, (name, node)) {
                self.problems.push(
                    Diagnostic::error(
                        codes::MISPLACED_ROOT,
                        format!("`{other}` and `{name}` are both roots of `{kind}`: each object would start two instances"),
                    )
                    .at(node.span_of(Clause::Root).clone(), "the second root")
                    .see(first.span_of(Clause::Root).clone(), "the first")
                    .hint("make it one root with both lists of `also`"),
                );
            }
        }
        if self.graph.roots.is_empty() {
            self.graph.roots.push(OWN_ROOT.to_owned());
        }
    }

    /// The Also edges of a node, with the vertices of their conditions.
    fn needs(&mut self, name: &str, node: &'a Node) {
        for (edges, origin) in [(&node.also, AlsoOrigin::Written), (&node.deleting, AlsoOrigin::Deleting)] {
            for (to, edge) in edges {
                self.need(name, to, edge, origin);
            }
        }
        for (precursor, edge) in &node.before {
            self.implied_by_extract(name, precursor, edge);
        }
        if let Some(object) = &node.state_of
            && self.blueprint.nodes.contains_key(object)
        {
            let span = node.span_of(Clause::StateOf).clone();
            self.also(name, object, AlsoOrigin::State, span);
        }
    }

    fn need(&mut self, from: &str, to: &str, edge: &'a AlsoEdge, origin: AlsoOrigin) {
        if !self.known(to, &edge.span, &format!("`{from}` needs `{to}`")) {
            return;
        }
        if matches!(self.blueprint.nodes[to].body, Body::Root(_)) {
            self.problems.push(
                Diagnostic::error(
                    codes::MISPLACED_ROOT,
                    format!("`{from}` needs the root `{to}`, but a root is created by somebody, not needed by a node"),
                )
                .at(edge.span.clone(), "a root")
                .hint("to create such an object, write a node with a `template` of that kind"),
            );
            return;
        }
        let deleting = origin == AlsoOrigin::Deleting;
        let condition = Vertex::Condition { from: from.to_owned(), to: to.to_owned(), deleting };
        let mut reads = Vec::new();
        for (precursor, read) in &edge.before {
            if !self.known(precursor, &read.span, &format!("a condition of `{from}` reads `{precursor}`")) {
                continue;
            }
            reads.push(precursor.clone());
            self.sequence(Vertex::Node(precursor.clone()), condition.clone(), SequenceReason::Read, read);
            self.implied_by_extract(from, precursor, read);
        }
        let conditional = edge.when.is_some();
        let link = AlsoLink {
            from: from.to_owned(),
            to: to.to_owned(),
            origin,
            conditional,
            reads,
            span: edge.span.clone(),
        };
        self.graph.also.push(link);
    }

    /// Who reads an observed object or a value needs it: nobody has to say so twice.
    fn implied_by_extract(&mut self, from: &str, precursor: &str, edge: &SequenceEdge) {
        let read = self.blueprint.nodes.get(precursor);
        let implied = read.is_some_and(|it| matches!(it.body, Body::Observe(_) | Body::Value(_)));
        if implied && edge.extract.is_some() {
            self.also(from, precursor, AlsoOrigin::Extract, edge.span.clone());
        }
    }

    fn also(&mut self, from: &str, to: &str, origin: AlsoOrigin, span: Span) {
        let link = AlsoLink {
            from: from.to_owned(),
            to: to.to_owned(),
            origin,
            conditional: false,
            reads: Vec::new(),
            span,
        };
        self.graph.also.push(link);
    }

    /// The Sequence edges into a node.
    fn waits(&mut self, name: &str, node: &'a Node) {
        for (precursor, edge) in &node.before {
            if self.known(precursor, &edge.span, &format!("`{name}` comes after `{precursor}`")) {
                let (from, to) = (Vertex::Node(precursor.clone()), Vertex::Node(name.to_owned()));
                self.sequence(from, to, SequenceReason::Before, edge);
            }
        }
        let Some(object) = &node.state_of else { return };
        let span = node.span_of(Clause::StateOf).clone();
        if self.known(object, &span, &format!("`{name}` is a state of `{object}`")) && object != name {
            let edge = SequenceEdge::new(span);
            let (from, to) = (Vertex::Node(name.to_owned()), Vertex::Node(object.clone()));
            self.sequence(from, to, SequenceReason::State, &edge);
        }
    }

    fn sequence(&mut self, from: Vertex, to: Vertex, reason: SequenceReason, edge: &SequenceEdge) {
        self.graph.sequence.push(SequenceLink {
            from,
            to,
            reason,
            until: edge.until.as_ref().map(label),
            until_span: edge.until.as_ref().map(|it| it.span.clone()),
            extract: edge.extract.is_some(),
            each: edge.each,
            removal: edge.removal,
            span: edge.span.clone(),
        });
    }

    /// Without a root, the blueprint's own ConfigMap needs every node that no other node asks for.
    fn own_root(&mut self) {
        let asked: BTreeSet<_> =
            self.graph.also.iter().filter(|link| link.from != link.to).map(|link| link.to.clone()).collect();
        for (name, node) in &self.blueprint.nodes {
            if !asked.contains(name) {
                self.also(OWN_ROOT, name, AlsoOrigin::OwnRoot, node.span.clone());
            }
        }
    }

    /// What is needed only if a condition holds comes after the condition: until it is known, whether the node is
    /// needed is not known either, and whoever waits for the node waits.
    fn gates(&mut self) {
        let conditions: Vec<_> = self.graph.also.iter().filter(|link| link.conditional).cloned().collect();
        let always = need::always_needed(&self.graph);
        let mut gates = Vec::new();
        for link in conditions {
            let deleting = link.origin == AlsoOrigin::Deleting;
            let condition = Vertex::Condition { from: link.from.clone(), to: link.to.clone(), deleting };
            for gated in need::closure(&self.graph, [link.to.as_str()], |_| true) {
                if always.contains(gated) {
                    continue;
                }
                gates.push(SequenceLink {
                    from: condition.clone(),
                    to: Vertex::Node(gated.to_owned()),
                    reason: SequenceReason::Gate,
                    until: None,
                    until_span: None,
                    extract: false,
                    each: false,
                    removal: Removal::default(),
                    span: link.span.clone(),
                });
            }
        }
        self.graph.sequence.extend(gates);
    }

    fn known(&mut self, name: &str, span: &Span, sentence: &str) -> bool {
        if self.blueprint.nodes.contains_key(name) {
            return true;
        }
        let names = self.blueprint.nodes.keys().map(String::as_str);
        let problem =
            Diagnostic::error(codes::UNKNOWN_NODE, format!("{sentence}, but there is no such node"))
                .at(span.clone(), "no node of this name");
        self.problems.push(hinted(problem, suggest::did_you_mean(name, names)));
        false
    }
}

/// A shape on an edge in few words.
fn label(wanted: &WantedShape) -> String {
    match &wanted.form {
        WantedShapeForm::Native(shape) => shape.describe(),
        WantedShapeForm::Function(_) => "a computed shape".to_owned(),
        WantedShapeForm::Contract(_) => "a contract".to_owned(),
    }
}

fn hinted(problem: Diagnostic, hint: Option<String>) -> Diagnostic {
    match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}
