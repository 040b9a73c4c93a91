//! The abstract world: a small model of a cluster, its faults, and walks through both.
//!
//! It exists to break `decide`. A walk is a list of steps; it is a function of its seed, is shrunk when it fails,
//! and replays from the line that is printed.

mod cluster;
mod lab;
mod properties;
mod sim;
mod walk;

mod directed;
mod exhaust;
mod mutants;
mod speed;
