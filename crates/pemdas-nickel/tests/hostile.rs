//! Programs that mean harm, each with a header that says what it must give, run in real workers while a good blueprint goes on working.
//!
//! A header is `# gives: WORD or WORD ...`: `ok`, `fuel`, `too-large`, `time`, `memory`, `crash`, or the code of a diagnostic. `# ask:` says what
//! is asked instead of the whole value. `@CANARY@` stands for the path of files whose text must appear nowhere.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test are the test")]

mod workers;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pemdas_nickel::{Evaluator, Failure, InProcess, Kill, Limits, Place, Pool, Request, Sources};
use serde_json::json;

/// What the canary files say, and so what nobody may ever say.
const SECRET: &str = "canary-7f3a91";
/// The longest that anything said about a program may be: results apart, that is diagnostics.
const MAX_SAID: usize = 200_000;

struct Program {
    name: String,
    text: String,
    gives: Vec<String>,
    request: Request,
}

fn programs(canary: &Path) -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| program(path, canary)).collect()
}

fn program(path: &Path, canary: &Path) -> Program {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).unwrap().replace("@CANARY@", canary.to_str().unwrap());
    let header = |key: &str| {
        let start = format!("# {key}: ");
        text.lines().take(4).find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
    };
    let gives = header("gives").unwrap_or_else(|| panic!("{name} does not say what it gives"));
    let gives = gives.split(" or ").map(str::to_owned).collect();
    let place = |field: &str| Place::at([field]);
    let ask = header("ask").unwrap_or_else(|| "evaluate".to_owned());
    let request = match ask.splitn(3, ' ').collect::<Vec<_>>()[..] {
        ["evaluate"] => Request::Evaluate { place: Place::root() },
        ["syntax"] => Request::Syntax,
        ["look", field] => Request::Look { place: place(field) },
        ["describe", field] => Request::Describe { place: place(field) },
        ["check", field, value] => {
            Request::Check { contract: place(field), value: serde_json::from_str(value).unwrap() }
        }
        _ => panic!("{name} asks for {ask}"),
    };
    Program { name, text, gives, request }
}

/// What a program gave, in the words of the headers.
fn word<T>(result: &Result<T, Failure>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(Failure::FuelExhausted { .. }) => "fuel".to_owned(),
        Err(Failure::TooLarge { .. }) => "too-large".to_owned(),
        Err(Failure::Killed { why: Kill::Time }) => "time".to_owned(),
        Err(Failure::Killed { why: Kill::Memory }) => "memory".to_owned(),
        Err(Failure::Killed { why: Kill::Crash }) => "crash".to_owned(),
        Err(failure) => failure.diagnostics()[0].code.clone(),
    }
}

fn plant_canary() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let canary = folder.path().join("canary");
    for (extension, text) in [
        ("ncl", format!("\"{SECRET}\"")),
        ("txt", SECRET.to_owned()),
        ("json", format!("{{\"key\": \"{SECRET}\"}}")),
        ("yaml", format!("key: {SECRET}")),
        ("toml", format!("key = \"{SECRET}\"")),
    ] {
        fs::write(canary.with_extension(extension), text).unwrap();
    }
    (folder, canary)
}

/// What is wrong with what a program gave and what was said about it.
fn complaint(program: &Program, given: &str, said: &str) -> Option<String> {
    let name = &program.name;
    if said.contains(SECRET) || said.contains("root:x:0:") {
        return Some(format!("{name} has read a file: {said}"));
    }
    if given != "ok" && said.len() > MAX_SAID {
        return Some(format!("{name} made the evaluator say {} bytes", said.len()));
    }
    if !program.gives.iter().any(|allowed| allowed == given) {
        let said: String = said.chars().take(400).collect();
        return Some(format!("{name} must give {:?} but gave {given}: {said}", program.gives));
    }
    None
}

/// Runs a program in a worker.
fn run(pool: &Pool, program: &Program) -> (String, String) {
    let sources = Sources::single(program.text.clone());
    match pool.load(&program.name, &sources).and_then(|loaded| loaded.ask(&program.request)) {
        Ok(answer) => ("ok".to_owned(), format!("{answer:?}")),
        Err(failure) => {
            (word::<()>(&Err(failure.clone())), format!("{failure:?} {:?}", failure.diagnostics()))
        }
    }
}

#[test]
fn no_program_does_harm() {
    let (_folder, canary) = plant_canary();
    let programs = programs(&canary);
    assert!(programs.len() >= 60, "only {} programs", programs.len());
    let hostile = |millis| {
        workers::pool(|config| {
            config.workers = 3;
            config.limits.millis = millis;
            config.limits.memory = 192 << 20;
            config.limits.fuel = 60_000;
            config.limits.load_fuel = 60_000;
        })
    };
    // Only what may end by the clock is held to a short time: a slow machine must not change the verdict on the others.
    let (short, long) = (hostile(1_500), hostile(60_000));
    let good_pool = workers::pool(|config| config.limits.millis = 30_000);
    let good = good_pool.load("good", &Sources::single("{ f = fun the => { v = the.n + 1 } }")).unwrap();

    let next = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    let (complaints, served) = std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let mut served = 0_u64;
            while !done.load(Ordering::Relaxed) {
                let place = Place::at(["f"]).call([json!({ "n": served }).into()]);
                assert_eq!(good.evaluate(&place), Ok(json!({ "v": served + 1 })));
                served += 1;
            }
            served
        });
        let attackers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut complaints = Vec::new();
                    while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let timed = program.gives.iter().any(|word| word == "time");
                        let (given, said) = run(if timed { &short } else { &long }, program);
                        println!("{:32} {given}", program.name);
                        complaints.extend(complaint(program, &given, &said));
                    }
                    complaints
                })
            })
            .collect();
        let complaints: Vec<String> =
            attackers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        (complaints, serving.join().unwrap())
    });
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    // The good one was never disturbed: none of its workers was lost.
    assert!(served >= 100, "the good blueprint was served {served} times only");
    assert_eq!(good_pool.stats().lost, 0);
    // And the pools that suffered still work.
    let after = long.load("after", &Sources::single("{ a = 1 }")).unwrap();
    assert_eq!(after.evaluate(&Place::at(["a"])), Ok(json!(1)));
    assert!(short.stats().lost > 0 && long.stats().lost > 0);
}

/// Without any sandbox: what the guards of imports hold off by themselves.
#[test]
fn the_guards_alone_hold_every_import() {
    let (_folder, canary) = plant_canary();
    let imports: Vec<Program> =
        programs(&canary).into_iter().filter(|program| program.name.starts_with("import_")).collect();
    assert!(imports.len() >= 40, "only {} programs", imports.len());
    let mut seen = BTreeMap::new();
    for program in &imports {
        let loaded = InProcess::load(&Sources::single(program.text.clone()), &Limits::default());
        let result = loaded.and_then(|evaluator| evaluator.ask(&program.request));
        let (given, said) = (word(&result), format!("{result:?}"));
        assert_eq!(complaint(program, &given, &said), None);
        *seen.entry(given).or_insert(0) += 1;
    }
    // The same programs do read the canary if nothing guards them: it is there, and readable.
    assert!(fs::read_to_string(canary.with_extension("ncl")).unwrap().contains(SECRET));
    assert!(!seen.contains_key("ok"), "{seen:?}");
}
