//! What the operator counts about itself, in the form that Prometheus reads.
//!
//! Labels are few and bounded: names of instances and objects are never labels.

mod requests;

use std::{collections::BTreeMap, sync::Arc};

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

pub use requests::{CountRequests, Counted};

use crate::{compile::Used, limits::Limits};

/// All that is counted. Clones count together.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    reconciles: Family<ReconcileLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    evaluations: Family<EvaluationLabels, Counter>,
    memo_hits: Counter,
    queue_depth: Gauge,
    instances: Family<InstanceLabels, Gauge>,
    leading: Gauge,
    events_dropped: Counter,
    worker_milliseconds: Family<NamespaceLabels, Gauge>,
    evaluations_waiting: Family<NamespaceLabels, Gauge>,
    evaluations_refused: Family<NamespaceLabels, Gauge>,
    evaluations_slowed: Family<NamespaceLabels, Gauge>,
    events: Family<EventLabels, Counter>,
    repairs: Family<BlueprintLabels, Counter>,
    problems: Family<ProblemLabels, Gauge>,
    not_ready_since: Family<BlueprintLabels, Gauge>,
    limits: Family<LimitLabels, Gauge>,
}

/// What one pass over an instance came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "they are values of a label, written as such values are")]
pub enum Outcome {
    /// There was nothing to do.
    unchanged,
    /// Something was done.
    acted,
    /// It could not be finished.
    failed,
}

/// What became of one evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "they are values of a label, written as such values are")]
pub enum Evaluated {
    /// It gave a value.
    value,
    /// It gave an error.
    error,
    /// It was ended for taking too long or too much.
    killed,
}

/// How an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "they are values of a label, written as such values are")]
pub enum InstanceState {
    /// All is as it shall be.
    ready,
    /// It is on its way.
    reconciling,
    /// A human must look.
    stalled,
    /// It is going.
    deleting,
    /// A human said that nothing is written for it.
    suspended,
}

/// What keeps a blueprint from running as its author wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "they are values of a label, written as such values are")]
pub enum Problem {
    /// Errors in it: the last good revision runs, if there is one.
    errors,
    /// CRDs that are not served as it wants them.
    crds,
    /// Permissions that its account, or Pemdas, lacks.
    permissions,
    /// The rollout of its revision is paused.
    rollout_paused,
    /// A human said that nothing is written for it.
    suspended,
}

