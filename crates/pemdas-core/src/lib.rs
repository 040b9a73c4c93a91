//! The pure core of Pemdas: blueprints as data, the two graphs over them, facts in and decisions out.
//!
//! **Invariant.** Synchronous; no IO, clock, randomness, async or logging; ordered maps only; the same input
//! gives the same bytes; knows neither Kubernetes clients nor Nickel. Kept by this crate's `clippy.toml` and by
//! the test `architecture` of the workspace.

pub mod blueprint;
pub mod crd;
pub mod diagnostic;
pub mod graph;
pub mod health;
pub mod kube_types;
pub mod path;
pub mod shape;
pub mod suggest;
pub mod text;
pub mod truth;
