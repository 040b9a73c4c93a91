//! A model of an API server: what `decide` may rely on, and no more.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use crate::{
    action::Action,
    ledger::Ledger,
    path::FieldPath,
    world::{
        CLAIM_ANNOTATION, KindKey, Live, ONCE_FINALIZER, ObjectKey, ROOT_LABEL, Refusal, WriteOutcome,
        leaves, without,
    },
};

/// What happened to an object of a kind.
pub(super) type LogEntry = (u64, ObjectKey, Option<Arc<Live>>);

#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) version: u64,
    pub(super) uids: u64,
    pub(super) objects: BTreeMap<ObjectKey, Arc<Live>>,
    pub(super) log: BTreeMap<KindKey, Vec<LogEntry>>,
    pub(super) ledger: Option<(u64, Ledger)>,
    /// What somebody put into the Secret of the ledger instead: a text, and something like a seal.
    pub(super) forged_ledger: Option<(String, String)>,
    /// The ledger of a dead root, by its instance.
    pub(super) old_ledger: Option<(String, u64, Ledger)>,
    pub(super) root: ObjectKey,
    /// Fields that may not change, by kind.
    pub(super) immutable: BTreeSet<KindKey>,
    pub(super) namespace_ending: bool,
    /// A field of a status that the definition does not know.
    pub(super) pruned: Option<&'static str>,
    /// How deletions of a kind's objects are refused.
    pub(super) undeletable: BTreeMap<KindKey, Refusal>,
    /// How it is refused to make or change objects of a kind.
    pub(super) unwritable: BTreeMap<KindKey, Refusal>,
    /// What the account may not list.
    pub(super) unlistable: BTreeSet<KindKey>,
    /// Fields that the server takes from objects of a kind without a word.
    pub(super) dropped: Vec<(KindKey, FieldPath)>,
    /// The kind whose schema does not have the field `spec.v`.
    pub(super) unknown: Option<KindKey>,
}

