//! Bundles: the same bytes each time, the same objects in each form, and all of them taken by the API server.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{cluster, examples, name, pemdas};

/// Every file below a folder, by its path there.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap().map(|it| it.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
            } else {
                let inner = entry.strip_prefix(folder).unwrap().to_owned();
                found.insert(inner, fs::read_to_string(&entry).unwrap());
            }
        }
    }
    found
}

/// Objects in an order of their own, without what tells a folder of kustomize or a chart from a stream.
fn objects(text: &str) -> BTreeMap<(String, String), Value> {
    let mut documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    for metadata in documents.iter_mut().filter_map(|it| it["metadata"].as_object_mut()) {
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("helm.sh/resource-policy");
        }
        metadata.retain(|_, it| it.as_object().is_none_or(|it| !it.is_empty()));
    }
    let identity = |it: &Value| {
        (it["kind"].as_str().unwrap().to_owned(), it["metadata"]["name"].as_str().unwrap().to_owned())
    };
    documents.into_iter().map(|it| (identity(&it), it)).collect()
}

fn packed(example: &Path, form: &str, folder: &Path) {
    let target = folder.to_string_lossy().into_owned();
    pemdas("bundle", example, &["-n", "live", "--crds", "await", "--as", form, "-o", &target]);
}

#[test]
fn the_same_blueprint_gives_the_same_bytes() {
    for example in examples() {
        let scratch = tempfile::tempdir().unwrap();
        // The same files in another place, written in another order.
        let copy = scratch.path().join("copy");
        fs::create_dir(&copy).unwrap();
        let mut sources: Vec<_> = files(&example).into_iter().collect();
        sources.reverse();
        // Scenarios, in a folder of their own, are not packed.
        let source = |it: &Path| it.extension().is_some_and(|it| it == "ncl") && it.components().count() == 1;
        for (path, text) in sources.into_iter().filter(|(it, _)| source(it)) {
            fs::write(copy.join(path), text).unwrap();
        }
        assert_eq!(pemdas("bundle", &example, &[]), pemdas("bundle", &copy, &[]));
        for form in ["kustomize", "helm"] {
            let [one, two] = ["one", "two"].map(|it| scratch.path().join(form).join(it));
            packed(&example, form, &one);
            packed(&copy, form, &two);
            assert_eq!(files(&one), files(&two), "{form} of {}", name(&example));
        }
    }
}

#[test]
fn the_api_server_takes_every_bundle_in_every_form() {
    let kubectl = |arguments: &[&str]| cluster().kubectl(arguments).unwrap();
    kubectl(&["create", "namespace", "live"]);
    for example in examples() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("bundle.yaml").to_string_lossy().into_owned();
        pemdas("bundle", &example, &["-n", "live", "--crds", "await", "-o", &file]);
        let stream = objects(&fs::read_to_string(&file).unwrap());
        let base = scratch.path().join("base");
        packed(&example, "kustomize", &base);
        let base = base.to_string_lossy().into_owned();
        assert_eq!(objects(&kubectl(&["kustomize", &base])), stream, "kustomize makes the same of it");
        let chart = scratch.path().join("chart");
        packed(&example, "helm", &chart);
        assert_eq!(objects(&rendered(&chart)), stream, "Helm makes the same of it");
        kubectl(&["apply", "--server-side", "-f", &file]);
        let again = kubectl(&["diff", "--server-side", "-k", &base]);
        assert_eq!(again, "", "nothing is left to change");
        kubectl(&["delete", "-f", &file]);
        // Compressed, the same blueprint comes out in every form.
        let packed = objects(&pemdas("bundle", &example, &["-n", "live", "--crds", "await", "--packed"]));
        for (form, folder) in
            [("kustomize", scratch.path().join("base-2")), ("helm", scratch.path().join("chart-2"))]
        {
            let target = folder.to_string_lossy().into_owned();
            let more = ["-n", "live", "--crds", "await", "--packed", "--as", form, "-o", &target];
            pemdas("bundle", &example, &more);
            let made = if form == "helm" { rendered(&folder) } else { kubectl(&["kustomize", &target]) };
            assert_eq!(objects(&made), packed, "{form} of {}", name(&example));
        }
        let file = scratch.path().join("packed.yaml").to_string_lossy().into_owned();
        pemdas("bundle", &example, &["-n", "live", "--crds", "await", "--packed", "-o", &file]);
        let again = pemdas("bundle", Path::new(&file), &["-n", "live", "--crds", "await"]);
        assert_eq!(objects(&again), stream, "what was compressed is read again");
    }
}

/// What Helm makes of the templates of a chart, which hold a namespace and files and nothing else that it knows.
fn rendered(chart: &Path) -> String {
    let files = files(chart);
    let mut documents = Vec::new();
    for (_, text) in files.iter().filter(|(path, _)| path.starts_with("templates")) {
        let mut text = text.replace("{{ .Release.Namespace }}", "live").replace("{{ \"{{\" }}", "\u{1}");
        for (path, source) in files.iter().filter(|(path, _)| path.starts_with("blueprint")) {
            let reference = format!("{{{{ .Files.Get \"{}\" | toJson }}}}", path.display());
            text = text.replace(&reference, &Value::from(source.as_str()).to_string().replace("{{", "\u{1}"));
        }
        assert!(!text.contains("{{"), "{text}");
        documents.push(text.replace('\u{1}', "{{"));
    }
    documents.join("---\n")
}

#[test]
fn what_cannot_be_packed_is_told_and_nothing_is_written() {
    let scratch = tempfile::tempdir().unwrap();
    let split = scratch.path().join("split");
    fs::create_dir_all(split.join("parts")).unwrap();
    let main = r#"let { Blueprint, .. } = import "pemdas/v1.ncl" in { name = "split", nodes = import "parts/nodes.ncl" } | Blueprint"#;
    let nodes = r#"{ one.template = { apiVersion = "v1", kind = "ConfigMap", metadata.name = "one" } }"#;
    fs::write(split.join("main.ncl"), main).unwrap();
    fs::write(split.join("parts/nodes.ncl"), nodes).unwrap();
    let target = scratch.path().join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .arg("bundle")
        .arg(&split)
        .args(["--as", "helm", "-o"])
        .arg(&target)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("\"parts/nodes.ncl\" cannot be a key of a ConfigMap"), "{said}");
    assert!(!target.exists());
}
