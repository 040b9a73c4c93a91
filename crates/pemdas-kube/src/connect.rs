//! A client for the cluster that a person or a pod means, chosen as kubectl chooses it.
//!
//! What goes wrong on the way is told in words that name the server and the cure. Texts of the files that were read
//! are never part of them: a kubeconfig holds credentials.

use std::path::PathBuf;
use std::time::Duration;

pub use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{
    Config,
    client::{Body, ClientBuilder},
};
use tower::{BoxError, Layer as _, Service};

use crate::metrics::{CountRequests, Metrics};

/// How long a connection may take.
const TO_CONNECT: Duration = Duration::from_secs(10);

/// Which cluster is meant: as with kubectl, flags before `KUBECONFIG` before `~/.kube/config` before the pod that this runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// A file to read instead of the usual ones.
    pub kubeconfig: Option<PathBuf>,
    /// A context of it, instead of its current one.
    pub context: Option<String>,
}

/// A cluster to talk to.
#[derive(Clone)]
pub struct Connection {
    /// The client.
    pub client: Client,
    /// The address of its API server, for messages.
    pub server: String,
    /// The namespace that is meant where none is given.
    pub namespace: String,
}

/// Why a cluster cannot be talked to, or why it did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Nothing says which cluster is meant.
    #[error("there is no kubeconfig, and this runs in no pod: no cluster is known")]
    NoCluster,
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig cannot be used: {0}")]
    Kubeconfig(String),
    /// Nobody answers there.
    #[error("no cluster answers at {server}: {why}")]
    NoAnswer {
        /// The address.
        server: String,
        /// What was seen instead.
        why: String,
    },
    /// The cluster does not know who asks.
    #[error("{server} does not accept the credentials of the kubeconfig")]
    Unauthorized {
        /// The address.
        server: String,
    },
    /// The one who asks may not.
    #[error("{server} does not allow it: {why}")]
    Forbidden {
        /// The address.
        server: String,
        /// Who may not do what.
        why: String,
    },
    /// The cluster refuses what it was asked.
    #[error("{server} answers {code}: {why}")]
    Refused {
        /// The address.
        server: String,
        /// The status code.
        code: u16,
        /// Its reason.
        why: String,
    },
}

impl Trouble {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoCluster => "set KUBECONFIG, or give --kubeconfig FILE",
            Self::Kubeconfig(_) => {
                "`kubectl config view` shows what kubectl reads; --context chooses another context"
            }
            Self::NoAnswer { .. } => {
                "is the cluster up, and is this the context that you mean? `kubectl cluster-info` asks the same server"
            }
            Self::Unauthorized { .. } => "log in again: the credentials are wrong or have expired",
            Self::Forbidden { .. } => {
                "ask an administrator of the cluster for the permission that the message names"
            }
            Self::Refused { .. } => "the message is the API server's own",
        }
    }
}

/// A client for a cluster. Nothing is asked of it yet: that it does not answer is seen by the first call.
///
/// # Errors
/// If no cluster is known, or the kubeconfig cannot be used.
pub async fn connect(target: &Target) -> Result<Connection, Trouble> {
    connection(config(target).await?, Client::try_from)
}

/// A client for the operator: every request is counted, and none is repeated by the client itself, because what a
/// refusal means is judged elsewhere.
///
/// # Errors
/// If no cluster is known, or the kubeconfig cannot be used.
pub async fn connect_counted(target: &Target, metrics: &Metrics) -> Result<Connection, Trouble> {
    let mut config = config(target).await?;
    config.default_retry = false;
    connection(config, |config| {
        Ok(ClientBuilder::try_from(config)?.with_layer(&CountRequests(metrics.clone())).build())
    })
}

/// A client of the operator over a service in this process, such as a simulated cluster.
pub fn over<S, B>(service: S, metrics: &Metrics) -> Connection
where
    S: Service<http::Request<Body>, Response = http::Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = hyper::body::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let namespace = "default".to_owned();
    let client = Client::new(CountRequests(metrics.clone()).layer(service), namespace.clone());
    Connection { client, server: "a cluster in this process".to_owned(), namespace }
}

fn connection(
    mut config: Config,
    client: impl FnOnce(Config) -> kube::Result<Client>,
) -> Result<Connection, Trouble> {
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let namespace = config.default_namespace.clone();
    config.connect_timeout = Some(TO_CONNECT);
    let client = client(config).map_err(|error| Trouble::Kubeconfig(innermost(&error)))?;
    Ok(Connection { client, server, namespace })
}

/// The names of the contexts of a kubeconfig, or of the one that is meant without a name; none if it cannot be read.
#[must_use]
pub fn contexts(kubeconfig: Option<&std::path::Path>) -> Vec<String> {
    let read = kubeconfig.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    read.map(|it| it.contexts.into_iter().map(|it| it.name).collect()).unwrap_or_default()
}

