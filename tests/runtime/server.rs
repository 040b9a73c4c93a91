//! One control plane for all tests of this program: each takes a namespace of its own.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Config,
    api::{ObjectMeta, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use pemdas_testbed::{Cluster, Level};

/// Nothing that is waited for takes so long, on any machine: whoever waits longer has found a fault.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(Level::ControlPlane).unwrap())
}

/// A client as the admin. Every test has a runtime of its own, so each has its own client.
pub(crate) async fn client() -> Client {
    let file = tokio::task::spawn_blocking(|| cluster().kubeconfig().to_owned()).await.unwrap();
    client_with(&file).await
}

/// The same of another cluster.
pub(crate) async fn client_of(cluster: &Cluster) -> Client {
    client_with(cluster.kubeconfig()).await
}

async fn client_with(kubeconfig: &std::path::Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// A fresh namespace.
pub(crate) async fn namespace(client: &Client, about: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{about}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
    let body = Namespace { metadata, ..Namespace::default() };
    Api::all(client.clone()).create(&PostParams::default(), &body).await.unwrap();
    name
}

/// Waits until something is there. What never comes is a failure that says what was waited for.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, found).await.unwrap_or_else(|_| panic!("{what}: it never came"))
}

/// A client whose way to the API server can be shut: what is sent then gets no answer, as when a network falls silent.
pub(crate) async fn gated_client() -> (Client, tokio::sync::watch::Sender<bool>) {
    use tokio::io::copy_bidirectional;
    use tokio::net::{TcpListener, TcpStream};
    let server: http::Uri = cluster().server().parse().unwrap();
    let behind = format!("127.0.0.1:{}", server.port_u16().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (shut, is_shut) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (behind, mut is_shut) = (behind.clone(), is_shut.clone());
            tokio::spawn(async move {
                if *is_shut.borrow() {
                    return std::future::pending::<()>().await;
                }
                let mut far = TcpStream::connect(behind).await.unwrap();
                let fell_silent = tokio::select! {
                    _ = copy_bidirectional(&mut near, &mut far) => false,
                    shut = is_shut.wait_for(|it| *it) => shut.is_ok(),
                };
                if fell_silent {
                    // Both ends stay open, and nothing goes through.
                    std::future::pending::<()>().await;
                }
            });
        }
    });
    let mut kubeconfig = Kubeconfig::read_from(cluster().kubeconfig()).unwrap();
    for named in &mut kubeconfig.clusters {
        if let Some(it) = &mut named.cluster {
            it.server = Some(format!("https://127.0.0.1:{port}"));
        }
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    (Client::try_from(config).unwrap(), shut)
}
