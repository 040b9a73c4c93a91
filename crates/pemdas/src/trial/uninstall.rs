//! Everything of a blueprint is deleted, in any order, while the operator runs or does not: nothing hangs, and nothing that Pemdas
//! made stays.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use pemdas_box::Host;
use pemdas_core::{
    crd::{definition, install::Policy},
    rights::{Setting, hold::PERMISSIONS_LABEL},
    world::ROOT_LABEL,
};
use pemdas_kube::ledgers::LEDGER_TYPE;
use pemdas_sim::{Access, Scenario};
use serde_json::{Value, json};

use super::{
    arena::{Arena, Lived},
    person::{Made, Person, path_of},
    readers::Readers,
};
use crate::{
    bundle::Bundle,
    demo::play::documents,
    input::{Given, Place},
    load,
    roles::{self, Whom},
};

/// What is deleted: an object in another namespace, one that is remembered, and one that holds both.
const PLAIN: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
let named = fun the end => the.root.metadata.name ++ end in
{
  name = "shop",
  kinds.Shop = {
    group = "example.com",
    versions.v1.spec = { value | String, where | String },
  },
  nodes = {
    shop = { root = kinds.Shop, also = ["front"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = named the "-map", namespace = the.root.spec.where },
      data.value = the.root.spec.value,
    },
    load = {
      once = {},
      key = fun the => the.root.spec.value,
      template = fun the => {
        apiVersion = "batch/v1", kind = "Job",
        metadata.name = named the "-load",
        spec.template.spec = { restartPolicy = "Never", containers = [{ name = "main", image = "load" }] },
      },
    },
    front = {
      also = ["map", "load"],
      before = ["map", "load"],
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap",
        metadata.name = named the "-front",
        data.value = the.root.spec.value,
      },
    },
  },
} | Blueprint
"#;
/// How many orders are tried, of each form.
const ORDERS: (u64, u64) = (12, 1_000);
const HOME: &str = "home";
const THERE: &str = "there";
/// Longer than anything that Pemdas waits for before it tries again.
const LONG: Duration = Duration::from_secs(3_600);

/// How the bundle is made.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// Whether the CRD comes with it, so that nobody but a human deletes it.
    awaited: bool,
    /// Whether Pemdas keeps the roles until the last instance is gone.
    held: bool,
}

/// The objects of the bundle.
fn bundle(form: Form) -> Vec<Value> {
    let mut given = Given { title: "shop".to_owned(), ..Given::default() };
    given.files.insert("main.ncl".to_owned(), PLAIN.to_owned());
    given.places.insert("main.ncl".to_owned(), Place::file("main.ncl".to_owned()));
    let (checked, drafts) = load::check_and_draft(given);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    let policy = if form.awaited { Policy::Await } else { Policy::Create };
    let rights = roles::rights_of(&checked, Setting { definitions: policy }, &BTreeMap::new()).unwrap();
    let definitions = drafts.kinds.iter().map(definition).collect();
    let whom = Whom {
        name: "shop".to_owned(),
        namespace: HOME.to_owned(),
        account: "shop".to_owned(),
        only_in: [HOME.to_owned(), THERE.to_owned()].into(),
        operator: ("pemdas-system".to_owned(), "pemdas".to_owned()),
    };
    let bundle = Bundle {
        blueprint: "shop".to_owned(),
        packed: None,
        sources: checked.given.files,
        definitions: if form.awaited { definitions } else { Vec::new() },
        policy,
        whom,
        rights,
    };
    let mut objects = documents("bundle.yaml", &bundle.yaml()).unwrap_or_else(|it| panic!("{}", it.message));
    for object in &mut objects {
        if !form.held
            && let Some(labels) = object["metadata"]["labels"].as_object_mut()
        {
            labels.remove(PERMISSIONS_LABEL);
        }
    }
    objects
}

fn instance(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Shop", "metadata": { "name": name, "namespace": HOME },
        "spec": { "value": "a", "where": THERE },
    })
}

fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// A cluster in which it is installed, and somebody who removes it.
struct Removal {
    arena: Arena,
    chance: fastrand::Rng,
    /// Whether somebody deletes the CRD.
    awaited: bool,
    /// What happened, for whoever has to understand it.
    story: String,
}

