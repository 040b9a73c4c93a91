//! Runs a program and writes down what it enters.

use std::{
    collections::BTreeSet,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{Error, functions::Functions, tracee::Tracee};

/// What comes before that is the start: flags, certificates, discovery, the first blueprint, and the first instance of the benchmark.
const START: Duration = Duration::from_secs(4);
/// How often the list is written if it has grown: nobody says when the end has come.
const WRITE: Duration = Duration::from_secs(1);
/// Between two looks at whether a breakpoint was met.
const LOOK: Duration = Duration::from_micros(100);
/// Longer names are of what is instantiated with much: a list with them would be twice as long.
const LONGEST: usize = 300;

pub(crate) fn trace(list: &Path, program: &str, arguments: &[String]) -> Result<(), Error> {
    let functions = Functions::of(Path::new(program))?;
    let mut child = Command::new(program).args(arguments).spawn()?;
    std::thread::sleep(START);
    if child.try_wait()?.is_some() {
        return Err("it ended before its start was over".into());
    }
    let mut tracee = Tracee::attach(i32::try_from(child.id())?, functions.addresses())?;
    let (mut met, mut written, mut last) = (BTreeSet::new(), 0, Instant::now());
    while tracee.look(&mut met)? {
        if met.len() > written && last.elapsed() > WRITE {
            (written, last) = (met.len(), Instant::now());
            write(list, &functions, &met)?;
        }
        std::thread::sleep(LOOK);
    }
    write(list, &functions, &met)
}

/// Adds to a list what was met. What begins with `#` stays on top.
fn write(list: &Path, functions: &Functions, met: &BTreeSet<u64>) -> Result<(), Error> {
    let known = std::fs::read_to_string(list).unwrap_or_default();
    let (about, names): (Vec<&str>, Vec<&str>) = known.lines().partition(|it| it.starts_with('#'));
    let new = met.iter().flat_map(|it| functions.names(*it)).filter(|it| it.len() <= LONGEST);
    let names: BTreeSet<&str> = names.into_iter().chain(new).collect();
    let lines: Vec<&str> = about.into_iter().chain(names).collect();
    Ok(std::fs::write(list, lines.join("\n") + "\n")?)
}
