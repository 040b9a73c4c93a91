//! Where the time of a run went: by step, by test program, and by test.

use crate::harness::{End, Run};

/// How many of the slowest tests are shown.
const SLOWEST: usize = 20;

/// How long each step took.
#[derive(Default)]
pub(crate) struct Times {
    pub(crate) steps: Vec<(String, f64)>,
    pub(crate) runs: Vec<Run>,
}

impl Times {
    /// The report for people, and what passed and failed.
    pub(crate) fn report(&self) -> String {
        let mut lines = vec!["==> where the time went".to_owned()];
        let longest_first = |mut rows: Vec<(String, f64)>, most: usize| {
            rows.sort_by(|a, b| b.1.total_cmp(&a.1));
            rows.truncate(most);
            rows
        };
        let mut table = |title: &str, rows: Vec<(String, f64)>| {
            if !rows.is_empty() {
                lines.push(format!("    {title}"));
                lines.extend(rows.iter().map(|(name, seconds)| format!("    {seconds:>8.1} s  {name}")));
            }
        };
        table("steps", self.steps.clone());
        let programs = self.runs.iter().map(|it| (it.title.clone(), it.seconds)).collect();
        table("test programs, two at a time", longest_first(programs, usize::MAX));
        let tests = self.runs.iter().flat_map(|run| {
            run.tests.iter().map(move |test| (format!("{} {}", run.title, test.name), test.seconds))
        });
        table(&format!("the {SLOWEST} slowest tests"), longest_first(tests.collect(), SLOWEST));
        lines.join("\n")
    }

    /// How many tests there were in all, as other tools read it.
    pub(crate) fn summary(&self) -> String {
        let count = |end| self.runs.iter().map(|run| run.count(end)).sum::<usize>();
        format!(
            "{} passed, {} failed, {} skipped",
            count(End::Passed),
            count(End::Failed),
            count(End::Ignored)
        )
    }

    /// The names of the tests that failed, with the commands that run them again.
    pub(crate) fn failed(&self) -> Vec<String> {
        let mut failed = Vec::new();
        for run in self.runs.iter().filter(|it| !it.passed) {
            let names: Vec<_> = run.tests.iter().filter(|it| it.end == End::Failed).collect();
            if names.is_empty() {
                failed.push(format!("{} ended badly; see {}", run.title, run.log.display()));
            }
            let target = target_of(&run.title);
            failed.extend(names.iter().map(|test| format!("cargo test {target} -- --exact {}", test.name)));
        }
        failed
    }
}

/// How cargo names a program.
pub(crate) fn target_of(title: &str) -> String {
    let (package, name) = title.split_once(':').unwrap_or((title, "lib"));
    match name {
        "lib" => format!("-p {package} --lib"),
        "bin" => format!("-p {package} --bin {package}"),
        name => match name.strip_prefix("bin-") {
            Some(bin) => format!("-p {package} --bin {bin}"),
            None => format!("-p {package} --test {name}"),
        },
    }
}
