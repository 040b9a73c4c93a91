//! The table of `docs/design/mutants.md`: for each bug the one run that notices it.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use pemdas_kube::mutation::Mutation;

use crate::trial::{Fault, faults::Faults};

/// What stands in the table for no fault at all.
const NO_FAULT: &str = "none";

/// What notices a bug.
pub(super) struct Row {
    pub(super) mutation: Mutation,
    pub(super) scenario: String,
    /// The class of what is done to the run.
    pub(super) class: String,
    /// The run itself. None where somebody wrote only the class: then it is searched for.
    pub(super) run: Option<Faults>,
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design/mutants.md")
}

/// How the row of a bug begins.
fn begins(mutation: Mutation) -> String {
    format!("| `{mutation:?}` | {} | ", mutation.sentence())
}

/// The rows of the table, and the bugs that nothing notices.
pub(super) fn rows() -> (Vec<Row>, Vec<Mutation>) {
    let table = std::fs::read_to_string(page()).unwrap();
    let (mut rows, mut unnoticed) = (Vec::new(), Vec::new());
    for mutation in Mutation::ALL.iter().copied() {
        let start = begins(mutation);
        let line = table.lines().find_map(|it| it.strip_prefix(&start));
        let line = line.unwrap_or_else(|| panic!("the page has no row that begins with {start}"));
        let cells: Vec<&str> = line.trim_end_matches(" |").split(" | ").collect();
        match cells[..] {
            [scenario, under] => {
                let run = run_of(under);
                let class = run.as_ref().map_or_else(|| under.to_owned(), class);
                rows.push(Row { mutation, scenario: scenario.to_owned(), class, run });
            }
            _ => unnoticed.push(mutation),
        }
    }
    (rows, unnoticed)
}

/// The class of what is done to a run.
pub(super) fn class(faults: &Faults) -> String {
    match faults.first() {
        None => NO_FAULT.to_owned(),
        Some((_, Fault::Gap(_))) => "gap".to_owned(),
        Some((_, fault)) => fault.to_string(),
    }
}

fn run_of(under: &str) -> Option<Faults> {
    if under == NO_FAULT {
        return Some(Vec::new());
    }
    let (number, fault) = under.split_once(':')?;
    Some(vec![(number.parse().unwrap(), fault.parse().unwrap())])
}

/// The row of a bug.
pub(super) fn row(mutation: Mutation, scenario: &str, faults: &Faults) -> String {
    let mut under = String::new();
    match faults.first() {
        None => under.push_str(NO_FAULT),
        Some((number, fault)) => write!(under, "{number}:{fault}").unwrap(),
    }
    format!("{}{scenario} | {under} |", begins(mutation))
}

/// Writes rows into the page, if that is asked for; whether it was.
pub(super) fn renewed(rows: &[(Mutation, String)]) -> bool {
    if std::env::var_os("PEMDAS_RENEW").is_none() {
        return false;
    }
    let table = std::fs::read_to_string(page()).unwrap();
    let line = |line: &str| {
        let new = rows.iter().find(|(mutation, _)| line.starts_with(&begins(*mutation)));
        new.map_or_else(|| line.to_owned(), |(_, row)| row.clone()) + "\n"
    };
    std::fs::write(page(), table.lines().map(line).collect::<String>()).unwrap();
    true
}
