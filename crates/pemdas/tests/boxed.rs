//! `pemdas run`, unchanged, on a simulated cluster that is served at a port: the examples come up, are mended, and go.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::{
    fs::{self, File},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use pemdas_box::{Clock, Host, Port};
use pemdas_sim::{Cluster, Method, Request, Response, Scenario, Time};
use serde_json::{Value, json};

/// Nothing that is waited for takes so long, on any machine: whoever waits longer has found a fault.
const LONG: Duration = Duration::from_secs(300);

struct Operator(Child);

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A simulated cluster with an operator.
struct Bed {
    host: Host,
    folder: tempfile::TempDir,
    operator: Option<Operator>,
    _port: Port,
    _runtime: tokio::runtime::Runtime,
}

impl Bed {
    fn new() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let start = Time(u64::try_from(since.as_millis()).unwrap());
        let (host, port) = runtime.block_on(async {
            let host = Host::new(Cluster::new(1, start, Scenario::default()), Clock::Wall { speed: 1.0 });
            let port = Port::open(host.clone(), 0).await.unwrap();
            (host, port)
        });
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kubeconfig"), port.kubeconfig()).unwrap();
        create(
            &host,
            &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "pemdas-system" } }),
        );
        let mut bed = Self { host, folder, operator: None, _port: port, _runtime: runtime };
        bed.start();
        bed
    }

    /// Starts the operator, or starts it again.
    fn start(&mut self) {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let operator = Command::new(env!("CARGO_BIN_EXE_pemdas"))
            .args(["run", "--alone", "--kubeconfig"])
            .arg(self.folder.path().join("kubeconfig"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.operator = Some(Operator(operator));
    }

    /// Kills it, without a chance to tidy up.
    fn kill(&mut self) {
        self.operator = None;
    }

    /// Gives it an example.
    fn blueprint(&self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
        let mut data = serde_json::Map::new();
        for file in fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
            if file.extension().is_some_and(|it| it == "ncl") {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                data.insert(name, fs::read_to_string(&file).unwrap().into());
            }
        }
        create(
            &self.host,
            &json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {
                    "name": name, "namespace": "default", "annotations": { "pemdas.dev/blueprints": name },
                },
            }),
        );
        let metadata = json!({ "name": name, "namespace": "default", "labels": { "pemdas.dev/blueprint": "" },
                "annotations": { "pemdas.dev/service-account": name } });
        create(
            &self.host,
            &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data }),
        );
    }

    /// A file of an example, once its kind is served.
    fn sample(&self, example: &str, file: &str) -> Value {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let mut object: Value = serde_saphyr::from_str(&text).unwrap();
        object["metadata"].as_object_mut().unwrap().entry("namespace").or_insert(json!("default"));
        self.until(&format!("{file} can be created"), || {
            let made = send(&self.host, Method::Post, &path(&self.host, &object, false)?, Some(&object));
            (made.status == 201).then_some(())
        });
        object
    }

    /// The object as it is now.
    fn get(&self, object: &Value) -> Option<Value> {
        let found = send(&self.host, Method::Get, &path(&self.host, object, true)?, None);
        (found.status == 200).then_some(found.body)
    }

    fn delete(&self, object: &Value) {
        let at = path(&self.host, object, true).unwrap();
        assert_eq!(send(&self.host, Method::Delete, &at, None).status, 200, "{at}");
    }

    fn until_ready(&self, object: &Value) -> Value {
        self.until("it is ready", || {
            let now = self.get(object)?;
            let conditions = now.pointer("/status/conditions")?.as_array()?.clone();
            conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True").then_some(now)
        })
    }

    fn until<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let since = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(since.elapsed() < LONG, "{what}: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn send(host: &Host, method: Method, path: &str, body: Option<&Value>) -> Response {
    let mut request = Request::new(method, path).header("user-agent", "somebody");
    if let Some(body) = body {
        request = request.json("application/json", body);
    }
    host.with(|cluster| cluster.handle(&request)).whole().unwrap()
}

fn create(host: &Host, object: &Value) {
    let made = send(host, Method::Post, &path(host, object, false).unwrap(), Some(object));
    assert_eq!(made.status, 201, "{}", made.body);
}

/// Where an object stands, or the collection that it is created in; nothing while its kind is not served.
fn path(host: &Host, object: &Value, itself: bool) -> Option<String> {
    let (version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
    let resource = host.with(|cluster| cluster.server().kinds().of_kind(version, kind))?;
    let root = if version.contains('/') { "apis" } else { "api" };
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let scope = namespace.filter(|_| resource.namespaced).map(|it| format!("/namespaces/{it}"));
    let name = object.pointer("/metadata/name")?.as_str()?;
    let name = if itself { format!("/{name}") } else { String::new() };
    Some(format!("/{root}/{version}{}/{}{name}", scope.unwrap_or_default(), resource.plural))
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "namespace": "default" } })
}

#[test]
fn a_web_app_comes_up_is_mended_and_goes_on_the_box() {
    let bed = Bed::new();
    bed.blueprint("web-app");
    let app = bed.sample("web-app", "sample/app.yaml");
    bed.until_ready(&app);
    let server = object("apps/v1", "Deployment", "shop");
    let first = bed.get(&server).expect("it is there when everything is ready");
    bed.delete(&server);
    bed.until("another is there", || {
        bed.get(&server).filter(|it| it["metadata"]["uid"] != first["metadata"]["uid"])
    });
    bed.until_ready(&app);
    bed.delete(&app);
    bed.until("all of it is gone", || {
        let left =
            [&app, &server, &object("v1", "ConfigMap", "shop-settings"), &object("v1", "Service", "shop")];
        left.iter().all(|it| bed.get(it).is_none()).then_some(())
    });
}

#[test]
fn an_order_of_operations_is_kept_on_the_box() {
    let bed = Bed::new();
    bed.blueprint("blue-green");
    let site = bed.sample("blue-green", "sample/site.yaml");
    bed.until_ready(&site);
    bed.delete(&site);
    bed.until("it is gone", || bed.get(&site).is_none().then_some(()));
}

#[test]
fn a_definition_that_goes_while_no_operator_runs_lets_its_objects_go_on_the_box() {
    let mut bed = Bed::new();
    bed.blueprint("web-app");
    let app = bed.sample("web-app", "sample/app.yaml");
    bed.until_ready(&app);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "webapps.web.example.com" },
    });
    let first = bed.get(&definition).expect("the definition of the example");
    bed.kill();
    bed.delete(&definition);
    assert!(bed.get(&app).expect("it is held")["metadata"]["deletionTimestamp"].is_string());
    bed.start();
    bed.until("the definition and what was made are gone", || {
        let left = [&object("apps/v1", "Deployment", "shop"), &object("v1", "Service", "shop")];
        let going = bed.get(&definition).is_some_and(|it| it["metadata"]["uid"] == first["metadata"]["uid"]);
        (!going && left.iter().all(|it| bed.get(it).is_none())).then_some(())
    });
}
