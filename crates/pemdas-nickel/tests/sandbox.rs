//! Evaluation in real worker processes.

mod workers;

use std::sync::Arc;

use pemdas_nickel::{
    Answer, Evaluator, Failure, InProcess, Input, Kill, Limits, Place, Request, Size, Sources, WorkerCommand,
};
use serde_json::json;
use workers::pool;

const GOOD: &str = r#"
{
  double = fun the => { value = the.n * 2 },
  Contract = { image | String, replicas | Number | default = 1 },
  spin = fun the => let rec f = fun n => std.seq n (f (n + 1)) in f the.n,
  bomb = fun the => std.array.replicate the.n "x" |> std.string.join "",
  power = fun the => std.number.pow 10 the.n,
}
"#;

fn double(n: u64) -> Place {
    Place::at(["double"]).call([json!({ "n": n }).into()])
}

fn call(name: &str, n: u64) -> Place {
    Place::at([name]).call([json!({ "n": n }).into()])
}

#[test]
fn a_worker_is_shut_in() {
    let isolation = pool(|_| ()).isolation().unwrap();
    println!("{isolation:#?}");
    assert!(isolation.is_enough(), "{isolation:?}");
    assert!(isolation.seccomp && isolation.no_new_privileges, "{isolation:?}");
}

#[test]
fn a_worker_answers_like_the_evaluator_in_process() {
    let pool = pool(|_| ());
    let sources = Sources::single(GOOD);
    let sandboxed = pool.load("ns/account", &sources).unwrap();
    let local = InProcess::load(&sources, &Limits::default()).unwrap();
    let mut poisoned = std::collections::BTreeMap::new();
    poisoned.insert("n".to_owned(), Input::Poison("the.n".to_owned()));
    let requests = [
        Request::Evaluate { place: double(21) },
        Request::Evaluate { place: call("spin", 0) },
        Request::Evaluate { place: Place::root() },
        Request::Evaluate { place: Place::at(["nothing"]) },
        Request::Select {
            place: Place::at(["double"]).call([Input::Record(poisoned)]),
            fields: vec![vec!["value".to_owned()], vec!["other".to_owned()]],
        },
        Request::Check { contract: Place::at(["Contract"]), value: json!({ "image": "a" }) },
        Request::Check { contract: Place::at(["Contract"]), value: json!({ "image": 1 }) },
        Request::Look { place: Place::root() },
        Request::Describe { place: Place::at(["Contract"]) },
        Request::Syntax,
    ];
    for request in &requests {
        assert_eq!(sandboxed.ask(request), local.ask(request), "{request:?}");
    }
    assert_eq!(sandboxed.evaluate(&double(21)), Ok(json!({ "value": 42 })));
    assert_eq!(pool.stats().started, 1);
}

#[test]
fn a_blueprint_that_does_not_load_says_why() {
    let pool = pool(|_| ());
    let Err(failure) = pool.load("a", &Sources::single("{ a = ")) else { panic!("it should not load") };
    assert_eq!(failure.diagnostics()[0].code, "PM0001");
    let Err(failure) = pool.load("a", &Sources::single("{ a = import \"/etc/passwd\" }")) else { panic!() };
    assert_eq!(failure.diagnostics()[0].code, "PM0003");
    // And the place it took is free again.
    for _ in 0..5 {
        assert!(pool.load("a", &Sources::single("{}")).is_ok());
    }
}

#[test]
fn what_never_ends_is_killed_and_replaced() {
    let pool = pool(|config| {
        config.limits.millis = 300;
        config.limits.memory = 4 << 30;
    });
    let sandboxed = pool.load("a", &Sources::single(GOOD)).unwrap();
    // A native operation: no step is ever counted.
    assert_eq!(sandboxed.evaluate(&call("power", 900_000_000)), Err(Failure::Killed { why: Kill::Time }));
    assert_eq!(sandboxed.evaluate(&double(1)), Ok(json!({ "value": 2 })));
    assert_eq!(pool.stats().started, 2);
    assert_eq!(pool.stats().lost, 1);
}

