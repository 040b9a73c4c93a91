//! Actions sent as calls. What came of them comes back as facts.

use std::sync::Arc;

use kube::Client;
use pemdas_core::{
    action::{Action, Event as Told},
    digest::Digest,
    secrets::Secrets,
    world::{
        CLAIM_ANNOTATION, Fact, LedgerFact, Live, ObjectKey, Refusal, Seal, WriteOutcome, dropped, manager,
    },
};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Hub, InstanceId, runway::UnderWay};
use crate::{
    call::{self, Done, Terms},
    identity::Identity,
    ledgers::{self, Place},
    resource::Resource,
};

/// Of how many namespaces it is remembered what they write, before those that write nothing are forgotten.
const MAX_NAMESPACES: usize = 1_000;

impl Hub {
    /// Sends an action of an instance.
    pub(super) fn send(&mut self, id: InstanceId, action: &Action) {
        let Some(instance) = self.instances.get(id) else { return };
        let action = Arc::new(action.clone());
        // Not served any more: nobody would answer, and when it comes back it is looked for again.
        if let Action::Look { key } = &*action
            && self.resource(&instance.identity.clone(), key, None).is_none()
        {
            return;
        }
        let Some(instance) = self.instances.get_mut(id) else { return };
        // Before its answer can come.
        if !mutant!(ActsWithoutMemory) {
            instance.world.learn(Fact::Sent(action.clone()));
        }
        self.tell_of_repair(id, &action);
        match &*action {
            Action::Render(_) => {}
            Action::Event(event) => {
                let event = event.clone();
                if let Some(instance) = self.instances.get(id) {
                    self.tell(instance, event);
                }
            }
            Action::Record { .. }
            | Action::Forget { .. }
            | Action::ReadLedger
            | Action::ReadLedgerOf { .. }
            | Action::ForgetLedgerOf { .. } => self.send_ledger(id, action),
            Action::Look { key } => self.send_look(id, key.clone()),
            _ => self.send_write(id, action),
        }
    }

    /// Says that what somebody else changed of an object of ours is put right.
    fn tell_of_repair(&self, id: InstanceId, action: &Action) {
        let Some(instance) = self.instances.get(id) else { return };
        let Some(repair) = instance.world.repaired(action) else { return };
        let message = Secrets::of(&instance.world, None).mask(&repair);
        self.beside.metrics.repaired(&instance.blueprint.to_string());
        let event = Told { about: None, reason: "DriftRepaired".to_owned(), message, warning: false };
        self.tell(instance, event);
    }

    fn send_write(&mut self, id: InstanceId, action: Arc<Action>) {
        let Some(instance) = self.instances.get(id) else { return };
        let world = &instance.world;
        let root = world.root.key.clone();
        let key = action.written().cloned().unwrap_or_else(|| root.clone());
        let seen = if key == root { world.root.live.clone() } else { world.objects.get(&key).cloned() };
        let identity =
            if lets_go(&action, seen.as_deref()) { Identity::Pemdas } else { instance.identity.clone() };
        let instance_name = world.root.instance.clone();
        let manager = manager(&instance_name);
        let resource = self.resource(&instance.identity.clone(), &key, body_of(&action));
        let client = self.clients.of(&identity);
        let tried = action.tried();
        let Some((resource, strip)) = resource else {
            // Not served any more: the view says so too, and then nothing is decided on it.
            self.learn(id, Fact::Outcome(key, tried, WriteOutcome::Lost));
            return;
        };
        let flights = self.flights(id);
        self.spawn(id, async move {
            let Some(flight) = flights.begin().await else { return Vec::new() };
            let mut done = write(&client, &resource, &key, &manager, &action, seen.as_deref()).await;
            drop(flight);
            if let Some(pause) = done.pause {
                // Until then nothing else is tried on the object: its write counts as under way. Others go on.
                tokio::time::sleep(pause).await;
            }
            let dropped = fields_dropped(&instance_name, &action, done.live.as_ref());
            if strip {
                done.live = done.live.map(without_body);
            }
            facts(&key, &root, tried, done).into_iter().chain(dropped).collect()
        });
    }

    fn send_look(&mut self, id: InstanceId, key: ObjectKey) {
        let Some(instance) = self.instances.get(id) else { return };
        let (identity, is_root) = (instance.identity.clone(), key == instance.world.root.key);
        let Some((resource, strip)) = self.resource(&identity, &key, None) else { return };
        let client = self.clients.of(&identity);
        self.spawn(id, async move {
            let mut pause = 1;
            loop {
                match call::look(&client, &resource, &key).await {
                    Ok((live, version)) => {
                        let live = live.map(|it| if strip { without_body(it) } else { it }).map(Arc::new);
                        let mut facts = vec![Fact::Looked(key, live.clone(), version)];
                        if is_root {
                            facts.push(live.map_or(Fact::RootVanished, Fact::Root));
                        }
                        return facts;
                    }
                    Err(why) => {
                        tracing::debug!(%key, why, "a direct read failed; trying again");
                        tokio::time::sleep(std::time::Duration::from_secs(pause)).await;
                        pause = (pause * 2).min(60);
                    }
                }
            }
        });
    }

