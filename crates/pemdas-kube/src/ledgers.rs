//! The ledgers of instances: one Secret each, because results and seeds may be secret. Written as Pemdas itself.

use http::Method;
use kube::Client;
use pemdas_core::{
    ledger::{Ledger, secret_name},
    world::{LedgerFact, Live, Refusal, Seal, WriteOutcome},
};
use serde_json::{Value, json};

use crate::{
    call::{self, JSON, Sent},
    live,
    refusal::Meant,
};

/// The label of every ledger, with the name of its instance.
pub const LEDGER_LABEL: &str = "pemdas.dev/ledger";
/// The type of the Secrets.
pub const LEDGER_TYPE: &str = "pemdas.dev/ledger";
const FIELD: &str = "ledger";
/// That it was Pemdas who wrote this ledger, for this instance.
const SEAL: &str = "seal";

/// Where the ledger of an instance is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The namespace: the root's, or the blueprint's where the root has none.
    pub namespace: String,
    /// The name of the instance.
    pub instance: String,
}

impl Place {
    fn name(&self) -> String {
        secret_name(&self.instance)
    }

    fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/secrets", self.namespace)
    }
}

/// What a Secret that was seen says. What Pemdas did not write there is not believed.
#[must_use]
pub fn read(live: &Live, seal: &Seal) -> LedgerFact {
    let field = |name: &str| {
        let value = live.body.pointer(&format!("/data/{name}")).and_then(Value::as_str).and_then(decode)?;
        String::from_utf8(value).ok()
    };
    let of = live.label(LEDGER_LABEL).unwrap_or_default();
    let made = field(SEAL).unwrap_or_default();
    match field(FIELD).and_then(|text| seal.ledger(&live.key.namespace, of, &text, &made)) {
        Some(ledger) => {
            LedgerFact::Present { resource_version: live.resource_version, ledger: Box::new(ledger) }
        }
        None => LedgerFact::Unreadable,
    }
}

/// Where the ledger is that a Secret holds. Anybody may write the label: under another name than its own it is no ledger.
#[must_use]
pub fn place(live: &Live) -> Option<Place> {
    let instance = live.label(LEDGER_LABEL)?.to_owned();
    let place = Place { namespace: live.key.namespace.clone(), instance };
    (place.name() == live.key.name).then_some(place)
}

/// Writes a ledger over the version that was seen; none creates it.
pub async fn record(
    client: &Client,
    place: &Place,
    ledger: &Ledger,
    seen: Option<u64>,
    seal: &Seal,
) -> (WriteOutcome, Option<LedgerFact>) {
    let text = serde_json::to_string(ledger).unwrap_or_default();
    let mut body = json!({
        "apiVersion": "v1", "kind": "Secret", "type": LEDGER_TYPE,
        "metadata": {
            "name": place.name(), "namespace": place.namespace, "labels": { LEDGER_LABEL: place.instance },
        },
        "stringData": { SEAL: seal.of_ledger(&place.namespace, &place.instance, &text), FIELD: text },
    });
    let (method, path) = match seen {
        None => (Method::POST, format!("{}?fieldManager=pemdas", place.path())),
        Some(version) => {
            if !mutant!(LedgerWithoutVersion) {
                body["metadata"]["resourceVersion"] = json!(version.to_string());
            }
            (Method::PUT, format!("{}/{}?fieldManager=pemdas", place.path(), place.name()))
        }
    };
    match send(client, method, path, &body).await {
        Err(outcome) => (outcome, None),
        Ok(answer) => {
            let version = answer.pointer("/metadata/resourceVersion").and_then(live::version).unwrap_or(0);
            let fact = LedgerFact::Present { resource_version: version, ledger: Box::new(ledger.clone()) };
            (WriteOutcome::Done(version), Some(fact))
        }
    }
}

/// Deletes a ledger of the version that was seen.
pub async fn forget(client: &Client, place: &Place, seen: u64) -> WriteOutcome {
    if mutant!(LedgerStays) {
        return WriteOutcome::Deleted(String::new());
    }
    let body = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "resourceVersion": seen.to_string() },
    });
    let path = format!("{}/{}", place.path(), place.name());
    match send(client, Method::DELETE, path, &body).await {
        Ok(_) | Err(WriteOutcome::Refused(Refusal::Gone)) => WriteOutcome::Deleted(String::new()),
        Err(outcome) => outcome,
    }
}

/// Reads a ledger itself.
pub async fn look(client: &Client, place: &Place, seal: &Seal) -> Option<LedgerFact> {
    let path = format!("{}/{}", place.path(), place.name());
    match send(client, Method::GET, path, &Value::Null).await {
        Ok(body) => {
            let kind = pemdas_core::world::KindKey::new("v1", "Secret");
            Some(live::live(&kind, body).map_or(LedgerFact::Unreadable, |it| read(&it, seal)))
        }
        Err(WriteOutcome::Refused(Refusal::Gone)) => Some(LedgerFact::Absent),
        Err(_) => None,
    }
}

async fn send(client: &Client, method: Method, path: String, body: &Value) -> Result<Value, WriteOutcome> {
    let sent = Sent { method, path, content_type: JSON, body: body.clone(), meant: Meant::Change };
    // A ledger is tried again by the core's own pace.
    let bytes = call::send(client, sent).await.map_err(|(outcome, _)| outcome)?;
    serde_json::from_slice(bytes.as_ref()).map_err(|_| WriteOutcome::Lost)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}
