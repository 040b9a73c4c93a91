//! What is read off a function without evaluating it is what the evaluator would have said.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test are the test"
)]

mod chance;
mod names;

use std::fmt::Write as _;
use std::path::Path;

use pemdas_core::blueprint::{Blueprint, Body, Function};
use pemdas_core::evaluate::{Answer, Form, question};
use pemdas_nickel::{InProcess, Limits, Loaded, Sources};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde_json::{Value, json};

const NAMES: [&str; 5] = ["a", "b", "metadata", "name", "x-y"];
const FORMS: [Form; 3] = [Form::Whole, Form::Fields, Form::Identity];

/// A result as it is written in Nickel; `%` and quotes and all.
fn expression() -> impl Strategy<Value = String> {
    let read = prop::collection::vec(prop::sample::select(&NAMES[..4]), 1..3)
        .prop_map(|path| format!("the.root.{}", path.join(".")));
    let text = r#"[ -~äß🦀\n\t]{0,6}"#.prop_map(|it| quoted(&it));
    let leaf = prop_oneof![
        4 => read.clone(),
        2 => text,
        1 => any::<bool>().prop_map(|it| it.to_string()),
        1 => (-9_000..9_000_000_000_i64).prop_map(|it| if it < 0 { format!("({it})") } else { it.to_string() }),
        1 => Just("null".to_owned()),
        1 => Just("0.5".to_owned()),
        2 => (r#"[a-z %"\\]{0,4}"#, read).prop_map(|(text, read)| {
            let text = quoted(&text);
            format!("\"{}%{{{read}}}\"", &text[1..text.len() - 1])
        }),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let field = (prop::collection::vec(prop::sample::select(&NAMES[..]), 1..3), inner.clone());
        prop_oneof![
            1 => prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            3 => prop::collection::vec(field, 0..5).prop_map(|fields| {
                let mut text = String::from("{ ");
                for (path, value) in fields {
                    let path: Vec<_> = path.iter().map(|it| quoted(it)).collect();
                    let _ = write!(text, "{} = {value}, ", path.join("."));
                }
                text + "}"
            }),
        ]
    })
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' | '%' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out + "\""
}

fn argument() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => r#"[ -~ü]{0,6}"#.prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => (-1000..1000_i64).prop_map(Value::from),
        1 => (-1e6..1e6_f64).prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    let tree = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            3 => prop::collection::btree_map(prop::sample::select(&NAMES[..]), inner.clone(), 0..5)
                .prop_map(|it| it.into_iter().collect::<Value>()),
            1 => prop::collection::vec(inner, 0..3).prop_map(Value::from),
        ]
    });
    prop::collection::btree_map(prop::sample::select(&NAMES[..4]), tree, 2..5)
        .prop_map(|it| json!({ "root": it.into_iter().collect::<Value>() }))
}

/// A blueprint of nodes with nothing but a value.
fn of_values(expressions: &[String]) -> Loaded<InProcess> {
    let mut text =
        String::from("let { Blueprint, .. } = import \"pemdas/v1.ncl\" in {\n  name = \"x\",\n  nodes = {\n");
    for (at, it) in expressions.iter().enumerate() {
        let _ = writeln!(text, "    n{at} = {{ value = fun the => {it} }},");
    }
    text.push_str("  },\n} | Blueprint\n");
    Loaded::in_process(&Sources::single(&text), &Limits::default())
}

fn functions(blueprint: &Blueprint) -> impl Iterator<Item = &Function> {
    blueprint.nodes.values().flat_map(|node| {
        let body = match &node.body {
            Body::Template(it) => Some(&it.function),
            Body::Value(it) => Some(it),
            _ => None,
        };
        let extracts = node.before.values().filter_map(|it| it.extract.as_ref());
        body.into_iter().chain(extracts).chain(&node.key)
    })
}

