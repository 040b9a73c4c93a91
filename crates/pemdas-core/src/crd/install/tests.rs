#![allow(clippy::needless_pass_by_value, reason = "literals of JSON read better without borrows")]

use serde_json::{Value, json};

use super::{Maker, Policy, Verdict, judge, published, serves};

fn maker(ordinal: u64) -> Maker {
    Maker { blueprint: "ns/one".to_owned(), uid: "u1".to_owned(), ordinal, version: "0.10.0".to_owned() }
}

fn draft(fields: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": fields },
                } } },
            }],
        },
    })
}

fn a() -> Value {
    draft(json!({ "a": { "type": "string" } }))
}

fn a_and_b() -> Value {
    draft(json!({ "a": { "type": "string" }, "b": { "type": "string" } }))
}

/// As the API server has it after it was applied.
fn live(draft: &Value, made_by: Option<&Maker>) -> Value {
    let mut live = made_by.map_or_else(|| draft.clone(), |it| published(draft, it));
    live["metadata"]["uid"] = json!("c");
    live["metadata"]["resourceVersion"] = json!("7");
    live["status"] = json!({ "conditions": [
        { "type": "NamesAccepted", "status": "True" }, { "type": "Established", "status": "True" },
    ] });
    live
}

fn create(draft: &Value, live: Option<&Value>, maker: &Maker) -> Verdict {
    judge(Policy::Create, draft, live, maker)
}

#[test]
fn what_is_missing_is_made_or_waited_for() {
    let Verdict::Create(body) = create(&a(), None, &maker(1)) else { panic!() };
    assert_eq!(body["metadata"]["resourceVersion"], "1", "it creates, or changes nothing");
    assert!(matches!(judge(Policy::Await, &a(), None, &maker(1)), Verdict::Wait(_)));
    assert!(matches!(judge(Policy::Publish, &a(), None, &maker(1)), Verdict::Wait(_)));
}

#[test]
fn what_we_made_is_left_alone_also_by_a_restart() {
    let there = live(&a(), Some(&maker(1)));
    assert_eq!(create(&a(), Some(&there), &maker(1)), Verdict::Usable(vec![]));
    assert_eq!(create(&a(), Some(&there), &maker(2)), Verdict::Usable(vec![]), "the same draft again");
}

#[test]
fn a_compatible_change_is_made_over_exactly_what_was_judged() {
    let there = live(&a(), Some(&maker(1)));
    let Verdict::Change(body) = create(&a_and_b(), Some(&there), &maker(2)) else { panic!() };
    assert_eq!(body["metadata"]["resourceVersion"], "7");
    assert_eq!(body["metadata"]["uid"], "c");
    let unmarked = live(&a(), None);
    assert!(matches!(create(&a_and_b(), Some(&unmarked), &maker(1)), Verdict::Change(_)));
}

#[test]
fn an_incompatible_change_is_refused_with_the_reason() {
    let there = live(&a_and_b(), Some(&maker(1)));
    let Verdict::Refused(why) = create(&a(), Some(&there), &maker(2)) else { panic!() };
    assert_eq!(why, ["v1 spec.b: the field is gone (needs a new version and a conversion)"]);
}

#[test]
fn a_definition_serves_what_it_keeps_as_it_is() {
    let with = |b: Value| draft(json!({ "a": { "type": "string" }, "b": b }));
    let required = |draft: Value| {
        let mut draft = draft;
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
        draft.pointer_mut(spec).unwrap()["required"] = json!(["b"]);
        draft
    };
    let plain = || with(json!({ "type": "string" }));
    assert!(serves(&a(), &live(&a(), None)));
    assert!(serves(&a(), &live(&plain(), None)), "nobody has to set it");
    assert!(serves(&required(plain()), &live(&plain(), None)), "the contract alone asks for it");
    assert!(!serves(&plain(), &live(&a(), None)), "it is dropped");
    assert!(!serves(&required(plain()), &live(&a(), None)), "it is required, and dropped");
    assert!(!serves(&a(), &live(&required(plain()), None)), "it has to be set, and must not be");
    let defaulted = with(json!({ "type": "string", "default": "x" }));
    assert!(!serves(&a(), &live(&defaulted, None)), "it is there again after each write");
    let short = with(json!({ "type": "string", "maxLength": 3 }));
    assert!(serves(&short, &live(&plain(), None)) && !serves(&plain(), &live(&short, None)));
    let mut unserved = live(&a(), None);
    unserved["spec"]["versions"][0]["served"] = json!(false);
    assert!(!serves(&a(), &unserved));
}

