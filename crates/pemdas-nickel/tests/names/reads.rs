//! What a function is known to read is all that it is given: too little would change its result.

use std::fmt::Write as _;

use pemdas_core::blueprint::{Blueprint, Body, Function, WantedShapeForm};
use pemdas_core::evaluate::{Answer, Form, question};
use pemdas_nickel::{InProcess, Limits, Loaded, Sources};
use serde_json::{Value, json};

const HEAD: &str = r#"let { Blueprint, at, .. } = import "pemdas/v1.ncl" in"#;

/// A function, and what it reads; what is not certain is read as a whole.
const FUNCTIONS: &[(&str, &[&str])] = &[
    // Taken into a record under its own name.
    ("fun a => { include a }", &[""]),
    ("fun a => { x = { include a } }", &[""]),
    ("fun { root, .. } => { include root }", &["root"]),
    ("fun { root, a, .. } => { include [root, a] }", &["root", "a"]),
    ("fun a => { include a, b = a.x }", &[""]),
    (
        "let least = fun n => std.contract.from_predicate (fun it => it >= n) in
         fun the => let r = 7 in { include r | (least the.root.y) }",
        &["root.y"],
    ),
    // Taken apart.
    ("fun { root = other, .. } => other.x", &["root.x"]),
    ("fun { a = b, b = a, .. } => a.x + b.y", &["b.x", "a.y"]),
    ("fun { root = { spec, .. }, .. } => spec.a", &["root"]),
    ("fun { root, ..rest } => rest", &[""]),
    ("fun all @ { root, .. } => all.b", &[""]),
    ("fun { root, a, .. } => root.x", &["a", "root.x"]),
    ("fun { root } => root.x", &["", "root.x"]),
    ("fun { none ? { x = 5 }, .. } => none.x", &["none.x"]),
    ("fun _ => 1", &[]),
    ("match { { a, .. } => a }", &[""]),
    ("fun a => a.x |> match { n if n > a.y => 1, _ => 2 }", &["x", "y"]),
    ("fun the => (fun { none ? the.root.x, .. } => none) {}", &["root.x"]),
    // Given to functions.
    ("fun the => (if the.root.a then (fun t => t.b) else std.function.id) the", &["root.a", ""]),
    (
        "let r = { f = fun t => t.a, g = fun t => f t } in fun the => (r & { f | force = fun t => t.b }).g the",
        &[""],
    ),
    ("let { f = g, .. } = { f = fun t => t.a, g = fun t => t.b } in fun the => g the", &[""]),
    ("let make = fun x the => the.x + x in make 1", &[""]),
    ("std.function.compose (fun x => x) (fun the => the.y)", &[""]),
    ("let f = fun the => the.y in std.function.compose f f", &[""]),
    ("fun the => (fun f => f the) (fun t => t.a)", &[""]),
    ("let f | Dyn -> Dyn = fun t => t.a in fun the => f the", &[""]),
    ("let f = fun t => t in fun a => { it = f a }", &[""]),
    ("let f = fun t => { x = t.x } in fun a => f a", &["x"]),
    ("let rec f = fun t n => if n == 0 then t.x else f t (n - 1) in fun a => f a 2", &["x"]),
    ("let f = fun t n => t.x + n in fun a => std.array.map (f a) [1]", &["x"]),
    ("fun the => the |> (fun t => t.a)", &["a"]),
    ("fun the { x ? the.root.y } => x", &[""]),
    // Merged, changed, looked at as a whole.
    ("fun a => a & { more = 1 }", &[""]),
    ("fun a => { x = a.x } & { y = a.y }", &["x", "y"]),
    ("fun a => std.record.insert \"more\" 1 a", &[""]),
    ("fun a => std.record.insert \"more\" a.x {}", &["x"]),
    ("fun a => std.record.fields a", &[""]),
    ("fun a => std.record.has_field \"none\" a.root", &["root"]),
    ("fun a => at \"root.none.deep\" \"d\" a", &[""]),
    ("fun a => [a]", &[""]),
    ("fun a => let b = a in b.x", &[""]),
    ("fun a => a == a", &[""]),
    // Names that mean something else.
    ("fun a => { root = a.root, x = root.x }", &["root"]),
    ("fun the => { the = 1, \"%{the.root.n}\" = 2 }", &["root.n"]),
    (
        "fun the => let the = the.a, y | (std.contract.from_predicate (fun it => it == the.root.y)) = 2 in y",
        &["a", "root.y"],
    ),
    ("fun a => a.\"%{a.root.n}\"", &["", "root.n"]),
    ("fun the => { f = fun t => t.a, \"%{the.root.n}\" = fun t => t.b }.f the", &["root.n", ""]),
    ("fun a => { x.y.z = a.root.x, x.y.w = a.b }", &["root.x", "b"]),
];

