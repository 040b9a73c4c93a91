//! The store: objects, one counter of changes, and the changes of late, as etcd keeps them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;

/// Which resource: group and plural name. Versions of one resource share their objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceId {
    /// The group, empty for the core group.
    pub group: String,
    /// The plural name.
    pub plural: String,
}

/// Which object. Ordered as etcd orders: by resource, then by `namespace/name` as one text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its resource.
    pub resource: ResourceId,
    /// `namespace/name`, or the name alone where there are no namespaces.
    pub path: String,
}

impl Key {
    /// The key of an object.
    #[must_use]
    pub fn new(resource: &ResourceId, namespace: Option<&str>, name: &str) -> Self {
        let path = namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"));
        Self { resource: resource.clone(), path }
    }

    /// Its namespace, if it is in one.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.path.split_once('/').map(|(namespace, _)| namespace)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.split_once('/').map_or(&self.path, |(_, name)| name)
    }
}

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    /// The counter after it.
    pub revision: u64,
    /// The object.
    pub key: Key,
    /// As it was before; none if it was not there.
    pub before: Option<Arc<Value>>,
    /// As it is after; none if it is gone.
    pub after: Option<Arc<Value>>,
}

/// How many changes are remembered.
const MOST_CHANGES: usize = 50_000;

/// The store.
#[derive(Debug, Clone, Default)]
pub struct Store {
    revision: u64,
    /// Changes up to this one are forgotten.
    compacted: u64,
    objects: BTreeMap<Key, Arc<Value>>,
    changes: Vec<Change>,
}

impl Store {
    /// An empty store whose counter stands where a new cluster's would not be mistaken for zero.
    #[must_use]
    pub fn new() -> Self {
        Self { revision: 1, ..Self::default() }
    }

    /// The counter of changes.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The last change that is forgotten.
    #[must_use]
    pub fn compacted(&self) -> u64 {
        self.compacted
    }

    /// An object.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// The objects of a resource, in a namespace or in all, ordered, behind a path.
    pub fn list<'a>(
        &'a self,
        resource: &ResourceId,
        namespace: Option<&str>,
        behind: Option<&str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> + use<'a> {
        let prefix = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let start = Key { resource: resource.clone(), path: behind.unwrap_or(&prefix).to_owned() };
        let start = if behind.is_some() { Bound::Excluded(start) } else { Bound::Included(start) };
        let resource = resource.clone();
        self.objects
            .range((start, Bound::Unbounded))
            .take_while(move |(key, _)| key.resource == resource && key.path.starts_with(&prefix))
    }

    /// Every object there is.
    pub fn all(&self) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.iter()
    }

    /// Writes an object; it gets the next resourceVersion.
    pub fn put(&mut self, key: Key, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = Value::from(self.revision.to_string());
        let object = Arc::new(object);
        let before = self.objects.insert(key.clone(), Arc::clone(&object));
        self.remember(key, before, Some(Arc::clone(&object)));
        object
    }

    /// Removes an object: what it was last, with the resourceVersion of its removal.
    pub fn remove(&mut self, key: &Key) -> Option<Value> {
        let before = self.objects.remove(key)?;
        self.revision += 1;
        let mut last = Value::clone(&before);
        last["metadata"]["resourceVersion"] = Value::from(self.revision.to_string());
        self.remember(key.clone(), Some(before), None);
        Some(last)
    }

    fn remember(&mut self, key: Key, before: Option<Arc<Value>>, after: Option<Arc<Value>>) {
        self.changes.push(Change { revision: self.revision, key, before, after });
        if self.changes.len() > MOST_CHANGES {
            let forgotten = self.changes.len() / 2;
            self.compacted = self.changes.get(forgotten - 1).map_or(self.compacted, |last| last.revision);
            self.changes.drain(..forgotten);
        }
    }

    /// Forgets the changes up to a revision: who follows from before it has to list again.
    pub fn compact(&mut self, revision: u64) {
        self.compacted = self.compacted.max(revision.min(self.revision));
        self.changes.retain(|change| change.revision > self.compacted);
    }

    /// The changes after a revision; none if some of them are forgotten.
    #[must_use]
    pub fn since(&self, revision: u64) -> Option<&[Change]> {
        if revision < self.compacted {
            return None;
        }
        let from = self.changes.partition_point(|change| change.revision <= revision);
        self.changes.get(from..)
    }

    /// The objects of a resource as they were at a revision, if that is remembered.
    #[must_use]
    pub fn list_at(&self, resource: &ResourceId, revision: u64) -> Option<BTreeMap<String, Arc<Value>>> {
        let mut objects: BTreeMap<String, Arc<Value>> = self
            .list(resource, None, None)
            .map(|(key, object)| (key.path.clone(), Arc::clone(object)))
            .collect();
        for change in self.since(revision)?.iter().rev().filter(|change| change.key.resource == *resource) {
            match &change.before {
                Some(before) => objects.insert(change.key.path.clone(), Arc::clone(before)),
                None => objects.remove(&change.key.path),
            };
        }
        Some(objects)
    }
}
