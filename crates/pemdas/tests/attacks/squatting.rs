//! Blueprints that claim kinds which their accounts cannot serve.

use serde_json::json;

use super::{
    bed::{condition, until},
    operators::{Operator, Plan},
    space::Space,
};

const NOTE: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "note",
  kinds.Note = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Note, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-NAME", data.v = the.root.spec.value,
    },
  },
} | Blueprint
"#;

/// A blueprint in one space of a kind in the group of another, whose definition it waits for.
fn claims(space: &Space, name: &str, of: &Space, account: &str) {
    space.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name, "labels": { "pemdas.dev/blueprint": "" },
            "annotations": { "pemdas.dev/crds": "await", "pemdas.dev/service-account": account },
        },
        "data": { "main.ncl": NOTE.replace("GROUP", &of.group).replace("NAME", name) },
    }));
}

/// Makes a CRD as a hand would: without a word of who made it.
fn definition(space: &Space) {
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "required": ["value"], "properties": { "value": { "type": "string" } } },
        "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    }});
    space.apply(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("notes.{}", space.group) },
        "spec": {
            "group": space.group, "scope": "Namespaced",
            "names": { "kind": "Note", "plural": "notes", "singular": "note", "listKind": "NoteList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    }));
}

/// Ages are counted in seconds: what is made from now on is younger than a blueprint.
fn a_second_younger(space: &Space, than: &str) {
    let made = space.get("configmap", than).unwrap()["metadata"]["creationTimestamp"].clone();
    until("a second has begun", || {
        space.map_of_a_hand("clock");
        let now = space.get("configmap", "clock")?["metadata"]["creationTimestamp"].clone();
        space.delete("configmap", "clock");
        (now != made).then_some(())
    });
}

fn note(of: &Space, at: &Space, name: &str) {
    at.apply(&json!({
        "apiVersion": format!("{}/v1", of.group), "kind": "Note",
        "metadata": { "name": name }, "spec": { "value": "a" },
    }));
}

fn served(space: &Space, name: &str) {
    until(&format!("{name} is served"), || space.get("configmap", name));
}

/// An older blueprint of a poor namespace, and then the owner of the kind.
fn two(about: &str, account: &str) -> (Space, Space, Operator) {
    let (squatter, owner) =
        (Space::poor(&format!("{about}-squatter")), Space::new(&format!("{about}-owner")));
    let operator = Plan::over(&[&squatter, &owner]).argument("--recheck=2".to_owned()).start();
    definition(&owner);
    claims(&squatter, "squatter", &owner, account);
    until("it is read", || squatter.told("squatter"));
    a_second_younger(&squatter, "squatter");
    claims(&owner, "owner", &owner, "default");
    // What differs between the CRD and the blueprint is told, and does no harm.
    until("it runs", || owner.told("owner").filter(|it| it["revision"].is_string()));
    (squatter, owner, operator)
}

#[test]
fn a_kind_is_not_held_by_an_account_that_is_not_there() {
    let (_squatter, owner, mut operator) = two("nobody", "nobody");
    note(&owner, &owner, "one");
    served(&owner, "one-owner");
    operator.kill();
    operator.start();
    note(&owner, &owner, "two");
    served(&owner, "two-owner");
    assert!(!owner.told("owner").unwrap()["definitions"].to_string().contains("belongs"));
}

#[test]
fn a_kind_is_not_held_by_an_account_without_rights() {
    let (squatter, owner, _operator) = two("rightless", "default");
    note(&owner, &owner, "one");
    served(&owner, "one-owner");
    let told = squatter.told("squatter").unwrap();
    assert!(told["missing"].to_string().contains("default may not list notes"), "{told}");
}

#[test]
fn a_kind_is_held_where_an_account_may_serve_it_and_nowhere_else() {
    let (squatter, owner, mut operator) = two("narrow", "default");
    let account = squatter.account("default");
    // It may look at everything, and write here alone.
    let look =
        json!([{ "apiGroups": [owner.group], "resources": ["notes"], "verbs": ["get", "list", "watch"] }]);
    super::given::allow(&squatter, look.as_array().unwrap());
    let all = json!({ "apiGroups": ["", owner.group], "resources": ["*"], "verbs": ["*"] });
    squatter.allows("all", &json!([all]), &account);
    note(&owner, &squatter, "here");
    served(&squatter, "here-squatter");
    note(&owner, &owner, "there");
    served(&owner, "there-owner");
    operator.kill();
    operator.start();
    note(&owner, &owner, "again");
    served(&owner, "again-owner");
    // Whoever comes first and may serve it everywhere has it. What another made goes with its root.
    super::given::allow(&squatter, &[all]);
    note(&owner, &owner, "later");
    served(&owner, "later-squatter");
    until("what is there is taken over", || owner.get("configmap", "there-squatter"));
    until("the owner is told", || {
        let told = owner.told("owner")?["definitions"][format!("notes.{}", owner.group)].clone();
        let belongs = format!("belongs to the blueprint {}/squatter", squatter.name);
        told.as_str().filter(|it| it.contains(&belongs)).map(str::to_owned)
    });
    owner.delete(&owner.kind("Note"), "there");
    owner.gone("configmap", "there-owner");
    owner.gone("configmap", "there-squatter");
    let later = owner.get(&owner.kind("Note"), "later").unwrap();
    assert_ne!(condition(&later, "Stalled")["status"], "True", "{later}");
}
