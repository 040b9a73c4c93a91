//! The library: its types accept and refuse what they should, its shapes are the core's, and it does not fall into the traps that it
//! warns of.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod reading;

use pemdas_core::shape::Shape;
use pemdas_nickel::{Evaluator as _, InProcess, LIBRARY, Limits, Place, Sources, outline};
use serde_json::{Value, json};

const HEAD: &str = "let v = import \"pemdas/v1.ncl\" in\n";

fn load(text: &str) -> InProcess {
    InProcess::load(&Sources::single(format!("{HEAD}{text}")), &Limits::default())
        .unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// A type, what it accepts, what it refuses.
type Case = (&'static str, Vec<Value>, Vec<Value>);

/// Numbers, strings and names.
fn plain_types() -> Vec<Case> {
    let long = "a".repeat(64);
    let longer = "a".repeat(254);
    vec![
        ("Int", vec![json!(0), json!(-3), json!(1000)], vec![json!(1.5), json!("1"), json!(null), json!([])]),
        ("Nat", vec![json!(0), json!(7)], vec![json!(-1), json!(0.5)]),
        ("Positive", vec![json!(1)], vec![json!(0), json!(-1)]),
        ("IntBetween 2 4", vec![json!(2), json!(4)], vec![json!(1), json!(5), json!(3.5), json!("3")]),
        ("Port", vec![json!(1), json!(65535)], vec![json!(0), json!(65536), json!("80")]),
        ("NonEmpty", vec![json!("a")], vec![json!(""), json!(1), json!(null)]),
        ("AtMostLong 3", vec![json!(""), json!("äöü")], vec![json!("abcd"), json!(3)]),
        ("Matching \"[a-z]+\"", vec![json!("abc")], vec![json!("abc1"), json!(""), json!("a\nb"), json!(1)]),
        (
            "OneOf [\"a\", \"b\"]",
            vec![json!("a"), json!("b")],
            vec![json!("c"), json!("a\nb"), json!(""), json!(1)],
        ),
        (
            "DnsLabel",
            vec![json!("a"), json!("a-1"), json!("0")],
            vec![json!("A"), json!("-a"), json!("a-"), json!("a.b"), json!("a\n"), json!(long)],
        ),
        (
            "DnsSubdomain",
            vec![json!("a.b-c.d")],
            vec![json!("a..b"), json!(".a"), json!("a_b"), json!(longer), json!(3)],
        ),
        ("LabelKey", vec![json!("a"), json!("x.y/a_B.c")], vec![json!("/a"), json!("a/"), json!("a b")]),
        (
            "LabelValue",
            vec![json!(""), json!("a_B.c-1")],
            vec![json!("-a"), json!("a b"), json!(1), json!(long)],
        ),
    ]
}

/// Records, lists, and what Kubernetes writes in a way of its own.
fn other_types() -> Vec<Case> {
    vec![
        ("Labels", vec![json!({}), json!({"a": "b"})], vec![json!({"a": 1}), json!([]), json!({"a": "b c"})]),
        ("Annotations", vec![json!({"a/b": "any thing\n"})], vec![json!({"a": 1}), json!("a")]),
        (
            "LabelSelector",
            vec![
                json!({}),
                json!({"matchLabels": {"a": "b"}}),
                json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}),
            ],
            vec![json!({"matchLabel": {}}), json!({"matchExpressions": [{"key": "a", "operator": "Has"}]})],
        ),
        (
            "Quantity",
            vec![
                json!("500m"),
                json!("1.5Gi"),
                json!("1e3"),
                json!("10"),
                json!(2),
                json!("+1k"),
                json!(".5"),
            ],
            vec![json!("10Q"), json!(""), json!("1 Gi"), json!("Gi"), json!(null), json!(1.5)],
        ),
        (
            "Duration",
            vec![json!("30s"), json!("1h30m"), json!("1.5h")],
            vec![json!("30"), json!("1d"), json!(30)],
        ),
        (
            "DateTime",
            vec![json!("2030-01-31T12:00:00Z"), json!("2030-01-31T12:00:00.5+01:00")],
            vec![json!("2030-01-31"), json!("now"), json!(0)],
        ),
        (
            "IntOrString",
            vec![json!(80), json!("http"), json!("a\nb")],
            vec![json!(1.5), json!(true), json!(null)],
        ),
        ("IntOrPercent", vec![json!(1), json!("25%")], vec![json!("25"), json!("%"), json!(0.5)]),
        ("NameRef", vec![json!({"name": "a"})], vec![json!({}), json!({"name": "a", "x": 1}), json!("a")]),
        ("KeyRef", vec![json!({"name": "a", "key": "b"})], vec![json!({"name": "a"})]),
        ("SetOf String", vec![json!([]), json!(["a"])], vec![json!([1]), json!("a")]),
        ("ListMap [\"name\"] v.NameRef", vec![json!([{"name": "a"}])], vec![json!([{}]), json!({})]),
        (
            "ListBetween 1 2 v.Int",
            vec![json!([1]), json!([1, 2])],
            vec![json!([]), json!([1, 2, 3]), json!(["a"])],
        ),
        ("Nullable v.Int", vec![json!(null), json!(1)], vec![json!("a"), json!(1.5)]),
        ("Json", vec![json!(null), json!({"a": [1, "b"]})], vec![]),
    ]
}

