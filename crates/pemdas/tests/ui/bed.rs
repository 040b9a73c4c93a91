//! A demonstration that goes on, the page that it serves, and its cluster.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    ops::Deref,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::Value;

/// A demonstration, with the page.
pub(crate) struct Demo {
    child: Child,
    said: BufReader<ChildStdout>,
    page: Page,
    pub(crate) kubeconfig: PathBuf,
    _folder: tempfile::TempDir,
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Deref for Demo {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.page
    }
}

/// `pemdas ui` for some cluster.
pub(crate) struct Ui {
    child: Child,
    page: Page,
}

impl Drop for Ui {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Deref for Ui {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.page
    }
}

impl Ui {
    pub(crate) fn start(kubeconfig: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pemdas"))
            .args(["ui", "--port", "0", "--kubeconfig"])
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut link = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut link).unwrap();
        Self { child, page: Page { link: link.trim().to_owned() } }
    }
}

/// A page that is served.
pub(crate) struct Page {
    /// The address of the page, with the token.
    pub(crate) link: String,
}

impl Page {
    /// The page without a path and a token.
    pub(crate) fn origin(&self) -> &str {
        self.link.split("/#").next().unwrap()
    }

    pub(crate) fn token(&self) -> &str {
        self.link.rsplit("token=").next().unwrap()
    }

    /// The address of a screen, with the token.
    pub(crate) fn screen(&self, path: &str) -> String {
        format!("{}{path}#token={}", self.origin(), self.token())
    }

    /// Asks as the page does.
    pub(crate) fn get(&self, path: &str) -> Answer {
        let token = format!("Bearer {}", self.token());
        self.ask("GET", path, &[("authorization", &token)])
    }

    /// Asks with these headers, and a fitting host where none is among them.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let address = self.origin().trim_start_matches("http://");
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: 0\r\n");
        if !headers.iter().any(|it| it.0 == "host") {
            request.push_str(&format!("host: {address}\r\n"));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        send(address, &format!("{request}\r\n"))
    }
}

/// An answer of the page.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }
}

impl Demo {
    /// Of an example, or of a folder; with a file of its blueprint replaced.
    pub(crate) fn start(example: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let mut child = Command::new(env!("CARGO_BIN_EXE_pemdas"))
            .args(["demo", example, "--speed", "20", "--kubeconfig-out"])
            .arg(&kubeconfig)
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        said.read_line(&mut first).unwrap();
        let link = first.trim().strip_prefix("in a browser: ").expect("the link comes first").to_owned();
        Self { child, said, page: Page { link }, kubeconfig, _folder: folder }
    }

    /// Reads what it says until a line with this.
    pub(crate) fn until(&mut self, part: &str) {
        let mut seen = String::new();
        loop {
            let before = seen.len();
            assert!(self.said.read_line(&mut seen).unwrap() > 0, "it ended without {part:?}: {seen}");
            if seen[before..].contains(part) {
                return;
            }
        }
    }

    /// Sends a request to the cluster, as `kubectl` would.
    pub(crate) fn cluster(&self, method: &str, path: &str, form: &str, body: &str) -> Answer {
        let config: Value = serde_json::from_str(&fs::read_to_string(&self.kubeconfig).unwrap()).unwrap();
        let server = config.pointer("/clusters/0/cluster/server").unwrap().as_str().unwrap();
        let (address, secret) = server.trim_start_matches("http://").split_once('/').unwrap();
        let head = format!("{method} /{secret}{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
        send(address, &format!("{head}content-type: {form}\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    }

    /// What the command says of the same cluster.
    pub(crate) fn pemdas(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_pemdas"))
            .args(arguments)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .output()
            .unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn send(address: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}

/// A folder with a blueprint and a sample.
pub(crate) fn folder(blueprint: &str, sample: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sample")).unwrap();
    fs::write(folder.path().join("main.ncl"), blueprint).unwrap();
    fs::write(folder.path().join("sample/one.yaml"), sample).unwrap();
    folder
}

/// Where pictures of the page go.
pub(crate) fn pictures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/ui")
}
