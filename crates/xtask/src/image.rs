//! The image of Pemdas: one static program, packed by the test bed, which makes images anyway.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::command::{as_typed, cargo, succeed};
use crate::programs::build_binary;
use crate::steps::target;

const HELP: &str = "\
Usage: cargo xtask image [--platform PLATFORM]... [--profile PROFILE] [--name NAME] [--out DIR]

Builds Pemdas as a static program and packs it as an image, in one archive for `ctr`, `podman`, `docker`, `skopeo` and `kind`.
Docker is not needed. Beside the archive stands a list of everything that the program is made of (SPDX).

Options:
  --platform PLATFORM   linux/amd64 or linux/arm64; may be given twice [default: this machine's]
  --profile PROFILE     release or dev; dev is for trying, and quicker to build [default: release]
  --name NAME           Name and tag of the image [default: pemdas:VERSION]
  --out DIR             Where to write [default: target/dist]
";

/// What we can be built for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Platform {
    pub(crate) name: &'static str,
    /// As Go calls the processor.
    pub(crate) architecture: &'static str,
    /// As the compiler calls it.
    pub(crate) target: &'static str,
    /// Debian's packages for building it elsewhere.
    packages: &'static str,
}

pub(crate) const PLATFORMS: [Platform; 2] = [
    Platform {
        name: "linux/amd64",
        architecture: "amd64",
        target: "x86_64-unknown-linux-gnu",
        packages: "gcc-x86-64-linux-gnu libc6-dev-amd64-cross",
    },
    Platform {
        name: "linux/arm64",
        architecture: "arm64",
        target: "aarch64-unknown-linux-gnu",
        packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    },
];

/// How the program is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Release,
    Dev,
}

impl Profile {
    /// The allocator of releases takes long to build.
    pub(crate) fn features(self) -> &'static [&'static str] {
        match self {
            Self::Release => &["jemalloc"],
            Self::Dev => &[],
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "dev",
        }
    }
}

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) platforms: Vec<&'static Platform>,
    pub(crate) profile: Profile,
    pub(crate) name: String,
    pub(crate) out: PathBuf,
    /// Where people will find the files; `cargo xtask dist` has this option.
    pub(crate) url: Option<String>,
}

pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    run_with(arguments, HELP, make)
}

/// Reads the options that the help text lists, and does the work.
pub(crate) fn run_with(
    arguments: &[&str],
    help: &str,
    work: impl FnOnce(&Wanted) -> Result<(), String>,
) -> ExitCode {
    let made = match read(arguments, help) {
        Ok(Some(wanted)) => work(&wanted),
        Ok(None) => return ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}\n\n{help}");
            return ExitCode::from(2);
        }
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn read(arguments: &[&str], help: &str) -> Result<Option<Wanted>, String> {
    let mut wanted = Wanted {
        platforms: Vec::new(),
        profile: Profile::Release,
        name: format!("pemdas:{}", env!("CARGO_PKG_VERSION")),
        out: target().join("dist"),
        url: None,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if ["-h", "--help"].contains(word) {
            print!("{help}");
            return Ok(None);
        }
        // What the help does not list is an option of another command.
        if !help.contains(&format!("  {word} ")) {
            return Err(format!("there is no option `{word}`"));
        }
        let value = words.next().copied().ok_or(format!("{word} wants a value"))?;
        match *word {
            "--platform" => wanted.platforms.push(platform(value)?),
            "--profile" => wanted.profile = profile(value)?,
            "--name" => wanted.name = value.to_owned(),
            "--out" => wanted.out = value.into(),
            "--url" => wanted.url = Some(value.trim_end_matches('/').to_owned()),
            unknown => return Err(format!("there is no option `{unknown}`")),
        }
    }
    if wanted.platforms.is_empty() {
        wanted.platforms.push(here()?);
    }
    Ok(Some(wanted))
}

fn profile(name: &str) -> Result<Profile, String> {
    let known = [Profile::Release, Profile::Dev].into_iter().find(|it| it.name() == name);
    known.ok_or(format!("there is no profile `{name}`: release or dev"))
}

fn platform(name: &str) -> Result<&'static Platform, String> {
    let known: Vec<_> = PLATFORMS.iter().map(|it| it.name).collect();
    let found = PLATFORMS.iter().find(|it| it.name == name);
    found.ok_or(format!("there is no image for `{name}`, only for {}", known.join(" and ")))
}

/// This machine.
pub(crate) fn here() -> Result<&'static Platform, String> {
    let architecture = std::env::consts::ARCH;
    let found =
        PLATFORMS.iter().find(|it| it.target.starts_with(architecture) && std::env::consts::OS == "linux");
    found.ok_or(format!("there is no image for this machine ({architecture})"))
}

