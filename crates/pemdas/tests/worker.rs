//! The binary is its own evaluator behind walls.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

use std::process::Command;

use pemdas_nickel::{Evaluator as _, Place, Pool, PoolConfig, Sources, WorkerCommand};
use serde_json::json;

const PEMDAS: &str = env!("CARGO_BIN_EXE_pemdas");

#[test]
fn the_binary_evaluates_for_a_pool() {
    let command = WorkerCommand { program: PEMDAS.into(), arguments: vec!["worker".into()] };
    let pool = Pool::new(PoolConfig::new(command));
    let blueprint = pool.load("somebody", &Sources::single("{ twice = fun x => x * 2 }")).unwrap();
    let four = blueprint.evaluate(&Place::at(["twice"]).call([json!(2).into()])).unwrap();
    assert_eq!(four, json!(4));
}

#[test]
fn by_hand_it_says_that_this_is_nothing_for_people() {
    let output = Command::new(PEMDAS).arg("worker").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("started by pemdas, not by hand"), "{output:?}");
}
