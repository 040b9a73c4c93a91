//! What one instance has to see of a cluster, asked for while decisions name it.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use pemdas_core::{
    blueprint::Blueprint,
    decide::Interests,
    diagnostic::Diagnostic,
    world::{KindKey, LedgerFact, Live, ObjectKey, ROOT_LABEL, Sight, World},
};
use pemdas_kube::{connect::Trouble, needs, resource::Resource};

use super::Session;
use crate::plan::{
    codes,
    observed::{Nature, Observed},
};

/// A kind as it can be seen.
struct Seen {
    resource: Option<Resource>,
    sight: Sight,
}

/// What is the same for all instances that are looked at: the kinds, what carries labels of ours, what was asked for already.
pub(crate) struct Field<'a> {
    session: &'a Session,
    kinds: BTreeMap<KindKey, Seen>,
    /// By the name of an instance.
    labelled: BTreeMap<String, Vec<Live>>,
    named: RefCell<BTreeMap<ObjectKey, Option<Live>>>,
    ending: RefCell<BTreeMap<String, bool>>,
    key: Option<Vec<u8>>,
    notes: RefCell<BTreeSet<String>>,
}

impl<'a> Field<'a> {
    /// The kinds of some blueprints, and the objects of one instance, or of all. What may not be seen in the whole cluster is looked
    /// for in one namespace.
    pub(crate) fn new(
        session: &'a Session,
        blueprints: &[&Blueprint],
        instance: Option<&str>,
        namespace: &str,
    ) -> Result<Self, Trouble> {
        let selector = instance.map_or_else(|| ROOT_LABEL.to_owned(), |it| format!("{ROOT_LABEL}={it}"));
        let mut field = Self {
            session,
            kinds: BTreeMap::new(),
            labelled: BTreeMap::new(),
            named: RefCell::default(),
            ending: RefCell::default(),
            key: session.key(),
            notes: RefCell::default(),
        };
        let wanted = blueprints.iter().flat_map(|it| needs::kinds(it));
        for (kind, need) in wanted {
            if field.kinds.contains_key(&kind) {
                continue;
            }
            let resource =
                session.ask(async |survey| survey.resource(&need.api_version, &kind.kind).await)?;
            let owned =
                blueprints.iter().any(|it| it.kinds.get(&kind.kind).is_some_and(|it| it.group == kind.group));
            let sight = match &resource {
                Some(resource) => field.list(resource, &selector, namespace)?,
                // Its definition is made when the blueprint runs.
                None if owned => Sight::Synced,
                None => Sight::NoSuchKind,
            };
            field.kinds.insert(kind, Seen { resource, sight });
        }
        Ok(field)
    }

    fn list(&mut self, resource: &Resource, selector: &str, namespace: &str) -> Result<Sight, Trouble> {
        let all = self.session.ask(async |survey| survey.list(resource, None, Some(selector)).await);
        let found = match all {
            Err(Trouble::Forbidden { .. }) if resource.namespaced && !namespace.is_empty() => {
                self.note(format!("you may see {} only in the namespace {namespace}", resource.kind));
                self.session.ask(async |survey| survey.list(resource, Some(namespace), Some(selector)).await)
            }
            other => other,
        };
        match found {
            Ok(found) => {
                for live in found {
                    if let Some(label) = live.label(ROOT_LABEL) {
                        self.labelled.entry(label.to_owned()).or_default().push(live);
                    }
                }
                Ok(Sight::Synced)
            }
            Err(Trouble::Forbidden { why, .. }) => {
                self.note(format!("{} is not seen: {why}", resource.kind));
                Ok(Sight::Forbidden)
            }
            Err(trouble) => Err(trouble),
        }
    }

    fn note(&self, text: String) {
        self.notes.borrow_mut().insert(text);
    }

    /// Whether the digests of the operator can be made: without its key, what was remembered cannot be recognised.
    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// What could not be seen.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.borrow().iter().cloned().collect()
    }

    /// The objects that carry the label of an instance.
    pub(crate) fn of_instance(&self, instance: &str) -> &[Live] {
        self.labelled.get(instance).map_or(&[], Vec::as_slice)
    }

    fn object(&self, key: &ObjectKey) -> Result<Option<Live>, Trouble> {
        if let Some(known) = self.named.borrow().get(key) {
            return Ok(known.clone());
        }
        let Some(resource) = self.kinds.get(&key.kind).and_then(|it| it.resource.as_ref()) else {
            return Ok(None);
        };
        let asked = self.session.ask(async |survey| survey.object(resource, &key.namespace, &key.name).await);
        let found = match asked {
            Err(Trouble::Forbidden { why, .. }) => {
                self.note(format!("{key} is taken to be absent: {why}"));
                None
            }
            other => other?,
        };
        self.named.borrow_mut().insert(key.clone(), found.clone());
        Ok(found)
    }

    /// Whether a namespace is being deleted, as far as that may be seen.
    fn is_ending(&self, namespace: &str) -> bool {
        if namespace.is_empty() {
            return false;
        }
        if let Some(known) = self.ending.borrow().get(namespace) {
            return *known;
        }
        let Some(resource) = Resource::built_in("v1", "Namespace") else { return false };
        let asked = self.session.ask(async |survey| survey.object(&resource, "", namespace).await);
        let ending = asked.ok().flatten().is_some_and(|it| it.terminating);
        self.ending.borrow_mut().insert(namespace.to_owned(), ending);
        ending
    }

    fn of_kind(&self, kind: &KindKey, namespace: Option<&str>) -> Result<Vec<Live>, Trouble> {
        let Some(resource) = self.kinds.get(kind).and_then(|it| it.resource.as_ref()) else {
            return Ok(Vec::new());
        };
        match self.session.ask(async |survey| survey.list(resource, namespace, None).await) {
            Err(Trouble::Forbidden { why, .. }) => {
                self.note(format!("what is picked of {kind} is taken to be nothing: {why}"));
                Ok(Vec::new())
            }
            other => other,
        }
    }
}

