//! Running a sequence on both servers, and making a failing one short.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering};

use pemdas_sim::{Method, Reply, Request, Server, Time, Watch};
use serde_json::{Value, json};

use crate::bodies::{self, END, Kind};
use crate::differences::{Answer, agree};
use crate::generate;
use crate::normal::{PUBLISHED, Side};
use crate::real::{Events, Real};

/// Where two answers differ.
struct Mismatch {
    /// How many requests of the sequence it took.
    after: usize,
    request: Request,
    real: Answer,
    simulated: Answer,
}

/// Runs the sequence of a seed: what is wrong, if anything is, with the shortest sequence that shows it.
pub(crate) fn sequence(real: &Real, seed: u64, length: usize) -> Option<String> {
    let requests = generate::sequence(seed, length);
    let found = run(real, &requests)?;
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
    let now = Time(1_700_000_000_000);
    let mut server = Server::new(number as u64, now);
    let definition = Request::new(Method::Post, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
    let definition = definition.json("application/json", &bodies::definition());
    let defined = server.handle(now, &definition).whole().unwrap();
    assert_eq!(defined.status, 201, "{}", defined.body);
    let made = server.handle(now, &namespace(number)).whole().unwrap();
    assert_eq!(made.status, 201);
    let (status, answer) = real.send(&namespace(number));
    assert_eq!(status, 201, "{answer}");
    // The controllers of the test bed put one ConfigMap into every namespace; without it, pages of lists would end elsewhere.
    let (published, version) = published(real, number);
    let here = server.handle(now, &published).whole().unwrap();
    assert_eq!(here.status, 201);
    let mut both = Both {
        real,
        server,
        now,
        there: Side::new(&name(number), &version),
        here: Side::new(&name(number), &here.body["metadata"]["resourceVersion"]),
        watches: Vec::new(),
    };
    for (index, request) in requests.iter().enumerate() {
        if let Some((real, simulated)) = both.send(request) {
            return Some(Mismatch { after: index + 1, request: request.clone(), real, simulated });
        }
    }
    let (request, real, simulated) = both.watched()?;
    Some(Mismatch { after: requests.len(), request, real, simulated })
}

/// Both servers in the middle of a sequence.
struct Both<'a> {
    real: &'a Real,
    server: Server,
    now: Time,
    there: Side,
    here: Side,
    watches: Vec<(Request, Events, Watch)>,
}

impl Both<'_> {
    /// Sends a request to both; the answers, if they differ.
    fn send(&mut self, request: &Request) -> Option<(Answer, Answer)> {
        self.now = self.now.after(1_000);
        let (there, here) = (self.there.filled(request), self.here.filled(request));
        let simulated = self.server.handle(self.now, &here);
        let (real, simulated) = if request.flag("watch") {
            match (self.real.watch(&there), simulated) {
                (Ok(events), Reply::Watch(watch)) => {
                    self.watches.push((request.clone(), events, *watch));
                    return None;
                }
                (real, simulated) => {
                    let simulated = simulated.whole().map(|it| (it.status, it.body));
                    (real.err().unwrap_or_default(), simulated.unwrap_or_default())
                }
            }
        } else {
            let simulated = simulated.whole().unwrap();
            (self.real.send(&there), (simulated.status, simulated.body))
        };
        let real = (real.0, self.there.read(request, real.0, real.1));
        let simulated = (simulated.0, self.here.read(request, simulated.0, simulated.1));
        (!agree(request, &real, &simulated)).then_some((real, simulated))
    }

    /// Ends the watches and compares what they have told.
    fn watched(&mut self) -> Option<(Request, Answer, Answer)> {
        let paths: BTreeSet<String> = self.watches.iter().map(|(watch, ..)| watch.path.clone()).collect();
        for path in paths {
            let end = Kind::at(&path).unwrap().end();
            let request = Request::new(Method::Post, &path).json("application/json", &end);
            let request = request.header("user-agent", "end");
            if let Some((real, simulated)) = self.send(&request) {
                return Some((request, real, simulated));
            }
        }
        for (request, events, mut watch) in std::mem::take(&mut self.watches) {
            let mut told = Vec::new();
            for line in events.lines() {
                let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
                let is_end = event["object"]["metadata"]["name"] == END;
                told.push(event);
                if is_end {
                    break;
                }
            }
            let real = (200, self.there.events(told));
            let simulated = (200, self.here.events(self.server.poll(&mut watch, self.now)));
            if !agree(&request, &real, &simulated) {
                return Some((request, real, simulated));
            }
        }
        None
    }
}

/// The request that gives the simulator what controllers put into a namespace of the real server, and the version of that.
fn published(real: &Real, number: usize) -> (Request, Value) {
    let maps = format!("/api/v1/namespaces/{}/configmaps", name(number));
    let one = Request::new(Method::Get, &format!("{maps}/{PUBLISHED}"));
    loop {
        let (status, there) = real.send(&one);
        if status == 200 {
            let metadata =
                json!({ "name": there["metadata"]["name"], "annotations": there["metadata"]["annotations"] });
            let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": there["data"] });
            let request = Request::new(Method::Post, &maps).json("application/json", &body);
            return (request, there["metadata"]["resourceVersion"].clone());
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
