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
    crd::install::Policy,
    decide::suspends,
    digest::Digest,
    graph::OWN_ROOT,
    program::{Program, Revision},
    world::{Fact, KindKey, Live},
};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::Instant};

use super::{
    Event, Hub,
    beside::Task,
    evaluations::Evaluations,
    lookouts::MAX_NAMESPACES,
    owners::Judged,
    past::{Past, no_sources},
    reports::{Report, STATUS_ANNOTATION},
    rollout::Rolling,
    sealing::RESEAL_ANNOTATION,
    upcoming::Upcoming,
};
use crate::{
    access::Within,
    compile::{Compiled, Compiler, Problem, Verdict},
    crds::install::Kept,
    door,
    files::{self, Unreadable},
    identity::Identity,
    needs,
    revisions::{self, About, Content},
};

/// The annotation that names the ServiceAccount; without it, the namespace's `default`.
pub(super) const ACCOUNT_ANNOTATION: &str = "pemdas.dev/service-account";
/// The annotation that says who makes the definitions of a blueprint's kinds: `create`, `await` or `publish`.
const DEFINITIONS_ANNOTATION: &str = "pemdas.dev/crds";
/// The annotation that says that nothing is written for a blueprint.
const SUSPEND_ANNOTATION: &str = "pemdas.dev/suspend";
/// Writes of one blueprint under way at once: fewer than those of all together.
const MAX_OWN_FLIGHTS: usize = 96;
/// The code of a revision that cannot be kept.
const UNSTORED: &str = "PM0511";
/// The code of a blueprint that is one too many in its namespace.
const TOO_MUCH: &str = "PM0018";
/// The code of a ConfigMap whose files cannot be unpacked.
const UNREADABLE: &str = "PM0015";
/// The code of a blueprint that no worker could be had for, and when it is read again.
const NO_WORKER: &str = "PM0510";
const READ_AGAIN: Duration = Duration::from_secs(30);

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
    /// The roots that are of a kind. Every object that is seen is held against them.
    pub(super) roots: Vec<(KindKey, String)>,
    /// By owned kind: the name of its definition.
    pub(super) owned: BTreeMap<String, String>,
    /// By definition: the digest of what was drafted.
    pub(super) drafts: BTreeMap<String, Digest>,
    /// The definitions, where people are to install them.
    pub(super) published: Option<String>,
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
    pub(super) live: Arc<Live>,
    /// The digest of the files that were read last, or are being read.
    sources: Digest,
    /// The number of the last reading: an earlier one that ends later does not count.
    pub(super) number: u64,
    /// Lives as long as that reading counts.
    pub(super) counts: Arc<()>,
    /// Whether a reading has come to an end.
    pub(super) read: bool,
    /// Whether it is certain that nothing of it runs: what is there cannot, and no earlier revision could.
    pub(super) idle: bool,
    /// Its account does not let it act: nothing is done for it.
    pub(super) withheld: bool,
    /// Its account is gone while it runs, and perhaps its namespace goes too.
    pub(super) bereft: bool,
    /// Its ConfigMap is not there any more: it only removes what it made.
    pub(super) gone: bool,
    pub(super) running: Option<Running>,
    /// A later revision that waits for its definitions.
    pub(super) upcoming: Option<Box<Upcoming>>,
    /// What is told of definitions that are not as drafted, by their name.
    pub(super) definitions: BTreeMap<String, String>,
    /// What the account may not do.
    pub(super) missing: Vec<String>,
    /// Whether that was found out, and what it may.
    pub(super) reviewed: bool,
    pub(super) may: Option<Within>,
    /// Whether there is a time set to ask again for what is missing.
    pub(super) review_due: bool,
    /// Whether something was refused that was allowed before, and when it was asked again last.
    pub(super) doubted: bool,
    pub(super) asked_at: Option<Instant>,
    /// By definition: whose its kind is, once that is known.
    pub(super) judged: BTreeMap<String, Judged>,
    /// How its revision reaches the instances.
    pub(super) rolling: Rolling,
    /// By revision that is kept: the kinds it speaks of. Objects of them may be left.
    pub(super) revisions: BTreeMap<String, BTreeSet<(String, String)>>,
    /// Earlier revisions that deletions need.
    pub(super) past: BTreeMap<String, Past>,
    /// Whether a time is set to look after the revisions, and how often that was done.
    pub(super) tending: bool,
    pub(super) tended: u32,
    /// Namespaces that instances turned out to need, where the account may not see the whole cluster.
    pub(super) namespaces: BTreeSet<String>,
    /// The uids of roots that started nothing.
    pub(super) passed_over: BTreeSet<String>,
    pub(super) problems: Vec<Problem>,
    pub(super) report: Report,
    /// Its writes under way.
    pub(super) flights: Arc<Semaphore>,
}

