//! Pages as scripts: what a page says that one types is typed, and what it says that one sees has to be seen.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pemdas_testbed::Cluster;

use crate::said;

/// A person's shell, with kubectl and pemdas at hand.
pub(crate) struct Shell {
    cluster: &'static Cluster,
    programs: tempfile::TempDir,
}

impl Shell {
    /// With further programs at hand, each by its name.
    pub(crate) fn new(cluster: &'static Cluster, more: &[(&str, &Path)]) -> Self {
        let programs = tempfile::tempdir().unwrap();
        for (name, program) in more {
            symlink(program, programs.path().join(name)).unwrap();
        }
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
            .envs(
                ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"]
                    .map(|it| (it, self.programs.path())),
            )
            .output()
            .unwrap();
        (output.status.success(), without_notes(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Types a command that has to end well; what it said, without the white space around it.
    pub(crate) fn run(&self, command: &str) -> String {
        let (fine, said) = self.try_to(&examples(), command);
        assert!(fine, "$ {command}\n{said}");
        said.trim().to_owned()
    }

    /// Plays a section of an example's page. What comes after a command must be what it says.
    pub(crate) fn play(&self, example: &str, section: &str, trouble: &dyn Fn() -> String) {
        let folder = examples().join(example);
        let page = fs::read_to_string(folder.join("README.md")).unwrap();
        let steps = steps(&page, section);
        assert!(!steps.is_empty(), "{example} shows nothing under `{section}`");
        self.follow(example, &folder, steps, trouble);
    }

    /// Types commands, after each of which has to be seen what is shown; how many.
    pub(crate) fn follow(
        &self,
        place: &str,
        folder: &Path,
        steps: Vec<(String, String)>,
        trouble: &dyn Fn() -> String,
    ) -> usize {
        let count = steps.len();
        for (command, expected) in steps {
            let (_, seen) = self.try_to(folder, &command);
            assert!(
                said::fits(&expected, &seen),
                "the page of {place} shows\n$ {command}\n{expected}\nand what was seen is\n{seen}\n{}",
                trouble()
            );
        }
        count
    }
}

/// Without what a library of kubectl notes for those who look for its faults, such as that a watch was ended: it comes or not.
fn without_notes(said: &str) -> String {
    let is_note = |line: &str| {
        let day = line.strip_prefix(['I', 'W']).and_then(|it| it.get(..5)).unwrap_or_default();
        day.ends_with(' ') && day.trim_end().bytes().all(|it| it.is_ascii_digit()) && line.contains(".go:")
    };
    said.split_inclusive('\n').filter(|it| !is_note(it)).collect()
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
    let blocks = text.split("```console\n").skip(1).filter_map(|it| it.split("```").next());
    blocks.flat_map(said::steps).collect()
}

#[test]
fn a_section_ends_where_the_next_begins() {
    let page =
        "# x\n## On a cluster\nwords\n```console\n$ one\nseen\n```\n## Next\n```console\n$ four\n```\n";
    assert_eq!(steps(page, "On a cluster"), [("one".to_owned(), "seen\n".to_owned())]);
}

#[test]
fn notes_of_libraries_are_not_what_a_command_says() {
    let note =
        "I1118 10:44:04.256848   29084 reflector.go:664] \"Warning: watch ended with error\" err=\"x\"\n";
    let said = "I 1118 things\nError: no such main.go: x\nbar/foo condition met\n";
    assert_eq!(without_notes(&format!("{note}{said}{note}")), said);
}
