//! Blueprints of strangers on the command line: whoever looks at one is told what is wrong with it, and nothing else happens to them.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Output, Stdio},
};

use super::{pemdas, spoke_plainly, text};

/// A blueprint of these nodes, with one that every root needs.
fn blueprint(name: &str, nodes: &str) -> String {
    format!(
        r#"let {{ Blueprint, .. }} = import "pemdas/v1.ncl" in
{{
  name = {name},
  nodes = {{
    start = {{ root = {{ apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.start = "yes" }}, also = ["made"] }},
    {nodes}
  }},
}} | Blueprint
"#
    )
}

const INSTANCE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: one, labels: { start: 'yes' } }\ndata: { power: '1000000000' }\n";

fn folder(main: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("main.ncl"), main).expect("written");
    fs::write(folder.path().join("one.yaml"), INSTANCE).expect("written");
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let output = pemdas().args(arguments).current_dir(folder).output().expect("it runs");
    spoke_plainly(&output);
    output
}

/// What a terminal would obey, colours apart.
fn obeyed(output: &Output) -> Vec<char> {
    let said = text(&output.stdout) + &text(&output.stderr);
    let mut rest = said.as_str();
    let mut plain = String::new();
    while let Some((before, behind)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let codes = behind.trim_start_matches(|it: char| it.is_ascii_digit() || it == ';');
        match codes.strip_prefix('m') {
            Some(behind) => rest = behind,
            None => {
                plain.push('\u{1b}');
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    let bad = |it: &char| {
        (it.is_control() && *it != '\n') || matches!(*it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    plain.chars().filter(bad).collect()
}

#[test]
fn nothing_in_a_blueprint_moves_the_terminal() {
    // As characters in a comment, and as escapes in names and values.
    let raw = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{8}";
    let made = r#"made = {
      template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "made", data.a = "\u{1b}[2J\u{202e}it\r" },
    },"#;
    let good = folder(&blueprint("\"good\"", made));
    let odd =
        folder(&blueprint("\"odd\"", &format!("{made}\n\"odd\\u{{1b}}[2J\\u{{202e}}\" = {{ value = 1 }},")));
    let named = format!("{made}\n\"odd\\u{{1b}}[2J\" = {{ before = [\"none\\u{{9b}}\"], value = 1 }},");
    let wrong_name = folder(&blueprint("\"wrong\"", &named));
    let wrong_line = folder(&blueprint(&format!("missing, # {raw}\nother = 1"), made));
    let scenarios = r#"let { Scenarios, .. } = import "pemdas/test/v1.ncl" in
{
  "it is \u{1b}[2J" = {
    steps = [
      { apply = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "one", labels.start = "yes" } } },
      { eventually = { kind = "ConfigMap", name = "made", is.data.a = "\u{202e}other" } },
    ],
  },
} | Scenarios"#;
    fs::create_dir(good.path().join("scenarios")).expect("made");
    fs::write(good.path().join("scenarios/life.ncl"), scenarios).expect("written");
    let cases: [(&Path, &[&str], &str); 6] = [
        (wrong_line.path(), &["check", "."], r"\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{8}"),
        (wrong_name.path(), &["check", "."], r"\u{9b}"),
        (wrong_name.path(), &["check", ".", "-o", "github"], r"\u{9b}"),
        (odd.path(), &["graph", "."], r"odd\u{1b}[2J\u{202e}"),
        (good.path(), &["plan", ".", "--instance", "one.yaml"], "data:"),
        (good.path(), &["test", "."], "it is"),
    ];
    for (folder, arguments, shown) in cases {
        for colour in ["always", "never"] {
            let output = run(folder, &[arguments, &["--color", colour]].concat());
            let said = text(&output.stdout) + &text(&output.stderr);
            assert!(said.contains(shown), "{arguments:?}: {shown} in {said}");
            assert_eq!(obeyed(&output), [], "{arguments:?}: {said:?}");
        }
    }
    // What programs read is not changed.
    let json = run(wrong_name.path(), &["check", ".", "-o", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert!(json.to_string().contains('\u{9b}'), "{json}");
}

#[test]
fn a_blueprint_that_wants_too_much_is_stopped_whatever_looks_at_it() {
    let made = "made = { value = 1 },";
    let time = folder(&blueprint("std.to_string (std.number.pow 3 1000000000)", made));
    let memory = folder(&blueprint("std.to_string (std.array.length (std.array.range 0 1000000000))", made));
    // Known only with an instance, so that what looks at it before finds nothing.
    let later = folder(&blueprint(
        "\"later\"",
        r#"made = {
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = "made",
        data.a = std.to_string (std.number.pow 3 (std.string.to_number the.root.data.power)),
      },
    },"#,
    ));
    for it in [&time, &memory] {
        fs::create_dir(it.path().join("scenarios")).expect("made");
        fs::write(it.path().join("scenarios/life.ncl"), "{}").expect("written");
    }
    let plan: &[&str] = &["plan", ".", "--instance", "one.yaml"];
    let graph: &[&str] = &["graph", ".", "--instance", "one.yaml"];
    let cases: Vec<(&Path, &[&str])> = [
        (time.path(), &[&["check", "."][..], &["crds", "."], &["test", "."], plan][..]),
        (memory.path(), &[&["check", "."][..], &["rbac", "."], &["bundle", "."], &["graph", "."]][..]),
        (later.path(), &[plan, graph][..]),
    ]
    .into_iter()
    .flat_map(|(folder, all)| all.iter().map(move |it| (folder, *it)))
    .collect();
    // Side by side: each waits for its own clock.
    let spawn = |(folder, arguments): &(&Path, &[&str])| {
        let mut command = pemdas();
        command.args(*arguments).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        (command.spawn().expect("it starts"), format!("{arguments:?}"))
    };
    let started: Vec<_> = cases.iter().map(spawn).collect();
    for (child, arguments) in started {
        let output = child.wait_with_output().expect("it ends");
        spoke_plainly(&output);
        let said = text(&output.stdout) + &text(&output.stderr);
        // Whether time or memory ends it first depends on the machine.
        assert!(said.contains("PM0011") && said.contains("and was stopped"), "{arguments}: {said}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments}: {:?}", output.status);
    }
    assert_eq!(run(later.path(), &["check", "."]).status.code(), Some(0), "it is nothing before");
}

#[test]
fn no_command_reads_through_a_link_that_leads_out() {
    const CANARY: &str = "canary-of-the-environment";
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let lead = |name: &str| symlink("/proc/self/environ", at(name)).expect("a link");
    for part in ["linked", "imports", "objects", "plays/scenarios", "plays/sample"] {
        fs::create_dir_all(at(part)).expect("made");
    }
    lead("linked/main.ncl");
    lead("linked/main.yaml");
    lead("imports/part.txt");
    lead("objects/one.yaml");
    lead("plays/scenarios/life.ncl");
    lead("plays/sample/one.yaml");
    symlink("linked", at("through")).expect("a link");
    fs::write(at("imports/main.ncl"), "import \"part.txt\" as 'Text").expect("written");
    fs::write(at("plays/main.ncl"), blueprint("\"plays\"", "made = { value = 1 },")).expect("written");
    fs::write(at("one.yaml"), INSTANCE).expect("written");
    let all: [&[&str]; 13] = [
        &["check", "linked"],
        &["check", "through"],
        &["check", "linked/main.ncl"],
        &["check", "linked/main.yaml"],
        &["check", "imports"],
        &["graph", "linked"],
        &["crds", "linked"],
        &["rbac", "linked"],
        &["bundle", "linked"],
        &["plan", "plays", "--instance", "one.yaml", "--observed", "objects"],
        &["import", "objects"],
        &["test", "plays"],
        &["demo", "./plays"],
    ];
    for arguments in all {
        let output = pemdas().args(arguments).env("CANARY", CANARY).current_dir(folder.path()).output();
        let output = output.expect("it runs");
        spoke_plainly(&output);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains("canary-of"), "{arguments:?}: {said}");
        assert!(said.contains("leads out of"), "{arguments:?}: {said}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {:?}", output.status);
    }
}