impl Loaded {
    pub(super) fn new(identity: Identity, live: &Arc<Live>) -> Self {
        Self {
            identity,
            live: live.clone(),
            sources: no_sources(),
            number: 0,
            counts: Arc::default(),
            read: false,
            idle: false,
            withheld: false,
            bereft: false,
            gone: false,
            running: None,
            upcoming: None,
            definitions: BTreeMap::new(),
            missing: Vec::new(),
            reviewed: false,
            may: None,
            review_due: false,
            doubted: false,
            asked_at: None,
            judged: BTreeMap::new(),
            rolling: Rolling::default(),
            revisions: BTreeMap::new(),
            past: BTreeMap::new(),
            tending: false,
            tended: 0,
            namespaces: namespaces(live),
            passed_over: BTreeSet::new(),
            problems: Vec::new(),
            report: Report::found(live),
            flights: Arc::new(Semaphore::new(MAX_OWN_FLIGHTS)),
        }
    }

    /// Its ConfigMap is not there any more; if it comes back, it is read anew.
    pub(super) fn is_gone(&mut self) {
        self.gone = true;
        self.upcoming = None;
        self.sources = no_sources();
        self.tended = 0;
    }

    /// Whether it begins nothing new.
    pub(super) fn is_going(&self) -> bool {
        self.gone || self.live.terminating
    }

    /// The revision that runs, or that there is none; nothing while that is being found out.
    pub(super) fn runs(&self) -> Option<Option<&Running>> {
        (self.running.is_some() || self.idle).then_some(self.running.as_ref())
    }

    /// Whether it has errors.
    pub(super) fn is_broken(&self) -> bool {
        self.problems.iter().any(|it| it.error)
    }

    /// Whether somebody else makes the definitions of its kinds.
    pub(super) fn awaits(&self) -> bool {
        policy(&self.live) != Policy::Create
    }

    /// When its ConfigMap was made, in the words of the server.
    pub(super) fn created(&self) -> &str {
        self.live.body.pointer("/metadata/creationTimestamp").and_then(Value::as_str).unwrap_or_default()
    }

