//! Where the pinned version of Kubernetes lies, and its OpenAPI documents.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The folder of the `go.mod` that pins the version, below the root of the workspace.
const PIN: &str = "crates/pemdas-testbed/pins/kubernetes";
const MODULE: &str = "k8s.io/kubernetes";

/// The module of the pinned version in Go's cache.
pub(crate) struct Module {
    pub(crate) version: String,
    pub(crate) dir: PathBuf,
}

/// Asks Go for the pinned module. Go checks it against the pin's `go.sum`, and downloads it when it is missing.
pub(crate) fn locate(root: &Path) -> Result<Module> {
    let pin = root.join(PIN);
    let output = Command::new("go")
        .args(["mod", "download", "-json", MODULE])
        .current_dir(&pin)
        .output()
        .context("running `go`: the OpenAPI document comes from a Go module")?;
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let (Some(version), Some(dir)) = (told["Version"].as_str(), told["Dir"].as_str()) else {
        let reason = told["Error"].as_str().map_or_else(
            || String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            std::borrow::ToOwned::to_owned,
        );
        bail!("`go mod download {MODULE}` in {PIN}: {reason}");
    };
    Ok(Module { version: version.to_owned(), dir: PathBuf::from(dir) })
}

/// The OpenAPI v3 documents of all groups and versions, in the order of their file names.
pub(crate) fn documents(module: &Path) -> Result<Vec<Value>> {
    let folder = module.join("api/openapi-spec/v3");
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("api") && path.extension().is_some_and(|end| end == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let text = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
            serde_json::from_slice(&text).with_context(|| format!("parsing {}", path.display()))
        })
        .collect()
}
