//! What is kept of objects that anybody may make: each is looked at before the next page of a list is read.
//!
//! *The accident*: somebody makes two hundred ConfigMaps of a megabyte with the label of a blueprint, or Secrets with that of a ledger, and the
//! operator holds all of them until its memory is used up.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pemdas_core::{
    packed::Packed,
    rights::consent::{BLUEPRINTS_ANNOTATION, MAX_BLUEPRINTS as MAX_CONSENT},
    world::{LedgerFact, Live, ObjectKey, Seal},
};
use serde_json::{Value, json};

use crate::{
    ledgers::{self, LEDGER_LABEL},
    limits::Limits,
};

/// How many objects one page of a list has that is to be looked through.
const PAGE: u32 = 25;
/// The same of ServiceAccounts, of which only metadata is read.
const PAGE_OF_ACCOUNTS: u32 = 200;
/// The same of all other lists.
const WHOLE_PAGE: u32 = 2_000;
/// What stands in the body of a blueprint that is too much.
const TOO_MUCH: &str = "tooMuch";

/// What comes in.
#[derive(Debug, Clone, Default)]
pub enum Door {
    /// Everything, as it is.
    #[default]
    Open,
    /// Of ServiceAccounts: which blueprints they name.
    Accounts,
    /// Ledgers that Pemdas wrote; of others, that they are there.
    Ledgers(Seal),
    /// Blueprints, as many as one namespace may have; of others, that they are there.
    Blueprints(Shares),
}

/// What the namespaces have. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Shares(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    limits: Limits,
    /// By namespace and name: bytes.
    kept: BTreeMap<String, BTreeMap<String, usize>>,
    refused: BTreeMap<String, BTreeSet<String>>,
    /// Whether something became free that somebody was refused.
    freed: bool,
}

impl Counted {
    /// Whether a blueprint may be kept, which has so many bytes.
    fn admit(&mut self, namespace: &str, name: &str, bytes: usize) -> bool {
        let kept = self.kept.entry(namespace.to_owned()).or_default();
        let before = kept.remove(name);
        let Limits { blueprints, blueprint_bytes, .. } = self.limits;
        let room =
            kept.len() < blueprints && kept.values().sum::<usize>().saturating_add(bytes) <= blueprint_bytes;
        let refused = self.refused.entry(namespace.to_owned()).or_default();
        if room {
            kept.insert(name.to_owned(), bytes);
            refused.remove(name);
        } else {
            refused.insert(name.to_owned());
        }
        let fewer = before.is_some_and(|it| !room || it > bytes);
        self.freed |= fewer && refused.iter().any(|it| it != name);
        self.tidy(namespace);
        room
    }

    fn gone(&mut self, namespace: &str, name: &str) {
        let had = self.kept.get_mut(namespace).and_then(|it| it.remove(name)).is_some();
        if let Some(refused) = self.refused.get_mut(namespace) {
            refused.remove(name);
            self.freed |= had && !refused.is_empty();
        }
        self.tidy(namespace);
    }

    fn tidy(&mut self, namespace: &str) {
        if self.kept.get(namespace).is_some_and(BTreeMap::is_empty) {
            self.kept.remove(namespace);
        }
        if self.refused.get(namespace).is_some_and(BTreeSet::is_empty) {
            self.refused.remove(namespace);
        }
    }
}

impl Door {
    /// How many objects are read at once.
    #[must_use]
    pub fn page(&self) -> u32 {
        match self {
            Self::Open => WHOLE_PAGE,
            Self::Accounts => PAGE_OF_ACCOUNTS,
            Self::Ledgers(_) | Self::Blueprints(_) => PAGE,
        }
    }

    /// What is kept of an object.
    #[must_use]
    pub fn admit(&self, live: Live) -> Live {
        match self {
            Self::Open => live,
            Self::Accounts => {
                let value = live.annotation(BLUEPRINTS_ANNOTATION).filter(|it| it.len() <= MAX_CONSENT);
                let annotations = value.map(|it| json!({ BLUEPRINTS_ANNOTATION: it })).unwrap_or_default();
                slim(live, json!({ "metadata": { "annotations": annotations } }))
            }
            Self::Ledgers(seal) => match ledgers::read(&live, seal) {
                LedgerFact::Present { .. } => live,
                _ => {
                    let label = live.label(LEDGER_LABEL).map(str::to_owned);
                    slim(live, json!({ "metadata": { "labels": { LEDGER_LABEL: label } } }))
                }
            },
            Self::Blueprints(shares) => {
                if shares.counted().admit(&live.key.namespace, &live.key.name, size(&live)) {
                    return live;
                }
                let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, TOO_MUCH: true });
                slim(live, body)
            }
        }
    }

    /// An object is gone.
    pub fn gone(&self, key: &ObjectKey) {
        if let Self::Blueprints(shares) = self {
            shares.counted().gone(&key.namespace, &key.name);
        }
    }

    /// Whether something that was refused may be kept now: told once.
    #[must_use]
    pub fn has_room_again(&self) -> bool {
        match self {
            Self::Blueprints(shares) => std::mem::take(&mut shares.counted().freed),
            _ => false,
        }
    }
}

impl Shares {
    /// Of so much.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Mutex::new(Counted { limits, ..Counted::default() })))
    }

    /// A panic while it was held has left it whole: every change to it is a single step.
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a blueprint is not kept, because its namespace has too many or too large ones.
#[must_use]
pub fn is_too_much(live: &Live) -> bool {
    live.body.get(TOO_MUCH).is_some()
}

fn slim(live: Live, body: Value) -> Live {
    let finalizers = live.finalizers.into_iter().filter(|it| it.starts_with("pemdas.dev/")).collect();
    Live { finalizers, managed: Packed::default(), body: body.into(), ..live }
}