    fn send_ledger(&mut self, id: InstanceId, action: Arc<Action>) {
        let Some(instance) = self.instances.get(id) else { return };
        let place = instance.ledger();
        let seal = self.settings.keys.seal.clone();
        let client = self.clients.of(&Identity::Pemdas);
        let flights = self.flights(id);
        self.spawn(id, async move {
            let Some(_flight) = flights.begin().await else { return Vec::new() };
            match &*action {
                Action::Record { ledger, resource_version } => {
                    let (outcome, fact) =
                        ledgers::record(&client, &place, ledger, *resource_version, &seal).await;
                    let mut facts = vec![Fact::LedgerOutcome(outcome)];
                    facts.extend(fact.map(Fact::Ledger));
                    facts
                }
                Action::Forget { resource_version } => {
                    vec![Fact::LedgerOutcome(ledgers::forget(&client, &place, *resource_version).await)]
                }
                Action::ReadLedgerOf { instance } => {
                    vec![old_ledger(&client, Place { instance: instance.clone(), ..place }, &seal).await]
                }
                Action::ForgetLedgerOf { instance, resource_version } => {
                    let place = Place { instance: instance.clone(), ..place };
                    // Whatever became of it, what is there now says what is left to do.
                    let _ = ledgers::forget(&client, &place, *resource_version).await;
                    vec![old_ledger(&client, place, &seal).await]
                }
                _ => vec![Fact::LedgerRead(read_ledger(&client, &place, &seal).await)],
            }
        });
    }

    /// How an object's kind is served, in the version of a body; and whether only its metadata is kept.
    fn resource(
        &self,
        identity: &Identity,
        key: &ObjectKey,
        body: Option<&Value>,
    ) -> Option<(Resource, bool)> {
        let (resource, strip) = match self.views.lookout(identity, &key.kind) {
            Some(_) => self.views.resource(identity, &key.kind)?,
            // The blueprint's own ConfigMap as a root.
            None => (Resource::built_in("v1", &key.kind.kind)?, false),
        };
        let version = body.and_then(|it| it.get("apiVersion")).and_then(Value::as_str);
        let api_version = version.map_or_else(|| resource.api_version.clone(), str::to_owned);
        Some((Resource { api_version, ..resource }, strip))
    }
}

/// Writes under way: of all blueprints together, of those of a namespace, and of one.
struct Flights {
    all: Arc<Semaphore>,
    of_namespace: Arc<Semaphore>,
    own: Option<Arc<Semaphore>>,
    under_way: UnderWay,
}

impl Flights {
    /// Waits until one more write may be under way; for its own blueprint and namespace first, so that a crowded one never has all the places.
    /// Nothing if nothing may be written for the blueprint any more.
    async fn begin(self) -> Option<Flight> {
        let own = match &self.own {
            Some(own) => Some(own.clone().acquire_owned().await.ok()?),
            None => None,
        };
        let of_namespace = self.of_namespace.acquire_owned().await.ok()?;
        let all = self.all.acquire_owned().await.ok()?;
        let closed = self.own.is_some_and(|it| it.is_closed());
        (!closed).then_some(Flight {
            _own: own,
            _of_namespace: of_namespace,
            _all: all,
            _under_way: self.under_way,
        })
    }
}

struct Flight {
    _own: Option<OwnedSemaphorePermit>,
    _of_namespace: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
    _under_way: UnderWay,
}

impl Hub {
    fn flights(&mut self, id: InstanceId) -> Flights {
        let blueprint = self.instances.get(id).map(|it| &it.blueprint);
        let own = blueprint.and_then(|it| self.blueprints.get(it)).map(|it| it.flights.clone());
        let namespace = blueprint.map(|it| it.namespace.clone()).unwrap_or_default();
        if self.flights_of.len() >= MAX_NAMESPACES {
            self.flights_of.retain(|_, it| Arc::strong_count(it) > 1);
        }
        let each = self.settings.limits.writes_each;
        let of_namespace = self.flights_of.entry(namespace).or_insert_with(|| Arc::new(Semaphore::new(each)));
        let of_namespace = of_namespace.clone();
        Flights { all: self.flights.clone(), of_namespace, own, under_way: self.runway.flight() }
    }
}

