//! The repository's examples in the abstract world: every property of the engine, on blueprints that people would run.
//!
//! Each sample of each example is an instance. Its functions are evaluated by Nickel, once for each question; the
//! controllers of built-in kinds are played, and so are those of the examples' own kinds. A failing walk prints one line that
//! replays it; `PEMDAS_EXPLORE=100` walks a hundred times as far.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod samples;

use pemdas_core::explore::LAWS;

macro_rules! over_the_examples {
    ($($law:ident,)*) => {
        $(#[test]
        #[ignore = "the examples went on, and what is played for them has not followed yet"]
        fn $law() {
            let (_, law) = LAWS.iter().find(|(name, _)| *name == stringify!($law)).expect("a law");
            for subject in samples::all() {
                law(&subject, 1);
            }
        })*
    };
}
pemdas_core::each_law!(over_the_examples);

/// Every folder of `examples` is walked, with every sample that is a root; a change of each is found.
#[test]
fn every_example_is_there_and_can_change() {
    let subjects = samples::all();
    let folders: std::collections::BTreeSet<_> =
        subjects.iter().map(|it| it.name.split(':').next().unwrap().to_owned()).collect();
    let wanted: std::collections::BTreeSet<_> =
        samples::folders().iter().map(|it| it.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(folders, wanted);
    for subject in &subjects {
        assert!(subject.roots.len() > 1, "{}: no change of it is allowed", subject.name);
    }
}
