//! Running other programs.

use std::process::Command;

/// Cargo itself, the one that runs us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Leaves out what the cargo that runs us has said of our own package: build scripts look at it, and would run anew, with all that
/// depends on them, for what a person's cargo has built already.
pub(crate) fn as_typed(command: &mut Command) -> &mut Command {
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(ours) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end, and fails if it does.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(cause) => Err(format!("{command:?} could not be run: {cause}")),
    }
}
