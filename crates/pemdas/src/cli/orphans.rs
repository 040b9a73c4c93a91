//! `pemdas orphans`: what is left of instances that are gone.

use std::io::{self, BufRead as _, IsTerminal as _};

use clap::Args;

use super::{
    Outcome,
    cluster::Reading,
    complete, could_not_run,
    explain::{Format, told},
    progress::Still,
};
use crate::{
    live::Session,
    orphans::{self, Found, Orphan},
    terminal::{self, Colour},
};

/// Find objects whose instance no longer exists, and delete them on request
///
/// Pemdas deletes the objects of an instance with the instance. Objects stay behind if somebody removes the finalizer of the root by
/// hand, or restores a part of a backup. This command reads the cluster with your own permissions. It deletes objects only with
/// --delete, and only those whose claim Pemdas wrote: that takes permission to read the Secret pemdas-seal of the operator.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 no orphans are left, 1 orphans are left, 2 the cluster does not answer, or refuses a deletion.",
    after_long_help = "\
Examples:
  pemdas orphans                        in the context's namespace
  pemdas orphans -A                     in all namespaces, and cluster-scoped objects
  pemdas orphans deployments -n shop    of one kind
  pemdas orphans -A --delete            asks for confirmation, then deletes them

Exit status: 0 no orphans are left, 1 orphans are left, 2 the cluster does not answer, or refuses a deletion."
)]
pub(super) struct Orphans {
    /// Only objects of these kinds, named as for kubectl
    #[arg(value_name = "KIND", add = complete::kinds())]
    kinds: Vec<String>,
    /// In all namespaces, and cluster-scoped objects
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Delete them, after you confirm
    #[arg(long)]
    delete: bool,
    /// With --delete: do not ask for confirmation
    #[arg(long, short, requires = "delete")]
    yes: bool,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    reading: Reading,
}

impl Orphans {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let session = match self.reading.session() {
            Ok(session) => session,
            Err(outcome) => return outcome,
        };
        let still = Still::says("reading the objects of the cluster", colour);
        let found = orphans::find(&session, &self.kinds, self.all_namespaces);
        drop(still);
        let found = match found {
            Ok(found) => found,
            Err(lost) => return told(&lost),
        };
        self.output.say(
            || orphans::json::found(&found),
            || orphans::text::found(&found),
            || found.orphans.iter().map(|it| it.live.key.clone()).collect(),
        );
        if found.orphans.is_empty() {
            return Outcome::Clean;
        }
        if self.delete { self.delete(&session, &found) } else { Outcome::Problems }
    }

    fn delete(&self, session: &Session, found: &Found) -> Outcome {
        if !found.has_key {
            return could_not_run(
                "nothing is deleted, because the claims cannot be verified: anybody may write one",
                Some(
                    "use permissions that may get the Secret pemdas-seal in the operator's namespace; --operator-namespace says which that is",
                ),
            );
        }
        let due: Vec<&Orphan> = found.orphans.iter().filter(|it| it.verified).collect();
        if !self.yes && !confirmed(due.len()) {
            return could_not_run("nothing is deleted", Some("--yes deletes without a question"));
        }
        let mut failed = 0;
        for orphan in due {
            match session.ask(async |survey| survey.delete_orphan(&orphan.resource, &orphan.live).await) {
                Ok(()) => terminal::remark(&format!("deleted {}\n", orphan.address)),
                Err(why) => {
                    failed += 1;
                    terminal::remark(&format!("{} is not deleted: {why}\n", orphan.address));
                }
            }
        }
        if failed == 0 { Outcome::Clean } else { Outcome::CouldNotRun }
    }
}

/// Asks whether so many are to be deleted; no, where nobody can be asked.
fn confirmed(count: usize) -> bool {
    if !io::stdin().is_terminal() {
        return false;
    }
    terminal::remark(&format!("Delete these {count} objects? [y/N] "));
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim(), "y" | "Y" | "yes")
}
