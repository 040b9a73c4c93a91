//! `pemdas run` under attack on a real control plane: bad input, bad connections, bad neighbours, bad moments, ends and new beginnings.
//! Each test has an operator and namespaces of its own, so none waits for another, and says in its name what it proves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]
#![allow(clippy::print_stderr, reason = "a test that fails shows the log of its operator")]

mod allowed;
#[allow(dead_code, reason = "the tests of the operator use the rest")]
#[path = "../operator/bed.rs"]
mod bed;
mod brake;
mod canary;
mod consent;
mod copies;
mod counted;
mod downtime;
mod fairness;
mod forged;
#[allow(dead_code, reason = "the tests of the operator use the rest")]
#[path = "../operator/given.rs"]
mod given;
mod going;
mod hands;
mod ids;
mod input;
mod life;
mod lost;
#[allow(dead_code, reason = "the tests of the operator use the rest")]
#[path = "../operator/marker.rs"]
mod marker;
mod memory;
mod operators;
#[path = "../operator/own.rs"]
mod own;
mod past;
mod port;
mod proxy;
mod refused;
mod reports;
mod restarts;
mod rollout;
mod rotation;
mod selectors;
mod server;
mod settling;
#[allow(dead_code, reason = "the tests of the operator use the rest")]
#[path = "../operator/space.rs"]
mod space;
mod squatting;
mod templates;
mod told;
mod transport;
mod uninstall;