#[test]
fn an_older_revision_or_binary_never_writes_back() {
    let there = live(&a_and_b(), Some(&maker(5)));
    let Verdict::Usable(told) = create(&a(), Some(&there), &maker(4)) else { panic!() };
    assert!(told[0].contains("revision 4 is older"), "{told:?}");
    let old = Maker { version: "0.9.3".to_owned(), ..maker(6) };
    let Verdict::Usable(told) = create(&a(), Some(&there), &old) else { panic!() };
    assert!(told[0].contains("Pemdas 0.9.3"), "0.10 is newer than 0.9: {told:?}");
    // Revisions of a ConfigMap that was made anew count from the beginning: then only compatibility decides.
    let anew = Maker { uid: "u2".to_owned(), ..maker(1) };
    let there = live(&a(), Some(&maker(5)));
    assert!(matches!(create(&a_and_b(), Some(&there), &anew), Verdict::Change(_)));
}

#[test]
fn a_kind_belongs_to_one_blueprint() {
    let there = live(&a(), Some(&Maker { blueprint: "ns/other".to_owned(), ..maker(1) }));
    for policy in [Policy::Create, Policy::Await, Policy::Publish] {
        let Verdict::Anothers(why) = judge(policy, &a(), Some(&there), &maker(1)) else { panic!() };
        assert_eq!(why, "the kind of things.example.com belongs to the blueprint ns/other");
    }
}

#[test]
fn what_a_hand_added_is_told_and_left() {
    let mut there = live(&a(), Some(&maker(1)));
    *there.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a").unwrap() =
        json!({ "type": "string", "maxLength": 3 });
    let Verdict::Usable(told) = create(&a(), Some(&there), &maker(1)) else { panic!() };
    assert!(told[0].contains("spec.a") && told[0].contains("only the API server"), "{told:?}");
}

#[test]
fn an_awaited_definition_has_to_serve_what_is_needed() {
    let awaited = |live: &Value| judge(Policy::Await, &a(), Some(live), &maker(1));
    assert_eq!(awaited(&live(&a(), None)), Verdict::Usable(vec![]));
    let Verdict::Usable(told) = awaited(&live(&a_and_b(), None)) else { panic!() };
    assert_eq!(told.len(), 1, "{told:?}");
    let mut unserved = live(&a(), None);
    unserved["spec"]["versions"][0]["name"] = json!("v2");
    assert_eq!(awaited(&unserved), Verdict::Wait("its version v1 is not served".to_owned()));
    let mut cluster = live(&a(), None);
    cluster["spec"]["scope"] = json!("Cluster");
    assert_eq!(
        awaited(&cluster),
        Verdict::Refused(vec!["its scope is Cluster, and has to be Namespaced".to_owned()])
    );
}

#[test]
fn nothing_is_usable_before_the_api_server_says_so() {
    let mut there = live(&a(), Some(&maker(1)));
    there["status"] = json!({ "conditions": [{ "type": "NamesAccepted", "status": "True" }] });
    assert!(matches!(create(&a(), Some(&there), &maker(1)), Verdict::Wait(_)));
    there["status"] = json!({ "conditions": [
        { "type": "NamesAccepted", "status": "False", "message": "\"things\" is already in use" },
    ] });
    let Verdict::Refused(why) = create(&a(), Some(&there), &maker(1)) else { panic!() };
    assert!(why[0].contains("already in use"), "{why:?}");
}

#[test]
fn a_definition_that_goes_is_still_its_owners() {
    for policy in [Policy::Create, Policy::Await, Policy::Publish] {
        let mut there = live(&a(), Some(&maker(1)));
        there["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let Verdict::Going(why) = judge(policy, &a(), Some(&there), &maker(1)) else { panic!("{policy:?}") };
        assert!(why.contains("being deleted"), "{why}");
        let other = Maker { blueprint: "team/other".to_owned(), ..maker(1) };
        assert!(matches!(judge(policy, &a(), Some(&there), &other), Verdict::Anothers(_)), "{policy:?}");
    }
}

#[test]
fn a_mark_that_a_hand_spoilt_counts_as_none() {
    let mut there = live(&a(), Some(&maker(1)));
    there["metadata"]["annotations"] = json!({ super::MAKER_ANNOTATION: "{]" });
    assert!(matches!(create(&a(), Some(&there), &maker(1)), Verdict::Change(_)), "it is written anew");
}
