//! What people are told of a blueprint, on its ConfigMap, and what keeps that there.
//!
//! A process that starts finds what the one before it told. That stands until it knows better: what it has not listed it does not
//! know to be gone, and what it has not looked at it does not know to be unwell.

use std::{collections::BTreeMap, time::Duration};

use pemdas_core::{
    graph::OWN_ROOT,
    world::{KindKey, Live, Sight, WriteOutcome},
};
use serde_json::{Value, json};

use super::{
    Event, Hub,
    blueprints::{BlueprintName, Loaded, Running},
    owners::Rival,
    views::{Purpose, Views},
};
use crate::{call, compile, identity::Identity, metrics::Problem, resource::Resource};

/// The annotation in which people find what became of the blueprint.
pub(crate) const STATUS_ANNOTATION: &str = "pemdas.dev/status";
/// The annotation in which people find the definitions that they are to install.
const PUBLISHED_ANNOTATION: &str = "pemdas.dev/definitions";
/// Keeps a blueprint while instances of it live.
pub(crate) const BLUEPRINT_FINALIZER: &str = "pemdas.dev/blueprint";
/// How long changes of how a blueprint is are gathered.
const REPORT_AFTER: Duration = Duration::from_secs(1);
/// How long until a report that failed is tried again.
pub(super) const REPORT_AGAIN: Duration = Duration::from_secs(5);
/// For how many reports what another process told is left standing, at most: some minute.
const PATIENCE: u32 = 60;
/// How many problems are told on the ConfigMap.
const MAX_PROBLEMS: usize = 10;
/// How many missing permissions are told: a few verbs for each of a few kinds and namespaces.
const MAX_MISSING: usize = 20;

/// How many instances there are, as people are told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) total: usize,
    pub(super) ready: usize,
    pub(super) stalled: usize,
}

/// What was told of a blueprint.
#[derive(Default)]
pub(super) struct Report {
    told: Option<Value>,
    /// How often it may still be left standing, as another process told it.
    patience: u32,
    /// Whether it is being written: the next waits, so that they come in their order.
    writing: bool,
    /// As of which version it was told: what a watch shows of before is no news.
    version: u64,
}

impl Report {
    /// What is found on a ConfigMap, perhaps told by another process.
    pub(super) fn found(live: &Live) -> Self {
        Self { told: told(live), patience: PATIENCE, ..Self::default() }
    }

    /// The ConfigMap is another one.
    pub(super) fn forget(&mut self) {
        self.told = None;
    }

    /// Whether it is left as another process told it: while this one does not know enough to tell better, but not for ever.
    fn stands(&mut self, knows: bool) -> bool {
        if knows || self.told.is_none() || mutant!(TellsAtOnce) {
            self.patience = 0;
        }
        self.patience = self.patience.saturating_sub(1);
        self.patience > 0
    }

    /// Whether a hand was in what is told.
    pub(super) fn was_edited(&mut self, live: &Live) -> bool {
        let there = told(live);
        let edited = live.resource_version >= self.version && self.told.is_some() && there != self.told;
        if edited {
            self.told = there;
        }
        edited
    }

    /// Whether people were told of these problems already.
    pub(super) fn has(&self, problems: &[compile::Problem]) -> bool {
        let shown: Vec<_> = problems.iter().take(MAX_PROBLEMS).collect();
        self.told.as_ref().is_some_and(|it| it[0]["problems"] == json!(shown))
    }

    /// Whether the ConfigMap is held, as far as was told: there are instances.
    pub(super) fn is_held(&self) -> bool {
        self.told.as_ref().is_none_or(|it| it[1] != false)
    }

    /// Whether people were told that this revision runs.
    pub(super) fn names(&self, revision: &str) -> bool {
        self.told.as_ref().is_some_and(|it| it[0]["revision"] == revision)
    }
}

/// What was told of a blueprint before, perhaps by another process.
fn told(live: &Live) -> Option<Value> {
    let status: Value = serde_json::from_str(live.annotation(STATUS_ANNOTATION)?).ok()?;
    let published = live.annotation(PUBLISHED_ANNOTATION);
    Some(json!([status, live.finalizers.contains(BLUEPRINT_FINALIZER), published]))
}

/// Whether there is no instance of a blueprint that was not seen, and nothing that is still to be learnt of those that were.
fn has_seen_all(views: &Views, name: &BlueprintName, loaded: &Loaded) -> bool {
    let Some(running) = &loaded.running else { return false };
    let sight = |kind: &KindKey| views.sight_of_all(&loaded.identity, kind);
    // Whoever may not see the roots does not know of them, and nobody counts them before it is known whose their kind is.
    let judged =
        |kind: &KindKey| running.owned.get(&kind.kind).is_none_or(|it| loaded.judged.contains_key(it));
    let roots = running.roots.iter().all(|(kind, _)| match sight(kind) {
        Sight::Synced => judged(kind),
        Sight::NoSuchKind => true,
        Sight::Unsynced | Sight::Forbidden => false,
    });
    // Of the rest, what may not be seen is not waited for.
    roots
        && views.kinds_of(name, &loaded.identity).iter().all(|it| sight(it) != Sight::Unsynced)
        && views.all.values().all(|it| it.purpose == Purpose::Objects || it.sight != Sight::Unsynced)
}

