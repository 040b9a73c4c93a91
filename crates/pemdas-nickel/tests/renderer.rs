//! The bridge to the core: what its questions are answered, in process and by real workers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test are the test"
)]

mod workers;

use std::thread;

use pemdas_core::blueprint::{Function, Read, RootTarget};
use pemdas_core::diagnostic::Span;
use pemdas_core::digest::Digest;
use pemdas_core::evaluate::{Answer, Form, Question, question};
use pemdas_nickel::{Failure, InProcess, Limits, Loaded, Renderer, Sandboxed, Sources};
use serde_json::{Value, json};

const PROGRAM: &str = r#"
{
  nodes = {
    web = {
      template = fun the => {
        metadata = { name = "%{the.root.metadata.name}-web", labels.kind = the.root.spec.kind },
        spec.url = the.schema.url,
      },
      extract = fun live => { url = live.status.url },
      key = fun the => let spec_ = the.root.spec in spec_.version,
      own = fun _the => { a = 1 }.b,
      odd = fun the => if std.record.has_field "url" the.schema then the.schema.url else "none",
      number = fun the => the.root.spec.kind + 1,
      told = fun _the => std.fail_with "ask the owner",
      quoted = fun the => std.fail_with "the password is %{the.root.spec.password}",
      sly = fun the => std.fail_with the.root.spec.password,
      named = fun the => the.root."%{the.root.spec.password}",
      endless = fun _the => let rec f = fun n => f (n + 1) in f 0,
      function = fun _the => { f = fun x => x },
      status = fun the => { good = 1, missing = the.schema.url, wrong = 1 + "a", null_too = null },
      ready = { shapes = [{}, { contract = { status.replicas | Number, status.phase | String, .. } }] },
    },
  },
}
"#;

fn local() -> Renderer<InProcess> {
    let limits = Limits::default();
    Renderer::new(InProcess::load(&Sources::single(PROGRAM), &limits).unwrap(), limits)
}

fn asked(form: Form, clause: &[&str], input: &Value) -> Question {
    let span = Span { file: "main.ncl".to_owned(), start: 0, end: 0 };
    let path = ["nodes", "web"].iter().chain(clause).map(|it| (*it).to_owned()).collect();
    let function =
        Function { path, span: span.clone(), reads: vec![Read { path: Vec::new(), span }], plain: None };
    question(b"", "r1", &function, form, input)
}

fn whole(clause: &str, input: &Value) -> Question {
    asked(Form::Whole, &[clause], input)
}

fn answer(question: Question) -> Answer {
    local().answers(&[question]).remove(0)
}

fn the() -> Value {
    json!({
        "root": { "metadata": { "name": "shop" }, "spec": { "kind": "web", "password": "hunter2" } },
        "schema": {},
    })
}

#[test]
fn a_missing_field_is_named_by_its_path_in_the_input() {
    assert_eq!(answer(whole("template", &the())), Answer::Missing("the.schema.url".to_owned()));
    // A function of a live object reads that object.
    let live = json!({ "status": { "phase": "x" } });
    assert_eq!(answer(whole("extract", &live)), Answer::Missing("status.url".to_owned()));
    assert_eq!(answer(whole("extract", &json!({}))), Answer::Missing("status".to_owned()));
    // Also behind a name that the author gave to a part of the input.
    assert_eq!(answer(whole("key", &the())), Answer::Missing("the.root.spec.version".to_owned()));
}

#[test]
fn records_with_the_same_fields_are_told_apart_by_the_words_of_the_program() {
    let the = json!({ "root": { "metadata": { "name": "shop" }, "spec": { "kind": "a" } }, "other": {}, "schema": {} });
    assert_eq!(answer(whole("template", &the)), Answer::Missing("the.schema.url".to_owned()));
}

#[test]
fn asking_whether_a_field_is_there_is_no_reading_of_it() {
    assert_eq!(answer(whole("odd", &the())), Answer::Value(json!("none")));
}

#[test]
fn a_field_missing_in_the_programs_own_record_is_an_error_with_its_place() {
    let Answer::Error(text) = answer(whole("own", &the())) else { panic!("an error") };
    assert_eq!(text, "nodes.web.own: the field `b` is missing (main.ncl:11, PM0005)");
}

#[test]
fn errors_quote_nothing_of_the_input() {
    for clause in ["number", "quoted", "sly"] {
        let Answer::Error(text) = answer(whole(clause, &the())) else { panic!("{clause}: an error") };
        assert!(!text.contains("hunter2") && !text.contains("\"web\""), "{clause}: {text}");
        assert!(text.starts_with(&format!("nodes.web.{clause}: ")), "{text}");
        assert!(text.contains("main.ncl:"), "{text}");
    }
    // A name that is made of data is not told either.
    assert_eq!(answer(whole("named", &the())), Answer::Missing("the.root.…".to_owned()));
    // What is written in the blueprint word for word may be told.
    let Answer::Error(text) = answer(whole("told", &the())) else { panic!("an error") };
    assert!(text.contains("ask the owner"), "{text}");
}

