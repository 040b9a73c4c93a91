//! Bad input and bad weather: a clear message that says what to do, nothing half-built in the cache, never a hang.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

fn testbed(cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_testbed"));
    command.env("PEMDAS_CACHE", cache).env_remove("KUBEBUILDER_ASSETS");
    command
}

fn said(output: &Output) -> String {
    assert!(!output.status.success(), "it should have failed: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A stand-in for the Go toolchain that does what `script` says with the output file in `$out`.
fn fake_go(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("go");
    let find_output = "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done";
    fs::write(&program, format!("#!/bin/sh\n{find_output}\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn path_with(folder: &Path) -> String {
    format!("{}:/usr/bin:/bin", folder.display())
}

#[test]
fn without_go_it_says_what_to_install() {
    let cache = tempfile::tempdir().unwrap();
    let said = said(&testbed(cache.path()).arg("build").env("PATH", "/nowhere").output().unwrap());
    assert!(said.contains("there is no `go` on the PATH") && said.contains("KUBEBUILDER_ASSETS"), "{said}");
    assert_eq!(entries(cache.path()), ["lock"], "nothing half-built");
}

#[test]
fn a_failing_build_shows_what_the_compiler_said() {
    let cache = tempfile::tempdir().unwrap();
    let go = fake_go("echo half > $out; echo 'undefined: frobnicate' >&2; exit 1");
    let said = said(&testbed(cache.path()).arg("build").env("PATH", path_with(go.path())).output().unwrap());
    assert!(said.contains("building etcd") && said.contains("undefined: frobnicate"), "{said}");
    assert_eq!(entries(cache.path()), ["lock"], "nothing half-built");
}

#[test]
fn an_interrupted_build_leaves_nothing_half_built() {
    let cache = tempfile::tempdir().unwrap();
    let go = fake_go("echo half > $out; sleep 600");
    let mut build = testbed(cache.path()).arg("build").env("PATH", path_with(go.path())).spawn().unwrap();
    while !fs::read_dir(cache.path().join("partial")).is_ok_and(|mut files| files.next().is_some()) {
        assert!(build.try_wait().unwrap().is_none(), "it ended before it was interrupted");
        sleep(Duration::from_millis(10));
    }
    let pid = build.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(!build.wait().unwrap().success());
    assert_eq!(entries(cache.path()), ["lock"], "nothing half-built");
}

#[test]
fn a_build_that_was_killed_is_begun_anew() {
    let cache = tempfile::tempdir().unwrap();
    fs::create_dir(cache.path().join("partial")).unwrap();
    fs::write(cache.path().join("partial/etcd-x-etcd"), "half").unwrap();
    let go = fake_go("[ -e $out ] && exit 1; echo whole > $out");
    let done = testbed(cache.path()).arg("build").env("PATH", path_with(go.path())).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(!cache.path().join("partial").exists());
}

#[test]
fn two_starts_at_once_build_each_program_once() {
    let cache = tempfile::tempdir().unwrap();
    let calls = tempfile::tempdir().unwrap();
    let go = fake_go(&format!("echo $$ > {}/$$; sleep 0.2; echo whole > $out", calls.path().display()));
    let start = || testbed(cache.path()).arg("build").env("PATH", path_with(go.path())).spawn().unwrap();
    let mut both = [start(), start()];
    for one in &mut both {
        assert!(one.wait().unwrap().success());
    }
    assert_eq!(entries(calls.path()).len(), pemdas_testbed::assets::pins::CONTROL_PLANE.len());
}

#[test]
fn programs_in_kubebuilder_assets_are_taken_first() {
    let cache = tempfile::tempdir().unwrap();
    let assets = tempfile::tempdir().unwrap();
    for program in pemdas_testbed::assets::pins::CONTROL_PLANE {
        fs::write(assets.path().join(program.name), "").unwrap();
    }
    let done = testbed(cache.path())
        .arg("build")
        .env("KUBEBUILDER_ASSETS", assets.path())
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn a_wrong_kubebuilder_assets_is_named() {
    let cache = tempfile::tempdir().unwrap();
    let said =
        said(&testbed(cache.path()).arg("build").env("KUBEBUILDER_ASSETS", "/no/such").output().unwrap());
    assert!(said.contains("KUBEBUILDER_ASSETS names /no/such, which is no folder"), "{said}");
}

#[test]
fn a_busy_port_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    // With the programs of the machine's own cache: the port is looked at when they are there.
    let mut command = Command::new(env!("CARGO_BIN_EXE_testbed"));
    let said = said(&command.arg("up").arg(format!("--port={port}")).output().unwrap());
    assert!(said.contains(&format!("port {port} is in use")) && said.contains("--port"), "{said}");
}

#[test]
fn a_cache_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let said = said(&testbed(&file.path().join("cache")).arg("build").output().unwrap());
    assert!(said.contains("cannot make the cache's folder"), "{said}");
}

/// What needs the rights to become somebody else, or to mount a small disk. Without them the same decisions are
/// proven by unit tests.
fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
}

#[test]
fn without_root_the_node_level_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("testbed");
    fs::copy(env!("CARGO_BIN_EXE_testbed"), &program).unwrap();
    let mut command = Command::new(if is_root() { Path::new("setpriv") } else { program.as_path() });
    if is_root() {
        command.args(["--reuid=65534", "--clear-groups"]).arg(&program);
    }
    let said = said(&command.args(["up", "--node"]).env("PEMDAS_CACHE", folder.path()).output().unwrap());
    assert!(said.contains("the node level needs root") && said.contains("hint:"), "{said}");
}

#[test]
fn a_full_disk_is_said_before_the_build() {
    if !is_root() {
        return;
    }
    let disk = tempfile::tempdir().unwrap();
    let mounted = Command::new("unshare")
        .args(["--mount", "--propagation=private", "sh", "-c"])
        .arg(format!(
            "mount -t tmpfs -o size=1m tmpfs {0} && PEMDAS_CACHE={0} exec {1} build",
            disk.path().display(),
            env!("CARGO_BIN_EXE_testbed")
        ))
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .unwrap();
    let said = said(&mounted);
    assert!(said.contains("MiB left") && said.contains("the disk is full"), "{said}");
}
