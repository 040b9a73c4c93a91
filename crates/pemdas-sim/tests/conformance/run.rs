//! Running a sequence on both servers, and making a failing one short.

use std::sync::atomic::{AtomicUsize, Ordering};

use pemdas_sim::{Method, Request, Server, Time};
use serde_json::{Value, json};

use crate::bodies;
use crate::differences::{Answer, agree};
use crate::generate;
use crate::normal::Side;
use crate::real::Real;

/// Where two answers differ.
struct Mismatch {
    /// How many requests of the sequence it took.
    after: usize,
    request: Request,
    real: Answer,
    simulated: Answer,
}

/// Runs the sequence of a seed: what is wrong, if anything is.
pub(crate) fn sequence(real: &Real, seed: u64, length: usize, shorten: bool) -> Option<String> {
    let requests = generate::sequence(seed, length);
    let found = run(real, &requests)?;
    if !shorten {
        return Some(told(seed, &[], &found));
    }
    let (shortest, found) = shortened(real, requests, found);
    Some(told(seed, &shortest, &found))
}

fn namespace(about: usize) -> Request {
    let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name(about) } });
    Request::new(Method::Post, "/api/v1/namespaces").json("application/json", &body)
}

/// The process tells apart runs on a cluster that outlives them.
fn name(number: usize) -> String {
    format!("run-{}-{number}-x", std::process::id())
}

fn run(real: &Real, requests: &[Request]) -> Option<Mismatch> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut now = Time(1_700_000_000_000);
    let mut server = Server::new(number as u64, now);
    let definition = Request::new(Method::Post, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
    let definition = definition.json("application/json", &bodies::definition());
    let defined = server.handle(now, &definition).whole().unwrap();
    assert_eq!(defined.status, 201, "{}", defined.body);
    assert_eq!(server.handle(now, &namespace(number)).whole().unwrap().status, 201);
    let (status, answer) = real.send(&namespace(number));
    assert_eq!(status, 201, "{answer}");
    // The controllers of the test bed put one ConfigMap into every namespace; without it, pages of lists would end elsewhere.
    let published = published(real, number);
    assert_eq!(server.handle(now, &published).whole().unwrap().status, 201);
    let (mut there, mut here) = (Side::new(&name(number)), Side::new(&name(number)));
    for (index, request) in requests.iter().enumerate() {
        now = now.after(1_000);
        let (status, answer) = real.send(&there.filled(request));
        let real_answer = (status, there.read(request, status, answer));
        let simulated = server.handle(now, &here.filled(request)).whole().unwrap();
        let simulated = (simulated.status, here.read(request, simulated.status, simulated.body));
        if !agree(request, &real_answer, &simulated) {
            return Some(Mismatch {
                after: index + 1,
                request: request.clone(),
                real: real_answer,
                simulated,
            });
        }
    }
    None
}

/// The request that gives the simulator what controllers put into a namespace of the real server.
fn published(real: &Real, number: usize) -> Request {
    let maps = format!("/api/v1/namespaces/{}/configmaps", name(number));
    let one = Request::new(Method::Get, &format!("{maps}/kube-root-ca.crt"));
    loop {
        let (status, there) = real.send(&one);
        if status == 200 {
            let metadata =
                json!({ "name": there["metadata"]["name"], "annotations": there["metadata"]["annotations"] });
            let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": there["data"] });
            return Request::new(Method::Post, &maps).json("application/json", &body);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Leaves out requests as long as something is still wrong.
fn shortened(real: &Real, mut requests: Vec<Request>, mut found: Mismatch) -> (Vec<Request>, Mismatch) {
    requests.truncate(found.after);
    let mut place = requests.len().saturating_sub(1);
    while place > 0 {
        place -= 1;
        let mut fewer = requests.clone();
        fewer.remove(place);
        if let Some(still) = run(real, &fewer) {
            fewer.truncate(still.after);
            requests = fewer;
            place = place.min(requests.len());
            found = still;
        }
    }
    (requests, found)
}

fn shown(request: &Request) -> String {
    let query: Vec<String> = request.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let body = String::from_utf8_lossy(&request.body);
    let kind = request.headers.get("content-type").map_or("", String::as_str);
    format!("{} {}?{} {kind} {body}", request.method.name(), request.path, query.join("&"))
}

fn told(seed: u64, requests: &[Request], found: &Mismatch) -> String {
    use std::fmt::Write as _;
    let mut text = format!(
        "seed {seed} differs; replay it with PEMDAS_CONFORMANCE_SEED={seed} cargo test -p pemdas-sim --test conformance\n"
    );
    for request in requests {
        writeln!(text, "  {}", shown(request)).unwrap();
    }
    writeln!(text, "differs at: {}", shown(&found.request)).unwrap();
    writeln!(text, "real {}, simulated {}", found.real.0, found.simulated.0).unwrap();
    difference(&found.real.1, &found.simulated.1, "", &mut text);
    text
}

fn difference(real: &Value, simulated: &Value, path: &str, text: &mut String) {
    use std::fmt::Write as _;
    match (real, simulated) {
        (Value::Object(one), Value::Object(other)) => {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let none = json!("<none>");
                difference(
                    one.get(name).unwrap_or(&none),
                    other.get(name).unwrap_or(&none),
                    &format!("{path}.{name}"),
                    text,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                difference(one, other, &format!("{path}[{index}]"), text);
            }
        }
        _ if real != simulated => {
            writeln!(text, "  {path}:\n    real      {real}\n    simulated {simulated}").unwrap();
        }
        _ => {}
    }
}
