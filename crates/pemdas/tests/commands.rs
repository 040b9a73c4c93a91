//! The commands as a user runs them.
#![allow(clippy::expect_used, reason = "the helpers of a test are the test")]

mod untrusted;

use std::{
    fs,
    io::Write,
    process::{Command, Output, Stdio},
};

fn pemdas() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pemdas"));
    command.env_remove("NO_COLOR").env("TERM", "xterm");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Never a panic, a backtrace, or a word about one.
fn spoke_plainly(output: &Output) {
    for said in [text(&output.stdout), text(&output.stderr)] {
        assert!(!said.contains("panicked") && !said.contains("backtrace"), "{said}");
    }
}

const CLEAN: &str = "tests/cmd/check.in/clean";

#[test]
fn what_the_commands_say() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").env("NO_COLOR", "1");
}

/// What a command says that is given something to read.
fn given(command: &mut Command, input: &str) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    spoke_plainly(&output);
    output
}

#[test]
fn standard_input_is_nickel_or_a_manifest() {
    let nickel = fs::read_to_string(format!("{CLEAN}/main.ncl")).expect("a fixture");
    let manifest = fs::read_to_string("tests/cmd/check.in/manifest.yaml").expect("a fixture");
    for (input, status) in [(nickel, 0), (manifest, 1), ("{{{".to_owned(), 1)] {
        let output = given(pemdas().args(["check", "-"]), &input);
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stdout));
    }
}

#[test]
fn a_huge_file_is_refused_without_reading_it_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let main = folder.path().join("main.ncl");
    fs::write(&main, vec![b' '; 9 << 20]).expect("written");
    let output = pemdas().arg("check").arg(&main).output().expect("it runs");
    spoke_plainly(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("is larger than 8 MiB"), "{}", text(&output.stdout));
}

#[test]
fn a_blueprint_that_is_too_large_is_a_problem() {
    let folder = tempfile::tempdir().expect("a folder");
    let clean = fs::read_to_string(format!("{CLEAN}/main.ncl")).expect("a fixture");
    let large = format!("{clean}{}", "# padding\n".repeat(430_000));
    fs::write(folder.path().join("main.ncl"), large).expect("written");
    let output = pemdas().arg("check").arg(folder.path()).output().expect("it runs");
    spoke_plainly(&output);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
}

#[test]
fn what_lies_outside_the_directory_is_not_imported() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("secret.ncl"), "\"hidden words\"").expect("written");
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).expect("made");
    fs::write(inner.join("main.ncl"), "import \"../secret.ncl\"").expect("written");
    let output = pemdas().arg("check").arg(&inner).output().expect("it runs");
    spoke_plainly(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(!text(&output.stdout).contains("hidden words"), "{}", text(&output.stdout));
}

#[test]
fn colour_only_where_it_is_wanted() {
    let coloured = |arguments: &[&str], no_color: bool| {
        let mut command = pemdas();
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let output = command.args(arguments).output().expect("it runs");
        text(&output.stdout).contains('\u{1b}')
    };
    let circle = "tests/cmd/check.in/circle";
    assert!(!coloured(&["check", circle], false), "no terminal, no colour");
    assert!(coloured(&["check", circle, "--color", "always"], true), "asked for");
    assert!(!coloured(&["check", circle, "--color", "never"], false));
    assert!(coloured(&["graph", "tests/cmd/graph.in/foo", "--color", "always"], false));
    assert!(!coloured(&["graph", "tests/cmd/graph.in/foo", "-o", "svg", "--color", "always"], false));
}

#[test]
fn warnings_are_problems_if_denied() {
    let folder = tempfile::tempdir().expect("a folder");
    let blueprint = r#"let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "warned",
  nodes = {
    load = { template = fun _the => { apiVersion = "batch/v1", kind = "Job", metadata.name = "load" } },
    web = { before = ["load"], template = fun _the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "web" } },
  },
} | Blueprint"#;
    fs::write(folder.path().join("main.ncl"), blueprint).expect("written");
    let status = |more: &[&str]| {
        let output = pemdas().arg("check").arg(folder.path()).args(more).output().expect("it runs");
        assert!(text(&output.stdout).contains("PM0123"), "{}", text(&output.stdout));
        output.status.code()
    };
    assert_eq!(status(&[]), Some(0));
    assert_eq!(status(&["--deny-warnings"]), Some(1));
}

