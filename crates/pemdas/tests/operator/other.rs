//! An operator that is run otherwise than that of all tests, which has to be stopped meanwhile.

use std::{
    fs::{self, File},
    io::Write as _,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::bed::bed;

/// An operator with an account and arguments of its own, in the place of that of all tests: which is back when this is dropped.
pub(crate) struct Other {
    child: Child,
    folder: tempfile::TempDir,
}

impl Other {
    /// Runs as the admin of the cluster.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let text = fs::read_to_string(bed().cluster.kubeconfig()).unwrap();
        Self::with(&text, arguments)
    }

    /// Runs as a ServiceAccount that is there.
    pub(crate) fn start_as(namespace: &str, account: &str, arguments: &[&str]) -> Self {
        let token = bed().cluster.kubectl(&["-n", namespace, "create", "token", account]).unwrap();
        let text = fs::read_to_string(bed().cluster.kubeconfig()).unwrap();
        let mut config: Value = serde_json::from_str(&text).unwrap();
        config["users"][0]["user"] = json!({ "token": token.trim() });
        Self::with(&config.to_string(), arguments)
    }

    fn with(kubeconfig: &str, arguments: &[&str]) -> Self {
        bed().kill();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kubeconfig"), kubeconfig).unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_pemdas"))
            .args(["run", "--alone", "--log-format", "json"])
            .args(arguments)
            .stdin(Stdio::null())
            .env("KUBECONFIG", folder.path().join("kubeconfig"))
            .env("RUST_LOG", "info,pemdas=debug,pemdas_kube=debug")
            .stderr(Stdio::from(log))
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(40)..].join("\n");
            let _ = std::io::stderr().write_all(last.as_bytes());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        bed().start();
    }
}
