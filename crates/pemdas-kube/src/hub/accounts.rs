//! Who may act as which account: a ServiceAccount says so itself, by an annotation that names the blueprints.
//!
//! For a blueprint that may not act as its account nothing is done, read or evaluated; also what has begun ends as soon as the account
//! does not name it any more. Its instances stay as they are, with their finalizers, until it may act again.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Namespace;
use pemdas_core::{
    action::Event as Told,
    rights::{
        codes::NO_CONSENT,
        consent::{BLUEPRINTS_ANNOTATION, names, refusal},
    },
    world::{Live, Sight},
};

use super::{
    Event, Hub,
    blueprints::{BlueprintName, Loaded, live_account, reference},
};
use crate::{compile::Problem, identity::Identity};

/// Whether a blueprint may act as its account.
enum Consent {
    Given,
    /// The accounts were not listed yet.
    Unknown,
    /// What is wrong, and what to do about it.
    Missing(String, String),
}

impl Hub {
    fn consent(&self, name: &BlueprintName, identity: &Identity) -> Consent {
        let Identity::Account { namespace, name: account } = identity else { return Consent::Unknown };
        let (sight, live) = self.account(namespace, account);
        let named = |it: &Live| it.annotation(BLUEPRINTS_ANNOTATION).is_some_and(|it| names(it, &name.name));
        match (live, sight) {
            // What was seen last holds while nobody tells more.
            (Some(live), _) if named(live) => Consent::Given,
            (_, Sight::Unsynced) => Consent::Unknown,
            (None, Sight::Forbidden | Sight::NoSuchKind) => Consent::Missing(
                format!(
                    "Pemdas itself may not watch ServiceAccounts, so whether {namespace}/{account} lets the blueprint act as it is not known"
                ),
                "give Pemdas `get`, `list` and `watch` on ServiceAccounts, as deploy/pemdas.yaml does"
                    .to_owned(),
            ),
            _ => {
                let (message, hint) = refusal(namespace, account, &name.name);
                Consent::Missing(message, hint)
            }
        }
    }

    /// Whether something may be done for a blueprint now. If not, nothing goes on that was begun.
    pub(super) fn may_act(&mut self, name: &BlueprintName) -> bool {
        let Some(loaded) = self.blueprints.get(name).filter(|it| !it.bereft) else { return false };
        let acts_as = loaded.identity.clone();
        let named = if loaded.gone { acts_as.clone() } else { live_account(&loaded.live, &name.namespace) };
        for account in [acts_as, named] {
            match self.consent(name, &account) {
                Consent::Given => {}
                Consent::Unknown => return false,
                Consent::Missing(message, hint) => {
                    self.withhold(name, message, hint);
                    return false;
                }
            }
        }
        true
    }

    /// Ends everything that is done for a blueprint.
    fn withhold(&mut self, name: &BlueprintName, message: String, hint: String) {
        for id in self.instances.of_blueprint(name) {
            self.end(id);
        }
        self.release(name, &BTreeSet::new());
        let Some(old) = self.blueprints.get_mut(name) else { return };
        // Writes that wait for their turn are not sent any more.
        old.flights.close();
        let identity = if old.gone { old.identity.clone() } else { live_account(&old.live, &name.namespace) };
        let mut new = Loaded::new(identity, &old.live);
        std::mem::swap(&mut new.report, &mut old.report);
        self.compilations += 1;
        new.number = self.compilations;
        (new.read, new.idle, new.withheld, new.gone) = (true, true, true, old.gone);
        let problem =
            Problem { code: NO_CONSENT.to_owned(), place: String::new(), message, hint, error: true };
        new.problems = vec![problem];
        if !old.withheld {
            tracing::warn!(blueprint = %name, "a blueprint may not act as its ServiceAccount: the operator does nothing for it");
        }
        if !new.gone && !new.report.has(&new.problems) && old.problems != new.problems {
            let text = format!("{NO_CONSENT}: {}", new.problems[0].message);
            let event =
                Told { about: None, reason: "AccountRefused".to_owned(), message: text, warning: true };
            self.beside.teller.tell(reference(&new.live), event);
        }
        *old = new;
        self.owners_changed();
        self.report_soon();
    }

    /// What an account says may be something else now.
    fn account_says(&mut self, name: &BlueprintName) {
        let Some(loaded) = self.blueprints.get(name) else { return };
        let (withheld, unread, gone) = (loaded.withheld, loaded.number == 0, loaded.gone);
        if !self.may_act(name) || !(withheld || unread) {
            return;
        }
        let Some(loaded) = self.blueprints.get_mut(name) else { return };
        (loaded.withheld, loaded.read, loaded.idle) = (false, false, false);
        loaded.problems.clear();
        tracing::info!(blueprint = %name, "a blueprint may act as its ServiceAccount");
        let (live, number, identity) = (loaded.live.clone(), loaded.number, loaded.identity.clone());
        if gone {
            self.find_last_good(name, number, &identity, None);
        } else {
            self.blueprint_seen(&live);
        }
    }

    /// The blueprints of a namespace that name an account, or act as it.
    fn users_of(&self, account: &Live) -> Vec<BlueprintName> {
        let (namespace, name) = (&account.key.namespace, &account.key.name);
        let identity = Identity::Account { namespace: namespace.clone(), name: name.clone() };
        let here = self.blueprints.range(BlueprintName::new(namespace, "")..);
        let here = here.take_while(|(it, _)| it.namespace == *namespace);
        let uses = |it: &Loaded| it.identity == identity || live_account(&it.live, namespace) == identity;
        here.filter(|(_, it)| uses(it)).map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn account_seen(&mut self, account: &Live, old: Option<&Live>) {
        let said = |it: &Live| it.annotation(BLUEPRINTS_ANNOTATION).map(str::to_owned);
        if old.is_some_and(|it| said(it) == said(account)) {
            return;
        }
        for name in self.users_of(account) {
            if let Some(loaded) = self.blueprints.get_mut(&name) {
                loaded.bereft = false;
            }
            self.account_says(&name);
        }
    }

    /// An account is gone. In a namespace that is ending that says nothing: what runs there takes its finalizers off, so that it ends.
    pub(super) fn account_gone(&mut self, account: &Live) {
        for name in self.users_of(account) {
            let Some(loaded) = self.blueprints.get_mut(&name) else { continue };
            if loaded.running.is_none() || loaded.bereft {
                self.account_says(&name);
                continue;
            }
            loaded.bereft = true;
            let api: kube::Api<Namespace> = kube::Api::all(self.clients.own());
            let post = self.post.clone();
            tokio::spawn(async move {
                let found = api.get_opt(&name.namespace).await;
                let ends = found.is_ok_and(|it| it.is_none_or(|it| it.metadata.deletion_timestamp.is_some()));
                let _ended = post.send(Event::Bereft(name, ends)).await;
            });
        }
    }

    /// The account of a blueprint is gone, and its namespace goes too or stays.
    pub(super) fn is_bereft(&mut self, name: &BlueprintName, ends: bool) {
        let Some(loaded) = self.blueprints.get_mut(name).filter(|it| it.bereft) else { return };
        loaded.bereft = ends;
        if !ends {
            self.account_says(name);
        }
    }

    /// All accounts are known now, or nobody may list them.
    pub(super) fn accounts_listed(&mut self) {
        let names: Vec<_> = self.blueprints.keys().cloned().collect();
        names.iter().for_each(|it| self.account_says(it));
    }
}
