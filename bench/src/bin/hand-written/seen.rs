//! What was seen of the cluster, and what of our own writes was not.

use std::collections::{HashMap, HashSet};

use futures::{Stream, StreamExt as _, stream::BoxStream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServiceAccount};
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta, PartialObjectMeta},
    runtime::{
        WatchStreamExt as _,
        watcher::{Config, Event, watcher},
    },
};
use serde_json::Value;

use super::desired::{Kind, Shape};
use super::work::{Done, MANAGER, Plan, Root};

/// The label with the name of the root.
pub(crate) const LABEL: &str = "bench.pemdas.dev/root";
/// The annotation with what was applied.
pub(crate) const INPUT: &str = "bench.pemdas.dev/input";

/// Namespace and name.
pub(crate) type RootKey = (String, String);
type ChildKey = (Kind, String, String);

/// A child as it was seen, or as our own write left it.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) uid: String,
    pub(crate) version: u64,
    /// What it was applied with; nothing if somebody took our fields.
    pub(crate) input: Option<String>,
    root: String,
}

/// Something was seen. Children are named by their kind, roots by none.
pub(crate) struct Change {
    kind: Option<Kind>,
    what: What,
}

enum What {
    Begins,
    Complete,
    Root(Box<DynamicObject>),
    Child(Box<ObjectMeta>),
    Gone(Box<ObjectMeta>),
}

/// All that was seen.
#[derive(Default)]
pub(crate) struct Seen {
    roots: HashMap<RootKey, Root>,
    children: HashMap<ChildKey, Child>,
    /// Writes of ours that the watch has not reached.
    unseen: HashMap<ChildKey, Child>,
    watermarks: HashMap<Kind, u64>,
    complete: HashSet<Option<Kind>>,
    /// While a kind is listed anew: what the list has.
    listed: HashMap<Option<Kind>, HashSet<RootKey>>,
}

impl Seen {
    pub(crate) fn is_complete(&self, shape: Shape) -> bool {
        self.complete.len() == shape.kinds().len() + 1
    }

    /// Takes a change in; gives the instances that may have work now.
    pub(crate) fn learn(&mut self, change: Change) -> Vec<RootKey> {
        let Change { kind, what } = change;
        match (what, kind) {
            (What::Begins, _) => {
                self.listed.insert(kind, HashSet::new());
                vec![]
            }
            (What::Complete, _) => self.listed_all(kind),
            (What::Root(object), _) => {
                let Some(root) = Root::read(&object) else { return vec![] };
                let key = key(&object.metadata);
                self.note(None, &key);
                self.roots.insert(key.clone(), root);
                vec![key]
            }
            (What::Child(metadata), Some(kind)) => self.child(kind, *metadata),
            (What::Gone(metadata), Some(kind)) => {
                self.reached(kind, &metadata);
                let (namespace, name) = key(&metadata);
                let gone = self.children.remove(&(kind, namespace.clone(), name));
                gone.map(|it| (namespace, it.root)).into_iter().collect()
            }
            (What::Gone(metadata), None) => {
                self.roots.remove(&key(&metadata));
                vec![]
            }
            (What::Child(_), None) => vec![],
        }
    }

    fn child(&mut self, kind: Kind, metadata: ObjectMeta) -> Vec<RootKey> {
        self.reached(kind, &metadata);
        let (namespace, name) = key(&metadata);
        self.note(Some(kind), &(namespace.clone(), name.clone()));
        let root = metadata.labels.as_ref().and_then(|it| it.get(LABEL)).cloned().unwrap_or_default();
        let fields =
            metadata.managed_fields.iter().flatten().find(|it| it.manager.as_deref() == Some(MANAGER));
        let covered = fields.and_then(|it| it.fields_v1.as_ref()).is_some_and(|it| kind.is_covered(&it.0));
        let input = metadata.annotations.as_ref().and_then(|it| it.get(INPUT)).cloned();
        let going = metadata.deletion_timestamp.is_some();
        let child = Child {
            version: version(&metadata),
            uid: metadata.uid.unwrap_or_default(),
            input: input.filter(|_| covered || going),
            root: root.clone(),
        };
        self.children.insert((kind, namespace.clone(), name), child);
        vec![(namespace, root)]
    }

    fn reached(&mut self, kind: Kind, metadata: &ObjectMeta) {
        let mark = self.watermarks.entry(kind).or_default();
        *mark = (*mark).max(version(metadata));
    }

    fn note(&mut self, kind: Option<Kind>, key: &RootKey) {
        if let Some(listed) = self.listed.get_mut(&kind) {
            listed.insert(key.clone());
        }
    }

