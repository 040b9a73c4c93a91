//! Keeps the directions between the crates and the invariant of each, so that ARCHITECTURE.md stays true.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What each crate may depend on within the workspace. A new crate must be given its place here.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("pemdas-tier", &[]),
    ("pemdas-core", &["pemdas-tier"]),
    ("pemdas-nickel", &["pemdas-core"]),
    ("pemdas-kube", &["pemdas-core"]),
    ("pemdas-sim", &["pemdas-core"]),
    ("pemdas-box", &["pemdas-sim"]),
    ("pemdas", &["pemdas-box", "pemdas-core", "pemdas-kube", "pemdas-nickel", "pemdas-sim"]),
    ("pemdas-testbed", &[]),
    ("pemdas-bench", &["pemdas-testbed"]),
    ("postgres-by-hand", &[]),
    ("kube-types-gen", &["pemdas-core"]),
    ("xtask", &[]),
    (
        "pemdas-tests",
        &[
            "pemdas-box",
            "pemdas-core",
            "pemdas-kube",
            "pemdas-nickel",
            "pemdas-sim",
            "pemdas-testbed",
            "pemdas-tier",
            "postgres-by-hand",
        ],
    ),
];

/// What only one crate (or few) may name directly: everything else meets it through that crate.
const KEPT_WITHIN: &[(&str, &[&str])] = &[
    ("nickel-lang", &["pemdas-nickel"]),
    ("kube", &["pemdas-bench", "pemdas-kube", "pemdas-tests", "postgres-by-hand"]),
    ("k8s-openapi", &["pemdas-bench", "pemdas-kube", "pemdas-tests", "postgres-by-hand"]),
    ("clap", &["pemdas", "pemdas-testbed"]),
    ("anyhow", &["kube-types-gen", "pemdas"]),
];

