//! An object is written at most twice until it is settled, and then not any more, whatever the API server makes of it.
//!
//! *The accident*: a template held an empty list, the API server dropped it, and the same apply was sent 3,339 times in half a minute.

mod custom;
mod instance;
mod manifests;

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, stream};
use kube::Client;
use pemdas_core::kube_types::Kind;
use pemdas_kube::{live, resource::Resource};
use pemdas_testbed::{Cluster, Level};
use serde_json::{Value, json};

use self::{
    instance::Instance,
    manifests::{Case, Known, kind_of, numbered},
};
use crate::server::client_of;

/// An object may be written so often.
const WRITES: usize = 2;
/// In the default tier, one in so many.
const SHARE: usize = 12;
/// So many are written at a time.
const AT_ONCE: usize = 4;

/// Objects of these kinds would change what happens to those after them: each goes as soon as it was looked at.
const GO_AT_ONCE: [&str; 9] = [
    "APIService",
    "CustomResourceDefinition",
    "FlowSchema",
    "MutatingAdmissionPolicy",
    "MutatingWebhookConfiguration",
    "Node",
    "PriorityLevelConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingWebhookConfiguration",
];

/// A kind, and what becomes of each of its cases.
struct Bench {
    client: Client,
    resource: Resource,
    namespace: String,
}

impl Bench {
    async fn new(client: &Client, kind: &Kind, number: usize) -> Self {
        let namespace = format!("settle-{number}");
        let made = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        send(client, "POST", "/api/v1/namespaces", &made).await;
        // Without it, no pod is admitted, and it may come late.
        let account =
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
        send(client, "POST", &format!("/api/v1/namespaces/{namespace}/serviceaccounts"), &account).await;
        let resource = Resource::built_in(kind.api_version, kind.name).unwrap();
        Self { client: client.clone(), resource, namespace }
    }

    /// Objects of the kind, as a list shows them.
    async fn list(&self) -> BTreeMap<String, Value> {
        let list = send(&self.client, "GET", &self.resource.path(&self.namespace), &Value::Null).await;
        let items = list["items"].as_array().unwrap_or_else(|| panic!("{list}")).clone();
        items.into_iter().map(|it| (it["metadata"]["name"].as_str().unwrap().to_owned(), it)).collect()
    }

    fn path(&self, instance: &Instance) -> String {
        format!("{}/{}", self.resource.path(&self.namespace), instance.key.name)
    }

    fn seen(&self, instance: &mut Instance, mut body: Value) {
        body["apiVersion"] = json!(self.resource.api_version);
        body["kind"] = json!(self.resource.kind.kind);
        instance.sees(live::live(&self.resource.kind, body).unwrap());
    }

    /// It settles by itself, as others leave it, and for a process that knows nothing.
    async fn judge(&self, number: usize, case: &Case) -> Verdict {
        let manifest = numbered(&case.manifest, number, &self.namespace);
        let mut instance = Instance::new(&self.resource, &self.namespace, manifest);
        instance.settle(&self.client).await;
        let goes = GO_AT_ONCE.contains(&&*self.resource.kind.kind);
        if goes && instance.refused.is_none() {
            let body = send(&self.client, "GET", &self.path(&instance), &Value::Null).await;
            self.settles_as_seen(&mut instance, body).await;
            send(&self.client, "DELETE", &self.path(&instance), &Value::Null).await;
        }
        Verdict { name: format!("{} {}", case.field, case.how), dropped: instance.dropped(), goes, instance }
    }

    async fn settles_as_seen(&self, instance: &mut Instance, body: Value) {
        self.seen(instance, body.clone());
        let before = instance.writes;
        instance.settle(&self.client).await;
        if instance.writes == before {
            let writes = instance.writes;
            instance.restart();
            self.seen(instance, body);
            instance.settle(&self.client).await;
            // What only another process writes is written for ever.
            instance.writes = if instance.writes == 0 { writes } else { usize::MAX };
        }
    }
}

/// What became of a case.
struct Verdict {
    name: String,
    dropped: Option<String>,
    goes: bool,
    instance: Instance,
}

/// Asks the API server; what it says, whatever that is.
async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Value {
    send_as(client, method, path, body, "application/json").await
}

