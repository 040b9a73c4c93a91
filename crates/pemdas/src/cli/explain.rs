//! `pemdas explain`: why is this where it is.

use clap::{Args, ValueEnum};
use pemdas_core::world::ObjectKey;
use serde_json::Value;

use super::{
    Outcome, check,
    cluster::{Reading, not_answered},
    complete, could_not_run,
    progress::Still,
    workers,
};
use crate::{
    explain::{self, Explained, Explainer, State},
    live::Lost,
    operate::Workers,
    pages, render,
    terminal::{self, Colour},
};

/// Explain why an instance, or one of its objects, is in its state: the chain of waits down to the root cause
///
/// Reads the cluster with your own permissions and runs the operator's engine on what it finds. It writes nothing. For an object of
/// an instance, it shows the instance and the node, why the object exists, what it waits for, and what waits for it. For the
/// ConfigMap of a blueprint, it shows what the operator reports. Without a name, it lists the instances of a kind. For a diagnostic
/// code, such as PM0104, it prints the page of the code and needs no cluster.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 ready, 1 not ready, 2 nothing could be explained.",
    after_long_help = "\
Examples:
  pemdas explain foo/one                 an instance of the kind Foo in the context's namespace
  pemdas explain deploy/web -n shop      a Deployment that an instance made
  pemdas explain foo -A                  all instances of a kind, and their states
  pemdas explain cm/my-blueprint         a blueprint: problems, missing permissions, rollout
  pemdas explain PM0104                  a diagnostic code

Exit status: 0 ready, 1 not ready, 2 nothing could be explained."
)]
pub(super) struct Explain {
    /// What to explain: KIND/NAME, KIND NAME, KIND for a list, or a diagnostic code; kinds are named as for kubectl
    #[arg(value_name = "KIND[/NAME]|CODE", required = true, num_args = 1..=2, add = complete::objects())]
    what: Vec<String>,
    /// The instances of all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// The most instances that a list shows
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
    /// One TYPE/NAME a line, as kubectl prints and reads it
    Name,
}

impl Format {
    /// Prints a document, the text, or the names of objects.
    pub(super) fn say(
        self,
        document: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
        names: impl FnOnce() -> Vec<ObjectKey>,
    ) {
        match self {
            Self::Name => terminal::hand_over(&names().iter().map(named).collect::<String>()),
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

/// An object as kubectl names it in a line of its own.
fn named(key: &ObjectKey) -> String {
    render::object_name(&key.kind.kind, &key.kind.group, &key.name)
}

impl Explain {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        if let [code] = self.what.as_slice()
            && pages::is_code(code)
        {
            return check::explain(code);
        }
        let (kind, name) = match self.words() {
            Ok(words) => words,
            Err(outcome) => return outcome,
        };
        let session = match self.reading.session() {
            Ok(session) => session,
            Err(outcome) => return outcome,
        };
        let workers = match workers(Workers::new()) {
            Ok(workers) => workers,
            Err(outcome) => return outcome,
        };
        let explainer = Explainer::new(&session, workers);
        let (now, coloured) = (session.now(), colour.on_stdout());
        let Some(name) = name else {
            let still = Still::says("reading the cluster", colour);
            let listed = explainer.list(&kind, self.all_namespaces, self.limit);
            drop(still);
            return match listed {
                Err(lost) => told(&lost),
                Ok((all, more)) => {
                    self.output.say(
                        || explain::json::listed(&all, more),
                        || explain::text::listed(&all, more, self.all_namespaces, now, coloured),
                        || all.iter().map(|it| it.root.clone()).collect(),
                    );
                    if all.iter().all(|it| it.state == State::Ready) {
                        Outcome::Clean
                    } else {
                        Outcome::Problems
                    }
                }
            };
        };
        let still = Still::says("reading the cluster", colour);
        let explained = explainer.object(&kind, &name);
        drop(still);
        match explained {
            Err(lost) => told(&lost),
            Ok(all) => {
                self.output.say(
                    || explain::json::explained(&all),
                    || explain::text::explained(&all, now, coloured),
                    || all.iter().map(|it| it.about().clone()).collect(),
                );
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