#[test]
fn types_accept_and_refuse() {
    let types: Vec<Case> = plain_types().into_iter().chain(other_types()).collect();
    let fields: String =
        types.iter().enumerate().map(|(number, (name, ..))| format!("t{number} = v.{name},\n")).collect();
    let loaded = load(&format!("{{ {fields} }}"));
    for (number, (name, good, bad)) in types.iter().enumerate() {
        let contract = Place::at([format!("t{number}")]);
        for value in good {
            let checked = loaded.check(&contract, value);
            assert_eq!(checked.as_ref(), Ok(value), "{name} accepts {value}");
        }
        for value in bad {
            let checked = loaded.check(&contract, value);
            assert!(checked.is_err(), "{name} refuses {value}: {checked:?}");
        }
    }
}

#[test]
fn types_say_what_they_are_through_renaming_and_parameters() {
    let loaded = load(
        "let Tier = v.OneOf [\"a\"] in let tell = fun Type => ('\"pemdas/describe\" | Type) in
         { tier = tell Tier, port = tell v.Port, many = (tell (v.ListBetween 1 3 v.Int)).maxItems,
           own = tell (v.Typed { type = \"integer\" } (fun _label value => 'Ok value)) }",
    );
    let told = loaded.evaluate(&Place::root()).expect("descriptions");
    let expected = json!({
        "tier": { "type": "string", "enum": ["a"] },
        "port": { "type": "integer", "minimum": 1, "maximum": 65535 },
        "many": 3,
        "own": { "type": "integer" },
    });
    assert_eq!(told, expected);
}

#[test]
fn every_shape_of_the_library_is_one_of_the_core() {
    let shapes = [
        "v.has { a.b = 1 }",
        "v.Any",
        "v.Absent",
        "v.Ready",
        "v.Available",
        "v.Complete",
        "v.Failed",
        "v.Finished",
        "v.Bound",
        "v.condition \"X\"",
        "v.condition_is \"X\" \"False\"",
        "v.equals { a = [1] }",
        "v.at_least 1",
        "v.at_most \"500m\"",
        "v.more_than 1",
        "v.less_than 1",
        "v.one_of [1, \"a\"]",
        "v.matches \"^a\"",
        "v.some { a = 1 }",
        "v.every v.Any",
        "v.all_of [v.Ready, { a = 1 }]",
        "v.any_of [v.Ready]",
        "v.not v.Ready",
    ];
    let loaded = load(&format!("[{}]", shapes.map(|shape| format!("({shape}) | v.Shape")).join(", ")));
    for (index, text) in shapes.iter().enumerate() {
        let data = loaded
            .evaluate(&Place::root().index(index))
            .unwrap_or_else(|failure| panic!("{text}: {failure:?}"));
        let shape = Shape::from_value(&data).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(Shape::from_value(&shape.to_value()), Ok(shape), "{text}");
    }
    let bad = load("[3, \"a\", 'Ready, null] |> std.array.map (fun shape => (shape | v.Shape))");
    for index in 0..4 {
        assert!(bad.evaluate(&Place::root().index(index)).is_err(), "{index}");
    }
}

#[test]
fn the_library_does_not_fall_into_its_own_traps() {
    let mut sources =
        Sources::single("let lib = import \"lib/v1.ncl\" in { name = \"x\", nodes = {} } | lib.Blueprint");
    for file in LIBRARY {
        if let Some(name) = file.name.strip_prefix("pemdas/") {
            sources = sources.with(format!("lib/{name}"), file.text);
        }
    }
    let (_, outline) = outline::load(&sources, &Limits::default());
    assert!(outline.diagnostics.is_empty(), "{}", reading::shown(&outline.diagnostics, &sources));
    assert!(outline.is_sound());
}
