use std::fs;

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
fn a_blueprint_is_its_main_file_and_what_that_mentions() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("main.ncl", "import \"parts/a.ncl\"");
    write("parts/a.ncl", "import \"data.json\"");
    write("parts/data.json", "{}");
    write("parts/unused.ncl", "{}");
    write("README.md", "about a.ncl");
    write(".hidden/a.ncl", "{}");
    let given = folder::directory(dir.path());
    assert_eq!(given.files.keys().collect::<Vec<_>>(), ["main.ncl", "parts/a.ncl", "parts/data.json"]);
    assert!(given.diagnostics.is_empty() && !given.unreadable);
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
