//! Shell completions and manual pages, made from the flags.

use std::{fs, path::PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Arguments, Outcome, could_not_run};
use crate::terminal;

/// Print the completions of a shell, to be loaded by it
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Outcome {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "pemdas", &mut text);
        terminal::say(&String::from_utf8_lossy(&text));
        Outcome::Clean
    }
}

/// Write the manual pages into a folder
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder; it is made if it is missing
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

impl Man {
    pub(super) fn run(&self) -> Outcome {
        let made = fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(Arguments::command(), &self.folder));
        match made {
            Ok(()) => Outcome::Clean,
            Err(error) => could_not_run(&format!("cannot write to {}: {error}", self.folder.display()), None),
        }
    }
}
