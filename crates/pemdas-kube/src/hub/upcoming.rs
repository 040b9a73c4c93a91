//! A revision that waits for its definitions.
//!
//! *The accident*: a CRD may not change as a revision wants it, and the revision runs all the same: it asks for fields that
//! the API server does not keep, and every instance that ran stalls, whatever its owner writes. So a revision becomes active only
//! once all definitions of the kinds that it owns can be used; until then the last active one decides.

use std::collections::BTreeMap;

use pemdas_core::{action::Event as Told, digest::Digest};
use serde_json::{Value, json};

use super::{
    Hub,
    beside::Task,
    blueprints::{BlueprintName, Loaded, Running, live_account, reference},
};
use crate::{
    compile::Compiled,
    crds::install::{Kept, Standing},
    revisions::{self, Revision},
};

/// A revision that waits for its definitions.
pub(super) struct Upcoming {
    compiled: Compiled,
    revision: Revision,
    definitions: Vec<(Kept, Task)>,
    /// The definitions, where people are to install them: that is what it waits for then.
    published: Option<String>,
    /// By definition: how it stands, as far as that was found out.
    standings: BTreeMap<String, Standing>,
    /// What people were told of it.
    told: Option<String>,
    /// Whether an earlier revision was looked for, because nothing runs.
    sought: bool,
}

impl Upcoming {
    /// By definition: what it waits for; nothing where that was not found out.
    pub(super) fn waits(&self) -> BTreeMap<&String, String> {
        let waits = self.standings.iter().filter(|(_, it)| !opens(it));
        waits.map(|(crd, it)| (crd, format!("{}: {}", self.revision.name, words(it)))).collect()
    }

    /// The definitions, where people are to install them.
    pub(super) fn published(&self) -> Option<&String> {
        self.published.as_ref()
    }

    /// For people: which revision it is, and what a human has to do something about.
    pub(super) fn status(&self) -> Value {
        let human = |it: &&Standing| matches!(it, Standing::Refused(_) | Standing::Unfit(_));
        let refused = self.standings.iter().filter(|(_, it)| human(it));
        let refused: BTreeMap<_, _> = refused.map(|(crd, it)| (crd, words(it))).collect();
        json!({ "revision": self.revision.name, "ordinal": self.revision.ordinal, "refused": refused })
    }

    /// Whether it may run. A CRD that the active revision wants just so changes nothing for it.
    fn opens(&self, active: Option<&Running>) -> bool {
        let found = |crd: &Value| {
            let name = crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let same = active.is_some_and(|it| it.drafts.get(name) == Some(&Digest::of(&[], crd)));
            same || self.standings.get(name).is_some_and(opens)
        };
        self.compiled.crds.iter().all(found)
    }

    /// What a human has to know: a CRD is refused.
    fn refused(&self) -> Option<String> {
        let refused = |(crd, it): (&String, &Standing)| match it {
            Standing::Refused(why) => Some(format!("the CRD {crd} cannot change so: {}", why.join("; "))),
            Standing::Unfit(why) => Some(format!("the CRD {crd} does not serve it: {}", why.join("; "))),
            _ => None,
        };
        let refused: Vec<_> = self.standings.iter().filter_map(refused).collect();
        let name = &self.revision.name;
        (!refused.is_empty())
            .then(|| format!("revision {name} does not become active: {}", refused.join("; ")))
    }
}

/// Whether a revision may run on a CRD. Whose kind it is another blueprint's serves nothing of it, and where nobody may read
/// the CRD the objects themselves tell.
fn opens(standing: &Standing) -> bool {
    match standing {
        Standing::Usable(_) | Standing::Wider(_) | Standing::Anothers(_) | Standing::Unseen(_) => true,
        Standing::Waiting(_) | Standing::Going(_) | Standing::Refused(_) | Standing::Unfit(_) => false,
    }
}