/// What is written on the ConfigMap of a blueprint.
fn body(name: &BlueprintName, status: &Value, published: Option<String>, held: bool) -> Value {
    let mut body = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name.name, "namespace": name.namespace,
            "annotations": { STATUS_ANNOTATION: status.to_string() },
        },
    });
    if let Some(published) = published {
        body["metadata"]["annotations"][PUBLISHED_ANNOTATION] = json!(published);
    }
    if held {
        body["metadata"]["finalizers"] = json!([BLUEPRINT_FINALIZER]);
    }
    body
}

impl Loaded {
    /// Whether there is something to tell: it was read, and if it is sound, its revision is kept.
    fn is_known(&self) -> bool {
        self.read && (self.running.is_some() || self.upcoming.is_some() || self.is_broken())
    }

    /// Whether what was told is of another revision, or of other problems.
    fn is_other(&self) -> bool {
        let other = |it: &Running| !self.report.names(&it.revision.name);
        self.running.as_ref().is_some_and(other) || !self.report.has(&self.problems)
    }

    /// How much there is of what keeps it from running as its author wants it.
    fn problem_counts(&self, suspended: bool) -> [(Problem, usize); 5] {
        let errors = self.problems.iter().filter(|it| it.error).count();
        let upcoming = self.upcoming.iter().flat_map(|it| it.waits()).count();
        let paused = self.rolling.told().is_some_and(|it| !it["paused"].is_null());
        [
            (Problem::errors, errors),
            (Problem::crds, self.definitions.len() + upcoming),
            (Problem::permissions, self.missing.len()),
            (Problem::rollout_paused, usize::from(paused)),
            (Problem::suspended, usize::from(suspended)),
        ]
    }

    fn status(&self, tally: Tally, rivals: Option<&BTreeMap<String, String>>) -> Value {
        let mut definitions = self.definitions.clone();
        definitions.extend(rivals.cloned().unwrap_or_default());
        let waits = self.upcoming.iter().flat_map(|it| it.waits());
        definitions.extend(waits.map(|(crd, why)| (crd.clone(), why)));
        let mut status = json!({
            "revision": self.running.as_ref().map(|it| it.revision.name.clone()),
            "ordinal": self.running.as_ref().map(|it| it.revision.ordinal),
            "account": self.identity.to_string(),
            "instances": { "total": tally.total, "ready": tally.ready, "stalled": tally.stalled },
            "definitions": definitions,
            "missing": self.missing.iter().take(MAX_MISSING).collect::<Vec<_>>(),
            "problems": self.problems.iter().take(MAX_PROBLEMS).collect::<Vec<_>>(),
        });
        if !self.namespaces.is_empty() {
            status["namespaces"] = json!(self.namespaces);
        }
        if let Some(upcoming) = self.upcoming.as_ref().filter(|it| !it.waits().is_empty()) {
            status["upcoming"] = upcoming.status();
        }
        if let Some(rollout) = self.rolling.told() {
            status["rollout"] = rollout.clone();
        }
        status
    }
}

impl Hub {
    /// Tells how the blueprints are, a little later: what changes meanwhile is told together.
    pub(super) fn report_soon(&mut self) {
        if std::mem::replace(&mut self.report_due, true) {
            return;
        }
        let post = self.post.clone();
        tokio::spawn(async move {
            tokio::time::sleep(REPORT_AFTER).await;
            let _ended = post.send(Event::Report).await;
        });
    }

    /// By blueprint: the definitions of kinds that another one serves.
    fn rivals(&self) -> BTreeMap<BlueprintName, BTreeMap<String, String>> {
        let mut found: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (name, loaded) in &self.blueprints {
            for crd in loaded.running.iter().flat_map(|it| it.owned.values()) {
                let text = match self.rival(name, crd, Some(&name.namespace)) {
                    Rival::Certain(rival) => format!("the kind of {crd} belongs to the blueprint {rival}"),
                    // That takes a moment at a start; where it has no end, somebody has to know.
                    Rival::Possible(rival)
                        if loaded.awaits() && self.blueprints.get(rival).is_some_and(Loaded::is_broken) =>
                    {
                        format!("the kind of {crd} may belong to the blueprint {rival}, which has errors")
                    }
                    Rival::Possible(_) | Rival::None => continue,
                };
                found.entry(name.clone()).or_default().insert(crd.clone(), text);
            }
        }
        found
    }

