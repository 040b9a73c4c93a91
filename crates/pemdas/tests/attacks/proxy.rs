//! A proxy between an operator and the API server that does to requests what networks and servers do.
//!
//! It is plain HTTP/1.1, one request a connection. Behind it stands `kubectl proxy`, which speaks TLS with the real
//! API server.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{
    bed::{bed, until},
    operators::{Kept, Operator},
};

/// A request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains("watch=true") || self.query.contains("watch=1")
    }

    pub(crate) fn is_write(&self) -> bool {
        self.method != "GET"
    }

    /// A short name of it.
    pub(crate) fn name(&self) -> String {
        let verb = if self.is_watch() { "WATCH" } else { &self.method };
        format!("{verb} {}", self.path)
    }
}

/// What becomes of a request.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    /// It goes through.
    Pass,
    /// It never reaches the server, which seems to answer this.
    Answer(u16, &'static str, String),
    /// The connection ends before it reaches the server.
    Drop,
    /// The server does it, and the answer gets lost.
    Lose,
    /// It goes through; after so many milliseconds the connection is cut, wherever the answer is.
    Cut(u64),
    /// It reaches the server so many milliseconds later.
    Late(u64),
    /// Nothing is ever answered.
    Hang,
}

impl Fate {
    /// An answer as the API server gives it.
    pub(crate) fn status(code: u16, reason: &str, message: &str) -> Self {
        let body = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "reason": reason, "message": message, "code": code,
        });
        Self::Answer(code, "", body.to_string())
    }
}

type Judge = Box<dyn FnMut(&Asked) -> Fate + Send>;

struct Shared {
    judge: Mutex<Judge>,
    asked: Mutex<Vec<(Asked, &'static str)>>,
    /// How many objects a page of a list has, where the operator asks for more.
    page: AtomicUsize,
    behind: String,
}

pub(crate) struct Proxy {
    shared: Arc<Shared>,
    _behind: Kept,
}

impl Proxy {
    /// Stands between an operator and its API server from its next start on.
    pub(crate) fn before(operator: &Operator) -> Self {
        let output = operator.folder().join("proxy");
        operator.reach(None);
        let kubeconfig = operator.folder().join("direct");
        std::fs::copy(operator.kubeconfig(), &kubeconfig).unwrap();
        let kubectl = bed().cluster.kubectl_command();
        let prepare = |keeper: &mut std::process::Command| {
            keeper.args(["proxy", "--port=0", "--reject-paths=^$"]).env("KUBECONFIG", &kubeconfig);
        };
        let behind = Kept::start(&kubectl.get_program().to_string_lossy(), prepare, &output);
        let address = until("kubectl stands behind the proxy", || {
            let said = std::fs::read_to_string(&output).ok()?;
            Some(said.trim().strip_prefix("Starting to serve on ")?.to_owned())
        });
        let shared = Arc::new(Shared {
            judge: Mutex::new(Box::new(|_| Fate::Pass)),
            asked: Mutex::new(Vec::new()),
            page: AtomicUsize::new(0),
            behind: address,
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let every = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = every.clone();
                std::thread::spawn(move || {
                    let _ended = serve(&stream, &shared);
                });
            }
        });
        operator.reach(Some(&address));
        Self { shared, _behind: behind }
    }

    /// From now on, this says what becomes of requests.
    pub(crate) fn judge(&self, judge: impl FnMut(&Asked) -> Fate + Send + 'static) {
        *self.shared.judge.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(judge);
    }

    /// From now on, pages of lists have so many objects.
    pub(crate) fn narrow(&self, page: usize) {
        self.shared.page.store(page, Ordering::Relaxed);
    }

    /// Everything that was asked so far, with what became of it.
    pub(crate) fn asked(&self) -> Vec<(Asked, &'static str)> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, asked) = read(&mut reader)?;
    let page = shared.page.load(Ordering::Relaxed);
    if page > 0 {
        head = head.replacen("limit=2000", &format!("limit={page}"), 1);
    }
    let fate = (shared.judge.lock().unwrap_or_else(PoisonError::into_inner))(&asked);
    let name = match &fate {
        Fate::Pass | Fate::Late(_) => "passed",
        Fate::Answer(..) => "answered",
        Fate::Drop | Fate::Hang => "dropped",
        Fate::Lose => "lost",
        Fate::Cut(_) => "cut",
    };
    let body = asked.body.clone();
    shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push((asked, name));
    match fate {
        Fate::Drop => stream.shutdown(Shutdown::Both),
        Fate::Hang => {
            // Until the other side has had enough.
            let mut rest = Vec::new();
            reader.read_to_end(&mut rest).map(drop)
        }
        Fate::Answer(code, header, body) => {
            let mut stream = stream;
            write!(
                stream,
                "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\n{header}content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
        }
        Fate::Late(millis) => {
            std::thread::sleep(Duration::from_millis(millis));
            pass(stream, shared, &head, &body)
        }
        Fate::Pass => pass(stream, shared, &head, &body),
        Fate::Cut(millis) => {
            let end = stream.try_clone()?;
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(millis));
                end.shutdown(Shutdown::Both)
            });
            pass(stream, shared, &head, &body)
        }
        Fate::Lose => {
            let mut behind = forward(shared, &head, &body)?;
            let mut answer = Vec::new();
            behind.read_to_end(&mut answer)?;
            stream.shutdown(Shutdown::Both)
        }
    }
}

/// The head of a request, without what belongs to its connection; and the request.
fn read(reader: &mut BufReader<TcpStream>) -> std::io::Result<(String, Asked)> {
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut head = first.clone();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if !lower.starts_with("connection:") {
            head.push_str(&line);
        }
    }
    head.push_str("connection: close\r\n\r\n");
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked = Asked {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    Ok((head, asked))
}

fn forward(shared: &Shared, head: &str, body: &str) -> std::io::Result<TcpStream> {
    let mut behind = TcpStream::connect(&shared.behind)?;
    behind.write_all(head.as_bytes())?;
    behind.write_all(body.as_bytes())?;
    Ok(behind)
}

/// Sends a request on, and its answer back, until one of both sides has had enough.
fn pass(mut stream: &TcpStream, shared: &Shared, head: &str, body: &str) -> std::io::Result<()> {
    let mut behind = forward(shared, head, body)?;
    let (mut from, upstream) = (stream.try_clone()?, behind.try_clone()?);
    std::thread::spawn(move || {
        let mut byte = [0];
        while matches!(from.read(&mut byte), Ok(more) if more > 0) {}
        upstream.shutdown(Shutdown::Both)
    });
    let copied = std::io::copy(&mut behind, &mut stream);
    let _closed = stream.shutdown(Shutdown::Both);
    copied.map(drop)
}
