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

use std::sync::OnceLock;

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
