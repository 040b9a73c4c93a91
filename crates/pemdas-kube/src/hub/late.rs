//! What arrives when its instance is gone: a create that another copy of the operator sent before it lost the lease.
//!
//! *The accident*: a copy that freezes has a create under way; the next one removes the instance, to the last object; then the create
//! lands, and nobody is left who would look after what it made. No precondition of a create can prevent that.
//!
//! What is restored from a backup has the same labels and must never be deleted. It is told apart by who made it: the API server notes
//! for each manager when it wrote. Only a create of our own has our manager at the time of its creation; a backup that
//! brings the notes of managers back brings their old times.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use http::Method;
use jiff::Timestamp;
use kube::Client;
use pemdas_core::world::{Live, ONCE_FINALIZER, ObjectKey, ROOT_LABEL, Refusal, WriteOutcome, manager};
use serde_json::Value;

use super::{Hub, InstanceId};
use crate::{
    call::{self, JSON, Sent},
    identity::Identity,
    ledgers, live,
    refusal::Meant,
    resource::Resource,
};

/// How long it is remembered that an instance ended, in milliseconds: requests do not take longer on their way.
const REMEMBERED: u64 = 300_000;
/// Of how many instances.
const MAX_REMEMBERED: usize = 10_000;
/// How long the API server may take from noting who wrote to noting when it was made: admission webhooks stand between.
const ADMISSION: i64 = 10;
/// How often it is tried to take something away.
const TRIES: u32 = 6;

/// Instances that ended, by name.
#[derive(Default)]
pub(super) struct Departed(BTreeMap<String, End>);

/// How an instance ended.
struct End {
    at: u64,
    /// As whom it acted.
    identity: Identity,
    /// By uid: what was there then. It stays, or the garbage collector takes it.
    left: BTreeSet<String>,
}

impl Departed {
    fn remember(&mut self, name: String, end: End) {
        self.0.retain(|_, it| it.at.saturating_add(REMEMBERED) > end.at);
        if self.0.len() < MAX_REMEMBERED {
            self.0.insert(name, end);
        }
    }

    fn get(&self, name: &str, now: u64) -> Option<&End> {
        self.0.get(name).filter(|it| it.at.saturating_add(REMEMBERED) > now)
    }

    /// The instance is there again: what was left was selected anew.
    pub(super) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }
}

impl Hub {
    /// An instance is done with its removal.
    pub(super) fn departs(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get(id).filter(|_| !mutant!(LateCreatesStay)) else { return };
        let (name, identity) = (instance.world.root.instance.clone(), instance.identity.clone());
        let known = instance.world.objects.values().map(|it| it.uid.clone());
        let seen = self.views.used_by(&instance.blueprint).flat_map(|view| {
            let keys = view.labelled.get(&name).into_iter().flatten();
            keys.filter_map(|it| Some(view.objects.get(it)?.uid.clone()))
        });
        let end = End { at: self.clock.now(), identity, left: known.chain(seen).collect() };
        self.departed.remember(name, end);
    }

    /// Takes an object away that was made for an instance after its end.
    pub(super) fn object_is_late(&mut self, live: &Live) {
        if self.departed.0.is_empty() {
            return;
        }
        let Some(instance) = live.peek_label(ROOT_LABEL) else { return };
        let Some(end) = self.departed.get(&instance, self.clock.now()) else { return };
        if end.left.contains(&live.uid) {
            return;
        }
        let Some((resource, _)) = self.views.resource(&end.identity, &live.key.kind) else { return };
        let client = self.clients.of(&end.identity);
        let (key, uid) = (live.key.clone(), live.uid.clone());
        let by = (manager(&instance), "Apply");
        tokio::spawn(Late { client, resource, key, uid, by }.take_away());
    }

    /// Takes a ledger away that was written for an instance after its end.
    pub(super) fn ledger_is_late(&mut self, live: &Live) {
        let ended = ledgers::place(live).and_then(|it| self.departed.get(&it.instance, self.clock.now()));
        let Some(resource) = Resource::built_in("v1", "Secret").filter(|_| ended.is_some()) else { return };
        let client = self.clients.of(&Identity::Pemdas);
        let (key, uid) = (live.key.clone(), live.uid.clone());
        let by = ("pemdas".to_owned(), "Update");
        tokio::spawn(Late { client, resource, key, uid, by }.take_away());
    }
}

/// Something that was made after the end of its instance, if it was made by this manager with this operation.
struct Late {
    client: Client,
    resource: Resource,
    key: ObjectKey,
    uid: String,
    by: (String, &'static str),
}

impl Late {
    async fn take_away(self) {
        for tried in 0..TRIES {
            match self.attempt().await {
                Ok(false) => return,
                Ok(true) => {
                    tracing::info!(kind = %self.key.kind, name = self.key.name, "deleted an object that was created after its instance had ended");
                    return;
                }
                Err(Unknown) => tokio::time::sleep(Duration::from_secs(1 << tried)).await,
            }
        }
        tracing::warn!(kind = %self.key.kind, name = self.key.name, "cannot delete an object that was created after its instance had ended");
    }

