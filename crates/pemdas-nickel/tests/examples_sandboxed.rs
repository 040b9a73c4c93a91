//! The examples in real workers, within the usual limits: read from disk, outlined in a worker exactly as in process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test are the test"
)]

mod reading;
mod workers;

use std::path::Path;

use pemdas_nickel::{InProcess, Limits, outline};

#[test]
fn a_worker_sees_in_every_example_what_the_command_line_sees() {
    // The clock of a slow machine is not what is tested.
    let limits = Limits { millis: 60_000, ..Limits::default() };
    let pool = workers::pool(|config| config.limits = limits.clone());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        let title = path.display().to_string();
        let sources = &reading::sources_of(&path);
        let local = outline::of(&InProcess::load(sources, &limits).unwrap(), sources);
        let sandboxed = outline::of(&pool.load(&title, sources).unwrap(), sources);
        assert_eq!(format!("{sandboxed:?}"), format!("{local:?}"), "{title}");
        assert!(sandboxed.is_sound(), "{title}: {}", reading::shown(&sandboxed.diagnostics, sources));
        seen += 1;
    }
    assert!(seen >= 7, "only {seen} examples");
    assert_eq!(pool.stats().lost, 0);
}
