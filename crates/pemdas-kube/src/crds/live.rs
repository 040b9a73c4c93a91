//! The definitions that a cluster has now.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;

use crate::connect::{Connection, Trouble};

/// How many definitions are asked for at once.
const AT_ONCE: usize = 8;
/// How long one may take, with the client's own repetitions.
const PATIENCE: Duration = Duration::from_secs(30);

/// The definitions of these names, such as `widgets.example.com`, as the cluster has them, in the order of the names; none where
/// there is no such definition. They are read as they are, with keywords that this client does not know.
///
/// # Errors
/// If the cluster does not answer, or does not let them be read.
pub async fn definitions(connection: &Connection, names: &[String]) -> Result<Vec<Option<Value>>, Trouble> {
    let resource = ApiResource::erase::<CustomResourceDefinition>(&());
    let api: Api<DynamicObject> = Api::all_with(connection.client.clone(), &resource);
    let one = |name: String| {
        let api = api.clone();
        async move {
            let asked = tokio::time::timeout(PATIENCE, api.get_opt(&name)).await;
            let found = asked
                .map_err(|_| connection.too_slow(PATIENCE))?
                .map_err(|error| connection.trouble(&error))?;
            // An object that came as JSON can be JSON again.
            Ok(found.and_then(|found| serde_json::to_value(found).ok()))
        }
    };
    futures::stream::iter(names.to_vec()).map(one).buffered(AT_ONCE).try_collect().await
}
