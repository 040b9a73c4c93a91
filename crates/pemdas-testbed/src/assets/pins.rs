//! What is built, and from which versions. The versions themselves stand in one place, the folder `pins`:
//! a Go module for each program or family of programs, and `debian.toml` for Debian's packages.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::error::{Doing, Error, Result};

/// A program of the cluster: its name, and the Go module and package it is built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// The name of its file.
    pub name: &'static str,
    /// The folder of its module under `pins`.
    pub module: &'static str,
    /// The Go package with its `main`.
    pub package: &'static str,
    /// How long it takes to build on two cores with empty caches, for the person who waits.
    pub minutes: u32,
}

/// What both levels need.
pub const CONTROL_PLANE: [Program; 6] = [
    program("etcd", "etcd", "go.etcd.io/etcd/server/v3", 2),
    program("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", 5),
    program("kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", 2),
    program("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", 1),
    program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", 1),
    program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", 2),
];

/// What only the node needs.
pub const NODE: [Program; 4] = [
    program("kubelet", "kubernetes", "k8s.io/kubernetes/cmd/kubelet", 4),
    program("kube-proxy", "kubernetes", "k8s.io/kubernetes/cmd/kube-proxy", 1),
    program("coredns", "coredns", ".", 2),
    program("pause", "pause", ".", 1),
];

/// What no cluster runs, and people do.
pub const HELM: Program = program("helm", "helm", "helm.sh/helm/v4/cmd/helm", 3);

const fn program(name: &'static str, module: &'static str, package: &'static str, minutes: u32) -> Program {
    Program { name, module, package, minutes }
}

/// The root file systems that are made from Debian's packages.
#[derive(Debug, Deserialize)]
pub(crate) struct Debian {
    /// The release they come from.
    pub(crate) suite: String,
    /// Each by its name.
    pub(crate) rootfs: std::collections::BTreeMap<String, Packages>,
}

/// The packages of one root file system, besides the essential ones.
#[derive(Debug, Deserialize)]
pub(crate) struct Packages {
    pub(crate) packages: Vec<String>,
}

/// The packages of the browser.
pub(crate) fn browser() -> Result<Packages> {
    let path = folder().join("browser.toml");
    let text = std::fs::read_to_string(&path).doing(|| format!("read {}", path.display()))?;
    toml::from_str(&text).doing(|| format!("understand {}", path.display()))
}

/// The folder of the pins.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pins")
}

/// Debian's part of the pins.
pub(crate) fn debian() -> Result<Debian> {
    let path = folder().join("debian.toml");
    let text = std::fs::read_to_string(&path).doing(|| format!("read {}", path.display()))?;
    toml::from_str(&text).doing(|| format!("understand {}", path.display()))
}

/// The variable that chooses another minor version of Kubernetes than the usual one, such as `1.34`.
pub const KUBERNETES: &str = "PEMDAS_KUBERNETES";

/// The folder of a program's module: that of Kubernetes depends on which version is wanted.
pub(crate) fn module(program: Program) -> Result<String> {
    if program.module != "kubernetes" {
        return Ok(program.module.to_owned());
    }
    let wanted = std::env::var(KUBERNETES).unwrap_or_default();
    let module = module_of_kubernetes(&wanted)?;
    let only_usual = NODE.iter().any(|it| it.name == program.name);
    if only_usual && module != "kubernetes" {
        return Err(Error::new(format!("there is no node of Kubernetes {wanted}, only a control plane"))
            .hint(format!("unset {KUBERNETES}")));
    }
    Ok(module)
}

fn module_of_kubernetes(wanted: &str) -> Result<String> {
    let usual = kubernetes_version("kubernetes")?;
    if wanted.is_empty() || usual.starts_with(&format!("v{wanted}.")) {
        return Ok("kubernetes".to_owned());
    }
    let minors = other_minors()?;
    if minors.iter().any(|it| it == wanted) {
        return Ok(format!("kubernetes-{wanted}"));
    }
    let usual = usual.trim_start_matches('v').rsplit_once('.').map_or("", |(minor, _)| minor).to_owned();
    Err(Error::new(format!("there is no Kubernetes `{wanted}` among the pins"))
        .hint(format!("{KUBERNETES} may be {}, or {usual}, the usual one", minors.join(", "))))
}

