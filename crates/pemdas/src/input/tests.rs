use std::{fs, os::unix::fs::symlink, path::Path};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Position, folder, manifest, place::position};

#[test]
fn positions_count_characters_from_one() {
    let text = "one\nzwölf ∀x\n";
    assert_eq!(position(text, 0), Position { line: 1, column: 1 });
    assert_eq!(position(text, 4), Position { line: 2, column: 1 });
    let x = u32::try_from(text.find('x').unwrap()).unwrap();
    assert_eq!(position(text, x), Position { line: 2, column: 8 });
    // In the middle of a character, and beyond the end.
    assert_eq!(position(text, x - 1), Position { line: 2, column: 7 });
    assert_eq!(position(text, 9_999), Position { line: 3, column: 1 });
}

#[test]
fn a_blueprint_is_its_main_file_and_what_that_imports() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("main.ncl", "# not parts/mentioned.ncl\nimport \"parts/a.ncl\"");
    write("parts/a.ncl", "import \"data.json\"");
    write("parts/data.json", "{}");
    write("parts/unused.ncl", "{}");
    write("parts/mentioned.ncl", "{}");
    write("README.md", "about a.ncl");
    write(".hidden/a.ncl", "{}");
    let given = folder::directory(dir.path());
    assert_eq!(given.files.keys().collect::<Vec<_>>(), ["main.ncl", "parts/a.ncl", "parts/data.json"]);
    assert!(given.diagnostics.is_empty() && !given.unreadable);
}

#[test]
fn nothing_outside_of_the_directory_is_read() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.ncl"), "\"canary\"").unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("main.ncl"),
        "[import \"link.ncl\", import \"good.ncl\", import \"../up.ncl\"]",
    )
    .unwrap();
    fs::write(dir.path().join("real.ncl"), "1").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.ncl"), dir.path().join("link.ncl")).unwrap();
    // A link within the directory, as in a mounted ConfigMap, is as good as a file.
    std::os::unix::fs::symlink("real.ncl", dir.path().join("good.ncl")).unwrap();
    let given = folder::directory(dir.path());
    assert_eq!(given.files.keys().collect::<Vec<_>>(), ["good.ncl", "main.ncl"]);
    assert_eq!(given.diagnostics.len(), 1);
    assert!(given.diagnostics[0].message.contains("leads out"), "{:?}", given.diagnostics);
    assert!(!format!("{given:?}").contains("canary"));
}

#[test]
fn no_file_is_read_through_a_link_that_leads_out() {
    let outside = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (out, into) = (|name: &str| outside.path().join(name), |name: &str| folder.path().join(name));
    for name in ["main.ncl", "part.ncl", "object.yaml"] {
        fs::write(out(name), "\"canary\"").unwrap();
    }
    let refused = |given: &super::Given, count: usize| {
        assert_eq!(given.diagnostics.len(), count, "{given:?}");
        assert!(given.diagnostics.iter().all(|it| it.message.contains("leads out")), "{given:?}");
        assert!(!format!("{given:?}").contains("canary"));
    };
    // The first file, a file and a folder of it, and a file that was named.
    symlink(out("main.ncl"), into("main.ncl")).unwrap();
    refused(&folder::directory(folder.path()), 1);
    symlink("main.ncl", into("named.ncl")).unwrap();
    refused(&folder::file(&into("named.ncl")), 1);
    fs::remove_file(into("main.ncl")).unwrap();
    symlink(outside.path(), into("parts")).unwrap();
    fs::write(into("main.ncl"), "[import \"parts/part.ncl\", import \"parts/main.ncl\"]").unwrap();
    refused(&folder::directory(folder.path()), 2);
    symlink(out("object.yaml"), into("object.yaml")).unwrap();
    refused(&super::read(&into("object.yaml"))[0], 1);
    // Manifests that are found below a folder.
    let all = |path: &Path| super::manifests(path, &|_| Ok(())).and_then(|it| it[0].text());
    assert!(all(folder.path()).unwrap_err().message.contains("leads out"), "a folder");
    fs::remove_file(into("parts")).unwrap();
    assert!(all(folder.path()).unwrap_err().message.contains("leads out"), "a file");
    // Whoever names a file, or a folder that is a link itself, means what it leads to.
    assert_eq!(all(&into("object.yaml")).unwrap(), "\"canary\"");
    symlink(outside.path(), into("all")).unwrap();
    assert_eq!(all(&into("all")).unwrap(), "\"canary\"");
}

