//! What stands beside the loop and tells it something now and then: definitions, revisions, permissions, reports.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ObjectReference;
use pemdas_core::{
    action::Event as Told,
    blueprint::Rollout,
    crd::install::{Maker, Policy},
    rights::{Served, Setting, rights},
    world::{Fact, KindKey, Live, Owner, World},
};
use serde_json::Value;
use tokio::{task::AbortHandle, time::Instant};

use super::{
    Event, Hub, InstanceId,
    blueprints::{BlueprintName, policy},
    instances::Instance,
    owners::Judged,
};
use crate::{
    access::{Access, DENIED_FOR, Within, permissions},
    compile::{Compiled, Compiler},
    crds::install::{Definitions, Kept as KeptDefinition, Standing, Wanted, manifest},
    events::Teller,
    gate::Readers,
    identity::Identity,
    metrics::Metrics,
    report::{Place, Reporter},
    resource::Resource,
    revisions::{About, Content, Kept, Revision, Revisions, Trouble},
};

/// How many bytes of definitions are published on a ConfigMap, whose annotations may have 256 KiB in all.
const MAX_PUBLISHED: usize = 200_000;
/// The pause in seconds from which on it is told that a revision could not be kept: the third try.
const UNKEPT_IS_TOLD: u64 = 4;

/// What the loop is given by whoever runs it.
#[derive(Clone)]
pub struct Beside {
    /// Numbers for Prometheus.
    pub metrics: Metrics,
    /// Tells Events.
    pub teller: Teller,
    /// Asks Services.
    pub reporter: Reporter,
    /// Asks what accounts may do.
    pub access: Arc<Access>,
    /// The version of the binary.
    pub version: String,
    /// The version of the library, which revisions are kept with.
    pub library: String,
}

/// A task that is stopped when nobody needs it any more.
pub(super) struct Task(AbortHandle);