/// The minor versions that there are besides the usual one.
pub fn other_minors() -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder()).doing(|| format!("list {}", folder().display()))?;
    let names = entries.filter_map(|it| it.ok()?.file_name().into_string().ok());
    let mut minors: Vec<String> =
        names.filter_map(|it| it.strip_prefix("kubernetes-").map(str::to_owned)).collect();
    minors.sort();
    Ok(minors)
}

/// The version of Kubernetes that a folder of the pins names, such as `v1.36.3`.
pub(crate) fn kubernetes_version(module: &str) -> Result<String> {
    let path = folder().join(module).join("go.mod");
    let text = std::fs::read_to_string(&path).doing(|| format!("read {}", path.display()))?;
    required_version(&text, "k8s.io/kubernetes")
        .ok_or_else(|| Error::new(format!("{} does not require k8s.io/kubernetes", path.display())))
}

/// The version of `module` in the text of a go.mod, in a line or in a block of `require`.
fn required_version(go_mod: &str, module: &str) -> Option<String> {
    go_mod.lines().find_map(|line| {
        let mut words = line.trim().trim_start_matches("require ").split_whitespace();
        if words.next()? != module {
            return None;
        }
        words.next().filter(|version| version.starts_with('v')).map(str::to_owned)
    })
}

/// A short digest over every file of one folder (or one file) of the pins: what is built from it is kept under this name.
pub(crate) fn digest(name: &str) -> Result<String> {
    let root = folder().join(name);
    let mut files = if root.is_dir() {
        std::fs::read_dir(&root)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>())
            .doing(|| format!("list {}", root.display()))?
    } else {
        vec![root]
    };
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let content = std::fs::read(&file).doing(|| format!("read {}", file.display()))?;
        hash.update(file.file_name().unwrap_or_default().as_encoded_bytes());
        hash.update(u64::try_from(content.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(&content);
    }
    Ok(hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_a_module_among_the_pins() {
        for program in CONTROL_PLANE.iter().chain(&NODE).chain([&HELM]) {
            assert!(folder().join(program.module).join("go.mod").is_file(), "{} has no pins", program.name);
        }
    }

    #[test]
    fn every_minor_version_has_pins_of_its_own_version() {
        for minor in other_minors().unwrap() {
            let module = module_of_kubernetes(&minor).unwrap();
            let version = kubernetes_version(&module).unwrap();
            assert!(version.starts_with(&format!("v{minor}.")), "{module} pins {version}");
        }
        assert_eq!(module_of_kubernetes("").unwrap(), "kubernetes");
        assert_eq!(module_of_kubernetes("1.36").unwrap(), "kubernetes");
        let refused = module_of_kubernetes("1.3").unwrap_err().to_string();
        assert!(refused.contains("1.36, the usual one"), "{refused}");
    }

    #[test]
    fn the_version_is_read_from_a_line_and_from_a_block() {
        assert_eq!(required_version("require a/b v1.2.3", "a/b").as_deref(), Some("v1.2.3"));
        assert_eq!(
            required_version("require (\n\ta/bc v1.0.0\n\ta/b v1.2.3\n)", "a/b").as_deref(),
            Some("v1.2.3")
        );
        assert_eq!(required_version("tool a/b/cmd", "a/b"), None);
        assert_eq!(required_version("replace (\n\ta/b => a/b v0.1.0\n)", "a/b"), None);
    }

    #[test]
    fn the_digest_changes_with_the_pins_only() {
        assert_eq!(digest("etcd").unwrap(), digest("etcd").unwrap());
        assert_ne!(digest("etcd").unwrap(), digest("kwok").unwrap());
    }
}