fn words(standing: &Standing) -> String {
    match standing {
        Standing::Usable(why) | Standing::Unfit(why) | Standing::Refused(why) | Standing::Wider(why) => {
            why.join("; ")
        }
        Standing::Waiting(why) | Standing::Going(why) | Standing::Anothers(why) | Standing::Unseen(why) => {
            why.clone()
        }
    }
}

impl Loaded {
    /// Whether a revision has nothing to wait for: it was active already, owns no kind, or there is no other one that could decide.
    fn is_active(&self, compiled: &Compiled, kept: &revisions::Kept) -> bool {
        let name = &kept.revision.name;
        let active = match &self.running {
            Some(running) => running.revision.name == *name,
            None => self.report.names(name) || kept.all.keys().all(|it| it == name),
        };
        active || compiled.crds.is_empty() || self.gone || mutant!(RefusedRuns)
    }
}

impl Hub {
    /// A revision is kept: it becomes active at once, or waits for its definitions.
    pub(super) fn activate(&mut self, name: &BlueprintName, compiled: Compiled, kept: &revisions::Kept) {
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        loaded.upcoming = None;
        if loaded.is_active(&compiled, kept) {
            self.run_revision(name, compiled, &kept.revision, None);
            return;
        }
        let revision = kept.revision.clone();
        tracing::info!(blueprint = %name, revision = revision.name, "a revision waits for its CRDs");
        let (definitions, published) = (Vec::new(), None);
        let (standings, told, sought) = (BTreeMap::new(), None, false);
        let mut upcoming = Upcoming { compiled, revision, definitions, published, standings, told, sought };
        if upcoming.opens(loaded.running.as_ref()) {
            self.run_revision(name, upcoming.compiled, &upcoming.revision, None);
            return;
        }
        upcoming.definitions = self.keep_definitions(name, &upcoming.compiled, &upcoming.revision);
        upcoming.published = self.published(name, &upcoming.compiled, &upcoming.revision);
        if let Some(loaded) = self.blueprints.get_mut(name) {
            loaded.upcoming = Some(Box::new(upcoming));
        }
        self.report_soon();
    }

    /// How it stands with a CRD of the revision that waits; false if it is another one's.
    pub(super) fn upcoming_definition(
        &mut self,
        name: &BlueprintName,
        revision: &str,
        crd: &str,
        standing: &Standing,
    ) -> bool {
        let Some(loaded) = self.blueprints.get_mut(name) else { return true };
        let Some(upcoming) = loaded.upcoming.as_deref_mut().filter(|it| it.revision.name == revision) else {
            return false;
        };
        if standing.is_unknown() {
            return true;
        }
        upcoming.standings.insert(crd.to_owned(), standing.clone());
        if upcoming.opens(loaded.running.as_ref()) {
            if let Some(upcoming) = loaded.upcoming.take() {
                let Upcoming { compiled, revision, definitions, standings, .. } = *upcoming;
                self.run_revision(name, compiled, &revision, Some(definitions));
                for (crd, standing) in standings {
                    self.definition(name, &revision.name, &crd, standing);
                }
            }
            return true;
        }
        let news = upcoming.refused().filter(|it| upcoming.told.as_ref() != Some(it));
        if let Some(message) = news {
            upcoming.told = Some(message.clone());
            tracing::warn!(blueprint = %name, message, "a revision is held back");
            let event = Told { about: None, reason: "DefinitionRefused".to_owned(), message, warning: true };
            self.beside.teller.tell(reference(&loaded.live), event);
        }
        self.find_last_active(name);
        self.report_soon();
        true
    }

    /// Nothing runs, and the revision that is there waits: the one before it decides.
    fn find_last_active(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get_mut(name).filter(|it| it.running.is_none()) else { return };
        let Some(upcoming) = loaded.upcoming.as_deref_mut() else { return };
        if std::mem::replace(&mut upcoming.sought, true) {
            return;
        }
        let before = upcoming.revision.ordinal;
        let (number, identity) = (loaded.number, live_account(&loaded.live, &name.namespace));
        self.find_last_good(name, number, &identity, Some(before));
    }
}