/// What must not stand even behind the core's dependencies: time, chance, threads of execution, the outside world.
const FOREIGN_TO_CORE: &[&str] = &[
    "async",
    "chrono",
    "futures",
    "getrandom",
    "hyper",
    "k8s-openapi",
    "kube",
    "log",
    "mio",
    "nickel",
    "rand",
    "reqwest",
    "rustix",
    "time",
    "tokio",
    "tracing",
    "ureq",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The packages of the workspace with everything behind them, as cargo sees them.
struct Workspace {
    metadata: Value,
}

impl Workspace {
    fn load() -> Self {
        let about = Command::new("rustc").arg("-vV").output().unwrap().stdout;
        let about = String::from_utf8(about).unwrap();
        let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        // Only for this platform: what others need was never downloaded.
        let done = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version=1", "--locked", "--filter-platform", host])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self { metadata: serde_json::from_slice(&done.stdout).unwrap() }
    }

    fn members(&self) -> Vec<&Value> {
        let members = self.metadata["workspace_members"].as_array().unwrap();
        self.packages().filter(|package| members.contains(&package["id"])).collect()
    }

    fn packages(&self) -> impl Iterator<Item = &Value> {
        self.metadata["packages"].as_array().unwrap().iter()
    }

    /// The names of all packages that the product of `name` is made of, found by following normal dependencies.
    fn behind(&self, name: &str) -> BTreeSet<String> {
        let nodes: BTreeMap<&str, &Value> = self.metadata["resolve"]["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| (text(&node["id"]), node))
            .collect();
        let names: BTreeMap<&str, &str> =
            self.packages().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
        let start = names.iter().find(|(_, known)| **known == name).map(|(id, _)| *id).unwrap();
        let mut found = BTreeSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            for dependency in nodes[id]["deps"].as_array().unwrap() {
                let kinds = dependency["dep_kinds"].as_array().unwrap();
                let target = text(&dependency["pkg"]);
                if kinds.iter().any(|kind| kind["kind"].is_null()) && found.insert(names[target].to_owned()) {
                    open.push(target);
                }
            }
        }
        found
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn dependencies(package: &Value) -> Vec<(&str, &str)> {
    let all = package["dependencies"].as_array().unwrap();
    all.iter().map(|it| (text(&it["name"]), it["kind"].as_str().unwrap_or("normal"))).collect()
}

/// What is wrong with the dependencies of one crate.
fn violations(package: &Value, members: &BTreeSet<&str>) -> Vec<String> {
    let name = text(&package["name"]);
    let Some((_, allowed)) = DIRECTIONS.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{name} has no place in the directions between the crates")];
    };
    let mut wrong = Vec::new();
    for (dependency, kind) in dependencies(package) {
        let for_tests = kind == "dev" && ["pemdas-testbed", "pemdas-tier"].contains(&dependency);
        if members.contains(dependency) && !allowed.contains(&dependency) && !for_tests {
            wrong.push(format!("{name} must not depend on {dependency}"));
        }
        for (kept, within) in KEPT_WITHIN {
            let meant = dependency == *kept
                || dependency.strip_prefix(kept).is_some_and(|rest| rest.starts_with('-'));
            if meant && !members.contains(dependency) && !within.contains(&name) {
                wrong.push(format!("{name} must not name {dependency}: only {} may", within.join(", ")));
            }
        }
    }
    wrong
}

#[test]
fn the_crates_depend_on_each_other_only_in_the_directions_of_the_architecture() {
    let workspace = Workspace::load();
    let members = workspace.members();
    let names: BTreeSet<&str> = members.iter().map(|package| text(&package["name"])).collect();
    let wrong: Vec<String> = members.iter().flat_map(|package| violations(package, &names)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (name, _) in DIRECTIONS {
        assert!(names.contains(name), "{name} has a place in the directions and does not exist");
    }
}

#[test]
fn deliberate_bugs_are_for_tests_only() {
    let workspace = Workspace::load();
    let mut tested = 0;
    for package in workspace.members() {
        for dependency in package["dependencies"].as_array().unwrap() {
            if dependency["features"].as_array().unwrap().contains(&Value::from("mutants")) {
                assert_eq!(dependency["kind"], "dev", "{} takes bugs into the product", package["name"]);
                tested += 1;
            }
        }
    }
    assert_eq!(tested, 1, "somebody tests with them");
}

#[test]
fn a_wrong_direction_would_be_found() {
    let members = BTreeSet::from(["pemdas-core", "pemdas-kube", "pemdas-sim", "pemdas-testbed"]);
    let package = |name: &str, dependency: &str, kind: Option<&str>| serde_json::json!({ "name": name, "dependencies": [{ "name": dependency, "kind": kind }] });
    let found = |name, dependency, kind| violations(&package(name, dependency, kind), &members).len();
    assert_eq!(found("pemdas-kube", "pemdas-core", None), 0);
    assert_eq!(found("pemdas-core", "pemdas-kube", None), 1, "against the direction");
    assert_eq!(found("pemdas-kube", "pemdas-sim", Some("dev")), 1, "siblings, even in tests");
    assert_eq!(found("pemdas-kube", "pemdas-testbed", Some("dev")), 0, "tests may have a real cluster");
    assert_eq!(found("pemdas-kube", "pemdas-testbed", None), 1, "the product may not");
    assert_eq!(found("pemdas-core", "nickel-lang-core", None), 1, "Nickel outside of its crate");
    assert_eq!(found("pemdas-sim", "kube", None), 1, "a client outside of its crate");
    assert_eq!(found("stranger", "serde", None), 1, "a crate without a place");
}

#[test]
fn nothing_behind_the_core_knows_time_chance_threads_or_the_outside() {
    let behind = Workspace::load().behind("pemdas-core");
    assert!(behind.contains("serde"), "the walk finds what is there: {behind:?}");
    let foreign: Vec<&String> = behind
        .iter()
        .filter(|name| {
            FOREIGN_TO_CORE.iter().any(|banned| {
                name.as_str() == *banned
                    || name.strip_prefix(banned).is_some_and(|rest| rest.starts_with('-'))
            })
        })
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

/// The process that holds credentials, or the machine of whoever looks at a stranger's blueprint.
#[test]
fn nothing_of_the_product_evaluates_a_blueprint_in_its_own_process() {
    let mut git = Command::new("git");
    git.args(["ls-files", "crates/pemdas/src", "crates/pemdas-kube/src"]).current_dir(root());
    let listed = String::from_utf8(git.output().unwrap().stdout).unwrap();
    let mut found = Vec::new();
    let judge = "crates/pemdas/src/judge/";
    let main = fs::read_to_string(root().join("crates/pemdas/src/main.rs")).unwrap();
    assert!(main.contains("#[cfg(test)]\nmod judge;"), "the judge is compiled for tests only");
    for file in listed.lines().filter(|it| it.ends_with(".rs") && !it.starts_with(judge)) {
        let source = fs::read_to_string(root().join(file)).unwrap_or_default();
        let lines = source.lines().filter(|it| it.contains("InProcess") || it.contains("in_process("));
        found.extend(lines.map(|line| format!("{file}: {}", line.trim())));
    }
    // Unit tests, whose program can be no worker.
    let [only] = &found[..] else { panic!("{found:#?}") };
    let workers = fs::read_to_string(root().join("crates/pemdas/src/workers.rs")).unwrap();
    let (_, of_tests) = workers.split_once("#[cfg(test)]").unwrap();
    assert!(only.contains("workers.rs") && of_tests.contains("InProcess"), "{only}");
}

#[test]
fn every_crate_obeys_the_lints_and_says_its_invariant() {
    let workspace = Workspace::load();
    for package in workspace.members() {
        let name = text(&package["name"]);
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let manifest_text = fs::read_to_string(&manifest).unwrap();
        assert!(
            manifest_text.contains("[lints]\nworkspace = true"),
            "{name} does not take the workspace's lints"
        );
        let library = manifest.with_file_name("src").join("lib.rs");
        if library.is_file() {
            let says = fs::read_to_string(&library).unwrap();
            assert!(
                says.contains("//! **Invariant.**"),
                "the top of {name}'s lib.rs does not say its invariant"
            );
        }
    }
}

/// The lists of what a pure crate may not call are only as good as the linter's reading of them: a misspelt path is
/// silently ignored. So a file that breaks each of them is shown to the linter.
#[test]
fn the_linter_finds_every_impurity() {
    let fixture = root().join("tests/fixtures/impure.rs");
    let source = fs::read_to_string(&fixture).unwrap();
    let expected: BTreeSet<usize> = source
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("//~ impure"))
        .map(|(i, _)| i + 1)
        .collect();
    assert!(expected.len() >= 25, "the file has lost its lines");
    for name in ["pemdas-core", "pemdas-sim"] {
        let output = tempfile::tempdir().unwrap();
        let done = Command::new("clippy-driver")
            .args([
                "--edition=2024",
                "--crate-type=lib",
                "--emit=metadata",
                "--error-format=json",
                "--out-dir",
            ])
            .arg(output.path())
            .args(["-Aunused", "-Wclippy::disallowed_types", "-Wclippy::disallowed_methods"])
            .arg("-Wclippy::disallowed_macros")
            .arg(&fixture)
            .env("CLIPPY_CONF_DIR", root().join("crates").join(name))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        let found: BTreeSet<usize> = said
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|message| text(&message["code"]["code"]).starts_with("clippy::disallowed"))
            .filter_map(|message| usize::try_from(message["spans"][0]["line_start"].as_u64()?).ok())
            .collect();
        assert_eq!(found, expected, "{name}: {said}");
    }
}

#[test]
fn continuous_integration_runs_the_readmes_own_test_command() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let commands: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert_eq!(commands.len(), 2, "the README has two commands: {commands:?}");
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(ci.lines().any(|line| line == format!("exec {}", commands[1])), "{ci}");
}

/// A file that has grown past this is several things at once.
#[test]
fn no_source_file_is_too_long_to_read() {
    let listed = Command::new("git").args(["ls-files", "*.rs"]).current_dir(root()).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("tests/architecture.rs"), "the sources are listed");
    let long: Vec<&str> = listed
        .lines()
        .filter(|file| {
            fs::read_to_string(root().join(file)).is_ok_and(|content| content.lines().count() > 800)
        })
        .collect();
    assert!(long.is_empty(), "longer than 800 lines: {long:?}");
}