async fn send_as(client: &Client, method: &str, path: &str, body: &Value, content: &str) -> Value {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = http::Request::builder().method(method).uri(path).header("content-type", content);
    let response = client.send(request.body(kube::client::Body::from(body)).unwrap()).await.unwrap();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// What is wrong, in words.
#[derive(Default)]
struct Wrong {
    told: Vec<String>,
    tried: u64,
}

impl Wrong {
    fn look(&mut self, known: &Known, refused: &BTreeSet<String>, verdict: &mut Verdict) {
        let Verdict { name, dropped, instance, .. } = verdict;
        let (field, how) = name.split_once(' ').unwrap();
        self.tried += 1;
        match &instance.refused {
            // What says nothing may be refused at once, but not when the claim is noted.
            Some(why)
                if !refused.contains(field) && (!["null", "empty"].contains(&how) || instance.writes > 1) =>
            {
                self.told.push(format!("{name}: refused: {why}"));
            }
            None if how == "set" && refused.contains(field) => {
                self.told.push(format!("{name}: not refused"));
            }
            // What the server does not keep of a status is noted once more where the controller wrote one meanwhile.
            None if instance.writes > WRITES + usize::from(field.ends_with("#status")) => {
                let causes = instance.causes();
                self.told.push(format!("{name}: {} writes: {causes}", instance.writes));
            }
            _ => {}
        }
        let expected = known.dropped().get(name.as_str()).and_then(Value::as_str);
        let fields = dropped.as_ref().map(|it| {
            let it = it.strip_prefix("the API server dropped ").unwrap();
            it.rsplit_once(" of ").unwrap().0.to_owned()
        });
        if instance.refused.is_none() && expected != fields.as_deref() {
            self.told.push(format!("{name}: dropped {fields:?}, expected {expected:?}"));
        }
    }
}

#[tokio::test]
async fn every_field_of_every_built_in_kind_settles() {
    let cluster = tokio::task::spawn_blocking(|| Cluster::start(Level::ControlPlane).unwrap()).await.unwrap();
    let client = client_of(&cluster).await;
    let (known, mut wrong) = (Known::read(), Wrong::default());
    let refused = known.refused();
    let share = pemdas_tier::size(SHARE, 1);
    for (place, (kind, cases)) in known.cases().into_iter().enumerate() {
        let bench = Bench::new(&client, &kind, place).await;
        let drawn = cases.iter().enumerate().filter(|(at, _)| at.is_multiple_of(share));
        let judged = drawn.map(|(at, case)| bench.judge(place * 2_000 + at, case));
        let mut verdicts: Vec<_> = stream::iter(judged).buffered(AT_ONCE).collect().await;
        // Until nothing is written any more, whatever the controllers of the cluster have made of it.
        let mut all = bench.list().await;
        for verdict in verdicts.iter_mut().filter(|it| !it.goes) {
            if let Some(body) = all.remove(&verdict.instance.key.name) {
                bench.settles_as_seen(&mut verdict.instance, body).await;
            }
        }
        verdicts.iter_mut().for_each(|it| wrong.look(&known, &refused, it));
    }
    pemdas_tier::tried(wrong.tried, "manifests");
    assert!(wrong.told.is_empty(), "{} of {}:\n{}", wrong.told.len(), wrong.tried, wrong.told.join("\n"));
}

/// Kinds that the API server serves and of which no template makes sense.
const LEFT_OUT: [(&str, &str); 0] = [];

#[tokio::test]
async fn every_kind_that_can_be_applied_has_a_base() {
    let client = crate::server::client().await;
    let known = Known::read();
    let bases: BTreeSet<_> = known.bases().iter().map(kind_of).map(|it| (it.api_version, it.name)).collect();
    let groups = send(&client, "GET", "/apis", &Value::Null).await;
    let served: BTreeSet<String> = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|it| it["versions"].as_array().unwrap())
        .map(|it| it["groupVersion"].as_str().unwrap().to_owned())
        .chain(["v1".to_owned()])
        .collect();
    let applied = Kind::all().filter(|it| it.allows("patch") && served.contains(it.api_version));
    let missing: Vec<_> = applied
        .map(|it| (it.api_version, it.name))
        .filter(|it| !bases.contains(it) && !LEFT_OUT.contains(it))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
