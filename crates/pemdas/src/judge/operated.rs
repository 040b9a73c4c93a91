//! What the operator comes to: the operator itself, on a simulated cluster in simulated time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use pemdas_box::Host;
use pemdas_core::world::ROOT_LABEL;
use pemdas_kube::ledgers::LEDGER_TYPE;
use pemdas_sim::{Cluster, Method, Request, Scenario};
use serde_json::{Value, json};

use super::{
    compare::EDITED,
    draft::{Draft, KIND},
    outcome::{self, Fate, Outcome, Run, Slot, key_of, normal},
};
use crate::{
    demo::play::{config_map, own_account},
    trial::{
        arena::{Arena, Lived},
        journal::Journal,
        person::{Made, Person},
        readers::Readers,
    },
};

/// How long nothing is written before the operator counts as at rest, in milliseconds.
const REST: u64 = 30_000;
/// How long it may take to come to rest, in milliseconds.
const TO_REST: u64 = 3_600_000;
/// Who owns the objects around, and the root.
const PERSON: &str = "person";

/// Plays a draft through all versions of its root, and to its end. Otherwise what went wrong on the way.
pub(super) fn run(draft: &Draft, readers: &Readers) -> Result<Run, String> {
    let mut arena = Arena::new(1, Scenario::default(), readers, Vec::new());
    let mut played = Played::new(draft, arena.journal());
    let mut run = Run::default();
    let mut version = 0;
    // While nobody runs, the root changes and somebody edits what was made; then a new process begins.
    while version < draft.roots.len() {
        let lived = arena.live(async |host| {
            let first = version;
            while version < draft.roots.len() && (version == first || !draft.gap) {
                played.show(&host, version, draft.gap).await?;
                played.settle(&host).await?;
                if version == 0 {
                    run.came = std::mem::take(&mut played.came);
                }
                run.went.push(std::mem::take(&mut played.went));
                run.outcomes.push(played.outcome(&host)?);
                version += 1;
            }
            if version == draft.roots.len() {
                played.came.clear();
                played.end(&host).await?;
                run.went.push(std::mem::take(&mut played.went));
                run.late = std::mem::take(&mut played.came);
                run.left = host.with(left);
            }
            Ok::<(), String>(())
        });
        match lived.map_err(|it| it.to_string())? {
            Lived::Done(done) => done?,
            Lived::Died => return Err("it sends and sends".to_owned()),
        }
    }
    Ok(run)
}

/// Plays the first version of the root, and then the next revision of the blueprint.
pub(super) fn revised(draft: &Draft, readers: &Readers) -> Result<Outcome, String> {
    let mut arena = Arena::new(1, Scenario::default(), readers, Vec::new());
    let mut played = Played::new(draft, arena.journal());
    let lived = arena.live(async |host| {
        played.show(&host, 0, false).await?;
        played.settle(&host).await?;
        made(Person::new(host.clone(), PERSON).apply(&blueprint(&draft.revised())))?;
        played.settle(&host).await?;
        played.outcome(&host)
    });
    match lived.map_err(|it| it.to_string())? {
        Lived::Done(outcome) => outcome,
        Lived::Died => Err("it sends and sends".to_owned()),
    }
}

fn blueprint(draft: &Draft) -> Value {
    config_map("judged", &BTreeMap::from([("main.ncl".to_owned(), draft.text())]), None)
}

struct Played<'d> {
    draft: &'d Draft,
    journal: Arc<Journal>,
    /// Up to which change of the store everything was looked at.
    seen: u64,
    moves: usize,
    /// Whether the root is gone.
    is_over: bool,
    /// When each object of ours came and went, counted.
    came: BTreeMap<String, usize>,
    went: BTreeMap<String, usize>,
}

impl<'d> Played<'d> {
    fn new(draft: &'d Draft, journal: &Arc<Journal>) -> Self {
        let (came, went) = (BTreeMap::new(), BTreeMap::new());
        Self { draft, journal: Arc::clone(journal), seen: 0, moves: 0, is_over: false, came, went }
    }