impl Removal {
    fn new(seed: u64, readers: &Readers, objects: &[Value]) -> Self {
        let awaited = objects.iter().any(|it| it["kind"] == "CustomResourceDefinition");
        let arena = Arena::new(seed, Scenario::default(), readers, Vec::new());
        let mut removal =
            Self { arena, chance: fastrand::Rng::with_seed(seed), awaited, story: String::new() };
        removal.live(|host, person| {
            host.with(|cluster| cluster.server_mut().set_access(Access::Roles));
            for object in objects {
                assert!(matches!(person.apply(object), Made::Done | Made::Unchanged), "{object}");
            }
        });
        for name in ["one", "two"] {
            removal.live(|_, person| assert_eq!(person.apply(&instance(name)), Made::Done));
        }
        let made = removal.all(|it| it["metadata"]["labels"].get(ROOT_LABEL).is_some());
        assert!(made.iter().filter(|it| it.contains("-front")).count() == 2, "{made:?}");
        removal
    }

    /// The operator lives until everything has come to rest.
    fn live(&mut self, act: impl FnOnce(&Host, &Person)) {
        let lived = self.arena.live(async |host| {
            act(&host, &Person::new(host.clone(), "somebody"));
            tokio::time::sleep(LONG).await;
        });
        self.ended(&lived.unwrap());
    }

    fn ended(&self, lived: &Lived<()>) {
        if *lived == Lived::Died {
            let entries = self.arena.journal().entries();
            let last: Vec<_> = entries.iter().rev().take(12).map(ToString::to_string).collect();
            panic!("it sends and sends: {last:#?}\n{}", self.story);
        }
    }

    /// Deletes everything, one after the other: while the operator runs, or while none does.
    fn delete(&mut self, objects: &[Value]) {
        let mut left: Vec<&Value> = objects.iter().collect();
        self.chance.shuffle(&mut left);
        while !left.is_empty() {
            let mut now: Vec<(u64, &Value)> = Vec::new();
            // So many while it runs, the next one while it does not.
            for _ in 0..self.chance.usize(0..4) {
                now.extend(left.pop().map(|it| ([0, 0, 1, 5, 20, 90][self.chance.usize(0..6)], it)));
            }
            let after = [0, 0, 1, 7, 60][self.chance.usize(0..5)];
            for (pause, object) in &now {
                let _ = writeln!(self.story, "after {pause} s: {} {}", object["kind"], object["metadata"]);
            }
            let lived = self.arena.live(async |host| {
                for (pause, object) in now {
                    tokio::time::sleep(Duration::from_secs(pause)).await;
                    remove(&host, object);
                }
                tokio::time::sleep(Duration::from_secs(after)).await;
            });
            self.ended(&lived.unwrap());
            let _ = writeln!(self.story, "after {after} s: the operator ends");
            if let (Some(object), Some(host)) = (left.pop(), self.arena.host()) {
                let _ = writeln!(self.story, "{} {}", object["kind"], object["metadata"]);
                remove(host, object);
            }
        }
        self.live(|_, _| {});
    }

    fn all(&self, which: impl Fn(&Value) -> bool) -> Vec<String> {
        let said = |it: &Value| {
            let metadata = &it["metadata"];
            let (kind, conditions) = (it["kind"].as_str().unwrap_or_default(), &it["status"]["conditions"]);
            let told = &metadata["annotations"]["pemdas.dev/status"];
            let deleted = metadata.get("deletionTimestamp").is_some();
            format!(
                "{kind} {}/{}, deleted {deleted}, finalizers {}, {conditions} {told}",
                metadata["namespace"], metadata["name"], metadata["finalizers"],
            )
        };
        let host = self.arena.host().unwrap();
        host.with(|cluster| {
            cluster.server().store().all().filter(|(_, it)| which(it)).map(|(_, it)| said(it)).collect()
        })
    }

    /// Instances that wait, where neither they nor their blueprint say what for.
    fn silent(&self) -> Vec<String> {
        let says = |it: &Value, text: &str| it["metadata"]["annotations"].to_string().contains(text);
        let told = self.all(|it| it["kind"] == "ConfigMap" && says(it, "PM0703"));
        let waits = self.all(|it| it["kind"] == "Shop" && it["metadata"].get("deletionTimestamp").is_some());
        waits.into_iter().filter(|it| told.is_empty() && !it.contains("may not")).collect()
    }

