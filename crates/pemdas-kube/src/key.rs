//! The keys of an installation, kept in Secrets of the operator's own namespace: one for digests, one for seals.
//!
//! They are two, because a person who plans may be shown the first one: digests keep values from being guessed. Who has the second
//! one can write claims and ledgers that Pemdas believes, so only the operator reads it, and `pemdas orphans` for those who may.
//!
//! *The accident*: the operator's namespace is deleted and applied again. A new key is made, nothing that is remembered fits any
//! more, and every one-off runs again: a database is restored over a newer one.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube::{
    Api, Client,
    api::{ListParams, ObjectMeta, PartialObjectMeta, PostParams},
};
use pemdas_core::world::Seal;

use crate::{
    hub::{BLUEPRINT_FINALIZER, BLUEPRINT_LABEL},
    ledgers::LEDGER_LABEL,
};

/// The Secret with the key of the digests.
pub const DIGESTS: &str = "pemdas-key";
/// The Secret with the keys of the seals: `key` seals, and every other field is an older key that still verifies.
pub const SEALS: &str = "pemdas-seal";
const FIELD: &str = "key";
/// The shortest key that is taken.
const SHORTEST: usize = 16;
/// How many objects are listed at once.
const PAGE: u32 = 500;

/// The keys.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Of the digests.
    pub digests: Vec<u8>,
    /// Of the seals.
    pub seal: Seal,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum NoKey {
    /// It can be neither read nor made.
    #[error("the key of the operator in the Secret {namespace}/{name} can be neither read nor made: {why}")]
    Refused {
        /// The namespace.
        namespace: String,
        /// The Secret.
        name: &'static str,
        /// What the server said.
        why: String,
    },
    /// There was one: something that was made with it is still there.
    #[error("the Secret {namespace}/{name} is missing, and {trace} was made with its key")]
    Lost {
        /// The namespace.
        namespace: String,
        /// The Secret.
        name: &'static str,
        /// What needs it.
        trace: String,
    },
    /// The system gives no randomness.
    #[error("the system gives no randomness: {0}")]
    NoRandomness(String),
}

/// Reads the keys, or makes those that are missing where nothing was made with them yet. Of two that make one at once, one finds the
/// other's. An empty Secret is how a person says that a new key is to be made.
///
/// # Errors
/// If a key can be neither read nor made, or has to be restored.
pub async fn read_or_make(client: &Client, namespace: &str, of: &BTreeSet<String>) -> Result<Keys, NoKey> {
    let store = Store { client, namespace, of };
    let digests = store.read_or_make(DIGESTS).await?;
    let seals = store.read_or_make(SEALS).await?;
    let first = digests.into_iter().next().map(|(_, key)| key).unwrap_or_default();
    Ok(Keys { digests: first, seal: Seal::with(seals.into_iter().map(|(_, key)| key).collect()) })
}

/// Reads the key of the digests where there is one.
pub(crate) async fn look(client: &Client, namespace: &str) -> Option<Vec<u8>> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = api.get_opt(DIGESTS).await.ok().flatten()?;
    read(secret).into_iter().next().map(|(_, key)| key)
}

/// Reads the keys of the seals; without them, nothing is verified.
pub(crate) async fn look_for_seals(client: &Client, namespace: &str) -> Seal {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let keys = api.get_opt(SEALS).await.ok().flatten().map(read).unwrap_or_default();
    if keys.is_empty() {
        Seal::Unverified
    } else {
        Seal::with(keys.into_iter().map(|(_, key)| key).collect())
    }
}

/// Where the keys are, and the namespaces that are worked for; none means all.
struct Store<'s> {
    client: &'s Client,
    namespace: &'s str,
    of: &'s BTreeSet<String>,
}

