//! Building the cluster's programs from their Go modules.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::pins::{self, Program};
use crate::command::run;
use crate::error::{Error, Result};

/// Builds one program into the file `output`.
pub(super) fn build(program: Program, output: &Path) -> Result<()> {
    let mut go = Command::new("go");
    go.arg("build")
        .args(["-trimpath", "-mod=readonly", "-ldflags", &link_flags(program)?, "-o"])
        .arg(output)
        .arg(program.package)
        .current_dir(pins::folder().join(pins::module(program)?))
        // Static programs run in any root file system. A workspace or vendor mode of the user's must not leak in.
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env("GOFLAGS", "-buildvcs=false");
    if which("go").is_none() {
        return Err(Error::new("there is no `go` on the PATH").hint(
            "install Go 1.26 or later, or set KUBEBUILDER_ASSETS to a folder that holds the cluster's programs",
        ));
    }
    run(&mut go, &format!("building {} with go", program.name)).map_err(|error| {
        let said = error.to_string();
        if said.contains("dial tcp") || said.contains("Get \"") {
            error.hint("the Go modules could not be fetched: look at `go env GOPROXY` and the network, then start again")
        } else {
            error
        }
    })?;
    Ok(())
}

/// The file that a program's name means on the PATH.
pub(crate) fn which(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Without a version, clients cannot parse what the API server says of itself.
fn link_flags(program: Program) -> Result<String> {
    if program.module != "kubernetes" {
        return Ok("-s -w".to_owned());
    }
    let version = pins::kubernetes_version(&pins::module(program)?)?;
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let at = "k8s.io/component-base/version";
    Ok(format!("-s -w -X {at}.gitVersion={version} -X {at}.gitMajor={major} -X {at}.gitMinor={minor}"))
}
