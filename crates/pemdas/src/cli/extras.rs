//! Shell completions and manual pages, made from the flags.

use std::{fs, path::PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::{Shell, env::Shells};

use super::{Arguments, Outcome, complete::ASKED, could_not_run};
use crate::terminal;

/// Print the completion script of a shell; it completes names from the cluster, too
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(pemdas completions bash)                              in ~/.bashrc
  pemdas completions zsh > \"${fpath[1]}/_pemdas\"
  pemdas completions fish > ~/.config/fish/completions/pemdas.fish

As a plugin of kubectl, links beside the program, in a folder of $PATH:
  ln -s pemdas kubectl-pemdas              kubectl pemdas explain foo/one -n shop
  ln -s pemdas kubectl_complete-pemdas     and its completions, by those of kubectl")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Outcome {
        let shells = Shells::builtins();
        let Some(shell) = shells.completer(&self.shell.to_string()) else {
            return could_not_run(&format!("{} is not known", self.shell), None);
        };
        let mut text = Vec::new();
        match shell.write_registration(ASKED, "pemdas", "pemdas", "pemdas", &mut text) {
            Ok(()) => terminal::hand_over(&String::from_utf8_lossy(&text)),
            Err(why) => return could_not_run(&why.to_string(), None),
        }
        Outcome::Clean
    }
}

/// Write the manual pages into a folder
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder; it is created if it does not exist
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
