//! What commands write for a cluster, on a real one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod bundle;
mod import;
mod init;
mod rights;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use pemdas_testbed::{Cluster, Level};

/// One control plane for all tests of this program.
fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(Level::ControlPlane).unwrap())
}

/// The directories of the examples.
fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut found: Vec<_> = entries.filter(|it| it.join("main.ncl").is_file()).collect();
    found.sort();
    assert!(found.len() > 5, "{found:?}");
    found
}

/// The last part of a path.
fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// What a command wrote, which has to end well.
fn pemdas(command: &str, path: &Path, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_pemdas")).arg(command).arg(path).args(arguments).output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}
