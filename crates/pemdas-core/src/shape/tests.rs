use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Contracts, Live, MAX_REASONS, MAX_SHAPE_DEPTH, SHAPE_TAG, Shape, ShapeError};
use crate::truth::Truth;

fn shape(data: &Value) -> Shape {
    Shape::from_value(data).expect("a shape")
}

/// The judgement and its reasons, as people read them.
fn judged(want: &Value, object: &Value) -> (Truth, String) {
    let judgement = shape(want).judge(Live::Present(object));
    (judgement.truth, judgement.to_string())
}

#[track_caller]
fn holds(want: &Value, object: &Value) {
    assert_eq!(judged(want, object), (Truth::True, "holds".to_owned()));
}

#[track_caller]
fn fails(want: &Value, object: &Value, why: &str) {
    assert_eq!(judged(want, object), (Truth::False, why.to_owned()));
}

#[track_caller]
fn unknown(want: &Value, object: &Value, why: &str) {
    assert_eq!(judged(want, object), (Truth::Unknown, why.to_owned()));
}

fn tag(name: &str) -> Value {
    json!({ SHAPE_TAG: name })
}

#[test]
fn a_record_means_at_least_this_at_every_level() {
    let live = json!({ "status": { "applied": "3", "other": 1, "deep": { "x": true, "y": 2 } }, "spec": {} });
    holds(&json!({ "status": { "applied": "3", "deep": { "x": true } } }), &live);
    holds(&json!({}), &live);
    fails(&json!({ "status": { "applied": "4" } }), &live, "status.applied is \"3\", wants \"4\"");
    fails(
        &json!({ "status": { "applied": "4", "deep": { "z": 1 } } }),
        &live,
        "status.applied is \"3\", wants \"4\"; status.deep.z is missing, wants 1",
    );
    fails(&json!({ "status": { "applied": { "x": 1 } } }), &live, "status.applied is \"3\", wants x = 1");
    fails(&json!({ "gone": { "x": 1 } }), &live, "gone is missing, wants x = 1");
}

#[test]
fn numbers_are_compared_by_what_they_mean() {
    holds(&json!({ "n": 3.0 }), &json!({ "n": 3 }));
    holds(&json!({ "n": [1.0, { "x": 2.0 }] }), &json!({ "n": [1, { "x": 2, "more": 1 }] }));
    let at_least = |value: Value| json!({ "n": { SHAPE_TAG: "at_least", "value": value } });
    holds(&at_least(json!(2)), &json!({ "n": 2 }));
    fails(&at_least(json!(2)), &json!({ "n": 1 }), "n is 1, wants at least 2");
    fails(&at_least(json!(2)), &json!({}), "n is missing, wants at least 2");
    fails(&at_least(json!(2)), &json!({ "n": "many" }), "n is \"many\", wants at least 2");
    holds(&at_least(json!("1Gi")), &json!({ "n": "2048Mi" }));
    fails(&at_least(json!("1Gi")), &json!({ "n": "1G" }), "n is \"1G\", wants at least \"1Gi\"");
    let with = |name: &str| json!({ "n": { SHAPE_TAG: name, "value": 2 } });
    for (name, one, two, three) in [
        ("at_least", false, true, true),
        ("at_most", true, true, false),
        ("more_than", false, false, true),
        ("less_than", true, false, false),
    ] {
        for (n, expected) in [(1, one), (2, two), (3, three)] {
            assert_eq!(judged(&with(name), &json!({ "n": n })).0, expected.into(), "{name} {n}");
        }
    }
}

