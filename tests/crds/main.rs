//! Definitions drafted from contracts, on a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod agreement;
mod examples;
mod generate;
mod odd;
mod server;

use std::sync::OnceLock;

use pemdas_core::crd::definition;
use pemdas_core::diagnostic::Severity;
use pemdas_nickel::kinds::Drafts;
use pemdas_nickel::{InProcess, Limits, Sources, outline};
use serde_json::Value;
use server::Server;

/// One API server for all tests: their kinds are of different groups.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

/// A blueprint's drafts and its evaluator.
fn drafted(sources: &Sources) -> (InProcess, Drafts, Vec<Value>) {
    // What is asked here is the verdict, however busy the machine is.
    let limits = Limits { millis: 60_000, ..Limits::default() };
    let (evaluator, outlined) = outline::load(sources, &limits);
    let wrong: Vec<_> = outlined.diagnostics.iter().filter(|one| one.severity == Severity::Error).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let definitions = outlined.drafts.kinds.iter().map(definition).collect();
    (evaluator.unwrap(), outlined.drafts, definitions)
}