impl Task {
    pub(super) fn of<T>(task: &tokio::task::JoinHandle<T>) -> Self {
        Self(task.abort_handle())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Hub {
    /// Keeps the sources of a blueprint that can run; then its revision has a number, and runs.
    pub(super) fn keep_revision(
        &mut self,
        name: &BlueprintName,
        number: u64,
        compiled: Compiled,
        content: Content,
        about: About,
    ) {
        let revisions = Revisions::new(self.clients_of_pemdas(), &name.namespace);
        let revisions = revisions.held(self.suspension(name).map(Into::into));
        let Some(counts) = self.blueprints.get(name).map(|it| Arc::downgrade(&it.counts)) else { return };
        let (post, name, turn) = (self.post.clone(), name.clone(), self.turn_to_keep(name));
        let mut compiled = compiled;
        tokio::spawn(async move {
            let mut pause = 1;
            let stored = loop {
                // Other files are there now.
                if counts.strong_count() == 0 {
                    return;
                }
                let by_another = match compiled.blueprint.rollout {
                    Some(_) => Ok(false),
                    None => revisions.is_of_another_library(&name.name, &content).await,
                };
                let kept = match by_another {
                    Err(trouble) => Err(trouble),
                    Ok(by_another) => {
                        if by_another {
                            // Nobody asked for a change: it reaches one instance after the other, and stops where one stalls.
                            tracing::warn!(blueprint = %name, "the library of this binary differs from that of the last revision: instances move one after the other");
                            compiled.blueprint.rollout = Some(Rollout::CAREFUL);
                        }
                        let _alone = turn.lock().await;
                        revisions.keep(&name.name, &content, &about).await
                    }
                };
                match kept {
                    Ok(kept) => break Ok(kept),
                    // The API server may be away for as long as it likes, and whoever else writes may end.
                    Err(error @ (Trouble::Api(_) | Trouble::Contended { .. })) => {
                        tracing::warn!(blueprint = %name, %error, "cannot store a revision; trying again");
                        // What may be over in a moment is no news.
                        if error.is_refusal() || pause >= UNKEPT_IS_TOLD {
                            let unstored = Event::Unstored(name.clone(), number, error.to_string());
                            if post.send(unstored).await.is_err() {
                                return;
                            }
                        }
                        tokio::time::sleep(std::time::Duration::from_secs(pause)).await;
                        pause = (pause * 2).min(60);
                    }
                    Err(trouble) => break Err(trouble.to_string()),
                }
            };
            let _ended = post.send(Event::Stored(name, number, Box::new(compiled), stored)).await;
        });
    }

    /// Looks for the last revision that could run, because the one that is there cannot.
    /// Its definitions may not wait for a human.
    pub(super) fn find_last_good(
        &self,
        name: &BlueprintName,
        number: u64,
        identity: &Identity,
        before: Option<u64>,
    ) {
        let Some(loaded) = self.blueprints.get(name) else { return };
        let sought = LastGood {
            revisions: Revisions::new(self.clients_of_pemdas(), &name.namespace),
            definitions: Definitions::new(self.clients_of_pemdas()),
            live: loaded.live.clone(),
            name: name.clone(),
            version: self.beside.version.clone(),
            before,
            blueprint: name.name.clone(),
            readers: self.readers.clone(),
            identity: identity.clone(),
            library: self.beside.library.clone(),
        };
        let Some(counts) = self.blueprints.get(name).map(|it| Arc::downgrade(&it.counts)) else { return };
        let (post, name) = (self.post.clone(), name.clone());
        tokio::spawn(async move {
            let mut pause = 1;
            let found = loop {
                match sought.find().await {
                    Ok(found) => break found,
                    Err(error) => {
                        tracing::warn!(blueprint = %name, %error, "cannot read the revisions of a blueprint; trying again");
                    }
                }
                tokio::time::sleep(std::time::Duration::from_secs(pause)).await;
                pause = (pause * 2).min(60);
                // Other files are there now, or nobody listens any more.
                if counts.strong_count() == 0 {
                    return;
                }
            };
            let _ended = post.send(Event::LastGood(name, number, found.map(Box::new))).await;
        });
    }

    /// Looks after the definitions of the kinds that a blueprint owns.
    pub(super) fn keep_definitions(
        &mut self,
        name: &BlueprintName,
        compiled: &Compiled,
        revision: &Revision,
    ) -> Vec<(KeptDefinition, Task)> {
        let Some(loaded) = self.blueprints.get(name).filter(|it| !it.gone) else { return Vec::new() };
        // Who may write nothing waits for a definition, as for one that somebody else makes.
        let policy = if self.suspension(name).is_some() { Policy::Await } else { policy(loaded.live()) };
        let maker = self.maker(name, loaded.live(), revision);
        let identity = loaded.identity.clone();
        let (reader, writer) = (self.clients.of(&Identity::Pemdas), self.clients.of(&identity));
        let keep = |draft: &Value| {
            let wanted = Wanted { policy, draft: draft.clone(), maker: maker.clone() };
            let kept = KeptDefinition::start(reader.clone(), writer.clone(), wanted);
            let mut standing = kept.standing();
            let crd = draft.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let (post, name, revision) = (self.post.clone(), name.clone(), revision.name.clone());
            let told = tokio::spawn(async move {
                loop {
                    let now = standing.borrow_and_update().clone();
                    let event = Event::Definition(name.clone(), revision.clone(), crd.clone(), now);
                    if post.send(event).await.is_err() || standing.changed().await.is_err() {
                        return;
                    }
                }
            });
            (kept, Task(told.abort_handle()))
        };
        compiled.crds.iter().map(keep).collect()
    }

    /// The definitions as YAML, where somebody else is to install them.
    pub(super) fn published(
        &self,
        name: &BlueprintName,
        compiled: &Compiled,
        revision: &Revision,
    ) -> Option<String> {
        let loaded = self.blueprints.get(name).filter(|it| policy(it.live()) == Policy::Publish)?;
        let text = manifest(&compiled.crds, &self.maker(name, loaded.live(), revision));
        if text.len() <= MAX_PUBLISHED {
            return Some(text);
        }
        let size = text.len();
        Some(format!("# They take {size} bytes, too many for an annotation: `pemdas crds` writes them.\n"))
    }

    fn maker(&self, name: &BlueprintName, live: &Live, revision: &Revision) -> Maker {
        Maker {
            blueprint: name.to_string(),
            uid: live.uid.clone(),
            ordinal: revision.ordinal,
            version: self.beside.version.clone(),
        }
    }

    pub(super) fn definition(&mut self, name: &BlueprintName, revision: &str, crd: &str, standing: Standing) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        if loaded.running.as_ref().is_none_or(|it| it.revision.name != revision) {
            return;
        }
        let judged = match &standing {
            Standing::Usable(_) | Standing::Unfit(_) => Some(Judged::Ours),
            Standing::Refused(_) | Standing::Wider(_) | Standing::Unseen(_) => Some(Judged::Ours),
            // It still serves its objects: whoever does not remove what they made keeps them, and it, for ever.
            Standing::Going(_) => Some(Judged::Ours),
            Standing::Anothers(_) => Some(Judged::Anothers),
            // What it was before it has to be waited for, it is.
            Standing::Waiting(_) => None,
        };
        let unfit = matches!(standing, Standing::Unfit(_) | Standing::Refused(_));
        let text = match standing {
            Standing::Usable(differences) if differences.is_empty() => None,
            Standing::Usable(differences) | Standing::Unfit(differences) => Some(differences.join("; ")),
            Standing::Waiting(why)
            | Standing::Going(why)
            | Standing::Anothers(why)
            | Standing::Unseen(why) => Some(why),
            Standing::Refused(why) | Standing::Wider(why) => Some(why.join("; ")),
        };
        let before = match &text {
            None => loaded.definitions.remove(crd),
            Some(text) => loaded.definitions.insert(crd.to_owned(), text.clone()),
        };
        if let Some(text) = text.filter(|it| unfit && before.as_ref() != Some(it)) {
            let advice = policy(loaded.live()).advice();
            let message = format!("the CRD {crd} does not serve revision {revision}: {text}. {advice}");
            let event = Told { about: None, reason: "DefinitionRefused".to_owned(), message, warning: true };
            self.beside.teller.tell(super::blueprints::reference(&loaded.live), event);
        }
        if let Some(judged) = judged
            && loaded.judged.insert(crd.to_owned(), judged) != Some(judged)
        {
            self.owners_changed();
        }
        self.report_soon();
    }

    /// Asks whether the account, and Pemdas itself, may do what the blueprint will ask for.
    pub(super) fn review(&self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get(name).filter(|it| !it.gone) else { return };
        let Some(running) = &loaded.running else { return };
        let who = loaded.identity.clone();
        // How a custom kind is spelt in the plural is only known when it is served: then it is asked again.
        let served = |api_version: &str, kind: &str| {
            let (resource, _) = self.views.resource(&who, &KindKey::new(api_version, kind))?;
            let Resource { kind, plural, namespaced, .. } = resource;
            Some(Served { group: kind.group.clone(), plural, namespaced })
        };
        let setting = Setting { definitions: policy(loaded.live()) };
        let programs = running.programs.values().map(Arc::as_ref);
        let wanted = rights(programs, setting, &served);
        let [account, operator] =
            [&wanted.account, &wanted.operator].map(|it| permissions(it, &name.namespace));
        let namespaces = self.namespaces_of(name);
        let (access, post, name) = (self.beside.access.clone(), self.post.clone(), name.clone());
        tokio::spawn(async move {
            let may = access.review_within(&who, &account, &namespaces).await;
            let own = access.review_within(&Identity::Pemdas, &operator, &namespaces).await;
            let mut missing = may.review.sentences(&who);
            missing.extend(own.review.sentences(&Identity::Pemdas));
            let _ended = post.send(Event::Reviewed(name, missing, Box::new((who, may)))).await;
        });
    }

    /// Somebody was refused something that the last review allowed: rights go without a sign. It is asked anew, once for all
    /// who are refused meanwhile.
    pub(super) fn was_forbidden(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get_mut(name).filter(|it| it.reviewed && !it.gone) else { return };
        loaded.doubted = true;
        if std::mem::replace(&mut loaded.review_due, true) {
            return;
        }
        let pause = loaded.asked_at.map_or(Duration::ZERO, |it| DENIED_FOR.saturating_sub(it.elapsed()));
        let (post, name) = (self.post.clone(), name.clone());
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let _ended = post.send(Event::Review(name)).await;
        });
    }

    /// Time to ask again what may not be done.
    pub(super) fn review_again(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        loaded.review_due = false;
        loaded.asked_at = Some(Instant::now());
        if std::mem::replace(&mut loaded.doubted, false) {
            self.beside.access.forget(&loaded.identity);
            self.beside.access.forget(&Identity::Pemdas);
        }
        self.review(name);
    }

    /// What may not be done. Rights come without a sign: what is missing is asked for again.
    pub(super) fn reviewed(
        &mut self,
        name: BlueprintName,
        missing: Vec<String>,
        (who, may): (Identity, Within),
    ) {
        let Some(loaded) = self.blueprints.get_mut(&name).filter(|it| it.identity == who) else { return };
        let complete = missing.is_empty();
        loaded.missing = missing;
        loaded.reviewed = true;
        let news = loaded.may.as_ref() != Some(&may);
        loaded.may = Some(may);
        if !complete && !std::mem::replace(&mut loaded.review_due, true) {
            let post = self.post.clone();
            tokio::spawn(async move {
                tokio::time::sleep(DENIED_FOR).await;
                let _ended = post.send(Event::Review(name)).await;
            });
        }
        if news {
            self.owners_changed();
        }
        self.report_soon();
    }

    /// Tells people something of an instance.
    pub(super) fn tell(&self, instance: &Instance, event: Told) {
        let root = &instance.world.root;
        let api_version = root.live.as_ref().and_then(|it| it.body.get("apiVersion")).and_then(Value::as_str);
        let reference = ObjectReference {
            api_version: api_version.map(str::to_owned),
            kind: Some(root.key.kind.kind.clone()),
            namespace: Some(root.key.namespace.clone()).filter(|it| !it.is_empty()),
            name: Some(root.key.name.clone()),
            uid: Some(root.uid.clone()),
            ..ObjectReference::default()
        };
        self.beside.teller.tell(reference, event);
    }

    /// Follows the Service of a `report`, once it is there.
    pub(super) fn follow_report(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get_mut(id) else { return };
        let running = super::rollout::revision_of(&self.blueprints, instance);
        let report = running.and_then(|it| it.blueprint.nodes.get(&instance.root)?.report.as_ref());
        let made = report.and_then(|it| service_of(&instance.world, &it.service));
        let place = report.zip(made.clone().filter(|it| leads_to_pods(it))).map(|(report, service)| {
            let (namespace, service) = (service.key.namespace.clone(), service.key.name.clone());
            Place { namespace, service, port: report.port, path: report.path.clone() }
        });
        if place.is_some() && instance.following.as_ref().map(|(place, _)| place) == place.as_ref() {
            return;
        }
        let Some(place) = place else {
            instance.following = None;
            if made.is_some() {
                let trouble = "its Service leads out of the cluster: it is not asked".to_owned();
                self.learn(id, Fact::ReportTrouble(Some(trouble)));
            }
            return;
        };
        let client = self.clients.of(&instance.identity);
        let followed = self.beside.reporter.follow(place.clone(), client);
        let post = self.post.clone();
        let task = tokio::spawn(async move {
            let mut report = followed.report();
            while report.changed().await.is_ok() {
                let now = report.borrow_and_update().clone();
                let facts = vec![Fact::Report(now.value), Fact::ReportTrouble(now.trouble)];
                if post.send(Event::Ended(id, facts)).await.is_err() {
                    return;
                }
            }
        });
        instance.following = Some((place, Task(task.abort_handle())));
    }
}