fn make(wanted: &Wanted) -> Result<(), String> {
    std::fs::create_dir_all(&wanted.out).map_err(|cause| format!("{}: {cause}", wanted.out.display()))?;
    for platform in &wanted.platforms {
        can_be_linked(platform)?;
    }
    for platform in &wanted.platforms {
        let program = static_program(platform, wanted.profile)?;
        let archive = wanted.out.join(format!(
            "pemdas-{}-linux-{}.tar",
            env!("CARGO_PKG_VERSION"),
            platform.architecture
        ));
        pack(&program, platform, wanted.profile, &wanted.name, &archive)?;
        println!("wrote {}: the image {}", archive.display(), wanted.name);
    }
    Ok(())
}

/// Packs an image, with the list of what is in it beside it.
pub(crate) fn pack(
    program: &Path,
    platform: &Platform,
    profile: Profile,
    name: &str,
    archive: &Path,
) -> Result<(), String> {
    let (revision, created) = commit();
    let mut pack = cargo(&["run", "--locked", "--quiet", "--package=pemdas-testbed", "--", "image"]);
    pack.arg("--program").arg(program).arg("--output").arg(archive);
    for (option, value) in [
        ("target", platform.target),
        ("architecture", platform.architecture),
        ("name", name),
        ("revision", &revision),
        ("created", &created),
    ] {
        pack.arg(format!("--{option}={value}"));
    }
    succeed(as_typed(&mut pack).args(profile.features().iter().map(|it| format!("--features={it}"))))
}

/// Builds the program so that it needs no library. Only the last step is another one than that of a plain build, so nothing else is
/// compiled anew.
pub(crate) fn static_program(platform: &Platform, profile: Profile) -> Result<PathBuf, String> {
    let mut build = cargo(&["rustc", "--locked", "--package=pemdas", "--bin=pemdas"]);
    build.args(["--message-format=json-render-diagnostics", "--profile", profile.name()]);
    build.args(profile.features().iter().map(|it| format!("--features={it}")));
    if here() != Ok(platform) {
        let variable = format!("CARGO_TARGET_{}_LINKER", platform.target.to_uppercase().replace('-', "_"));
        build.args(["--target", platform.target]).env(variable, linker(platform));
    }
    println!("==> building pemdas for {} ({})", platform.name, profile.name());
    build_binary(as_typed(&mut build).args(["--", "-Ctarget-feature=+crt-static"]))
}

fn linker(platform: &Platform) -> String {
    format!("{}-gcc", platform.target.replace("-unknown", ""))
}

/// Says what is missing before a long build, not after it.
pub(crate) fn can_be_linked(platform: &Platform) -> Result<(), String> {
    if here() == Ok(platform) {
        return Ok(());
    }
    let mut rustc = Command::new("rustc");
    rustc.args(["--print=target-libdir", "--target", platform.target]);
    let folder = rustc.output().ok().filter(|it| it.status.success());
    let folder = folder.map(|it| PathBuf::from(String::from_utf8_lossy(&it.stdout).trim()));
    let mut missing = Vec::new();
    if !folder.is_some_and(|it| it.is_dir()) {
        missing.push(format!("rustup target add {}", platform.target));
    }
    if Command::new(linker(platform)).arg("--version").output().is_err() {
        missing.push(format!("apt-get install {}", platform.packages));
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "this machine cannot build for {}\n\nhint: it needs\n    {}",
        platform.name,
        missing.join("\n    ")
    ))
}

/// The commit, and when it was made. A tree that was changed since says so.
fn commit() -> (String, String) {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env("TZ", "UTC");
        let said = git.output().ok().filter(|it| it.status.success())?;
        Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
    };
    let format = ["log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%H %cd"];
    let Some(Some((revision, created))) =
        git(&format).map(|it| it.split_once(' ').map(|(one, two)| (one.to_owned(), two.to_owned())))
    else {
        return ("unknown".to_owned(), "1970-01-01T00:00:00Z".to_owned());
    };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|it| !it.is_empty());
    (if changed { format!("{revision}-changed") } else { revision }, created)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let all = ["--platform", "linux/arm64", "--profile", "dev", "--name", "x:1", "--out", "/x"];
        let wanted = read(&all, HELP).unwrap().unwrap();
        assert_eq!((wanted.platforms[0].architecture, wanted.profile), ("arm64", Profile::Dev));
        assert_eq!((wanted.name.as_str(), wanted.out.to_str()), ("x:1", Some("/x")));
        for wrong in [
            &["--platform"][..],
            &["--platform", "windows/amd64"],
            &["--profile", "fast"],
            &["x"],
            &["--url", "x"],
        ] {
            assert!(read(wrong, HELP).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn without_a_word_it_is_the_release_for_this_machine() {
        let wanted = read(&[], HELP).unwrap().unwrap();
        assert_eq!((wanted.platforms, wanted.profile), (vec![here().unwrap()], Profile::Release));
        assert_eq!(wanted.name, format!("pemdas:{}", env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn the_linker_is_called_as_debian_calls_it() {
        assert_eq!(PLATFORMS.each_ref().map(linker), ["x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"]);
    }
}
