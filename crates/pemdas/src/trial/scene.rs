//! A cluster for tests: the operator lives in it until it comes to rest, and then somebody looks at it while nothing moves.

use std::{sync::Arc, time::Duration};

use pemdas_box::{Host, Line};
use pemdas_kube::{connect, metrics::Metrics};
use pemdas_sim::{Change, Key, Scenario};
use serde_json::{Value, json};

use super::{
    arena::{Arena, Lived},
    journal::Journal,
    person::{Made, Person},
    readers::Readers,
};
use crate::{demo::play::own_account, live::Session};

/// The namespace of the operator.
const OPERATOR: &str = "pemdas-system";
/// How many seconds nothing is written before the operator counts as at rest.
const REST: u32 = 60;
/// Nothing that is waited for takes so many seconds.
const LONG: u32 = 3_600;

/// A cluster, its operator, and somebody.
pub(crate) struct Scene {
    arena: Arena,
    /// Reads blueprints, for the operator and for whoever asks.
    pub(crate) readers: Readers,
}

impl Scene {
    /// A new one, in which the operator has been installed.
    pub(crate) fn new(scenario: Scenario) -> Self {
        let readers = Readers::default();
        let mut scene = Self { arena: Arena::new(1, scenario, &readers, Vec::new()), readers };
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": OPERATOR } });
        // The key of every trial.
        let data = json!({ "key": "QndjSEJ3Y0hCd2NIQndjSEJ3Y0hCd2NIQndjSEJ3Y0hCd2NIQndjSEJ3Yz0=" });
        let metadata = json!({ "name": "pemdas-key", "namespace": OPERATOR });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
        scene.apply(&[namespace, secret, own_account()]);
        scene
    }

    /// Applies objects, each as soon as its kind is served, and waits until the operator is at rest.
    pub(crate) fn apply(&mut self, objects: &[Value]) {
        let mut open = objects.to_vec();
        self.live(|person| {
            open.retain(|it| match person.apply_whole(it) {
                Made::Done | Made::Unchanged => false,
                Made::NotServed => true,
                Made::Refused(why) => panic!("{} {}: {why}", it["kind"], it["metadata"]["name"]),
            });
            open.is_empty()
        });
    }

    /// Deletes an object and waits until the operator is at rest.
    pub(crate) fn delete(&mut self, object: &Value) {
        let path = self.path(object);
        self.live(|person| person.delete(&path) == Made::Done);
    }

    /// Lets the operator live until somebody has done what they want to do and it is at rest.
    fn live(&mut self, mut act: impl FnMut(&Person) -> bool) {
        let journal = Arc::clone(self.arena.journal());
        let lived = self.arena.live(async |host: Host| {
            let person = Person::new(host.clone(), "somebody");
            let (mut done, mut writes, mut rest) = (false, 0, 0);
            for _ in 0..LONG {
                done = done || act(&person);
                tokio::time::sleep(Duration::from_secs(1)).await;
                rest = if journal.writes() == writes { rest + 1 } else { 0 };
                writes = journal.writes();
                if done && rest >= REST {
                    return true;
                }
            }
            false
        });
        let Ok(Lived::Done(rests)) = lived else { panic!("the operator sends and sends") };
        assert!(rests, "it never comes to rest");
    }

    fn path(&self, object: &Value) -> String {
        let person = Person::new(self.host().clone(), "somebody");
        let resource = person.served(text(object, "/apiVersion"), text(object, "/kind")).unwrap();
        let namespace = Some(text(object, "/metadata/namespace")).filter(|it| !it.is_empty());
        let path = super::person::path_of(&resource, namespace.unwrap_or("default"));
        format!("{path}/{}", text(object, "/metadata/name"))
    }

    fn host(&self) -> &Host {
        self.arena.host().unwrap()
    }

    /// All objects as they are.
    pub(crate) fn objects(&self) -> Vec<Value> {
        self.host().with(|cluster| cluster.server().store().all().map(|(_, it)| Value::clone(it)).collect())
    }

    /// An object as it is.
    pub(crate) fn object(&self, object: &Value) -> Option<Value> {
        self.host().with(|cluster| {
            let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
            let resource = cluster.server().kinds().of_kind(version, kind)?;
            let namespace = Some(text(object, "/metadata/namespace")).filter(|it| !it.is_empty());
            let namespace = resource.namespaced.then(|| namespace.unwrap_or("default"));
            let key = Key::new(&resource.id(), namespace, text(object, "/metadata/name"));
            cluster.server().store().get(&key).map(|it| Value::clone(it))
        })
    }

    /// How often something was changed.
    pub(crate) fn revision(&self) -> u64 {
        self.host().with(|cluster| cluster.server().store().revision())
    }

    /// What was changed since then.
    pub(crate) fn changes(&self, since: u64) -> Vec<Change> {
        self.host().with(|cluster| cluster.server().store().since(since).unwrap().to_vec())
    }

    /// A look at the cluster while the operator does nothing.
    pub(crate) fn session(&self, namespace: &str) -> Session {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (connection, now) = runtime.block_on(async {
            let host = self.host().in_a_new_runtime();
            let now = host.with(|cluster| cluster.now());
            let ear = Arc::new(Journal::with(Vec::new())).ear();
            (connect::over(Line::new(host, ear), &Metrics::new()), now)
        });
        Session::new(runtime, connection, Some(namespace.to_owned()), OPERATOR.to_owned()).at(now.0)
    }
}

fn text<'v>(object: &'v Value, at: &str) -> &'v str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}