/// The Service that a node made.
fn service_of(world: &World, node: &str) -> Option<Arc<Live>> {
    let made = world.objects.values().find(|it| {
        it.key.kind.kind == "Service" && matches!(world.owner(it), Owner::Us(claim) if claim.node == node)
    });
    made.cloned()
}

/// Whether a Service leads to pods: not to a name outside of the cluster. The API server's proxy goes to addresses of pods only.
fn leads_to_pods(service: &Live) -> bool {
    service.body.pointer("/spec/type").is_none_or(|it| it != "ExternalName")
}

/// What an Event about an object refers to.
pub(super) fn reference(live: &Live) -> ObjectReference {
    let text = |value: &str| Some(value.to_owned()).filter(|it| !it.is_empty());
    ObjectReference {
        api_version: live.body.get("apiVersion").and_then(Value::as_str).map(str::to_owned),
        kind: text(&live.key.kind.kind),
        namespace: text(&live.key.namespace),
        name: text(&live.key.name),
        uid: text(&live.uid),
        ..ObjectReference::default()
    }
}

/// The last revision of a blueprint that could run, looked for because the one that is there cannot.
struct LastGood {
    revisions: Revisions,
    definitions: Definitions,
    live: Arc<Live>,
    name: BlueprintName,
    version: String,
    /// Only those before this one.
    before: Option<u64>,
    blueprint: String,
    readers: Readers,
    identity: Identity,
    library: String,
}

