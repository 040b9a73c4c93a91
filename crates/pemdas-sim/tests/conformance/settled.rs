//! What is left when everything has settled: the garbage collector and the life of namespaces, as final states.
//!
//! Namespaces are filled with objects that own each other. Then, in rounds, something is deleted or let go in each of them, and the
//! real cluster is given time until it is as the simulated one is at once, and stays so.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use pemdas_sim::{Cluster, Method, Request, Scenario, Seed, Time};
use serde_json::{Value, json};

use crate::normal::{PUBLISHED, Side};
use crate::real::Real;

const HOLD: &str = "example.com/hold";
const OBJECTS: u64 = 7;
const ROUNDS: usize = 4;
/// After so long a round on the real cluster is taken for one that never ends.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long it has to stay as it is.
const REST: Duration = Duration::from_secs(2);

/// A kind of the objects: none that a controller of the test bed changes.
const KINDS: &[(&str, &str, &str, &str)] = &[
    ("v1", "ConfigMap", "configmaps", "/api/v1"),
    ("v1", "Secret", "secrets", "/api/v1"),
    ("coordination.k8s.io/v1", "Lease", "leases", "/apis/coordination.k8s.io/v1"),
];

/// One namespace on both sides.
struct Place {
    name: String,
    seed: Seed,
    cluster: Cluster,
    there: Side,
    here: Side,
    /// What was created: kind and name.
    objects: Vec<(usize, String)>,
    /// Those with a finalizer.
    held: BTreeSet<String>,
}

fn chance(seed: &mut Seed, percent: u64) -> bool {
    seed.below(100) < percent
}

fn pick<'a, T>(seed: &mut Seed, list: &'a [T]) -> &'a T {
    &list[usize::try_from(seed.below(list.len() as u64)).unwrap()]
}

fn collection(kind: usize) -> String {
    format!("{}/namespaces/$NS/{}", KINDS[kind].3, KINDS[kind].2)
}

impl Place {
    fn new(real: &Real, number: u64) -> Self {
        let name = format!("settled-{}-{number}-x", std::process::id());
        let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let request = Request::new(Method::Post, "/api/v1/namespaces").json("application/json", &body);
        let mut cluster = Cluster::new(number, Time(1_700_000_000_000), Scenario::default());
        let version = |body: &Value| body["metadata"]["resourceVersion"].clone();
        let here = Side::new(&name, &version(&cluster.handle(&request).whole().unwrap().body));
        let there = Side::new(&name, &version(&real.send(&request).1));
        Self {
            name,
            seed: Seed::new(number),
            cluster,
            there,
            here,
            objects: Vec::new(),
            held: BTreeSet::new(),
        }
    }

    /// Sends a request to both; it has to be taken.
    fn send(&mut self, real: &Real, request: &Request) {
        let (status, answer) = real.send(&self.there.filled(request));
        let simulated = self.cluster.handle(&self.here.filled(request)).whole().unwrap();
        assert_eq!(status, simulated.status, "{request:?}\nreal {answer}\nsimulated {}", simulated.body);
        self.there.read(request, status, answer);
        self.here.read(request, simulated.status, simulated.body);
    }

