//! Everything that a release consists of: for each platform an archive with the program, its manual and its completions, and an image;
//! besides a manifest for krew, and the checksums of all.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::command::succeed;
use crate::image::{self, Platform, Wanted};

const HELP: &str = "\
Usage: cargo xtask dist [--platform PLATFORM]... [--profile PROFILE] [--url URL] [--name NAME] [--out DIR]

Makes everything that a release consists of: for each platform an archive with a static program, its manual and its completions,
and an image with a list of what is in it; a manifest for krew; and the checksums of all.

Options:
  --platform PLATFORM   linux/amd64 or linux/arm64; this machine's is always made
  --profile PROFILE     release or dev; dev is for trying, and quicker to build [default: release]
  --url URL             Where people will find the files, for the manifest for krew
  --name NAME           Name and tag of the image [default: pemdas:VERSION]
  --out DIR             Where to write [default: target/dist]
";

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    image::run_with(arguments, HELP, make)
}

fn make(wanted: &Wanted) -> Result<(), String> {
    let here = image::here()?;
    let mut platforms = wanted.platforms.clone();
    // It comes first: the other programs cannot be run here, and it writes the manual.
    platforms.retain(|it| *it != here);
    platforms.insert(0, here);
    for platform in &platforms {
        image::can_be_linked(platform)?;
    }
    let (out, texts) = (&wanted.out, wanted.out.join("texts"));
    fs::create_dir_all(&texts).map_err(|cause| format!("{}: {cause}", texts.display()))?;
    let (mut made, mut rows) = (Vec::new(), Vec::new());
    for platform in &platforms {
        let program = image::static_program(platform, wanted.profile)?;
        if *platform == here {
            write_texts(&program, &texts)?;
        }
        pack(&program, platform, &texts, out)?;
        rows.push((*platform, checksum(&out.join(archive(platform)))?));
        let image = format!("{}.image.tar", stem(platform));
        image::pack(&program, platform, wanted.profile, &wanted.name, &out.join(&image))?;
        made.extend([archive(platform), image, format!("{}.image.spdx.json", stem(platform))]);
    }
    fs::remove_dir_all(&texts).map_err(|cause| format!("{}: {cause}", texts.display()))?;
    let url = wanted.url.clone().unwrap_or_else(|| format!("https://releases.invalid/v{VERSION}"));
    write(&out.join("krew.yaml"), &krew(&url, &rows))?;
    made.push("krew.yaml".to_owned());
    let sums = checksums(out, &made)?;
    write(&out.join("SHA256SUMS"), &sums)?;
    print!("wrote to {}:\n{sums}", out.display());
    Ok(())
}

fn stem(platform: &Platform) -> String {
    format!("pemdas-{VERSION}-linux-{}", platform.architecture)
}

fn archive(platform: &Platform) -> String {
    format!("{}.tar.gz", stem(platform))
}

/// The manual, and what each shell loads.
fn write_texts(program: &Path, folder: &Path) -> Result<(), String> {
    succeed(Command::new(program).arg("man").arg(folder.join("man")))?;
    let completions = folder.join("completions");
    fs::create_dir_all(&completions).map_err(|cause| format!("{}: {cause}", completions.display()))?;
    for (shell, file) in [("bash", "pemdas.bash"), ("zsh", "_pemdas"), ("fish", "pemdas.fish")] {
        let said = Command::new(program).args(["completions", shell]).output();
        let said = said.map_err(|cause| format!("{}: {cause}", program.display()))?;
        if !said.status.success() {
            return Err(format!("`pemdas completions {shell}` ended with {}", said.status));
        }
        write(&completions.join(file), &String::from_utf8_lossy(&said.stdout))?;
    }
    Ok(())
}