/// Whether a write only takes finalizers and marks of ours off. Pemdas does that as itself, so that an account that lost its
/// permissions keeps nothing from going. It puts them on as the account: what may not write a root may not hold it either. An
/// object that stays and is nobody's from now on loses its label and claim as well: that is a change like any other.
fn lets_go(action: &Action, seen: Option<&Live>) -> bool {
    match action {
        Action::Release { disown, .. } => !disown,
        Action::Mark { memory: None, .. } => true,
        Action::Finalize { finalizers, .. } => seen.is_some_and(|it| finalizers.is_subset(&it.finalizers)),
        _ => false,
    }
}

async fn old_ledger(client: &Client, place: Place, seal: &Seal) -> Fact {
    let fact = read_ledger(client, &place, seal).await;
    Fact::OldLedger(place.instance, fact)
}

/// What a ledger says now: then it is known what became of the last write, whatever it was.
async fn read_ledger(client: &Client, place: &Place, seal: &Seal) -> LedgerFact {
    let mut pause = 1;
    loop {
        if let Some(fact) = ledgers::look(client, place, seal).await {
            return fact;
        }
        tokio::time::sleep(std::time::Duration::from_secs(pause)).await;
        pause = (pause * 2).min(60);
    }
}

async fn write(
    client: &Client,
    resource: &Resource,
    key: &ObjectKey,
    manager: &str,
    action: &Action,
    seen: Option<&Live>,
) -> Done {
    let lost = Done { outcome: WriteOutcome::Lost, live: None, pause: None };
    if !call::is_addressable(key) {
        let refusal = Refusal::Invalid("its name or its namespace cannot be that of an object".to_owned());
        return Done { outcome: WriteOutcome::Refused(refusal), ..lost };
    }
    match (action, seen) {
        (Action::Create { body, .. }, _) => call::create(client, resource, key, manager, body).await,
        (Action::Change { uid, resource_version, body, force, .. }, _) => {
            let terms = Terms { uid, resource_version: *resource_version, force: *force };
            call::change(client, resource, key, manager, body, &terms).await
        }
        (Action::Delete { uid, resource_version, .. }, _) => {
            call::delete(client, resource, key, uid, *resource_version).await
        }
        (Action::Status { status, .. }, Some(seen)) => {
            call::status(client, resource, seen, manager, status).await
        }
        (Action::Finalize { uid, resource_version, finalizers }, _) => {
            call::finalize(client, resource, key, (uid, *resource_version), finalizers).await
        }
        (Action::Mark { uid, resource_version, annotation, memory }, _) => {
            call::annotate(client, resource, key, (uid, *resource_version), (annotation, memory.as_deref()))
                .await
        }
        (Action::Seal { uid, resource_version, claim, .. }, _) => {
            let note = (CLAIM_ANNOTATION, Some(claim.as_str()));
            call::annotate(client, resource, key, (uid, *resource_version), note).await
        }
        (Action::Release { disown, .. }, Some(seen)) => call::release(client, resource, seen, *disown).await,
        _ => lost,
    }
}

fn body_of(action: &Action) -> Option<&Value> {
    match action {
        Action::Create { body, .. } | Action::Change { body, .. } => Some(body),
        _ => None,
    }
}

/// What is learnt from an answer: what became of the write, and the object as it is now, so that nobody has to wait
/// for the watch to say the same.
fn facts(key: &ObjectKey, root: &ObjectKey, tried: Digest, mut done: Done) -> Vec<Fact> {
    if key == root && done.outcome == WriteOutcome::Lost {
        // It may be sent again whatever became of it: it says what it expects to find.
        done.outcome = WriteOutcome::Refused(Refusal::Busy("there was no answer".to_owned()));
    }
    let mut facts = vec![Fact::Outcome(key.clone(), tried, done.outcome)];
    if let Some(live) = done.live {
        let (live, is_root) = (Arc::new(live), key == root);
        facts.push(if is_root { Fact::Root(live) } else { Fact::Answer(live) });
    }
    facts
}

/// Which fields of an apply are not in the answer to it: this is asked before the body is dropped.
fn fields_dropped(instance: &str, action: &Action, live: Option<&Live>) -> Option<Fact> {
    let (Action::Create { key, body } | Action::Change { key, body, .. }) = action else { return None };
    Some(Fact::Dropped(key.clone(), dropped(instance, body, live?)))
}

/// An object whose body is nobody's business.
fn without_body(live: Live) -> Live {
    let keep = |field: &str| live.body.get(field).cloned().unwrap_or_default();
    let body =
        json!({ "apiVersion": keep("apiVersion"), "kind": keep("kind"), "metadata": keep("metadata") });
    Live { body: body.into(), ..live }
}
