//! The requests of one instance.

use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::desired::{Kind, Shape};
use super::seen::{Child, INPUT, LABEL, RootKey, read_root};

/// Our field manager.
pub(crate) const MANAGER: &str = "hand-written";

/// A root, as far as it matters.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    uid: String,
    generation: i64,
    value: String,
    /// The generation that its status is ready for.
    pub(crate) ready: Option<i64>,
    pub(crate) going: bool,
}

impl Root {
    pub(crate) fn read(object: &DynamicObject) -> Option<Self> {
        let (value, ready) = read_root(object)?;
        Some(Self {
            uid: object.metadata.uid.clone()?,
            generation: object.metadata.generation?,
            value,
            ready,
            going: object.metadata.deletion_timestamp.is_some(),
        })
    }
}

/// An instance that may need something.
pub(crate) struct Plan {
    pub(crate) shape: Shape,
    pub(crate) key: RootKey,
    pub(crate) root: Root,
    /// The children as they are, in the order of the shape.
    pub(crate) children: Vec<Option<Child>>,
}

/// What was written.
pub(crate) struct Done {
    pub(crate) root: RootKey,
    /// Kind, name, uid, resourceVersion, input.
    pub(crate) children: Vec<(Kind, String, String, u64, String)>,
    pub(crate) ready: Option<i64>,
    pub(crate) failed: bool,
}

impl Plan {
    /// Whether anything has to be written.
    pub(crate) fn is_needed(&self) -> bool {
        let mut before = None;
        for child in &self.children {
            match child {
                Some(it) if it.input.as_deref() == Some(&self.input(before)) => {
                    before = Some(it.uid.as_str());
                }
                _ => return true,
            }
        }
        self.root.ready != Some(self.root.generation)
    }

    fn input(&self, before: Option<&str>) -> String {
        match self.shape {
            Shape::FanOut => self.root.value.clone(),
            Shape::Chain => format!("{} {}", self.root.value, before.unwrap_or("first")),
        }
    }

    /// Does it.
    pub(crate) async fn carry_out(self, client: Client) -> Done {
        let mut done = Done { root: self.key.clone(), children: vec![], ready: None, failed: false };
        let names = self.shape.children(&self.key.1);
        match self.shape {
            Shape::FanOut => {
                let stale = names.into_iter().zip(&self.children).filter(|(_, child)| {
                    child.as_ref().is_none_or(|it| it.input.as_ref() != Some(&self.root.value))
                });
                let all =
                    stale.map(|((kind, name), _)| self.apply(&client, kind, name, self.root.value.clone()));
                for written in join_all(all).await {
                    done.failed |= written.is_none();
                    done.children.extend(written);
                }
            }
            Shape::Chain => {
                let mut before: Option<String> = None;
                for ((kind, name), child) in names.into_iter().zip(&self.children) {
                    let input = self.input(before.as_deref());
                    if let Some(current) = child.as_ref().filter(|it| it.input.as_ref() == Some(&input)) {
                        before = Some(current.uid.clone());
                        continue;
                    }
                    let Some(written) = self.apply(&client, kind, name, input).await else {
                        done.failed = true;
                        break;
                    };
                    before = Some(written.2.clone());
                    done.children.push(written);
                }
            }
        }
        if !done.failed && self.root.ready != Some(self.root.generation) {
            done.failed = !self.tell(&client).await;
            done.ready = Some(self.root.generation).filter(|_| !done.failed);
        }
        if done.failed {
            // A crude back-off: it is the careful path that is measured.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        done
    }

    async fn apply(
        &self,
        client: &Client,
        kind: Kind,
        name: String,
        input: String,
    ) -> Option<(Kind, String, String, u64, String)> {
        let (namespace, root) = &self.key;
        let mut body = kind.content(&input, root);
        body["apiVersion"] = json!("v1");
        body["kind"] = json!(kind.name());
        body["metadata"] = json!({
            "name": name,
            "labels": { LABEL: root },
            "annotations": { INPUT: input },
            "ownerReferences": [{
                "apiVersion": "bench.pemdas.dev/v1", "kind": self.shape.root_kind(),
                "name": root, "uid": self.root.uid, "controller": true,
            }],
        });
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind.name()));
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        let parameters = PatchParams::apply(MANAGER).force();
        let written = api.patch(&name, &parameters, &Patch::Apply(&body)).await.ok()?;
        let version = written.metadata.resource_version?.parse().ok()?;
        Some((kind, name, written.metadata.uid?, version, input))
    }

    async fn tell(&self, client: &Client) -> bool {
        let (namespace, name) = &self.key;
        let kind = GroupVersionKind::gvk("bench.pemdas.dev", "v1", self.shape.root_kind());
        let resource = ApiResource::from_gvk_with_plural(&kind, self.shape.root_plural());
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        let body: Value = json!({
            "apiVersion": "bench.pemdas.dev/v1", "kind": self.shape.root_kind(),
            "status": {
                "observedGeneration": self.root.generation,
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "Applied", "message": "all children are applied",
                    "observedGeneration": self.root.generation, "lastTransitionTime": Timestamp::now().to_string(),
                }],
            },
        });
        let parameters = PatchParams::apply(MANAGER).force();
        api.patch_status(name, &parameters, &Patch::Apply(&body)).await.is_ok()
    }
}
