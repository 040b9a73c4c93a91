//! One control plane and one operator for all tests of this program.

use std::{
    fs::{self, File},
    process::{Child, Command, Stdio},
    sync::{
        Mutex, MutexGuard, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use pemdas_testbed::{Cluster, Level, audit::Request};
use serde_json::{Value, json};

/// Nothing that is waited for takes so long, on any machine: whoever waits longer has found a fault.
const LONG: Duration = Duration::from_secs(300);
/// What the names of the accounts of operators begin with.
const OPERATOR: &str = "system:serviceaccount:pemdas-system:pemdas";

pub(crate) struct Bed {
    pub(crate) cluster: Cluster,
    operator: Mutex<Option<Operator>>,
    folder: tempfile::TempDir,
}

struct Operator(Child);

impl Drop for Operator {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Runs what it is given, and kills it when its own standard input ends: that is also when the tests have ended, whose
/// cluster is never dropped.
const KEEPER: &str =
    r#""$0" "$@" </dev/null & operator=$!; cat >/dev/null; kill -9 $operator; wait $operator"#;

pub(crate) fn bed() -> &'static Bed {
    static BED: OnceLock<Bed> = OnceLock::new();
    BED.get_or_init(|| {
        let cluster = Cluster::start(Level::ControlPlane).unwrap();
        cluster.kubectl(&["create", "namespace", "pemdas-system"]).unwrap();
        let role = ["create", "clusterrolebinding", "pemdas", "--clusterrole=cluster-admin"];
        cluster.kubectl(&[&role[..], &["--group=system:serviceaccounts:pemdas-system"]].concat()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kubeconfig"), credentials(&cluster, "pemdas").to_string()).unwrap();
        Bed { cluster, operator: Mutex::new(None), folder }
    })
}

/// A kubeconfig of an account of operators, which is made.
pub(crate) fn credentials(cluster: &Cluster, account: &str) -> Value {
    cluster.kubectl(&["-n", "pemdas-system", "create", "serviceaccount", account]).unwrap();
    let token = cluster.kubectl(&["-n", "pemdas-system", "create", "token", account]).unwrap();
    let text = fs::read_to_string(cluster.kubeconfig()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["users"][0]["user"] = json!({ "token": token.trim() });
    config
}

/// The operator of all tests runs from the first of them on.
fn running() {
    static RUNNING: OnceLock<()> = OnceLock::new();
    RUNNING.get_or_init(|| bed().start());
}

impl Bed {
    /// Starts the operator. Its Lease is short-lived only after a graceful end, so the tests run it alone.
    pub(crate) fn start(&self) {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let child = Command::new("sh")
            .args(["-c", KEEPER, env!("CARGO_BIN_EXE_pemdas")])
            .args(["run", "--alone", "--log-format", "json"])
            .stdin(Stdio::piped())
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .env("RUST_LOG", "info,pemdas=debug,pemdas_kube=debug")
            .stderr(Stdio::from(log))
            .spawn()
            .unwrap();
        *self.operator() = Some(Operator(child));
    }

    /// Kills the operator, without a chance to tidy up.
    pub(crate) fn kill(&self) {
        drop(self.operator().take());
    }

    fn operator(&self) -> MutexGuard<'_, Option<Operator>> {
        self.operator.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Tests that stop the operator exclude all others.
pub(crate) fn shared() -> std::sync::RwLockReadGuard<'static, ()> {
    running();
    STOPPING.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn exclusive() -> std::sync::RwLockWriteGuard<'static, ()> {
    running();
    STOPPING.write().unwrap_or_else(std::sync::PoisonError::into_inner)
}

static STOPPING: std::sync::RwLock<()> = std::sync::RwLock::new(());

/// A namespace whose default account may do everything, and an API group that is nobody else's.
pub(crate) struct Space {
    pub(crate) name: String,
    pub(crate) group: String,
}

impl Space {
    pub(crate) fn new(about: &str) -> Self {
        let space = Self::poor(about);
        let account = format!("--serviceaccount={}:default", space.name);
        let binding = ["create", "clusterrolebinding", &space.name, "--clusterrole=cluster-admin", &account];
        bed().cluster.kubectl(&binding).unwrap();
        space
    }

    /// The same, and its account may do nothing.
    pub(crate) fn poor(about: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{about}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        bed().cluster.kubectl(&["create", "namespace", &name]).unwrap();
        Self { group: format!("{name}.example.com"), name }
    }

    /// Applies a blueprint; `GROUP` in it becomes the group of the namespace.
    pub(crate) fn blueprint(&self, name: &str, source: &str) {
        let source = source.replace("GROUP", &self.group);
        self.apply(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "labels": { "pemdas.dev/blueprint": "" } },
            "data": { "main.ncl": source },
        }));
    }

    /// The blueprint runs, and what it owns is served.
    pub(crate) fn runs(&self, name: &str) -> Value {
        until(&format!("{name} runs"), || {
            self.told(name).filter(|it| it["revision"].is_string() && it["definitions"] == json!({}))
        })
    }

    /// What is told of a blueprint on its ConfigMap.
    pub(crate) fn told(&self, name: &str) -> Option<Value> {
        let map = self.get("configmap", name)?;
        let text = map["metadata"]["annotations"]["pemdas.dev/status"].as_str()?;
        Some(serde_json::from_str(text).unwrap())
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let arguments = [&["-n", &self.name][..], arguments].concat();
        bed().cluster.kubectl(&arguments).map_err(|error| error.to_string())
    }

    pub(crate) fn apply(&self, object: &Value) {
        self.apply_as("tester", object);
    }

    /// Applies in the name of a field manager.
    pub(crate) fn apply_as(&self, manager: &str, object: &Value) {
        let manager = format!("--field-manager={manager}");
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), object.to_string()).unwrap();
        let path = file.path().to_string_lossy().into_owned();
        // A kind that was just made may be unknown for a moment.
        until(&format!("{} is applied", object["kind"]), || {
            self.kubectl(&["apply", "--server-side", &manager, "--force-conflicts", "-f", &path]).ok()
        });
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let text = self.kubectl(&["get", kind, name, "-o", "json", "--ignore-not-found"]).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(crate) fn names(&self, kind: &str) -> Vec<String> {
        let text = self.kubectl(&["get", kind, "-o", "name"]).unwrap();
        let mut names: Vec<_> =
            text.lines().filter_map(|it| it.split('/').next_back()).map(str::to_owned).collect();
        names.retain(|it| it != "kube-root-ca.crt");
        names
    }

    /// An instance of a kind of this space.
    pub(crate) fn instance(&self, kind: &str, name: &str, spec: &Value) {
        self.apply(&json!({
            "apiVersion": format!("{}/v1", self.group), "kind": kind,
            "metadata": { "name": name }, "spec": spec,
        }));
    }

    /// The whole name of a kind of this space.
    pub(crate) fn kind(&self, kind: &str) -> String {
        format!("{}.{}", kind.to_lowercase(), self.group)
    }

    pub(crate) fn ready(&self, kind: &str, name: &str) -> Value {
        until(&format!("{kind} {name} is ready"), || {
            self.get(&self.kind(kind), name).filter(|it| {
                condition(it, "Ready")["status"] == "True"
                    && it["status"]["observedGeneration"] == it["metadata"]["generation"]
            })
        })
    }

    /// It stalls, and says this.
    pub(crate) fn stalls(&self, kind: &str, name: &str, words: &str) -> Value {
        until(&format!("{kind} {name} stalls: {words}"), || {
            self.get(&self.kind(kind), name).filter(|it| {
                let stalled = condition(it, "Stalled");
                stalled["status"] == "True" && stalled["message"].as_str().unwrap().contains(words)
            })
        })
    }

    pub(crate) fn gone(&self, kind: &str, name: &str) {
        until(&format!("{kind} {name} is gone"), || self.get(kind, name).is_none().then_some(()));
    }

    /// What the operator wrote in this namespace so far, for itself or for the account; Events apart.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.requests().into_iter().filter(|it| !it.starts_with("get ") && !it.starts_with("list ")).collect()
    }

    /// What the operator asked of this namespace so far: verb, resource and name.
    pub(crate) fn requests(&self) -> Vec<String> {
        asked()
            .iter()
            .filter(|it| it.namespace.as_deref() == Some(&self.name) && it.complete)
            .filter(|it| {
                !["events", "subjectaccessreviews", "controllerrevisions"].contains(&it.resource.as_str())
            })
            .filter(|it| it.verb != "watch")
            // What is told on a blueprint is told of all its instances together.
            .filter(|it| !(it.resource == "configmaps" && it.name.as_deref() == Some("blueprint")))
            .map(|it| format!("{} {} {}", it.verb, it.resource, it.name.as_deref().unwrap_or_default()))
            .collect()
    }
}

/// Everything that the operator asked so far.
pub(crate) fn asked() -> Vec<Request> {
    let requests = bed().cluster.requests().unwrap();
    requests.into_iter().filter(|it| it.user.starts_with(OPERATOR)).collect()
}

pub(crate) fn condition(object: &Value, name: &str) -> Value {
    let all = object["status"]["conditions"].as_array();
    all.and_then(|it| it.iter().find(|it| it["type"] == name)).cloned().unwrap_or_default()
}

/// Waits until something is there. What never comes is a failure that says what was waited for.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < LONG, "{what}: it never came\n{}", last_words());
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn last_words() -> String {
    let log = fs::read_to_string(bed().folder.path().join("log")).unwrap_or_default();
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// Waits as long as it takes to be sure that nothing happens: longer than anything is gathered or put off.
pub(crate) fn a_while() {
    std::thread::sleep(Duration::from_secs(3));
}