    /// What should not be there any more.
    fn left(&self) -> Vec<String> {
        self.all(|it| {
            let metadata = &it["metadata"];
            let held = metadata["finalizers"].as_array().into_iter().flatten();
            metadata.get("deletionTimestamp").is_some()
                || metadata["labels"].get(ROOT_LABEL).is_some()
                || held.filter_map(Value::as_str).any(|it| it.starts_with("pemdas.dev/"))
                || it["type"] == LEDGER_TYPE
                || it["kind"] == "ControllerRevision"
                || it["spec"]["group"] == "example.com" && self.awaited
        })
    }
}

/// Deletes an object, if its kind is served.
fn remove(host: &Host, object: &Value) {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let person = Person::new(host.clone(), "somebody");
    let Some(resource) = person.served(text("/apiVersion"), text("/kind")) else { return };
    let path = path_of(&resource, text("/metadata/namespace"));
    let made = person.delete(&format!("{path}/{}", text("/metadata/name")));
    assert!(matches!(made, Made::Done | Made::Refused(_)), "{made:?}");
}

/// Whether an object lets the blueprint act.
fn permits(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    kind.contains("Role") || kind == "ServiceAccount"
}

fn orders(form: Form) -> impl Iterator<Item = (u64, Removal, Vec<Value>)> {
    let readers = Readers::default();
    let objects: Vec<Value> = [namespace(HOME), namespace(THERE)].into_iter().chain(bundle(form)).collect();
    let only = std::env::var("PEMDAS_REPLAY").ok().and_then(|it| it.parse::<u64>().ok());
    let seeds = only.map_or(pemdas_tier::seeds(ORDERS.0, ORDERS.1), |it| it..it + 1);
    pemdas_tier::tried(seeds.end - seeds.start, "orders of removal");
    seeds.map(move |seed| {
        let removal = Removal::new(seed, &readers, &objects);
        (seed, removal, objects.clone())
    })
}

/// What is deleted: all of the bundle and all instances, and each namespace now and then.
fn deleted(form: Form, removal: &mut Removal, objects: &[Value]) -> Vec<Value> {
    let instances = ["one", "two"].map(instance);
    let mut all: Vec<Value> = objects.iter().filter(|it| it["kind"] != "Namespace").cloned().collect();
    all.extend(instances);
    // Where nobody holds the account, it cannot come back into a namespace that ends.
    let ends: &[&str] = if form.held { &[HOME, THERE] } else { &[THERE] };
    all.extend(ends.iter().copied().filter(|_| removal.chance.u8(0..3) == 0).map(namespace));
    all
}

/// Lets the blueprint act again, wherever its namespaces are still there.
fn permit(removal: &mut Removal, objects: &[Value]) {
    removal.live(|_, person| {
        for object in objects.iter().filter(|it| permits(it)) {
            let _made = person.apply(object);
        }
    });
}

#[test]
fn a_bundle_goes_in_every_order() {
    for awaited in [true, false] {
        let form = Form { awaited, held: true };
        for (seed, mut removal, objects) in orders(form) {
            let all = deleted(form, &mut removal, &objects);
            removal.delete(&all);
            // While nobody may see whether there are instances, the revisions stay.
            let (revisions, left): (Vec<_>, Vec<_>) =
                removal.left().into_iter().partition(|it| it.starts_with("ControllerRevision"));
            assert!(left.is_empty(), "seed {seed}, awaited {awaited}:\n{}\nleft: {left:#?}", removal.story);
            if !revisions.is_empty() {
                permit(&mut removal, &objects);
                let left = removal.left();
                assert!(
                    left.is_empty(),
                    "seed {seed}, awaited {awaited}:\n{}\nleft: {left:#?}",
                    removal.story
                );
            }
        }
    }
}

/// Roles that nobody holds are gone before anybody can stop it: it waits, says so, and goes on when they are back. Where they
/// cannot come back, a human gives up what is left.
#[test]
fn what_misses_its_permissions_goes_when_they_are_back() {
    let form = Form { awaited: true, held: false };
    for (seed, mut removal, objects) in orders(form) {
        let all = deleted(form, &mut removal, &objects);
        removal.delete(&all);
        let silent = removal.silent();
        assert!(silent.is_empty(), "seed {seed}:\n{}\nnot told: {silent:#?}", removal.story);
        permit(&mut removal, &objects);
        let left = removal.left();
        assert!(left.is_empty(), "seed {seed}:\n{}\nleft: {left:#?}", removal.story);
    }
}
