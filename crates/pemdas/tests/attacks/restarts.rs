//! Operators that end and begin again: what the last one knew is found, and nothing is done that was done.

use serde_json::json;

use super::{
    bed::until,
    given::{FAN_OUT, note},
    operators::Plan,
    space::Space,
};

#[test]
fn a_broken_revision_leaves_the_last_good_one_running() {
    let space = Space::new("broken");
    let mut operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", &note("{ v = the.root.spec.value }"));
    let good = space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    space.blueprint("blueprint", &note("{ v = the.roott.spec.value }"));
    let told = until("the errors are told", || {
        space.told("blueprint").filter(|it| it["problems"].as_array().is_some_and(|it| !it.is_empty()))
    });
    assert_eq!(told["revision"], good["revision"]);
    let problem = &told["problems"][0];
    assert!(problem["place"].as_str().unwrap().starts_with("main.ncl:"), "{problem}");
    assert!(problem["code"].as_str().unwrap().starts_with("PM"), "{problem}");
    space.instance("Note", "two", &json!({ "value": "b" }));
    space.ready("Note", "two");
    // Also after a restart.
    operator.kill();
    operator.start();
    space.instance("Note", "three", &json!({ "value": "c" }));
    space.ready("Note", "three");
    assert_eq!(space.get("configmap", "three").unwrap()["data"], json!({ "v": "c" }));
    // Mended, it takes over at once.
    space.blueprint("blueprint", &note("{ v = the.root.spec.value, more = \"yes\" }"));
    for name in ["one", "two", "three"] {
        until("the new revision is applied", || {
            space.get("configmap", name).filter(|it| it["data"]["more"] == "yes")
        });
    }
    let told = until("it is told", || {
        space.told("blueprint").filter(|it| it["ordinal"].as_u64() > good["ordinal"].as_u64())
    });
    assert_eq!(told["problems"], json!([]));
}

#[test]
fn a_revision_that_cannot_be_kept_leaves_the_last_good_one_running() {
    let space = Space::new("unkept");
    let mut operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", &note("{ v = the.root.spec.value }"));
    let good = space.runs("blueprint");
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "quota" },
        "spec": { "hard": { "count/controllerrevisions.apps": "1" } },
    }));
    until("the quota is counted", || {
        let used = space.get("resourcequota", "quota")?["status"]["used"].clone();
        (used["count/controllerrevisions.apps"] == "1").then_some(())
    });
    space.blueprint("blueprint", &note("{ v = the.root.spec.value, more = \"yes\" }"));
    let unkept = || {
        space.told("blueprint").filter(|it| {
            let problem = &it["problems"][0];
            problem["code"] == "PM0511" && problem["message"].as_str().unwrap().contains("quota")
        })
    };
    assert_eq!(until("it is told", unkept)["revision"], good["revision"]);
    // Also after a restart.
    operator.kill();
    operator.start();
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    assert_eq!(space.get("configmap", "one").unwrap()["data"], json!({ "v": "a" }));
    assert_eq!(until("it is told", unkept)["revision"], good["revision"]);
    space.delete("resourcequota", "quota");
    until("the new revision is applied", || {
        space.get("configmap", "one").filter(|it| it["data"]["more"] == "yes")
    });
    until("nothing is told any more", || space.told("blueprint").filter(|it| it["problems"] == json!([])));
}

#[test]
fn definitions_of_others_cost_nothing() {
    let space = Space::new("others");
    let mut operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", FAN_OUT);
    space.runs("blueprint");
    space.instance("Fan", "one", &json!({ "value": "a" }));
    space.ready("Fan", "one");
    let others: Vec<_> =
        (0..30).map(|at| (format!("other{at}s.{}", space.group), format!("other{at}"))).collect();
    let definitions: Vec<_> = others.iter().map(|(name, kind)| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": name },
            "spec": {
                "group": space.group, "scope": "Namespaced",
                "names": { "plural": format!("{kind}s"), "singular": kind, "kind": kind.to_uppercase() },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                }],
            },
        })
    }).collect();
    let before = operator.requests().len();
    space.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": definitions }));
    operator.kill();
    operator.start();
    space.delete("service", "one");
    until("it works again", || space.get("service", "one"));
    space.settles("Fan", |turn| json!({ "value": turn }));
    let since = operator.requests().split_off(before);
    assert!(!since.is_empty(), "it was started anew");
    for request in since {
        assert!(!request.resource.starts_with("other"), "{request:?}");
        let of_all = request.resource == "customresourcedefinitions" && request.name.is_none();
        assert!(!of_all, "it asks for those that it needs: {request:?}");
    }
    for (name, _) in &others {
        space.delete_soon("crd", name);
    }
}
