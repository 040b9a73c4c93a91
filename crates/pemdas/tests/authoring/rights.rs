//! The roles that `pemdas rbac` writes. That an example runs its whole life with them is what the tests of the examples' pages show:
//! the account of each has what is compared here, and nothing else. On a real API server: any rule that is taken
//! away is told by name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::{Duration, Instant},
};

use pemdas_core::{
    graph::Graph,
    program::{Program, Revision},
    rights::{GIVEN, Setting, rights},
};
use pemdas_kube::{
    access::{Access, Permission, permissions},
    connect::{Target, connect},
    identity::Identity,
};
use pemdas_nickel::{Limits, Sources, outline};
use serde_json::{Value, json};

use super::{cluster, examples, name, pemdas};

fn rbac(example: &Path, arguments: &[&str]) -> String {
    pemdas("rbac", example, arguments)
}

#[test]
fn the_accounts_of_the_examples_have_what_is_written_and_no_more() {
    for example in examples() {
        let access = fs::read_to_string(example.join("access.yaml")).unwrap();
        let name = name(&example);
        assert_eq!(rbac(&example, &[]), access, "`pemdas rbac examples/{name}` writes its access.yaml");
        // Both forms are the same objects.
        let read: Vec<Value> = serde_saphyr::from_multiple(&access).unwrap();
        let list: Value = serde_json::from_str(&rbac(&example, &["-o", "json"])).unwrap();
        assert_eq!(json!(read), list["items"], "{name}");
    }
}

#[test]
fn what_is_left_out_is_what_pemdas_has_anyway() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/pemdas.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&fs::read_to_string(manifest).unwrap()).unwrap();
    let base = objects.iter().find(|it| it["metadata"]["name"] == "pemdas-base").unwrap();
    for (group, resource) in GIVEN {
        let has = |field: &str, rule: &Value, wanted: &str| {
            rule[field].as_array().unwrap().iter().any(|it| it == wanted)
        };
        let given = base["rules"].as_array().unwrap().iter().any(|it| {
            has("apiGroups", it, group) && has("resources", it, resource) && has("verbs", it, "patch")
        });
        assert!(given, "{group}/{resource}");
    }
}

/// What the account of an example is asked about when its blueprint runs.
fn wanted(example: &Path) -> BTreeMap<Permission, bool> {
    let mut sources = Sources::new();
    for entry in fs::read_dir(example).unwrap().map(|it| it.unwrap().path()) {
        if entry.extension().is_some_and(|it| it == "ncl") {
            sources = sources.with(name(&entry), fs::read_to_string(&entry).unwrap());
        }
    }
    let blueprint = outline::load(&sources, &Limits::default()).1.blueprint.unwrap();
    let (graph, _) = Graph::of(&blueprint);
    let revision = Revision { name: String::new(), ordinal: 0 };
    let program = |root: &String| Program::new(blueprint.clone(), &graph, root, revision.clone()).unwrap();
    let programs: Vec<_> = graph.roots.iter().map(program).collect();
    permissions(&rights(&programs, Setting::default(), &|_, _| None).account, "default")
}

/// A name that is in no example.
const SOMEBODY: &str = "somebody";

/// The questions that a rule answers.
fn answers(rule: &Value, permission: &Permission) -> bool {
    let has =
        |field: &str, wanted: &str| rule[field].as_array().is_some_and(|it| it.iter().any(|it| it == wanted));
    has("apiGroups", &permission.group)
        && has("resources", &permission.resource)
        && has("verbs", &permission.verb)
        && (rule["resourceNames"].is_null()
            || permission.name.as_ref().is_some_and(|it| has("resourceNames", it)))
}

/// Where the whole cluster is not given and a namespace would suffice, the namespace is named.
fn told_as(permission: &Permission, wanted: &BTreeMap<Permission, bool>) -> Permission {
    let namespace = wanted[permission].then(|| "default".to_owned());
    Permission { namespace, ..permission.clone() }
}

/// What was written for an account of another name, without one rule of its role; the rule as well.
fn without(written: &str, account: &str, taken: Option<usize>) -> Option<(Vec<Value>, Option<Value>)> {
    let mut list: Value = serde_json::from_str(&written.replace(SOMEBODY, account)).unwrap();
    let items = list["items"].as_array_mut().unwrap();
    items.truncate(3);
    assert_eq!(items[1]["kind"], "ClusterRole");
    let rules = items[1]["rules"].as_array_mut().unwrap();
    let rule = match taken {
        Some(taken) if taken < rules.len() => Some(rules.remove(taken)),
        Some(_) => return None,
        None => None,
    };
    Some((items.clone(), rule))
}

#[test]
fn each_rule_that_is_taken_away_is_told_by_name() {
    // By account: what it is asked about, and what it lacks.
    let mut cases: BTreeMap<String, (BTreeMap<Permission, bool>, BTreeSet<Permission>)> = BTreeMap::new();
    for example in examples() {
        let wanted = wanted(&example);
        let written = rbac(&example, &["-o", "json", "--name", SOMEBODY]);
        let mut objects = Vec::new();
        for taken in std::iter::once(None).chain((0..).map(Some)) {
            let account =
                format!("{}-{}", name(&example), taken.map_or("all".to_owned(), |it| it.to_string()));
            let Some((items, rule)) = without(&written, &account, taken) else { break };
            objects.extend(items);
            let taken_away = |it: &&Permission| rule.as_ref().is_some_and(|rule| answers(rule, it));
            let lacks: BTreeSet<_> =
                wanted.keys().filter(taken_away).map(|it| told_as(it, &wanted)).collect();
            assert_eq!(lacks.is_empty(), taken.is_none(), "a rule that nobody asks for: {rule:?}");
            cases.insert(account, (wanted.clone(), lacks));
        }
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        cluster().apply(&list.to_string()).unwrap();
    }
    assert!(cases.len() > 40, "{}", cases.len());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let target = Target { kubeconfig: Some(cluster().kubeconfig().to_owned()), context: None };
        let access = Access::new(connect(&target).await.unwrap().client);
        for (account, (wanted, lacks)) in cases {
            let who = Identity::Account { namespace: "default".to_owned(), name: account.clone() };
            let started = Instant::now();
            loop {
                let namespaces = BTreeSet::from(["default".to_owned()]);
                let review = access.review_within(&who, &wanted, &namespaces).await.review;
                // The API server learns of new roles within moments.
                if is_told(&review.sentences(&who), &account, &lacks) {
                    break;
                }
                assert!(
                    started.elapsed() < Duration::from_secs(120),
                    "{account} lacks {lacks:?}: {review:?}"
                );
                access.forget(&who);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    });
}

/// Whether exactly this is told.
fn is_told(told: &[String], account: &str, lacks: &BTreeSet<Permission>) -> bool {
    let words = lacks.iter().map(|it| format!("ServiceAccount default/{account} may not {it}"));
    words.collect::<BTreeSet<_>>() == told.iter().cloned().collect()
}
