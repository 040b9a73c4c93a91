//! What lets a blueprint act stays until its last instance is gone.
//!
//! *The accident*: `kubectl delete -f` of a bundle deletes roles, account, CRD and ConfigMap at once, and the CRD takes the
//! instances with it. Without its permissions Pemdas can delete nothing that the blueprint made: everything waits for ever, or
//! stays. So what `pemdas rbac` and `pemdas bundle` write carries a label and names its blueprint, and while that one has
//! instances, Pemdas keeps a finalizer on it. An object that is being deleted grants what it granted before.
//!
//! Whoever may write such an object may label it: that holds nothing but this object, and only while the blueprint has instances.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ObjectReference;
use pemdas_core::{
    action::Event as Told,
    rights::hold::{PERMISSIONS_ANNOTATION, PERMISSIONS_FINALIZER},
    world::{KindKey, Live, ObjectKey, Sight, WriteOutcome},
};

use serde_json::Value;

use super::{
    Event, Hub,
    blueprints::{BlueprintName, Loaded},
    reports::REPORT_AGAIN,
    views::Purpose,
};
use crate::{call, identity::Identity, resource::Resource};

pub(super) use pemdas_core::rights::hold::PERMISSIONS_LABEL;

/// What lets an account act.
pub(super) const PERMISSIONS: [(&str, &str); 5] = [
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
];

/// What is under way.
#[derive(Default)]
pub(super) struct Holds {
    /// Objects whose finalizers are being written.
    writing: BTreeSet<ObjectKey>,
    /// The uids of objects of which was told that they are being deleted and stay.
    told: BTreeSet<String>,
}

/// The blueprint that an object says it belongs to.
fn blueprint_of(live: &Live) -> Option<BlueprintName> {
    let (namespace, name) = live.annotation(PERMISSIONS_ANNOTATION)?.split_once('/')?;
    Some(BlueprintName::new(namespace, name))
}

impl Hub {
    /// Puts our finalizer on what lets blueprints with instances act, and takes it off the rest.
    pub(super) fn hold_permissions(&mut self) {
        let views = self.views.all.values().filter(|it| it.purpose == Purpose::Permissions);
        let mut seen: Vec<_> = views
            .filter_map(|it| Some((it.resource.clone()?, it)))
            .flat_map(|(resource, it)| it.objects.values().map(move |live| (resource.clone(), live.clone())))
            .collect();
        // In the same order whenever it is done again.
        seen.sort_by(|a, b| a.1.key.cmp(&b.1.key));
        for (resource, live) in seen {
            let has = live.finalizers.contains(PERMISSIONS_FINALIZER);
            if (has || !live.terminating) && self.is_needed(&live) == Some(!has) {
                self.write_hold(resource, &live);
            } else if has && live.terminating && self.holds.told.insert(live.uid.clone()) {
                self.tell_held(&live);
            }
        }
    }

    /// Whether a blueprint with instances needs an object; nothing if that is not known, or may not be changed.
    fn is_needed(&self, live: &Live) -> Option<bool> {
        let Some(name) = blueprint_of(live) else { return Some(false) };
        if self.suspension(&name).is_some() {
            return None;
        }
        let here = &live.key.namespace;
        // A namespace that ends takes all that is in it: what matters then are instances there.
        if *here != name.namespace && self.is_ending(here) {
            return Some(self.instances.are_in(&name, here));
        }
        if !self.blueprints.get(&name).is_some_and(Loaded::is_going) {
            return self.has_instances(&name);
        }
        // Until nothing is left of it, its revisions included, it has to see, and perhaps to act. Where it may not, what is left of
        // its permissions is of no use.
        let (has, lives) =
            (live.finalizers.contains(PERMISSIONS_FINALIZER), self.instances.tally(&name).0.total > 0);
        if has || lives { Some(lives || !self.is_blind(&name)) } else { None }
    }

    /// Whether a blueprint may not see whether it has instances.
    fn is_blind(&self, name: &BlueprintName) -> bool {
        self.blueprints.get(name).is_some_and(|it| {
            let forbidden = |kind: &KindKey| self.views.sight_of_all(&it.identity, kind) == Sight::Forbidden;
            it.withheld
                || it.running.as_ref().is_some_and(|it| it.roots.iter().any(|(kind, _)| forbidden(kind)))
        })
    }

    fn write_hold(&mut self, resource: Resource, live: &Live) {
        if !self.holds.writing.insert(live.key.clone()) {
            return;
        }
        let mut finalizers = live.finalizers.clone();
        if !finalizers.remove(PERMISSIONS_FINALIZER) {
            finalizers.insert(PERMISSIONS_FINALIZER.to_owned());
        }
        let (client, post) = (self.clients.of(&Identity::Pemdas), self.post.clone());
        let (key, uid, version) = (live.key.clone(), live.uid.clone(), live.resource_version);
        tokio::spawn(async move {
            let done = call::finalize(&client, &resource, &key, (&uid, version), &finalizers).await;
            let _ended = post.send(Event::Held(key, done.outcome)).await;
        });
    }

    /// A finalizer was written, or has to be written again.
    pub(super) fn held(&mut self, key: &ObjectKey, outcome: &WriteOutcome) {
        self.holds.writing.remove(key);
        if matches!(outcome, WriteOutcome::Done(_)) {
            return;
        }
        tracing::debug!(%key, ?outcome, "a finalizer on permissions could not be written");
        let post = self.post.clone();
        tokio::spawn(async move {
            tokio::time::sleep(REPORT_AGAIN).await;
            let _ended = post.send(Event::Report).await;
        });
    }

    fn tell_held(&self, live: &Live) {
        let Some(name) = blueprint_of(live) else { return };
        let (tally, _) = self.instances.tally(&name);
        let message = format!(
            "it is being deleted, and stays until the instances of the blueprint {name} are gone ({} now): without it, \
             what they made could not be deleted",
            tally.total
        );
        let about = ObjectReference {
            api_version: live.body.get("apiVersion").and_then(Value::as_str).map(str::to_owned),
            kind: Some(live.key.kind.kind.clone()),
            namespace: Some(live.key.namespace.clone()).filter(|it| !it.is_empty()),
            name: Some(live.key.name.clone()),
            uid: Some(live.uid.clone()),
            ..ObjectReference::default()
        };
        let event = Told { about: None, reason: "PermissionsHeld".to_owned(), message, warning: true };
        self.beside.teller.tell(about, event);
    }
}