#[test]
fn links_within_a_folder_are_as_good_as_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("..2026/parts")).unwrap();
    fs::write(at("..2026/main.ncl"), "import \"parts/a.ncl\"").unwrap();
    fs::write(at("..2026/parts/a.ncl"), "1").unwrap();
    fs::write(at("..2026/object.yaml"), "a: 1").unwrap();
    // As the kubelet mounts a ConfigMap; and a link by its whole path.
    symlink("..2026", at("..data")).unwrap();
    symlink("..data/main.ncl", at("main.ncl")).unwrap();
    symlink("..data/object.yaml", at("object.yaml")).unwrap();
    symlink(at("..2026/parts"), at("parts")).unwrap();
    let given = folder::directory(folder.path());
    assert_eq!(given.files.keys().collect::<Vec<_>>(), ["main.ncl", "parts/a.ncl"], "{given:?}");
    let found = super::manifests(folder.path(), &|_| Ok(())).unwrap();
    assert_eq!(found.len(), 1, "each once: {found:?}");
    assert_eq!(found[0].text().unwrap(), "a: 1");
}

#[test]
fn what_is_no_file_is_not_waited_for_and_all_together_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let pipe = |name: &str| mknodat(CWD, at(name), FileType::Fifo, Mode::RUSR, 0).unwrap();
    pipe("pipe.ncl");
    fs::write(at("main.ncl"), "import \"pipe.ncl\"").unwrap();
    let given = folder::directory(folder.path());
    assert!(given.diagnostics[0].message.ends_with("pipe.ncl is not a file"), "{given:?}");
    pipe("pipe.yaml");
    let found = super::manifests(folder.path(), &|_| Ok(())).unwrap();
    assert!(found[0].text().unwrap_err().message.ends_with("pipe.yaml is not a file"));
    let within = super::Within::new(folder.path(), 10).unwrap();
    for (name, text) in [("a", "12345678"), ("b", "123")] {
        fs::write(at(name), text).unwrap();
    }
    assert_eq!(within.text(&at("a")).unwrap().as_deref(), Some("12345678"));
    assert!(within.text(&at("b")).unwrap_err().message.contains("together"));
    assert_eq!(within.text(&at("c")).unwrap(), None);
}

#[test]
fn a_file_of_another_name_is_the_main_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("other.ncl"), "1").unwrap();
    fs::write(dir.path().join("main.ncl"), "2").unwrap();
    let given = folder::file(&dir.path().join("other.ncl"));
    assert_eq!(given.files.get("main.ncl").map(String::as_str), Some("1"));
    assert!(given.places["main.ncl"].path.ends_with("other.ncl"));
}

#[test]
fn a_manifest_may_hold_several_blueprints() {
    let text = "
apiVersion: v1
kind: ConfigMap
metadata: { name: one }
data:
  main.ncl: |
    first

    third
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: { name: two }
  data: { main.ncl: \"quoted\\ntext\" }
- apiVersion: v1
  kind: Secret
";
    let given = manifest::blueprints("all.yaml", text);
    let titles: Vec<_> = given.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["all.yaml (ConfigMap one)", "all.yaml (ConfigMap two)"]);
    let (place, source) = (&given[0].places["main.ncl"], &given[0].files["main.ncl"]);
    let third = u32::try_from(source.find("third").unwrap()).unwrap();
    assert_eq!(place.position(source, third), Some(Position { line: 9, column: 5 }));
    // A text in quotes is not written line by line: its places are not known.
    assert_eq!(given[1].places["main.ncl"].position(&given[1].files["main.ncl"], 0), None);
}

#[test]
fn manifests_and_nickel_are_told_apart() {
    assert!(manifest::looks_like_one("# x\napiVersion: v1\nkind: ConfigMap\n"));
    assert!(manifest::looks_like_one("{\n  \"apiVersion\": \"v1\",\n"));
    assert!(!manifest::looks_like_one("{ apiVersion = \"v1\", kind = \"ConfigMap\" }"));
}