fn argument() -> Value {
    json!({
        "root": { "x": 1, "a": true, "n": "x", "y": 2, "spec": { "a": 5, "b": 6 } },
        "a": { "x": 10, "y": 11 },
        "b": { "x": 20, "y": 21 },
        "x": 3,
        "y": 4,
    })
}

fn loaded(text: &str) -> (Loaded<InProcess>, Blueprint) {
    let loaded = Loaded::in_process(&Sources::single(text), &Limits::default());
    let blueprint = loaded.blueprint.clone().unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
    (loaded, blueprint)
}

fn of_functions() -> (Loaded<InProcess>, Blueprint) {
    let mut text = format!("{HEAD} {{ name = \"test\", nodes = {{\n");
    for (at, (function, _)) in FUNCTIONS.iter().enumerate() {
        let _ = writeln!(text, "  n{at} = {{ value = {function} }},");
    }
    text.push_str(
        "  typed = { value | { root : Dyn, b : Dyn } -> Dyn = fun the => the.root },\n} } | Blueprint",
    );
    loaded(&text)
}

fn function<'b>(blueprint: &'b Blueprint, node: &str) -> &'b Function {
    let Body::Value(function) = &blueprint.nodes[node].body else { panic!("{node} is a value") };
    function
}

fn reads(function: &Function) -> Vec<String> {
    let mut reads: Vec<String> = Vec::new();
    for read in function.reads.iter().map(|read| read.path.join(".")) {
        if !reads.contains(&read) {
            reads.push(read);
        }
    }
    reads
}

#[test]
fn what_is_read_is_never_too_little() {
    let (_, blueprint) = of_functions();
    let found = |at: usize| reads(function(&blueprint, &format!("n{at}")));
    let all = FUNCTIONS.iter().enumerate().map(|(at, (text, wanted))| (*text, *wanted, found(at)));
    let wrong: Vec<_> = all.filter(|(_, wanted, found)| found != wanted).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(reads(function(&blueprint, "typed")), [""]);
}

/// Whether a function gets what it reads or everything makes no difference.
#[test]
fn what_is_read_is_enough() {
    let (loaded, blueprint) = of_functions();
    let renderer = loaded.renderer.unwrap();
    let mut values = 0;
    for (at, (text, _)) in FUNCTIONS.iter().enumerate() {
        let asked = question(b"", "r1", function(&blueprint, &format!("n{at}")), Form::Whole, &argument());
        let everything = pemdas_core::evaluate::Question { input: argument(), ..asked.clone() };
        let answers = renderer.answers(&[asked, everything]);
        assert_eq!(answers[0], answers[1], "{text}");
        values += usize::from(matches!(answers[0], Answer::Value(_)));
    }
    assert!(values + 6 > FUNCTIONS.len(), "{values} of {} have a value", FUNCTIONS.len());
}

/// The library wraps a shape that is a function. What is read is what the author's function reads, if it is certainly that one.
#[test]
fn a_shape_that_is_a_function_reads_what_it_says() {
    let node = "metadata.name = \"r\", apiVersion = \"v1\", kind = \"ConfigMap\"";
    let shape = "ready = fun the => { data.x = the.root.x }";
    let other = "{ r = { ready | force = fun the => { data.y = the.root.y } } }";
    for (nodes, wanted) in [
        (format!("{{ r = {{ template = {{ {node} }}, {shape} }} }}"), "root.x"),
        (format!("{{ r = {{ template = {{ {node} }}, {shape} }} }} & {other}"), ""),
        (format!("{{ r = {{ template = {{ {node} }}, {shape} }} }} & (std.function.id {other})"), ""),
        (
            format!("{{ r = {{ template = {{ {node} }}, {shape} }} }} & {{ \"%{{\"r\"}}\" = ({other}).r }}"),
            "",
        ),
        (
            format!(
                "let more = {other} in {{ r = {{ template = {{ {node} }}, {shape} }} }} & {{ include more }}.more"
            ),
            "",
        ),
    ] {
        let (_, blueprint) = loaded(&format!("{HEAD} {{ name = \"test\", nodes = {nodes} }} | Blueprint"));
        let shape = blueprint.nodes["r"].ready.as_ref().unwrap();
        let WantedShapeForm::Function(function) = &shape.form else { panic!("{shape:?}") };
        assert_eq!(reads(function), [wanted], "{nodes}");
    }
}
