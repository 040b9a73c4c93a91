//! Services whose response is a status: good ones and bad ones, through the API server's proxy.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::{
    core::v1::{Endpoints, Pod, Service},
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use pemdas_kube::{
    identity::{Clients, Identity},
    report::{Limits, Place, Report, Reporter, fetch},
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{LONG, client, namespace};

/// A real HTTP server that misbehaves by path.
struct Misbehaving {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Misbehaving {
    async fn start() -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let address = SocketAddr::new(outward(), listener.local_addr().unwrap().port());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, count.clone()));
            }
        });
        Self { address, asked }
    }
}

/// The address of this machine as others see it: the API server's proxy refuses loopback addresses. Nothing is sent.
fn outward() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").unwrap();
    socket.local_addr().unwrap().ip()
}

async fn answer(mut stream: TcpStream, count: Arc<AtomicUsize>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_exact(&mut byte).await.is_err() {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
    let turn = count.fetch_add(1, Ordering::Relaxed);
    let page = |status: &str, kind: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let text = match path.as_str() {
        "/json" => page("200 OK", "application/json", "{\"rows\":3}"),
        "/text" => page("200 OK", "text/plain", "all is well\n"),
        "/garbage" => "\x01\x02 very-secret \x7f\r\n\r\n".to_owned(),
        "/lies" => page("200 OK", "application/json", "very-secret"),
        "/500" => page("500 Internal Server Error", "text/plain", "very-secret"),
        "/redirect" => {
            "HTTP/1.1 302 Found\r\nlocation: /json\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                .to_owned()
        }
        "/short" => {
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nvery-secret".to_owned()
        }
        "/slow" => return std::future::pending().await,
        "/drip" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n").await;
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            return;
        }
        "/large" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n").await;
            for _ in 0..10_240 {
                if stream.write_all(&[b'x'; 1_024]).await.is_err() {
                    return;
                }
            }
            return;
        }
        // Changes with every second question.
        "/counts" => page("200 OK", "application/json", &(turn / 2).to_string()),
        "/mends" if turn < 2 => page("503 Service Unavailable", "text/plain", "very-secret"),
        _ => page("200 OK", "application/json", "\"ok\""),
    };
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

fn limits() -> Limits {
    Limits { time: Duration::from_secs(3), interval: Duration::from_millis(50), ..Limits::default() }
}

/// What each path comes to, whichever way it is asked.
const EXPECTED: &[(&str, Result<&str, &str>)] = &[
    ("/json", Ok("{\"rows\":3}")),
    ("/text", Ok("\"all is well\"")),
    ("/lies", Err("says that it answers with JSON, and does not")),
    ("/500", Err("answers 500")),
    ("/redirect", Err("answers 302: redirects are not followed")),
    ("/short", Err("breaks off in the middle of its answer")),
    ("/slow", Err("does not answer within 3s")),
    ("/drip", Err("does not answer within 3s")),
    ("/large", Err("answers with more than 65536 bytes")),
];

fn judged(path: &str, answer: &Result<Value, String>, expected: Result<&str, &str>) {
    match (answer, expected) {
        (Ok(value), Ok(expected)) => assert_eq!(value.to_string(), expected, "{path}"),
        (Err(why), Err(expected)) => assert!(why.ends_with(expected), "{path}: {why}"),
        _ => panic!("{path}: {answer:?}, and not {expected:?}"),
    }
    assert!(!format!("{answer:?}").contains("secret"), "{path}: {answer:?} quotes the response");
}

fn place(namespace: &str, port: u16, path: &str) -> Place {
    Place { namespace: namespace.to_owned(), service: "report".to_owned(), port, path: path.to_owned() }
}

/// A client of the account `reader`.
fn reader(client: &Client, namespace: &str) -> Client {
    let identity = Identity::Account { namespace: namespace.to_owned(), name: "reader".to_owned() };
    Clients::new(client.clone()).of(&identity)
}