async fn config(target: &Target) -> Result<Config, Trouble> {
    let options = KubeConfigOptions { context: target.context.clone(), ..KubeConfigOptions::default() };
    let kubeconfig = match &target.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => match Kubeconfig::read() {
            // Only a file that is not there lets the pod speak: a broken one is the person's to mend.
            Err(error) if is_missing(&error) && target.context.is_none() => {
                return Config::incluster().map_err(|_| Trouble::NoCluster);
            }
            other => other,
        },
    };
    let kubeconfig = kubeconfig.map_err(|error| unusable(&error))?;
    Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| unusable(&error))
}

fn is_missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        // A file that somebody named in KUBECONFIG was meant.
        KubeconfigError::ReadConfig(why, _) => {
            why.kind() == std::io::ErrorKind::NotFound
                && std::env::var_os("KUBECONFIG").is_none_or(|it| it.is_empty())
        }
        _ => false,
    }
}

fn unusable(error: &KubeconfigError) -> Trouble {
    Trouble::Kubeconfig(match error {
        KubeconfigError::ReadConfig(why, path) => format!("{}: {why}", path.display()),
        // The parser quotes what it read.
        KubeconfigError::Parse(_) => "it is no YAML of the form that kubectl reads".to_owned(),
        KubeconfigError::LoadContext(name) => format!("it has no context \"{name}\""),
        KubeconfigError::LoadClusterOfContext(name) => format!("it has no cluster \"{name}\""),
        KubeconfigError::CurrentContextNotSet => "it has no current context".to_owned(),
        other => other.to_string(),
    })
}

impl Connection {
    /// What an error of a call means.
    #[must_use]
    pub fn trouble(&self, error: &kube::Error) -> Trouble {
        let server = self.server.clone();
        match error {
            kube::Error::Api(status) => match status.code {
                401 => Trouble::Unauthorized { server },
                403 => Trouble::Forbidden { server, why: status.message.clone() },
                code => Trouble::Refused { server, code, why: status.message.clone() },
            },
            other => Trouble::NoAnswer { server, why: innermost(other) },
        }
    }

    /// That a call took too long.
    #[must_use]
    pub fn too_slow(&self, waited: Duration) -> Trouble {
        Trouble::NoAnswer {
            server: self.server.clone(),
            why: format!("nothing within {} s", waited.as_secs()),
        }
    }
}

/// The first cause of an error: the layers above it say only that there was one.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{Target, Trouble, connect};

    /// What is told about a kubeconfig.
    async fn told(text: &str, context: Option<&str>) -> String {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let target =
            Target { kubeconfig: Some(file.path().to_owned()), context: context.map(ToOwned::to_owned) };
        match connect(&target).await {
            Ok(connection) => connection.server,
            Err(trouble) => trouble.to_string(),
        }
    }

    const GOOD: &str = r#"
apiVersion: v1
kind: Config
current-context: here
contexts: [{ name: here, context: { cluster: one, user: me, namespace: mine } }]
clusters: [{ name: one, cluster: { server: "http://127.0.0.1:1" } }]
users: [{ name: me, user: { token: very-secret } }]
"#;

    #[tokio::test]
    async fn a_kubeconfig_is_read_as_kubectl_reads_it() {
        assert_eq!(told(GOOD, None).await, "http://127.0.0.1:1");
        assert_eq!(
            told(GOOD, Some("there")).await,
            "the kubeconfig cannot be used: it has no context \"there\""
        );
        let without = GOOD.replace("current-context: here", "");
        assert_eq!(told(&without, None).await, "the kubeconfig cannot be used: it has no current context");
    }

    #[tokio::test]
    async fn what_a_broken_kubeconfig_holds_is_not_told() {
        let broken = format!("{GOOD}\n  : [very-secret");
        let said = told(&broken, None).await;
        assert!(said.starts_with("the kubeconfig cannot be used"), "{said}");
        assert!(!said.contains("very-secret"), "{said}");
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_named() {
        let target = Target { kubeconfig: Some("/no/such/file".into()), context: None };
        let Err(trouble) = connect(&target).await else { panic!("it was found") };
        assert!(
            matches!(&trouble, Trouble::Kubeconfig(why) if why.starts_with("/no/such/file: ")),
            "{trouble}"
        );
    }

    #[tokio::test]
    async fn nobody_answers() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(GOOD.as_bytes()).unwrap();
        let target = Target { kubeconfig: Some(file.path().to_owned()), context: None };
        let connection = connect(&target).await.unwrap();
        assert_eq!(connection.namespace, "mine");
        let error = connection.client.apiserver_version().await.unwrap_err();
        let trouble = connection.trouble(&error);
        assert!(matches!(&trouble, Trouble::NoAnswer { .. }), "{trouble}");
        assert!(trouble.to_string().contains("http://127.0.0.1:1"), "{trouble}");
    }
}
