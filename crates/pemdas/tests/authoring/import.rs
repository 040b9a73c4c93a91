use std::{fs, process::Command};

use serde_json::{Value, json};

use super::{cluster, pemdas};

/// A kind that accepts anything.
const ANYTHING: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: anythings.import.example.com}
spec:
  group: import.example.com
  scope: Namespaced
  names: {kind: Anything, plural: anythings, singular: anything}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

/// Words without quotes: whatever the types of YAML 1.1 and 1.2 write down, and what only looks like it.
const WORDS: &[&str] = &[
    "y Y yes Yes YES yEs n N no No NO true True TRUE tRue false False FALSE on On ON oN off Off OFF",
    "~ null Null NULL nULL",
    "0 -0 +0 00 0o0 1 -1 +1 12 0777 0400 0o777 0O17 -0777 -0o17 08 09 0789 0x1F 0X1f 0xg -0x1F 0b101 0B11 -0b101 0b12",
    "1_000 0_7 0x1_F 1__0 _1 1_ +1_0 9223372036854775807 9223372036854775808 -9223372036854775808 18446744073709551615",
    "1.0 2.50 .5 -.5 +.5 1. 1.5e3 1e3 1E3 1e+3 1e-3 -1.5 .5e1 1.e2 1e 1.2.3 . .. -. 0.1 00.5 1_0.5 1e400 .e3",
    "12:30 12:30:45 190:20:30 190:20:30.15 1:2 2026-01-02 2026-01-02T03:04:05Z 2001-12-14t21:59:43.10-05:00",
    "0x 0o 0b +x -x - a yesno 1a a1 1-2 1/2 100m 1Gi 1e3x 0400x = <<",
];

/// What kubectl refuses as the name of a field (of these, `nULL` is refused here only), and what merges another record.
const NO_NAMES: &[&str] =
    &["~", "null", "Null", "NULL", "nULL", "<<", "=", "9223372036854775808", "18446744073709551615"];

#[test]
fn the_api_server_and_import_read_the_same_of_every_scalar() {
    let words: Vec<&str> =
        WORDS.iter().flat_map(|it| it.split_whitespace()).filter(|it| *it != "-").collect();
    let items: String = words.iter().map(|it| format!("  - {{is: {it}}}\n  - {it} # said\n")).collect();
    let named: String =
        words.iter().filter(|it| !NO_NAMES.contains(it)).map(|it| format!("  - {it}: 1\n")).collect();
    let mode = "  volume: {secret: {secretName: a, defaultMode: 0400}}\n";
    let text = format!(
        "apiVersion: import.example.com/v1\nkind: Anything\nmetadata: {{name: words}}\nspec:\n{mode}  items:\n{items}  named:\n{named}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("words.yaml");
    fs::write(&file, text).unwrap();
    let cluster = cluster();
    cluster.apply(ANYTHING).unwrap();
    cluster.kubectl(&["wait", "--for=condition=Established", "crd/anythings.import.example.com"]).unwrap();
    let file_name = file.to_str().unwrap();
    let served = cluster.kubectl(&["create", "--dry-run=server", "-o", "json", "-f", file_name]).unwrap();
    let served: Value = serde_json::from_str(&served).unwrap();

    let target = folder.path().join("out");
    pemdas("import", &file, &["-o", target.to_str().unwrap()]);
    let sample = target.join("sample/words.yaml");
    let planned = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .arg("plan")
        .arg(&target)
        .arg("--instance")
        .arg(&sample)
        .args(["-o", "json"])
        .output()
        .unwrap();
    let planned: Value = serde_json::from_slice(&planned.stdout).unwrap();
    let made = made(&planned).expect("the plan makes the object");
    assert_eq!(served["spec"]["volume"]["secret"]["defaultMode"], json!(256));
    for field in ["volume", "items", "named"] {
        let (is, wants) = (rounded(&made["spec"][field]), rounded(&served["spec"][field]));
        let lists = is.as_array().zip(wants.as_array());
        for (is, wants) in lists.iter().flat_map(|(is, wants)| is.iter().zip(*wants)) {
            assert_eq!(is, wants);
        }
        assert_eq!(is, wants);
    }
}

/// Whole numbers that are larger than those of Kubernetes become fractions on their way, which are not exact.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.as_i64().is_none() => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(rounded).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, it)| (name.clone(), rounded(it))).collect())
        }
        other => other.clone(),
    }
}

/// The object of the kind in a plan.
fn made(value: &Value) -> Option<&Value> {
    match value {
        Value::Object(fields) if value["kind"] == "Anything" && fields.contains_key("spec") => Some(value),
        Value::Object(fields) => fields.values().find_map(made),
        Value::Array(items) => items.iter().find_map(made),
        _ => None,
    }
}
