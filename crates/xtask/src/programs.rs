//! The test programs of the workspace: built by cargo, found in what it prints.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::command::cargo;

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) package: String,
    /// `lib`, `bin`, or the name of the file in `tests`.
    pub(crate) name: String,
    pub(crate) executable: PathBuf,
    /// Where cargo would run it.
    pub(crate) folder: PathBuf,
}

impl Program {
    /// How it is named on the command line and in reports.
    pub(crate) fn title(&self) -> String {
        format!("{}:{}", self.package, self.name)
    }
}

/// What a build made.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) programs: Vec<Program>,
    /// The test bed's supervisor: tests that find it in their environment need not ask cargo for it.
    pub(crate) testbed: Option<PathBuf>,
}

/// What cargo is asked to build.
pub(crate) enum Selection<'a> {
    Everything,
    /// These programs in `tests`. The features of dependencies are those of the whole workspace, so nothing is compiled twice.
    Tests(Vec<&'a str>),
    /// All programs of these packages, with the features that these need: quick, but apart from the rest.
    Packages(Vec<&'a str>),
}

/// Builds test programs.
pub(crate) fn build(selection: &Selection<'_>) -> Result<Built, String> {
    let mut command = cargo(&["test", "--locked", "--no-run"]);
    command.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let every_kind = ["--lib", "--bins", "--tests"];
    match selection {
        Selection::Everything => command.arg("--workspace").args(every_kind),
        Selection::Tests(names) => {
            command.arg("--workspace").args(names.iter().map(|it| format!("--test={it}")))
        }
        Selection::Packages(names) => {
            command.args(every_kind).args(names.iter().map(|it| format!("--package={it}")))
        }
    };
    let mut child = command.spawn().map_err(|cause| format!("cargo could not be run: {cause}"))?;
    let mut built = Built::default();
    for line in BufReader::new(child.stdout.take().ok_or("cargo has no output")?).lines() {
        let line = line.map_err(|cause| format!("cargo's output cannot be read: {cause}"))?;
        let Some(artifact) = Artifact::read(&line) else { continue };
        if artifact.is_test {
            built.programs.push(artifact.program);
        } else if artifact.program.package == "pemdas-testbed" {
            built.testbed = Some(artifact.program.executable);
        }
    }
    let status = child.wait().map_err(|cause| format!("cargo could not be waited for: {cause}"))?;
    if !status.success() {
        return Err(format!("the tests could not be built: cargo ended with {status}"));
    }
    built.programs.sort_by_key(Program::title);
    Ok(built)
}

/// Has cargo build one program, which it is asked to tell about in JSON; where it is.
pub(crate) fn build_binary(command: &mut Command) -> Result<PathBuf, String> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|cause| format!("cargo could not be run: {cause}"))?;
    let mut built = None;
    for line in BufReader::new(child.stdout.take().ok_or("cargo has no output")?).lines() {
        let line = line.map_err(|cause| format!("cargo's output cannot be read: {cause}"))?;
        built = Artifact::read(&line).map(|it| it.program.executable).or(built);
    }
    let status = child.wait().map_err(|cause| format!("cargo could not be waited for: {cause}"))?;
    if !status.success() {
        return Err(format!("the program could not be built: cargo ended with {status}"));
    }
    built.ok_or_else(|| "cargo did not say where it put the program".to_owned())
}

/// An executable that cargo reports.
struct Artifact {
    program: Program,
    is_test: bool,
}

impl Artifact {
    /// Reads one of cargo's messages. A few fields of flat text: a JSON parser would be this program's only dependency.
    fn read(line: &str) -> Option<Self> {
        if !line.starts_with(r#"{"reason":"compiler-artifact""#) {
            return None;
        }
        let executable = PathBuf::from(text_after(line, r#""executable":""#)?);
        let id = text_after(line, r#""package_id":""#)?;
        let (place, version) = id.rsplit_once('#')?;
        let package = match version.split_once('@') {
            Some((name, _)) => name,
            None => place.rsplit('/').next()?,
        };
        let target = &line[line.find(r#""target":{"#)?..];
        let name = match text_after(target, r#""kind":[""#)? {
            "test" => text_after(target, r#""name":""#)?,
            "bin" => "bin",
            _ => "lib",
        };
        let name = match (name, text_after(target, r#""name":""#)?) {
            // A package with several binaries has several test programs of this kind.
            ("bin", target) if target != package => format!("bin-{target}"),
            (name, _) => name.to_owned(),
        };
        let mut folder = PathBuf::from(text_after(line, r#""manifest_path":""#)?);
        folder.pop();
        let program = Program { package: package.to_owned(), name, executable, folder };
        let profile = &line[line.find(r#""profile":{"#)?..line.find(r#""features":["#)?];
        Some(Self { program, is_test: profile.contains(r#""test":true"#) })
    }
}

/// The text between this and the next quotation mark. Paths with quotation marks are not expected.
fn text_after<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    let rest = &text[text.find(start)? + start.len()..];
    Some(&rest[..rest.find('"')?])
}

#[cfg(test)]
mod tests {
    use super::Artifact;

    const MESSAGE: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///p/tests#pemdas-tests@0.1.0","manifest_path":"/p/tests/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"explore","src_path":"/p/tests/explore/main.rs","edition":"2024","doc":false,"doctest":false,"test":true},"profile":{"opt_level":"0","debuginfo":"line-tables-only","debug_assertions":true,"overflow_checks":true,"test":true},"features":[],"filenames":["/p/target/debug/deps/explore-1"],"executable":"/p/target/debug/deps/explore-1","fresh":true}"#;

    #[test]
    fn a_message_of_cargo_is_read() {
        let found = Artifact::read(MESSAGE).unwrap();
        assert_eq!(found.program.title(), "pemdas-tests:explore");
        assert_eq!(found.program.folder.to_str(), Some("/p/tests"));
        assert!(found.is_test && found.program.executable.ends_with("explore-1"));
    }

    #[test]
    fn a_package_is_named_by_its_folder_unless_cargo_names_it() {
        let message = MESSAGE
            .replace("/p/tests#pemdas-tests@0.1.0", "/p/crates/pemdas#0.1.0")
            .replace(r#""kind":["test"]"#, r#""kind":["bin"]"#)
            .replace(r#""name":"explore""#, r#""name":"pemdas""#)
            .replace(r#""test":true},"features""#, r#""test":false},"features""#);
        let found = Artifact::read(&message).unwrap();
        assert_eq!(found.program.title(), "pemdas:bin");
        assert!(!found.is_test);
        assert!(Artifact::read(r#"{"reason":"build-finished","success":true}"#).is_none());
        assert!(
            Artifact::read(
                &MESSAGE.replace(r#""/p/target/debug/deps/explore-1","fresh""#, r#"null,"fresh""#)
            )
            .is_none()
        );
    }
}