    fn fill(&mut self, real: &Real) {
        for number in 0..OBJECTS {
            let kind = usize::try_from(self.seed.below(KINDS.len() as u64)).unwrap();
            let chosen: Vec<(usize, String)> =
                self.objects.iter().filter(|_| chance(&mut self.seed, 30)).cloned().collect();
            let mut owners = Vec::new();
            for (owner, name) in &chosen {
                let mut reference = json!({
                    "apiVersion": KINDS[*owner].0, "kind": KINDS[*owner].1, "name": name,
                    "uid": format!("$UID:{}/{name}", KINDS[*owner].2),
                });
                // Where nothing makes an owner wait that is deleted in the foreground, but it stays for other reasons, it is a matter
                // of luck whether the collector sees it waiting.
                if chosen.len() > 1 || self.held.contains(name) || chance(&mut self.seed, 60) {
                    reference["blockOwnerDeletion"] = json!(true);
                }
                owners.push(reference);
            }
            if owners.is_empty() && chance(&mut self.seed, 15) {
                let uid = "00000000-0000-4000-8000-000000000000";
                owners.push(json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": uid }));
            }
            let name = format!("o{number}");
            let mut metadata = json!({ "name": name });
            if !owners.is_empty() {
                metadata["ownerReferences"] = Value::Array(owners);
            }
            if chance(&mut self.seed, 25) {
                metadata["finalizers"] = json!([HOLD]);
                self.held.insert(name.clone());
            }
            let body = json!({ "apiVersion": KINDS[kind].0, "kind": KINDS[kind].1, "metadata": metadata });
            let request = Request::new(Method::Post, &collection(kind)).json("application/json", &body);
            self.send(real, &request);
            self.objects.push((kind, name));
        }
    }

    /// What one round does: deletions, then letting go, then the end of the namespace, then letting go of all.
    fn act(&mut self, real: &Real, round: usize) {
        let left = self.left();
        match round {
            0 | 1 => {
                let Some((kind, name)) = (!left.is_empty()).then(|| pick(&mut self.seed, &left).clone())
                else {
                    return;
                };
                let policies = ["Background", "Foreground", "Foreground", "Orphan", ""];
                let policy = *pick(&mut self.seed, &policies);
                let body = if policy.is_empty() { json!({}) } else { json!({ "propagationPolicy": policy }) };
                let target = format!("{}/{name}", collection(kind));
                self.send(real, &Request::new(Method::Delete, &target).json("application/json", &body));
            }
            2 => {
                let request = Request::new(Method::Delete, "/api/v1/namespaces/$NS");
                self.send(real, &request);
            }
            _ => {
                for (kind, name) in left {
                    let body = json!({ "metadata": { "finalizers": null } });
                    let target = format!("{}/{name}", collection(kind));
                    let request =
                        Request::new(Method::Patch, &target).json("application/merge-patch+json", &body);
                    self.send(real, &request);
                }
            }
        }
    }

    /// What is left in the simulated namespace.
    fn left(&mut self) -> Vec<(usize, String)> {
        let there_is = |(kind, name): &(usize, String)| {
            let request = Request::new(Method::Get, &format!("{}/{name}", collection(*kind)));
            self.cluster.handle(&self.here.filled(&request)).whole().unwrap().status == 200
        };
        self.objects.clone().into_iter().filter(there_is).collect()
    }

    /// Both states: the namespace and what is in it.
    fn states(&mut self, real: &Real) -> (Value, Value) {
        let mut states = (BTreeMap::new(), BTreeMap::new());
        let lists = (0..KINDS.len()).map(collection);
        for target in lists.chain(["/api/v1/namespaces/$NS".to_owned()]) {
            let request = Request::new(Method::Get, &target);
            let (status, answer) = real.send(&self.there.filled(&request));
            let simulated = self.cluster.handle(&self.here.filled(&request)).whole().unwrap();
            states.0.insert(target.clone(), self.there.normal(state(status, answer), ""));
            states.1.insert(target, self.here.normal(state(simulated.status, simulated.body), ""));
        }
        (json!(states.0), json!(states.1))
    }
}

/// What counts of an answer when all has settled: not how often something was written on the way. When several owners go one after the
/// other, it is a matter of luck whether the first ones are dropped before what they own is deleted, too: so its owners do not count.
fn state(status: u16, mut answer: Value) -> Value {
    let plain = |object: &mut Value| {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
            metadata.remove("managedFields");
            if metadata.contains_key("deletionTimestamp") {
                metadata.remove("ownerReferences");
            }
        }
    };
    if status >= 300 {
        return json!(status);
    }
    if let Some(items) = answer.get_mut("items").and_then(Value::as_array_mut) {
        items.retain(|item| item["metadata"]["name"] != PUBLISHED);
        items.iter_mut().for_each(plain);
        return Value::Array(items.clone());
    }
    plain(&mut answer);
    answer
}

/// Waits until all places are the same on both sides, and stay so.
fn settle(real: &Real, places: &mut [Place], round: usize) {
    let begin = Instant::now();
    let mut rest: Option<Instant> = None;
    loop {
        let mut differing = None;
        for place in &mut *places {
            let (there, here) = place.states(real);
            if there != here {
                differing = Some((place.name.clone(), there, here));
                break;
            }
        }
        match differing {
            None if rest.is_some_and(|since| since.elapsed() > REST) => return,
            None => {
                rest.get_or_insert_with(Instant::now);
            }
            Some((name, there, here)) => {
                rest = None;
                let told = format!("round {round}, {name}:\nreal      {there:#}\nsimulated {here:#}");
                assert!(begin.elapsed() < PATIENCE, "{told}");
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Runs it in a namespace for each seed.
pub(crate) fn run(real: &Real, seeds: Range<u64>) {
    let mut places: Vec<Place> = seeds.map(|seed| Place::new(real, seed)).collect();
    for place in &mut places {
        place.fill(real);
    }
    settle(real, &mut places, 0);
    for round in 0..ROUNDS {
        for place in &mut places {
            place.act(real, round);
        }
        settle(real, &mut places, round + 1);
    }
}
