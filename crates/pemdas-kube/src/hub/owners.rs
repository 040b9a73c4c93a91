//! Which blueprint serves a kind: one owns it, a second is refused.
//!
//! A definition says who made it, and whoever looks after it is told ([`crate::crds::install`]). Where nobody of us made it, because
//! all blueprints that own the kind wait for somebody's definition, the oldest ConfigMap has it, of those whose account may serve it.
//! That is so for each namespace by itself: an account that may serve a kind in its own namespace keeps it from nobody elsewhere.

use std::collections::BTreeMap;

use pemdas_core::{
    blueprint::{Body, RootTarget},
    world::{KindKey, Sight},
};

use super::{
    Hub,
    blueprints::{BlueprintName, Loaded},
};

/// How it stands with a definition, as far as serving its kind goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// It is this blueprint's, or nobody's.
    Ours,
    /// Another blueprint made it.
    Anothers,
}

/// Another blueprint that comes first where several own a kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rival<'a> {
    Certain(&'a BlueprintName),
    /// One of which nobody knows yet what runs, and so what it owns, or what its account may do.
    Possible(&'a BlueprintName),
    None,
}

/// By whom a blueprint is preceded: the age of each, its name, and whether it owns the kind, if that is known.
fn rival<'a>(
    ours: (&str, &BlueprintName),
    others: impl Iterator<Item = ((&'a str, &'a BlueprintName), Option<bool>)>,
) -> Rival<'a> {
    let mut found = Rival::None;
    for ((_, name), owns) in others.filter(|(it, _)| *it < ours) {
        match owns {
            Some(true) => return Rival::Certain(name),
            Some(false) => {}
            None => found = Rival::Possible(name),
        }
    }
    found
}

impl Loaded {
    /// The kind of a definition that it owns as far as it knows itself; nothing as long as nobody knows what runs.
    fn owns(&self, crd: &str) -> Option<Option<KindKey>> {
        let Some(running) = self.runs()? else { return Some(None) };
        let owned = running.owned.iter().find(|(_, it)| *it == crd);
        let owned = owned.filter(|_| self.judged.get(crd) != Some(&Judged::Anothers));
        Some(owned.map(|(kind, _)| KindKey::new(&format!("{}/", parts(crd).1), kind)))
    }
}