impl Cluster {
    pub(super) fn new(root: ObjectKey) -> Self {
        Self {
            version: 10,
            uids: 0,
            objects: BTreeMap::new(),
            log: BTreeMap::new(),
            ledger: None,
            forged_ledger: None,
            old_ledger: None,
            root,
            immutable: BTreeSet::new(),
            namespace_ending: false,
            pruned: None,
            undeletable: BTreeMap::new(),
            unwritable: BTreeMap::new(),
            unlistable: BTreeSet::new(),
            dropped: Vec::new(),
            unknown: None,
        }
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Arc<Live>> {
        self.objects.get(key)
    }

    pub(super) fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Stores an object as it is now; a terminating one without finalizers is gone.
    pub(super) fn store(&mut self, mut live: Live) -> u64 {
        let version = self.next_version();
        live.resource_version = version;
        live.body["metadata"]["finalizers"] = json!(live.finalizers);
        live.body["metadata"]["uid"] = json!(live.uid);
        if let Some(generation) = live.generation {
            live.body["metadata"]["generation"] = json!(generation);
        }
        if live.terminating {
            live.body["metadata"]["deletionTimestamp"] = json!("then");
        }
        let key = live.key.clone();
        let entry = if live.terminating && live.finalizers.is_empty() {
            self.objects.remove(&key);
            None
        } else {
            let live = Arc::new(live);
            self.objects.insert(key.clone(), live.clone());
            Some(live)
        };
        self.log.entry(key.kind.clone()).or_default().push((version, key, entry));
        version
    }

    /// Somebody creates an object.
    pub(super) fn create(&mut self, key: &ObjectKey, manager: &str, body: Value) -> u64 {
        self.uids += 1;
        let finalizers = finalizers(&body);
        let live = Live {
            key: key.clone(),
            uid: format!("u{}", self.uids),
            resource_version: 0,
            generation: body.get("spec").map(|_| 1),
            terminating: false,
            finalizers,
            managed: crate::world::Managers::from_iter([(
                manager.to_owned(),
                leaves(&body).into_iter().collect(),
            )])
            .into(),
            body: body.into(),
        };
        let live = self.kept(live, manager);
        self.store(live)
    }

    /// An object without what the server does not keep.
    fn kept(&self, mut live: Live, manager: &str) -> Live {
        for (_, field) in self.dropped.iter().filter(|(kind, _)| *kind == live.key.kind) {
            without(&mut live.body, field.parts());
            if let Some(owned) = live.managed.get_mut(manager) {
                owned.remove(field);
            }
        }
        live
    }

    /// Somebody takes a field away.
    pub(super) fn take_out(&mut self, key: &ObjectKey, field: &FieldPath) {
        let Some(live) = self.get(key).cloned() else { return };
        let mut live = (*live).clone();
        without(&mut live.body, field.parts());
        live.managed.values_mut().for_each(|owned| {
            owned.remove(field);
        });
        live.generation = live.generation.map(|it| it + 1);
        self.store(live);
    }

    /// Somebody changes an object by hand: takes the fields it sets.
    pub(super) fn edit(&mut self, key: &ObjectKey, manager: &str, patch: &Value) {
        let Some(live) = self.get(key).cloned() else { return };
        let changed = applied(&live, manager, patch, true, true).expect("forced");
        self.store(changed);
    }

    pub(super) fn delete(&mut self, key: &ObjectKey) {
        let Some(live) = self.get(key).cloned() else { return };
        if live.terminating {
            return;
        }
        let mut live = (*live).clone();
        live.terminating = true;
        self.store(live);
    }

    pub(super) fn set_status(&mut self, key: &ObjectKey, status: Value) {
        let Some(live) = self.get(key).cloned() else { return };
        if live.body.get("status") == Some(&status) {
            return;
        }
        let mut live = (*live).clone();
        live.body["status"] = status;
        self.store(live);
    }

    /// Carries out an action, or refuses it.
    #[expect(clippy::too_many_lines, reason = "one arm for each action")]
    pub(super) fn execute(&mut self, action: &Action, manager: &str) -> WriteOutcome {
        if let Some(refusal) = self.refuses(action) {
            return WriteOutcome::Refused(refusal);
        }
        match action {
            Action::Create { key, .. } | Action::Change { key, .. }
                if self.unknown.as_ref() == Some(&key.kind) =>
            {
                WriteOutcome::Refused(Refusal::UnknownField("spec.v".to_owned()))
            }
            Action::Create { key, body } => {
                if self.namespace_ending {
                    return WriteOutcome::Refused(Refusal::NoNamespace("it is being deleted".to_owned()));
                }
                if self.objects.contains_key(key) {
                    return WriteOutcome::Refused(Refusal::Exists);
                }
                WriteOutcome::Done(self.create(key, manager, body.clone()))
            }
            Action::Change { key, uid, resource_version, body, force } => {
                let live = match self.checked(key, uid, *resource_version) {
                    Ok(live) => live,
                    Err(refusal) => return WriteOutcome::Refused(refusal),
                };
                match applied(&live, manager, body, *force, false) {
                    Err(conflicts) => WriteOutcome::Refused(Refusal::FieldConflict(conflicts)),
                    Ok(new) if self.immutable.contains(&key.kind) && new.generation != live.generation => {
                        WriteOutcome::Refused(Refusal::Immutable("spec".to_owned()))
                    }
                    Ok(new) => {
                        let new = self.kept(new, manager);
                        // Nothing changed: nothing is stored.
                        WriteOutcome::Done(if new == *live { live.resource_version } else { self.store(new) })
                    }
                }
            }
            Action::Delete { key, uid, resource_version } => {
                match self.checked(key, uid, Some(*resource_version)) {
                    Err(refusal) => WriteOutcome::Refused(refusal),
                    Ok(_) => {
                        self.delete(key);
                        WriteOutcome::Deleted(uid.clone())
                    }
                }
            }
            Action::Release { key, uid, resource_version, disown } => {
                let live = match self.checked(key, uid, Some(*resource_version)) {
                    Ok(live) => live,
                    Err(refusal) => return WriteOutcome::Refused(refusal),
                };
                let mut live = (*live).clone();
                live.finalizers.remove(ONCE_FINALIZER);
                if *disown {
                    let at = |parts: [&str; 3]| parts.map(str::to_owned);
                    without(&mut live.body, &at(["metadata", "labels", ROOT_LABEL]));
                    without(&mut live.body, &at(["metadata", "annotations", CLAIM_ANNOTATION]));
                    live.managed.remove(manager);
                }
                WriteOutcome::Done(self.store(live))
            }
            Action::Seal { key, uid, resource_version, claim } => {
                match self.checked(key, uid, Some(*resource_version)) {
                    Err(refusal) => WriteOutcome::Refused(refusal),
                    Ok(live) => {
                        let mut live = (*live).clone();
                        set_annotation(&mut live, CLAIM_ANNOTATION, Some(claim));
                        WriteOutcome::Done(self.store(live))
                    }
                }
            }
            Action::Finalize { uid, resource_version, finalizers } => {
                let root = self.root.clone();
                let live = match self.checked(&root, uid, Some(*resource_version)) {
                    Ok(live) => live,
                    Err(refusal) => return WriteOutcome::Refused(refusal),
                };
                if live.terminating && !finalizers.is_subset(&live.finalizers) {
                    let text = "no new finalizers can be added if the object is being deleted";
                    return WriteOutcome::Refused(Refusal::Invalid(text.to_owned()));
                }
                let mut live = (*live).clone();
                live.finalizers.clone_from(finalizers);
                WriteOutcome::Done(self.store(live))
            }
            Action::Mark { uid, resource_version, annotation, memory } => {
                let root = self.root.clone();
                let live = match self.checked(&root, uid, Some(*resource_version)) {
                    Ok(live) => live,
                    Err(refusal) => return WriteOutcome::Refused(refusal),
                };
                let mut live = (*live).clone();
                set_annotation(&mut live, annotation, memory.as_deref());
                WriteOutcome::Done(self.store(live))
            }
            Action::Status { uid, status } => {
                let root = self.root.clone();
                match self.checked(&root, uid, None) {
                    Err(refusal) => WriteOutcome::Refused(refusal),
                    Ok(live) => {
                        let mut live = (*live).clone();
                        live.body["status"] = status.clone();
                        if let (Some(field), Some(fields)) =
                            (self.pruned, live.body["status"].as_object_mut())
                        {
                            fields.remove(field);
                        }
                        WriteOutcome::Done(self.store(live))
                    }
                }
            }
            Action::Record { ledger, resource_version } => {
                if self.ledger.as_ref().map(|(version, _)| *version) != *resource_version {
                    return WriteOutcome::Refused(Refusal::Changed);
                }
                let version = self.next_version();
                self.ledger = Some((version, (**ledger).clone()));
                self.forged_ledger = None;
                WriteOutcome::Done(version)
            }
            Action::Forget { resource_version } => {
                if self.ledger.as_ref().is_none_or(|(version, _)| version != resource_version) {
                    return WriteOutcome::Refused(Refusal::Changed);
                }
                self.ledger = None;
                self.forged_ledger = None;
                WriteOutcome::Deleted("ledger".to_owned())
            }
            Action::ForgetLedgerOf { instance, resource_version } => {
                let old = self.old_ledger.as_ref().map(|(of, version, _)| (of, version));
                if old != Some((instance, resource_version)) {
                    return WriteOutcome::Refused(Refusal::Changed);
                }
                self.old_ledger = None;
                WriteOutcome::Deleted("ledger".to_owned())
            }
            Action::Render(_)
            | Action::Look { .. }
            | Action::ReadLedger
            | Action::ReadLedgerOf { .. }
            | Action::Event(_) => WriteOutcome::Done(self.version),
        }
    }

    /// How an action is refused whatever is there. What the account may not do, Pemdas itself may.
    fn refuses(&self, action: &Action) -> Option<Refusal> {
        match action {
            Action::Create { key, .. } | Action::Change { key, .. } => {
                self.unwritable.get(&key.kind).cloned()
            }
            Action::Delete { key, .. } => self.undeletable.get(&key.kind).cloned(),
            _ => None,
        }
    }

    fn checked(&self, key: &ObjectKey, uid: &str, version: Option<u64>) -> Result<Arc<Live>, Refusal> {
        let live = self.get(key).ok_or(Refusal::Gone)?;
        if live.uid != uid || version.is_some_and(|it| it != live.resource_version) {
            return Err(Refusal::Changed);
        }
        Ok(live.clone())
    }
}

/// Sets an annotation, or takes it off.
pub(super) fn set_annotation(live: &mut Live, name: &str, value: Option<&str>) {
    match value {
        Some(value) => live.body["metadata"]["annotations"][name] = json!(value),
        None => without(&mut live.body, &["metadata", "annotations", name].map(str::to_owned)),
    }
}

fn finalizers(body: &Value) -> BTreeSet<String> {
    let list = body["metadata"].get("finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Server-side apply; `partial` leaves what the manager owned before and does not name now.
fn applied(
    live: &Live,
    manager: &str,
    body: &Value,
    force: bool,
    partial: bool,
) -> Result<Live, Vec<(String, String)>> {
    let mut new = live.clone();
    let wanted = leaves(body);
    let find = |value: &Value, parts: &[String]| {
        parts.iter().try_fold(value.clone(), |it, part| it.get(part).cloned())
    };
    let mut conflicts = Vec::new();
    for leaf in &wanted {
        let differs = find(&live.body, leaf.parts()) != find(body, leaf.parts());
        for (other, owned) in &mut **new.managed {
            if other != manager && differs && owned.contains(leaf) {
                conflicts.push((other.clone(), leaf.to_string()));
                owned.remove(leaf);
            }
        }
    }
    if !conflicts.is_empty() && !force {
        return Err(conflicts);
    }
    let before = new.managed.remove(manager).unwrap_or_default();
    if !partial {
        for leaf in before.iter().filter(|it| !wanted.contains(it)) {
            if !new.managed.values().any(|owned| owned.contains(leaf)) {
                without(&mut new.body, leaf.parts());
            }
        }
    }
    for leaf in &wanted {
        let mut at: &mut Value = &mut new.body;
        for part in leaf.parts() {
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[part.as_str()];
        }
        *at = find(body, leaf.parts()).unwrap_or_default();
    }
    let mut owned: BTreeSet<_> = wanted.into_iter().collect();
    if partial {
        owned.extend(before);
    }
    new.managed.insert(manager.to_owned(), owned);
    if new.body.get("spec") != live.body.get("spec") {
        new.generation = Some(live.generation.unwrap_or(0) + 1);
    }
    Ok(new)
}
