//! The simulated API server against the real one: generated sequences of requests go to both, and every answer is compared.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is compared with the simulator is outside of it: a real server, reached from several threads"
)]

mod bodies;
mod differences;
mod generate;
mod normal;
mod real;
mod run;
mod settled;

use std::io::BufRead;
use std::sync::OnceLock;

use pemdas_sim::{Method, Reply, Request, Server, Time};
use serde_json::Value;

use real::Real;

/// How many requests are sent unless `PEMDAS_CONFORMANCE_REQUESTS` says otherwise.
const REQUESTS: usize = 20_000;
/// How many requests are one sequence, in a namespace of its own; watches and readings of the past come on top.
const SEQUENCE: usize = 40;
/// In how many namespaces it is seen what is left when all has settled, unless `PEMDAS_CONFORMANCE_NAMESPACES` says otherwise.
const NAMESPACES: u64 = 30;
/// How many sequences are sent at once: the real server waits for its disk most of the time.
const THREADS: usize = 4;

fn real() -> &'static Real {
    static REAL: OnceLock<Real> = OnceLock::new();
    REAL.get_or_init(Real::start)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn the_simulator_answers_as_the_real_server_does() {
    let real = real();
    if let Some(seed) = number("PEMDAS_CONFORMANCE_SEED") {
        let failure = run::sequence(real, seed, SEQUENCE, true);
        assert!(failure.is_none(), "{}", failure.unwrap_or_default());
        return;
    }
    let requests = number("PEMDAS_CONFORMANCE_REQUESTS").map_or(REQUESTS, |it| usize::try_from(it).unwrap());
    let most = number("PEMDAS_CONFORMANCE_FAILURES").map_or(1, |it| usize::try_from(it).unwrap());
    let sequences = requests.div_ceil(SEQUENCE);
    let failures = std::sync::Mutex::new(Vec::new());
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if seed >= sequences || failures.lock().unwrap().len() >= most {
                        return;
                    }
                    if let Some(failure) = run::sequence(real, seed as u64, SEQUENCE, most == 1) {
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn the_same_is_left_when_all_has_settled() {
    settled::run(real(), number("PEMDAS_CONFORMANCE_NAMESPACES").unwrap_or(NAMESPACES));
}

/// Watches from a version that is forgotten, and lists as of one that has not come.
#[test]
fn what_is_forgotten_or_has_not_come_is_refused_alike() {
    let real = real();
    let mut server = Server::new(1, Time(0));
    let defined = Request::new(Method::Post, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
    server.handle(Time(0), &defined.json("application/json", &bodies::definition()));
    server.compact();
    // Which version there is stands in what is said.
    let plain = |answer: Value| answer.to_string().replace(|letter: char| letter.is_ascii_digit(), "");
    for kind in ["/api/v1/configmaps", "/apis/conformance.example.com/v1/widgets"] {
        let future = Request::new(Method::Get, &format!("{kind}?resourceVersion=999999999"));
        let simulated = server.handle(Time(0), &future).whole().unwrap();
        let (status, answer) = real.send(&future);
        assert_eq!((status, plain(answer)), (simulated.status, plain(simulated.body)));

        for query in
            ["watch=1&resourceVersion=some", "watch=1&resourceVersionMatch=Exact", "sendInitialEvents=true"]
        {
            let wrong = Request::new(Method::Get, &format!("{kind}?{query}"));
            let simulated = server.handle(Time(0), &wrong).whole().unwrap();
            assert_eq!(real.send(&wrong), (simulated.status, simulated.body), "{query}");
        }
    }
    // What built-in kinds were at the very beginning may still be known, but this kind came later.
    let kind = "/apis/conformance.example.com/v1/widgets";
    let past = Request::new(Method::Get, &format!("{kind}?watch=1&resourceVersion=1&timeoutSeconds=5"));
    let Reply::Watch(mut watch) = server.handle(Time(0), &past) else { panic!("no watch") };
    let simulated = server.poll(&mut watch, Time(0));
    let told: Vec<String> = real.watch(&past).unwrap().lines().map(Result::unwrap).collect();
    let told = told.iter().map(|line| plain(serde_json::from_str(line).unwrap()));
    assert_eq!(told.collect::<Vec<_>>(), simulated.into_iter().map(plain).collect::<Vec<_>>());
    assert!(watch.ended());
}