    /// Its ConfigMap.
    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    /// The roots that are of this kind.
    pub(super) fn roots_of(&self, kind: &KindKey) -> Vec<String> {
        let roots = self.running.iter().flat_map(|it| &it.roots);
        roots.filter(|(it, _)| it == kind).map(|(_, name)| name.clone()).collect()
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

/// By revision: the kinds it speaks of.
fn kinds_of(all: BTreeMap<String, About>) -> BTreeMap<String, BTreeSet<(String, String)>> {
    all.into_iter().map(|(name, about)| (name, about.kinds)).collect()
}

impl Hub {
    pub(super) fn blueprint_seen(&mut self, live: &Arc<Live>) {
        let name = BlueprintName::new(&live.key.namespace, &live.key.name);
        if !self.settings.namespaces.is_empty() && !self.settings.namespaces.contains(&name.namespace) {
            return;
        }
        if door::is_too_much(live) {
            self.is_too_much(&name, live);
            return;
        }
        let account = live.annotation(ACCOUNT_ANNOTATION).unwrap_or("default").to_owned();
        let identity = Identity::Account { namespace: name.namespace.clone(), name: account };
        let held = [live.body.get("data"), live.body.get("binaryData")];
        let suspended = suspension(live, self.settings.suspended);
        let sources =
            Digest::of(&[], &json!([held, identity.to_string(), policy(live), suspended.is_some()]));
        self.compilations += 1;
        let number = self.compilations;
        let loaded =
            self.blueprints.entry(name.clone()).or_insert_with(|| Loaded::new(identity.clone(), live));
        if std::mem::replace(&mut loaded.gone, false) {
            loaded.report.forget();
            loaded.passed_over.clear();
        }
        let asks_to_reseal =
            loaded.live().annotation(RESEAL_ANNOTATION) != live.annotation(RESEAL_ANNOTATION);
        loaded.live = live.clone();
        for id in self.instances.of_blueprint(&name) {
            self.learn(id, Fact::Suspended(suspended.clone()));
        }
        if asks_to_reseal {
            self.reseal(&name);
        }
        let Some(loaded) = self.blueprints.get_mut(&name) else { return };
        if loaded.sources == sources {
            let changed = loaded.report.was_edited(live);
            self.own_root(&name);
            if changed || live.terminating {
                self.report_soon();
            }
            return;
        }
        if !self.may_act(&name) {
            return;
        }
        let Some(loaded) = self.blueprints.get_mut(&name) else { return };
        tracing::info!(blueprint = %name, "a blueprint is read");
        loaded.sources = sources;
        loaded.number = number;
        loaded.counts = Arc::default();
        loaded.idle = false;
        let (readers, post, live) = (self.readers.clone(), self.post.clone(), live.clone());
        let counts = Arc::downgrade(&loaded.counts);
        let read = move |compiler: &dyn Compiler| match files::read(&live.body) {
            Ok(files) => compiler.compile(&identity, &files),
            Err(why) => unreadable(&why),
        };
        tokio::spawn(async move {
            // Other files may be there when its turn comes.
            let wanted = || counts.strong_count() > 0;
            if let Some(verdict) = readers.read(&name.namespace, wanted, read).await {
                let _ended = post.send(Event::Compiled(name, number, Box::new(verdict))).await;
            }
        });
    }

    /// The namespace of a blueprint has too many, or too large ones: it is not read. What runs of it runs on.
    fn is_too_much(&mut self, name: &BlueprintName, live: &Live) {
        let message = format!(
            "the blueprints of the namespace {} are more than {}, or have more than {} MiB together: this one is not read",
            name.namespace,
            self.settings.limits.blueprints,
            self.settings.limits.blueprint_bytes >> 20
        );
        if let Some(loaded) = self.blueprints.get_mut(name) {
            if loaded.problems.iter().any(|it| it.code == TOO_MUCH) {
                return;
            }
            let (terminating, finalizers) = (live.terminating, live.finalizers.clone());
            loaded.live = Arc::new(Live { terminating, finalizers, ..(*loaded.live).clone() });
            loaded.sources = no_sources();
            let (code, place) = (TOO_MUCH.to_owned(), String::new());
            let hint = "delete some of them, or have them in other namespaces".to_owned();
            loaded.problems.push(Problem { code, place, message: message.clone(), hint, error: true });
            self.report_soon();
        }
        let message = format!("{TOO_MUCH}: {message}");
        let event = Told { about: None, reason: "Broken".to_owned(), message, warning: true };
        self.beside.teller.tell(reference(live), event);
    }

    /// Reads a blueprint again that is as it was.
    pub(super) fn read_again(&mut self, name: &BlueprintName, number: u64) {
        let Some(loaded) = self.blueprints.get_mut(name).filter(|it| it.number == number) else { return };
        let live = loaded.live.clone();
        loaded.sources = no_sources();
        self.blueprint_seen(&live);
    }

    pub(super) fn compiled(&mut self, name: &BlueprintName, number: u64, verdict: Verdict) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        if loaded.number != number {
            return;
        }
        if verdict.problems.iter().any(|it| it.code == NO_WORKER) {
            // That says nothing of the blueprint: it is read again for as long as it takes.
            let (post, name) = (self.post.clone(), name.clone());
            tokio::spawn(async move {
                tokio::time::sleep(READ_AGAIN).await;
                let _ended = post.send(Event::ReadAgain(name, number)).await;
            });
        }
        self.tell_if_slowed(name);
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        let news = broken(&verdict).filter(|_| !loaded.report.has(&verdict.problems));
        loaded.problems = verdict.problems;
        loaded.read = true;
        if let Some(news) = news {
            self.beside.teller.tell(reference(&loaded.live), news);
        }
        let runs = loaded.running.is_some();
        let identity = live_account(&loaded.live, &name.namespace);
        // What cannot be read was not compiled either.
        let sources = files::read(&loaded.live.body).unwrap_or_default();
        self.report_soon();
        let Some(compiled) = verdict.compiled else {
            if let Some(Problem { code, place, message, .. }) = first_error(&self.blueprints, name) {
                tracing::warn!(
                    blueprint = %name, code, place, error = message,
                    "a blueprint has errors; its last good revision runs on"
                );
            }
            if !runs && !mutant!(LastGoodUnsought) {
                self.find_last_good(name, number, &identity, None);
            }
            return;
        };
        let content = Content { library: self.beside.library.clone(), sources };
        let account = match identity {
            Identity::Account { name, .. } => name,
            Identity::Pemdas => String::new(),
        };
        let kinds = needs::kinds(&compiled.blueprint);
        let kinds = kinds.into_iter().map(|(kind, need)| (need.api_version, kind.kind.clone())).collect();
        self.keep_revision(name, number, compiled, content, About { account, kinds });
    }

    pub(super) fn stored(
        &mut self,
        name: &BlueprintName,
        number: u64,
        compiled: Compiled,
        stored: Result<revisions::Kept, String>,
    ) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        if loaded.number != number {
            return;
        }
        match stored {
            Ok(kept) => {
                loaded.problems.retain(|it| it.code != UNSTORED);
                loaded.revisions = kinds_of(kept.all.clone());
                self.activate(name, compiled, &kept);
            }
            Err(message) => {
                tracing::warn!(blueprint = %name, message, "cannot store a revision, so it does not run");
                self.unstored(name, number, message);
            }
        }
    }

