//! The worked comparisons: what was redone as a blueprint passes its scenarios, and the numbers on the pages are those of the files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A blueprint without a complaint, whose scenarios pass.
fn passes(folder: &str) {
    let path = root().join("docs/comparisons").join(folder);
    for arguments in [&["check", "--deny-warnings"][..], &["test"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_pemdas"))
            .args(arguments)
            .arg(&path)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn tenants_of_kro() {
    passes("kro-tenants");
}

#[test]
fn zookeeper_of_kudo() {
    passes("kudo-zookeeper");
}

#[test]
fn volumes_of_kopf() {
    passes("kopf-volumes");
}

#[test]
fn daemon_job_of_metacontroller() {
    passes("metacontroller-daemon-job");
}

#[test]
fn no_comparison_is_left_out() {
    let folders = fs::read_dir(root().join("docs/comparisons")).unwrap();
    let with_blueprints = folders.filter(|it| it.as_ref().unwrap().path().join("main.ncl").is_file());
    assert_eq!(with_blueprints.count(), 4, "each has a test above");
}

/// The lines of a file that say something.
fn lines(path: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(path)).unwrap();
    let says = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//") && !line.starts_with('#') || line.starts_with("#[")
    };
    text.lines().filter(says).map(str::to_owned).collect()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// How many lines begin so, with what is indented below them.
fn blocks(lines: &[String], begins: &str) -> usize {
    let mut count = 0;
    let mut rest = lines.iter().peekable();
    while let Some(line) = rest.next() {
        if !line.trim_start().starts_with(begins) {
            continue;
        }
        count += 1;
        while rest.peek().is_some_and(|it| indentation(it) > indentation(line)) {
            count += 1;
            rest.next();
        }
        // The brace that closes it.
        if rest
            .peek()
            .is_some_and(|it| it.trim_start().starts_with('}') && indentation(it) == indentation(line))
        {
            count += 1;
            rest.next();
        }
    }
    count
}

#[test]
fn the_lines_on_the_page_are_those_of_the_files() {
    let main = lines("examples/postgres/main.ncl");
    let templates = blocks(&main, "template = ") + lines("examples/postgres/jobs.ncl").len();
    let kinds = blocks(&main, "kinds.");
    let all = main.len() + lines("examples/postgres/jobs.ncl").len();

    let by_hand = |names: &[&str]| -> usize {
        names.iter().map(|it| lines(&format!("docs/comparisons/postgres-by-hand/{it}")).len()).sum()
    };
    let [made, types, rights] =
        [&["src/manifests.rs"][..], &["src/kinds.rs", "crds.yaml"], &["rbac.yaml"]].map(by_hand);
    let happens = by_hand(&[
        "src/main.rs",
        "src/lib.rs",
        "src/error.rs",
        "src/cluster.rs",
        "src/job.rs",
        "src/instance.rs",
        "src/backup.rs",
    ]);
    let rows = [
        format!("| what is made: templates of objects | {templates} | {made} |"),
        format!("| kinds: types, CRDs, defaults, rules | {kinds} | {types} |"),
        format!(
            "| what happens when: order, waiting, once, deletion, status | {} | {happens} |",
            all - templates - kinds
        ),
        format!("| rights | 0 (`pemdas rbac`) | {rights} |"),
        format!("| in all | {all} | {} |", made + types + happens + rights),
    ];
    let page = fs::read_to_string(root().join("docs/comparisons/postgres-by-hand/README.md")).unwrap();
    let table = rows.join("\n");
    assert!(page.contains(&table), "the page should have\n{table}");
    let files = fs::read_dir(root().join("docs/comparisons/postgres-by-hand/src")).unwrap().count();
    assert_eq!(files, 9, "each file of the operator is counted");
}
