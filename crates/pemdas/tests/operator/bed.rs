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
        namespace(&cluster, "pemdas-system");
        let group = json!({
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts:pemdas-system",
        });
        cluster.client().apply("tester", "", &binding("pemdas", "cluster-admin", &group)).unwrap();
        in_force(&cluster, json!({ "user": OPERATOR, "groups": [group["name"]] }), "", &everything());
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kubeconfig"), credentials(&cluster, "pemdas").to_string()).unwrap();
        Bed { cluster, operator: Mutex::new(None), folder }
    })
}

/// A kubeconfig of an account of operators, which is made.
pub(crate) fn credentials(cluster: &Cluster, account: &str) -> Value {
    let made = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": account } });
    cluster.client().create("/api/v1/namespaces/pemdas-system/serviceaccounts", &made).unwrap();
    with_token(cluster, &token(cluster, "pemdas-system", account))
}

/// A token of an account that is there.
pub(crate) fn token(cluster: &Cluster, namespace: &str, account: &str) -> String {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let wanted = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let made = cluster.client().create(&path, &wanted).unwrap();
    made["status"]["token"].as_str().unwrap().to_owned()
}

/// A kubeconfig with this token.
pub(crate) fn with_token(cluster: &Cluster, token: &str) -> Value {
    let text = fs::read_to_string(cluster.kubeconfig()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["users"][0]["user"] = json!({ "token": token });
    config
}

pub(crate) fn namespace(cluster: &Cluster, name: &str) {
    let made = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    cluster.client().create("/api/v1/namespaces", &made).unwrap();
}

/// The rule that allows everything.
pub(crate) fn everything() -> Value {
    json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] })
}

/// Waits until somebody has a right: the API server learns of roles by watches of its own, and whoever is refused asks more often.
pub(crate) fn in_force(cluster: &Cluster, mut who: Value, namespace: &str, rule: &Value) {
    who["resourceAttributes"] = json!({
        "namespace": namespace, "group": rule["apiGroups"][0], "resource": rule["resources"][0], "verb": rule["verbs"][0],
    });
    let review =
        json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": who });
    // Not by `until`, which looks for an operator: there may be none yet.
    let is = || {
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        cluster.client().create(path, &review).unwrap()["status"]["allowed"] == true
    };
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < LONG, "never in force: {review}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What gives a role of the cluster to somebody.
pub(crate) fn binding(name: &str, role: &str, subject: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [subject],
    })
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

/// Everything of this sort that was asked so far.
pub(crate) fn logged(is: impl Fn(&Request) -> bool) -> Vec<Request> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let cluster = &bed().cluster;
    // A line is written after its answer: so one is waited for that is asked after all of these.
    for _ in 0..2 {
        let name = format!("nothing-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let _nothing = cluster.client().get(&format!("/api/v1/namespaces/default/configmaps/{name}"));
        let is_there = || cluster.requests_where(|it| it.name.as_ref() == Some(&name)).unwrap().pop();
        until("the audit log has come so far", is_there);
    }
    cluster.requests_where(|it| it.complete && is(it)).unwrap()
}

/// Everything of this sort that operators asked so far.
pub(crate) fn asked(is: impl Fn(&Request) -> bool) -> Vec<Request> {
    logged(|it| it.user.starts_with(OPERATOR) && is(it))
}

pub(crate) fn condition(object: &Value, name: &str) -> Value {
    let all = object["status"]["conditions"].as_array();
    all.and_then(|it| it.iter().find(|it| it["type"] == name)).cloned().unwrap_or_default()
}

/// Waits until something is there. What never comes is a failure that says what was waited for.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    until_it_can(what, || look().ok_or("it never came"))
}

/// Waits until something can be done. What never can be is a failure that says why.
pub(crate) fn until_it_can<T, E: std::fmt::Display>(what: &str, mut done: impl FnMut() -> Result<T, E>) -> T {
    let started = Instant::now();
    loop {
        match done() {
            Ok(done) => return done,
            Err(why) => assert!(started.elapsed() < LONG, "{what}: {why}\n{}", last_words()),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn last_words() -> String {
    let log = fs::read_to_string(bed().folder.path().join("log")).unwrap_or_default();
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