impl LastGood {
    /// # Errors
    /// If the API server did not tell: what it would have told may be the last good one.
    async fn find(&self) -> Result<Option<(Compiled, Kept)>, Trouble> {
        let known = self.revisions.known(&self.blueprint).await?;
        let all: BTreeMap<_, _> = known.iter().map(|(it, about)| (it.name.clone(), about.clone())).collect();
        let earlier =
            known.into_iter().filter(|(it, _)| self.before.is_none_or(|before| it.ordinal < before));
        for (revision, _) in earlier.rev().take(5) {
            let (revision, content) = match self.revisions.read(&self.blueprint, &revision.name).await {
                Ok(Some(found)) => found,
                Err(Trouble::Api(error)) => return Err(Trouble::Api(error)),
                // It is gone, or nobody can use it.
                Ok(None) | Err(_) => continue,
            };
            let identity = self.identity.clone();
            let same_library = content.library == self.library;
            let compiled =
                move |compiler: &dyn Compiler| compiler.compile(&identity, &content.sources).compiled;
            let compiled = self.readers.read(&self.name.namespace, || true, compiled).await;
            if let Some(mut compiled) = compiled.flatten() {
                if self.is_refused(&compiled, &revision).await {
                    continue;
                }
                if !same_library {
                    compiled.blueprint.rollout.get_or_insert(Rollout::CAREFUL);
                }
                return Ok(Some((compiled, Kept { revision, all })));
            }
        }
        Ok(None)
    }

    /// Whether a definition may not be as this revision wants it: then it never became active.
    async fn is_refused(&self, compiled: &Compiled, revision: &Revision) -> bool {
        let maker = Maker {
            blueprint: self.name.to_string(),
            uid: self.live.uid.clone(),
            ordinal: revision.ordinal,
            version: self.version.clone(),
        };
        for draft in &compiled.crds {
            let wanted = Wanted { policy: policy(&self.live), draft: draft.clone(), maker: maker.clone() };
            if self.definitions.refuses(&wanted).await {
                return true;
            }
        }
        false
    }
}