#[test]
fn lists_strings_and_choices() {
    let one_of = json!({ "p": { SHAPE_TAG: "one_of", "values": ["a", 2] } });
    holds(&one_of, &json!({ "p": 2 }));
    fails(&one_of, &json!({ "p": "c" }), "p is \"c\", wants one of \"a\", 2");
    let matches = json!({ "p": { SHAPE_TAG: "matches", "pattern": "^v[0-9]+$" } });
    holds(&matches, &json!({ "p": "v12" }));
    fails(&matches, &json!({ "p": "v1x" }), "p is \"v1x\", wants a match of /^v[0-9]+$/");
    fails(&matches, &json!({ "p": 1 }), "p is 1, wants a match of /^v[0-9]+$/");
    fails(&json!({ "l": [1] }), &json!({ "l": [1, 2] }), "l is a list of 2, wants a list of 1");
    fails(&json!({ "l": [1, 3] }), &json!({ "l": [1, 2] }), "l[1] is 2, wants 3");
    let some = json!({ "l": { SHAPE_TAG: "some", "item": { "ip": tag("Any") } } });
    holds(&some, &json!({ "l": [{}, { "ip": "1.1.1.1" }] }));
    fails(&some, &json!({ "l": [{}] }), "l is a list of 1, wants some item: ip present");
    fails(&some, &json!({ "l": [] }), "l is [], wants some item: ip present");
    let every = json!({ "l": { SHAPE_TAG: "every", "item": { SHAPE_TAG: "at_most", "value": 2 } } });
    holds(&every, &json!({ "l": [1, 2] }));
    holds(&every, &json!({ "l": [] }));
    fails(&every, &json!({ "l": [1, 3] }), "l[1] is 3, wants at most 2");
    fails(&every, &json!({ "l": {} }), "l is {}, wants every item: at most 2");
}

#[test]
fn presence_and_absence() {
    holds(&json!({ "x": tag("Any") }), &json!({ "x": 0 }));
    fails(&json!({ "x": tag("Any") }), &json!({ "x": null }), "x is missing, wants present");
    holds(&json!({ "x": tag("Absent") }), &json!({ "x": null }));
    fails(&json!({ "x": tag("Absent") }), &json!({ "x": 1 }), "x is 1, wants absent");
    holds(&json!({ "x": null }), &json!({}));
    assert_eq!(Shape::Absent.judge(Live::Absent).truth, Truth::True);
    assert_eq!(Shape::Any.judge(Live::Absent).to_string(), "the object is missing, wants present");
    assert_eq!(Shape::Ready.judge(Live::Absent).to_string(), "the object is missing, wants Ready");
    for shape in [Shape::Any, Shape::Absent, Shape::Not(Box::new(Shape::Any))] {
        assert_eq!(shape.judge(Live::Unknown("not synced")).truth, Truth::Unknown, "{shape:?}");
    }
}

#[test]
fn logic_is_three_valued() {
    let contract = json!({ SHAPE_TAG: "contract", "path": ["nodes", "a", "ready"] });
    let yes = json!({ "a": 1 });
    let no = json!({ "a": 2 });
    let live = json!({ "a": 1 });
    let all = |shapes: Value| json!({ SHAPE_TAG: "all_of", "shapes": shapes });
    let any = |shapes: Value| json!({ SHAPE_TAG: "any_of", "shapes": shapes });
    let not = |shape: &Value| json!({ SHAPE_TAG: "not", "shape": shape });
    holds(&all(json!([])), &live);
    fails(&all(json!([yes, contract, no])), &live, "a is 1, wants 2");
    unknown(&all(json!([yes, contract])), &live, "the object is not evaluated yet, wants nodes.a.ready");
    holds(&any(json!([no, contract, yes])), &live);
    unknown(&any(json!([no, contract])), &live, "the object is not evaluated yet, wants nodes.a.ready");
    fails(&any(json!([no, { "b": 1 }])), &live, "a is 1, wants 2; b is missing, wants 1");
    holds(&not(&no), &live);
    fails(&not(&yes), &live, "a is 1, wants not 1");
    fails(
        &not(&json!({ "a": 1, "b": tag("Absent") })),
        &live,
        "the object is a record {a}, wants not (a = 1, b absent)",
    );
    unknown(&not(&contract), &live, "the object is not evaluated yet, wants nodes.a.ready");
}

#[test]
fn contracts_are_judged_by_what_the_evaluator_said() {
    struct Said(Result<(), String>);
    impl Contracts for Said {
        fn judge(&self, contract: &[String], value: &Value) -> Option<Result<(), String>> {
            (contract == ["c"] && value == &json!(5)).then(|| self.0.clone())
        }
    }
    let want = shape(&json!({ "n": { SHAPE_TAG: "contract", "path": ["c"] } }));
    let live = json!({ "n": 5 });
    let judge = |said| want.judge_with(Live::Present(&live), &Said(said));
    assert_eq!(judge(Ok(())).truth, Truth::True);
    assert_eq!(judge(Err("not even".to_owned())).to_string(), "n is 5 (not even), wants what c says");
}

