//! `pemdas run` under attack on a real control plane: bad input, bad connections, bad neighbours, bad moments. Each test has
//! an operator and namespaces of its own, and says in its name what it proves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]
#![allow(clippy::print_stderr, reason = "a test that fails shows the log of its operator")]

#[allow(dead_code, reason = "the tests of the operator use the rest")]
#[path = "../operator/bed.rs"]
mod bed;
mod copies;
mod fairness;
mod hands;
mod input;
mod life;
mod operators;
mod proxy;
mod reports;
mod server;
mod templates;
mod transport;
