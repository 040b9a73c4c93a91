//! The chart of Pemdas, rendered by Helm itself: the plain manifests are made from it, and wrong values are refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pemdas_testbed::assets::{cache::Cache, helm};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn chart(file: &str) -> String {
    fs::read_to_string(root().join("charts/pemdas").join(file)).unwrap()
}

/// What Helm makes of the chart with these values, or what it says against them.
fn rendered(values: &[&str]) -> Result<String, String> {
    let mut command = Command::new(helm(&Cache::of_user().unwrap()).unwrap());
    command.args(["template", "pemdas", "charts/pemdas", "--namespace=pemdas-system"]);
    command.args(values.iter().map(|it| format!("--set-json={it}"))).current_dir(root());
    // Neither the plugins nor the repositories of whoever tests.
    let own = tempfile::tempdir().unwrap();
    command.env("HELM_CONFIG_HOME", own.path()).env("HELM_DATA_HOME", own.path());
    let done = command.env("HELM_CACHE_HOME", own.path()).output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if done.status.success() { Ok(said(&done.stdout)) } else { Err(said(&done.stderr)) }
}

const HEAD: &str = "\
# Pemdas in a cluster: `kubectl apply -f deploy/pemdas.yaml`. README.md beside this file says what each right is for.
# Made from charts/pemdas with its default values: `PEMDAS_RENEW=1 cargo test -p pemdas-testbed --test chart`.
apiVersion: v1
kind: Namespace
metadata:
  name: pemdas-system
  labels: { pod-security.kubernetes.io/enforce: restricted }
";

#[test]
fn the_plain_manifests_are_what_the_chart_renders() {
    let rendered = rendered(&[]).unwrap();
    // Where each document comes from is of no use to who applies them; nor are the empty lines that Helm leaves.
    let lines = rendered.lines().filter(|it| !it.starts_with("# Source: ") && !it.trim().is_empty());
    let today = lines.fold(HEAD.to_owned(), |text, line| text + line.trim_end() + "\n");
    let file = root().join("deploy/pemdas.yaml");
    if fs::read_to_string(&file).unwrap() == today {
        return;
    }
    if std::env::var_os("PEMDAS_RENEW").is_some() {
        fs::write(&file, today).unwrap();
    }
    panic!("deploy/pemdas.yaml is not what the chart renders; run this test with PEMDAS_RENEW=1 to renew it");
}

#[test]
fn values_reach_the_manifests() {
    let all = [
        r#"image={"repository":"registry.example.com/pemdas","tag":"1.2.3","pullPolicy":"Always"}"#,
        r#"imagePullSecrets=[{"name":"my-registry"}]"#,
        "replicas=3",
        r#"namespaces=["shop","team-a"]"#,
        r#"log="info,pemdas_kube=debug""#,
        r#"extraArgs=["--workers=4"]"#,
        r#"env=[{"name":"A","value":"b"}]"#,
        r#"resources={"limits":{"memory":"2Gi"}}"#,
        r#"readinessProbe={"periodSeconds":7}"#,
        r#"livenessProbe={"failureThreshold":9}"#,
        r#"podDisruptionBudget={"maxUnavailable":"50%"}"#,
        r#"topologySpread=[{"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","minDomains":2}]"#,
        r#"networkPolicy={"from":[{"podSelector":{}}],"egress":[{"ports":[{"port":6443}]}]}"#,
        r#"serviceAccount={"annotations":{"x":"of the account"}}"#,
        r#"podLabels={"team":"platform"}"#,
        r#"podAnnotations={"note":"of the pod"}"#,
        r#"nodeSelector={"disk":"fast"}"#,
        r#"tolerations=[{"key":"taint","operator":"Exists"}]"#,
        r#"affinity={"nodeAffinity":{"near":"by"}}"#,
        r#"priorityClassName="system-cluster-critical""#,
    ];
    let said = rendered(&all).unwrap();
    for wanted in [
        "image: registry.example.com/pemdas:1.2.3",
        "imagePullPolicy: Always",
        "name: my-registry",
        "replicas: 3",
        "- --namespace=shop\n            - --namespace=team-a\n            - --workers=4",
        r#"{ name: RUST_LOG, value: "info,pemdas_kube=debug" }"#,
        "- name: A\n              value: b",
        "memory: 2Gi",
        "periodSeconds: 7",
        "failureThreshold: 9",
        "maxUnavailable: 50%",
        "topologyKey: zone\n          maxSkew: 1\n          whenUnsatisfiable: DoNotSchedule\n          minDomains: 2",
        "policyTypes: [Ingress, Egress]",
        "from:\n        - podSelector: {}",
        "egress:\n    - ports:\n      - port: 6443",
        "x: of the account",
        "team: platform",
        "note: of the pod",
        "disk: fast",
        "key: taint",
        "near: by",
        "priorityClassName: system-cluster-critical",
    ] {
        assert!(said.contains(wanted), "{wanted}\nis not in\n{said}");
    }
    let given: Vec<_> = all.iter().map(|it| it.split('=').next().unwrap()).collect();
    for (name, _) in values() {
        assert!(given.contains(&name.as_str()), "{name} is a value that nobody tries");
    }
}

