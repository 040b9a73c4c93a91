//! The verdicts on changed manifests that `pemdas-core` is measured by are those of a real API server.
//!
//! With `PEMDAS_RENEW=1` they are written anew instead: do so when the pinned version of Kubernetes changes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use pemdas_core::kube_types::{Kind, Scope};
use pemdas_testbed::{Cluster, Level};
use serde_json::{Value, json};

const CHANGES: [&str; 9] = ["r", "d", "s", "n", "f", "b", "a", "o", "z"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/pemdas-core/tests/data").join(name)
}

/// Speaks to the API server as the admin, through kubectl.
struct Server {
    proxy: Child,
    address: String,
    agent: ureq::Agent,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

impl Server {
    fn of(cluster: &Cluster) -> Self {
        let mut command = cluster.kubectl_command();
        let mut proxy = command.args(["proxy", "--port=0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        Self { proxy, address, agent }
    }

    /// Whether the server would apply an object in the place of another, and why not.
    fn verdict(&self, original: &Value, object: &Value) -> &'static str {
        let text = |pointer: &str| original.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let kind = Kind::find(text("/apiVersion"), text("/kind")).unwrap();
        let api = if kind.group().is_empty() { "api" } else { "apis" };
        let namespace = match kind.scope {
            Scope::Namespaced => format!("namespaces/{}/", text("/metadata/namespace")),
            Scope::Cluster => String::new(),
        };
        let name = text("/metadata/name").replace(':', "%3A");
        let url = format!(
            "http://{}/{api}/{}/{namespace}{}/{name}?dryRun=All&fieldManager=test&force=true&fieldValidation=Strict",
            self.address, kind.api_version, kind.plural
        );
        let request = self.agent.patch(&url).header("Content-Type", "application/apply-patch+yaml");
        let mut response = request.send(object.to_string()).unwrap();
        let status = response.status().as_u16();
        let answer: Value = response.body_mut().read_json().unwrap();
        let message = answer["message"].as_str().unwrap_or_default();
        match status {
            200 | 201 => "ok",
            _ if message.contains("field not declared in schema") || message.contains("unknown field") => {
                "unknown"
            }
            403 | 404 | 409 | 422 => "invalid",
            400 | 500 => "type",
            other => panic!("{url}: {other}: {message}"),
        }
    }
}

/// Every place in a value, parents first.
fn places(value: &Value, path: &mut Vec<Value>, found: &mut Vec<Vec<Value>>) {
    let steps: Vec<(Value, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (json!(name), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (json!(index), value)).collect(),
        _ => return,
    };
    for (step, inner) in steps {
        path.push(step);
        found.push(path.clone());
        places(inner, path, found);
        path.pop();
    }
}

fn changed(object: &Value, path: &[Value], change: &str) -> Option<Value> {
    let mut object = object.clone();
    let (last, before) = path.split_last()?;
    let parent = before.iter().try_fold(&mut object, |value, step| match step {
        Value::String(name) => value.get_mut(name),
        index => value.get_mut(usize::try_from(index.as_u64()?).ok()?),
    })?;
    let value = match change {
        "s" => json!("zzz"),
        "n" => json!(7),
        "f" => json!(1.5),
        "b" => json!(true),
        "a" => json!([]),
        "o" => json!({}),
        _ => Value::Null,
    };
    match (last, change) {
        (Value::String(name), "r" | "d") => {
            let value = parent.as_object_mut()?.remove(name)?;
            if change == "r" {
                parent[format!("{name}Q")] = value;
            }
        }
        (_, "r" | "d") => return None,
        (Value::String(name), _) => parent[name.as_str()] = value,
        (index, _) => parent[usize::try_from(index.as_u64()?).ok()?] = value,
    }
    Some(object)
}

fn lines(server: &Server, manifests: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, object) in manifests.iter().enumerate() {
        assert_eq!(server.verdict(object, object), "ok", "{object}");
        let mut found = Vec::new();
        places(object, &mut Vec::new(), &mut found);
        // What says which object it is stays as it is.
        let identity = [
            "[\"apiVersion\"]",
            "[\"kind\"]",
            "[\"metadata\"]",
            "[\"metadata\",\"name\"]",
            "[\"metadata\",\"namespace\"]",
        ];
        for path in found {
            let shown = serde_json::to_string(&path).unwrap();
            if identity.contains(&shown.as_str()) {
                continue;
            }
            let verdict = |change: &&str| {
                let object_changed = changed(object, &path, change)?;
                Some(format!("{change}={}", server.verdict(object, &object_changed)))
            };
            let verdicts: Vec<String> = CHANGES.iter().filter_map(verdict).collect();
            lines.push(format!("{number}\t{shown}\t{}", verdicts.join(" ")));
        }
    }
    lines
}

#[test]
fn the_committed_verdicts_are_those_of_the_api_server() {
    let manifests: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(data("manifests.json")).unwrap()).unwrap();
    let cluster = Cluster::start(Level::ControlPlane).unwrap();
    cluster.kubectl(&["create", "namespace", "shop"]).unwrap();
    cluster.kubectl(&["create", "priorityclass", "important", "--value=100000"]).unwrap();
    // A pod is refused until its namespace has the account that it runs as.
    cluster
        .kubectl(&["-n", "shop", "wait", "--for=create", "serviceaccount/default", "--timeout=60s"])
        .unwrap();
    let server = Server::of(&cluster);
    let told = lines(&server, &manifests);
    if std::env::var_os("PEMDAS_RENEW").is_some() {
        std::fs::write(data("verdicts.txt"), told.join("\n") + "\n").unwrap();
        return;
    }
    let committed = std::fs::read_to_string(data("verdicts.txt")).unwrap();
    let committed: Vec<&str> = committed.lines().collect();
    assert_eq!(told.len(), committed.len());
    let different: Vec<String> = told
        .iter()
        .zip(committed)
        .filter(|(told, committed)| told != committed)
        .map(|(told, committed)| format!("committed: {committed}\ntold:      {told}"))
        .collect();
    assert!(different.is_empty(), "run with PEMDAS_RENEW=1 and read the change:\n{}", different.join("\n"));
}
