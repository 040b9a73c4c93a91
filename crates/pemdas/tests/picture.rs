//! The README's picture is what `pemdas graph` draws of the example today.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

use std::path::Path;
use std::process::Command;

#[test]
fn the_readmes_picture_is_what_graph_draws() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let drawn = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .args(["graph", "examples/foo-service", "-o", "svg"])
        .current_dir(&root)
        .output()
        .unwrap();
    assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
    let place = root.join("docs/pictures/foo-service.svg");
    if std::env::var_os("PEMDAS_RENEW").is_some() {
        std::fs::write(&place, &drawn.stdout).unwrap();
    }
    let same = std::fs::read(&place).unwrap() == drawn.stdout;
    assert!(same, "the picture is out of date: run this test with PEMDAS_RENEW=1");
}

/// The first block of a language in the README.
fn block(language: &str, with: &str) -> String {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let fence = format!("```{language}\n");
    let blocks = readme.split(&fence).skip(1).filter_map(|it| it.split("```").next());
    blocks.map(str::to_owned).find(|it| it.contains(with)).unwrap()
}

#[test]
fn the_readmes_blueprint_is_right_and_its_graphs_are_drawn_as_shown() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.ncl"), block("nickel", "| Blueprint")).unwrap();
    let said = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pemdas"))
            .args(arguments)
            .current_dir(folder.path())
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    said(&["check", "--deny-warnings"]);
    assert_eq!(said(&["graph"]).trim_end(), block("text", "(Also)").trim_end());
}