    /// Takes it away if it is what it seems to be; whether it was.
    async fn attempt(&self) -> Result<bool, Unknown> {
        let Some(object) = self.look().await? else { return Ok(false) };
        if !is_made_by(&object, &self.by.0, self.by.1) {
            return Ok(false);
        }
        let Some(mut live) = live::live(&self.resource.kind, object) else { return Ok(false) };
        if live.finalizers.contains(ONCE_FINALIZER) {
            live = call::release(&self.client, &self.resource, &live, false).await.live.ok_or(Unknown)?;
        }
        let version = live.resource_version;
        match call::delete(&self.client, &self.resource, &self.key, &self.uid, version).await.outcome {
            WriteOutcome::Deleted(_) => Ok(true),
            _ => Err(Unknown),
        }
    }

    /// The object itself, if it is still there.
    async fn look(&self) -> Result<Option<Value>, Unknown> {
        let path = format!("{}/{}", self.resource.path(&self.key.namespace), self.key.name);
        let sent =
            Sent { method: Method::GET, path, content_type: JSON, body: Value::Null, meant: Meant::Change };
        match call::send(&self.client, sent).await {
            Ok(bytes) => {
                let object: Option<Value> = serde_json::from_slice(bytes.as_ref()).ok();
                Ok(object.filter(|it| it.pointer("/metadata/uid").is_some_and(|it| *it == self.uid)))
            }
            Err((WriteOutcome::Refused(Refusal::Gone), _)) => Ok(None),
            Err(_) => Err(Unknown),
        }
    }
}

/// There was no answer, or another one than was asked for: it is tried again.
struct Unknown;

/// Whether an object was made by a write of this manager, and was not restored with a note of one.
fn is_made_by(object: &Value, manager: &str, operation: &str) -> bool {
    let time = |it: Option<&Value>| it.and_then(Value::as_str)?.parse::<Timestamp>().ok();
    let Some(made) = time(object.pointer("/metadata/creationTimestamp")) else { return false };
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().any(|it| {
        let is = |field: &str, value: &str| it.get(field).is_some_and(|it| it == value);
        let wrote = time(it.get("time"));
        is("manager", manager)
            && is("operation", operation)
            && it.get("subresource").and_then(Value::as_str).unwrap_or_default().is_empty()
            && wrote.is_some_and(|it| (0..=ADMISSION).contains(&(made.as_second() - it.as_second())))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Departed, End, Identity, MAX_REMEMBERED, REMEMBERED, is_made_by};

    fn object(entries: &Value) -> Value {
        json!({ "metadata": { "creationTimestamp": "2030-01-01T00:10:00Z", "managedFields": entries } })
    }

    #[test]
    fn only_what_our_manager_wrote_when_it_was_made_is_ours() {
        let entry = |manager: &str, operation: &str, time: &str| json!({ "manager": manager, "operation": operation, "time": time, "fieldsV1": {} });
        let made = |entries: &Value| is_made_by(&object(entries), "us", "Apply");
        assert!(made(&json!([entry("us", "Apply", "2030-01-01T00:10:00Z")])));
        assert!(made(&json!([
            entry("kube-controller-manager", "Update", "2030-01-01T00:10:01Z"),
            entry("us", "Apply", "2030-01-01T00:09:58Z"),
        ])));
        for other in [
            // A backup brought the note back, with its time.
            json!([entry("us", "Apply", "2030-01-01T00:03:00Z")]),
            json!([
                entry("restore", "Update", "2030-01-01T00:10:00Z"),
                entry("us", "Apply", "2029-12-31T00:00:00Z")
            ]),
            // It was there before somebody applied to it.
            json!([entry("us", "Apply", "2030-01-01T00:11:00Z")]),
            json!([entry("us", "Update", "2030-01-01T00:10:00Z")]),
            json!([entry("them", "Apply", "2030-01-01T00:10:00Z")]),
            json!([{ "manager": "us", "operation": "Apply" }]),
            json!([]),
            Value::Null,
        ] {
            assert!(!made(&other), "{other}");
        }
    }

    #[test]
    fn the_end_of_an_instance_is_remembered_for_a_while_and_of_so_many() {
        let end = |at| End { at, identity: Identity::Pemdas, left: [].into() };
        let mut departed = Departed::default();
        departed.remember("a".to_owned(), end(1_000));
        assert!(departed.get("a", 2_000).is_some() && departed.get("b", 2_000).is_none());
        assert!(departed.get("a", 1_000 + REMEMBERED).is_none());
        departed.forget("a");
        assert!(departed.get("a", 2_000).is_none());
        for number in 0..MAX_REMEMBERED + 5 {
            departed.remember(number.to_string(), end(1_000));
        }
        assert_eq!(departed.0.len(), MAX_REMEMBERED);
        departed.remember("late".to_owned(), end(1_000 + REMEMBERED));
        assert_eq!(departed.0.len(), 1, "what is too long ago makes room");
    }
}
