//! A real `kubectl` at the box and at a real cluster: it has to say the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use pemdas_box::{Clock, Host, Port};
use pemdas_sim::{Cluster, Scenario, Time};

/// What a person types, line by line; `<<` gives a file of `tests/kubectl` on standard input, and `!` means that a real cluster may take
/// some moments until it works.
const SCRIPT: &str = include_str!("kubectl/script.txt");

/// How often something is typed again that does not work yet, once a second.
const PATIENCE: usize = 60;

#[test]
fn kubectl_says_at_the_box_what_it_says_at_a_real_cluster() {
    let real = pemdas_testbed::Cluster::start(pemdas_testbed::Level::ControlPlane).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_host, port) = runtime.block_on(async {
        let host = Host::new(Cluster::new(1, now(), Scenario::default()), Clock::Wall { speed: 1.0 });
        let port = Port::open(host.clone(), 0).await.unwrap();
        (host, port)
    });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, port.kubeconfig()).unwrap();
    let kubectl = &real.ready().kubectl;
    let there =
        Shell { kubectl, kubeconfig: real.ready().kubeconfig.clone(), cache: folder.path().join("real") };
    let here = Shell { kubectl, kubeconfig, cache: folder.path().join("box") };
    let (is, wants) = thread::scope(|scope| {
        let wants = scope.spawn(|| there.session());
        (here.session(), wants.join().unwrap())
    });
    assert!(wants.matches("\n$ ").count() > 40, "the session is played");
    let difference = similar::TextDiff::from_lines(&is, &wants);
    assert!(is == wants, "{}", difference.unified_diff().header("box", "real"));
}

fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Time(u64::try_from(since.as_millis()).unwrap())
}

struct Shell<'a> {
    kubectl: &'a Path,
    kubeconfig: std::path::PathBuf,
    cache: std::path::PathBuf,
}

impl Shell<'_> {
    /// What is said to the script.
    fn session(&self) -> String {
        let lines = SCRIPT.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(|line| format!("\n$ {line}\n{}", self.at_last(line))).collect()
    }

    fn at_last(&self, line: &str) -> String {
        let Some(line) = line.strip_prefix('!') else { return self.said(line) };
        let mut said = self.said(line);
        for _ in 0..PATIENCE {
            if !said.starts_with('?') {
                break;
            }
            thread::sleep(std::time::Duration::from_secs(1));
            said = self.said(line);
        }
        said
    }

    fn said(&self, line: &str) -> String {
        let (line, file) = line.split_once(" << ").unwrap_or((line, ""));
        // Several at once are started in their order, and told in it.
        let parts: Vec<_> = line.split(" & ").map(|part| self.start(part, file)).collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    }

    fn start(&self, line: &str, file: &str) -> thread::JoinHandle<String> {
        let mut command = Command::new(self.kubectl);
        command
            .args(line.split(' '))
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", &self.cache)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let input = if file.is_empty() {
            Vec::new()
        } else {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubectl");
            std::fs::read(folder.join(file)).unwrap_or_else(|why| panic!("{file}: {why}"))
        };
        thread::spawn(move || {
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(&input).unwrap();
            let done = child.wait_with_output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let code = done.status.code().unwrap_or(-1);
            let code = if code == 0 { String::new() } else { format!("? {code}\n") };
            format!("{code}{}{}", text(&done.stdout), text(&done.stderr))
        })
    }
}
