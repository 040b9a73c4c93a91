//! The parts of the running operator, each on a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod access;
mod boxed;
mod by_hand;
mod definitions;
mod events;
mod lease;
mod metrics;
mod report;
mod revisions;
mod server;
mod settle;
