//! What others write in our name: labels, claims and ledgers have no effect unless Pemdas wrote them. And what happens without the key.

use serde_json::{Value, json};

use super::{
    bed::until,
    given::allow,
    hands::{TASK, neighbour_works, two},
    operators::{Plan, warned},
    space::Space,
};

/// A Db whose generated password is in a Secret of its name.
pub(crate) const DB: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "db",
  kinds.Db = { group = "GROUP", versions.v1.spec = { size | Number | default = 1 } },
  nodes = {
    instance = { root = kinds.Db, also = ["password"] },
    password.template = fun the => {
      apiVersion = "v1", kind = "Secret", metadata.name = the.root.metadata.name, stringData.password = the.seed,
    },
  },
} | Blueprint
"#;

const LABEL: &str = "pemdas.dev/root";
const CLAIM: &str = "pemdas.dev/claim";

/// A ConfigMap of somebody, with the marks of an object of ours.
fn forge(space: &Space, name: &str, label: &Value, claim: Option<&Value>) {
    let mut map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { LABEL: label } },
        "data": { "precious": "yes" },
    });
    if let Some(claim) = claim {
        map["metadata"]["annotations"] = json!({ CLAIM: claim.to_string() });
    }
    assert!(space.creates(&map), "{map}");
}

fn marks(object: &Value) -> (Value, Value) {
    let claim = object["metadata"]["annotations"][CLAIM].as_str().expect("a claim");
    (object["metadata"]["labels"][LABEL].clone(), serde_json::from_str(claim).unwrap())
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap()
}

#[test]
fn what_carries_a_forged_claim_is_never_deleted_changed_or_waited_for() {
    let (space, mut operator) = two("forged");
    let (label, claim) = marks(&space.get("configmap", "one").unwrap());
    let with = |name: &str, changes: &[(&str, Value)]| {
        let mut claim = claim.clone();
        claim["object"] = json!(format!("{}/{name}", space.name));
        changes.iter().for_each(|(field, value)| claim[*field] = value.clone());
        claim
    };
    forge(&space, "bare", &label, None);
    forge(&space, "copied", &label, Some(&claim));
    forge(&space, "renamed", &label, Some(&with("renamed", &[])));
    // A node that no revision has is not needed: what it made would be removed.
    forge(&space, "obsolete", &label, Some(&with("obsolete", &[("node", json!("gone"))])));
    forge(&space, "unknown", &label, Some(&with("unknown", &[("revision", json!("unknown"))])));
    let names = ["bare", "copied", "renamed", "obsolete", "unknown"];
    let before = names.map(|it| space.get("configmap", it).unwrap());
    warned(&space, "one", "ignored");
    neighbour_works(&space);
    space.instance("Note", "one", &json!({ "value": "b" }));
    until("the instance goes on", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    space.ready("Note", "one");
    // Also by an operator that begins with them.
    operator.kill();
    operator.start();
    space.instance("Note", "one", &json!({ "value": "c" }));
    until("it goes on", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "c"));
    space.delete(&space.kind("Note"), "one");
    space.gone("configmap", "one");
    neighbour_works(&space);
    assert_eq!(names.map(|it| space.get("configmap", it).unwrap()), before, "nothing of them was touched");
}

#[test]
fn a_forged_claim_under_a_wanted_name_is_a_conflict_with_the_remedy() {
    let (space, _operator) = two("wanted");
    let (label, mut claim) = marks(&space.get("configmap", "one").unwrap());
    claim["object"] = json!(format!("{}/three", space.name));
    forge(&space, "three", &label, Some(&claim));
    space.instance("Note", "three", &json!({ "value": "a" }));
    // The label is that of another instance: whoever made the claim, it was not Pemdas.
    space.stalls("Note", "three", "was not written by Pemdas");
    warned(&space, "three", "ClaimInvalid");
    assert_eq!(space.get("configmap", "three").unwrap()["data"], json!({ "precious": "yes" }));
    space.delete("configmap", "three");
    space.ready("Note", "three");
}

#[test]
fn nobody_reclaims_the_seeds_of_a_living_instance() {
    let space = Space::new("reclaims");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", DB);
    space.runs("blueprint");
    space.instance("Db", "a", &json!({}));
    space.ready("Db", "a");
    let secret = space.get("secret", "a").unwrap();
    let (label, mut claim) = marks(&secret);
    // The label can be read on any object of the instance. The claim is edited for the attacker's own root and object.
    claim["root"]["name"] = json!("b");
    claim["object"] = json!(format!("{}/bait", space.name));
    forge(&space, "bait", &label, Some(&claim));
    space.apply(&json!({
        "apiVersion": format!("{}/v1", space.group), "kind": "Db",
        "metadata": { "name": "b", "annotations": { "pemdas.dev/reclaim": label } }, "spec": {},
    }));
    space.ready("Db", "b");
    let password = |name: &str| space.get("secret", name).unwrap()["data"]["password"].clone();
    assert_ne!(password("a"), password("b"));
    assert_eq!(password("a"), secret["data"]["password"]);
    let a = space.get(&space.kind("Db"), "a").unwrap();
    assert!(
        space.names("secret").iter().any(|it| it.contains("ledger") && it.contains(uid(&a))),
        "its ledger is left"
    );
    assert!(space.get("configmap", "bait").is_some());
}

