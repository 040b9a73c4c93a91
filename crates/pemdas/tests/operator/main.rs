//! `pemdas run` on a real control plane: each test has a namespace and kinds of its own, and says in its name what it proves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod asking;
mod bed;
mod blueprints;
mod claims;
mod contracts;
mod cost;
mod definitions;
mod examples;
mod given;
mod marker;
mod own;
mod rights;
mod sharing;
#[allow(dead_code, reason = "the attacks use the rest")]
mod space;