    /// The last revision that could run was found, while the one that is there cannot.
    pub(super) fn last_good(
        &mut self,
        name: &BlueprintName,
        number: u64,
        found: Option<(Compiled, revisions::Kept)>,
    ) {
        let Some(loaded) = self.blueprints.get_mut(name).filter(|it| it.number == number) else { return };
        // What is there may have been kept after all.
        if loaded.running.is_some() {
            return;
        }
        match found {
            Some((compiled, kept)) => {
                loaded.revisions = kinds_of(kept.all);
                self.run_revision(name, compiled, &kept.revision, None);
            }
            None => {
                loaded.idle = true;
                self.owners_changed();
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
        let (runs, identity) = (loaded.running.is_some(), live_account(&loaded.live, &name.namespace));
        if !runs && !mutant!(LastGoodUnsought) {
            self.find_last_good(name, number, &identity, None);
        }
        self.report_soon();
    }

    /// A revision becomes active, with the definitions that were looked after while it waited for them.
    pub(super) fn run_revision(
        &mut self,
        name: &BlueprintName,
        compiled: Compiled,
        stored: &crate::revisions::Revision,
        definitions: Option<Vec<(Kept, Task)>>,
    ) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        let ordinal = stored.ordinal;
        let revision = Revision { name: stored.name.clone(), ordinal };
        let account = live_account(&loaded.live, &name.namespace);
        if loaded.identity != account && !loaded.gone {
            // Whoever may do something now is not who could before: its instances begin anew.
            loaded.identity = account;
            loaded.may = None;
            loaded.reviewed = false;
            for id in self.instances.of_blueprint(name) {
                self.end(id);
            }
            self.release(name, &BTreeSet::new());
        }
        tracing::info!(blueprint = %name, revision = revision.name, ordinal, "a revision runs");
        let Some(loaded) = self.blueprints.get(name) else { return };
        if !loaded.report.names(&revision.name) {
            let message = format!("revision {} runs as number {ordinal}", revision.name);
            let event = Told { about: None, reason: "Runs".to_owned(), message, warning: false };
            self.beside.teller.tell(reference(&loaded.live), event);
        }
        let kinds = needs::kinds(&compiled.blueprint);
        let definitions = definitions.unwrap_or_else(|| self.keep_definitions(name, &compiled, stored));
        let published = self.published(name, &compiled, stored);
        let running = Running { published, ..self.made_ready(compiled, revision, definitions) };
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        let identity = loaded.identity.clone();
        let old = loaded.running.replace(running);
        loaded.tended = 0;
        // Objects of kinds that only earlier revisions name may be left.
        let earlier: BTreeSet<_> = loaded.revisions.values().flatten().cloned().collect();
        self.rolls(name, old);
        for (kind, need) in &kinds {
            self.watch_kind(name, &identity, &need.api_version, &kind.kind, need.metadata_only);
        }
        for (api_version, kind) in &earlier {
            if !kinds.contains_key(&KindKey::new(api_version, kind)) && !mutant!(OldKindsUnwatched) {
                self.watch_kind(name, &identity, api_version, kind, true);
            }
        }
        for id in self.instances.of_blueprint(name) {
            self.queue.push(name, id);
        }
        self.begin_roots(name, &identity);
        self.own_root(name);
        self.review(name);
        self.owners_changed();
        self.tend_later(name);
    }

    /// A revision made ready to run.
    pub(super) fn made_ready(
        &self,
        compiled: Compiled,
        revision: Revision,
        definitions: Vec<(Kept, Task)>,
    ) -> Running {
        let (post, metrics) = (self.post.clone(), self.beside.metrics.clone());
        let owned = compiled.crds.iter().filter_map(|it| {
            let text = |at: &str| it.pointer(at).and_then(Value::as_str).map(str::to_owned);
            Some((text("/spec/names/kind")?, text("/metadata/name")?))
        });
        let drafts = compiled.crds.iter().filter_map(|it| {
            let name = it.pointer("/metadata/name").and_then(Value::as_str)?;
            Some((name.to_owned(), Digest::of(&[], it)))
        });
        let roots = compiled.blueprint.nodes.iter().filter_map(|(root, node)| {
            let (api_version, kind) = compiled.blueprint.kind_of_root(&node.body)?;
            Some((KindKey::new(&api_version, &kind), root.clone()))
        });
        Running {
            roots: roots.collect(),
            owned: owned.collect(),
            drafts: drafts.collect(),
            programs: programs(&compiled, &revision),
            evaluations: Evaluations::start(&self.settings.machine, compiled.evaluator, post, metrics),
            blueprint: compiled.blueprint,
            revision,
            published: None,
            definitions,
        }
    }

    /// Roots of kinds that were listed before the blueprint spoke of them as roots.
    pub(super) fn begin_roots(&mut self, name: &BlueprintName, identity: &Identity) {
        let Some(running) = self.blueprints.get(name).and_then(|it| it.running.as_ref()) else { return };
        let mut found = Vec::new();
        for (kind, root) in &running.roots {
            let seen = self.views.of(identity, kind).flat_map(|it| it.objects.values());
            found.extend(seen.map(|it| (root.clone(), it.clone())));
        }
        // In the same order whenever it is done again.
        found.sort_by(|(a, one), (b, other)| (a, &one.key).cmp(&(b, &other.key)));
        for (root, live) in found {
            self.root_of(name, &root, &live);
        }
    }

    /// A blueprint that is its own root.
    fn own_root(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get(name) else { return };
        let Some(running) = loaded.running.as_ref().filter(|_| !loaded.gone) else { return };
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
}

/// The first error of a blueprint.
fn first_error<'b>(all: &'b BTreeMap<BlueprintName, Loaded>, name: &BlueprintName) -> Option<&'b Problem> {
    all.get(name)?.problems.iter().find(|it| it.error)
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

/// What is told of a ConfigMap whose files cannot be unpacked.
fn unreadable(why: &Unreadable) -> Verdict {
    let problem = Problem {
        code: UNREADABLE.to_owned(),
        place: String::new(),
        message: why.to_string(),
        hint: Unreadable::HINT.to_owned(),
        error: true,
    };
    Verdict { compiled: None, problems: vec![problem] }
}

/// What an Event about a ConfigMap refers to.
pub(super) fn reference(live: &Live) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("ConfigMap".to_owned()),
        namespace: Some(live.key.namespace.clone()),
        name: Some(live.key.name.clone()),
        uid: Some(live.uid.clone()),
        ..ObjectReference::default()
    }
}