impl Problem {
    const ALL: [Self; 5] =
        [Self::errors, Self::crds, Self::permissions, Self::rollout_paused, Self::suspended];
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelValue)]
enum EventType {
    Normal,
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    reason: String,
    r#type: EventType,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BlueprintLabels {
    blueprint: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProblemLabels {
    blueprint: String,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    blueprint: String,
    result: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    verb: &'static str,
    result: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EvaluationLabels {
    result: Evaluated,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InstanceLabels {
    blueprint: String,
    state: InstanceState,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NamespaceLabels {
    namespace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Nothing was counted yet.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Arc::default(),
            reconciles: Family::default(),
            requests: Family::default(),
            evaluations: Family::default(),
            memo_hits: Counter::default(),
            queue_depth: Gauge::default(),
            instances: Family::default(),
            leading: Gauge::default(),
            events_dropped: Counter::default(),
            worker_milliseconds: Family::default(),
            evaluations_waiting: Family::default(),
            evaluations_refused: Family::default(),
            evaluations_slowed: Family::default(),
            events: Family::default(),
            repairs: Family::default(),
            problems: Family::default(),
            not_ready_since: Family::default(),
            limits: Family::default(),
        };
        let mut registry = Registry::with_prefix("pemdas");
        registry.register("reconciles", "Passes over an instance", metrics.reconciles.clone());
        registry.register(
            "requests",
            "Requests to the API server; the result is the status code, 0 without an answer",
            metrics.requests.clone(),
        );
        registry.register("evaluations", "Evaluations of blueprint functions", metrics.evaluations.clone());
        registry.register(
            "memo_hits",
            "Evaluations that were answered from memory",
            metrics.memo_hits.clone(),
        );
        registry.register("queue_depth", "Instances that wait for a pass", metrics.queue_depth.clone());
        registry.register("instances", "Instances by state", metrics.instances.clone());
        registry.register("leading", "Whether this process leads", metrics.leading.clone());
        registry.register(
            "events_dropped",
            "Events that were not sent, to spare the API server",
            metrics.events_dropped.clone(),
        );
        metrics.register_troubles(&mut registry);
        let shares = [
            (
                "worker_milliseconds",
                "Time of workers that evaluate, by namespace",
                &metrics.worker_milliseconds,
            ),
            ("evaluations_waiting", "Evaluations that wait for a worker", &metrics.evaluations_waiting),
            ("evaluations_refused", "Evaluations that found no place to wait", &metrics.evaluations_refused),
            (
                "evaluations_slowed",
                "How often others went before, because a namespace had used more than its share",
                &metrics.evaluations_slowed,
            ),
        ];
        for (name, help, family) in shares {
            registry.register(name, help, family.clone());
        }
        registry.register("limits", "What there is to share, as the flags set it", metrics.limits.clone());
        metrics.registry = Arc::new(registry);
        metrics
    }

    /// What says that something is stuck, changed or broken.
    fn register_troubles(&self, registry: &mut Registry) {
        registry.register(
            "events",
            "Events by their reason, those that were not sent too",
            self.events.clone(),
        );
        registry.register("repairs", "Drift that was repaired", self.repairs.clone());
        registry.register(
            "blueprint_problems",
            "What keeps a blueprint from running as its author wants it, by kind",
            self.problems.clone(),
        );
        registry.register(
            "not_ready_since_timestamp_seconds",
            "Since when the instance of a blueprint that is not ready for longest is not; 0 if all are ready",
            self.not_ready_since.clone(),
        );
    }

    /// A pass over an instance ended.
    pub fn reconciled(&self, blueprint: &str, result: Outcome) {
        let labels = ReconcileLabels { blueprint: blueprint.to_owned(), result };
        self.reconciles.get_or_create(&labels).inc();
    }

    /// An evaluation ended.
    pub fn evaluated(&self, result: Evaluated) {
        self.evaluations.get_or_create(&EvaluationLabels { result }).inc();
    }

    /// Evaluations were remembered.
    pub fn remembered(&self, count: u64) {
        self.memo_hits.inc_by(count);
    }

    /// So many instances wait for a pass.
    pub fn queued(&self, depth: usize) {
        self.queue_depth.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    /// An instance left one state, or came into being, and is in another, or gone.
    pub fn moved(&self, blueprint: &str, from: Option<InstanceState>, to: Option<InstanceState>) {
        let gauge = |state| {
            let labels = InstanceLabels { blueprint: blueprint.to_owned(), state };
            self.instances.get_or_create_owned(&labels)
        };
        if from != to {
            from.map(|state| gauge(state).dec());
            to.map(|state| gauge(state).inc());
        }
    }

    /// A blueprint is gone: nothing is told of it any more.
    pub fn forget(&self, blueprint: &str) {
        for state in [
            InstanceState::ready,
            InstanceState::reconciling,
            InstanceState::stalled,
            InstanceState::deleting,
            InstanceState::suspended,
        ] {
            self.instances.remove(&InstanceLabels { blueprint: blueprint.to_owned(), state });
        }
        for problem in Problem::ALL {
            self.problems.remove(&ProblemLabels { blueprint: blueprint.to_owned(), problem });
        }
        let labels = BlueprintLabels { blueprint: blueprint.to_owned() };
        self.repairs.remove(&labels);
        self.not_ready_since.remove(&labels);
        for result in [Outcome::unchanged, Outcome::acted, Outcome::failed] {
            self.reconciles.remove(&ReconcileLabels { blueprint: blueprint.to_owned(), result });
        }
    }

    /// Something was told.
    pub fn told(&self, reason: &str, warning: bool) {
        let kind = if warning { EventType::Warning } else { EventType::Normal };
        self.events.get_or_create(&EventLabels { reason: reason.to_owned(), r#type: kind }).inc();
    }

    /// What somebody else changed was put right.
    pub fn repaired(&self, blueprint: &str) {
        self.repairs.get_or_create(&BlueprintLabels { blueprint: blueprint.to_owned() }).inc();
    }

    /// How it stands with a blueprint: how much there is of each problem, and since when, in seconds, an instance is not ready.
    pub fn stands(&self, blueprint: &str, problems: &[(Problem, usize)], not_ready_since: Option<i64>) {
        for (problem, count) in problems {
            let labels = ProblemLabels { blueprint: blueprint.to_owned(), problem: *problem };
            self.problems.get_or_create(&labels).set(i64::try_from(*count).unwrap_or(i64::MAX));
        }
        let labels = BlueprintLabels { blueprint: blueprint.to_owned() };
        self.not_ready_since.get_or_create(&labels).set(not_ready_since.unwrap_or(0));
    }

    /// Whether this process leads.
    pub fn leads(&self, leads: bool) {
        self.leading.set(i64::from(leads));
    }

    /// What there is to share.
    pub fn limited(&self, limits: &Limits) {
        for (limit, value) in limits.named() {
            let labels = LimitLabels { limit };
            self.limits.get_or_create(&labels).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    /// What namespaces used of the workers: nothing is told of others any more.
    pub fn shared(&self, used: &BTreeMap<String, Used>) {
        let families = [
            &self.worker_milliseconds,
            &self.evaluations_waiting,
            &self.evaluations_refused,
            &self.evaluations_slowed,
        ];
        families.iter().for_each(|it| it.clear());
        for (namespace, used) in used {
            let labels = NamespaceLabels { namespace: namespace.clone() };
            let values = [used.millis, used.waiting, used.refused, used.slowed];
            for (family, value) in families.iter().zip(values) {
                family.get_or_create(&labels).set(i64::try_from(value).unwrap_or(i64::MAX));
            }
        }
    }

    /// An Event was not sent.
    pub fn event_dropped(&self) {
        self.events_dropped.inc();
    }

    /// How many Events were not sent.
    #[must_use]
    pub fn events_dropped(&self) -> u64 {
        self.events_dropped.get()
    }

    /// All of it, as Prometheus reads it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    fn requested(&self, verb: &'static str, result: u16) {
        self.requests.get_or_create(&RequestLabels { verb, result }).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::{Evaluated, InstanceState, Metrics, Outcome, Problem, Used};

    #[test]
    fn what_is_counted_can_be_read() {
        let metrics = Metrics::new();
        metrics.reconciled("n/one", Outcome::acted);
        metrics.reconciled("n/one", Outcome::acted);
        metrics.evaluated(Evaluated::killed);
        metrics.remembered(5);
        metrics.queued(7);
        metrics.leads(true);
        metrics.event_dropped();
        let used = Used { millis: 1_500, slowed: 3, ..Used::default() };
        metrics.shared(&[("n".to_owned(), used)].into());
        metrics.moved("n/one", None, Some(InstanceState::reconciling));
        metrics.moved("n/one", Some(InstanceState::reconciling), Some(InstanceState::ready));
        metrics.told("Stalled", true);
        metrics.repaired("n/one");
        metrics.stands("n/one", &[(Problem::crds, 2)], Some(1_700_000_000));
        let text = metrics.text();
        for line in [
            "pemdas_events_total{reason=\"Stalled\",type=\"Warning\"} 1",
            "pemdas_repairs_total{blueprint=\"n/one\"} 1",
            "pemdas_blueprint_problems{blueprint=\"n/one\",problem=\"crds\"} 2",
            "pemdas_not_ready_since_timestamp_seconds{blueprint=\"n/one\"} 1700000000",
            "pemdas_reconciles_total{blueprint=\"n/one\",result=\"acted\"} 2",
            "pemdas_evaluations_total{result=\"killed\"} 1",
            "pemdas_memo_hits_total 5",
            "pemdas_queue_depth 7",
            "pemdas_leading 1",
            "pemdas_events_dropped_total 1",
            "pemdas_worker_milliseconds{namespace=\"n\"} 1500",
            "pemdas_evaluations_slowed{namespace=\"n\"} 3",
            "pemdas_instances{blueprint=\"n/one\",state=\"reconciling\"} 0",
            "pemdas_instances{blueprint=\"n/one\",state=\"ready\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
        metrics.forget("n/one");
        assert!(!metrics.text().contains("n/one"), "a blueprint that is gone leaves nothing");
    }
}
