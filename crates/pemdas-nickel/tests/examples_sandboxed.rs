//! The examples in real workers, within the usual limits: read from disk, outlined in a worker exactly as in process.

#![allow(clippy::unwrap_used, reason = "the helpers of a test are the test")]

mod workers;

use std::path::Path;

use pemdas_nickel::{InProcess, Limits, outline, read_blueprints};

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
        let loaded = read_blueprints(&path, &limits).unwrap();
        let sources = &loaded[0].sources;
        let local = outline::of(&InProcess::load(sources, &limits).unwrap(), sources);
        let sandboxed = outline::of(&pool.load(&loaded[0].title, sources).unwrap(), sources);
        assert_eq!(format!("{sandboxed:?}"), format!("{local:?}"), "{}", path.display());
        assert!(sandboxed.is_sound(), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 7, "only {seen} examples");
    assert_eq!(pool.stats().lost, 0);
}
