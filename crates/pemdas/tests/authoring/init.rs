//! New blueprints: each is right as it comes, and a cluster takes it.

use std::{fs, path::Path, process::Command};

use super::{cluster, pemdas};

const TEMPLATES: [&str; 4] = ["web-service", "database", "on-event", "namespace-defaults"];

/// A command, how it ended and what it said.
fn ended(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pemdas")).args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).concat();
    (output.status.code().unwrap(), said)
}

#[test]
fn every_template_is_right_as_it_comes() {
    for template in TEMPLATES {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join(format!("my-{template}"));
        let path = folder.to_string_lossy().into_owned();
        pemdas("init", &folder, &["--template", template, "--group", "shop.example.com"]);
        let (status, said) = ended(&["check", "--deny-warnings", &path]);
        assert_eq!(status, 0, "{said}");
        let sample = folder.join("sample/sample.yaml").to_string_lossy().into_owned();
        let (status, said) = ended(&["plan", &path, "--instance", &sample]);
        assert_eq!(status, 1, "{said}");
        assert!(said.contains("to create"), "{said}");
        let rbac = fs::read_to_string(folder.join("rbac.yaml")).unwrap();
        assert_eq!(pemdas("rbac", &folder, &[]), rbac, "what its page says renews it");
        let library = fs::read_to_string(folder.join(".pemdas/library/pemdas/v1.ncl")).unwrap();
        assert!(library.contains("Blueprint"));
        let main = fs::read_to_string(folder.join("main.ncl")).unwrap();
        assert!(!main.contains('@') && main.contains(&format!("name = \"my-{template}\"")), "{main}");
        cluster().kubectl(&["apply", "--server-side", "-k", &path]).unwrap();
        let label = ["get", "configmap", "-l", "pemdas.dev/blueprint", "-o", "name"];
        let found = cluster().kubectl(&label).unwrap();
        assert!(found.contains(&format!("configmap/my-{template}")), "{found}");
    }
}

#[test]
fn what_is_there_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("shop");
    let path = folder.to_string_lossy().into_owned();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("README.md"), "mine").unwrap();
    let (status, said) = ended(&["init", &path]);
    assert_eq!(status, 2);
    assert!(said.contains("README.md is there already"), "{said}");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["README.md"]);
    // What is beside a new blueprint is nobody's business.
    fs::remove_file(folder.join("README.md")).unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    pemdas("init", &folder, &[]);
    assert_eq!(fs::read_to_string(folder.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn a_directory_without_a_name_needs_one() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("My Shop");
    let path = folder.to_string_lossy().into_owned();
    let (status, said) = ended(&["init", &path]);
    assert_eq!(status, 2);
    assert!(said.contains("gives no name for a blueprint") && said.contains("--name gives one"), "{said}");
    assert!(!folder.exists());
    pemdas("init", &folder, &["--name", "shop", "--kind", "Store"]);
    let main = fs::read_to_string(Path::new(&folder).join("main.ncl")).unwrap();
    assert!(main.contains("kinds.Store") && main.contains("name = \"shop\""), "{main}");
}