#[test]
fn ready_made_shapes() {
    let with = |conditions: Value| json!({ "metadata": { "generation": 2 }, "status": { "conditions": conditions } });
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "reason": "Why" });
    holds(&tag("Available"), &with(json!([condition("Available", "True")])));
    fails(
        &tag("Available"),
        &with(json!([condition("Available", "False")])),
        "status.conditions[Available] is \"False\" (Why), wants \"True\"",
    );
    holds(&tag("Complete"), &with(json!([condition("Complete", "True")])));
    holds(&tag("Complete"), &json!({ "status": { "phase": "Succeeded" } }));
    holds(&tag("Failed"), &with(json!([condition("Failed", "True")])));
    holds(&tag("Failed"), &json!({ "apiVersion": "v1", "kind": "Pod", "status": { "phase": "Failed" } }));
    holds(&tag("Failed"), &with(json!([condition("Stalled", "True")])));
    fails(
        &tag("Finished"),
        &with(json!([])),
        "status.conditions[Complete] is missing, wants \"True\"; status.conditions[Failed] is missing, wants \"True\"",
    );
    holds(&tag("Finished"), &with(json!([condition("Failed", "True")])));
    holds(&tag("Bound"), &json!({ "status": { "phase": "Bound" } }));
    fails(&tag("Bound"), &json!({ "status": {} }), "status.phase is missing, wants \"Bound\"");
    fails(
        &tag("Ready"),
        &json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": { "phase": "Pending" } }),
        "status.phase is \"Pending\", wants \"Bound\"",
    );
    let quiet =
        json!({ SHAPE_TAG: "condition", "type": "Degraded", "status": "False", "reason": "AsExpected" });
    fails(
        &quiet,
        &with(json!([condition("Degraded", "False")])),
        "status.conditions[Degraded] is \"False\" (Why), wants \"False\" (AsExpected)",
    );
    // What is said of an older generation is neither true nor false.
    let old = json!({ "type": "Failed", "status": "True", "observedGeneration": 1 });
    let said = "status.conditions[Failed] is of generation 1, wants generation 2";
    unknown(&tag("Failed"), &with(json!([old])), said);
    unknown(&json!({ SHAPE_TAG: "not", "shape": tag("Failed") }), &with(json!([old])), said);
}

#[test]
fn a_collection_is_of_a_shape_when_every_member_is() {
    let members: BTreeMap<_, _> =
        [("ns/a", 1), ("ns/b", 2)].map(|(key, n)| (key.to_owned(), json!({ "n": n }))).into();
    let judgement = shape(&json!({ "n": 1 })).judge_members(&members);
    assert_eq!((judgement.truth, judgement.to_string().as_str()), (Truth::False, "[ns/b].n is 2, wants 1"));
    assert_eq!(shape(&json!({ "n": 1 })).judge_members(&BTreeMap::new()).truth, Truth::True);
}

#[test]
fn reasons_and_texts_are_bounded() {
    let many: BTreeMap<_, _> = (0..50).map(|i| (format!("f{i:02}"), json!("x"))).collect();
    let judgement = shape(&json!(many)).judge(Live::Present(&json!({})));
    assert_eq!((judgement.why.len(), judgement.left_out), (MAX_REASONS, 50 - MAX_REASONS));
    assert!(judgement.to_string().ends_with("; and 42 more"), "{judgement}");
    let long = "y".repeat(1_000_000);
    let text = judged(&json!({ "a": "x" }), &json!({ "a": long })).1;
    assert!(text.len() < 200, "{} bytes", text.len());
    let text = judged(&json!({ "a": long }), &json!({ "a": "x" })).1;
    assert!(text.len() < 200, "{} bytes", text.len());
}