/// How many bytes an object has as text.
fn size(live: &Live) -> usize {
    serde_json::to_vec(&*live.body).map_or(usize::MAX, |it| it.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use pemdas_core::{
        ledger::Ledger,
        world::{KindKey, LedgerFact, Seal},
    };
    use serde_json::{Value, json};

    use super::{Counted, Door, Limits, Live, Shares, is_too_much, size};
    use crate::{ledgers, live};

    const MAX_BLUEPRINTS: usize = 20;
    const MAX_BYTES: usize = 8 << 20;

    fn limits() -> Limits {
        Limits { blueprints: MAX_BLUEPRINTS, blueprint_bytes: MAX_BYTES, ..Limits::default() }
    }

    fn counted() -> Counted {
        Counted { limits: limits(), ..Counted::default() }
    }

    fn object(kind: &str, name: &str, more: &Value) -> Live {
        let mut body = json!({ "metadata": {
            "name": name, "namespace": "n", "uid": "u", "resourceVersion": "1",
            "labels": { "pemdas.dev/ledger": "i" }, "annotations": { "large": "x".repeat(1_000) },
        } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        live::live(&KindKey::new("v1", kind), body).unwrap()
    }

    #[test]
    fn a_namespace_has_so_many_blueprints_and_so_many_bytes() {
        let mut counted = counted();
        assert!((0..MAX_BLUEPRINTS).all(|it| counted.admit("n", &it.to_string(), 1)));
        assert!(!counted.admit("n", "more", 1) && counted.admit("other", "more", 1));
        assert!(counted.admit("n", "7", MAX_BYTES / 2), "one that is kept may grow");
        assert!(!counted.admit("n", "8", MAX_BYTES / 2 + 1));
        let kept: BTreeSet<_> = counted.kept["n"].keys().cloned().collect();
        assert!(!kept.contains("8") && kept.len() == MAX_BLUEPRINTS - 1);
    }

    #[test]
    fn what_becomes_free_is_told_where_somebody_waits_for_it() {
        let mut counted = counted();
        let freed = |counted: &mut Counted| std::mem::take(&mut counted.freed);
        assert!(counted.admit("n", "a", MAX_BYTES) && !counted.admit("n", "b", 1));
        assert!(!freed(&mut counted));
        assert!(counted.admit("n", "a", 10), "it shrinks");
        assert!(freed(&mut counted));
        assert!(counted.admit("n", "b", 1) && !freed(&mut counted));
        counted.gone("n", "a");
        counted.gone("n", "b");
        assert!(!freed(&mut counted), "nobody waits");
        assert!(counted.kept.is_empty() && counted.refused.is_empty());
        assert!(counted.admit("n", "a", MAX_BYTES) && !counted.admit("n", "b", 1));
        counted.gone("n", "a");
        assert!(freed(&mut counted) && counted.admit("n", "b", 1));
    }

    #[test]
    fn of_what_is_too_much_hardly_anything_is_kept() {
        let door = Door::Blueprints(Shares::new(limits()));
        let large =
            |name: &str| object("ConfigMap", name, &json!({ "data": { "main.ncl": "x".repeat(1_000_000) } }));
        let kept: Vec<_> = (0..200).map(|it| door.admit(large(&it.to_string()))).collect();
        assert!(kept.iter().map(size).sum::<usize>() <= MAX_BYTES + 200 * 100);
        assert_eq!(kept.iter().filter(|it| !is_too_much(it)).count(), 8);
        assert!(!door.has_room_again());
        door.gone(&kept[0].key);
        assert!(door.has_room_again() && !door.has_room_again());
    }

    #[test]
    fn of_a_ledger_that_pemdas_did_not_write_nothing_is_kept_but_that_it_is_there() {
        let seal = Seal::with(vec![vec![1; 32]]);
        let door = Door::Ledgers(seal.clone());
        let forged =
            object("Secret", "pemdas-ledger-i", &json!({ "data": { "ledger": "e30=".repeat(100_000) } }));
        let kept = door.admit(forged);
        assert!(kept.body.get("data").is_none() && kept.body.pointer("/metadata/annotations").is_none());
        assert_eq!(ledgers::read(&kept, &seal), LedgerFact::Unreadable);
        assert!(ledgers::place(&kept).is_some(), "it stands where a ledger is to be");
        let text = serde_json::to_string(&Ledger::default()).unwrap();
        let made = seal.of_ledger("n", "i", &text);
        let data = json!({ "ledger": STANDARD.encode(&text), "seal": STANDARD.encode(&made) });
        let genuine = object("Secret", "pemdas-ledger-i", &json!({ "data": data }));
        assert!(matches!(ledgers::read(&door.admit(genuine), &seal), LedgerFact::Present { .. }));
    }

    #[test]
    fn of_an_account_is_kept_which_blueprints_it_names() {
        let named = object("ServiceAccount", "a", &json!({}));
        let kept = Door::Accounts.admit(named);
        assert!(size(&kept) < 100);
        let mut named = json!({ "metadata": {
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1",
            "annotations": { "pemdas.dev/blueprints": "x", "large": "y" },
        } });
        let account = |body: &Value| live::live(&KindKey::new("v1", "ServiceAccount"), body.clone()).unwrap();
        assert_eq!(Door::Accounts.admit(account(&named)).annotation("pemdas.dev/blueprints"), Some("x"));
        named["metadata"]["annotations"]["pemdas.dev/blueprints"] = json!("x".repeat(100_000));
        assert_eq!(Door::Accounts.admit(account(&named)).annotation("pemdas.dev/blueprints"), None);
    }
}