    /// Writes on the ConfigMaps how the blueprints are, where that changed.
    pub(super) fn report(&mut self) {
        self.report_due = false;
        let Some(resource) = Resource::built_in("v1", "ConfigMap") else { return };
        let client = self.clients.of(&Identity::Pemdas);
        let rivals = self.rivals();
        let suspended: BTreeMap<_, _> =
            self.blueprints.keys().filter_map(|it| Some((it.clone(), self.suspension(it)?))).collect();
        let sealed: BTreeMap<_, _> =
            self.blueprints.keys().filter_map(|it| Some((it.clone(), self.sealed(it)?))).collect();
        let all_read = self.blueprints.values().all(|it| it.read || it.gone);
        let mut waits = false;
        for (name, loaded) in self.blueprints.iter_mut().filter(|(_, it)| it.is_known() && !it.gone) {
            let (tally, judged) = self.instances.tally(name);
            // Where nobody's mark says whose a kind is, that is found out among all.
            let seen_all = has_seen_all(&self.views, name, loaded) && (all_read || !loaded.awaits());
            let knows = seen_all && judged && loaded.reviewed;
            let other = loaded.is_other();
            if loaded.report.stands(knows || other) {
                waits = true;
                continue;
            }
            let live = loaded.live.clone();
            let mut status = loaded.status(tally, rivals.get(name));
            let brake = suspended.get(name);
            if let Some(why) = brake {
                status["suspended"] = json!(why);
            }
            if let Some(sealed) = sealed.get(name) {
                status["reseal"] = sealed.clone();
            }
            let upcoming = loaded.upcoming.as_ref().and_then(|it| it.published().cloned());
            let published = upcoming.or_else(|| loaded.running.as_ref()?.published.clone());
            // An instance whose root is the ConfigMap itself holds it with finalizers of its own.
            let own = loaded.running.as_ref().is_some_and(|it| it.programs.contains_key(OWN_ROOT));
            let unknown = !seen_all && live.finalizers.contains(BLUEPRINT_FINALIZER);
            let held = (tally.total > 0 || unknown) && !own && !mutant!(BlueprintUnheld);
            // Neither put on nor taken off.
            let held = if brake.is_some() { live.finalizers.contains(BLUEPRINT_FINALIZER) } else { held };
            self.beside.metrics.stands(
                &name.to_string(),
                &loaded.problem_counts(brake.is_some()),
                self.instances.not_ready_since(name),
            );
            let wanted = json!([status, held, published]);
            if loaded.report.writing || loaded.report.told.as_ref() == Some(&wanted) {
                continue;
            }
            tracing::debug!(blueprint = %name, total = tally.total, held, "the status of a blueprint is written");
            loaded.report.told = Some(wanted);
            loaded.report.writing = true;
            let body = body(name, &status, published, held);
            // A server-side apply of our own fields: whoever applies the data keeps it.
            let (client, resource) = (client.clone(), resource.clone());
            let (post, name) = (self.post.clone(), name.clone());
            tokio::spawn(async move {
                let terms = call::Terms { uid: &live.uid, resource_version: None, force: true };
                let done = call::change(&client, &resource, &live.key, "pemdas", &body, &terms).await;
                let _ended = post.send(Event::Reported(name, done.outcome)).await;
            });
        }
        if waits {
            self.report_soon();
        }
        self.hold_permissions();
    }

    /// Whether a blueprint has instances, or may have some that were not seen yet; nothing if that is not known.
    pub(super) fn has_instances(&self, name: &BlueprintName) -> Option<bool> {
        let Some(loaded) = self.blueprints.get(name) else {
            return (self.knows_blueprints() && self.knows_remains).then_some(false);
        };
        let (tally, _) = self.instances.tally(name);
        match tally.total {
            0 => has_seen_all(&self.views, name, loaded).then_some(false),
            _ => Some(true),
        }
    }

    /// A report was written, or has to be written again.
    pub(super) fn reported(&mut self, name: &BlueprintName, outcome: &WriteOutcome) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        loaded.report.writing = false;
        if let WriteOutcome::Done(version) = outcome {
            loaded.report.version = *version;
        } else {
            tracing::warn!(blueprint = %name, ?outcome, "the status of a blueprint cannot be written");
            if mutant!(ReportOnce) {
                return;
            }
            loaded.report.told = None;
            let post = self.post.clone();
            tokio::spawn(async move {
                tokio::time::sleep(REPORT_AGAIN).await;
                let _ended = post.send(Event::Report).await;
            });
            return;
        }
        self.report_soon();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{PATIENCE, Report};

    fn found() -> Report {
        Report { told: Some(json!([{}, true, null])), patience: PATIENCE, ..Report::default() }
    }

    #[test]
    fn what_another_process_told_stands_until_more_is_known() {
        let mut report = found();
        assert!(report.stands(false));
        assert!(!report.stands(true));
        // What was known once is not forgotten when something new comes.
        assert!(!report.stands(false));
    }

    #[test]
    fn what_another_process_told_does_not_stand_for_ever() {
        let mut report = found();
        assert_eq!((0..2 * PATIENCE).filter(|_| report.stands(false)).count(), PATIENCE as usize - 1);
    }

    #[test]
    fn what_nobody_told_is_told_at_once() {
        assert!(!Report { patience: PATIENCE, ..Report::default() }.stands(false));
    }
}
