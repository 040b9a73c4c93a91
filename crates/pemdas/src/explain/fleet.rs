//! All instances of a cluster that somebody may see, whatever kinds they are of.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::world::{KindKey, Live};
use pemdas_kube::{
    connect::Trouble,
    needs,
    resource::Resource,
    survey::{Found, roots},
};

use super::{Explainer, Listed};
use crate::live::{Lost, Readable, running};

/// How many instances are looked at.
const MAX_INSTANCES: usize = 20_000;

/// What somebody may see of a cluster.
pub(crate) struct Fleet {
    pub(crate) listed: Vec<Listed>,
    /// How many more there are.
    pub(crate) more: usize,
    /// Each with why it cannot be read, if it cannot.
    pub(crate) blueprints: Vec<(Found, Option<String>)>,
    /// The one namespace that was looked at, where the others may not be seen.
    pub(crate) only: Option<String>,
    /// What could not be seen.
    pub(crate) notes: Vec<String>,
}

impl Explainer<'_> {
    /// All instances, in all namespaces where that is allowed.
    pub(crate) fn fleet(&self) -> Result<Fleet, Lost> {
        let mut kinds = BTreeSet::new();
        let mut blueprints = Vec::new();
        for (found, compiled) in self.reader.all(self.session)? {
            if let Ok(it) = &compiled {
                let of_roots = roots(&it.blueprint);
                kinds.extend(of_roots.into_iter().map(|(_, version, kind)| KindKey::new(&version, &kind)));
            }
            blueprints.push((found, compiled.err()));
        }
        let mut fleet = Fleet { listed: Vec::new(), more: 0, blueprints, only: None, notes: Vec::new() };
        for kind in kinds {
            self.add(&kind, &mut fleet)?;
        }
        Ok(fleet)
    }

    /// The kinds that the blueprints speak of, and how the cluster serves them.
    pub(crate) fn kinds(&self) -> Result<BTreeMap<KindKey, Resource>, Lost> {
        let served = self.session.kinds()?;
        let mut kinds = BTreeMap::new();
        for compiled in self.reader.all(self.session)?.into_iter().filter_map(|(_, it)| it.ok()) {
            let spoken_of = needs::kinds(&compiled.blueprint).into_keys();
            kinds.extend(spoken_of.filter_map(|it| Some((it.clone(), served.of(&it)?.resource.clone()))));
        }
        Ok(kinds)
    }

    /// A blueprint, with how it can run or why it cannot.
    pub(crate) fn blueprint(&self, namespace: &str, name: &str) -> Result<Readable, Lost> {
        let nothing = || Lost::Nothing {
            message: format!("there is no blueprint {name} in the namespace {namespace}"),
            hint: Some("`kubectl get configmaps -A -l pemdas.dev/blueprint` lists the blueprints".to_owned()),
        };
        let found =
            self.session.ask(async |survey| survey.blueprint(namespace, name).await)?.ok_or_else(nothing)?;
        let compiled = self.reader.compiled(&found, &running(self.session, &found, None));
        Ok((found, compiled))
    }

    /// An object, as the cluster has it.
    pub(crate) fn live(&self, namespace: &str, word: &str, name: &str) -> Result<Live, Lost> {
        self.named(self.session.kind(word)?, namespace, name)
    }

    fn add(&self, kind: &KindKey, fleet: &mut Fleet) -> Result<(), Lost> {
        let Some(served) = self.session.kinds()?.of(kind) else {
            fleet.notes.push(format!("the cluster does not serve the kind {} yet", kind.kind));
            return Ok(());
        };
        let (word, room) = (served.word(), MAX_INSTANCES.saturating_sub(fleet.listed.len()));
        let listed = match self.list(&word, true, room) {
            Err(Lost::Trouble(Trouble::Forbidden { .. })) => {
                fleet.only = Some(self.session.namespace().to_owned());
                self.list(&word, false, room)
            }
            other => other,
        };
        match listed {
            Ok((all, more)) => {
                fleet.listed.extend(all);
                fleet.more += more;
            }
            Err(Lost::Trouble(Trouble::Forbidden { why, .. })) => {
                fleet.notes.push(format!(
                    "{} in {}: forbidden to you: {why}",
                    kind.kind,
                    self.session.namespace()
                ));
            }
            // No blueprint starts with it any more.
            Err(Lost::Nothing { .. }) => {}
            Err(other) => return Err(other),
        }
        Ok(())
    }
}