/// Packs the program with its texts: the same files give the same bytes.
fn pack(program: &Path, platform: &Platform, texts: &Path, out: &Path) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = out.join(stem(platform));
    fs::create_dir_all(&folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;
    let copy = |from: &Path, to: &str| {
        let mut copy = Command::new("cp");
        succeed(copy.arg("--recursive").arg(from).arg(folder.join(to)))
    };
    copy(program, "pemdas")?;
    for text in ["LICENSE", "NOTICE", "README.md", "CHANGELOG.md"] {
        copy(&root.join(text), text)?;
    }
    copy(&texts.join("man"), "man")?;
    copy(&texts.join("completions"), "completions")?;
    // Of a build for development, what debuggers read is most of it. A release has none of that.
    let strip = Command::new("strip").arg("--strip-debug").arg(folder.join("pemdas")).output();
    drop(strip);
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--sort=name",
        "--mtime=@0",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=go-w",
    ]);
    tar.args(["--use-compress-program=gzip --no-name", "--directory"]).arg(out);
    tar.arg("--file").arg(out.join(archive(platform))).arg(stem(platform));
    succeed(&mut tar)?;
    fs::remove_dir_all(&folder).map_err(|cause| format!("{}: {cause}", folder.display()))
}

/// What krew, which installs plugins of kubectl, wants to know.
fn krew(url: &str, platforms: &[(&Platform, String)]) -> String {
    let mut text = format!(
        "\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: pemdas
spec:
  version: v{VERSION}
  shortDescription: Check, plan and explain operators that are written as blueprints
  description: |
    Pemdas is a universal Kubernetes operator. You describe an operation in a blueprint, and write no controller.
    This plugin checks, plans, tests, applies and explains blueprints and their instances.
  platforms:
"
    );
    for (platform, checksum) in platforms {
        let (stem, archive) = (stem(platform), archive(platform));
        text.push_str(&format!(
            "    - selector: {{ matchLabels: {{ os: linux, arch: {} }} }}
      uri: {url}/{archive}
      sha256: {checksum}
      files: [{{ from: {stem}/pemdas, to: . }}, {{ from: {stem}/LICENSE, to: . }}]
      bin: pemdas
",
            platform.architecture
        ));
    }
    text
}

fn checksum(file: &Path) -> Result<String, String> {
    let said = Command::new("sha256sum").arg(file).output();
    let said = said.map_err(|cause| format!("sha256sum could not be run: {cause}"))?;
    let text = String::from_utf8_lossy(&said.stdout);
    text.split_whitespace().next().map(str::to_owned).ok_or(format!("{} has no checksum", file.display()))
}

/// One line for each file, as `sha256sum --check` reads it.
fn checksums(folder: &Path, files: &[String]) -> Result<String, String> {
    files.iter().map(|it| Ok(format!("{}  {it}\n", checksum(&folder.join(it))?))).collect()
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|cause| format!("cannot write {}: {cause}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn krew_is_told_of_every_platform() {
        let rows: Vec<_> =
            image::PLATFORMS.iter().map(|it| (it, format!("sum-of-{}", it.architecture))).collect();
        let said = krew("https://example.com/x", &rows);
        for platform in &image::PLATFORMS {
            let (stem, architecture) = (stem(platform), platform.architecture);
            for wanted in [
                format!("matchLabels: {{ os: linux, arch: {architecture} }}"),
                format!("uri: https://example.com/x/{stem}.tar.gz"),
                format!("sha256: sum-of-{architecture}"),
                format!("from: {stem}/pemdas,"),
            ] {
                assert!(said.contains(&wanted), "{wanted}\nis not in\n{said}");
            }
        }
    }

    #[test]
    fn checksums_are_as_people_check_them() {
        let folder = std::env::temp_dir().join(format!("pemdas-dist-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("b"), "two").unwrap();
        fs::write(folder.join("a"), "one").unwrap();
        let sums = checksums(&folder, &["a".to_owned(), "b".to_owned()]).unwrap();
        fs::write(folder.join("SHA256SUMS"), &sums).unwrap();
        let checked = Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&folder).output();
        fs::remove_dir_all(&folder).unwrap();
        assert!(checked.unwrap().status.success() && sums.lines().count() == 2, "{sums}");
    }
}
