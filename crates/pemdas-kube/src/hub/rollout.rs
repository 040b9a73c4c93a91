//! A new revision over the instances of a blueprint, as many at once as the blueprint allows. Who is next is decided in the core
//! ([`pemdas_core::rollout`]); here is where each instance is, and which revision decides for it.
//!
//! Where an instance is, is read off the cluster: the revision in its status, or the newest that its objects name. So a process that starts
//! anew goes on where the last one stopped, and nothing has to be written for it.
//!
//! A revision that was rendered by another library cannot be run as it was. Instances that are at one stay as they are until it is their
//! turn: the new one decides for them, and what it would change waits.

use std::{collections::BTreeMap, time::Duration};

use pemdas_core::{
    action::Action,
    blueprint::Rollout,
    decide::{Decision, Mode},
    program::Revision,
    rollout::{self, Health, Member, step},
    world::{Live, Owner, Sight, World},
};
use serde_json::{Value, json};

use super::{
    Event, Hub, InstanceId,
    blueprints::{BlueprintName, Loaded, Running},
    instances::{Instance, Standing},
};
use crate::{
    compile::{Compiled, Compiler},
    identity::Identity,
    revisions::{Revisions, Trouble},
};

/// The annotation of a root by which a human has a rollout go on without it: with the name of the revision.
const RESUME: &str = "pemdas.dev/resume";
/// How many instances on their way are told of by name.
const MAX_NAMED: usize = 10;

/// How the revision of a blueprint reaches its instances.
#[derive(Default)]
pub(super) struct Rolling {
    /// How; none means all at once.
    policy: Option<Rollout>,
    /// Earlier revisions that instances are at.
    earlier: BTreeMap<String, Earlier>,
    /// Whether it is under way: one that is over does not begin again because an instance is not ready for a while.
    going: bool,
    /// How far it is, for people; none when it is over.
    told: Option<Value>,
}

impl Rolling {
    /// How far it is, for people.
    pub(super) fn told(&self) -> Option<&Value> {
        self.told.as_ref()
    }
}

/// An earlier revision.
enum Earlier {
    Reading,
    Runs(Box<Running>),
    /// It is lost, or was rendered by another library.
    Unusable,
}

/// Where an instance is on the way to the revision that runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Seat {
    /// The earlier revision that decides for it; none for the one that runs.
    at: Option<String>,
    /// Whether that was found out.
    known: bool,
    /// It was let through, and has not decided since.
    fresh: bool,
    /// How its workloads are, and what a human said to its rollout, when it decided last.
    seen: Option<(Health, Option<String>)>,
}

impl Seat {
    /// The earlier revision that it is at.
    pub(super) fn at(&self) -> Option<&String> {
        self.at.as_ref()
    }
}

/// The revision that decides for an instance that is not going.
pub(super) fn revision_of<'a>(
    blueprints: &'a BTreeMap<BlueprintName, Loaded>,
    instance: &Instance,
) -> Option<&'a Running> {
    let loaded = blueprints.get(&instance.blueprint)?;
    let earlier = instance.seat.at.as_ref().and_then(|it| loaded.rolling.earlier.get(it));
    match earlier {
        Some(Earlier::Runs(running)) => Some(running),
        _ => loaded.running.as_ref(),
    }
}

/// Whether the revision that an instance is at cannot run: then nothing that moves the cluster is done for it.
fn is_held(blueprints: &BTreeMap<BlueprintName, Loaded>, instance: &Instance) -> bool {
    let loaded = blueprints.get(&instance.blueprint);
    let at = instance.seat.at.as_ref();
    at.is_some_and(|it| {
        matches!(loaded.and_then(|loaded| loaded.rolling.earlier.get(it)), Some(Earlier::Unusable))
    })
}

/// The revision that an instance is at, as far as the cluster tells: `running`, if anything says so.
fn found_at(world: &World, running: &str) -> Option<String> {
    let told = world.root.live.as_ref().and_then(|it| it.body.pointer("/status/pemdas/revision")?.as_str());
    let claims = world.objects.values().filter_map(|it: &std::sync::Arc<Live>| match world.owner(it) {
        Owner::Us(claim) => Some((claim.ordinal, claim.revision)),
        _ => None,
    });
    let newest = claims.max().map(|(_, name)| name);
    if mutant!(SeatsForgotten) || told == Some(running) || newest.as_deref() == Some(running) {
        return None;
    }
    told.map(str::to_owned).or(newest)
}

