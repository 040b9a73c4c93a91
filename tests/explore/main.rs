//! The repository's examples in the abstract world: every property of the engine, on blueprints that people would run.
//!
//! Each sample of each example is an instance. Its functions are evaluated by Nickel, once for each question; the
//! controllers of built-in kinds are played, and so are those of the examples' own kinds. A failing walk prints one line that
//! replays it. The deep tier walks further, and changes more of each sample.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod nickel;
mod samples;

use pemdas_core::explore::LAWS;

macro_rules! over_the_examples {
    ($($law:ident,)*) => {
        $(#[test]
        fn $law() {
            let (_, law) = LAWS.iter().find(|(name, _)| *name == stringify!($law)).expect("a law");
            for subject in samples::all() {
                law(&subject, 1);
            }
        })*
    };
}
pemdas_core::each_law!(over_the_examples);

/// Every folder of `examples` is walked, with every sample that is a root; a change of one at least is found.
#[test]
fn every_example_is_there_and_can_change() {
    let subjects = samples::all();
    let folders: std::collections::BTreeSet<_> =
        subjects.iter().map(|it| it.name.split(':').next().unwrap().to_owned()).collect();
    let wanted: std::collections::BTreeSet<_> =
        samples::folders().iter().map(|it| it.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(folders, wanted);
    for folder in &folders {
        let changes = subjects.iter().any(|it| it.name.starts_with(folder.as_str()) && it.roots.len() > 1);
        assert!(changes, "{folder}: no change of it is allowed");
    }
    for subject in &subjects {
        assert!(!subject.roots.is_empty(), "{}: it never becomes ready", subject.name);
    }
}