#[test]
fn a_digest_takes_the_place_of_the_tag_and_parts_can_be_left_out() {
    let digest = "0".repeat(64);
    let image = format!(r#"image={{"digest":"sha256:{digest}"}}"#);
    let off =
        [r#"networkPolicy={"enabled":false}"#, r#"podDisruptionBudget={"enabled":false}"#, image.as_str()];
    let said = rendered(&off).unwrap();
    assert!(said.contains(&format!("image: pemdas@sha256:{digest}")), "{said}");
    assert!(!said.contains("kind: NetworkPolicy") && !said.contains("kind: PodDisruptionBudget"));
}

#[test]
fn wrong_values_are_refused_by_name() {
    for (wrong, told) in [
        ("replica=2", "replica"),
        ("replicas=\"2\"", "/replicas"),
        (r#"image={"tagg":"x"}"#, "tagg"),
        (r#"image={"digest":"sha256:x"}"#, "/image/digest"),
        (r#"namespaces=["Not A Name"]"#, "/namespaces/0"),
        (r#"networkPolicy={"enabled":"yes"}"#, "/networkPolicy/enabled"),
        (r#"podLabels={"a":1}"#, "/podLabels/a"),
    ] {
        let said = rendered(&[wrong]).unwrap_err();
        assert!(said.contains(told), "{wrong}: {said}");
    }
}

/// The values of the chart, each with what the comment above it says.
fn values() -> Vec<(String, String)> {
    let (mut found, mut comment) = (Vec::new(), String::new());
    for line in chart("values.yaml").lines() {
        if let Some(text) = line.strip_prefix("# ") {
            comment = if comment.is_empty() { text.to_owned() } else { format!("{comment} {text}") };
        } else if let Some((name, _)) = line.split_once(':').filter(|_| !line.starts_with([' ', '#'])) {
            found.push((name.to_owned(), comment.clone()));
        } else if line.is_empty() {
            comment.clear();
        }
    }
    found
}

#[test]
fn every_value_is_documented() {
    let (readme, schema) = (chart("README.md"), chart("values.schema.json"));
    let values = values();
    assert!(values.len() > 15, "{values:?}");
    for (name, comment) in values {
        let beneath = chart("values.yaml").contains(&format!("\n{name}:\n  # "));
        assert!(!comment.is_empty() || beneath, "{name} has no comment");
        assert!(readme.contains(&format!("| `{name}")), "{name} is not in the README of the chart");
        assert!(schema.contains(&format!("    \"{name}\": {{")), "{name} is not in the schema");
    }
}

#[test]
fn nothing_in_the_manifests_is_allowed_to_everything() {
    let said = rendered(&[]).unwrap();
    for rule in said.lines().filter(|it| it.contains("apiGroups:")) {
        assert!(!rule.contains('*'), "{rule}");
    }
}

#[test]
fn chart_and_program_have_one_version() {
    let version = env!("CARGO_PKG_VERSION");
    let said = chart("Chart.yaml");
    assert!(
        said.contains(&format!("\nversion: {version}\n"))
            && said.contains(&format!("\nappVersion: {version}\n"))
    );
}
