//! Reading and writing objects.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::ApiResource,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    error::{Error, found},
    kinds::{self, Backup, Instance},
};

/// Who writes.
const MANAGER: &str = "postgres-by-hand";

pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) instances: ApiResource,
    pub(crate) backups: ApiResource,
}

impl Cluster {
    pub(crate) fn new(client: Client) -> Self {
        let (instances, backups) = (kinds::resource("PostgresInstance"), kinds::resource("PostgresBackup"));
        Self { client, instances, backups }
    }

    pub(crate) fn instances(&self, namespace: &str) -> Api<Instance> {
        Api::namespaced_with(self.client.clone(), namespace, &self.instances)
    }

    pub(crate) fn backups(&self, namespace: &str) -> Api<Backup> {
        Api::namespaced_with(self.client.clone(), namespace, &self.backups)
    }

    pub(crate) async fn get<K>(&self, namespace: &str, name: &str) -> Result<Option<K>, Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        Ok(found(Api::<K>::namespaced(self.client.clone(), namespace).get(name).await)?)
    }

    /// Server-side apply: what others set in the object stays.
    pub(crate) async fn apply<K>(&self, namespace: &str, object: &Value) -> Result<K, Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let api = Api::<K>::namespaced(self.client.clone(), namespace);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Ok(api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(object)).await?)
    }

    /// What is there, or what is made now. For objects that must not change any more.
    pub(crate) async fn ensure<K>(&self, namespace: &str, object: &Value) -> Result<K, Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        let api = Api::<K>::namespaced(self.client.clone(), namespace);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if let Some(there) = found(api.get(name).await)? {
            return Ok(there);
        }
        let made = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
        Ok(api.create(&PostParams::default(), &made).await?)
    }

    /// Deletes an object; whether it is gone.
    pub(crate) async fn delete<K>(&self, namespace: &str, name: &str) -> Result<bool, Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let api = Api::<K>::namespaced(self.client.clone(), namespace);
        Ok(found(api.delete(name, &DeleteParams::foreground()).await)?.is_none())
    }

    /// Writes a status if it is another one: a write for nothing would lead here again.
    pub(crate) async fn status<K, S>(
        &self,
        api: &Api<K>,
        name: &str,
        before: Option<&S>,
        now: &S,
    ) -> Result<(), Error>
    where
        K: Clone + Debug + DeserializeOwned,
        S: PartialEq + Serialize,
    {
        if before != Some(now) {
            let patch = json!({ "status": now });
            api.patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        }
        Ok(())
    }
}
