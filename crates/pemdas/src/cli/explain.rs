//! `pemdas explain`: why is this where it is.

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::{
    Outcome,
    cluster::{Reading, not_answered},
    complete, could_not_run,
};
use crate::{
    explain::{self, Explained, Explainer, State},
    live::Lost,
    operate::Workers,
    terminal::{self, Colour},
};

/// Explain why an instance, or an object of one, is where it is: the chain of waits to its root cause
///
/// Asks the cluster with your own rights and runs the same engine as the operator on what it sees; nothing is written. Of an
/// object that an instance made it tells which instance and node, why it is there, what it waits for and what waits for it. Of a
/// ConfigMap that is a blueprint it tells what the operator says of it. Without a name it lists the instances of a kind.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 ready, 1 not ready, 2 nothing could be explained.",
    after_long_help = "\
Examples:
  pemdas explain foo/one                 an instance of the kind Foo in the context's namespace
  pemdas explain deploy/web -n shop      a Deployment that an instance made
  pemdas explain foo -A                  all instances of a kind, and how they are
  pemdas explain cm/my-blueprint         a blueprint: problems, missing rights, rollout

Exit status: 0 ready, 1 not ready, 2 nothing could be explained."
)]
pub(super) struct Explain {
    /// What to explain: KIND/NAME, or KIND NAME, or KIND for a list; kinds as kubectl takes them
    #[arg(value_name = "KIND[/NAME]", required = true, num_args = 1..=2, add = complete::objects())]
    what: Vec<String>,
    /// The instances of all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// How many instances a list has at most
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    limit: usize,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    reading: Reading,
}

/// The forms of output of commands that read a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

impl Format {
    /// Prints a document, or the text.
    pub(super) fn say(self, document: impl FnOnce() -> Value, text: impl FnOnce() -> String) {
        match self {
            Self::Text => terminal::say(&text()),
            Self::Json => terminal::hand_over(&format!("{:#}\n", document())),
            Self::Yaml => {
                let document = document();
                let yaml = serde_saphyr::to_string(&document);
                terminal::hand_over(&yaml.unwrap_or_else(|_| format!("{document:#}\n")));
            }
        }
    }
}

impl Explain {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let (kind, name) = match self.words() {
            Ok(words) => words,
            Err(outcome) => return outcome,
        };
        let session = match self.reading.session() {
            Ok(session) => session,
            Err(outcome) => return outcome,
        };
        let workers = match Workers::new() {
            Ok(workers) => workers,
            Err(why) => return could_not_run(&format!("this program cannot find itself: {why}"), None),
        };
        let explainer = Explainer::new(&session, workers);
        let (now, coloured) = (session.now(), colour.on_stdout());
        let Some(name) = name else {
            return match explainer.list(&kind, self.all_namespaces, self.limit) {
                Err(lost) => told(&lost),
                Ok((all, more)) => {
                    self.output.say(
                        || explain::json::listed(&all, more),
                        || explain::text::listed(&all, more, self.all_namespaces, now, coloured),
                    );
                    if all.iter().all(|it| it.state == State::Ready) {
                        Outcome::Clean
                    } else {
                        Outcome::Problems
                    }
                }
            };
        };
        match explainer.object(&kind, &name) {
            Err(lost) => told(&lost),
            Ok(all) => {
                self.output
                    .say(|| explain::json::explained(&all), || explain::text::explained(&all, now, coloured));
                if all.iter().all(is_well) { Outcome::Clean } else { Outcome::Problems }
            }
        }
    }

    /// The kind, and the name if there is one.
    fn words(&self) -> Result<(String, Option<String>), Outcome> {
        let wrong = |message: &str| {
            Err(could_not_run(
                message,
                Some("write KIND/NAME or KIND NAME, as for kubectl get; or KIND for a list"),
            ))
        };
        match self.what.as_slice() {
            [both] => match both.split_once('/') {
                None => Ok((both.clone(), None)),
                Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                    Ok((kind.to_owned(), Some(name.to_owned())))
                }
                Some(_) => wrong(&format!("{both} is no KIND/NAME")),
            },
            [kind, name] if !kind.contains('/') && !name.contains('/') => {
                Ok((kind.clone(), Some(name.clone())))
            }
            _ => wrong("only one object is explained at a time"),
        }
    }
}

fn is_well(explained: &Explained) -> bool {
    match explained {
        Explained::Instance(it) => it.state == State::Ready,
        Explained::Blueprint(it) => it.advice.is_empty(),
        Explained::Nobodys { .. } => true,
    }
}

/// Says why nothing can be told.
pub(super) fn told(lost: &Lost) -> Outcome {
    match lost {
        Lost::Trouble(trouble) => not_answered(trouble),
        Lost::Nothing { message, hint } => could_not_run(message, hint.as_deref()),
    }
}
