//! Edges that would never open, or open too early, and orders that cannot be torn down.

use super::{
    Graph, codes,
    need::{self, Instance},
};
use crate::{
    blueprint::{Blueprint, Body, Clause, Node, Replace, SequenceEdge, WantedShape, WantedShapeForm},
    diagnostic::Diagnostic,
    shape::Shape,
};

pub(super) fn check(blueprint: &Blueprint, graph: &Graph) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (name, node) in &blueprint.nodes {
        for (precursor, edge) in &node.before {
            let Some(from) = blueprint.nodes.get(precursor) else { continue };
            let wait = Wait { graph, name, precursor, from, edge };
            problems.extend(wait.for_failure());
            problems.extend(wait.for_absence());
            problems.extend(wait.for_replacement());
            problems.extend(wait.for_a_job_to_start());
        }
        problems.extend(report(blueprint, graph, name, node));
    }
    problems
}

/// One Sequence edge into a node.
struct Wait<'a> {
    graph: &'a Graph,
    name: &'a str,
    precursor: &'a str,
    from: &'a Node,
    edge: &'a SequenceEdge,
}

impl Wait<'_> {
    fn until(&self) -> Option<(&Shape, &WantedShape)> {
        let wanted = self.edge.until.as_ref()?;
        match &wanted.form {
            WantedShapeForm::Native(shape) => Some((shape, wanted)),
            WantedShapeForm::Function(_) | WantedShapeForm::Contract(_) => None,
        }
    }

    /// Needed in any case and waiting for a failure: while all goes well it is never ready.
    fn for_failure(&self) -> Option<Diagnostic> {
        let (shape, wanted) = self.until()?;
        if !means_failure(shape) {
            return None;
        }
        let (name, precursor) = (self.name, self.precursor);
        let instance =
            need::instances(self.graph).find(|it| need::must_need(self.graph, *it).contains(name))?;
        let mut problem = Diagnostic::error(
            codes::WAITS_FOR_FAILURE,
            format!("`{name}` is always needed and waits for `{precursor}` to fail: without a failure it is never ready"),
        )
        .at(wanted.span.clone(), format!("only after a failure of `{precursor}`"));
        if let Some(link) = self.graph.also.iter().find(|link| link.to == name && !link.conditional) {
            problem = problem.see(link.span.clone(), format!("`{}` needs it in any case", link.from));
        }
        let clause = if instance.deleting { Clause::Deleting } else { Clause::Also };
        Some(problem.hint(format!(
            "need it only then: `{clause}.{name} = {{ before.{precursor} = {{ until = Finished, extract = ... }}, when = fun the => ... }}`"
        )))
    }

    /// Waiting for the absence of what is needed whenever the waiting node is.
    fn for_absence(&self) -> Option<Diagnostic> {
        let (shape, wanted) = self.until()?;
        if !means_absence(shape) || !matches!(self.from.body, Body::Template(_)) {
            return None;
        }
        let (name, precursor) = (self.name, self.precursor);
        let needing = |deleting: bool| {
            need::instances(self.graph).find(|it| {
                it.deleting == deleting
                    && need::may_need(self.graph, *it).contains(name)
                    && need::implies(self.graph, *it, name, precursor)
            })
        };
        if needing(false).is_some() {
            return Some(
                Diagnostic::error(
                    codes::WAITS_FOR_ABSENCE,
                    format!("`{name}` waits for `{precursor}` to be gone, but whoever needs `{name}` needs `{precursor}` too"),
                )
                .at(wanted.span.clone(), "never while it is needed")
                .see(self.from.span.clone(), "made and kept")
                .hint(format!("to remove an object first, make `{precursor}` an `absent` node; or need it under a condition")),
            );
        }
        let going = needing(true)?;
        let present = Instance { deleting: false, ..going };
        if !need::may_need(self.graph, present).contains(precursor) {
            return None;
        }
        Some(
            Diagnostic::error(
                codes::IMPOSSIBLE_TEARDOWN,
                format!("`{name}` runs on deletion and waits for `{precursor}` to be gone, but nothing is torn down until `{name}` is done"),
            )
            .at(wanted.span.clone(), "never: everything stays until the nodes of the deletion are done")
            .see(self.from.span.clone(), "stays until then")
            .hint(format!("let `{name}` wait for a state of `{precursor}` instead: a node with `state_of = \"{precursor}\"` that scales it down")),
        )
    }

    /// The old one is to go before the new one comes, but who uses it lets go only when the new one is ready.
    fn for_replacement(&self) -> Option<Diagnostic> {
        let extract = self.edge.extract.as_ref()?;
        if self.from.replace != Replace::Before || !matches!(self.from.body, Body::Template(_)) {
            return None;
        }
        let (name, precursor) = (self.name, self.precursor);
        Some(
            Diagnostic::error(
                codes::IMPOSSIBLE_TEARDOWN,
                format!("`{precursor}` replaces its old object before the new one comes, but `{name}` uses the old one until the new one is ready"),
            )
            .at(self.from.span_of(Clause::Replace).clone(), "the old one has to go first")
            .see(extract.span.clone(), format!("`{name}` holds on to it"))
            .hint(format!("let it be replaced `'After`; or let `{name}` only come after `{precursor}`, without an extract")),
        )
    }

    /// By the rules of its kind a Job is ready as soon as it runs, which is seldom what an order means.
    fn for_a_job_to_start(&self) -> Option<Diagnostic> {
        let object = self.from.body.identity()?;
        let is_job = object.kind.known() == Some("Job")
            && object.api_version.known().is_some_and(|it| it.starts_with("batch/"));
        let by_default = self.edge.until.is_none() && self.from.ready.is_none() && self.from.once.is_none();
        if !is_job || !by_default {
            return None;
        }
        let (name, precursor) = (self.name, self.precursor);
        Some(
            Diagnostic::warning(
                codes::JOB_STARTED,
                format!("`{name}` comes after the Job `{precursor}`, but a Job counts as ready as soon as it runs"),
            )
            .at(self.edge.span.clone(), "waits for the start, not for the end")
            .see(self.from.span.clone(), "a Job without `ready` or `once`")
            .hint(format!("write `before.{precursor}.until = Complete`; or make `{precursor}` a `once`, which is ready when done")),
        )
    }
}

