//! The simulated API server against the real one: generated sequences of requests go to both, and every answer is compared.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is compared with the simulator is outside of it: a real server, reached from several threads"
)]

mod access;
mod bodies;
mod differences;
mod generate;
mod normal;
mod real;
mod redefined;
mod run;
mod settled;

use std::io::BufRead;
use std::sync::OnceLock;

use pemdas_sim::{Method, Reply, Request, Server, Time};
use serde_json::Value;

use real::Real;

/// How many requests are one sequence, in a namespace of its own; watches and readings of the past come on top.
const SEQUENCE: usize = 40;
/// How many sequences are sent: 20,000 requests in a round of the deep tier.
const SEQUENCES: (u64, u64) = (25, 500);
/// In how many namespaces it is seen what is left when all has settled.
const NAMESPACES: (u64, u64) = (6, 30);
/// In how many namespaces roles and bindings are drawn.
const ROLES: (u64, u64) = (8, 100);
/// How many sequences are sent at once: the real server waits for its disk most of the time.
const THREADS: usize = 4;

fn real() -> &'static Real {
    static REAL: OnceLock<Real> = OnceLock::new();
    REAL.get_or_init(Real::start)
}

#[test]
fn the_simulator_answers_as_the_real_server_does() {
    let real = real();
    if let Ok(seed) = std::env::var("PEMDAS_CONFORMANCE_SEED") {
        let failure = run::sequence(real, seed.parse().unwrap(), SEQUENCE);
        assert!(failure.is_none(), "{}", failure.unwrap_or_default());
        return;
    }
    let seeds = pemdas_tier::seeds(SEQUENCES.0, SEQUENCES.1);
    pemdas_tier::tried((seeds.end - seeds.start) * SEQUENCE as u64, "requests");
    let seeds = std::sync::Mutex::new(seeds);
    let failure = std::sync::Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(seed) = { seeds.lock().unwrap().next() } {
                    if failure.lock().unwrap().is_some() {
                        return;
                    }
                    if let Some(found) = run::sequence(real, seed, SEQUENCE) {
                        failure.lock().unwrap().get_or_insert(found);
                    }
                }
            });
        }
    });
    let failure = failure.into_inner().unwrap();
    assert!(failure.is_none(), "{}", failure.unwrap_or_default());
}

#[test]
fn the_same_is_left_when_all_has_settled() {
    let seeds = pemdas_tier::seeds(NAMESPACES.0, NAMESPACES.1);
    pemdas_tier::tried(seeds.end - seeds.start, "namespaces");
    settled::run(real(), seeds);
}

/// A namespace that ends takes nothing new.
#[test]
fn a_namespace_that_ends_refuses_alike() {
    let mut server = Server::new(1, Time(0));
    let mut both = |request: &Request| {
        let simulated = server.handle(Time(0), request).whole().unwrap();
        (simulated, real().send(request))
    };
    let post = |path: &str, body: Value| Request::new(Method::Post, path).json("application/json", &body);
    let maps = "/api/v1/namespaces/ending/configmaps";
    both(&post("/api/v1/namespaces", serde_json::json!({ "metadata": { "name": "ending" } })));
    both(&post(
        maps,
        serde_json::json!({ "metadata": { "name": "stays", "finalizers": ["example.com/stays"] } }),
    ));
    both(&Request::new(Method::Delete, "/api/v1/namespaces/ending"));
    for path in [maps, "/apis/apps/v1/namespaces/ending/controllerrevisions"] {
        let (simulated, (status, answer)) =
            both(&post(path, serde_json::json!({ "metadata": { "name": "late" }, "revision": 1 })));
        assert_eq!((simulated.status, simulated.body), (status, answer), "{path}");
    }
}

#[test]
fn roles_and_bindings_grant_the_same() {
    let seeds = pemdas_tier::seeds(ROLES.0, ROLES.1);
    pemdas_tier::tried((seeds.end - seeds.start) * access::QUESTIONS as u64, "questions about access");
    for seed in seeds {
        access::compare(real(), seed);
    }
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
