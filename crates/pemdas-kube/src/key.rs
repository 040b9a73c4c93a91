//! The key of the digests: made once for an installation, kept in a Secret of the operator's own namespace.

use base64::Engine as _;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};

/// The Secret.
const NAME: &str = "pemdas-key";
const FIELD: &str = "key";

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum NoKey {
    /// It can be neither read nor made.
    #[error("the key of the operator in the Secret {namespace}/{NAME} can be neither read nor made: {why}")]
    Refused {
        /// The namespace.
        namespace: String,
        /// What the server said.
        why: String,
    },
    /// The system gives no randomness.
    #[error("the system gives no randomness: {0}")]
    NoRandomness(String),
}

/// Reads the key, or makes it. Of two that make it at once, one finds the other's.
///
/// # Errors
/// If it can be neither read nor made.
pub async fn read_or_make(client: &Client, namespace: &str) -> Result<Vec<u8>, NoKey> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let refused =
        |error: kube::Error| NoKey::Refused { namespace: namespace.to_owned(), why: error.to_string() };
    if let Some(key) = api.get_opt(NAME).await.map_err(refused)?.and_then(read) {
        return Ok(key);
    }
    let mut key = vec![0; 32];
    getrandom::fill(&mut key).map_err(|error| NoKey::NoRandomness(error.to_string()))?;
    let text = base64::engine::general_purpose::STANDARD.encode(&key);
    let secret = Secret {
        metadata: ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() },
        data: Some([(FIELD.to_owned(), ByteString(text.into_bytes()))].into()),
        ..Secret::default()
    };
    match api.create(&PostParams::default(), &secret).await {
        Ok(made) => Ok(read(made).unwrap_or(key)),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            Ok(api.get(NAME).await.map_err(refused)?.clone()).map(|it| read(it).unwrap_or_default())
        }
        Err(error) => Err(refused(error)),
    }
}

/// Reads the key where there is one.
pub(crate) async fn look(client: &Client, namespace: &str) -> Option<Vec<u8>> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    api.get_opt(NAME).await.ok().flatten().and_then(read)
}

fn read(secret: Secret) -> Option<Vec<u8>> {
    let ByteString(text) = secret.data?.remove(FIELD)?;
    base64::engine::general_purpose::STANDARD.decode(text).ok().filter(|it| it.len() >= 16)
}
