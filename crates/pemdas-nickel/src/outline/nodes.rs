//! The nodes: what each is, and its clauses.

use std::collections::BTreeMap;

use pemdas_core::blueprint::{
    Absent, Body, Clause, Function, Node, Observe, Once, Report, Rollout, Root, RootTarget, Template,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::codes;
use super::identity::Wanted;
use super::outliner::{Outliner, Spot, suggestion};
use crate::request::FieldSeen;

impl Outliner<'_> {
    /// One node. What is wrong with it is reported; what can be known of it is there all the same.
    pub(super) fn node(&mut self, spot: &Spot) -> Node {
        let span = self.span_of(&spot.path);
        let fields = self.fields(spot).unwrap_or_default();
        let body = self.body(spot, &fields);
        let mut node = Node::new(span, body);
        for field in &fields {
            let inner = spot.field(&field.name);
            let clause = Clause::ALL.iter().copied().find(|clause| clause.name() == field.name);
            let Some(clause) = clause else {
                self.unknown_clause(&inner, &field.name);
                continue;
            };
            let written = self.trees.name_of(&inner.path).or_else(|| field.span.clone());
            let problems = self.diagnostics.len();
            self.clause(&mut node, clause, &inner);
            // What the library has refused is not there for the checks that follow.
            if self.diagnostics.len() == problems {
                node.clauses.insert(clause, written.unwrap_or_else(|| node.span.clone()));
            }
        }
        node
    }

    /// The library says what is wrong with it; a misspelt one gets the clause that is nearest.
    fn unknown_clause(&mut self, spot: &Spot, name: &str) {
        drop(self.look(spot));
        let known: Vec<&str> = Clause::ALL.iter().map(|clause| clause.name()).collect();
        if let Some(last) = self.diagnostics.last_mut()
            && last.code == codes::UNKNOWN_CLAUSE
        {
            last.hint = Some(suggestion(name, &known));
        }
    }

    fn body(&mut self, spot: &Spot, fields: &[FieldSeen]) -> Body {
        let has = |name: &str| fields.iter().any(|field| field.name == name);
        let flag = |outliner: &mut Self, name: &str| {
            has(name) && outliner.evaluator.evaluate(&spot.field(name).place).is_ok_and(|value| value == true)
        };
        let clauses = [Clause::Root, Clause::Template, Clause::Observe, Clause::Absent, Clause::Value];
        let clause = clauses.into_iter().find(|clause| has(clause.name()));
        let inner = clause.map(|clause| spot.field(clause.name()));
        let body = match (clause, inner) {
            (Some(Clause::Root), Some(inner)) => {
                self.root_target(&inner).map(|target| Body::Root(Root { target }))
            }
            (Some(clause), Some(inner)) => self.function(&inner).map(|function| match clause {
                Clause::Template => {
                    let complete = !has(Clause::StateOf.name());
                    let wanted = Wanted { clause: "template", below_metadata: true, complete };
                    let found = self.identity(&inner, &function, &wanted);
                    let role = self.role_of(&inner, &function.span);
                    Body::Template(Template { function, object: found.object, role })
                }
                Clause::Observe => {
                    let wanted = Wanted { clause: "observe", below_metadata: false, complete: true };
                    let found = self.identity(&inner, &function, &wanted);
                    let optional = flag(self, Clause::Optional.name());
                    Body::Observe(Observe {
                        function,
                        object: found.object,
                        by_selector: found.by_selector,
                        optional,
                    })
                }
                Clause::Absent => {
                    let wanted = Wanted { clause: "absent", below_metadata: false, complete: true };
                    let found = self.identity(&inner, &function, &wanted);
                    let having = has("having").then(|| self.shape(&spot.field("having"))).flatten();
                    Body::Absent(Absent { function, object: found.object, having })
                }
                _ => Body::Value(function),
            }),
            _ => None,
        };
        // A node that could not be read stays a node: edges to it are not to be called unknown.
        body.unwrap_or_else(|| {
            let span = self.span_of(&spot.path);
            Body::Value(Function { path: spot.path.clone(), span, reads: Vec::new(), plain: None })
        })
    }

    fn only_fields(&mut self, spot: &Spot, what: &str, known: &[&str]) {
        for field in self.evaluator.look(&spot.place).map(|seen| seen.fields).unwrap_or_default() {
            if field.defined && !known.contains(&field.name.as_str()) {
                self.unknown_field(&spot.field(&field.name), what, known);
            }
        }
    }

    fn root_target(&mut self, spot: &Spot) -> Option<RootTarget> {
        self.only_fields(spot, "a root", &["owned", "apiVersion", "kind", "selector"]);
        let value = self.value(spot)?;
        if let Some(owned) = value.get("owned").and_then(Value::as_str) {
            return Some(RootTarget::Owned(owned.to_owned()));
        }
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let selector =
            value.get("selector").and_then(|selector| serde_json::from_value(selector.clone()).ok());
        Some(RootTarget::Foreign { api_version: text("apiVersion"), kind: text("kind"), selector })
    }

    fn clause(&mut self, node: &mut Node, clause: Clause, spot: &Spot) {
        match clause {
            // Read with the body; the body itself has been looked at there, but a second one has not.
            Clause::Root | Clause::Template | Clause::Observe | Clause::Absent | Clause::Value => {
                if node.body.clause() != clause {
                    drop(self.look(spot));
                }
            }
            Clause::Having => {
                if node.body.clause() != Clause::Absent {
                    drop(self.look(spot));
                }
            }
            Clause::Optional => drop(self.flag(spot)),
            Clause::Also => node.also = self.also_edges(spot),
            Clause::Deleting => node.deleting = self.also_edges(spot),
            Clause::Before => node.before = self.sequence_edges(spot),
            Clause::Ready => node.ready = self.shape(spot),
            Clause::Fails => node.fails = self.shape(spot),
            Clause::ForEach => node.for_each = self.function(spot),
            Clause::StateOf => node.state_of = self.text(spot),
            Clause::Once => node.once = self.once(spot),
            Clause::Key => node.key = self.function(spot),
            Clause::First => node.first = self.choice(spot),
            Clause::Superseded => node.superseded = self.choice(spot),
            Clause::Status => node.status = self.function(spot),
            Clause::Conditions => node.conditions = self.function(spot),
            Clause::Report => node.report = self.report_clause(spot),
            Clause::Approve => node.approve = self.flag(spot).unwrap_or_default(),
            Clause::Own => node.own = self.choice(spot),
            Clause::Conflict => node.conflict = self.choice(spot),
            Clause::Replace => node.replace = self.choice(spot),
            Clause::OnDelete => node.on_delete = self.choice(spot),
            Clause::OnImmutable => node.on_immutable = self.choice(spot),
            Clause::LateName => node.late_name = self.flag(spot).unwrap_or_default(),
            Clause::Observed => node.observed = self.flag(spot).unwrap_or(true),
        }
    }

    pub(super) fn choice<T: DeserializeOwned + Default>(&mut self, spot: &Spot) -> T {
        self.value(spot).and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    /// How a new revision reaches the instances.
    pub(super) fn rollout(&mut self, spot: &Spot) -> Option<Rollout> {
        let mut rollout = Rollout::CAREFUL;
        for field in self.fields(spot)? {
            let inner = spot.field(&field.name);
            match field.name.as_str() {
                "max_in_flight" => {
                    let most = self.value(&inner).and_then(|it| it.as_u64());
                    rollout.max_in_flight = most.and_then(|it| u32::try_from(it).ok()).unwrap_or(u32::MAX);
                }
                "pause_on_stalled" => {
                    rollout.pause_on_stalled = self.value(&inner).and_then(|it| it.as_bool()).unwrap_or(true);
                }
                _ => self.unknown_field(&inner, "`rollout`", &["max_in_flight", "pause_on_stalled"]),
            }
        }
        Some(rollout)
    }

    fn once(&mut self, spot: &Spot) -> Option<Once> {
        let mut once = Once { done: None, result: None, retry: 0 };
        for field in self.fields(spot)? {
            let inner = spot.field(&field.name);
            match field.name.as_str() {
                "done" => once.done = self.shape(&inner),
                "result" => once.result = self.function(&inner),
                "retry" => {
                    let retry = self.value(&inner).and_then(|value| value.as_u64());
                    once.retry = retry.and_then(|retry| u32::try_from(retry).ok()).unwrap_or_default();
                }
                _ => self.unknown_field(&inner, "`once`", &["done", "result", "retry"]),
            }
        }
        Some(once)
    }

    fn report_clause(&mut self, spot: &Spot) -> Option<Report> {
        self.only_fields(spot, "`report`", &["service", "port", "path", "field", "map"]);
        let fields = self.evaluator.look(&spot.place).map(|seen| seen.fields).unwrap_or_default();
        let (mut known, mut map) = (BTreeMap::new(), None);
        for field in fields.into_iter().filter(|it| it.defined) {
            let inner = spot.field(&field.name);
            match field.name.as_str() {
                "map" => map = self.function(&inner),
                "service" | "port" | "path" | "field" => {
                    known.insert(field.name.clone(), self.value(&inner)?);
                }
                _ => {}
            }
        }
        let text = |name: &str| known.get(name).and_then(Value::as_str).map(str::to_owned);
        let port = known.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
        Some(Report {
            service: text("service")?,
            service_span: self.value_span_of(&spot.field("service").path),
            port: port.unwrap_or(80),
            path: text("path").unwrap_or_else(|| "/".to_owned()),
            field: text("field"),
            map,
        })
    }
}