#[test]
fn a_forged_ledger_is_not_believed() {
    let space = Space::new("forged-ledger");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", DB);
    space.runs("blueprint");
    for name in ["a", "b"] {
        space.instance("Db", name, &json!({}));
        space.ready("Db", name);
    }
    let uid_of = |name: &str| uid(&space.get(&space.kind("Db"), name).unwrap()).to_owned();
    let ledger = |name: &str| {
        let uid = uid_of(name);
        space
            .names("secret")
            .into_iter()
            .find(|it| it.contains("ledger") && it.contains(&uid))
            .expect("a ledger")
    };
    let of_a = space.get("secret", &ledger("a")).unwrap();
    // Another Secret with the label of the ledger: it is not the ledger.
    assert!(space.creates(&json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "my-ledger", "labels": of_a["metadata"]["labels"] }, "data": { "ledger": "e30=" },
    })));
    // The ledger of one instance, with its seal, put into that of another.
    space.merge("secret", &ledger("b"), &json!({ "data": of_a["data"] }));
    space.stalls("Db", "b", "ledger");
    space.instance("Db", "a", &json!({ "size": 2 }));
    space.ready("Db", "a");
    let password = |name: &str| space.get("secret", name).unwrap()["data"]["password"].clone();
    assert_ne!(password("a"), password("b"));
}

#[test]
fn without_its_key_the_operator_does_not_start_and_no_one_off_runs_again() {
    let space = Space::new("lost-key");
    let own = Space::new("lost-key-own");
    let mut operator = Plan::over(&[&space]).argument(format!("--operator-namespace={}", own.name)).start();
    space.blueprint("blueprint", TASK);
    space.runs("blueprint");
    space.instance("Task", "one", &json!({ "version": "1" }));
    space.ready("Task", "one");
    let jobs = space.names("job");
    for name in ["pemdas-key", "pemdas-seal"] {
        operator.stop();
        let kept = own.get("secret", name).expect("a key");
        own.delete("secret", name);
        let before = operator.writes();
        operator.start();
        until("it gives up", || (!operator.runs()).then_some(()));
        let log = operator.log();
        assert!(log.contains(name) && log.contains("is missing") && log.contains("restore"), "{log}");
        assert_eq!(operator.writes(), before, "nothing was written");
        own.apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": kept["data"],
        }));
        operator.start();
        space.delete("configmap", "one-after");
        until("it works again", || space.get("configmap", "one-after"));
        space.ready("Task", "one");
    }
    assert_eq!(space.names("job"), jobs, "nothing ran twice");
}

/// Every ConfigMap with a label is a root; what is made for it lies in the blueprint's namespace.
const READER: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "reader",
  nodes = {
    map = {
      root = { apiVersion = "v1", kind = "ConfigMap", selector.matchLabels."GROUP/read" = "yes" },
      also = ["copy"],
    },
    copy.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "%{the.root.metadata.name}-copy", namespace = "HOME" },
      data.password = the.seed,
    },
  },
} | Blueprint
"#;

#[test]
fn an_account_that_may_only_read_makes_pemdas_write_nothing() {
    let (home, victim) = (Space::poor("reader"), Space::new("read"));
    let account = home.account("default");
    home.allows(
        "write",
        &json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] }]),
        &account,
    );
    allow(
        &home,
        &[json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] })],
    );
    let operator = Plan::over(&[&home]).start();
    let map = |space: &Space| {
        let label = format!("{}/read", home.group);
        space.apply(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "target", "labels": { label: "yes" } },
        }));
    };
    map(&victim);
    let before = victim.get("configmap", "target").unwrap();
    home.blueprint("blueprint", &READER.replace("HOME", &home.name));
    home.runs("blueprint");
    // Where it may write, it works.
    map(&home);
    until("the copy is made", || home.get("configmap", "target-copy"));
    warned(&victim, "target", "forbidden");
    assert_eq!(victim.get("configmap", "target").unwrap(), before, "no finalizer");
    assert!(victim.names("secret").is_empty(), "no ledger");
    let written = operator.writes().into_iter().filter(|it| it.contains(&format!(" {} ", victim.name)));
    let refused = |it: &String| it.starts_with("patch ") && it.contains("configmaps target");
    assert!(written.clone().all(|it| refused(&it)), "{:?}", written.collect::<Vec<_>>());
}
