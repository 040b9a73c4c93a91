//! Starts the operator in the cluster of `KUBECONFIG`, or of the pod it runs in.

use kube::Client;

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    tracing_subscriber::fmt().init();
    postgres_by_hand::run(Client::try_default().await?).await;
    Ok(())
}
