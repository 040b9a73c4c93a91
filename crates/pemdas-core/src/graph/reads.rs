//! What functions read: a template uses only what its `the` holds.

use std::collections::BTreeMap;

use super::{Graph, OWN_ROOT, codes, need};
use crate::suggest;
use crate::{
    blueprint::{
        Blueprint, Body, Clause, Function, Input, Node, Read, SequenceEdge, WantedShape, WantedShapeForm,
    },
    diagnostic::Diagnostic,
};

pub(super) fn check(blueprint: &Blueprint, graph: &Graph) -> Vec<Diagnostic> {
    let mut checker = Checker { blueprint, graph, problems: Vec::new() };
    for (name, node) in &blueprint.nodes {
        checker.node(name, node);
        checker.conditions(name, node);
        checker.status(name, node);
    }
    checker.problems
}

/// What a function finds in its `the`.
struct Scope<'a> {
    /// The node that carries the function.
    node: &'a str,
    /// The function, as people call it.
    what: String,
    /// The edges whose extracts it sees.
    before: &'a BTreeMap<String, SequenceEdge>,
    /// Whether these edges belong to a condition.
    of_condition: bool,
    /// Whether it sees `self`.
    own: bool,
    /// Whether it sees `seed`.
    seed: bool,
    /// Why it does not see them.
    hint: &'static str,
    /// Whether it sees `each`, or why not.
    each: Result<(), &'static str>,
}

struct Checker<'a> {
    blueprint: &'a Blueprint,
    graph: &'a Graph,
    problems: Vec<Diagnostic>,
}

const NO_FOR_EACH: &str = "the node has no `for_each`";
const OF_CONDITIONS: &str = "a condition sees `the.root` and the extracts of its own `before`";
const OF_KEYS: &str =
    "a key sees `the.root`, extracts and `the.each`: what it remembers must not depend on itself";
const OF_OBJECTS: &str = "which objects there are depends on `the.root`, extracts and `the.each` only";
const OF_SHAPES: &str =
    "a shape says what an object looks like: it sees `the.root`, `the.self`, extracts and `the.each`";
const OF_EDGES: &str =
    "what an edge waits for sees `the.root`, extracts and `the.each`: `the.self` carries data, never order";

impl<'a> Checker<'a> {
    /// The functions of `the` of a node.
    fn node(&mut self, name: &'a str, node: &'a Node) {
        let object = node.state_of.as_ref().and_then(|object| self.blueprint.nodes.get(object));
        let has_members = node.for_each.is_some() || object.is_some_and(|it| it.for_each.is_some());
        let each = if has_members { Ok(()) } else { Err(NO_FOR_EACH) };
        let scope = |clause: Clause| Scope {
            node: name,
            what: format!("the `{clause}` of `{name}`"),
            before: &node.before,
            of_condition: false,
            own: true,
            seed: true,
            hint: "",
            each,
        };
        // What is random says nothing of how an object should look, and the order must not depend on what is ordered.
        let shape = |clause: Clause| Scope { seed: false, hint: OF_SHAPES, ..scope(clause) };
        let body = match &node.body {
            Body::Root(_) => None,
            Body::Template(template) => Some(&template.function),
            Body::Observe(observe) => Some(&observe.function),
            Body::Absent(absent) => {
                self.shape(&shape(Clause::Having), absent.having.as_ref());
                Some(&absent.function)
            }
            Body::Value(function) => Some(function),
        };
        // Which objects there are is asked before there is one.
        let identifying =
            |clause: Clause| Scope { own: false, seed: false, hint: OF_OBJECTS, ..scope(clause) };
        if let Some(function) = body {
            let scope = match &node.body {
                Body::Observe(_) | Body::Absent(_) => identifying(node.body.clause()),
                _ => scope(node.body.clause()),
            };
            self.function(&scope, function);
        }
        if let Some(function) = &node.for_each {
            let scope = Scope { each: Err("it is what makes the members"), ..identifying(Clause::ForEach) };
            self.function(&scope, function);
        }
        if let Some(function) = &node.key {
            self.function(&Scope { own: false, seed: false, hint: OF_KEYS, ..scope(Clause::Key) }, function);
        }
        self.shape(&shape(Clause::Ready), node.ready.as_ref());
        self.shape(&shape(Clause::Fails), node.fails.as_ref());
        self.shape(&shape(Clause::Once), node.once.as_ref().and_then(|once| once.done.as_ref()));
        for edge in node.before.values() {
            let scope = Scope { own: false, hint: OF_EDGES, ..shape(Clause::Before) };
            self.shape(&scope, edge.until.as_ref());
        }
    }

    fn conditions(&mut self, name: &'a str, node: &'a Node) {
        for (clause, edges) in [(Clause::Also, &node.also), (Clause::Deleting, &node.deleting)] {
            for (to, edge) in edges {
                let scope = Scope {
                    node: name,
                    what: format!("the condition of `{clause}.{to}` of `{name}`"),
                    before: &edge.before,
                    of_condition: true,
                    own: false,
                    seed: false,
                    hint: OF_CONDITIONS,
                    each: Err("a condition holds for all members"),
                };
                if let Some(when) = &edge.when {
                    self.function(&scope, when);
                }
                for read in edge.before.values() {
                    self.shape(&scope, read.until.as_ref());
                }
            }
        }
    }

    fn shape(&mut self, scope: &Scope<'a>, shape: Option<&WantedShape>) {
        if let Some(WantedShape { form: WantedShapeForm::Function(function), .. }) = shape {
            self.function(scope, function);
        }
    }

