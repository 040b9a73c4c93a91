//! A simulated Kubernetes cluster: an API server's semantics, the controllers that play the cluster's part,
//! and faults.
//!
//! **Invariant.** A whole run is a function of its seed and its scenario: no clock, no ambient randomness,
//! no threads. Its semantics count only as far as they are checked against a real API server.
//!
//! [`Server`] is the API server: a [`Request`] in, a [`Reply`] out; [`Watch`]es are polled. [`Cluster`] adds what a real cluster's
//! controllers do. `docs/design/simulator.md` says what is simulated, how it is checked, and what is different.

mod api;
mod built_in;
mod cluster;
mod controllers;
mod custom;
mod kinds;
mod manage;
mod meta;
mod patch;
mod read;
mod seed;
mod server;
mod store;
mod time;
mod typed;

pub use api::{Cause, Failure, Method, Request, Response};
pub use cluster::Cluster;
pub use controllers::{Behaviour, Outcome, Rule, Scenario};
pub use custom::{Column, Definition, Scale};
pub use kinds::{Body, Kinds, Resource};
pub use read::Watch;
pub use seed::Seed;
pub use server::{Access, Answer, Reply, Server};
pub use store::{Change, Key, ResourceId, Store};
pub use time::Time;
