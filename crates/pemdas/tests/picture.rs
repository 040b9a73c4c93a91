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
