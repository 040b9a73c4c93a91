//! The compiled dependencies, kept in the cache outside of the repository: a fresh clone compiles only what is ours.
//!
//! They depend on the lock file, the profiles, the toolchain and a few variables, and on nothing else in the repository. A folder of the
//! cache is named by a digest of all these. It is filled by copying whatever cargo made for crates that are not of the workspace.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::cargo;
use crate::steps::target;
use crate::tools::cache;

/// What cargo made of a crate lies in these folders of a target directory, below a name that ends in a digest.
const PARTS: [&str; 3] = ["deps", ".fingerprint", "build"];
/// How many kept sets of dependencies there may be: the newest ones stay.
const MOST: usize = 2;
/// What changes how a crate is compiled.
const VARIABLES: [&str; 4] = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CC", "CFLAGS"];

/// Copies the kept dependencies into a target directory that has none yet.
pub(crate) fn restore() -> Result<(), String> {
    let (to, from) = (target().join("debug"), place()?);
    if !from.is_dir() || has(&to, "serde_json") {
        return Ok(());
    }
    println!("==> dependencies: compiled before, copied from {}", from.display());
    copy(&from, &to)
}

/// Keeps the compiled dependencies, if they are not kept yet.
pub(crate) fn keep() -> Result<(), String> {
    let (from, to) = (target().join("debug"), place()?);
    if to.is_dir() {
        return Ok(());
    }
    let ours = names_of_the_workspace()?;
    // Another process may do the same. Whichever is first wins, and nobody sees half of it.
    let partial = to.with_extension(format!("partial-{}", std::process::id()));
    for part in PARTS {
        fs::create_dir_all(partial.join(part)).map_err(|cause| format!("{}: {cause}", partial.display()))?;
        for name in entries(&from.join(part))? {
            if !ours.contains(&crate_of(&name)) {
                copy(&from.join(part).join(&name), &partial.join(part).join(&name))?;
            }
        }
    }
    if fs::rename(&partial, &to).is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    forget_old(to.parent().unwrap_or(&to))
}

/// The folder of the dependencies as they are wanted now.
fn place() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut hasher = DefaultHasher::new();
    for file in ["Cargo.lock", "Cargo.toml", ".cargo/config.toml"] {
        fs::read(root.join(file)).map_err(|cause| format!("{file}: {cause}"))?.hash(&mut hasher);
    }
    // Features of the dependencies are chosen by the members of the workspace.
    let mut manifests = entries(&root.join("crates"))?;
    manifests.sort();
    for name in manifests {
        fs::read(root.join("crates").join(name).join("Cargo.toml")).unwrap_or_default().hash(&mut hasher);
    }
    let version = Command::new("rustc").arg("-vV").output().map_err(|cause| format!("rustc: {cause}"))?;
    version.stdout.hash(&mut hasher);
    for variable in VARIABLES {
        std::env::var_os(variable).hash(&mut hasher);
    }
    Ok(cache()?.join("dependencies").join(format!("{:016x}", hasher.finish())))
}

/// The crates and packages of the workspace, as cargo names files after them.
fn names_of_the_workspace() -> Result<BTreeSet<String>, String> {
    let done = cargo(&["metadata", "--format-version=1", "--no-deps", "--locked"])
        .output()
        .map_err(|cause| format!("cargo metadata: {cause}"))?;
    Ok(names_in(&String::from_utf8_lossy(&done.stdout)))
}

/// Each target has a `src_path` after its name, and each package a `version`. Dependencies have a `source`.
fn names_in(metadata: &str) -> BTreeSet<String> {
    let named = |end: &str| {
        metadata
            .split(end)
            .filter_map(|before| before.rsplit_once(r#""name":""#))
            .map(|(_, name)| name.split('"').next().unwrap_or_default().replace('-', "_"))
            .collect::<Vec<_>>()
    };
    named(r#"","src_path":""#).into_iter().chain(named(r#"","version":""#)).collect()
}

/// `libserde_json-0123.rlib`, `serde_json-0123.d`, `serde_json-0123`: of which crate.
fn crate_of(file: &str) -> String {
    let stem = file.split('.').next().unwrap_or(file);
    let name = stem.rsplit_once('-').map_or(stem, |(name, _)| name).replace('-', "_");
    match name.strip_prefix("lib") {
        Some(rest) if file.contains(".r") || file.contains(".so") => rest.to_owned(),
        _ => name,
    }
}

fn has(target: &Path, name: &str) -> bool {
    entries(&target.join(".fingerprint")).is_ok_and(|all| all.iter().any(|it| crate_of(it) == name))
}

fn entries(folder: &Path) -> Result<Vec<String>, String> {
    let told = |cause: std::io::Error| format!("{}: {cause}", folder.display());
    let entries = fs::read_dir(folder).map_err(told)?;
    entries.map(|it| Ok(it.map_err(told)?.file_name().to_string_lossy().into_owned())).collect()
}

/// With the times of the files: cargo compares them.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|cause| format!("{}: {cause}", parent.display()))?;
    }
    let mut source = from.as_os_str().to_owned();
    if to.is_dir() {
        source.push("/.");
    }
    let done = Command::new("cp").arg("-a").arg(source).arg(to).output();
    match done {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
        Err(cause) => Err(format!("cp: {cause}")),
    }
}

fn forget_old(folder: &Path) -> Result<(), String> {
    let mut kept: Vec<_> = entries(folder)?
        .into_iter()
        .filter_map(|name| {
            let path = folder.join(name);
            Some((fs::metadata(&path).ok()?.modified().ok()?, path))
        })
        .collect();
    kept.sort();
    let too_many = kept.len().saturating_sub(MOST);
    for (_, path) in &kept[..too_many] {
        fs::remove_dir_all(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{crate_of, names_in};

    #[test]
    fn files_are_named_after_crates() {
        for file in ["libserde_json-12.rlib", "libserde_json-12.rmeta", "serde_json-12.d", "serde-json-12"] {
            assert_eq!(crate_of(file), "serde_json", "{file}");
        }
        assert_eq!(crate_of("libc-12.d"), "libc");
        assert_eq!(crate_of("libc-12"), "libc");
        assert_eq!(crate_of("liblibc-12.rmeta"), "libc");
        assert_eq!(crate_of("libthiserror_impl-12.so"), "thiserror_impl");
    }

    #[test]
    fn what_is_ours_is_told_from_what_it_depends_on() {
        let metadata = r#"{"packages":[{"name":"pemdas-core","version":"0.1.0","dependencies":[{"name":"serde","source":"registry","req":"^1"}],"targets":[{"kind":["lib"],"crate_types":["lib"],"name":"pemdas_core","src_path":"/p/lib.rs"},{"kind":["test"],"crate_types":["bin"],"name":"kube_types","src_path":"/p/t.rs"}]}]}"#;
        let names: Vec<_> = names_in(metadata).into_iter().collect();
        assert_eq!(names, ["kube_types", "pemdas_core"]);
    }
}
