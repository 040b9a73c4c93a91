//! Reports that an object of a kind has changed, and not how: the caller reads the objects again.
//!
//! Only metadata is watched, and a watch that ends begins again with a list: what happened in between counts as a change.

use std::{pin::pin, time::Duration};

use futures::StreamExt as _;
use kube::{
    Api,
    api::{DynamicObject, ListParams, WatchEvent, WatchParams},
};

use super::Survey;
use crate::{connect::Trouble, resource::Resource};

/// How long before a watch that failed is tried again.
const PAUSE: Duration = Duration::from_secs(2);
/// How long a watch lasts before the server ends it.
const SECONDS: u32 = 290;

impl Survey {
    /// Tells of each change to objects of a kind, in one namespace or in all, each time that it may have missed one, and each time
    /// that the cluster does not answer.
    ///
    /// It ends when the kind may not be watched, and says why.
    pub async fn changes(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        mut told: impl FnMut(),
    ) -> Trouble {
        let api = self.api(resource, namespace);
        loop {
            match self.asked(api.list_metadata(&ListParams::default().limit(1))).await {
                Ok(list) => {
                    told();
                    let version = list.metadata.resource_version.unwrap_or_default();
                    follow(&api, version, &mut told).await;
                }
                Err(trouble @ (Trouble::Forbidden { .. } | Trouble::Refused { code: 404 | 405, .. })) => {
                    return trouble;
                }
                Err(_) => told(),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Watches from a version until the watch ends.
async fn follow(api: &Api<DynamicObject>, version: String, told: &mut impl FnMut()) {
    let parameters = WatchParams::default().timeout(SECONDS);
    let mut version = version;
    // The server ends a watch in peace after some minutes: it goes on where it was.
    loop {
        let Ok(stream) = api.watch_metadata(&parameters, &version).await else { return };
        let mut stream = pin!(stream);
        while let Some(event) = stream.next().await {
            match event {
                Ok(WatchEvent::Added(it) | WatchEvent::Modified(it) | WatchEvent::Deleted(it)) => {
                    version = it.metadata.resource_version.unwrap_or(version);
                    told();
                }
                Ok(WatchEvent::Bookmark(it)) => version = it.metadata.resource_version,
                Ok(WatchEvent::Error(_)) | Err(_) => return,
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
