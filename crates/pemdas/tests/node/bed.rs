//! A real node on which Helm has installed Pemdas, and the images that the examples speak of.

use std::{
    fs,
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pemdas_testbed::{
    Cluster, Level,
    assets::{
        self, WORKLOAD_PATH,
        cache::Cache,
        image::{Added, ImageSpec},
    },
    release::image::{About, pack_for_development},
};
use serde_json::{Value, json};

use crate::shell::Shell;

pub(crate) struct Bed {
    pub(crate) shell: Shell,
}

/// The bed, for one test at a time: they use the same names. None where no node can run and none has to.
pub(crate) fn bed() -> Option<(MutexGuard<'static, ()>, &'static Bed)> {
    static BED: OnceLock<Bed> = OnceLock::new();
    static ALONE: Mutex<()> = Mutex::new(());
    if let Err(why) = pemdas_testbed::supervise::node_is_possible() {
        let required = std::env::var_os("PEMDAS_NODE").is_some_and(|value| value == "required");
        assert!(!required, "the node level must be tested here: {why}");
        // Written directly: what a test prints is shown only when it fails.
        let _ = writeln!(std::io::stderr(), "\n*** NOT TESTED: the node level cannot run here. ***\n{why}\n");
        return None;
    }
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    Some((alone, BED.get_or_init(Bed::new)))
}

/// How much longer Pemdas lives after each time it was killed: on the slowest machine the pages come to their end.
const MORE: Duration = Duration::from_secs(5);

impl Bed {
    fn new() -> Self {
        let cluster: &'static Cluster = Box::leak(Box::new(Cluster::start(Level::Node).unwrap()));
        load_pemdas(cluster);
        load_images(cluster);
        let mut volumes = Vec::new();
        for number in 0..16 {
            let path = format!("/volumes/{number}");
            cluster.make_folder(&path).unwrap();
            volumes.push(volume(number, &path));
        }
        cluster.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": volumes }).to_string()).unwrap();
        let helm = assets::helm(&Cache::of_user().unwrap()).unwrap();
        let bed = Self { shell: Shell::new(cluster, &[("helm", &helm)]) };
        let chart = root().join("charts/pemdas");
        // The strictest level: nothing else is admitted, so these pods keep it.
        let strict = "pod-security.kubernetes.io/enforce=restricted";
        bed.shell.run(&format!(
            "kubectl create namespace pemdas-system && kubectl label namespace pemdas-system {strict} && \
             helm install pemdas {} --namespace pemdas-system --wait --timeout 120s",
            chart.display()
        ));
        bed
    }

    /// Removes Pemdas, and nothing else.
    pub(crate) fn uninstall(&self) {
        self.shell.run("helm uninstall pemdas --namespace pemdas-system --wait");
    }

    /// Plays the pages of examples, side by side.
    pub(crate) fn play(&self, pages: &[&str]) {
        std::thread::scope(|scope| {
            for page in pages {
                scope.spawn(|| self.shell.play(page, "On a cluster", &|| self.last_words()));
            }
        });
    }

    /// Kills Pemdas at random moments while something goes on; how often.
    pub(crate) fn killed_at_random(&self, seed: u64, work: impl FnOnce()) -> u32 {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                let mut state = seed;
                let mut kills = 0_u32;
                while !over.load(Ordering::Relaxed) {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    self.wait_until_ready(kills, &over);
                    let pause = Duration::from_millis(2_000 + (state >> 33) % 12_000) + MORE * kills;
                    let waits = std::time::Instant::now();
                    while waits.elapsed() < pause && !over.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(100));
                    }
                    kills += u32::from(!over.load(Ordering::Relaxed) && self.kill());
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

    /// Waits until Pemdas is ready after it was killed so many times: who dies earlier each time does nothing, and a slow machine
    /// takes long to start it.
    fn wait_until_ready(&self, kills: u32, over: &AtomicBool) {
        let path = "{.items[*].status.containerStatuses[*].restartCount} {.items[*].status.containerStatuses[*].ready}";
        let asked =
            format!("kubectl -n pemdas-system get pod -l app.kubernetes.io/name=pemdas -o jsonpath='{path}'");
        let since = std::time::Instant::now();
        while since.elapsed() < Duration::from_secs(120) && !over.load(Ordering::Relaxed) {
            let seen = self.shell.run(&asked);
            let (restarts, ready) = seen.trim().split_once(' ').unwrap_or_default();
            if ready == "true" && restarts.parse::<u32>().is_ok_and(|it| it >= kills) {
                return;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// SIGKILL to the process of Pemdas in its pod; whether there was one.
    fn kill(&self) -> bool {
        let uid = "kubectl -n pemdas-system get pod -l app.kubernetes.io/name=pemdas -o jsonpath={.items[*].metadata.uid}";
        let pods = self.shell.run(uid);
        let ours = |text: &str| pods.split_whitespace().any(|uid| text.contains(uid));
        let found = fs::read_dir("/proc").unwrap().filter_map(Result::ok).find(|it| {
            let read = |file: &str| fs::read_to_string(it.path().join(file)).unwrap_or_default();
            read("cmdline").starts_with("/pemdas\0run\0") && ours(&read("cgroup"))
        });
        let Some(process) = found else { return false };
        let process = process.file_name().to_string_lossy().into_owned();
        Command::new("kill").args(["-KILL", &process]).status().unwrap().success()
    }

    pub(crate) fn last_words(&self) -> String {
        let everything = "kubectl get pods -A; kubectl get events -A | tail -30; \
            kubectl get fooservice,fooservicedbschema,postgresinstance,postgresbackup -A -o yaml; \
            kubectl -n pemdas-system logs deployment/pemdas --tail=40";
        self.shell.try_to(Path::new("/"), everything).1
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The image of Pemdas: in the deep tier what `cargo xtask image` makes for people; else the program that was built for the tests, packed
/// by the same code. `PEMDAS_IMAGE` names another archive.
fn load_pemdas(cluster: &Cluster) {
    let version = env!("CARGO_PKG_VERSION");
    let given = std::env::var_os("PEMDAS_IMAGE").map(PathBuf::from);
    let folder = tempfile::tempdir().unwrap();
    let archive = given.unwrap_or_else(|| {
        if pemdas_tier::is_deep() {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut image = Command::new(cargo);
            image.args(["xtask", "image", "--out"]).arg(folder.path()).current_dir(root());
            assert!(image.status().unwrap().success());
            return fs::read_dir(folder.path())
                .unwrap()
                .map(|it| it.unwrap().path())
                .find(|it| it.extension().is_some_and(|it| it == "tar"))
                .unwrap();
        }
        let name = format!("pemdas:{version}");
        let about = About {
            name: &name,
            architecture: if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            version,
            revision: "of a test",
            created: "1970-01-01T00:00:00Z",
        };
        let archive = folder.path().join("pemdas.tar");
        pack_for_development(&about, Path::new(env!("CARGO_BIN_EXE_pemdas")), &archive).unwrap();
        archive
    });
    cluster.load_archive(&archive).unwrap();
}

/// The images that the examples name: of PostgreSQL, of the service and its migrations, and of the shop of the tutorial.
fn load_images(cluster: &Cluster) {
    let image = |name, program, user| ImageSpec {
        name,
        entrypoint: program,
        command: &[],
        user,
        path: WORKLOAD_PATH,
    };
    let images = [
        image("postgres:15", &["/usr/local/bin/postgres-image"], "999"),
        image("registry.example.com/foo:7.1", &["/usr/local/bin/foo"], "10001"),
        image("registry.example.com/foo-migrations:7.1", &["/usr/local/bin/foo-migrations"], "10001"),
        image("registry.example.com/shop:1.4", &["/usr/local/bin/shop"], "10001"),
    ];
    let file = |path, mode, text| Added { path, mode, text };
    let files = [
        file("etc/passwd", 0o644, include_str!("images/passwd")),
        file("run/postgresql/", 0o777, ""),
        file("usr/local/bin/postgres-image", 0o755, include_str!("images/postgres")),
        file("usr/local/bin/foo", 0o755, include_str!("images/foo")),
        file("usr/local/bin/foo-migrations", 0o755, include_str!("images/foo-migrations")),
        file("usr/local/bin/shop", 0o755, include_str!("images/shop")),
        file("usr/local/lib/foo/nginx.conf", 0o644, include_str!("images/nginx.conf")),
        file("usr/local/lib/foo/42.sql", 0o644, include_str!("images/42.sql")),
        file("usr/local/lib/foo/43.sql", 0o644, include_str!("images/43.sql")),
        file("usr/local/lib/foo/44.sql", 0o644, include_str!("images/44.sql")),
    ];
    cluster.load_images(&images, &files).unwrap();
}

/// A volume on the node itself.
fn volume(number: usize, path: &str) -> Value {
    let here = json!({ "key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"] });
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": format!("volume-{number}") },
        "spec": {
            "capacity": { "storage": "1Ti" }, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "local": { "path": path },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [here] }] } },
        },
    })
}
