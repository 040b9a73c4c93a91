//! What the deep tier has done: written down after every unit, read by the next run of the same commit.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::jobs::Job;

/// How long a unit is expected to take of which nothing is known.
const UNKNOWN: f64 = 120.0;

/// How one unit ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) passed: bool,
    pub(super) seconds: f64,
    /// How much of what.
    pub(super) tried: Vec<(u64, String)>,
    /// How a failure is shown again.
    pub(super) replay: Vec<String>,
}

pub(super) struct Record {
    file: PathBuf,
    commit: String,
    units: BTreeMap<(String, u64), Outcome>,
}

impl Record {
    /// Takes up what an earlier run of this commit wrote down. A tree with changes has no commit: it begins from the start.
    pub(super) fn open(folder: &Path, fresh: bool) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;
        let (file, commit) = (folder.join("record"), commit());
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut lines = text.lines();
        let same = lines.next() == Some(&commit) && !commit.ends_with("changes");
        let units = if same && !fresh { lines.filter_map(unit_of).collect() } else { BTreeMap::new() };
        let record = Self { file, commit, units };
        let mut whole = format!("{}\n", record.commit);
        for ((job, round), outcome) in &record.units {
            whole.push_str(&line_of(job, *round, outcome));
        }
        fs::write(&record.file, whole).map_err(|cause| format!("{}: {cause}", record.file.display()))?;
        Ok(record)
    }

    pub(super) fn has(&self, job: &str, round: u64) -> bool {
        self.units.contains_key(&(job.to_owned(), round))
    }

    pub(super) fn add(&mut self, job: &str, round: u64, outcome: Outcome) -> Result<(), String> {
        let line = line_of(job, round, &outcome);
        self.units.insert((job.to_owned(), round), outcome);
        let told = |cause: std::io::Error| format!("{}: {cause}", self.file.display());
        let mut file = fs::File::options().append(true).open(&self.file).map_err(told)?;
        file.write_all(line.as_bytes()).map_err(told)
    }

    /// How long a round of this job takes, as far as is known.
    pub(super) fn expected(&self, job: &str) -> Duration {
        let known = self.units.iter().filter(|((name, _), _)| name == job).map(|(_, it)| it.seconds);
        Duration::from_secs_f64(known.reduce(f64::max).unwrap_or(UNKNOWN))
    }

    pub(super) fn failures(&self) -> usize {
        self.units.values().filter(|it| !it.passed).count()
    }

    /// The report for people.
    pub(super) fn report(&self, jobs: &[&Job], took: Duration) -> String {
        let mut text =
            format!("# Deep run\n\nCommit {}. This run took {} min.\n\n", self.commit, took.as_secs() / 60);
        text.push_str("| job | rounds | tried | time | violations |\n| --- | --- | --- | --- | --- |\n");
        let mut undone = 0;
        for job in jobs {
            let done: Vec<_> = self.units.iter().filter(|((name, _), _)| *name == job.name).collect();
            if done.is_empty() {
                undone += 1;
                continue;
            }
            let mut tried: BTreeMap<&str, u64> = BTreeMap::new();
            for (_, outcome) in &done {
                for (count, what) in &outcome.tried {
                    *tried.entry(what).or_default() += count;
                }
            }
            let tried: Vec<_> = tried.iter().map(|(what, count)| format!("{count} {what}")).collect();
            let seconds: f64 = done.iter().map(|(_, it)| it.seconds).sum();
            let violations = done.iter().filter(|(_, it)| !it.passed).count();
            let _ = writeln!(
                text,
                "| {} | {} of {} | {} | {:.0} s | {violations} |",
                job.name,
                done.len(),
                job.rounds,
                tried.join(", "),
                seconds
            );
        }
        if undone > 0 {
            let _ = writeln!(text, "\nThere was no time for {undone} more jobs.");
        }
        for ((job, round), outcome) in self.units.iter().filter(|(_, it)| !it.passed) {
            let _ = writeln!(text, "\n{job}, round {round}, failed. To see it again:\n\n```console");
            for command in &outcome.replay {
                let _ = writeln!(text, "$ {command}");
            }
            text.push_str("```\n");
        }
        text
    }
}

/// The commit that is tested, and whether the tree differs from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        done.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned()).unwrap_or_default()
    };
    let changed = !git(&["status", "--porcelain"]).is_empty();
    format!("{}{}", git(&["rev-parse", "HEAD"]), if changed { " with changes" } else { "" })
}

/// Fields between tabs; lists between vertical bars.
fn line_of(job: &str, round: u64, outcome: &Outcome) -> String {
    let tried: Vec<_> = outcome.tried.iter().map(|(count, what)| format!("{count} {what}")).collect();
    let plain = |text: String| text.replace(['\t', '\n'], " ");
    let end = if outcome.passed { "ok" } else { "failed" };
    format!(
        "{job}\t{round}\t{end}\t{:.3}\t{}\t{}\n",
        outcome.seconds,
        plain(tried.join("|")),
        plain(outcome.replay.join("|"))
    )
}

fn unit_of(line: &str) -> Option<((String, u64), Outcome)> {
    let mut fields = line.split('\t');
    let (job, round, end, seconds) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let tried = fields.next()?.split('|').filter_map(|it| it.split_once(' '));
    let tried = tried.filter_map(|(count, what)| Some((count.parse().ok()?, what.to_owned()))).collect();
    let replay = fields.next()?.split('|').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let outcome = Outcome { passed: end == "ok", seconds: seconds.parse().ok()?, tried, replay };
    Some(((job.to_owned(), round.parse().ok()?), outcome))
}

#[cfg(test)]
mod tests {
    use super::{Outcome, line_of, unit_of};

    #[test]
    fn what_is_written_down_is_read_again() {
        let outcome = Outcome {
            passed: false,
            seconds: 1.5,
            tried: vec![(3, "walks".to_owned()), (4, "long runs".to_owned())],
            replay: vec!["cargo test -- --exact a::b".to_owned()],
        };
        let line = line_of("laws", 7, &outcome);
        assert_eq!(unit_of(line.trim_end_matches('\n')), Some((("laws".to_owned(), 7), outcome)));
        assert_eq!(unit_of("half a li"), None, "a line that was cut off is no unit");
    }
}