/// A Service in front of a server of this process. The API server's proxy goes to the addresses of pods only: so there is
/// one, which no scheduler takes and which says that it has our address.
async fn service(client: &Client, namespace: &str, behind: SocketAddr) {
    let create = PostParams::default();
    let service: Service = serde_json::from_value(json!({
        "metadata": { "name": "report" },
        "spec": { "ports": [{ "name": "http", "port": 80, "targetPort": behind.port() }] },
    }))
    .unwrap();
    Api::namespaced(client.clone(), namespace).create(&create, &service).await.unwrap();
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "report" },
        "spec": {
            "schedulerName": "nobody", "automountServiceAccountToken": false,
            "containers": [{ "name": "report", "image": "none" }],
        },
    }))
    .unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    // The namespace's own ServiceAccount comes a moment after the namespace.
    crate::server::until("a pod", || async { pods.create(&create, &pod).await.ok() }).await;
    let address = behind.ip().to_string();
    let status = json!({ "status": { "podIP": address, "podIPs": [{ "ip": address }] } });
    pods.patch_status("report", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let endpoints: Endpoints = serde_json::from_value(json!({
        "metadata": { "name": "report" },
        "subsets": [{
            "addresses": [{
                "ip": address, "targetRef": { "kind": "Pod", "name": "report", "namespace": namespace },
            }],
            "ports": [{ "name": "http", "port": behind.port(), "protocol": "TCP" }],
        }],
    }))
    .unwrap();
    Api::namespaced(client.clone(), namespace).create(&create, &endpoints).await.unwrap();
}

async fn may_use_the_proxy(client: &Client, namespace: &str) {
    let role: Role = serde_json::from_value(json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["services/proxy"], "verbs": ["get"] }],
    }))
    .unwrap();
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
        "subjects": [{ "kind": "ServiceAccount", "name": "reader", "namespace": namespace }],
    }))
    .unwrap();
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &role).await.unwrap();
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &binding).await.unwrap();
}

#[tokio::test]
async fn whatever_a_service_answers_is_a_value_or_a_sentence() {
    let client = client().await;
    let namespace = namespace(&client, "report").await;
    let account = reader(&client, &namespace);
    let server = Misbehaving::start().await;
    service(&client, &namespace, server.address).await;
    let refused = fetch(&place(&namespace, 80, "/json"), &account, &limits()).await.unwrap_err();
    assert_eq!(
        refused,
        format!(
            "Service {namespace}/report:80/json answers 403, or the account may not get services/proxy there"
        )
    );
    assert_eq!(server.asked.load(Ordering::Relaxed), 0, "the admin's rights were not used");

    may_use_the_proxy(&client, &namespace).await;
    crate::server::until("the role and the endpoints are in force", || async {
        fetch(&place(&namespace, 80, "/json"), &account, &limits()).await.ok()
    })
    .await;
    let limits = limits();
    let all = EXPECTED.iter().map(async |(path, expected)| {
        let answer = fetch(&place(&namespace, 80, path), &account, &limits).await;
        match *path {
            // Nothing of it has gone through when the API server notices.
            "/short" => judged(path, &answer, Err("gives no answer through the API server")),
            _ => judged(path, &answer, *expected),
        }
    });
    futures::future::join_all(all).await;
    let out = fetch(&place(&namespace, 80, "/../../../secrets"), &account, &limits).await;
    assert!(out.unwrap_err().contains("could lead out of the Service"));
}

#[tokio::test]
async fn only_changes_are_told_and_a_good_value_outlives_trouble() {
    let client = client().await;
    let namespace = namespace(&client, "report").await;
    let account = reader(&client, &namespace);
    let server = Misbehaving::start().await;
    service(&client, &namespace, server.address).await;
    may_use_the_proxy(&client, &namespace).await;
    let quick = Limits { interval: Duration::from_millis(20), ..limits() };
    let reporter = Reporter::new(quick);
    let followed = reporter.follow(place(&namespace, 80, "/counts"), account.clone());
    let mut report = followed.report();
    let mut told = Vec::new();
    while told.len() < 3 {
        tokio::time::timeout(LONG, report.changed()).await.expect("nothing is told").unwrap();
        told.extend(report.borrow_and_update().value.as_ref().and_then(Value::as_u64));
    }
    let mut rising = told.clone();
    rising.sort_unstable();
    rising.dedup();
    assert_eq!(told, rising, "the same twice is no news");
    // The Service goes: what it said last stays, with the reason why there is nothing newer.
    Api::<Service>::namespaced(client.clone(), &namespace)
        .delete("report", &Default::default())
        .await
        .unwrap();
    let gone = tokio::time::timeout(LONG, report.wait_for(|it| it.trouble.is_some())).await.unwrap();
    let Report { value, trouble } = gone.unwrap().clone();
    assert!(value.is_some(), "{trouble:?}");
}