#[test]
fn what_is_no_shape_is_refused() {
    let error = |data: Value| Shape::from_value(&data).expect_err("no shape").to_string();
    assert_eq!(error(tag("Reddy")), "there is no shape \"Reddy\"");
    assert_eq!(error(json!({ SHAPE_TAG: 3 })), "there is no shape \"3\"");
    assert_eq!(error(tag("condition")), "the shape \"condition\" wants `type`: a string");
    assert_eq!(
        error(json!({ SHAPE_TAG: "at_least", "value": "many" })),
        "the shape \"at_least\" wants `value`: a number, or a quantity such as \"10Gi\""
    );
    assert_eq!(
        error(json!({ SHAPE_TAG: "matches", "pattern": "(" })),
        "the shape \"matches\" wants `pattern`: a regular expression of modest size"
    );
    let mut deep = json!(1);
    for _ in 0..=MAX_SHAPE_DEPTH {
        deep = json!({ "x": deep });
    }
    assert_eq!(Shape::from_value(&deep), Err(ShapeError::TooDeep));
    assert_eq!(Shape::from_value(&json!(vec![0; 20_000])), Err(ShapeError::TooLarge));
}

#[test]
fn the_paths_a_shape_reads() {
    let reads = |data: Value| shape(&data).reads().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(reads(json!({ "status": { "a": 1, "b": tag("Any") } })), ["status.a", "status.b"]);
    assert_eq!(reads(tag("Bound")), ["status.phase"]);
    assert_eq!(reads(tag("Available")), ["metadata.generation", "status.conditions"]);
    assert_eq!(reads(json!({ SHAPE_TAG: "not", "shape": { "a": [1] } })), ["a"]);
    assert_eq!(reads(tag("Any")), ["the object"]);
}

#[test]
fn descriptions_fit_an_edge() {
    let describe = |data: Value| shape(&data).describe();
    assert_eq!(
        describe(json!({ "status": { "applied": "4", "n": { SHAPE_TAG: "at_least", "value": 2 } } })),
        "status.applied = \"4\", status.n: at least 2"
    );
    assert_eq!(describe(json!({ SHAPE_TAG: "condition", "type": "Ready" })), "condition Ready");
    let both = json!({ SHAPE_TAG: "all_of", "shapes": [tag("Ready"), { SHAPE_TAG: "any_of", "shapes": [tag("Bound"), tag("Any")] }] });
    assert_eq!(describe(both), "Ready and (Bound or present)");
}

fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5_i64..5).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|it| json!(it)),
        ]
    })
}

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Any),
        Just(Shape::Absent),
        Just(Shape::Ready),
        Just(Shape::Failed),
        (-5_i64..5).prop_map(|n| Shape::AtLeast(n.into())),
        json_values().prop_map(Shape::Equals),
        Just(Shape::Contract(vec!["c".to_owned()])),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            prop::collection::btree_map("[a-c]", inner.clone(), 0..3).prop_map(Shape::Has),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Shape::Items),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Shape::AllOf),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Shape::AnyOf),
            inner.clone().prop_map(|it| Shape::Not(Box::new(it))),
            inner.clone().prop_map(|it| Shape::SomeItem(Box::new(it))),
            inner.prop_map(|it| Shape::EveryItem(Box::new(it))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pemdas_tier::size(256, 50_000)))]

    #[test]
    fn data_form_round_trips(shape in shapes()) {
        prop_assert_eq!(Shape::from_value(&shape.to_value()), Ok(shape));
    }

    #[test]
    fn not_turns_the_truth_round_and_a_why_is_given_unless_it_holds(shape in shapes(), live in json_values()) {
        let straight = shape.judge(Live::Present(&live));
        let turned = Shape::Not(Box::new(shape)).judge(Live::Present(&live));
        prop_assert_eq!(!straight.truth, turned.truth);
        // `any_of []` is the one shape that is false for no reason of the object's.
        for judgement in [straight, turned] {
            if judgement.truth == Truth::True {
                prop_assert!(judgement.why.is_empty());
            }
        }
    }

    #[test]
    fn a_value_is_of_the_shape_of_itself_whatever_is_added(live in prop::collection::btree_map("[a-c]", json_values(), 0..4)) {
        let want = Shape::from_value(&json!(live)).expect("a shape");
        let mut more = live;
        more.insert("added".to_owned(), json!(1));
        prop_assert_eq!(want.judge(Live::Present(&json!(more))).truth, Truth::True);
    }
}
