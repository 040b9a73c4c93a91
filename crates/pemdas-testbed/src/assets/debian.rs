//! Root file systems from Debian's packages, made with mmdebstrap and the machine's own package sources.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::pins;
use crate::command::run;
use crate::error::{Doing, Error, Result};

const HINT: &str =
    "the node level is made from Debian's packages: it needs root, apt with Debian's sources, and perl";

/// Makes the root file system that the pins call `name` in the folder `output`.
pub(super) fn make_rootfs(name: &str, scratch: &Path, output: &Path) -> Result<()> {
    let debian = pins::debian()?;
    let packages = debian
        .rootfs
        .get(name)
        .ok_or_else(|| Error::new(format!("the pins know no root file system `{name}`")))?
        .packages
        .join(",");
    let sources = sources(&debian.suite)?;
    let tool = fetch_mmdebstrap(scratch)?;
    let mut command = Command::new(tool);
    command
        .args(["--mode=root", "--variant=essential", "--format=directory", "--quiet"])
        .arg(format!("--include={packages}"))
        // PostgreSQL's package would make a database cluster in the image.
        .arg(
            "--essential-hook=mkdir -p \"$1/etc/postgresql-common\" && \
             echo 'create_main_cluster = false' > \"$1/etc/postgresql-common/createcluster.conf\"",
        )
        .arg(&debian.suite)
        .arg(output)
        .args(&sources)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C.UTF-8");
    run(&mut command, &format!("mmdebstrap (root file system `{name}`)"))
        .map_err(|error| error.hint(HINT))?;
    // The host's resolver and package lists mean nothing inside.
    for file in ["etc/resolv.conf", "etc/hostname"] {
        let _ = fs::remove_file(output.join(file));
    }
    // Documentation, translations and package lists are dead weight in an image that is imported at every start.
    for folder in [
        "usr/share/doc",
        "usr/share/man",
        "usr/share/locale",
        "usr/share/info",
        "var/lib/apt/lists",
        "var/cache/apt",
    ] {
        let path = output.join(folder);
        fs::remove_dir_all(&path).or_else(missing_is_fine).doing(|| format!("clear {}", path.display()))?;
    }
    Ok(())
}

fn missing_is_fine(cause: std::io::Error) -> std::io::Result<()> {
    if cause.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(cause) }
}

/// The lines of the machine's own sources of Debian packages, for the pinned release.
fn sources(suite: &str) -> Result<Vec<String>> {
    let targets = || {
        run(
            Command::new("apt-get").args([
                "indextargets",
                "--format",
                "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)",
                "Created-By: Packages",
            ]),
            "apt-get indextargets",
        )
        .map_err(|error| error.hint(HINT))
    };
    let mut lines = source_lines(&targets()?, suite);
    if lines.is_empty() {
        // Before the first update apt knows no origin of its sources.
        run(Command::new("apt-get").arg("update"), "apt-get update").map_err(|error| error.hint(HINT))?;
        lines = source_lines(&targets()?, suite);
    }
    if lines.is_empty() {
        return Err(Error::new("apt has no source of Debian's packages here").hint(HINT));
    }
    Ok(lines)
}

/// Turns apt's own list of what it reads into source lines for `suite`, whichever release the machine itself is of.
fn source_lines(targets: &str, suite: &str) -> Vec<String> {
    let mut lines: Vec<String> = targets
        .lines()
        .filter_map(|line| {
            let mut fields = line.split('|');
            let (origin, uri, release) = (fields.next()?, fields.next()?, fields.next()?);
            let component = fields.next()?;
            let suffix = release.split_once('-').map(|(_, suffix)| format!("-{suffix}")).unwrap_or_default();
            if origin != "Debian" || !["", "-updates", "-security"].contains(&suffix.as_str()) {
                return None;
            }
            Some(format!("deb {uri} {suite}{suffix} {component}"))
        })
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

/// Unpacks packages into a folder, with all that they depend on, from the machine's own sources. The machine's packages stay as they
/// are, and what it has installed already is unpacked as well.
pub(super) fn unpack(packages: &[String], scratch: &Path, output: &Path) -> Result<()> {
    let archives = scratch.join("archives");
    fs::create_dir_all(archives.join("partial")).doing(|| format!("make {}", archives.display()))?;
    let status = scratch.join("status");
    fs::write(&status, "").doing(|| format!("write {}", status.display()))?;
    let download = || {
        let mut command = Command::new("apt-get");
        for (name, value) in [
            ("Dir::State::status", status.display().to_string()),
            ("Dir::Cache::archives", archives.display().to_string()),
            ("APT::Install-Recommends", "false".to_owned()),
            ("APT::Sandbox::User", String::new()),
            ("Debug::NoLocking", "true".to_owned()),
        ] {
            command.arg("-o").arg(format!("{name}={value}"));
        }
        run(
            command.args(["--download-only", "--yes", "install"]).args(packages),
            "apt-get install --download-only",
        )
    };
    if download().is_err() {
        run(Command::new("apt-get").arg("update"), "apt-get update").map_err(|error| error.hint(HINT))?;
        download().map_err(|error| error.hint(HINT))?;
    }
    fs::create_dir_all(output).doing(|| format!("make {}", output.display()))?;
    let entries = fs::read_dir(&archives).doing(|| format!("list {}", archives.display()))?;
    for package in
        entries.flatten().map(|it| it.path()).filter(|it| it.extension().is_some_and(|it| it == "deb"))
    {
        run(Command::new("dpkg").arg("-x").arg(&package).arg(output), "dpkg -x")?;
    }
    fs::remove_dir_all(&archives).doing(|| format!("clear {}", archives.display()))
}

/// Unpacks mmdebstrap beside the build: the machine's own packages stay as they are.
fn fetch_mmdebstrap(scratch: &Path) -> Result<std::path::PathBuf> {
    let folder = scratch.join("mmdebstrap");
    let tool = folder.join("usr/bin/mmdebstrap");
    if tool.is_file() {
        return Ok(tool);
    }
    fs::create_dir_all(&folder).doing(|| format!("make {}", folder.display()))?;
    let download = || {
        run(
            Command::new("apt-get")
                .args(["download", "-o", "APT::Sandbox::User=root", "mmdebstrap"])
                .current_dir(&folder),
            "apt-get download mmdebstrap",
        )
    };
    if download().is_err() {
        run(Command::new("apt-get").arg("update"), "apt-get update").map_err(|error| error.hint(HINT))?;
        download().map_err(|error| error.hint(HINT))?;
    }
    let package = fs::read_dir(&folder)
        .doing(|| format!("list {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .ok_or_else(|| Error::new("apt-get downloaded no package").hint(HINT))?;
    run(Command::new("dpkg").arg("-x").arg(package).arg(&folder), "dpkg -x")?;
    Ok(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_sources_are_kept_and_foreign_ones_left_out() {
        let targets = "Debian|http://mirror/debian/|trixie|main\n\
                       Debian|http://mirror/debian/|trixie|main\n\
                       Debian|http://mirror/debian/|trixie-updates|main\n\
                       Debian|http://mirror/debian/|trixie-backports|main\n\
                       Somebody|https://other/apt|stable|main\n";
        assert_eq!(
            source_lines(targets, "bookworm"),
            ["deb http://mirror/debian/ bookworm main", "deb http://mirror/debian/ bookworm-updates main"]
        );
    }
}
