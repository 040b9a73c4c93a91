//! Running one test program and reading what it says.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::programs::{Built, Program};

/// A program that runs longer hangs: it is ended, and has failed.
const TOO_LONG: Duration = Duration::from_secs(30 * 60);

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Passed,
    Failed,
    Ignored,
}

/// A test that has ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) end: End,
    pub(crate) seconds: f64,
}

/// A test program that has ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) title: String,
    pub(crate) tests: Vec<Test>,
    pub(crate) seconds: f64,
    pub(crate) passed: bool,
    /// Everything that it printed.
    pub(crate) log: PathBuf,
}

impl Run {
    pub(crate) fn count(&self, end: End) -> usize {
        self.tests.iter().filter(|it| it.end == end).count()
    }

    pub(crate) fn output(&self) -> String {
        std::fs::read(&self.log).map(|it| String::from_utf8_lossy(&it).into_owned()).unwrap_or_default()
    }
}

/// What a run of a program is given besides its name.
#[derive(Debug, Default, Clone)]
pub(crate) struct Options {
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) threads: Option<usize>,
}

/// The command that runs a test program as cargo does, and that says how long each test takes.
pub(crate) fn command(built: &Built, program: &Program, options: &Options) -> Command {
    let mut command = Command::new(&program.executable);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    // The time of each test is an unstable option of the test harness. It looks at this variable when it runs.
    command.env("RUSTC_BOOTSTRAP", "1").args(["-Z", "unstable-options", "--report-time"]);
    command.args(&options.arguments).envs(options.environment.iter().cloned());
    if let Some(testbed) = &built.testbed {
        command.env("PEMDAS_TESTBED", testbed);
    }
    if let Some(threads) = options.threads {
        command.arg(format!("--test-threads={threads}"));
    }
    command
}

/// Runs a program to its end. What it prints goes to the file.
pub(crate) fn run(built: &Built, program: &Program, options: &Options, log: &Path) -> Result<Run, String> {
    let told = |cause: std::io::Error| format!("{} could not be run: {cause}", program.title());
    let file = File::create(log).map_err(|cause| format!("{}: {cause}", log.display()))?;
    let started = Instant::now();
    let mut child = command(built, program, options)
        .stdin(Stdio::null())
        .stderr(file.try_clone().map_err(told)?)
        .stdout(file)
        .spawn()
        .map_err(told)?;
    let passed = wait(&mut child, started).map_err(told)?;
    let seconds = started.elapsed().as_secs_f64();
    let mut run = Run { title: program.title(), tests: Vec::new(), seconds, passed, log: log.to_owned() };
    run.tests = read(&run.output());
    Ok(run)
}

fn wait(child: &mut Child, started: Instant) -> std::io::Result<bool> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if started.elapsed() > TOO_LONG {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The tests that a program says it has run.
pub(crate) fn read(output: &str) -> Vec<Test> {
    output.lines().filter_map(test_of).collect()
}

/// `test a::b ... ok <1.234s>`. A test may have written into the same line before its result.
fn test_of(line: &str) -> Option<Test> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name).to_owned();
    let (result, time) = match result.rsplit_once(" <") {
        Some((result, time)) => (result, time.strip_suffix("s>").and_then(|it| it.parse().ok())),
        None => (result, None),
    };
    let end = if result.ends_with("ok") {
        End::Passed
    } else if result.ends_with("FAILED") {
        End::Failed
    } else if result.starts_with("ignored") {
        End::Ignored
    } else {
        return None;
    };
    Some(Test { name, end, seconds: time.unwrap_or(0.0) })
}

/// What a program said about the tests that failed.
pub(crate) fn failures(output: &str) -> &str {
    let start = output.find("\nfailures:\n").unwrap_or(0);
    let rest = &output[start..];
    // The list of names that follows is repeated at the very end of a run.
    rest.rfind("\nfailures:\n").filter(|it| *it > 0).map_or(rest, |end| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::{End, failures, read};

    #[test]
    fn what_the_harness_prints_is_read() {
        let output = "running 4 tests\ntest a::b ... ok <1.250s>\ntest c - should panic ... ok <0.000s>\n\
            test d has been running for over 60 seconds\ntest d ... FAILED <61.000s>\n\
            test e ... ignored, deep tier\nnoise\n";
        let tests = read(output);
        let ends: Vec<_> = tests.iter().map(|it| (it.name.as_str(), it.end, it.seconds)).collect();
        assert_eq!(
            ends,
            [
                ("a::b", End::Passed, 1.25),
                ("c", End::Passed, 0.0),
                ("d", End::Failed, 61.0),
                ("e", End::Ignored, 0.0)
            ]
        );
    }

    #[test]
    fn failures_are_shown_once() {
        let output = "test d ... FAILED\n\nfailures:\n\n---- d stdout ----\nboom\n\nfailures:\n    d\n\ntest result: FAILED.";
        assert_eq!(failures(output).trim(), "failures:\n\n---- d stdout ----\nboom");
    }
}