#[test]
fn what_is_read_off_is_what_the_evaluator_says() {
    let mut runner = chance::runner();
    let mut same = 0;
    for _ in 0..pemdas_tier::size(5, 150) {
        let mut draw = |_| expression().new_tree(&mut runner).unwrap().current();
        let expressions: Vec<String> = (0..40).map(&mut draw).collect();
        let loaded = of_values(&expressions);
        let (blueprint, renderer) = (loaded.blueprint.unwrap(), loaded.renderer.unwrap());
        for function in functions(&blueprint) {
            let Some(plain) = &function.plain else { continue };
            for _ in 0..4 {
                let argument = argument().new_tree(&mut runner).unwrap().current();
                for form in FORMS {
                    let Some(value) = plain.of(form, &argument) else { continue };
                    let asked = question(b"", "r1", function, form, &argument);
                    let said = renderer.answers(&[asked]).remove(0);
                    assert_eq!(said, Answer::Value(value), "{form:?} of {plain:?} on {argument}");
                    same += 1;
                }
            }
        }
    }
    assert!(same > 100, "only {same} answers were compared");
    pemdas_tier::tried(same, "answers");
}

#[test]
fn only_what_is_put_together_is_read_off() {
    let plain = [
        "the.root.a.b",
        "{ a.b = the.root.a, a.c = 1 }",
        "\"x-%{the.root.a}\"",
        "[1, null, {}]",
        "{ a = { b = the.root.a }, a.c = 1 }",
    ];
    let other = [
        "the",
        "the.root.a + 1",
        "{ a = 1, b = a }",
        "{ a.c = 2, a = { b = 1 } }",
        "{ a = 1, a = 1 }",
        "{ the = { root = 1 }, a = the.root }",
        "{ x.the = 1, a = the.root.a }",
        "{ a | default = 1 }",
        "{ a | not_exported = 1 }",
        "{ a | Number = 1 }",
        "{ a | optional, b = 1 }",
        "{ \"%{the.root.a}\" = 1 }",
        "let x = the.root in x.a",
        "if the.root.a then 1 else 2",
        "(the.root.a | String)",
        "'Tag",
        "0.5",
        "fun other => the.root.a",
        "std.string.length the.root.a",
        // What is put into an indented string is indented, too.
        "m%\"\n  a\n    %{the.root.a}\n\"%",
    ];
    let all: Vec<String> = plain.iter().chain(&other).map(|it| (*it).to_owned()).collect();
    let blueprint = of_values(&all).blueprint.unwrap();
    for (at, text) in all.iter().enumerate() {
        let Body::Value(function) = &blueprint.nodes[&format!("n{at}")].body else { panic!("{text}") };
        assert_eq!(function.plain.is_some(), at < plain.len(), "{text}: {:?}", function.plain);
    }
}

/// A contract of the author's may do anything to a function: then it is not the one that is written.
#[test]
fn what_wraps_a_function_is_not_looked_through() {
    let text = r#"
        let { Blueprint, .. } = import "pemdas/v1.ncl" in
        let Loud = std.contract.custom (fun _ f => 'Ok (fun the => "%{f the}!")) in
        { name = "x", nodes = {
            loud = { value | Loud = fun the => the.root.a },
            typed = { value | Dyn -> String = fun the => the.root.a },
            forced = { value | force = fun the => the.root.a },
        } } | Blueprint"#;
    let loaded = Loaded::in_process(&Sources::single(text), &Limits::default());
    let (blueprint, renderer) = (loaded.blueprint.unwrap(), loaded.renderer.unwrap());
    let argument = json!({ "root": { "a": "b" } });
    for function in functions(&blueprint) {
        let said = renderer.answers(&[question(b"", "r1", function, Form::Whole, &argument)]).remove(0);
        if let Some(value) = function.plain.as_ref().and_then(|it| it.of(Form::Whole, &argument)) {
            assert_eq!(said, Answer::Value(value), "{:?}", function.path);
        }
    }
    let Body::Value(loud) = &blueprint.nodes["loud"].body else { panic!() };
    assert_eq!(loud.plain, None);
}

#[test]
fn the_examples_have_such_functions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/foo-service/main.ncl");
    let sources = Sources::single(std::fs::read_to_string(folder).unwrap());
    let blueprint = Loaded::in_process(&sources, &Limits::default()).blueprint.unwrap();
    let found = functions(&blueprint).filter(|it| it.plain.is_some()).map(|it| it.path.join("."));
    let found: Vec<_> = found.collect();
    assert!(found.contains(&"nodes.drained.key".to_owned()), "{found:?}");
    assert!(found.contains(&"nodes.serving.before.migrated.extract".to_owned()), "{found:?}");
}
