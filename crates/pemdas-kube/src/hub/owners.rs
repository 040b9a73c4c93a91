//! Which blueprint serves a kind: one owns it, a second is refused.
//!
//! A definition says who made it, and whoever looks after it is told ([`crate::crds::install`]). Where nobody of us made it, because
//! all blueprints that own the kind wait for somebody's definition, the oldest ConfigMap owns it.

use pemdas_core::blueprint::{Body, RootTarget};

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
    /// One of which nobody knows yet what runs, and so what it owns.
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
    /// Whether it owns a kind as far as it knows itself.
    fn owns(&self, crd: &str) -> Option<bool> {
        let Some(running) = self.runs()? else { return Some(false) };
        let owned = running.owned.values().any(|it| it == crd);
        Some(owned && self.judged.get(crd) != Some(&Judged::Anothers))
    }
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
        if loaded.judged.get(crd) != Some(&Judged::Ours) {
            return false;
        }
        match self.rival(blueprint, crd) {
            Rival::Certain(_) => false,
            // That matters only where nobody's mark decides.
            Rival::Possible(_) => !loaded.awaits(),
            Rival::None => self.knows_blueprints() || !loaded.awaits(),
        }
    }

    /// Who owns a kind instead of this blueprint, where the definition does not say.
    pub(super) fn rival(&self, blueprint: &BlueprintName, crd: &str) -> Rival<'_> {
        let Some((name, ours)) = self.blueprints.get_key_value(blueprint) else { return Rival::None };
        let others = self.blueprints.iter().filter(|(_, it)| !it.gone);
        rival((ours.created(), name), others.map(|(name, it)| ((it.created(), name), it.owns(crd))))
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
