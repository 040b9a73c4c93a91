//! The pure core of Pemdas: blueprints as data, the two graphs over them, facts in and decisions out.
//!
//! **Invariant.** Synchronous; no IO, clock, randomness, async or logging; ordered maps only; the same input
//! gives the same bytes; knows neither Kubernetes clients nor Nickel. Kept by this crate's `clippy.toml` and by
//! the test `architecture` of the workspace.

#[macro_use]
pub mod mutation;

#[cfg(any(test, feature = "explore"))]
pub mod explore;

pub mod action;
pub mod blueprint;
pub mod crd;
pub mod decide;
pub mod diagnostic;
pub mod digest;
pub mod evaluate;
pub mod graph;
pub mod health;
pub mod import;
pub mod kube_types;
pub mod ledger;
mod moment;
pub mod packed;
pub mod path;
pub mod plan;
pub mod program;
pub mod rights;
pub mod rollout;
pub mod secrets;
pub mod shape;
pub mod suggest;
pub mod text;
pub mod truth;
pub mod world;
