//! The engine, asked directly.

use serde_json::json;

use super::Engine;
use crate::codes;
use crate::library::LibraryFile;
use crate::limits::{Limits, Size};
use crate::request::{Answer, Failure, Input, Kind, Place, Request};
use crate::sources::Sources;

/// Loads on a thread with the stack that an engine is made for, and runs the check there.
fn with(text: &str, check: impl FnOnce(&mut Engine) + Send + 'static) {
    with_sources(Sources::single(text), Limits::default(), |loaded| check(&mut loaded.unwrap()));
}

fn with_sources(
    sources: Sources,
    limits: Limits,
    check: impl FnOnce(Result<Engine, Failure>) + Send + 'static,
) {
    let run = move || check(Engine::load(&sources, limits));
    std::thread::Builder::new().stack_size(256 << 20).spawn(run).unwrap().join().unwrap();
}

fn refused(sources: Sources, check: impl FnOnce(Failure) + Send + 'static) {
    with_sources(sources, Limits::default(), |loaded| match loaded {
        Ok(_) => panic!("it should not load"),
        Err(failure) => check(failure),
    });
}

fn evaluate(engine: &mut Engine, place: Place) -> Result<serde_json::Value, Failure> {
    match engine.run(&Request::Evaluate { place })? {
        Answer::Json(value) => Ok(value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_function_is_called_many_times_with_json() {
    with("{ add = fun the more => { sum = the.a + more, tag = 'Whole } }", |engine| {
        for a in 0..3 {
            let place = Place::at(["add"]).call([json!({ "a": a }).into(), json!(2).into()]);
            assert_eq!(evaluate(engine, place), Ok(json!({ "sum": a + 2, "tag": "Whole" })));
        }
    });
}

#[test]
fn places_lead_through_arrays_calls_and_other_files() {
    let sources =
        Sources::single("{ nodes = [ { f = fun x => { inner = [x] } } ], part = import \"parts/a.ncl\" }")
            .with(
                "parts/a.ncl",
                "{ b = (import \"../data.json\").deep, c = import \"../data.json\" as 'Text }",
            )
            .with("data.json", "{\"deep\": [1, 2.5]}");
    with_sources(sources, Limits::default(), |loaded| {
        let engine = &mut loaded.unwrap();
        let place =
            Place::at(["nodes"]).index(0).field("f").call([json!("v").into()]).field("inner").index(0);
        assert_eq!(evaluate(engine, place), Ok(json!("v")));
        assert_eq!(evaluate(engine, Place::at(["part", "b"])), Ok(json!([1, 2.5])));
        assert_eq!(evaluate(engine, Place::file("parts/a.ncl").field("b").index(1)), Ok(json!(2.5)));
        assert_eq!(evaluate(engine, Place::at(["part", "c"])), Ok(json!("{\"deep\": [1, 2.5]}")));
        assert!(evaluate(engine, Place::file("nowhere.ncl")).is_err());
    });
}

#[test]
fn the_library_is_one_file_for_every_directory() {
    let sources = Sources::single("{ same = (import \"pemdas.ncl\"), a = import \"d/a.ncl\" }")
        .with("d/a.ncl", "import \"pemdas.ncl\"");
    with_sources(sources, Limits::default(), |loaded| {
        let mut engine = loaded.unwrap();
        let request = Request::Look { place: Place::at(["a"]) };
        assert!(matches!(engine.run(&request), Ok(Answer::Seen(seen)) if seen.kind == Kind::Record));
    });
}

#[test]
fn only_chosen_fields_are_forced_and_poison_says_where_it_was_read() {
    let text = "{ t = fun the => { kind = \"Job\", name = the.root.metadata.name, bad = 1 + \"x\" } }";
    with(text, move |engine| {
        let the = Input::Record([("root".to_owned(), Input::Poison("the.root".to_owned()))].into());
        let place = Place::at(["t"]).call([the]);
        let fields = vec![vec!["kind".to_owned()], vec!["name".to_owned()], vec!["none".to_owned()]];
        let Ok(Answer::Selected(parts)) = engine.run(&Request::Select { place, fields }) else { panic!() };
        assert_eq!(parts[0], Ok(json!("Job")));
        let Err(Failure::Poisoned { what, span: Some(span) }) = &parts[1] else { panic!("{:?}", parts[1]) };
        assert_eq!(what, "the.root");
        assert_eq!(&text[span.start as usize..span.end as usize], "the.root");
        let Err(Failure::Failed { diagnostics }) = &parts[2] else { panic!("{:?}", parts[2]) };
        assert_eq!(diagnostics[0].code, codes::MISSING_FIELD);
    });
}

#[test]
fn a_contract_fills_defaults_and_says_what_is_broken() {
    let text = "{ C = { replicas | Number | default = 2, image | String } }";
    with(text, move |engine| {
        let check = |value| Request::Check { contract: Place::at(["C"]), value };
        assert_eq!(
            engine.run(&check(json!({ "image": "a" }))),
            Ok(Answer::Json(json!({ "image": "a", "replicas": 2 })))
        );
        let Err(Failure::Failed { diagnostics }) = engine.run(&check(json!({ "image": 7 }))) else {
            panic!()
        };
        assert_eq!(diagnostics[0].code, codes::CONTRACT);
        let label = &diagnostics[0].labels[0];
        assert_eq!(&text[label.span.start as usize..label.span.end as usize], "String");
        // The secret must not be quoted.
        let broken = engine.run(&check(json!({ "image": { "password": "hunter2" } })));
        assert!(!format!("{broken:?}").contains("hunter2"), "{broken:?}");
    });
}

#[test]
fn a_look_forces_nothing_inside() {
    let text = "{\n  a | doc \"An a\" = 1 + \"x\",\n  b | optional | Number,\n  c | default = 3,\n}";
    with(text, move |engine| {
        let Ok(Answer::Seen(seen)) = engine.run(&Request::Look { place: Place::root() }) else { panic!() };
        let names: Vec<_> =
            seen.fields.iter().map(|f| (f.name.as_str(), f.defined, f.optional, f.default)).collect();
        assert_eq!(names, [("a", true, false, false), ("b", false, true, false), ("c", true, false, true)]);
        assert_eq!(seen.fields[0].doc.as_deref(), Some("An a"));
        let span = seen.fields[2].span.clone().unwrap();
        assert_eq!(&text[span.start as usize..span.end as usize], "c");
        let span = seen.fields[0].value_span.clone().unwrap();
        assert_eq!(&text[span.start as usize..span.end as usize], "1 + \"x\"");
    });
}

#[test]
fn all_syntax_errors_and_refused_imports_are_told_at_once() {
    let sources = Sources::single("{ a = import \"/etc/passwd\", b = import \"../x.ncl\" }")
        .with("b.ncl", "{ a = }")
        .with("c.ncl", "{ a = import foo }");
    refused(sources, |failure| {
        let told: Vec<_> =
            failure.diagnostics().into_iter().map(|d| (d.code, d.labels[0].span.file.clone())).collect();
        let expected = [
            (codes::SYNTAX, "b.ncl"),
            (codes::IMPORT, "c.ncl"),
            (codes::IMPORT, "main.ncl"),
            (codes::IMPORT, "main.ncl"),
        ];
        assert_eq!(told, expected.map(|(code, file)| (code.to_owned(), file.to_owned())));
    });
}

#[test]
fn types_are_checked_at_load() {
    refused(Sources::single("let x : Number = \"a\" in x"), |failure| {
        let diagnostic = &failure.diagnostics()[0];
        assert_eq!(diagnostic.code, codes::TYPES);
        assert_eq!(diagnostic.labels[0].span.file, "main.ncl");
    });
}

#[test]
fn fuel_ends_a_loop_at_the_same_step_and_the_engine_goes_on() {
    with("{ loop = fun n => let rec f = fun n => f (n + 1) in f n, ok = 1 }", |engine| {
        let looped = || Place::at(["loop"]).call([json!(0).into()]);
        let fuel = Limits::default().fuel;
        assert_eq!(evaluate(engine, looped()), Err(Failure::FuelExhausted { fuel }));
        let used = engine.meter.used();
        assert_eq!(evaluate(engine, looped()), Err(Failure::FuelExhausted { fuel }));
        assert_eq!(engine.meter.used(), used);
        assert_eq!(evaluate(engine, Place::at(["ok"])), Ok(json!(1)));
    });
}

#[test]
fn a_deadline_ends_what_fuel_does_not() {
    let limits = Limits { millis: 1, fuel: u64::MAX, ..Limits::default() };
    let sources = Sources::single("{ loop = fun n => let rec f = fun n => f (n + 1) in f n }");
    with_sources(sources, limits, |loaded| {
        // Loading may itself take longer than a millisecond: either end is the deadline's.
        let result =
            loaded.and_then(|mut engine| evaluate(&mut engine, Place::at(["loop"]).call([json!(0).into()])));
        assert!(matches!(result, Err(Failure::Killed { .. })), "{result:?}");
    });
}

#[test]
fn sizes_have_limits() {
    let limits = Limits { output_bytes: 100, input_bytes: 100, data_depth: 5, ..Limits::default() };
    let sources = Sources::single(
        "{ id = fun x => x, long = std.string.join \"\" (std.array.replicate 200 \"x\"), deep = [[[[[[[1]]]]]]], }",
    );
    with_sources(sources, limits, |loaded| {
        let engine = &mut loaded.unwrap();
        let large = |what, limit| Err(Failure::TooLarge { what, limit });
        assert_eq!(evaluate(engine, Place::at(["long"])), large(Size::Output, 100));
        assert_eq!(evaluate(engine, Place::at(["deep"])), large(Size::Depth, 5));
        let call = |value: serde_json::Value| Place::at(["id"]).call([value.into()]);
        assert_eq!(evaluate(engine, call(json!("x".repeat(200)))), large(Size::Input, 100));
        assert_eq!(evaluate(engine, call(json!([[[[[[1]]]]]]))), large(Size::Depth, 5));
        assert_eq!(evaluate(engine, call(json!([[1]]))), Ok(json!([[1]])));
    });
}

#[test]
fn what_is_not_data_is_named() {
    with("{ a = { f = [fun x => x] } }", |engine| {
        let Err(Failure::Failed { diagnostics }) = evaluate(engine, Place::root()) else { panic!() };
        assert_eq!(diagnostics[0].code, codes::NOT_DATA);
        assert_eq!(diagnostics[0].message, "a.f[0] is a function, not data");
    });
}

#[test]
fn values_are_quoted_only_without_inputs() {
    with("{ bad | Number = \"visible\", f = fun x => (x | Number) }", |engine| {
        let Err(failure) = evaluate(engine, Place::at(["bad"])) else { panic!() };
        assert!(failure.diagnostics()[0].labels.iter().any(|label| label.primary), "{failure:?}");
        let call = Place::at(["f"]).call([json!("hunter2").into()]);
        let Err(failure) = evaluate(engine, call) else { panic!() };
        assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
    });
}

#[test]
fn a_broken_contract_names_the_part_of_the_data_and_does_not_quote_it() {
    let text = "{ C = { spec | { list | Array { port | Number }, image | String, .. }, .. } }";
    with(text, |engine| {
        let mut notes = |value: serde_json::Value| match engine
            .run(&Request::Check { contract: Place::at(["C"]), value })
        {
            Err(failure) => {
                assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
                failure.diagnostics()[0].notes.join(" ")
            }
            Ok(answer) => panic!("{answer:?}"),
        };
        let list =
            json!({ "spec": { "a\"b": 1, "image": "", "list": [{ "port": 1 }, { "port": "hunter2" }] } });
        assert!(notes(list).contains("in the data: spec.list[1].port"));
        let image = json!({ "x": [[], {}, "hunter2"], "spec": { "list": [], "image": { "k": "hunter2" } } });
        assert!(notes(image).contains("in the data: spec.image"));
        assert!(notes(json!("hunter2")).contains("in the data: the value itself"));
        // And what was checked leaves nothing behind that a later file would be mistaken for.
        assert!(evaluate(engine, Place::file("pemdas.ncl").field("nothing")).is_err());
        assert!(matches!(
            engine.run(&Request::Look { place: Place::file("pemdas.ncl") }),
            Ok(Answer::Seen(_))
        ));
    });
}

/// A description in short: what a reader of the test can compare.
fn short(contract: &crate::contract::Contract) -> String {
    use crate::contract::{Argument, Form};
    match &contract.form {
        Form::Array(inner) => format!("[{}]", short(inner)),
        Form::Dictionary(inner) => format!("{{_: {}}}", short(inner)),
        Form::Record { fields, open } => {
            let mut parts: Vec<String> = fields
                .iter()
                .map(|field| {
                    let mark = if field.optional { "?" } else { "" };
                    let default = field.default.as_ref().map_or(String::new(), |value| format!(" = {value}"));
                    let computed = if field.default_fails.is_some() { " = ..." } else { "" };
                    format!("{}{mark}: {}{default}{computed}", field.name, short(&field.contract))
                })
                .collect();
            parts.extend(open.then(|| "..".to_owned()));
            format!("{{{}}}", parts.join(", "))
        }
        Form::Enum(tags) => {
            let tags: Vec<String> = tags
                .iter()
                .map(|(tag, argument)| match argument {
                    Some(argument) => format!("{tag} {}", short(argument)),
                    None => tag.clone(),
                })
                .collect();
            tags.join("|")
        }
        Form::All(all) => all.iter().map(short).collect::<Vec<_>>().join(" & "),
        Form::Library { name, arguments } => {
            let arguments: Vec<String> = arguments
                .iter()
                .map(|argument| match argument {
                    Argument::Data(value) => value.to_string(),
                    Argument::Contract(contract) => short(contract),
                })
                .collect();
            format!("@{name}({})", arguments.join(", "))
        }
        Form::Exactly(value) => value.to_string(),
        Form::Opaque(name) => format!("<{}>", name.as_deref().unwrap_or("")),
        other => format!("{other:?}"),
    }
}

fn described(engine: &mut Engine, place: Place) -> String {
    match engine.run(&Request::Describe { place }) {
        Ok(Answer::Contract(contract)) => short(&contract),
        other => panic!("{other:?}"),
    }
}

#[test]
fn contracts_are_described() {
    let text = r#"
let Even = std.contract.from_predicate (fun x => x % 2 == 0) in
let Part = { name | String, tags | { _ | String } | optional } in
let rec Tree = { value | Number, children | Array Tree | optional } in
let lib = { include Part } in
{
  C = {
    s | String | doc "A string",
    n | Number | default = 2,
    b | Bool | optional,
    d,
    parts | Array Part,
    other | lib.Part,
    even | Even,
    small | Number | Even,
    choice | [| 'A, 'B, 'C Number |],
    both | std.contract.Sequence [Number, Even],
    nested = { deep | { x : Number }, .. },
    kind = "fixed",
    computed | default = s ++ "-x",
    f | Number -> Number,
  },
  include Tree,
  T = Array (Array { _ | Even }),
  I = 3,
}"#;
    with(text, |engine| {
        // Using a contract must not change its description.
        let value = json!({ "s": "", "parts": [{ "name": "a" }] });
        let _ = engine.run(&Request::Check { contract: Place::at(["C"]), value });
        assert_eq!(
            described(engine, Place::at(["C"])),
            "{b?: Bool, both: Number & <Even>, choice: A|B|C Number, computed: Any = ..., d: Any, even: <Even>, f: Function, \
             kind: \"fixed\", n: Number = 2, nested: {deep: {x: Number}, ..}, other: {name: String, tags?: {_: String}}, \
             parts: [{name: String, tags?: {_: String}}], s: String, small: Number & <Even>}"
        );
        assert_eq!(described(engine, Place::at(["T"])), "[[{_: <Even>}]]");
        assert_eq!(
            described(engine, Place::at(["Tree"])),
            "{children?: [{children?: [Deeper], value: Number}], value: Number}"
        );
        assert_eq!(described(engine, Place::at(["I"])), "<>");
    });
}

#[test]
fn contracts_of_the_library_are_known_by_name() {
    const LIBRARY: &[LibraryFile] = &[LibraryFile {
        name: "pemdas.ncl",
        text: r#"
let Int = std.contract.from_predicate (fun x => std.is_number x && std.number.is_integer x) in
{
  include Int,
  OneOf = fun choices => std.contract.from_predicate (fun x => std.array.elem x choices),
  Typed : String -> Dyn = fun x => std.contract.from_predicate (fun y => y == x),
  Nullable = fun Inner => std.contract.any_of [std.contract.from_predicate (fun x => x == null), Inner],
}"#,
    }];
    let text = r#"
let { Int, OneOf, .. } = import "pemdas.ncl" in
let lib = import "pemdas.ncl" in
let Mine = lib.Int in
let Color = OneOf ["red", "green"] in
{ C = {
  a | Int, b | lib.Int, c | Mine, d | OneOf ["x", "y"], e | Array (lib.OneOf ["z"]), f | lib.Nullable Int,
  g | lib.Nullable { h | Int }, i | Color, j | { k | Int | default = 1 }, l | lib.Typed "t", m | std.string.NonEmpty,
} }"#;
    let run = move || {
        let sources = Sources::single(text);
        let mut engine = Engine::load_with(&sources, Limits::default(), LIBRARY).unwrap();
        assert_eq!(
            described(&mut engine, Place::at(["C"])),
            "{a: @Int(), b: @Int(), c: @Int(), d: @OneOf([\"x\",\"y\"]), e: [@OneOf([\"z\"])], f: @Nullable(@Int()), \
             g: @Nullable({h: @Int()}), i: @OneOf([\"red\",\"green\"]), j: {k: @Int() = 1}, \
             l: @Typed(\"t\"), m: <NonEmpty>}"
        );
    };
    std::thread::Builder::new().stack_size(256 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn the_shipped_librarys_contracts_are_known_by_name() {
    let text = r#"
let { Int, Port, OneOf, Nullable, IntBetween, Quantity, .. } = import "pemdas/v1.ncl" in
let lib = import "pemdas.ncl" in
{ C = {
  a | Int | default = 2, b | lib.Port, c | OneOf ["x", "y"], d | Array Quantity, e | Nullable String, f | IntBetween 1 9,
  g | { h | Port | optional },
} }"#;
    with(text, |engine| {
        let value = json!({ "b": 1, "c": "x", "d": [], "e": null, "f": 3, "g": {} });
        assert!(engine.run(&Request::Check { contract: Place::at(["C"]), value }).is_ok());
        assert_eq!(
            described(engine, Place::at(["C"])),
            "{a: @Int() = 2, b: @Port(), c: @OneOf([\"x\",\"y\"]), d: [@Quantity()], e: @Nullable(String), \
             f: @IntBetween(1, 9), g: {h?: @Port()}}"
        );
    });
}