/// The namespaces that instances turned out to need, as an earlier process found.
fn namespaces(live: &Live) -> BTreeSet<String> {
    let status: Option<Value> =
        live.annotation(STATUS_ANNOTATION).and_then(|it| serde_json::from_str(it).ok());
    let told = status.as_ref().and_then(|it| it.get("namespaces")).and_then(Value::as_array);
    let names = told.into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned));
    names.take(MAX_NAMESPACES).collect()
}

/// Why nothing may be written for a blueprint, but reports; nothing if it may.
fn suspension(live: &Live, operator: bool) -> Option<Box<str>> {
    if operator {
        return Some("the operator was started with --suspend".into());
    }
    let (namespace, name) = (&live.key.namespace, &live.key.name);
    let said = live.annotation(SUSPEND_ANNOTATION).is_some_and(suspends);
    said.then(|| format!("the blueprint {namespace}/{name} has the annotation {SUSPEND_ANNOTATION}").into())
}

impl Hub {
    /// Why nothing may be written for the instances of a blueprint; nothing if it may.
    pub(super) fn suspension(&self, name: &BlueprintName) -> Option<Box<str>> {
        let loaded = self.blueprints.get(name)?;
        // What was said on a ConfigMap that is gone holds no more: a process that starts anew would not know of it.
        if loaded.gone && !self.settings.suspended {
            return None;
        }
        suspension(&loaded.live, self.settings.suspended)
    }
}

/// Who makes the definitions.
pub(crate) fn policy(live: &Live) -> Policy {
    match live.annotation(DEFINITIONS_ANNOTATION) {
        Some("await") => Policy::Await,
        Some("publish") => Policy::Publish,
        _ => Policy::Create,
    }
}
