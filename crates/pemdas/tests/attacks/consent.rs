//! Accounts that do not let a blueprint act as them, or not any more.

use pemdas_testbed::audit::Request;
use serde_json::json;

use super::{
    bed::{binding, until},
    given::{OWNER, PLACED},
    input::NOTE,
    operators::{Operator, Plan, warned},
    space::Space,
};

/// A blueprint that names an account.
fn names(space: &Space, account: &str) {
    let source = NOTE.replace("GROUP", &space.group);
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "blueprint", "labels": { "pemdas.dev/blueprint": "" },
            "annotations": { "pemdas.dev/service-account": account },
        },
        "data": { "main.ncl": source },
    }));
}

/// It says that its account does not let it act, and how that is mended.
fn withheld(space: &Space) {
    let problem = until("it says what is missing", || {
        let told = space.told("blueprint")?;
        let problem = told["problems"].get(0).filter(|it| it["code"] == "PM0703")?.clone();
        told["revision"].is_null().then_some(problem)
    });
    let hint = problem["hint"].as_str().unwrap();
    assert!(hint.contains(&format!("-n {} pemdas.dev/blueprints=blueprint", space.name)), "{hint}");
}

/// What was written in the space, but for what is told on the blueprint.
fn writes(operator: &Operator, space: &Space) -> Vec<String> {
    let of_space = format!(" {} ", space.name);
    let told = "configmaps blueprint";
    operator.writes().into_iter().filter(|it| it.contains(&of_space) && !it.ends_with(told)).collect()
}

#[test]
fn nobody_acts_as_an_account_that_does_not_name_the_blueprint() {
    let space = Space::new("names");
    // An account with all rights, which somebody made for something else.
    space.apply(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "mighty" } }));
    space.apply(&binding(&format!("{}-mighty", space.name), "cluster-admin", &space.account("mighty")));
    let mut operator = Plan::over(&[&space]).start();
    for account in ["mighty", "missing"] {
        names(&space, account);
        withheld(&space);
        warned(&space, "blueprint", "PM0703");
    }
    space.lets("mighty", "another, blueprints");
    names(&space, "mighty");
    withheld(&space);
    let refused = |operator: &Operator| operator.log().matches("may not act as its ServiceAccount").count();
    let before = refused(&operator);
    operator.kill();
    operator.start();
    until("it is refused again", || (refused(&operator) > before).then_some(()));
    assert_eq!(writes(&operator, &space), [""; 0], "nothing was written");
    let as_it = operator.requests();
    let as_it =
        as_it.iter().filter(|it| it.impersonated.as_deref().is_some_and(|it| it.contains(&space.name)));
    assert_eq!(as_it.count(), 0, "nothing was even read");
    space.lets("mighty", "another, blueprint");
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
}

#[test]
fn an_account_that_takes_its_word_back_stops_its_blueprint_and_no_other() {
    let space = Space::new("back");
    let mut operator = Plan::over(&[&space]).start();
    names(&space, "default");
    space.blueprint("neighbour", &OWNER.replace("Common", "Friend"));
    space.runs("blueprint");
    space.runs("neighbour");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    let mut turn = 0;
    let mut neighbour_works = || {
        turn += 1;
        let name = format!("friend-{turn}");
        space.instance("Friend", &name, &json!({ "value": "a" }));
        space.ready("Friend", &name);
    };
    space.lets("default", "neighbour");
    withheld(&space);
    let of_blueprint = |operator: &Operator| {
        writes(operator, &space).into_iter().filter(|it| it.contains("note") || it.contains(" one")).count()
    };
    let before = of_blueprint(&operator);
    // Drift, changes, new instances: nothing of it is done, also not by a process that begins with it.
    space.merge("configmap", "one", &json!({ "data": { "value": "drift" } }));
    space.instance("Note", "two", &json!({ "value": "a" }));
    neighbour_works();
    operator.kill();
    operator.start();
    space.instance("Note", "one", &json!({ "value": "b" }));
    neighbour_works();
    withheld(&space);
    assert_eq!(of_blueprint(&operator), before, "{:?}", writes(&operator, &space));
    assert_eq!(space.get("configmap", "one").unwrap()["data"]["value"], "drift");
    space.lets("default", "neighbour,blueprint");
    until("it goes on", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    until("it makes what was missed", || space.get("configmap", "two"));
    space.delete(&space.kind("Note"), "one");
    space.gone("configmap", "one");
}

#[test]
fn nothing_is_written_for_a_blueprint_whose_account_is_gone() {
    let space = Space::new("homeless");
    let operator = Plan::over(&[&space]).start();
    space.lets("own", "blueprint");
    space.apply(&binding(&format!("{}-own", space.name), "cluster-admin", &space.account("own")));
    names(&space, "own");
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    // Its bindings stay: the API server would still let it do everything.
    space.delete("serviceaccount", "own");
    withheld(&space);
    let by_own = || {
        let own = |it: &Request| it.impersonated.as_deref().is_some_and(|it| it.ends_with(":own"));
        let changes = |it: &Request| !["get", "list", "watch"].contains(&it.verb.as_str());
        operator.requests().iter().filter(|it| own(it) && changes(it)).count()
    };
    let before = by_own();
    space.merge("configmap", "one", &json!({ "data": { "value": "drift" } }));
    space.instance("Note", "two", &json!({ "value": "a" }));
    // Under another account that lets it everything is taken up.
    names(&space, "default");
    until("it is mended", || space.get("configmap", "one").filter(|it| it["data"]["value"] == "a"));
    assert_eq!(by_own(), before);
    space.ready("Note", "two");
}

#[test]
fn a_namespace_ends_although_its_account_goes_before_its_instances() {
    let (home, other) = (Space::new("ending-home"), Space::new("ending-other"));
    let _operator = Plan::over(&[&home, &other]).start();
    home.blueprint("blueprint", PLACED);
    home.runs("blueprint");
    // What is made elsewhere is held by a finalizer of the root.
    home.instance("Note", "one", &json!({ "value": "a", "where": other.name }));
    home.ready("Note", "one");
    let root = home.get(&home.kind("Note"), "one").unwrap();
    assert!(root["metadata"]["finalizers"].is_array(), "{root}");
    Space::client().delete(&format!("/api/v1/namespaces/{}", home.name)).unwrap();
    until("the namespace is gone", || {
        Space::client().get(&format!("/api/v1/namespaces/{}", home.name)).ok()?.is_none().then_some(())
    });
}