#[test]
fn a_drawing_is_the_same_each_time() {
    let draw = |form: &str| {
        let output =
            pemdas().args(["graph", "tests/cmd/graph.in/foo", "-o", form]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    for form in ["text", "dot", "mermaid", "svg", "json"] {
        assert_eq!(draw(form), draw(form), "{form}");
    }
    let svg = draw("svg");
    for part in [
        "<svg ",
        "drained",
        "status.applied = the.root.spec.schema",
        "class=\"line also\"",
        "class=\"line sequence\"",
    ] {
        assert!(svg.contains(part), "{part}");
    }
}

#[test]
fn a_broken_blueprint_is_drawn_as_far_as_it_is_understood() {
    let output = pemdas().args(["graph", "tests/cmd/check.in/circle"]).output().expect("it runs");
    spoke_plainly(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("PM0103"));
    assert!(text(&output.stdout).contains("third"));
}

#[test]
fn an_import_writes_all_or_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("out");
    let import = |input: &str, more: &[&str]| {
        given(pemdas().args(["import", "-", "-o"]).arg(&target).args(more), input).status.code()
    };
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name} }}\n");
    assert_eq!(import(&format!("{}---\nno: object\n", map("one")), &[]), Some(2));
    assert!(!target.exists(), "the good half is not written either");
    assert_eq!(import(&map("one"), &[]), Some(0));
    let main = fs::read_to_string(target.join("main.ncl")).expect("a blueprint");
    assert_eq!(import(&map("two"), &[]), Some(2), "it already exists");
    assert_eq!(fs::read_to_string(target.join("main.ncl")).expect("a blueprint"), main);
    assert_eq!(import(&map("two"), &["--force"]), Some(0));
    let names = |folder: &std::path::Path| {
        let mut names: Vec<_> = fs::read_dir(folder)
            .expect("a folder")
            .map(|it| it.expect("a file").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&target), ["main.ncl", "sample"], "nothing is left lying about");
    assert_eq!(names(&target.join("sample")), ["one.yaml", "two.yaml"]);
}

#[test]
fn a_code_is_explained() {
    let output = pemdas().args(["check", "--explain", "pm0116"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    let page = fs::read_to_string("../../docs/diagnostics/PM0116.md").expect("a page");
    assert_eq!(text(&output.stdout), page);
}

#[test]
fn completions_and_manual_pages() {
    let output = pemdas().args(["completions", "bash"]).output().expect("it runs");
    assert!(output.status.success() && text(&output.stdout).contains("_pemdas"));
    let folder = tempfile::tempdir().expect("a folder");
    let output = pemdas().arg("man").arg(folder.path()).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    for page in ["pemdas.1", "pemdas-check.1", "pemdas-demo.1", "pemdas-graph.1"] {
        assert!(folder.path().join(page).is_file(), "{page}");
    }
}

/// Every file of the corpus is added to an example that knows nothing of it; the command itself compares all objects, and all nodes
/// that there were.
#[test]
fn what_is_added_to_a_blueprint_changes_nothing_else_in_it() {
    let mut added = 0;
    for file in ["web-shop", "database", "monitoring", "custom"] {
        let folder = tempfile::tempdir().expect("a folder");
        let main = folder.path().join("main.ncl");
        let before = fs::read_to_string("../../examples/web-app/main.ncl").expect("an example");
        fs::write(&main, &before).expect("written");
        let add = || {
            let path = format!("tests/corpus/{file}.yaml");
            let output = pemdas().args(["import", &path, "--into"]).arg(&main).output().expect("it runs");
            spoke_plainly(&output);
            (output.status.code(), text(&output.stderr))
        };
        let (status, said) = add();
        let after = fs::read_to_string(&main).expect("it is there");
        if status != Some(0) {
            assert_eq!(after, before, "{file}: {said}");
            assert!(said.contains("want a root that is beside them"), "{file}: {said}");
            continue;
        }
        added += 1;
        // Whoever compares sees lines that came, and none that went.
        let kept: Vec<&str> = before.lines().filter(|it| after.lines().any(|line| line == *it)).collect();
        let lost = before.lines().count() - kept.len();
        assert!(lost <= 3 && after.len() > before.len(), "{file}: {lost} lines went");
        let check = pemdas().arg("check").arg(&main).output().expect("it runs");
        assert_eq!(check.status.code(), Some(0), "{}", text(&check.stdout));
        // The same once more: two nodes would be one object.
        let (status, said) = add();
        assert_eq!(status, Some(2), "{file}: {said}");
        assert!(said.contains("PM0109") && said.contains("nothing was added"), "{file}: {said}");
        assert_eq!(fs::read_to_string(&main).expect("it is there"), after, "nothing half-written");
    }
    assert!(added >= 2, "only {added} files were added");
}