#[test]
fn too_many_steps_are_a_verdict() {
    let Answer::Error(text) = answer(whole("endless", &the())) else { panic!("an error") };
    assert_eq!(text, "nodes.web.endless: the evaluation takes more than 300000 steps (PM0009)");
}

#[test]
fn a_result_that_is_no_data_is_an_error() {
    let Answer::Error(text) = answer(whole("function", &the())) else { panic!("an error") };
    assert_eq!(text, "nodes.web.function: f is a function, not data (PM0008)");
}

#[test]
fn an_identity_needs_nothing_that_only_the_rest_reads() {
    let root_only = json!({ "root": { "metadata": { "name": "shop" } } });
    let found = answer(asked(Form::Identity, &["template"], &root_only));
    assert_eq!(found, Answer::Value(json!({ "name": "shop-web" })));
    let nothing = answer(asked(Form::Identity, &["template"], &json!({ "root": {} })));
    assert_eq!(nothing, Answer::Missing("the.root.metadata".to_owned()));
}

#[test]
fn fields_that_cannot_be_evaluated_are_left_out() {
    let found = answer(asked(Form::Fields, &["status"], &the()));
    let Answer::Partial(found, why) = found else { panic!("{found:?}") };
    assert_eq!(found, json!({ "good": 1, "null_too": null }));
    assert!(why.starts_with("wrong: "), "what is only missing is no failure: {why}");
    let Answer::Error(text) =
        answer(asked(Form::Fields, &["number"], &json!({ "root": { "spec": { "kind": 1 } } })))
    else {
        panic!("an error")
    };
    assert!(text.contains("not a record"), "{text}");
}

#[test]
fn a_contract_says_true_or_why_not() {
    let path = ["ready", "shapes", "1", "contract"];
    let judge = |value: &Value| answer(asked(Form::Contract, &path, value));
    let good = json!({ "status": { "replicas": 1, "phase": "up", "other": 1 } });
    assert_eq!(judge(&good), Answer::Value(json!(true)));
    let Answer::Value(Value::String(why)) =
        judge(&json!({ "status": { "replicas": "hunter2", "phase": "up" } }))
    else {
        panic!("a reason")
    };
    assert!(why.starts_with("status.replicas: ") && !why.contains("hunter2"), "{why}");
    let Answer::Value(Value::String(why)) = judge(&json!({ "status": { "replicas": 1 } })) else {
        panic!("a reason")
    };
    assert!(why.contains("`phase` has no value"), "{why}");
}

#[test]
fn an_input_that_is_too_large_is_an_error_of_its_own_question_only() {
    let large = json!({ "root": "x".repeat(9 << 20) });
    let answers = local().answers(&[whole("own", &large), whole("odd", &the()), whole("own", &large)]);
    assert!(matches!(&answers[0], Answer::Error(text) if text.contains("PM0010")), "{:?}", answers[0]);
    assert_eq!(answers[1], Answer::Value(json!("none")));
    assert!(matches!(&answers[2], Answer::Error(_)));
}

fn sandboxed(millis: u64) -> (pemdas_nickel::Pool, Renderer<Sandboxed>) {
    let pool = workers::pool(|config| config.limits = Limits { millis, ..Limits::default() });
    let evaluator = pool.load("somebody", &Sources::single(PROGRAM)).unwrap();
    let limits = pool.limits().clone();
    (pool, Renderer::new(evaluator, limits))
}

fn every_question() -> Vec<Question> {
    let mut all: Vec<Question> =
        ["template", "key", "own", "odd", "number", "told", "quoted", "sly", "endless"]
            .iter()
            .map(|clause| whole(clause, &the()))
            .collect();
    all.push(asked(Form::Identity, &["template"], &the()));
    all.push(asked(Form::Fields, &["status"], &the()));
    all.push(asked(Form::Contract, &["ready", "shapes", "1", "contract"], &json!({ "status": {} })));
    all
}

#[test]
fn workers_answer_as_this_process_does_from_many_threads_at_once() {
    let (pool, renderer) = sandboxed(60_000);
    let wanted = local().answers(&every_question());
    assert_eq!(wanted.len(), every_question().len());
    thread::scope(|scope| {
        for _ in 0..4 {
            let renderer = renderer.clone();
            let wanted = &wanted;
            scope.spawn(move || assert_eq!(&renderer.answers(&every_question()), wanted));
        }
    });
    assert_eq!(pool.stats().lost, 0);
}

