//! Runs a program and writes down what it enters.

use std::{
    collections::BTreeSet,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    Error,
    functions::Functions,
    list::{self, Part},
    tracee::Tracee,
};

/// What comes before that is the start: flags, certificates, discovery, the first blueprint, and the first instance of the benchmark.
const START: Duration = Duration::from_secs(4);
/// How often the list is written if it has grown: nobody says when the end has come.
const WRITE: Duration = Duration::from_secs(1);
/// Between two looks at whether a breakpoint was met.
const LOOK: Duration = Duration::from_micros(100);

pub(crate) fn trace(part: Part, list: &Path, program: &str, arguments: &[String]) -> Result<(), Error> {
    let functions = Functions::of(Path::new(program))?;
    let mut child = Command::new(program).args(arguments).spawn()?;
    let began = Instant::now();
    if part == Part::Work {
        std::thread::sleep(START);
    }
    if child.try_wait()?.is_some() {
        return Err("it ended before its start was over".into());
    }
    let mut tracee = Tracee::attach(i32::try_from(child.id())?, functions.addresses())?;
    let (mut met, mut written, mut last) = (BTreeSet::new(), 0, Instant::now());
    let there: BTreeSet<&str> = functions.all_names().collect();
    let add = |met: &BTreeSet<u64>| {
        let names = met.iter().flat_map(|it| functions.names(*it)).collect();
        let known = std::fs::read_to_string(list).unwrap_or_default();
        std::fs::write(list, list::with(&known, part, names, |it| there.contains(it)))
    };
    let mut open = true;
    while tracee.look(&mut met)? {
        let over = part == Part::Start && began.elapsed() >= START;
        if open && (over || (met.len() > written && last.elapsed() > WRITE)) {
            (written, last, open) = (met.len(), Instant::now(), !over);
            add(&met)?;
        }
        std::thread::sleep(LOOK);
    }
    if open {
        add(&met)?;
    }
    Ok(())
}
