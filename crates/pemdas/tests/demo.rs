//! `pemdas demo` as somebody runs it: every example becomes ready, what is broken is repaired, and nothing is left behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::{
    fs,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use serde_json::Value;

fn demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pemdas"));
    command.arg("demo").env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The lines without the times.
fn lines(output: &str) -> Vec<String> {
    let timed = |line: &str| line.split_once("s  ").is_some_and(|(at, _)| at.trim().parse::<f64>().is_ok());
    let line =
        |line: &str| if timed(line) { line.split_once("s  ").unwrap().1.to_owned() } else { line.to_owned() };
    output.lines().map(line).collect()
}

fn until_ready(example: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let Output { status, stdout, stderr } = demo()
        .args([example, "--until-ready", "--speed", "20"])
        // From anywhere: the examples are in the binary.
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let (said, complaints) = (text(&stdout), text(&stderr));
    assert_eq!(status.code(), Some(0), "{said}{complaints}");
    assert_eq!(complaints, "");
    assert!(!said.contains('\u{1b}'), "no terminal, no colour and no redrawing: {said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    let lines = lines(&said);
    assert_eq!(lines.last().unwrap(), "all instances are ready");
    lines
}

/// Where a line stands.
fn at(lines: &[String], wanted: &str) -> usize {
    let found = lines.iter().position(|it| it == wanted);
    found.unwrap_or_else(|| panic!("{wanted} in {lines:#?}"))
}

/// These lines are there, in this order.
fn in_order(lines: &[String], wanted: &[&str]) {
    let places: Vec<usize> = wanted.iter().map(|it| at(lines, it)).collect();
    assert!(places.is_sorted(), "{wanted:#?} in {lines:#?}");
}

#[test]
fn the_first_example_comes_up_in_its_order() {
    let lines = until_ready("foo-service");
    assert!(lines[0].starts_with("in a browser: http://127.0.0.1:"), "{}", lines[0]);
    assert!(lines[1].starts_with("foo-service on a simulated cluster; KUBECONFIG=/"), "{}", lines[1]);
    assert_eq!(
        lines[2],
        "  try: kubectl delete deployment foo  # it comes back, and no schema is migrated for it"
    );
    in_order(
        &lines,
        &[
            "+ FooService default/foo created by kubectl",
            "+ FooServiceDBSchema default/foo created by pemdas",
            "+ Deployment default/foo-report created by pemdas",
            "! FooServiceDBSchema foo: Ready: everything that is needed is ready",
            "+ Deployment default/foo created by pemdas",
            "! FooService foo: Ready: everything that is needed is ready",
        ],
    );
    at(&lines, "FooService.example.com default/foo  is Ready, 5 of 5 nodes ready");
}

#[test]
fn a_web_app_comes_up() {
    let lines = until_ready("web-app");
    in_order(
        &lines,
        &["+ ConfigMap default/shop-settings created by pemdas", "+ Ingress default/shop created by pemdas"],
    );
}

#[test]
fn a_site_comes_up() {
    until_ready("blue-green");
}

#[test]
fn a_namespace_gets_its_defaults() {
    let lines = until_ready("namespace-defaults");
    in_order(
        &lines,
        &[
            "+ NetworkPolicy payments/allow-dns created by pemdas",
            "+ NetworkPolicy payments/default-deny created by pemdas",
        ],
    );
}

#[test]
fn a_secret_is_rolled_out() {
    let lines = until_ready("on-secret");
    at(&lines, "+ ConfigMap default/mail-api-rolled-out created by pemdas");
}

#[test]
fn a_database_and_its_backup_come_up() {
    let lines = until_ready("postgres");
    at(&lines, "PostgresBackup.db.example.com default/orders-tuesday  is Ready, 3 of 3 nodes ready");
}

#[test]
fn regions_come_up() {
    until_ready("redis-cache");
}

/// A demonstration that goes on, and its lines as they come.
struct Running {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = demo().args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// Reads until a line with this; it is waited for as long as the tests may run.
    fn until(&mut self, part: &str) {
        let mut seen = String::new();
        loop {
            let before = seen.len();
            assert!(self.said.read_line(&mut seen).unwrap() > 0, "it ended without {part:?}: {seen}");
            if seen[before..].contains(part) {
                return;
            }
        }
    }

    fn interrupt(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("stopped: the cluster and its kubeconfig are gone\n"), "{rest}");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request to the cluster of a kubeconfig, as `kubectl` would.
fn send(kubeconfig: &Path, method: &str, path: &str) -> String {
    let config: Value = serde_json::from_str(&fs::read_to_string(kubeconfig).unwrap()).unwrap();
    let server = config.pointer("/clusters/0/cluster/server").unwrap().as_str().unwrap();
    // What follows the address is the secret that lets in.
    let (address, secret) = server.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{method} /{secret}{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn what_is_deleted_comes_back_and_ctrl_c_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let mut running =
        Running::start(&["web-app", "--speed", "20", "--kubeconfig-out", kubeconfig.to_str().unwrap()]);
    running.until("is Ready, 5 of 5 nodes ready");
    let answer = send(&kubeconfig, "DELETE", "/api/v1/namespaces/default/services/shop");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    running.until("- Service default/shop is deleted");
    running.until("+ Service default/shop created by pemdas");
    assert!(kubeconfig.is_file());
    assert_eq!(running.interrupt(), Some(0));
    assert!(!kubeconfig.exists(), "the kubeconfig goes with the cluster");
}

#[test]
fn whoever_stops_reading_stops_it() {
    let mut running = Running::start(&["on-secret", "--speed", "20"]);
    let mut first = String::new();
    running.said.read_line(&mut first).unwrap();
    let mut child = demo().args(["on-secret"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    // It ends by itself: otherwise this never does.
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A folder with a blueprint of one kind, and a sample.
fn folder_of(sample: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let blueprint = r#"let { Blueprint, Failed, Complete, .. } = import "pemdas/v1.ncl" in
{
  name = "mine",
  kinds.Shop = { group = "mine.example.com", versions.v1.spec = { size | Number } },
  nodes = {
    shop = { root = kinds.Shop, also = ["load"] },
    load = {
      once.done = Complete,
      fails = Failed,
      template = fun the => {
        apiVersion = "batch/v1", kind = "Job", metadata.name = "load",
        spec.template.spec = { restartPolicy = "Never", containers = [{ name = "load", image = "load:1" }] },
      },
    },
  },
} | Blueprint"#;
    fs::write(folder.path().join("main.ncl"), blueprint).unwrap();
    fs::create_dir(folder.path().join("sample")).unwrap();
    fs::write(folder.path().join("sample/shop.yaml"), sample).unwrap();
    folder
}

/// Sends an object as `kubectl apply --server-side` does.
fn apply_again(kubeconfig: &Path, path: &str, object: &str) -> String {
    let config: Value = serde_json::from_str(&fs::read_to_string(kubeconfig).unwrap()).unwrap();
    let server = config.pointer("/clusters/0/cluster/server").unwrap().as_str().unwrap();
    let (address, secret) = server.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = object.len();
    write!(
        stream,
        "PATCH /{secret}{path}?fieldManager=kubectl HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/apply-patch+yaml\r\ncontent-length: {length}\r\n\r\n{object}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn what_the_demo_applied_can_be_applied_again_and_what_is_edited_is_read_again() {
    let folder = folder_of(SHOP);
    let scratch = tempfile::tempdir().unwrap();
    let kubeconfig = scratch.path().join("kubeconfig");
    let main = folder.path().join("main.ncl");
    let right = fs::read_to_string(&main).unwrap();
    let place = folder.path().to_string_lossy().into_owned();
    let mut running =
        Running::start(&[&place, "--speed", "20", "--kubeconfig-out", kubeconfig.to_str().unwrap()]);
    running.until("is Ready, 1 of 1 nodes ready");
    // As somebody would who has the same file: other values, the same fields, no force.
    let object = SHOP.replace("size: 3", "size: 4");
    let answer = apply_again(&kubeconfig, "/apis/mine.example.com/v1/namespaces/shops/shops/one", &object);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    running.until("spec.size 3 → 4");

    fs::write(&main, right.replace("once.done = Complete,", "once.done = Complete")).unwrap();
    running.until("error PM0001: expected `,` after line 8");
    let other = right.replace("also = [\"load\"]", "also = [\"load\", \"more\"]").replace(
        "    load = {",
        "    more.template = { apiVersion = \"v1\", kind = \"ConfigMap\", metadata.name = \"more\" },\n    load = {",
    );
    assert_ne!(other, right);
    fs::write(&main, other).unwrap();
    running.until("the blueprint has no errors any more");
    running.until("+ ConfigMap shops/more created by pemdas");
    running.until("more is Ready");
    assert_eq!(running.interrupt(), Some(0));
}

const SHOP: &str = "apiVersion: mine.example.com/v1\nkind: Shop\nmetadata: { name: one, namespace: shops }\nspec: { size: 3 }\n";

fn of_folder(folder: &Path) -> (Option<i32>, String, String) {
    let output = demo().arg(folder).args(["--until-ready", "--speed", "20"]).output().unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_folder_of_ones_own_is_played() {
    let folder = folder_of(SHOP);
    let (status, said, complaints) = of_folder(folder.path());
    assert_eq!(status, Some(0), "{said}{complaints}");
    assert!(said.contains("Shop.mine.example.com shops/one  is Ready"), "{said}");
    assert!(said.contains("try: kubectl edit -n shops shop one"), "{said}");
}

#[test]
fn what_stalls_is_told_by_the_exit_status() {
    let folder = folder_of(SHOP);
    fs::write(folder.path().join("demo.yaml"), "workloads: [{ kind: Job, fails: no disk }]").unwrap();
    let (status, said, complaints) = of_folder(folder.path());
    assert_eq!(status, Some(1), "{said}{complaints}");
    let end = "an instance is stalled and needs attention\n  \
               Shop.mine.example.com shops/one load is Stalled: Failed: the attempt failed: no disk\n";
    assert!(said.ends_with(end), "{said}");
}

#[test]
fn a_sample_that_is_refused_is_told() {
    let folder = folder_of(&SHOP.replace("size: 3", "size: large"));
    let (status, said, complaints) = of_folder(folder.path());
    assert_eq!(status, Some(1), "{said}{complaints}");
    assert!(
        complaints.contains("sample/shop.yaml is refused: failed to create typed patch object")
            && complaints.trim_end().ends_with(".spec.size: expected numeric (int or float), got string"),
        "{complaints}"
    );
}

#[test]
fn what_cannot_be_had_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = demo().args(["--port", &port]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).starts_with(&format!("error: the port {port} cannot be had: ")),
        "{output:?}"
    );

    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("config");
    fs::write(&precious, "precious").unwrap();
    let output = demo().arg("--kubeconfig-out").arg(&precious).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot be written"), "{output:?}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious", "what was there is left alone");
}

#[test]
fn on_a_terminal_a_key_ends_it() {
    // `script` gives the command a terminal of its own.
    let command = format!("{} demo on-secret --speed 20", env!("CARGO_BIN_EXE_pemdas"));
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env("TERM", "xterm")
        .env_remove("RUST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("quit") {
        assert!(said.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    assert!(seen.contains("\u{1b}[?1049h"), "a screen of its own: {seen}");
    child.stdin.as_mut().unwrap().write_all(b"q").unwrap();
    said.read_to_string(&mut seen).unwrap();
    assert!(seen.trim_end().ends_with("stopped: the cluster and its kubeconfig are gone"), "{seen}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
