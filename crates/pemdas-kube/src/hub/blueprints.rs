//! ConfigMaps that become programs. A broken revision leaves the last good one running.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::ObjectReference;
use pemdas_core::{
    action::Event as Told,
    blueprint::{Blueprint, Body, RootTarget},
    digest::Digest,
    graph::OWN_ROOT,
    program::{Program, Revision},
    world::{KindKey, Live},
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{Event, Hub, beside::Task, evaluations::Evaluations, instances::Standing, rollout::Rolling};
use crate::{
    call,
    compile::{Compiled, Problem, Verdict},
    crds::install::Kept,
    identity::Identity,
    needs,
    resource::Resource,
    revisions::Content,
};

/// The annotation that names the ServiceAccount; without it, the namespace's `default`.
pub(super) const ACCOUNT_ANNOTATION: &str = "pemdas.dev/service-account";
/// The annotation in which people find what became of the blueprint.
pub(crate) const STATUS_ANNOTATION: &str = "pemdas.dev/status";
/// Keeps a blueprint while instances of it live.
pub(super) const BLUEPRINT_FINALIZER: &str = "pemdas.dev/blueprint";
/// How long changes of how a blueprint is are gathered.
const REPORT_AFTER: Duration = Duration::from_secs(1);
/// Writes of one blueprint under way at once: fewer than those of all together.
const MAX_OWN_FLIGHTS: usize = 96;
/// The code of a revision that cannot be kept.
const UNSTORED: &str = "PM0511";
/// How many problems are told on the ConfigMap.
const MAX_PROBLEMS: usize = 10;

/// A blueprint: its ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BlueprintName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl BlueprintName {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for BlueprintName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// A revision that runs.
pub(super) struct Running {
    pub(super) blueprint: Blueprint,
    pub(super) revision: Revision,
    /// By root.
    pub(super) programs: BTreeMap<String, Arc<Program>>,
    pub(super) evaluations: Evaluations,
    definitions: Vec<(Kept, Task)>,
}

impl Running {
    /// Another revision runs: its definitions are looked after, and not those of this one.
    pub(super) fn retire(&mut self) {
        self.definitions.clear();
    }
}

/// A blueprint that was seen.
pub(super) struct Loaded {
    pub(super) identity: Identity,
    live: Arc<Live>,
    /// The digest of the files that were read last, or are being read.
    sources: Digest,
    /// The number of the last reading: an earlier one that ends later does not count.
    number: u64,
    pub(super) running: Option<Running>,
    /// What is told of definitions that are not as drafted, by their name.
    pub(super) definitions: BTreeMap<String, String>,
    /// What the account may not do.
    pub(super) missing: Vec<String>,
    /// How its revision reaches the instances.
    pub(super) rolling: Rolling,
    /// Kinds of earlier revisions, of which objects may be left.
    kinds: BTreeSet<KindKey>,
    problems: Vec<Problem>,
    told: Option<Value>,
    /// Its writes under way.
    pub(super) flights: Arc<Semaphore>,
}

impl Loaded {
    /// Its ConfigMap.
    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    /// Whether people were told of these problems already, perhaps by another process.
    fn has_told(&self, problems: &[Problem]) -> bool {
        let shown: Vec<_> = problems.iter().take(MAX_PROBLEMS).collect();
        self.told.as_ref().is_some_and(|it| it[0]["problems"] == json!(shown))
    }

    /// The roots that are of this kind.
    pub(super) fn roots_of(&self, kind: &KindKey) -> Vec<String> {
        let Some(running) = &self.running else { return Vec::new() };
        let nodes = running.blueprint.nodes.iter();
        nodes
            .filter(|(_, node)| {
                needs::root_kind(&running.blueprint, &node.body)
                    .is_some_and(|(api_version, name)| KindKey::new(&api_version, &name) == *kind)
            })
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Whether an object is a root: what a selector picks.
    pub(super) fn selects(&self, root: &str, live: &Live) -> bool {
        let Some(running) = &self.running else { return false };
        match running.blueprint.nodes.get(root).map(|it| &it.body) {
            Some(Body::Root(root)) => match &root.target {
                RootTarget::Foreign { selector: Some(selector), .. } => selector.picks(|it| live.label(it)),
                _ => true,
            },
            _ => root == OWN_ROOT,
        }
    }
}

impl Hub {
    pub(super) fn blueprint_seen(&mut self, live: &Arc<Live>) {
        let name = BlueprintName::new(&live.key.namespace, &live.key.name);
        if !self.settings.namespaces.is_empty() && !self.settings.namespaces.contains(&name.namespace) {
            return;
        }
        let account = live.annotation(ACCOUNT_ANNOTATION).unwrap_or("default").to_owned();
        let identity = Identity::Account { namespace: name.namespace.clone(), name: account };
        let files = files(&live.body);
        let sources = Digest::of(&[], &json!([files, identity.to_string()]));
        self.compilations += 1;
        let number = self.compilations;
        let loaded = self.blueprints.entry(name.clone()).or_insert_with(|| Loaded {
            identity: identity.clone(),
            live: live.clone(),
            sources: Digest::of(&[], &Value::Null),
            number: 0,
            running: None,
            definitions: BTreeMap::new(),
            missing: Vec::new(),
            rolling: Rolling::default(),
            kinds: BTreeSet::new(),
            problems: Vec::new(),
            told: told(live),
            flights: Arc::new(Semaphore::new(MAX_OWN_FLIGHTS)),
        });
        loaded.live = live.clone();
        if loaded.sources == sources {
            // A hand was in what is told.
            let changed = loaded.told.is_some() && told(live) != loaded.told;
            if changed {
                loaded.told = told(live);
            }
            self.own_root(&name);
            if changed || live.terminating {
                self.report_soon();
            }
            return;
        }
        tracing::info!(blueprint = %name, "a blueprint is read");
        loaded.sources = sources;
        loaded.number = number;
        let (compiler, post) = (self.compiler.clone(), self.post.clone());
        tokio::task::spawn_blocking(move || {
            let verdict = Box::new(compiler.compile(&identity, &files));
            let _ended = post.blocking_send(Event::Compiled(name, number, verdict));
        });
    }

    pub(super) fn compiled(&mut self, name: &BlueprintName, number: u64, verdict: Verdict) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        if loaded.number != number {
            return;
        }
        let news = broken(&verdict).filter(|_| !loaded.has_told(&verdict.problems));
        loaded.problems = verdict.problems;
        if let Some(news) = news {
            self.beside.teller.tell(reference(&loaded.live), news);
        }
        let runs = loaded.running.is_some();
        let identity = live_account(&loaded.live, &name.namespace);
        let sources = files(&loaded.live.body);
        self.report_soon();
        let Some(compiled) = verdict.compiled else {
            tracing::warn!(blueprint = %name, "a blueprint has errors; its last good revision runs on");
            if !runs {
                self.find_last_good(name, number, &identity);
            }
            return;
        };
        let content = Content { library: self.beside.library.clone(), sources };
        self.keep_revision(name, number, compiled, content);
    }

    pub(super) fn stored(
        &mut self,
        name: &BlueprintName,
        number: u64,
        compiled: Compiled,
        stored: Result<crate::revisions::Revision, String>,
    ) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        if loaded.number != number {
            return;
        }
        match stored {
            Ok(revision) => {
                loaded.problems.retain(|it| it.code != UNSTORED);
                self.run_revision(name, compiled, &revision);
            }
            Err(message) => {
                tracing::warn!(blueprint = %name, message, "a revision cannot be kept, and so it is not run");
                self.unstored(name, number, message);
            }
        }
    }

    /// A revision is not kept, and so it is not run.
    pub(super) fn unstored(&mut self, name: &BlueprintName, number: u64, message: String) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        if loaded.number != number || loaded.problems.iter().any(|it| it.code == UNSTORED) {
            return;
        }
        let event = format!("{UNSTORED}: {message}");
        let event = Told { about: None, reason: "Broken".to_owned(), message: event, warning: true };
        self.beside.teller.tell(reference(&loaded.live), event);
        let (code, place, hint) = (UNSTORED.to_owned(), String::new(), String::new());
        loaded.problems.push(Problem { code, place, message, hint, error: true });
        self.report_soon();
    }

    fn run_revision(
        &mut self,
        name: &BlueprintName,
        compiled: Compiled,
        stored: &crate::revisions::Revision,
    ) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        let ordinal = stored.ordinal;
        let revision = Revision { name: stored.name.clone(), ordinal };
        let account = live_account(&loaded.live, &name.namespace);
        if loaded.identity != account {
            // Whoever may do something now is not who could before: its instances begin anew.
            loaded.identity = account;
            for id in self.instances.of_blueprint(name) {
                self.instances.remove(id);
            }
            self.views.release(name, &BTreeSet::new());
        }
        tracing::info!(blueprint = %name, revision = revision.name, ordinal, "a revision runs");
        if loaded.told.as_ref().is_none_or(|it| it[0]["revision"] != revision.name) {
            let message = format!("revision {} runs as number {ordinal}", revision.name);
            let event = Told { about: None, reason: "Runs".to_owned(), message, warning: false };
            self.beside.teller.tell(reference(&loaded.live), event);
        }
        let kinds = needs::kinds(&compiled.blueprint);
        let definitions = self.keep_definitions(name, &compiled, stored);
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        loaded.kinds.extend(kinds.keys().cloned());
        let identity = loaded.identity.clone();
        let running = self.made_ready(compiled, revision, definitions);
        let old = self.blueprints.get_mut(name).and_then(|it| it.running.replace(running));
        self.rolls(name, old);
        for (kind, need) in &kinds {
            self.watch_kind(name, &identity, &need.api_version, &kind.kind, need.metadata_only);
        }
        for id in self.instances.of_blueprint(name) {
            self.queue.push(name, id);
        }
        self.begin_roots(name, &identity);
        self.own_root(name);
        self.review(name);
    }

    /// A revision made ready to run.
    pub(super) fn made_ready(
        &self,
        compiled: Compiled,
        revision: Revision,
        definitions: Vec<(Kept, Task)>,
    ) -> Running {
        Running {
            programs: programs(&compiled, &revision),
            evaluations: Evaluations::start(compiled.evaluator, self.post.clone()),
            blueprint: compiled.blueprint,
            revision,
            definitions,
        }
    }

    /// Roots of kinds that were listed before the blueprint spoke of them as roots.
    fn begin_roots(&mut self, name: &BlueprintName, identity: &Identity) {
        let Some(running) = self.blueprints.get(name).and_then(|it| it.running.as_ref()) else { return };
        let roots = running.blueprint.nodes.iter().filter_map(|(root, node)| {
            let (api_version, kind) = needs::root_kind(&running.blueprint, &node.body)?;
            Some((root.clone(), KindKey::new(&api_version, &kind)))
        });
        let mut found = Vec::new();
        for (root, kind) in roots {
            let view = self.views.of(identity, &kind);
            found.extend(
                view.into_iter().flat_map(|it| it.objects.values()).map(|it| (root.clone(), it.clone())),
            );
        }
        for (root, live) in found {
            self.root_of(name, &root, &live);
        }
    }

    /// A blueprint that is its own root.
    fn own_root(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get(name) else { return };
        let Some(running) = &loaded.running else { return };
        let live = loaded.live.clone();
        let own = running.programs.keys().filter(|root| {
            let body = running.blueprint.nodes.get(*root).map(|it| &it.body);
            match body {
                Some(Body::Root(root)) => root.target == RootTarget::Blueprint,
                _ => *root == OWN_ROOT,
            }
        });
        for root in own.cloned().collect::<Vec<_>>() {
            self.root_of(name, &root, &live);
        }
    }

    pub(super) fn blueprint_gone(&mut self, live: &Live) {
        let name = BlueprintName::new(&live.key.namespace, &live.key.name);
        let Some(loaded) = self.blueprints.remove(&name) else { return };
        tracing::info!(blueprint = %name, "a blueprint is gone");
        for id in self.instances.of_blueprint(&name) {
            self.instances.remove(id);
        }
        self.views.release(&name, &BTreeSet::new());
        if !self.blueprints.values().any(|it| it.identity == loaded.identity) {
            self.clients.forget(&loaded.identity);
        }
    }

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

    /// Writes on the ConfigMaps how the blueprints are, where that changed.
    pub(super) fn report(&mut self) {
        self.report_due = false;
        let Some(resource) = Resource::built_in("v1", "ConfigMap") else { return };
        let client = self.clients.of(&Identity::Pemdas);
        for (name, loaded) in &mut self.blueprints {
            let counts = self.instances.count(name);
            let total: usize = counts.values().sum();
            let live = loaded.live.clone();
            let mut status = json!({
                "revision": loaded.running.as_ref().map(|it| it.revision.name.clone()),
                "ordinal": loaded.running.as_ref().map(|it| it.revision.ordinal),
                "account": loaded.identity.to_string(),
                "instances": {
                    "total": total,
                    "ready": counts.get(&Standing::Ready).copied().unwrap_or(0),
                    "stalled": counts.get(&Standing::Stalled).copied().unwrap_or(0),
                },
                "definitions": loaded.definitions,
                "missing": loaded.missing.iter().take(MAX_PROBLEMS).collect::<Vec<_>>(),
                "problems": loaded.problems.iter().take(MAX_PROBLEMS).collect::<Vec<_>>(),
            });
            if let Some(rollout) = loaded.rolling.told() {
                status["rollout"] = rollout.clone();
            }
            // An instance whose root is the ConfigMap itself holds it with finalizers of its own.
            let own = loaded.running.as_ref().is_some_and(|it| it.programs.contains_key(OWN_ROOT));
            let held = total > 0 && !own;
            let wanted = json!([status, held]);
            if loaded.told.as_ref() == Some(&wanted) {
                continue;
            }
            loaded.told = Some(wanted);
            let mut body = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": name.name, "namespace": name.namespace,
                    "annotations": { STATUS_ANNOTATION: status.to_string() },
                },
            });
            if held {
                body["metadata"]["finalizers"] = json!([BLUEPRINT_FINALIZER]);
            }
            // A server-side apply of our own fields: whoever applies the data keeps it.
            let (client, resource) = (client.clone(), resource.clone());
            tokio::spawn(async move {
                let terms = call::Terms { uid: &live.uid, resource_version: None, force: true };
                call::change(&client, &resource, &live.key, "pemdas", &body, &terms).await
            });
        }
    }
}