/// The reasons that the sources of a folder name, in the ways in which they do.
fn reasons_in(folder: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let word = |text: &str| {
        let (word, _) = text.split_once('"')?;
        let camel = word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphabetic);
        (camel && word.contains(char::is_lowercase)).then(|| word.to_owned())
    };
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let text = if path.is_file() { fs::read_to_string(path).unwrap() } else { continue };
        for before in ["reason: \"", "let reason = \"", ": &str = \""] {
            found.extend(text.split(before).skip(1).filter_map(word));
        }
    }
    found
}

#[test]
fn every_reason_of_an_event_is_on_the_page_of_alerts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/guides/alerts.md")).unwrap();
    let mut reasons = reasons_in("crates/pemdas-core/src/decide");
    reasons.extend(reasons_in("crates/pemdas-kube/src/hub"));
    // Of a condition, and told by no Event.
    reasons.remove("Removing");
    assert!(reasons.len() > 25, "{reasons:?}");
    let missing: Vec<_> = reasons.iter().filter(|it| !page.contains(&format!("`{it}`"))).collect();
    assert!(missing.is_empty(), "{missing:?} are not in docs/guides/alerts.md");
}

/// How long a line of prose may be on a page for users.
const PROSE: usize = 120;
/// Pages that are made by programs, or are for developers of Pemdas.
const OTHER_PAGES: [&str; 6] = [
    "docs/design/",
    "docs/comparisons/",
    "docs/diagnostics/README.md",
    "docs/import.md",
    "docs/guides/helm.md",
    "docs/language/library.md",
];

/// The lines of prose of a page that are too long, by their numbers. Code, tables and headings are none.
fn long_prose(page: &str) -> Vec<usize> {
    let mut is_code = false;
    let long = page.lines().enumerate().filter(|(_, line)| {
        let start = line.trim_start();
        let fence = start.starts_with("```");
        is_code ^= fence;
        !is_code && !fence && !start.starts_with(['|', '#', '<']) && line.chars().count() > PROSE
    });
    long.map(|(number, _)| number + 1).collect()
}

#[test]
fn pages_for_users_have_lines_that_can_be_read() {
    let listed = Command::new("git")
        .args(["ls-files", "README.md", "docs/*.md", "examples/*.md"])
        .current_dir(root())
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let pages = listed.lines().filter(|page| !OTHER_PAGES.iter().any(|other| page.starts_with(other)));
    let mut looked_at = 0;
    let mut long = Vec::new();
    for page in pages {
        looked_at += 1;
        let text = fs::read_to_string(root().join(page)).unwrap();
        long.extend(long_prose(&text).into_iter().map(|line| format!("{page}:{line}")));
    }
    assert!(looked_at > 100, "the pages are listed");
    assert!(long.is_empty(), "longer than {PROSE} characters: {long:?}");
    let much = "word ".repeat(30);
    let page = format!("# {much}\n{much}\n```\n{much}\n```\n| {much} |\nshort\n- {much}\n");
    assert_eq!(long_prose(&page), [2, 8]);
}