#[test]
fn what_wants_all_memory_is_killed_and_replaced() {
    let pool = pool(|config| config.limits.memory = 64 << 20);
    let sandboxed = pool.load("a", &Sources::single(GOOD)).unwrap();
    assert_eq!(sandboxed.evaluate(&call("bomb", 3_000_000_000)), Err(Failure::Killed { why: Kill::Memory }));
    assert_eq!(sandboxed.evaluate(&double(1)), Ok(json!({ "value": 2 })));
}

#[test]
fn fuel_is_a_verdict_and_costs_no_worker() {
    let pool = pool(|config| config.limits.fuel = 10_000);
    let sandboxed = pool.load("a", &Sources::single(GOOD)).unwrap();
    for _ in 0..3 {
        assert_eq!(sandboxed.evaluate(&call("spin", 0)), Err(Failure::FuelExhausted { fuel: 10_000 }));
    }
    assert_eq!(pool.stats().started, 1);
}

#[test]
fn large_requests_and_answers_are_refused() {
    let pool = pool(|config| {
        config.limits.input_bytes = 1_000;
        config.limits.output_bytes = 1_000;
    });
    let sandboxed = pool
        .load(
            "a",
            &Sources::single("{ id = fun x => x, long = fun n => std.array.replicate n \"xxxxxxxxx\" }"),
        )
        .unwrap();
    let id = |value: serde_json::Value| Place::at(["id"]).call([value.into()]);
    assert_eq!(
        sandboxed.evaluate(&id(json!("x".repeat(2_000)))),
        Err(Failure::TooLarge { what: Size::Input, limit: 1_000 })
    );
    assert_eq!(
        sandboxed.evaluate(&Place::at(["long"]).call([json!(500).into()])),
        Err(Failure::TooLarge { what: Size::Output, limit: 1_000 })
    );
    assert_eq!(sandboxed.evaluate(&id(json!(1))), Ok(json!(1)));
}

#[test]
fn two_identities_never_share_a_worker() {
    let pool = pool(|_| ());
    let sources = Sources::single(GOOD);
    let first = pool.load("ns1/a", &sources).unwrap();
    let second = pool.load("ns2/b", &sources).unwrap();
    for _ in 0..3 {
        assert!(first.evaluate(&double(1)).is_ok());
        assert!(second.evaluate(&double(1)).is_ok());
    }
    // Two workers, one each, for the same text.
    assert_eq!(pool.stats().started, 2);
    // A third has to wait for nobody, but somebody's worker goes.
    let third = pool.load("ns3/c", &sources).unwrap();
    assert!(third.evaluate(&double(1)).is_ok());
    assert_eq!(pool.stats().started, 3);
    assert!(first.evaluate(&double(1)).is_ok() && second.evaluate(&double(1)).is_ok());
}

#[test]
fn old_and_large_workers_are_recycled_unnoticed() {
    let pool = pool(|config| config.recycle_answers = 3);
    let sandboxed = pool.load("a", &Sources::single(GOOD)).unwrap();
    for n in 0..10 {
        assert_eq!(sandboxed.evaluate(&double(n)), Ok(json!({ "value": n * 2 })));
    }
    assert_eq!(pool.stats().recycled, 3);

    let pool = workers::pool(|config| config.recycle_bytes = 1);
    let sandboxed = pool.load("a", &Sources::single(GOOD)).unwrap();
    for n in 0..3 {
        assert_eq!(sandboxed.evaluate(&double(n)), Ok(json!({ "value": n * 2 })));
    }
    assert_eq!(pool.stats().recycled, 4);
}

#[test]
fn the_queue_is_bounded() {
    let pool = pool(|config| {
        config.workers = 1;
        config.waiting = 1;
        config.limits.millis = 1_500;
        config.limits.fuel = u64::MAX;
        config.limits.memory = 4 << 30;
    });
    let sandboxed = Arc::new(pool.load("a", &Sources::single(GOOD)).unwrap());
    let asking: Vec<_> = (0..6)
        .map(|_| {
            let sandboxed = Arc::clone(&sandboxed);
            std::thread::spawn(move || sandboxed.evaluate(&call("spin", 0)))
        })
        .collect();
    let ends: Vec<_> = asking.into_iter().map(|thread| thread.join().unwrap()).collect();
    let killed = ends.iter().filter(|end| matches!(end, Err(Failure::Killed { why: Kill::Time }))).count();
    let refused = ends.iter().filter(|end| matches!(end, Err(Failure::Unavailable { .. }))).count();
    assert_eq!((killed + refused, refused), (6, 4), "{ends:?}");
    assert_eq!(pool.stats().refused, 4);
}

