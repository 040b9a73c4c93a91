//! Operators that may not see the whole cluster, and rights that come and go.

use serde_json::{Value, json};

use super::{
    bed::until,
    given::{OWNER, PLACED, allow, listed_by, modest, reader},
    operators::Plan,
    space::Space,
};

/// What an operator needs that looks after the blueprints of one namespace.
fn needed(space: &Space) -> Value {
    json!([
        { "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"] },
        { "apiGroups": ["apps"], "resources": ["controllerrevisions"], "verbs": ["*"] },
        { "apiGroups": ["events.k8s.io", ""], "resources": ["events"], "verbs": ["*"] },
        { "apiGroups": [space.group], "resources": ["*"], "verbs": ["get", "patch", "update"] },
        { "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate", "list", "watch"] },
        { "apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"] },
    ])
}

#[test]
fn an_operator_of_chosen_namespaces_needs_rights_only_there() {
    let (one, two, not_chosen) = (modest("chosen-a"), modest("chosen-b"), modest("not-chosen"));
    let mut of_all = Plan::over(&[&one, &two, &not_chosen]).start();
    // The definitions are there: reading them is not a right of a namespace.
    for space in [&one, &two, &not_chosen] {
        space.blueprint("blueprint", PLACED);
        space.runs("blueprint");
    }
    of_all.kill();
    let account = one.account("operator");
    one.apply(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "operator" } }));
    for space in [&one, &two] {
        let mut rules = needed(space);
        // Without the right to patch roots at first.
        rules.as_array_mut().unwrap().retain(|it| it["apiGroups"] != json!([space.group]));
        space.allows("operator", &rules, &account);
    }
    let mut chosen = Plan::over(&[&one, &two]).argument(format!("--operator-namespace={}", one.name));
    chosen.account = Some((one.name.clone(), "operator".to_owned()));
    let mut operator = chosen.start();
    for space in [&one, &two] {
        space.instance("Note", "here", &json!({ "value": "a", "where": space.name }));
        let lacks = format!("Pemdas itself may not patch notes of {} in namespace", space.group);
        until("what Pemdas lacks is told", || {
            space.told("blueprint").filter(|it| it["missing"].to_string().contains(&lacks))
        });
        space.allows("operator", &needed(space), &account);
        until("it is made", || space.get("configmap", "here"));
        space.delete("configmap", "here");
        until("it is back", || space.get("configmap", "here"));
    }
    not_chosen.instance("Note", "here", &json!({ "value": "a", "where": not_chosen.name }));
    // A namespace that ends is noticed although namespaces cannot be watched.
    two.delete(&two.kind("Note"), "here");
    two.gone("configmap", "here");
    assert!(not_chosen.get("configmap", "here").is_none());
    operator.kill();
    of_all.start();
    not_chosen.ready("Note", "here");
}

#[test]
fn what_is_shared_is_taken_back_when_the_right_is() {
    let (owner, other) = (Space::new("back-owner"), Space::poor("back-other"));
    let _operator = Plan::over(&[&owner, &other]).argument("--recheck=2".to_owned()).start();
    let rules = |with: bool| {
        let groups = if with { json!([other.group, owner.group]) } else { json!([other.group]) };
        vec![
            json!({ "apiGroups": groups, "resources": ["*"], "verbs": ["*"] }),
            json!({ "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"] }),
            json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] }),
        ]
    };
    allow(&other, &rules(true));
    owner.blueprint("blueprint", &OWNER.replace("Common", "Lent"));
    owner.runs("blueprint");
    owner.instance("Lent", "one", &json!({ "value": "a" }));
    owner.ready("Lent", "one");
    other.blueprint("blueprint", &reader(&owner).replace("Common", "Lent"));
    other.runs("blueprint");
    other.instance("Copy", "copy", &json!({ "name": "one" }));
    other.ready("Copy", "copy");
    allow(&other, &rules(false));
    until("it is not shown any more", || {
        let copy = other.get(&other.kind("Copy"), "copy")?;
        copy["status"].to_string().contains("may not be listed").then_some(())
    });
    owner.instance("Lent", "one", &json!({ "value": "b" }));
    owner.ready("Lent", "one");
    until("the owner sees it", || owner.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    assert_eq!(other.get("configmap", "copy").unwrap()["data"]["value"], "a");
    allow(&other, &rules(true));
    until("it is shown again", || other.get("configmap", "copy").filter(|it| it["data"]["value"] == "b"));
    assert_eq!(listed_by("lents").len(), 1, "still one watch");
}