    /// A list has ended: what it did not have is gone.
    fn listed_all(&mut self, kind: Option<Kind>) -> Vec<RootKey> {
        let listed = self.listed.remove(&kind).unwrap_or_default();
        self.complete.insert(kind);
        let Some(kind) = kind else {
            self.roots.retain(|it, _| listed.contains(it));
            return self.roots.keys().cloned().collect();
        };
        self.unseen.retain(|(of, _, _), _| *of != kind);
        self.children.retain(|(of, namespace, name), _| {
            *of != kind || listed.contains(&(namespace.clone(), name.clone()))
        });
        self.roots.keys().cloned().collect()
    }

    /// The child as the newest of what was seen and what we wrote.
    fn newest(&self, key: &ChildKey) -> Option<&Child> {
        let mark = self.watermarks.get(&key.0).copied().unwrap_or_default();
        self.unseen.get(key).filter(|it| it.version > mark).or_else(|| self.children.get(key))
    }

    /// What an instance needs; nothing if it needs nothing.
    pub(crate) fn plan(&self, shape: Shape, key: &RootKey) -> Option<Plan> {
        let root = self.roots.get(key).filter(|it| !it.going)?;
        let children: Vec<Option<Child>> = shape
            .children(&key.1)
            .into_iter()
            .map(|(kind, name)| self.newest(&(kind, key.0.clone(), name)).cloned())
            .collect();
        let plan = Plan { shape, key: key.clone(), root: root.clone(), children };
        plan.is_needed().then_some(plan)
    }

    /// Takes in what our own writes gave.
    pub(crate) fn wrote(&mut self, done: Done) {
        let (namespace, root) = &done.root;
        for (kind, name, uid, version, input) in done.children {
            let child = Child { uid, version, input: Some(input), root: root.clone() };
            self.unseen.insert((kind, namespace.clone(), name), child);
        }
        if let (Some(generation), Some(root)) = (done.ready, self.roots.get_mut(&done.root)) {
            root.ready = root.ready.max(Some(generation));
        }
        // What the watch has reached is of no use any more.
        if self.unseen.len() > 10_000 {
            let marks = &self.watermarks;
            self.unseen.retain(|(kind, _, _), it| it.version > marks.get(kind).copied().unwrap_or_default());
        }
    }
}

fn key(metadata: &ObjectMeta) -> RootKey {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

fn version(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.as_deref().and_then(|it| it.parse().ok()).unwrap_or_default()
}

/// All that happens: one watch for the roots, and one for each kind of children, of those that are ours.
pub(crate) fn changes(client: &Client, shape: Shape) -> BoxStream<'static, Change> {
    let kind = GroupVersionKind::gvk("bench.pemdas.dev", "v1", shape.root_kind());
    let resource = ApiResource::from_gvk_with_plural(&kind, shape.root_plural());
    let roots: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let roots = watcher(roots, Config::default().streaming_lists()).default_backoff();
    let roots = roots.filter_map(|event| {
        let what = event.ok().map(|event| match event {
            Event::Init => What::Begins,
            Event::InitDone => What::Complete,
            Event::InitApply(it) | Event::Apply(it) => What::Root(Box::new(it)),
            Event::Delete(it) => What::Gone(Box::new(it.metadata)),
        });
        std::future::ready(what.map(|what| Change { kind: None, what }))
    });
    let mut all: Vec<BoxStream<'static, Change>> = vec![roots.boxed()];
    for kind in shape.kinds() {
        all.push(match kind {
            Kind::ConfigMap => children::<ConfigMap>(client, *kind).boxed(),
            Kind::Secret => children::<Secret>(client, *kind).boxed(),
            Kind::Service => children::<Service>(client, *kind).boxed(),
            Kind::ServiceAccount => children::<ServiceAccount>(client, *kind).boxed(),
        });
    }
    futures::stream::select_all(all).boxed()
}

fn children<K>(client: &Client, kind: Kind) -> impl Stream<Item = Change> + Send + use<K>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    let config = Config::default().labels(LABEL).streaming_lists();
    let watched = watcher(Api::<PartialObjectMeta<K>>::all(client.clone()), config).default_backoff();
    // An error is told by the watch again and again while it mends itself.
    watched.filter_map(move |event| {
        let what = event.ok().map(|event| match event {
            Event::Init => What::Begins,
            Event::InitDone => What::Complete,
            Event::InitApply(it) | Event::Apply(it) => What::Child(Box::new(it.metadata)),
            Event::Delete(it) => What::Gone(Box::new(it.metadata)),
        });
        std::future::ready(what.map(|what| Change { kind: Some(kind), what }))
    })
}

/// The value of a root, and the generation that its status is ready for.
pub(crate) fn read_root(object: &DynamicObject) -> Option<(String, Option<i64>)> {
    let value = object.data.pointer("/spec/value").and_then(Value::as_str)?.to_owned();
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    let is_ready = conditions.into_iter().flatten().any(|it| it["type"] == "Ready" && it["status"] == "True");
    let ready = object.data.pointer("/status/observedGeneration").and_then(Value::as_i64);
    Some((value, ready.filter(|_| is_ready)))
}