    fn function(&mut self, scope: &Scope<'a>, function: &Function) {
        for read in &function.reads {
            let problem = match read.input() {
                Input::Whole | Input::Root => None,
                Input::Own => (!scope.own).then(|| no_self(scope, read)),
                Input::Seed => (!scope.seed).then(|| no_self(scope, read)),
                Input::Each => scope.each.err().map(|why| no_each(scope, read, why)),
                Input::Node(name) => self.precursor(scope, read, name),
            };
            self.problems.extend(problem);
        }
    }

    fn precursor(&self, scope: &Scope<'_>, read: &Read, name: &str) -> Option<Diagnostic> {
        match scope.before.get(name) {
            Some(edge) if edge.extract.is_some() => return None,
            Some(edge) => {
                return Some(
                    Diagnostic::error(
                        codes::NO_EXTRACT,
                        format!(
                            "{} reads `the.{name}`, but the edge from `{name}` extracts nothing",
                            scope.what
                        ),
                    )
                    .at(read.span.clone(), "nothing flows here")
                    .see(edge.span.clone(), "this edge only orders")
                    .hint(format!(
                        "give the edge an extract: `before.{name}.extract = fun live => {{ ... }}`"
                    )),
                );
            }
            None => {}
        }
        if self.blueprint.nodes.contains_key(name) {
            let where_ =
                if scope.of_condition { "in the edge's own record, beside `when`" } else { "in the node" };
            return Some(
                Diagnostic::error(
                    codes::NOT_A_PRECURSOR,
                    format!("{} reads `the.{name}`, but `{name}` is no precursor", scope.what),
                )
                .at(read.span.clone(), "not among its inputs")
                .see(self.blueprint.nodes[name].span.clone(), "this node does not come before it")
                .hint(format!("write `before.{name}.extract = fun live => {{ ... }}` {where_}")),
            );
        }
        let mut known: Vec<&str> = vec!["root"];
        known.extend(scope.own.then_some("self"));
        known.extend(scope.seed.then_some("seed"));
        if scope.each.is_ok() {
            known.push("each");
        }
        known.extend(
            scope.before.iter().filter(|(_, edge)| edge.extract.is_some()).map(|(name, _)| name.as_str()),
        );
        let problem = Diagnostic::error(
            codes::UNKNOWN_NODE,
            format!("{} reads `the.{name}`, but there is no such input and no such node", scope.what),
        )
        .at(read.span.clone(), "no such input");
        let nodes = self.blueprint.nodes.keys().map(String::as_str);
        // As in other languages, where the object itself is in scope.
        let of_root = ["spec", "metadata", "status", "data"].contains(&name);
        let hint = of_root
            .then(|| {
                format!("the object that starts the instance is `the.root`: did you mean `the.root.{name}`?")
            })
            .or_else(|| suggest::did_you_mean(name, known.iter().copied()))
            .filter(|hint| of_root || hint.starts_with("did"))
            .or_else(|| suggest::did_you_mean(name, nodes).filter(|hint| hint.starts_with("did")))
            .or_else(|| suggest::did_you_mean(name, known));
        Some(match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        })
    }

    /// Status and conditions see the live root and every node.
    fn status(&mut self, name: &'a str, node: &'a Node) {
        for (clause, function) in [(Clause::Status, &node.status), (Clause::Conditions, &node.conditions)] {
            for read in function.iter().flat_map(|function| &function.reads) {
                let what = format!("the `{clause}` of `{name}`");
                let problem = match read.input() {
                    Input::Whole | Input::Root => None,
                    Input::Own | Input::Seed | Input::Each => Some(
                        Diagnostic::error(
                            codes::NO_SUCH_INPUT,
                            format!("{what} reads `the.{}`", read.path[0]),
                        )
                        .at(read.span.clone(), "not among its inputs")
                        .hint("a status sees `the.root` and every node by its name"),
                    ),
                    Input::Node(other) => self.in_status(name, &what, read, other),
                };
                self.problems.extend(problem);
            }
        }
    }

    fn in_status(&self, root: &str, what: &str, read: &Read, other: &str) -> Option<Diagnostic> {
        let Some(node) = self.blueprint.nodes.get(other) else {
            let nodes = self.blueprint.nodes.keys().map(String::as_str);
            let problem = Diagnostic::error(
                codes::UNKNOWN_NODE,
                format!("{what} reads `the.{other}`, but there is no such node"),
            )
            .at(read.span.clone(), "no node of this name");
            return Some(match suggest::did_you_mean(other, nodes) {
                Some(hint) => problem.hint(hint),
                None => problem,
            });
        };
        let instance = need::Instance { root, deleting: true };
        if root == other || root == OWN_ROOT || need::may_need(self.graph, instance).contains(other) {
            return None;
        }
        Some(
            Diagnostic::warning(
                codes::NEVER_IN_STATUS,
                format!("{what} reads `the.{other}`, which `{root}` never needs: it is always null"),
            )
            .at(read.span.clone(), "always null")
            .see(node.span.clone(), "needed by other roots only")
            .hint(format!("add `{other}` to the `also` of `{root}`, or leave it out of the status")),
        )
    }
}

fn no_self(scope: &Scope<'_>, read: &Read) -> Diagnostic {
    let input = read.path.first().map_or("self", String::as_str);
    let message = format!("{} reads `the.{input}`, which it does not have", scope.what);
    Diagnostic::error(codes::NO_SUCH_INPUT, message)
        .at(read.span.clone(), "not among its inputs")
        .hint(scope.hint)
}

fn no_each(scope: &Scope<'_>, read: &Read, why: &str) -> Diagnostic {
    let problem =
        Diagnostic::error(codes::NO_SUCH_INPUT, format!("{} reads `the.each`, but {why}", scope.what))
            .at(read.span.clone(), "not among its inputs");
    if why == NO_FOR_EACH {
        problem.hint(format!("give `{}` a `for_each`, or read the root", scope.node))
    } else {
        problem
    }
}
