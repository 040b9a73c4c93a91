//! What the deep tier consists of.

/// A few tests of one program, in as many rounds as all of it takes.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// PACKAGE:PROGRAM.
    pub(crate) program: &'static str,
    /// The names of tests, or of modules if they end in `::`.
    pub(crate) tests: &'static [&'static str],
    pub(crate) rounds: u64,
}

pub(crate) const JOBS: &[Job] = &[Job {
    name: "laws",
    about: "every law of the engine, over generated blueprints",
    program: "pemdas-core:lib",
    tests: &["explore::"],
    rounds: 20,
}];
