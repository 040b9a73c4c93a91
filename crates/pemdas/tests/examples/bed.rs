//! A control plane with an operator that has the rights of `deploy/pemdas.yaml`, and no others.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pemdas_testbed::{Cluster, Level};
use serde_json::{Value, json};

use crate::{
    own::oversteps,
    page::{blocks, pages_below},
    said,
    shell::Shell,
};

pub(crate) struct Bed {
    cluster: &'static Cluster,
    shell: Shell,
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

/// Runs what it is given, and kills it when its own standard input ends: also when the tests have ended.
const KEEPER: &str =
    r#""$0" "$@" </dev/null & operator=$!; cat >/dev/null; kill -9 $operator; wait $operator"#;

impl Bed {
    pub(crate) fn new() -> Self {
        let cluster: &'static Cluster = Box::leak(Box::new(Cluster::start(Level::ControlPlane).unwrap()));
        let folder = tempfile::tempdir().unwrap();
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/pemdas.yaml");
        // The operator runs outside: of the manifest everything is wanted but the pods.
        let manifest = fs::read_to_string(manifest).unwrap().replace("replicas: 1", "replicas: 0");
        cluster.apply(&manifest).unwrap();
        let shell = Shell::new(cluster, &[]);
        let token = shell.run("kubectl -n pemdas-system create token pemdas");
        let text = fs::read_to_string(cluster.kubeconfig()).unwrap();
        let mut config: Value = serde_json::from_str(&text).unwrap();
        config["users"][0]["user"] = json!({ "token": token });
        fs::write(folder.path().join("kubeconfig"), config.to_string()).unwrap();
        let volumes: Vec<_> = (0..20).map(volume).collect();
        cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": volumes }).to_string()).unwrap();
        let bed = Self { cluster, shell, operator: Mutex::new(None), folder };
        bed.start();
        bed
    }

    fn start(&self) {
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
        *self.operator.lock().unwrap_or_else(PoisonError::into_inner) = Some(Operator(child));
    }

    /// Kills it, without a chance to tidy up.
    fn kill(&self) {
        drop(self.operator.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Plays the pages of examples, side by side.
    pub(crate) fn play(&self, pages: &[&str]) {
        std::thread::scope(|scope| {
            for page in pages {
                scope.spawn(|| self.shell.play(page, "On a cluster", &|| self.last_words()));
            }
        });
    }

    /// Does what the pages of the documentation do on a cluster, each in a folder with the files that it shows.
    pub(crate) fn read(&self) {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let mut commands = 0;
        for path in pages_below(&docs) {
            let page = fs::read_to_string(&path).unwrap();
            let folder = tempfile::tempdir().unwrap();
            for block in blocks(&page) {
                let text = &page[block.range.clone()];
                if let Some(file) = block.named("file") {
                    let file = folder.path().join(file);
                    fs::create_dir_all(file.parent().unwrap()).unwrap();
                    fs::write(file, text).unwrap();
                } else if block.is("console") && block.has("cluster") {
                    let place = format!("{}:{}", path.display(), block.line);
                    commands +=
                        self.shell.follow(&place, folder.path(), said::steps(text), &|| self.last_words());
                }
            }
        }
        assert!(commands > 4, "the pages do only {commands} things on a cluster");
    }

    /// Whatever the pages did, nothing but its own was written under the operator's own name.
    pub(crate) fn writes_only_its_own(&self) {
        let home = "pemdas-system";
        let is_operator = format!("system:serviceaccount:{home}:pemdas");
        let mut written = self.cluster.requests_where(|it| it.complete && it.user == is_operator).unwrap();
        assert!(!written.is_empty(), "the audit log tells of it");
        written.retain(|it| oversteps(it, it.namespace.as_deref() == Some(home)));
        assert!(written.is_empty(), "written under the operator's own name: {written:#?}");
    }

    /// Kills and restarts the operator while something goes on; how often.
    pub(crate) fn killed_at_random(&self, seed: u64, work: impl FnOnce()) -> usize {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                let mut state = seed;
                let mut kills = 0;
                while !over.load(Ordering::Relaxed) {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    self.wait_until_it_runs(&over);
                    std::thread::sleep(Duration::from_millis((state >> 33) % 3_000));
                    self.kill();
                    self.start();
                    kills += 1;
                }
                kills
            });
            let ended = catch_unwind(AssertUnwindSafe(work));
            over.store(true, Ordering::Relaxed);
            let kills = killer.join().unwrap();
            ended.unwrap_or_else(|panic| resume_unwind(panic));
            kills
        })
    }

    /// Waits until the operator runs every blueprint that it has read since it started: who dies earlier each time does nothing,
    /// and a slow machine takes seconds for each.
    fn wait_until_it_runs(&self, over: &AtomicBool) {
        for _ in 0..600 {
            let log = self.log();
            let since = log.rfind("the operator starts").unwrap_or_default();
            let [read, runs] =
                ["a blueprint is read", "a revision runs"].map(|it| blueprints(&log[since..], it));
            if (!read.is_empty() && read.is_subset(&runs)) || over.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

/// The blueprints of which a log says something.
fn blueprints(log: &str, message: &str) -> BTreeSet<String> {
    let lines = log.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let said = lines.filter(|it| it["fields"]["message"] == message);
    said.filter_map(|it| it["fields"]["blueprint"].as_str().map(str::to_owned)).collect()
}

/// A volume that a claim may be bound to: nothing is ever written to it.
fn volume(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": format!("volume-{number}") },
        "spec": {
            "capacity": { "storage": "1Ti" }, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "hostPath": { "path": "/nowhere" },
        },
    })
}