/// The account that a blueprint names.
pub(crate) fn live_account(live: &Live, namespace: &str) -> Identity {
    let name = live.annotation(ACCOUNT_ANNOTATION).unwrap_or("default").to_owned();
    Identity::Account { namespace: namespace.to_owned(), name }
}

fn programs(compiled: &Compiled, revision: &Revision) -> BTreeMap<String, Arc<Program>> {
    let roots = compiled.blueprint.nodes.iter().filter(|(_, node)| matches!(node.body, Body::Root(_)));
    let mut roots: Vec<_> = roots.map(|(name, _)| name.as_str()).collect();
    if roots.is_empty() {
        roots.push(OWN_ROOT);
    }
    let program = |root: &str| {
        let program = Program::new(compiled.blueprint.clone(), &compiled.graph, root, revision.clone())?;
        Some((root.to_owned(), Arc::new(program)))
    };
    roots.into_iter().filter_map(program).collect()
}

/// What is told of a blueprint that cannot run.
fn broken(verdict: &Verdict) -> Option<Told> {
    if verdict.compiled.is_some() {
        return None;
    }
    let errors: Vec<_> = verdict.problems.iter().filter(|it| it.error).collect();
    let first = errors.first()?;
    let place = if first.place.is_empty() { String::new() } else { format!(" at {}", first.place) };
    let more = match errors.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = format!("{}{place}: {}{more}", first.code, first.message);
    Some(Told { about: None, reason: "Broken".to_owned(), message, warning: true })
}

/// What an Event about a ConfigMap refers to.
fn reference(live: &Live) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("ConfigMap".to_owned()),
        namespace: Some(live.key.namespace.clone()),
        name: Some(live.key.name.clone()),
        uid: Some(live.uid.clone()),
        ..ObjectReference::default()
    }
}

/// What was told of a blueprint before, perhaps by another process.
fn told(live: &Live) -> Option<Value> {
    let status: Value = serde_json::from_str(live.annotation(STATUS_ANNOTATION)?).ok()?;
    Some(json!([status, live.finalizers.contains(BLUEPRINT_FINALIZER)]))
}

/// The files of a blueprint.
pub(crate) fn files(body: &Value) -> BTreeMap<String, String> {
    let data = body.get("data").and_then(Value::as_object);
    data.into_iter()
        .flatten()
        .filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())))
        .collect()
}
