//! Pages as scripts: what a page says that one types is typed, and what it says that one sees has to be seen.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pemdas_testbed::Cluster;

/// A person's shell, with kubectl and pemdas at hand.
pub(crate) struct Shell {
    cluster: &'static Cluster,
    programs: tempfile::TempDir,
}

impl Shell {
    pub(crate) fn new(cluster: &'static Cluster) -> Self {
        let programs = tempfile::tempdir().unwrap();
        symlink(&cluster.ready().kubectl, programs.path().join("kubectl")).unwrap();
        symlink(env!("CARGO_BIN_EXE_pemdas"), programs.path().join("pemdas")).unwrap();
        Self { cluster, programs }
    }

    /// Types a command; whether it ended well, and what it said.
    pub(crate) fn try_to(&self, folder: &Path, command: &str) -> (bool, String) {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(folder)
            .stdin(Stdio::null())
            .env("PATH", format!("{}:{path}", self.programs.path().display()))
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("KUBECACHEDIR", self.cluster.ready().folder.join("kubectl"))
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Types a command that has to end well; what it said, without the white space around it.
    pub(crate) fn run(&self, command: &str) -> String {
        let (fine, said) = self.try_to(&examples(), command);
        assert!(fine, "$ {command}\n{said}");
        said.trim().to_owned()
    }

    /// Plays a section of an example's page. What comes after a command must be what it says; `…` stands for
    /// anything within a line, and a line of nothing else for any lines.
    pub(crate) fn play(&self, example: &str, section: &str, trouble: &dyn Fn() -> String) {
        let folder = examples().join(example);
        let page = fs::read_to_string(folder.join("README.md")).unwrap();
        let steps = steps(&page, section);
        assert!(!steps.is_empty(), "{example} shows nothing under `{section}`");
        for (command, expected) in steps {
            let (_, said) = self.try_to(&folder, &command);
            assert!(
                fits(&expected, &said),
                "the page of {example} shows\n$ {command}\n{expected}\nand what was seen is\n{said}\n{}",
                trouble()
            );
        }
    }
}

/// Where the examples are.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The commands of a section, each with what is seen after it.
fn steps(page: &str, section: &str) -> Vec<(String, String)> {
    let heading = format!("\n## {section}\n");
    let Some((_, text)) = page.split_once(&heading) else { return Vec::new() };
    let text = text.split("\n## ").next().unwrap_or_default();
    let mut steps: Vec<(String, String)> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let mut unfinished = false;
        for line in block.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push((command.to_owned(), String::new()));
                unfinished = command.ends_with('\\');
            } else if let (true, Some((command, _))) = (unfinished, steps.last_mut()) {
                command.push('\n');
                command.push_str(line);
                unfinished = line.ends_with('\\');
            } else if let Some((_, seen)) = steps.last_mut() {
                seen.push_str(line);
                seen.push('\n');
            }
        }
    }
    steps
}

fn fits(expected: &str, said: &str) -> bool {
    let expected: Vec<_> = expected.lines().map(str::trim_end).collect();
    let said: Vec<_> = said.lines().map(str::trim_end).collect();
    lines_fit(&expected, &said)
}

fn lines_fit(expected: &[&str], said: &[&str]) -> bool {
    match (expected.split_first(), said.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => (0..=said.len()).any(|skipped| lines_fit(rest, &said[skipped..])),
        (Some((line, rest)), Some((first, others))) => line_fits(line, first) && lines_fit(rest, others),
        _ => false,
    }
}

fn line_fits(expected: &str, said: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = parts.next().and_then(|first| said.strip_prefix(first)) else { return false };
    let mut open = false;
    for part in parts {
        let Some(at) = (if part.is_empty() { Some(rest.len()) } else { rest.find(part) }) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        open = part.is_empty();
    }
    open || rest.is_empty()
}

#[test]
fn a_page_is_read_as_it_is_meant() {
    let page = "# x\n## On a cluster\nwords\n```console\n$ one \\\n  two\nseen\n$ three\n```\n## Next\n```console\n$ four\n```\n";
    let found = steps(page, "On a cluster");
    assert_eq!(found[0], ("one \\\n  two".to_owned(), "seen\n".to_owned()));
    assert_eq!(found[1], ("three".to_owned(), String::new()));
    assert_eq!(found.len(), 2);
    assert!(fits("a … c\n", "a b c\n") && fits("a …", "a b") && fits("…\nc", "a\nb\nc"));
    assert!(!fits("a … c\n", "a b d\n") && !fits("a", "a\nb") && !fits("a\nb", "a") && !fits("a …c", "b …c"));
}