/// The plural and the group of a definition's name.
fn parts(crd: &str) -> (&str, &str) {
    crd.split_once('.').unwrap_or((crd, ""))
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
    pub(super) fn serves(&self, blueprint: &BlueprintName, root: &str, namespace: &str) -> bool {
        let Some(crd) = self.definition_of(blueprint, root) else { return true };
        let Some(loaded) = self.blueprints.get(blueprint) else { return false };
        // Nobody looks after the definitions of a blueprint that is gone.
        if loaded.gone {
            return true;
        }
        if loaded.judged.get(crd) != Some(&Judged::Ours) {
            return false;
        }
        match self.rival(blueprint, crd, Some(namespace)) {
            Rival::Certain(_) => false,
            // That matters only where nobody's mark decides.
            Rival::Possible(_) => !loaded.awaits(),
            Rival::None => self.knows_blueprints() || !loaded.awaits(),
        }
    }

    /// Who owns a kind instead of this blueprint, where the definition does not say: in a namespace, or in the whole cluster.
    pub(super) fn rival(&self, blueprint: &BlueprintName, crd: &str, namespace: Option<&str>) -> Rival<'_> {
        let Some((name, ours)) = self.blueprints.get_key_value(blueprint) else { return Rival::None };
        let others = self.blueprints.iter().filter(|(_, it)| !it.gone);
        let owns = |it: &Loaded| match it.owns(crd)? {
            Some(kind) => self.may_serve(it, &kind, crd, namespace),
            None => Some(false),
        };
        rival((ours.created(), name), others.map(|(name, it)| ((it.created(), name), owns(it))))
    }

    /// Whether an account sees the objects of a kind, and may do with them what its blueprint wants; nothing while that is not known.
    fn may_serve(&self, loaded: &Loaded, kind: &KindKey, crd: &str, namespace: Option<&str>) -> Option<bool> {
        let namespace = namespace.filter(|it| !it.is_empty());
        match self.views.sight_in(&loaded.identity, kind, namespace) {
            Sight::Synced => {
                let (plural, group) = parts(crd);
                loaded.may.as_ref()?.allows(group, plural, namespace)
            }
            Sight::Forbidden => Some(false),
            Sight::Unsynced | Sight::NoSuchKind => None,
        }
    }

    /// Whether a blueprint is one of several that own a kind.
    pub(super) fn contends_for(&self, blueprint: &BlueprintName, kind: &KindKey) -> bool {
        let owned = |it: &Loaded| it.running.as_ref()?.owned.get(&kind.kind).cloned();
        let Some(crd) = self.blueprints.get(blueprint).and_then(owned) else { return false };
        parts(&crd).1 == kind.group && self.owners_of(&crd) > 1
    }

    fn owners_of(&self, crd: &str) -> usize {
        let owned = self.blueprints.values().filter_map(|it| it.running.as_ref());
        owned.filter(|it| it.owned.values().any(|it| it == crd)).count()
    }

    /// A kind may have another owner now.
    pub(super) fn owners_changed(&mut self) {
        self.end_unserved();
        let names: Vec<_> = self.blueprints.keys().cloned().collect();
        for name in names {
            self.begin_passed_over(&name);
        }
        self.report_soon();
    }

    /// Whoever comes first serves the roots of a kind from now on: the instances that others have of them end. What is being removed
    /// is removed by who made it.
    fn end_unserved(&mut self) {
        let mut owners: BTreeMap<&String, u32> = BTreeMap::new();
        let running = self.blueprints.values().filter_map(|it| it.running.as_ref());
        running.flat_map(|it| it.owned.values()).for_each(|it| *owners.entry(it).or_default() += 1);
        let mut lost: BTreeMap<BlueprintName, Vec<_>> = BTreeMap::new();
        for (name, loaded) in self.blueprints.iter().filter(|(_, it)| !it.gone) {
            let Some(running) = &loaded.running else { continue };
            if !running.owned.values().any(|it| owners.get(it).is_some_and(|it| *it > 1)) {
                continue;
            }
            for id in self.instances.of_blueprint(name) {
                let Some(instance) = self.instances.get(id) else { continue };
                let root = &instance.world.root;
                if root.live.as_ref().is_none_or(|it| it.terminating) {
                    continue;
                }
                let Some(crd) = self.definition_of(name, &instance.root) else { continue };
                if matches!(self.rival(name, crd, Some(&root.key.namespace)), Rival::Certain(_)) {
                    lost.entry(name.clone()).or_default().push(id);
                }
            }
        }
        for (name, ids) in lost {
            tracing::warn!(blueprint = %name, instances = ids.len(), "another blueprint serves a kind now");
            ids.into_iter().for_each(|id| self.end(id));
            // They are passed over now: if the kind comes back, so do they.
            if let Some(identity) = self.blueprints.get(&name).map(|it| it.identity.clone()) {
                self.begin_roots(&name, &identity);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::{BlueprintName, Rival, rival};

    fn named(name: &str) -> BlueprintName {
        BlueprintName::new("team", name)
    }

    #[test]
    fn the_oldest_of_those_that_own_a_kind_has_it() {
        let (a, b, c) = (named("a"), named("b"), named("c"));
        let all = [(("2", &a), Some(true)), (("1", &b), Some(false)), (("1", &c), Some(true))];
        assert_eq!(rival(("2", &a), all.into_iter()), Rival::Certain(&c));
        assert_eq!(rival(("1", &c), all.into_iter()), Rival::None);
    }

    #[test]
    fn among_equally_old_ones_the_name_decides() {
        let (a, b) = (named("a"), named("b"));
        let all = [(("1", &a), Some(true)), (("1", &b), Some(true))];
        assert_eq!(rival(("1", &a), all.into_iter()), Rival::None);
        assert_eq!(rival(("1", &b), all.into_iter()), Rival::Certain(&a));
    }

    #[test]
    fn one_that_nothing_is_known_of_may_turn_out_to_own_it_only_if_it_is_older() {
        let (a, b) = (named("a"), named("b"));
        let all = [(("1", &a), None), (("2", &b), Some(true))];
        assert_eq!(rival(("2", &b), all.into_iter()), Rival::Possible(&a));
        assert_eq!(rival(("1", &a), all.into_iter()), Rival::None);
    }
}
