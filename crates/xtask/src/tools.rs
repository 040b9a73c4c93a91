//! What the steps need besides the Rust toolchain: installed once, at a pinned version, into the cache.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{cargo, succeed};

const CARGO_DENY: &str = "0.20.2";
const MDBOOK: &str = "0.5.4";

/// The path of cargo-deny, installed if it is missing.
pub(crate) fn cargo_deny() -> Result<PathBuf, String> {
    installed("cargo-deny", CARGO_DENY, &[])
}

/// The path of mdBook, installed if it is missing: without its server, which nobody needs for building.
pub(crate) fn mdbook() -> Result<PathBuf, String> {
    installed("mdbook", MDBOOK, &["--no-default-features", "--features=search"])
}

fn installed(name: &str, version: &str, features: &[&str]) -> Result<PathBuf, String> {
    let root = cache()?.join(format!("tools/{name}-{version}"));
    let program = root.join("bin").join(name);
    if !program.is_file() {
        println!("    installing {name} {version} (once, some minutes)");
        // Unoptimised: it takes a third of the time to build, and does its work in a second all the same.
        let mut install = cargo(&["install", "--locked", "--debug", "--quiet", name]);
        install.arg(format!("--version=={version}")).args(features).arg("--root").arg(&root);
        // Its own build must not see how ours is set up.
        install.env_remove("RUSTFLAGS").env_remove("CARGO_TARGET_DIR").current_dir(cache()?);
        succeed(&mut install)?;
    }
    Ok(program)
}

/// Whether we may make namespaces and mounts, as the real node needs.
pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|done| done.stdout == b"0\n")
}

/// The same folder that the test bed uses.
pub(crate) fn cache() -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("PEMDAS_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("pemdas")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache/pemdas")))
        .ok_or("neither PEMDAS_CACHE nor HOME is set")?;
    std::fs::create_dir_all(&folder).map_err(|cause| format!("cannot make {}: {cause}", folder.display()))?;
    Ok(folder)
}