#[test]
fn a_program_that_is_no_worker_is_an_error() {
    for (program, arguments) in [("/nonexistent", vec![]), ("/bin/cat", vec![]), ("/bin/echo", vec!["hello"])]
    {
        let command = WorkerCommand {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        };
        let pool = workers::pool(|config| config.command = command);
        let Err(failure) = pool.load("a", &Sources::single("{}")) else { panic!("{program} is no worker") };
        assert!(failure.is_transient(), "{failure:?}");
    }
}

#[test]
fn an_answer_is_the_one_to_the_question() {
    // Many threads, few workers: nobody gets somebody else's answer.
    let pool = pool(|_| ());
    let sandboxed = Arc::new(pool.load("a", &Sources::single(GOOD)).unwrap());
    let threads: Vec<_> = (0..4_u64)
        .map(|thread| {
            let sandboxed = Arc::clone(&sandboxed);
            std::thread::spawn(move || {
                for n in 0..50 {
                    let n = thread * 1000 + n;
                    let answer = sandboxed.ask(&Request::Evaluate { place: double(n) });
                    assert_eq!(answer, Ok(Answer::Json(json!({ "value": n * 2 }))));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_fault_of_the_evaluator_is_a_verdict_and_nothing_of_it_remains() {
    // Zero to the power of minus one makes the evaluator panic.
    let sources = Sources::single("{ f = fun n => std.number.pow 0 n, ok = 1 }");
    let fault = Place::at(["f"]).call([json!(-1).into()]);
    let pool = pool(|_| ());
    let sandboxed = pool.load("a", &sources).unwrap();
    let local = InProcess::load(&sources, &Limits::default()).unwrap();
    let evaluators: [&dyn Evaluator; 2] = [&sandboxed, &local];
    for evaluator in evaluators {
        let Err(failure) = evaluator.evaluate(&fault) else { panic!("it should fail") };
        assert_eq!(failure.diagnostics()[0].code, "PM0017");
        assert!(!failure.is_transient());
        assert_eq!(evaluator.evaluate(&Place::at(["ok"])), Ok(json!(1)));
    }
    assert_eq!(pool.stats().started, 2);
}

#[test]
fn a_worker_ends_with_its_parent_whatever_it_is_doing() {
    use std::io::Write as _;
    let limits = Limits { millis: 600_000, fuel: u64::MAX, memory: 4 << 30, ..Limits::default() };
    let mut worker = std::process::Command::new(env!("CARGO_BIN_EXE_pemdas-nickel-worker"))
        .args([format!("--memory={}", limits.memory), format!("--stack={}", limits.stack)])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = worker.stdin.take().unwrap();
    let request = Request::Evaluate { place: call("spin", 0) };
    for message in
        [json!({ "load": { "sources": Sources::single(GOOD), "limits": limits } }), json!({ "ask": request })]
    {
        let bytes = serde_json::to_vec(&message).unwrap();
        stdin.write_all(&u32::try_from(bytes.len()).unwrap().to_be_bytes()).unwrap();
        stdin.write_all(&bytes).unwrap();
    }
    stdin.flush().unwrap();
    // Without end, unless somebody ends it: what ends it is that there is nobody left.
    drop(stdin);
    assert!(worker.wait().unwrap().success());
}

#[test]
fn a_worker_outlives_the_thread_that_started_it() {
    let pool = pool(|_| ());
    let sandboxed = std::thread::scope(|scope| {
        scope.spawn(|| pool.load("a", &Sources::single(GOOD)).unwrap()).join().unwrap()
    });
    assert_eq!(sandboxed.evaluate(&double(2)), Ok(json!({ "value": 4 })));
    assert_eq!(pool.stats().started, 1);
}

#[test]
fn a_worker_is_not_for_use_by_hand() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pemdas-nickel-worker")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}