    /// Makes the root so, and before the first version all that there is around it.
    async fn show(&mut self, host: &Host, version: usize, edits: bool) -> Result<(), String> {
        let root = &self.draft.roots[version];
        let person = Person::new(host.clone(), PERSON);
        if version > 0 {
            if edits {
                edit(host, &person);
            }
            return host.with(|cluster| put(cluster, root));
        }
        for name in ["default", "team", "k"] {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            made(person.create(&namespace))?;
        }
        for object in &self.draft.around {
            made(person.apply(object))?;
        }
        made(person.apply(&own_account()))?;
        made(person.apply(&blueprint(self.draft)))?;
        self.settle(host).await?;
        made(person.create(root))
    }

    /// Waits until nobody writes any more.
    async fn settle(&mut self, host: &Host) -> Result<(), String> {
        let began = host.with(|cluster| cluster.now());
        let (mut writes, mut since) = (self.journal.writes(), began);
        loop {
            let happenings = host.happenings();
            let (now, due) = host.with(|cluster| {
                self.look(cluster);
                (cluster.now(), cluster.next_event())
            });
            if writes != self.journal.writes() {
                (writes, since) = (self.journal.writes(), now);
            }
            let at_rest = since.after(REST);
            if now >= at_rest && due.is_none_or(|it| it > at_rest) {
                return Ok(());
            }
            if now > began.after(TO_REST) {
                return Err("it comes to no rest".to_owned());
            }
            let pause = Duration::from_millis(at_rest.0.saturating_sub(now.0).max(1));
            tokio::select! {
                biased;
                () = host.more_than(happenings) => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// What came and went since the last look.
    fn look(&mut self, cluster: &Cluster) {
        let store = cluster.server().store();
        for change in store.since(self.seen).unwrap_or_default() {
            let Some(object) = change.after.as_ref().or(change.before.as_ref()) else { continue };
            self.is_over |= change.after.is_none() && key_of(object) == key_of(&self.draft.roots[0]);
            if !is_ours(object) {
                continue;
            }
            self.moves += 1;
            match (&change.before, &change.after) {
                // Who sees an object go before its root puts it back, and the garbage collector takes it again.
                (None, Some(_)) if self.is_over => {}
                (None, Some(_)) => drop(self.came.entry(key_of(object)).or_insert(self.moves)),
                (_, None) => drop(self.went.insert(key_of(object), self.moves)),
                _ => {}
            }
        }
        self.seen = store.revision();
    }

    /// What there is now.
    fn outcome(&self, host: &Host) -> Result<Outcome, String> {
        let root = &self.draft.roots[0];
        host.with(|cluster| {
            let store = cluster.server().store();
            let keys: BTreeSet<String> = store.all().map(|(_, it)| key_of(it)).collect();
            let ours = store.all().filter(|(_, it)| is_ours(it));
            let live = store.all().find(|(_, it)| key_of(it) == key_of(root)).map(|it| it.1.clone());
            let nodes = live.as_ref().and_then(|it| it.pointer("/status/pemdas/nodes")?.as_array());
            let nodes = nodes.ok_or("it says nothing of the instance")?;
            Ok(Outcome {
                objects: ours.map(|(_, it)| (key_of(it), normal(it))).collect(),
                fates: nodes.iter().filter_map(fate).collect(),
                gone: self.draft.around.iter().map(key_of).filter(|it| !keys.contains(it)).collect(),
                ..Outcome::default()
            })
        })
    }

    /// Deletes the root, and waits until nothing happens any more.
    async fn end(&mut self, host: &Host) -> Result<(), String> {
        let path = host.with(|cluster| path(cluster, &self.draft.roots[0]))?;
        made(Person::new(host.clone(), PERSON).delete(&path))?;
        self.settle(host).await
    }
}

fn made(made: Made) -> Result<(), String> {
    match made {
        Made::Done | Made::Unchanged => Ok(()),
        Made::NotServed => Err("its kind is not served".to_owned()),
        Made::Refused(why) => Err(format!("it is refused: {why}")),
    }
}

/// Whether an object was made for the instance; a ledger is none that anybody asked for.
fn is_ours(object: &Value) -> bool {
    object["metadata"]["labels"].get(ROOT_LABEL).is_some() && object["type"] != LEDGER_TYPE
}

/// What is left when the root is gone.
fn left(cluster: &mut Cluster) -> Vec<String> {
    let stays = |it: &Value| {
        it["metadata"]["labels"].get(ROOT_LABEL).is_some() || it["kind"] == KIND && it["spec"].is_object()
    };
    cluster.server().store().all().filter(|(_, it)| stays(it)).map(|(_, it)| key_of(it)).collect()
}

fn path(cluster: &Cluster, root: &Value) -> Result<String, String> {
    let text = |at: &str| root.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let resource =
        cluster.server().kinds().of_kind(text("/apiVersion"), KIND).ok_or("its kind is not served")?;
    let place = crate::trial::person::path_of(&resource, text("/metadata/namespace"));
    Ok(format!("{place}/{}", text("/metadata/name")))
}

/// Replaces what the root says, and leaves what others wrote on it.
fn put(cluster: &mut Cluster, root: &Value) -> Result<(), String> {
    let path = path(cluster, root)?;
    let read = cluster.handle(&Request::new(Method::Get, &path)).whole();
    let mut body = read.filter(|it| it.status < 300).ok_or("the root is gone")?.body;
    body["spec"].clone_from(&root["spec"]);
    body["metadata"]["labels"].clone_from(&root["metadata"]["labels"]);
    let request = Request::new(Method::Put, &path).json("application/json", &body);
    match cluster.handle(&request.header("user-agent", PERSON)).whole() {
        Some(answer) if answer.status < 300 => Ok(()),
        answer => Err(format!("the root is refused: {:?}", answer.map(|it| it.body))),
    }
}

/// Somebody changes a field of each ConfigMap that was made.
fn edit(host: &Host, person: &Person) {
    let maps: Vec<(String, String)> = host.with(|cluster| {
        let ours = cluster.server().store().all().filter(|(_, it)| is_ours(it) && it["kind"] == "ConfigMap");
        let field = |it: &Value| it["data"].as_object()?.keys().next().cloned();
        let place = |it: &Value| {
            let text = |name: &str| it["metadata"][name].as_str().unwrap_or_default().to_owned();
            format!("/api/v1/namespaces/{}/configmaps/{}", text("namespace"), text("name"))
        };
        ours.filter_map(|(_, it)| Some((place(it), field(it)?))).collect()
    });
    let resource = person.served("v1", "ConfigMap").expect("a built-in kind");
    for (path, field) in maps {
        // What is refused was not edited.
        let _made = person.patch(&resource, &path, &json!({ "data": { field: EDITED } }));
    }
}

/// What the status says of a node.
fn fate(node: &Value) -> Option<(Slot, Fate)> {
    let text = |name: &str| node[name].as_str().unwrap_or_default();
    let slot = outcome::slot(text("name"), text("member"));
    let why = text("why");
    let fate = match text("state") {
        "Removing" => return None,
        "Ready" => Fate::Ready,
        "Progressing" => Fate::Unready,
        _ => match why.strip_prefix("waits for ") {
            Some(rest) => {
                let on = rest.split([':', '[']).next().unwrap_or_default();
                Fate::Waits(BTreeSet::from([on.to_owned()]))
            }
            None => outcome::unneeded(why).map_or(Fate::Fails, |on| Fate::Waits(BTreeSet::from([on]))),
        },
    };
    Some((slot, fate))
}