/// What one instance sees.
pub(crate) struct Look<'a> {
    field: &'a Field<'a>,
    /// The root as it is, if it is.
    root: Option<Live>,
    /// The name of the instance.
    instance: String,
    /// Where its ledger is.
    home: String,
    begun: bool,
    given: BTreeSet<ObjectKey>,
    listed: BTreeSet<(KindKey, Option<String>)>,
}

impl<'a> Look<'a> {
    /// Of an instance of a blueprint in a namespace.
    pub(crate) fn new(field: &'a Field<'a>, root: Option<Live>, instance: String, blueprint: &str) -> Self {
        let of_root = root.as_ref().map(|it| it.key.namespace.clone()).filter(|it| !it.is_empty());
        let home = of_root.unwrap_or_else(|| blueprint.to_owned());
        let (given, listed) = (BTreeSet::new(), BTreeSet::new());
        Self { field, root, instance, home, begun: false, given, listed }
    }

    /// Whether its root is being deleted.
    pub(crate) fn is_going(&self) -> bool {
        self.root.as_ref().is_some_and(|it| it.terminating)
    }

    fn take(&mut self, live: Live, found: &mut Vec<(String, Live)>) {
        if self.given.insert(live.key.clone()) {
            let api_version =
                live.body.get("apiVersion").and_then(serde_json::Value::as_str).unwrap_or_default();
            found.push((api_version.to_owned(), live));
        }
    }
}

fn unseen(trouble: &Trouble) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(codes::OBSERVED, trouble.to_string()).hint(trouble.hint()))
}

impl Observed for Look<'_> {
    fn objects(&mut self, interests: &Interests) -> Result<Vec<(String, Live)>, Box<Diagnostic>> {
        let mut found = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            let ours = self.field.of_instance(&self.instance).to_vec();
            for live in self.root.clone().into_iter().chain(ours) {
                self.take(live, &mut found);
            }
        }
        for key in &interests.objects {
            if self.given.contains(key) {
                continue;
            }
            match self.field.object(key).map_err(|it| unseen(&it))? {
                Some(live) => self.take(live, &mut found),
                None => {
                    self.given.insert(key.clone());
                }
            }
        }
        for (kind, namespace) in &interests.kinds {
            if self.listed.insert((kind.clone(), namespace.clone())) {
                for live in self.field.of_kind(kind, namespace.as_deref()).map_err(|it| unseen(&it))? {
                    self.take(live, &mut found);
                }
            }
        }
        Ok(found)
    }

    fn ledger(&mut self, instance: &str) -> (LedgerFact, Vec<u8>) {
        let (session, home) = (self.field.session, &self.home);
        let fact = session.ask(async |survey| survey.ledger(home, instance).await);
        let key = self.field.key.clone().unwrap_or_default();
        if fact == LedgerFact::Unknown {
            self.field.note(format!(
                "the ledger in the namespace {home} may not be read: what was run before is not known"
            ));
        }
        (fact, key)
    }

    fn is_given(&self) -> bool {
        true
    }

    fn nature(&self, kind: &KindKey) -> Option<Nature> {
        let resource = self.field.kinds.get(kind)?.resource.as_ref()?;
        let Resource { namespaced, observed_generation, .. } = *resource;
        Some(Nature { namespaced, observed_generation })
    }

    fn surroundings(&mut self, _blueprint: &Blueprint, world: &mut World) -> Result<bool, Box<Diagnostic>> {
        world.now = self.field.session.now();
        world.root.instance.clone_from(&self.instance);
        if world.root.seen_going {
            world.root.going_since = Some(world.now);
        }
        for (kind, seen) in &self.field.kinds {
            if let Some(view) = world.kinds.get_mut(kind) {
                view.sight = seen.sight;
                if let Some(resource) = &seen.resource {
                    view.observed_generation = resource.observed_generation;
                    view.namespaced = resource.namespaced;
                }
            }
        }
        if self.field.key.is_none() {
            self.field.note(
                "the key of the operator's digests may not be read: onces and states look as if they were never run, and Secrets \
                 as if they changed"
                    .to_owned(),
            );
        }
        world.namespace_ending = self.field.is_ending(&world.root.key.namespace);
        Ok(true)
    }
}
