//! The abstract world: a small model of a cluster, its faults, and walks through both.
//!
//! It exists to break `decide`. A walk is a list of steps; it is a function of its seed, is shrunk when it fails,
//! and replays from the line that is printed. It is no part of the product: it is compiled for this crate's own
//! tests, and for others' with the feature `explore`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "it is a test, also where another crate runs it"
)]
#![cfg_attr(not(test), allow(dead_code, reason = "most of it is for this crate's own tests"))]

mod brake;
mod cluster;
mod controllers;
mod duo;
mod exhaust;
mod eyes;
mod history;
mod lab;
mod laws;
mod loss;
mod properties;
mod rename;
mod rotation;
mod sim;
mod stage;
mod subject;
mod tenant;
mod walk;
mod zoo;

#[cfg(test)]
mod directed;
#[cfg(test)]
mod mutants;
#[cfg(test)]
mod names;
#[cfg(test)]
mod speed;

pub use laws::{LAWS, Law};
pub use sim::{Evaluation, Kinds, Nature};
pub use stage::{Stage, explored_states};
pub use subject::{Play, Subject};