impl Hub {
    /// A revision runs instead of another.
    pub(super) fn rolls(&mut self, name: &BlueprintName, old: Option<Running>) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        let Some(running) = &loaded.running else { return };
        let new = running.revision.name.clone();
        loaded.rolling.policy = running.blueprint.rollout;
        if loaded.rolling.policy.is_none() {
            loaded.rolling.earlier.clear();
            loaded.rolling.told = None;
        }
        let all_at_once = loaded.rolling.policy.is_none();
        let old_name = old.as_ref().map(|it| it.revision.name.clone()).filter(|it| *it != new);
        if let (Some(mut old), Some(old_name), false) = (old, &old_name, all_at_once) {
            old.retire();
            loaded.rolling.earlier.insert(old_name.clone(), Earlier::Runs(Box::new(old)));
        }
        for id in self.instances.of_blueprint(name) {
            let Some(instance) = self.instances.get_mut(id) else { continue };
            let seat = &mut instance.seat;
            if all_at_once || seat.at.as_ref() == Some(&new) {
                *seat = Seat { known: seat.known, ..Seat::default() };
            } else if seat.known && seat.at.is_none() && !seat.fresh {
                seat.at.clone_from(&old_name);
            } else if seat.fresh {
                // It never got to the revision that is replaced now: the cluster tells where it is.
                *seat = Seat::default();
            }
        }
        self.roll(name);
    }

    /// Whether it is known which revision decides for an instance, and that can be asked.
    pub(super) fn is_seated(&mut self, id: InstanceId) -> bool {
        let Some(instance) = self.instances.get_mut(id) else { return false };
        let Some(loaded) = self.blueprints.get_mut(&instance.blueprint) else { return true };
        let Some(running) = loaded.running.as_ref().filter(|_| loaded.rolling.policy.is_some()) else {
            instance.seat = Seat { known: true, ..Seat::default() };
            return true;
        };
        let name = instance.blueprint.clone();
        if !instance.seat.known {
            // What is not listed yet may say where it is.
            if self.views.used_by(&name).any(|it| it.sight == Sight::Unsynced) {
                return false;
            }
            instance.seat.known = true;
            instance.seat.at = found_at(&instance.world, &running.revision.name);
            self.roll(&name);
        }
        let at = self.instances.get(id).and_then(|it| it.seat.at.clone());
        let Some(at) = at else { return true };
        let Some(loaded) = self.blueprints.get_mut(&name) else { return true };
        match loaded.rolling.earlier.get(&at) {
            Some(Earlier::Reading) => false,
            Some(_) => true,
            None => {
                tracing::info!(blueprint = %name, revision = at, "an earlier revision is read, which instances are at");
                loaded.rolling.earlier.insert(at.clone(), Earlier::Reading);
                let identity = loaded.identity.clone();
                self.read_earlier(name, at, identity);
                false
            }
        }
    }

    fn read_earlier(&self, name: BlueprintName, revision: String, identity: Identity) {
        let revisions = Revisions::new(self.clients_of_pemdas(), &name.namespace);
        let (readers, post, library) = (self.readers.clone(), self.post.clone(), self.beside.library.clone());
        tokio::spawn(async move {
            let mut pause = 1;
            let found = loop {
                match revisions.read(&name.name, &revision).await {
                    Ok(found) => break found,
                    Err(Trouble::Api(error)) => {
                        tracing::warn!(blueprint = %name, %error, "cannot read an earlier revision; trying again");
                        tokio::time::sleep(Duration::from_secs(pause)).await;
                        pause = (pause * 2).min(60);
                    }
                    Err(trouble) => {
                        tracing::warn!(blueprint = %name, %trouble, "an earlier revision cannot be read");
                        break None;
                    }
                }
            };
            let found = found.filter(|(_, content)| content.library == library);
            let ordinal = found.as_ref().map_or(0, |(it, _)| it.ordinal);
            let compiled = match found {
                None => None,
                Some((_, content)) => {
                    let read =
                        move |compiler: &dyn Compiler| compiler.compile(&identity, &content.sources).compiled;
                    readers.read(&name.namespace, || true, read).await.flatten()
                }
            };
            let of = Revision { name: revision, ordinal };
            let _ended = post.send(Event::Earlier(name, of, compiled.map(Box::new))).await;
        });
    }

    /// An earlier revision was read, or cannot be run.
    pub(super) fn earlier_read(
        &mut self,
        name: &BlueprintName,
        revision: Revision,
        compiled: Option<Box<Compiled>>,
    ) {
        let Some(loaded) = self.blueprints.get(name) else { return };
        if !matches!(loaded.rolling.earlier.get(&revision.name), Some(Earlier::Reading)) {
            return;
        }
        let identity = loaded.identity.clone();
        let at = revision.name.clone();
        let earlier = match compiled {
            None => {
                tracing::warn!(blueprint = %name, revision = at, "instances are at a revision that cannot run as it was: they stay as they are until they move to the new one");
                Earlier::Unusable
            }
            Some(compiled) => {
                for (kind, need) in crate::needs::kinds(&compiled.blueprint) {
                    self.watch_kind(name, &identity, &need.api_version, &kind.kind, need.metadata_only);
                }
                Earlier::Runs(Box::new(self.made_ready(*compiled, revision, Vec::new())))
            }
        };
        if let Some(loaded) = self.blueprints.get_mut(name) {
            loaded.rolling.earlier.insert(at, earlier);
        }
        for id in self.instances.of_blueprint(name) {
            self.queue.push(name, id);
        }
    }

    /// What of a decision is done for an instance whose revision cannot run: nothing that moves the cluster. Where there is nothing of
    /// that kind to do, it is at the new revision without further ado.
    pub(super) fn held_back(&mut self, id: InstanceId, decision: &Decision) -> bool {
        let Some(instance) = self.instances.get_mut(id) else { return false };
        if !is_held(&self.blueprints, instance) || decision.mode != Mode::Present {
            return false;
        }
        if decision.actions.iter().any(Action::moves_the_cluster) {
            return true;
        }
        instance.seat = Seat { known: true, fresh: true, ..Seat::default() };
        false
    }

    /// An instance has decided: perhaps others may go on.
    pub(super) fn has_decided(&mut self, id: InstanceId, changed: bool) {
        let Some(instance) = self.instances.get_mut(id) else { return };
        let name = instance.blueprint.clone();
        let rolls = self.blueprints.get(&name).is_some_and(|it| it.rolling.policy.is_some());
        let workloads = if rolls { rollout::workloads(&instance.world) } else { Health::Ready };
        let resumed =
            instance.world.root.live.as_ref().and_then(|it| it.annotation(RESUME).map(str::to_owned));
        let seen = Some((workloads, resumed));
        let changed = changed || (rolls && instance.seat.seen != seen);
        instance.seat.seen = seen;
        let fresh = instance.seat.at.is_none() && std::mem::take(&mut instance.seat.fresh);
        if changed || fresh {
            self.roll(&name);
        }
    }

    /// Lets through whoever is next.
    pub(super) fn roll(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get(name) else { return };
        let Some((rollout, running)) = loaded.rolling.policy.zip(loaded.running.as_ref()) else { return };
        let revision = running.revision.name.clone();
        let ids = self.instances.of_blueprint(name);
        let all: Vec<&Instance> = ids.iter().filter_map(|it| self.instances.get(*it)).collect();
        // Who is where has to be known of all before anybody goes on.
        if all.iter().any(|it| !it.seat.known) {
            return;
        }
        let members: Vec<Member> = all.iter().map(|it| member(it, &revision)).collect();
        let step = step(rollout, &revision, &members);
        for id in step.next.iter().filter_map(|at| ids.get(*at)) {
            if let Some(instance) = self.instances.get_mut(*id) {
                let root = &instance.world.root.key;
                tracing::info!(blueprint = %name, instance = %root, "an instance moves to the new revision");
                instance.seat = Seat { known: true, fresh: true, ..Seat::default() };
                self.queue.push(name, *id);
            }
        }
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        let named = |at: &usize| members.get(*at).map(|it| it.name.clone());
        loaded.rolling.going |= step.waiting > 0 || !step.next.is_empty();
        loaded.rolling.going &= !step.is_over();
        let told = loaded.rolling.going.then(|| {
            json!({
                "rolled": step.rolled, "total": members.iter().filter(|it| !it.going).count(),
                "waiting": step.waiting, "paused": step.paused,
                "inFlight": step.in_flight.iter().take(MAX_NAMED).filter_map(named).collect::<Vec<_>>(),
            })
        });
        if step.waiting == 0 {
            let needed = |at: &String| all_at(&self.instances.of_blueprint(name), &self.instances, at);
            loaded.rolling.earlier.retain(|it, _| needed(it));
        }
        if loaded.rolling.told != told {
            loaded.rolling.told = told;
            self.report_soon();
        }
    }
}

