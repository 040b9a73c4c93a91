//! The port for metrics and probes.

use std::{io::Write as _, net::TcpStream};

use serde_json::json;

use super::{bed::until, input::NOTE, operators::Plan, space::Space};

/// More than the operator may have descriptors.
const CONNECTIONS: usize = 400;
/// As many descriptors as the operator may have.
const DESCRIPTORS: usize = 256;

#[test]
fn half_open_connections_keep_nobody_from_an_answer_or_from_work() {
    let space = Space::new("port");
    let operator = Plan::over(&[&space]).start();
    let is_served = || operator.log().contains("health and metrics are served").then_some(());
    until("the port is served", is_served);
    operator.limit_descriptors(DESCRIPTORS);
    let half_open = || {
        let mut stream = TcpStream::connect(operator.address()).unwrap();
        // What was closed by the other side already takes no descriptor there: that is as good.
        let _refused = stream.write_all(b"GET /metrics HTTP/1.1\r\nhost:");
        stream
    };
    let open: Vec<_> = (0..CONNECTIONS).map(|_| half_open()).collect();
    let is_well = || assert!(operator.page("/healthz").starts_with("HTTP/1.1 200"));
    is_well();
    // Each worker that reads a blueprint needs pipes, and each watch a connection.
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    let more: Vec<_> = (0..CONNECTIONS).map(|_| half_open()).collect();
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    is_well();
    drop((open, more));
}
