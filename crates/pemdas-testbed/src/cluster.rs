//! The owner's side: a running cluster that goes when this value, or the process that holds it, goes.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::Level;
use crate::assets::image::{Added, Content, ImageSpec, file_digest, pack, pack_over};
use crate::audit::{self, Request};
use crate::client::Client;
use crate::command::run;
use crate::error::{Doing, Error, Result};
use crate::release::image::{libraries, without_debug_information};
use crate::supervise::{Options, Ready};

/// A real cluster, ready for use.
#[derive(Debug)]
pub struct Cluster {
    /// Its standard input is the lifeline: it closes when we end, however we end.
    supervisor: Child,
    ready: Ready,
    client: Client,
    /// What was read of the audit log, and how far that is.
    heard: Mutex<(Vec<Request>, usize)>,
}

impl Cluster {
    /// Starts one and waits until it is ready. What is missing is built first, which takes minutes, once.
    pub fn start(level: Level) -> Result<Self> {
        Self::start_under(&supervisor_program()?, Options { level, port: None })
    }

    /// Starts one under a supervisor that already exists.
    pub fn start_under(supervisor: &Path, options: Options) -> Result<Self> {
        let mut command = Command::new(supervisor);
        command.arg("supervise");
        command.args((options.level == Level::Node).then_some("--node"));
        command.args(options.port.map(|port| format!("--port={port}")));
        // In a process group of its own the terminal's Ctrl-C does not reach it: it ends when we do, in order.
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn();
        let mut supervisor = spawned.doing(|| "start the cluster's supervisor".into())?;
        let mut line = String::new();
        if let Some(output) = supervisor.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .doing(|| "listen to the cluster's supervisor".into())?;
        }
        if line.is_empty() {
            let _ = supervisor.wait();
            return Err(Error::new("the cluster did not start; what its supervisor said stands above"));
        }
        let ready: Ready =
            serde_json::from_str(&line).doing(|| "understand the cluster's supervisor".into())?;
        let client = Client::of(&ready.kubeconfig)?;
        Ok(Self { supervisor, ready, client, heard: Mutex::default() })
    }

    /// Whether it still runs; if it does not, its supervisor has said why.
    pub fn is_running(&mut self) -> bool {
        matches!(self.supervisor.try_wait(), Ok(None))
    }

    /// A kubeconfig of the admin.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.ready.kubeconfig
    }

    /// The address of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.ready.server
    }

    /// Everything else that is known of it.
    #[must_use]
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Asks the API server as the admin.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Runs kubectl, of the cluster's own version, as the admin.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        run(self.kubectl_command().args(arguments), &format!("kubectl {}", arguments.join(" ")))
    }

    /// A kubectl of the cluster's own version, as the admin, to be given its arguments.
    #[must_use]
    pub fn kubectl_command(&self) -> Command {
        let mut command = Command::new(&self.ready.kubectl);
        // Neither the person's own configuration nor their caches are touched.
        command
            .env("KUBECONFIG", &self.ready.kubeconfig)
            .env("KUBECACHEDIR", self.ready.folder.join("kubectl"));
        command.env_remove("KUBECTL_PLUGINS_PATH");
        command
    }

    /// Applies a manifest, given as text.
    pub fn apply(&self, manifest: &str) -> Result<String> {
        // Tests apply at the same time: one must not read what another has written.
        static APPLIED: AtomicUsize = AtomicUsize::new(0);
        let number = APPLIED.fetch_add(1, Ordering::Relaxed);
        let file = self.ready.folder.join(format!("apply-{number}.yaml"));
        std::fs::write(&file, manifest).doing(|| format!("write {}", file.display()))?;
        self.kubectl(&["apply", "-f", &file.to_string_lossy()])
    }

    /// The requests that the API server has answered since its start.
    pub fn requests(&self) -> Result<Vec<Request>> {
        self.requests_where(|_| true)
    }

    /// Those of them that are so. The log grows long while tests run: no line of it is read twice.
    pub fn requests_where(&self, is: impl Fn(&Request) -> bool) -> Result<Vec<Request>> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let (fresh, end) = audit::read(&self.ready.audit_log, heard.1)?;
        heard.0.extend(fresh);
        heard.1 = end;
        Ok(heard.0.iter().filter(|it| is(it)).cloned().collect())
    }

    /// Makes an image of one program, with the libraries it is linked to, and gives it to the node. The image is named
    /// after the program's content, so that a changed program is a changed image.
    pub fn load_program(&self, program: &Path, name: &str) -> Result<String> {
        let digest = file_digest(program).doing(|| format!("read {}", program.display()))?;
        let image = format!("testbed.example/{name}:{digest}");
        let archive = self.ready.folder.join(format!("{name}.tar"));
        let entry = format!("/{name}");
        let spec = ImageSpec { name: &image, entrypoint: &[], command: &[&entry], user: "", path: "/" };
        let mut files =
            vec![(without_debug_information(program, &self.ready.folder.join("program")), name.to_owned())];
        files.extend(libraries(program)?);
        pack(&spec, Content::Programs(&files), &archive)?;
        self.import(&archive)?;
        Ok(image)
    }

    /// Gives the images of an archive to the node, as `ctr images import` does on any node.
    pub fn load_archive(&self, archive: &Path) -> Result<()> {
        let copy = self.ready.folder.join("archive.tar");
        std::fs::copy(archive, &copy).doing(|| format!("copy {}", archive.display()))?;
        self.import(&copy)
    }

    /// Gives images to the node that are [`WORKLOAD_IMAGE`](crate::assets::WORKLOAD_IMAGE) with some files more.
    pub fn load_images(&self, images: &[ImageSpec<'_>], files: &[Added<'_>]) -> Result<()> {
        let base = self.ready.workload.as_ref().ok_or_else(only_the_node)?;
        let archive = self.ready.folder.join("images.tar");
        pack_over(base, files, images, &archive)?;
        self.import(&archive)
    }

    /// Makes a folder on the node for a volume, which everybody may write to.
    pub fn make_folder(&self, path: &str) -> Result<()> {
        let what = format!("making {path} on the node");
        run(self.on_the_node()?.args(["mkdir", "-p", "-m", "777", path]), &what).map(drop)
    }

    fn import(&self, archive: &Path) -> Result<()> {
        let mut import = self.on_the_node()?;
        import.args(["/usr/bin/ctr", "--address=/run/containerd/containerd.sock", "--namespace=k8s.io"]);
        import.args(["images", "import"]).arg(archive);
        run(&mut import, &format!("importing the images of {}", archive.display()))?;
        std::fs::remove_file(archive).doing(|| format!("remove {}", archive.display()))
    }

    /// What follows runs on the node, beside its pods.
    fn on_the_node(&self) -> Result<Command> {
        let process = self.ready.node_process.ok_or_else(only_the_node)?;
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={process}")).args(["--mount", "--net", "--wd=/", "--"]);
        Ok(command)
    }
}

fn only_the_node() -> Error {
    Error::new("only the node level runs images")
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// The program that supervises. Tests of any crate may ask for a cluster, and cargo builds only what belongs to the
/// crate under test: so it is built here, once a process, unless `PEMDAS_TESTBED` names it.
fn supervisor_program() -> Result<PathBuf> {
    static PROGRAM: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let found = PROGRAM.get_or_init(|| build_supervisor().map_err(|error| error.to_string()));
    found.clone().map_err(Error::new)
}

fn build_supervisor() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("PEMDAS_TESTBED").filter(|value| !value.is_empty()) {
        return Ok(program.into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--package=pemdas-testbed", "--bin=testbed", "--message-format=json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let messages = run(&mut build, "building the test bed's supervisor")?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| Error::new("cargo did not say where it put the test bed's supervisor"))
}