/// Whether the shape can only hold after a failure.
fn means_failure(shape: &Shape) -> bool {
    match shape {
        Shape::Failed => true,
        Shape::Condition { kind, status, .. } => {
            status == "True" && matches!(kind.as_str(), "Failed" | "Stalled" | "FailureTarget")
        }
        Shape::AllOf(shapes) => shapes.iter().any(means_failure),
        Shape::AnyOf(shapes) => !shapes.is_empty() && shapes.iter().all(means_failure),
        _ => false,
    }
}

/// Whether the shape can only hold of an object that is not there.
fn means_absence(shape: &Shape) -> bool {
    match shape {
        Shape::Absent => true,
        Shape::Not(inner) => matches!(**inner, Shape::Any),
        Shape::AllOf(shapes) => shapes.iter().any(means_absence),
        Shape::AnyOf(shapes) => !shapes.is_empty() && shapes.iter().all(means_absence),
        _ => false,
    }
}

/// A report comes from a Service that the same instance has.
fn report(blueprint: &Blueprint, graph: &Graph, name: &str, node: &Node) -> Option<Diagnostic> {
    let report = node.report.as_ref()?;
    let service = &report.service;
    let Some(target) = blueprint.nodes.get(service) else {
        let problem = Diagnostic::error(
            codes::UNKNOWN_NODE,
            format!("`{name}` reports from `{service}`, but there is no such node"),
        )
        .at(report.service_span.clone(), "no node of this name");
        let nodes = blueprint.nodes.keys().map(String::as_str);
        return Some(match crate::suggest::did_you_mean(service, nodes) {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    };
    let kind = target.body.identity().and_then(|object| object.kind.known());
    let why = if kind != Some("Service") {
        "is no Service"
    } else if !need::may_need(graph, Instance { root: name, deleting: false }).contains(service.as_str()) {
        "belongs to another root"
    } else {
        return None;
    };
    Some(
        Diagnostic::error(codes::BAD_REPORT, format!("`{name}` reports from `{service}`, which {why}"))
            .at(report.service_span.clone(), "")
            .see(target.span.clone(), "this node")
            .hint(format!("name a node of kind Service that `{name}` needs")),
    )
}