/// Whether an instance is at a revision.
fn all_at(ids: &[InstanceId], instances: &super::instances::Instances, revision: &str) -> bool {
    ids.iter().filter_map(|it| instances.get(*it)).any(|it| it.seat.at.as_deref() == Some(revision))
}

fn member(instance: &Instance, revision: &str) -> Member {
    let root = &instance.world.root;
    let (workloads, resumed) = instance.seat.seen.clone().unwrap_or((Health::Ready, None));
    let health = match instance.standing {
        _ if instance.seat.fresh => Health::Reconciling,
        Some(Standing::Ready) => workloads,
        Some(Standing::Stalled) => Health::Stalled,
        Some(Standing::Reconciling | Standing::Removing | Standing::Suspended) => {
            workloads.max(Health::Reconciling)
        }
        // Not looked at yet: what was ready may not be rolled out.
        None => match root.live.as_ref().map_or(Health::Reconciling, |it| rollout::told(it)) {
            Health::Ready if instance.seat.at.is_none() => Health::Reconciling,
            health => health,
        },
    };
    let going = instance.standing == Some(Standing::Removing)
        || !root.selected
        || root.live.as_ref().is_none_or(|it| it.terminating);
    let name = match root.key.namespace.as_str() {
        "" => root.key.name.clone(),
        namespace => format!("{namespace}/{}", root.key.name),
    };
    let passed_over = resumed.as_deref() == Some(revision);
    Member { name, arrived: instance.seat.at.is_none(), health, going, passed_over }
}
