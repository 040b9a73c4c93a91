//! Operators of a test's own: for its namespaces alone, with a log, an account and a process that it can signal.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use pemdas_testbed::audit::Request;
use serde_json::{Value, json};

use super::{
    bed::{bed, credentials, logged, token, until, with_token},
    own::oversteps,
    space::Space,
};

/// Runs what it is given, says its process id, and kills it when its own standard input ends: that is also when the tests
/// have ended.
const KEEPER: &str = r#""$0" "$@" </dev/null >"$OUT" & it=$!; echo $it; exec >/dev/null; cat >/dev/null; kill -9 $it; wait $it"#;

/// A process that goes when this goes.
pub(crate) struct Kept {
    keeper: Child,
    pub(crate) id: String,
}

impl Kept {
    /// Starts it; its output goes to a file.
    pub(crate) fn start(program: &str, prepare: impl FnOnce(&mut Command), output: &std::path::Path) -> Self {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, program]).env("OUT", output);
        prepare(&mut keeper);
        let mut keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut id = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut id).unwrap();
        Self { keeper, id: id.trim().to_owned() }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args(["-s", name, &self.id]).status().unwrap().success());
    }

    pub(crate) fn runs(&self) -> bool {
        fs::read_to_string(format!("/proc/{}/stat", self.id)).is_ok_and(|it| !it.contains(") Z "))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// How an operator is run.
pub(crate) struct Plan {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    log: &'static str,
    alone: bool,
    /// The namespace and the name of an account that is there; none means one of its own, which may do everything.
    pub(crate) account: Option<(String, String)>,
}

impl Plan {
    /// For the blueprints of these namespaces.
    pub(crate) fn over(spaces: &[&Space]) -> Self {
        let mut arguments = vec!["--listen=127.0.0.1:0".to_owned(), "--report-every=1".to_owned()];
        arguments.extend(spaces.iter().map(|it| format!("--namespace={}", it.name)));
        let log = "info,pemdas=debug,pemdas_kube=debug";
        Self { arguments, environment: Vec::new(), log, alone: true, account: None }
    }

    pub(crate) fn argument(mut self, argument: String) -> Self {
        self.arguments.push(argument);
        self
    }

    /// With a Lease, in a namespace that it shares with its rivals.
    pub(crate) fn with_lease(mut self, own: &Space) -> Self {
        self.arguments.push(format!("--operator-namespace={}", own.name));
        self.alone = false;
        self
    }

    /// With a log that says more.
    pub(crate) fn log(mut self, log: &'static str) -> Self {
        self.log = log;
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// An account and a folder for it; nothing runs yet.
    pub(crate) fn prepare(self) -> Operator {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let cluster = &bed().cluster;
        let (user, config) = match &self.account {
            Some((namespace, name)) => {
                let token = token(cluster, namespace, name);
                (format!("{namespace}:{name}"), with_token(cluster, &token))
            }
            None => {
                let name = format!("pemdas-{}", COUNT.fetch_add(1, Ordering::Relaxed));
                (format!("pemdas-system:{name}"), credentials(cluster, &name))
            }
        };
        let user = format!("system:serviceaccount:{user}");
        let folder = tempfile::tempdir().unwrap();
        let operator = Operator { plan: self, user, config, folder, process: None };
        operator.reach(None);
        operator
    }

    pub(crate) fn start(self) -> Operator {
        let mut operator = self.prepare();
        operator.start();
        operator
    }
}

/// An operator of a test's own.
pub(crate) struct Operator {
    plan: Plan,
    /// The name under which the API server knows it.
    pub(crate) user: String,
    config: Value,
    folder: tempfile::TempDir,
    process: Option<Kept>,
}

impl Operator {
    /// Starts it, or starts it again; its log goes on.
    pub(crate) fn start(&mut self) {
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        let kubeconfig = self.kubeconfig();
        let prepare = |keeper: &mut Command| {
            keeper.arg("run").args(&self.plan.arguments).args(["--log-format", "json"]);
            keeper.args(self.plan.alone.then_some("--alone"));
            keeper.env("KUBECONFIG", kubeconfig).env("RUST_LOG", self.plan.log);
            keeper.envs(self.plan.environment.iter().map(|(name, value)| (name, value)));
            keeper.stderr(log);
        };
        let output = self.folder.path().join("out");
        self.process = Some(Kept::start(env!("CARGO_BIN_EXE_pemdas"), prepare, &output));
    }

    /// Kills it, without a chance to tidy up.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) {
        let process = self.process.take().unwrap();
        process.signal("TERM");
        until("the operator stops", || (!process.runs()).then_some(()));
    }

    pub(crate) fn signal(&self, name: &str) {
        self.process.as_ref().unwrap().signal(name);
    }

    pub(crate) fn runs(&self) -> bool {
        self.process.as_ref().is_some_and(Kept::runs)
    }

    /// It may have so many files and connections from now on.
    pub(crate) fn limit_descriptors(&self, count: usize) {
        let id = &self.process.as_ref().unwrap().id;
        let limited =
            Command::new("prlimit").args(["--pid", id, &format!("--nofile={count}:{count}")]).status();
        assert!(limited.unwrap().success());
    }

    /// The most memory that it ever had, in MiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let id = &self.process.as_ref().unwrap().id;
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
    }

    /// The API server is reached at this address; none means directly.
    pub(crate) fn reach(&self, address: Option<&str>) {
        let mut config = self.config.clone();
        if let Some(address) = address {
            config["clusters"][0]["cluster"] = json!({ "server": address });
        }
        fs::write(self.kubeconfig(), config.to_string()).unwrap();
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Everything that it ever logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// Where it shows itself over HTTP.
    pub(crate) fn address(&self) -> String {
        let log = self.log();
        let mut lines = log.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
        let served = lines.rfind(|it| it["fields"]["message"] == "health and metrics are served");
        let served = served.expect("it is served");
        served["fields"]["address"].as_str().unwrap().to_owned()
    }

    /// What it shows of itself over HTTP.
    pub(crate) fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// What it asked of the API server so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        logged(|it| it.user == self.user)
    }

    /// What it asked of the API server so far that changes something: verb, namespace, resource and name.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.requests()
            .iter()
            .filter(|it| !["get", "list", "watch"].contains(&it.verb.as_str()))
            .filter(|it| !["subjectaccessreviews", "events"].contains(&it.resource.as_str()))
            .map(|it| {
                let text = |it: &Option<String>| it.clone().unwrap_or_default();
                format!("{} {} {} {}", it.verb, text(&it.namespace), it.resource, text(&it.name))
            })
            .collect()
    }
}

impl Drop for Operator {
    /// Looks through the audit log: whatever a test did, nothing but its own was written under the operator's name.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let own = self.plan.arguments.iter().find_map(|it| it.strip_prefix("--operator-namespace="));
            let own = own.unwrap_or("pemdas-system").to_owned();
            let mut written = self.requests();
            written.retain(|it| oversteps(it, it.namespace.as_deref() == Some(&own)));
            assert!(written.is_empty(), "written under the operator's own name: {written:#?}");
        }
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("the log of {}:\n{}", self.user, lines[lines.len().saturating_sub(30)..].join("\n"));
        }
    }
}

/// The Events about an object, as `type reason: note`.
pub(crate) fn events(space: &Space, name: &str) -> Vec<String> {
    let all = space.list("event");
    let of_it = all.iter().filter(|it| it["regarding"]["name"] == name);
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    of_it.map(|it| format!("{} {}: {}", text(&it["type"]), text(&it["reason"]), text(&it["note"]))).collect()
}

/// Waits for a warning about an object that says this.
pub(crate) fn warned(space: &Space, name: &str, words: &str) -> String {
    until(&format!("a warning about {name}: {words}"), || {
        events(space, name).into_iter().find(|it| it.starts_with("Warning ") && it.contains(words))
    })
}
