//! Which blueprint serves a kind: one owns it, a second is refused.
//!
//! A definition says who made it, and whoever looks after it is told ([`crate::crds::install`]). Where nobody of us made it, because
//! all blueprints that own the kind wait for somebody's definition, the oldest ConfigMap owns it.

use pemdas_core::blueprint::{Body, RootTarget};
use serde_json::Value;

use super::{Hub, blueprints::BlueprintName};

/// How it stands with a definition, as far as serving its kind goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// It is this blueprint's, or nobody's.
    Ours,
    /// Another blueprint made it.
    Anothers,
}

impl Hub {
    /// Whether the root is of a kind that the blueprint owns.
    pub(super) fn owns(&self, blueprint: &BlueprintName, root: &str) -> bool {
        self.definition_of(blueprint, root).is_some()
    }

    /// The definition of a root of an owned kind.
    fn definition_of(&self, blueprint: &BlueprintName, root: &str) -> Option<&str> {
        let running = self.blueprints.get(blueprint)?.running.as_ref()?;
        match &running.blueprint.nodes.get(root)?.body {
            Body::Root(root) => match &root.target {
                RootTarget::Owned(kind) => running.owned.get(kind).map(String::as_str),
                RootTarget::Foreign { .. } | RootTarget::Blueprint => None,
            },
            _ => None,
        }
    }

    /// Whether a blueprint serves objects of this root's kind now.
    pub(super) fn serves(&self, blueprint: &BlueprintName, root: &str) -> bool {
        let Some(crd) = self.definition_of(blueprint, root) else { return true };
        let Some(loaded) = self.blueprints.get(blueprint) else { return false };
        // Nobody looks after the definitions of a blueprint that is gone.
        if loaded.gone {
            return true;
        }
        let ours = loaded.judged.get(crd) == Some(&Judged::Ours);
        ours && (self.knows_blueprints() || !loaded.awaits()) && self.rival(blueprint, crd).is_none()
    }

    /// The blueprint that owns a kind instead of this one, where the definition does not say; also one that may turn out to.
    pub(super) fn rival(&self, blueprint: &BlueprintName, crd: &str) -> Option<&BlueprintName> {
        let loaded = self.blueprints.get(blueprint)?;
        let age = |name: &BlueprintName| {
            let live = self.blueprints.get(name).map(|it| it.live().clone());
            let created = live.and_then(|it| {
                it.body.pointer("/metadata/creationTimestamp").and_then(Value::as_str).map(str::to_owned)
            });
            (created.unwrap_or_default(), name.clone())
        };
        let mut others = self.blueprints.iter().filter(|(name, it)| *name != blueprint && !it.gone);
        let rivals = |other: &BlueprintName, it: &super::blueprints::Loaded| {
            let Some(running) = &it.running else {
                // What it owns is not known yet: that matters only where nobody's mark decides.
                return loaded.awaits() && !it.read;
            };
            running.owned.values().any(|it| it == crd)
                && it.judged.get(crd) != Some(&Judged::Anothers)
                && age(other) < age(blueprint)
        };
        others.find(|(name, it)| rivals(name, it)).map(|(name, _)| name)
    }

    /// A kind may have another owner now.
    pub(super) fn owners_changed(&mut self) {
        let names: Vec<_> = self.blueprints.keys().cloned().collect();
        for name in names {
            self.begin_passed_over(&name);
        }
        self.report_soon();
    }

    /// Looks again at the roots that started nothing, if there are any.
    pub(super) fn begin_passed_over(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        if loaded.passed_over.is_empty() {
            return;
        }
        let identity = loaded.identity.clone();
        let told = loaded.is_going();
        if !told {
            loaded.passed_over.clear();
        }
        self.begin_roots(name, &identity);
    }
}