impl Store<'_> {
    async fn read_or_make(&self, name: &'static str) -> Result<Vec<(String, Vec<u8>)>, NoKey> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), self.namespace);
        let refused = |error: kube::Error| self.refused(name, &error);
        let found = api.get_opt(name).await.map_err(refused)?;
        let keys = found.clone().map(read).unwrap_or_default();
        if !keys.is_empty() {
            return Ok(keys);
        }
        if found.is_none()
            && let Some(trace) = self.trace().await.map_err(refused)?
        {
            return Err(NoKey::Lost { namespace: self.namespace.to_owned(), name, trace });
        }
        let mut key = vec![0; 32];
        getrandom::fill(&mut key).map_err(|error| NoKey::NoRandomness(error.to_string()))?;
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                // Over the empty one that was seen, or as a new one.
                resource_version: found.as_ref().and_then(|it| it.metadata.resource_version.clone()),
                ..ObjectMeta::default()
            },
            data: Some([(FIELD.to_owned(), ByteString(STANDARD.encode(&key).into_bytes()))].into()),
            ..Secret::default()
        };
        let made = match found {
            None => api.create(&PostParams::default(), &secret).await,
            Some(_) => api.replace(name, &PostParams::default(), &secret).await,
        };
        match made {
            Ok(made) => Ok(read(made)),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                Ok(read(api.get(name).await.map_err(refused)?))
            }
            Err(error) => Err(refused(error)),
        }
    }

    fn refused(&self, name: &'static str, error: &kube::Error) -> NoKey {
        NoKey::Refused { namespace: self.namespace.to_owned(), name, why: error.to_string() }
    }

    /// Something that was made with the keys: a ledger, or a blueprint that is held because it has instances.
    async fn trace(&self) -> Result<Option<String>, kube::Error> {
        let places: Vec<Option<&str>> = match self.of.is_empty() {
            true => vec![None],
            false => self.of.iter().map(|it| Some(it.as_str())).collect(),
        };
        for place in places {
            let ledgers: Api<Secret> = self.api(place);
            let one = ListParams::default().labels(LEDGER_LABEL).limit(1);
            if let Some(found) = ledgers.list_metadata(&one).await?.items.first() {
                return Ok(Some(told("ledger", found)));
            }
            let blueprints: Api<ConfigMap> = self.api(place);
            let mut page = ListParams::default().labels(BLUEPRINT_LABEL).limit(PAGE);
            loop {
                let list = blueprints.list_metadata(&page).await?;
                let held = |it: &&PartialObjectMeta<ConfigMap>| {
                    let finalizers = it.metadata.finalizers.as_deref().unwrap_or_default();
                    finalizers.iter().any(|it| it == BLUEPRINT_FINALIZER)
                };
                if let Some(found) = list.items.iter().find(held) {
                    return Ok(Some(told("instance of the blueprint", found)));
                }
                match list.metadata.continue_.filter(|it| !it.is_empty()) {
                    Some(next) => page = page.continue_token(&next),
                    None => break,
                }
            }
        }
        Ok(None)
    }

    fn api<K>(&self, place: Option<&str>) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        match place {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }
}

fn told<K>(what: &str, found: &PartialObjectMeta<K>) -> String {
    let text = |it: &Option<String>| it.clone().unwrap_or_default();
    format!("the {what} {}/{}", text(&found.metadata.namespace), text(&found.metadata.name))
}

/// The keys in a Secret; the one that is in use first.
fn read(secret: Secret) -> Vec<(String, Vec<u8>)> {
    let data: BTreeMap<_, _> = secret.data.unwrap_or_default();
    let decoded = |(name, ByteString(text)): (String, ByteString)| {
        Some((name, STANDARD.decode(text).ok().filter(|it| it.len() >= SHORTEST)?))
    };
    let mut keys: Vec<_> = data.into_iter().filter_map(decoded).collect();
    keys.sort_by_key(|(name, _)| (name != FIELD, name.clone()));
    // Older keys alone would seal with one that was given up.
    if keys.first().is_some_and(|(name, _)| name == FIELD) { keys } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use k8s_openapi::{ByteString, api::core::v1::Secret};

    use super::read;

    fn secret(fields: &[(&str, &[u8])]) -> Secret {
        let data: BTreeMap<_, _> = fields
            .iter()
            .map(|(name, key)| ((*name).to_owned(), ByteString(STANDARD.encode(key).into_bytes())))
            .collect();
        Secret { data: Some(data), ..Secret::default() }
    }

    #[test]
    fn the_key_in_use_comes_first_and_older_ones_after_it() {
        let names = |it: Secret| read(it).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let long: &[u8] = &[1; 32];
        assert_eq!(
            names(secret(&[("a-2025", long), ("key", long), ("z-2024", long)])),
            ["key", "a-2025", "z-2024"]
        );
        assert_eq!(names(secret(&[("key", long), ("short", &[1; 8])])), ["key"]);
        assert!(names(secret(&[("a-2025", long)])).is_empty());
        assert!(names(Secret::default()).is_empty());
    }
}
