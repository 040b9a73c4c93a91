//! Events: what people see under `kubectl describe`.
//!
//! They are a courtesy and never in the way: the loop hands them over without waiting, and what is too much is dropped and
//! counted. The same Event about the same object has the same name, so that a process that starts anew does not tell
//! everything once more but counts it up.
//!
//! They are of `events.k8s.io/v1`; `kubectl describe` reads them through the older API, which is the same store. The
//! client's own recorder is not used: it takes two Events that differ in their sentence only for one, and goes on showing
//! the first.

mod pace;

use std::collections::{BTreeMap, VecDeque};

use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event as EventObject},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use pemdas_core::{action::Event, digest::Digest};
use serde_json::json;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Duration, Instant, timeout},
};

use crate::{machine::Machine, metrics::Metrics};
use pace::Pace;

/// How many wait to be sent.
const MAX_WAITING: usize = 1_000;
/// How many are remembered to be there already.
const MAX_KNOWN: usize = 2_000;
/// The longest sentence that the API server takes, in bytes.
const MAX_NOTE: usize = 1_024;
/// The longest reason.
const MAX_REASON: usize = 128;
/// How long sending one may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Who tells.
const CONTROLLER: &str = "pemdas.dev/operator";

/// Tells people. Clones tell together.
#[derive(Debug, Clone)]
pub struct Teller {
    waiting: mpsc::Sender<(ObjectReference, Event)>,
    metrics: Metrics,
}

/// The task that sends. It ends when the last [`Teller`] is gone and everything was sent.
pub type Telling = JoinHandle<()>;

impl Teller {
    /// Begins to tell, as this client. `instance` says which process it is.
    #[must_use]
    pub fn start(client: Client, instance: String, metrics: Metrics, machine: Machine) -> (Self, Telling) {
        let (waiting, events) = mpsc::channel(MAX_WAITING);
        let sender = Sender {
            client,
            instance,
            metrics: metrics.clone(),
            machine,
            pace: Pace::new(Instant::now()),
            known: BTreeMap::new(),
            order: VecDeque::new(),
        };
        (Self { waiting, metrics }, tokio::spawn(sender.run(events)))
    }

    /// Tells something about an object; never waits.
    pub fn tell(&self, about: ObjectReference, event: Event) {
        self.metrics.told(&event.reason, event.warning);
        if self.waiting.try_send((about, event)).is_err() {
            self.metrics.event_dropped();
        }
    }
}

/// What is told as an Event stands in the log, too, with the same reason and the same words.
fn log(about: &ObjectReference, event: &Event) {
    let text = |it: &Option<String>| it.clone().unwrap_or_default();
    let (kind, namespace, name) = (text(&about.kind), text(&about.namespace), text(&about.name));
    let Event { reason, message, .. } = event;
    if event.warning {
        tracing::warn!(kind, namespace, name, reason, note = message, "event");
    } else {
        tracing::info!(kind, namespace, name, reason, note = message, "event");
    }
}

struct Sender {
    client: Client,
    instance: String,
    metrics: Metrics,
    machine: Machine,
    pace: Pace,
    /// How often each Event was seen, by its name.
    known: BTreeMap<String, i32>,
    /// Their names, the oldest first.
    order: VecDeque<String>,
}

impl Sender {
    async fn run(mut self, mut events: mpsc::Receiver<(ObjectReference, Event)>) {
        while let Some((about, event)) = events.recv().await {
            let whose = about.uid.clone().or_else(|| about.name.clone()).unwrap_or_default();
            if !self.pace.may_go(&whose, event.warning, Instant::now()) {
                self.metrics.event_dropped();
                continue;
            }
            log(&about, &event);
            match timeout(PATIENCE, self.send(&about, &event)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    self.metrics.event_dropped();
                    tracing::debug!(reason = event.reason, %error, "an event was refused");
                }
                Err(_) => self.metrics.event_dropped(),
            }
        }
    }

    async fn send(&mut self, about: &ObjectReference, event: &Event) -> Result<(), kube::Error> {
        let namespace = about.namespace.as_deref().filter(|it| !it.is_empty()).unwrap_or("default");
        let api: Api<EventObject> = Api::namespaced(self.client.clone(), namespace);
        let body = self.body(namespace, about, event);
        let name = body.metadata.name.clone().unwrap_or_default();
        let known = format!("{namespace}/{name}");
        if !self.known.contains_key(&known) {
            match api.create(&PostParams::default(), &body).await {
                Ok(_) => {
                    self.remember(known, 1);
                    return Ok(());
                }
                // A process before this one has told it.
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    let there = api.get_opt(&name).await?;
                    let count = there.and_then(|it| it.series).map_or(1, |it| it.count);
                    self.remember(known.clone(), count);
                }
                Err(error) => return Err(error),
            }
        }
        let count = self.known.get(&known).copied().unwrap_or(1).saturating_add(1);
        let series =
            json!({ "series": { "count": count, "lastObservedTime": MicroTime(self.machine.now()) } });
        match api.patch(&name, &PatchParams::default(), &Patch::Merge(series)).await {
            Ok(_) => self.remember(known, count),
            // The API server forgets Events after a while.
            Err(kube::Error::Api(status)) if status.code == 404 => {
                api.create(&PostParams::default(), &body).await?;
                self.remember(known, 1);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn remember(&mut self, name: String, count: i32) {
        if self.known.insert(name.clone(), count).is_none() {
            self.order.push_back(name);
        }
        if self.order.len() > MAX_KNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    fn body(&self, namespace: &str, about: &ObjectReference, event: &Event) -> EventObject {
        let kind = if event.warning { "Warning" } else { "Normal" };
        let note = shortened(&event.message, MAX_NOTE);
        let digest =
            Digest::of(&[], &json!([about.kind, about.name, about.uid, kind, event.reason, note])).short();
        // The name of an object may be as long as that of an Event.
        let object = shortened(about.name.as_deref().unwrap_or("cluster"), 200);
        // Names of roles may hold what names of Events may not.
        let plain =
            |it: char| if it.is_ascii_alphanumeric() || it == '.' { it.to_ascii_lowercase() } else { '-' };
        let object: String = object.trim_end_matches(['.', '-', '…']).chars().map(plain).collect();
        let name = format!("{object}.{digest}");
        EventObject {
            action: Some("Reconcile".to_owned()),
            event_time: Some(MicroTime(self.machine.now())),
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            note: Some(note),
            reason: Some(shortened(&event.reason, MAX_REASON)),
            regarding: Some(about.clone()),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(shortened(&self.instance, MAX_REASON)),
            type_: Some(kind.to_owned()),
            ..EventObject::default()
        }
    }
}

/// The beginning of a text, at most so many bytes long, with a sign that something is missing.
fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_text_is_shortened_between_characters() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abcdef", 5), "ab…");
        assert_eq!(shortened("üüüü", 6), "ü…");
    }
}