/// Enough work for its time to end, in steps that are counted and in native operations that are not.
#[test]
fn what_is_stopped_is_unknown_and_costs_its_neighbours_nothing() {
    let quick = whole("odd", &the());
    let native = Question { path: ["nodes", "web", "native"].map(str::to_owned).to_vec(), ..quick.clone() };
    let mut source = PROGRAM.replace("endless =", "native = fun _the => std.number.pow 10 1e9,\n endless =");
    source.push('\n');
    let pool = workers::pool(|config| config.limits = Limits { millis: 400, ..Limits::default() });
    let with_native =
        Renderer::new(pool.load("somebody", &Sources::single(source)).unwrap(), pool.limits().clone());
    let answers = with_native.answers(&[quick.clone(), native, quick.clone()]);
    assert_eq!(answers[0], Answer::Value(json!("none")));
    assert!(matches!(&answers[1], Answer::Unknown(text) if text.contains("nodes.web.native")), "{answers:?}");
    assert_eq!(answers[2], Answer::Value(json!("none")));
    // A batch as a whole has the time of one request: what does not fit goes into the next.
    let many: Vec<Question> = std::iter::repeat_n(quick, 600).collect();
    assert!(with_native.answers(&many).iter().all(|it| *it == Answer::Value(json!("none"))));
}

#[test]
fn a_batch_is_one_round_trip() {
    // A worker is replaced after so many answers: the number of workers started counts the round trips.
    let pool = workers::pool(|config| config.recycle_answers = 1);
    let renderer =
        Renderer::new(pool.load("somebody", &Sources::single(PROGRAM)).unwrap(), pool.limits().clone());
    let before = pool.stats().started + pool.stats().recycled;
    let _ = renderer.answers(&every_question());
    assert_eq!(pool.stats().started + pool.stats().recycled - before, 1);
}

const OWNED: &str = r#"
let { Blueprint, Int, .. } = import "pemdas.ncl" in
{
  name = "shop",
  kinds.Shop = {
    group = "example.com",
    versions.v1.spec = { image | String, replicas | Int | default = 2 },
  },
  nodes.app = { root = kinds.Shop },
} | Blueprint
"#;

#[test]
fn a_root_is_given_its_defaults_or_told_what_it_breaks() {
    let pool = workers::pool(|_| {});
    let loaded = Loaded::in_pool(&pool, "somebody", &Sources::single(OWNED)).unwrap();
    assert!(loaded.is_sound(), "{:?}", loaded.diagnostics);
    let (renderer, blueprint) = (loaded.renderer.unwrap(), loaded.blueprint.unwrap());
    let target = RootTarget::Owned("Shop".to_owned());
    let admit = |spec: Value| {
        let object =
            json!({ "apiVersion": "example.com/v1", "kind": "Shop", "spec": spec, "status": { "x": 1 } });
        renderer.admit(&blueprint, &target, &object)
    };
    let filled = admit(json!({ "image": "nginx" })).unwrap();
    assert_eq!(filled["spec"], json!({ "image": "nginx", "replicas": 2 }));
    assert_eq!(filled["status"], json!({ "x": 1 }));
    let Err(Failure::Failed { diagnostics }) = admit(json!({ "image": 1 })) else { panic!("it is refused") };
    assert!(diagnostics[0].notes.iter().any(|note| note == "in the data: image"), "{diagnostics:?}");
    assert!(matches!(admit(json!({})), Err(Failure::Failed { .. })));
    // The engine asks the same as a question among others.
    let path: Vec<String> = ["kinds", "Shop", "versions", "v1", "spec"].map(str::to_owned).into();
    let asked = |input: Value| {
        let digest = Digest::of(&[], &input);
        let question = Question { digest, path: path.clone(), form: Form::Admitted, input };
        renderer.answers(&[question]).remove(0)
    };
    let filled = asked(json!({ "image": "nginx" }));
    assert_eq!(filled, Answer::Value(json!({ "image": "nginx", "replicas": 2 })));
    let Answer::Error(why) = asked(json!({ "image": { "hunter2": 1 } })) else { panic!("it is refused") };
    assert!(why.starts_with("image: kinds.Shop.versions.v1.spec: ") && why.contains("main.ncl:"), "{why}");
    assert!(!why.contains("hunter2"), "{why}");
    let Answer::Error(why) = asked(json!({})) else { panic!("what is missing is no reason to wait") };
    assert!(why.contains("image"), "{why}");
}

#[test]
fn what_cannot_be_loaded_is_told_and_never_an_evaluator() {
    let pool = workers::pool(|_| {});
    let loaded = Loaded::in_pool(&pool, "somebody", &Sources::single("{ name = ")).unwrap();
    assert!(!loaded.is_sound() && loaded.renderer.is_none() && !loaded.diagnostics.is_empty());
    let local = Loaded::in_process(&Sources::single("{ name = "), &Limits::default());
    assert_eq!(local.diagnostics, loaded.diagnostics);
}
