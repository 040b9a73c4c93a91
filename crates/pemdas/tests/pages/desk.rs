//! Where a page is played: a folder with the examples beside it, and a shell in which `pemdas` and `kubectl` are found.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use pemdas_testbed::{
    Level,
    assets::{Assets, cache::Cache},
};

/// A folder, and what is at hand in it.
pub(crate) struct Desk {
    room: tempfile::TempDir,
}

/// A demonstration that runs in the background.
pub(crate) struct Demo {
    child: Child,
    kubeconfig: PathBuf,
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        for folder in ["docs", "bin", "home", "home/bin"] {
            fs::create_dir(room.path().join(folder)).unwrap();
        }
        let assets = Assets::of(Level::ControlPlane, &Cache::of_user().unwrap()).unwrap();
        symlink(assets.program("kubectl").unwrap(), room.path().join("bin/kubectl")).unwrap();
        symlink(env!("CARGO_BIN_EXE_pemdas"), room.path().join("bin/pemdas")).unwrap();
        // As in the repository, and as somebody has it who copied them.
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        symlink(&examples, room.path().join("examples")).unwrap();
        symlink(&examples, room.path().join("docs/examples")).unwrap();
        Self { room }
    }

    /// Where the page's files are.
    pub(crate) fn folder(&self) -> PathBuf {
        self.room.path().join("docs")
    }

    /// Saves a file of the page.
    pub(crate) fn save(&self, path: &str, text: &str) {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A shell that knows nothing of whoever runs the tests.
    fn command(&self, program: &str, folder: &Path) -> Command {
        let room = self.room.path();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .stdin(Stdio::null())
            .env("PATH", format!("{}:{}:{path}", room.join("bin").display(), room.join("home/bin").display()))
            .env("HOME", room.join("home"))
            .env("KUBECACHEDIR", room.join("home/kubectl"))
            .env("KUBECONFIG", room.join("no-kubeconfig"))
            .env("NO_COLOR", "1");
        command
    }

    /// Types a command; its exit status, and what is seen.
    pub(crate) fn type_in(&self, folder: &Path, command: &str, demo: Option<&Demo>) -> (Option<i32>, String) {
        let mut shell = self.command("bash", folder);
        if let Some(demo) = demo {
            shell.env("KUBECONFIG", &demo.kubeconfig);
        }
        let output = shell.args(["-c", &format!("exec 2>&1; {command}")]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts `pemdas demo`, and waits until there is something to look at.
    pub(crate) fn demo(&self, what: &str) -> Demo {
        let kubeconfig = self.room.path().join("kubeconfig");
        let _ = fs::remove_file(&kubeconfig);
        let mut child = self
            .command(env!("CARGO_BIN_EXE_pemdas"), &self.folder())
            .args(["demo", what, "--speed", "20", "--kubeconfig-out"])
            .arg(&kubeconfig)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let begun = lines.by_ref().map_while(Result::ok).any(|it| it.contains(" created by kubectl"));
        assert!(begun, "`pemdas demo {what}` ended before it began");
        // Whoever does not listen makes it wait.
        std::thread::spawn(move || lines.count());
        Demo { child, kubeconfig }
    }
}
