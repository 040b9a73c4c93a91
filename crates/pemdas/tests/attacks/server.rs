//! A real HTTP server behind a Service, reached as a user's would be: through the API server's proxy.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;

use super::{bed::until, space::Space};

/// What it does when it is asked.
#[derive(Debug, Clone)]
pub(crate) enum Manner {
    /// Answers with this type and body.
    Says(&'static str, String),
    /// Sends these bytes as they are, and closes.
    Raw(Vec<u8>),
    /// Never answers.
    Silent,
    /// Sends so many bytes.
    Floods(usize),
}

impl Manner {
    pub(crate) fn json(body: &serde_json::Value) -> Self {
        Self::Says("application/json", body.to_string())
    }
}

pub(crate) struct Server {
    address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    asked: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let address = SocketAddr::new(outward(), listener.local_addr().unwrap().port());
        let (manner, asked) = (Arc::new(Mutex::new(manner)), Arc::new(AtomicUsize::new(0)));
        let (now, count) = (manner.clone(), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let manner = now.lock().unwrap_or_else(PoisonError::into_inner).clone();
                std::thread::spawn(move || {
                    let _ended = answer(&stream, manner);
                });
            }
        });
        Self { address, manner, asked }
    }

    /// From now on it behaves so.
    pub(crate) fn turns(&self, manner: Manner) {
        *self.manner.lock().unwrap_or_else(PoisonError::into_inner) = manner;
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Waits until it was asked so many times more: whatever follows from an answer has begun.
    pub(crate) fn asked_again(&self, times: usize) {
        let before = self.asked();
        until("the Service is asked", || (self.asked() >= before + times).then_some(()));
    }

    /// Stands behind the Service of this name. The API server's proxy goes to the addresses of pods only: so there is
    /// one, which no scheduler takes and which says that it has our address.
    pub(crate) fn stand_behind(&self, space: &Space, service: &str) {
        let address = self.address.ip().to_string();
        space.apply(&json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": service, "labels": { "app": service } },
            "spec": {
                "schedulerName": "nobody", "automountServiceAccountToken": false,
                "containers": [{
                    "name": "report", "image": "none",
                    "ports": [{ "name": "http", "containerPort": self.address.port() }],
                }],
            },
        }));
        // The Service selects it by its label, and the cluster's own controller does the rest.
        let ready = json!({
            "phase": "Running", "podIP": address, "podIPs": [{ "ip": address }],
            "conditions": [{ "type": "Ready", "status": "True" }],
        });
        space.merge_status("pod", service, &ready);
    }
}

/// The address of this machine as others see it: the API server's proxy refuses loopback addresses. Nothing is sent.
fn outward() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").unwrap();
    socket.local_addr().unwrap().ip()
}

fn answer(mut stream: &TcpStream, manner: Manner) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    match manner {
        Manner::Says(kind, body) => write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ),
        Manner::Raw(bytes) => stream.write_all(&bytes),
        Manner::Silent => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        }
        Manner::Floods(size) => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n")?;
            stream.write_all(&vec![b'x'; size])
        }
    }
}
