//! The page of `pemdas ui`: over HTTP, as anything on this machine may ask it, and in a real browser, as a person sees it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod bed;
mod browser;
mod seen;

use bed::Demo;
use serde_json::Value;

#[test]
fn only_whoever_has_the_link_is_told_anything() {
    let demo = Demo::start("web-app");
    let token = format!("Bearer {}", demo.token());
    let status = |method: &str, path: &str, headers: &[(&str, &str)]| demo.ask(method, path, headers).status;
    let fleet = "/api/v1/fleet";
    assert_eq!(demo.get(fleet).status, 200);
    assert_eq!(status("GET", fleet, &[]), 401);
    assert_eq!(status("GET", fleet, &[("authorization", "Bearer 0123")]), 401);
    assert_eq!(status("GET", &format!("{fleet}?token={}", demo.token()), &[]), 401, "not in the address");
    assert_eq!(status("GET", fleet, &[("authorization", &token), ("host", "evil.example")]), 403);
    assert_eq!(status("GET", fleet, &[("authorization", &token), ("origin", "http://evil.example")]), 403);
    assert_eq!(status("GET", fleet, &[("authorization", &token), ("sec-fetch-site", "cross-site")]), 403);
    assert_eq!(status("POST", fleet, &[("authorization", &token), ("content-type", "text/plain")]), 415);
    assert_eq!(
        status("POST", fleet, &[("authorization", &token), ("content-type", "application/json")]),
        405
    );
    assert_eq!(status("GET", "/", &[("host", "evil.example")]), 403, "not even the page");
    assert_eq!(demo.get("/api/v1/secrets").status, 404);
    let page = demo.ask("GET", "/i/any/Thing/at/all", &[]);
    assert_eq!(page.status, 200);
    for promise in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "require-trusted-types-for 'script'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
    ] {
        assert!(page.head.contains(promise), "{}", page.head);
    }
    assert!(!page.body.contains(demo.token()));
}

#[test]
fn a_port_that_is_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    // It is not asked before the page is served.
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{ "name": "a", "cluster": { "server": "http://127.0.0.1:1" } }],
        "users": [{ "name": "a", "user": {} }],
        "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }],
    });
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .args(["ui", "--port", &port, "--kubeconfig"])
        .arg(&kubeconfig)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with(&format!("error: the port {port} is in use\n")), "{said}");
}

/// Where an instance is asked for.
fn query(root: &Value) -> String {
    let text = |field: &str| root[field].as_str().unwrap();
    format!(
        "group={}&kind={}&namespace={}&name={}",
        text("group"),
        text("kind"),
        text("namespace"),
        text("name")
    )
}

/// What the command says, and what the page is told while nothing changes what the command says.
fn at_one_moment(command: impl Fn() -> Value, page: impl Fn() -> Value) -> (Value, Value) {
    let mut before = command();
    loop {
        let told = page();
        let after = command();
        if before == after {
            return (after, told);
        }
        before = after;
    }
}

#[test]
fn what_the_page_is_told_is_what_explain_says() {
    compared(&["blue-green", "foo-service", "namespace-defaults"]);
}

#[test]
fn what_the_page_is_told_of_other_examples_is_what_explain_says() {
    compared(&["on-secret", "postgres", "redis-cache", "web-app"]);
}

fn compared(examples: &[&str]) {
    for example in examples {
        let mut demo = Demo::start(example);
        demo.until(" is Ready, ");
        let fleet = demo.get("/api/v1/fleet").json();
        let rows = fleet["rows"].as_array().unwrap();
        assert!(!rows.is_empty(), "{example}: {fleet:#}");
        for row in rows {
            let root = &row["instance"];
            let name = format!(
                "{}.{}/{}",
                root["kind"].as_str().unwrap().to_lowercase(),
                root["group"].as_str().unwrap(),
                root["name"].as_str().unwrap()
            );
            let name = name.replace("./", "/");
            let namespace = root["namespace"].as_str().unwrap();
            let mut arguments = vec!["explain", &name, "-o", "json"];
            if !namespace.is_empty() {
                arguments.extend(["-n", namespace]);
            }
            let (said, told) = at_one_moment(
                || serde_json::from_str(&demo.pemdas(&arguments)).unwrap(),
                || demo.get(&format!("/api/v1/explain?{}", query(root))).json(),
            );
            assert_eq!(told, said, "{example} {name}");
            let drawn = demo.get(&format!("/api/v1/instance?{}", query(root))).json();
            assert_eq!(drawn["instance"]["state"], said["explained"][0]["state"], "{example} {name}");
        }
    }
}

#[test]
fn no_answer_has_a_value_of_a_secret() {
    const CANARY: &str = "c2luZ2luZy1jYW5hcnk=";
    let mut demo = Demo::start("on-secret");
    demo.until(" is Ready, ");
    let fleet = demo.get("/api/v1/fleet").json();
    let root = &fleet["rows"][0]["instance"];
    let applied = format!(r#"{{"data":{{"password":"{CANARY}"}}}}"#);
    let patch = serde_json::json!({
        "metadata": { "annotations": { "kubectl.kubernetes.io/last-applied-configuration": applied } },
        "data": { "password": CANARY },
    });
    let place = |of: &Value| {
        let text = |field: &str| of[field].as_str().unwrap().to_owned();
        format!("/api/v1/namespaces/{}/secrets/{}", text("namespace"), text("name"))
    };
    let secret = match root["kind"].as_str() {
        Some("Secret") => root.clone(),
        _ => panic!("the root of the example is a Secret: {root}"),
    };
    let patched = demo.cluster("PATCH", &place(&secret), "application/merge-patch+json", &patch.to_string());
    assert_eq!(patched.status, 200, "{}", patched.body);
    assert!(patched.body.contains(CANARY), "the cluster has it");
    for screen in ["fleet", "explain", "instance", "object"] {
        let told = demo.get(&format!("/api/v1/{screen}?{}", query(&secret)));
        assert_eq!(told.status, 200, "{screen}: {}", told.body);
        for word in [CANARY, "singing-canary"] {
            assert!(!told.body.contains(word), "{screen} tells {word}: {}", told.body);
        }
    }
    let yaml = demo.get(&format!("/api/v1/object?{}", query(&secret))).json();
    let yaml = yaml["yaml"].as_str().unwrap().to_owned();
    assert!(yaml.contains("password: '***'") || yaml.contains("password: \"***\""), "{yaml}");
}
