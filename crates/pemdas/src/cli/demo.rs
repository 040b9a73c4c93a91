//! `pemdas demo`: an example on a simulated cluster, with the operator itself.

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread::JoinHandle,
    time::Duration,
};

use clap::Args;
use pemdas_core::diagnostic::Severity;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{
    Outcome,
    cluster::{Cluster, Reading},
    could_not_run,
    run::{Run, stopped},
};
use crate::{
    demo::{
        Attempt,
        bed::{Bed, Trouble},
        examples::EXAMPLES,
        play::{self, Play},
        screen::{Screen, Stage},
        watch::{Looker, Standing, Watched},
    },
    draw::Picture,
    load::{self, Checked},
    operate::Workers,
    render,
    terminal::{self, Colour},
};

/// How often it is looked whether something has changed.
const TICK: Duration = Duration::from_millis(100);
/// The namespace in which the operator keeps what is its own.
const OPERATOR: &str = "pemdas-system";

/// Play an example on a simulated cluster: the operator itself, its graphs as they come alive, and a kubeconfig to play with
///
/// Everything is in this process, and gone when it ends: an API server, controllers that play the cluster's part, and the same operator
/// as of `pemdas run`. No pods run; workloads become ready after a few seconds, faster with --speed. On a terminal the graphs are
/// drawn in place; elsewhere every change is a line. The operator's log goes to standard error if RUST_LOG says how much of it.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 ended, or ready with --until-ready, 1 not ready or refused, 2 it could not run.",
    after_long_help = "\
Examples:
  pemdas demo                            the example foo-service
  pemdas demo web-app --speed 5          another one, five times as fast
  pemdas demo ./my-blueprint             a folder with a main.ncl, and what to create in sample/
  pemdas demo --until-ready > log.txt    for scripts

A folder may have an access.yaml, which is applied first, and a demo.yaml, which says how it is played: what to apply, what Services
answer, how workloads behave, what to try. Those of the examples show how.

Exit status: 0 ended, or ready with --until-ready, 1 not ready or refused, 2 it could not run."
)]
pub(super) struct Demo {
    /// The example, or a folder with a blueprint
    #[arg(value_name = "EXAMPLE", default_value = "foo-service")]
    example: String,
    /// List the examples
    #[arg(long)]
    list: bool,
    /// How many times as fast as here the time of the cluster passes
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// The port of this machine at which kubectl reaches the cluster; 0 for any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Where to write the kubeconfig, in place of a temporary folder; the file must not be there yet, and goes in the end
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    /// End as soon as all instances are ready, or stall
    #[arg(long)]
    until_ready: bool,
}

fn speed(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    if (0.01..=1_000.0).contains(&number) { Ok(number) } else { Err("between 0.01 and 1000".to_owned()) }
}

/// The operator, in a thread of its own until this is dropped.
struct Operator {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<ExitCode>>,
}

impl Operator {
    fn start(bed: &Bed, workers: Workers, colour: Colour) -> Self {
        let run = Run::by_itself(Cluster::at(bed.kubeconfig()), OPERATOR);
        // It would be written over the picture: only who asks for the log gets it.
        if std::env::var_os("RUST_LOG").is_some() {
            run.log(colour);
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let work = move || run.run_until(workers, async { drop(stopped.await) }).into();
        Self { stop: Some(stop), thread: Some(std::thread::spawn(work)) }
    }

    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl Demo {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        if self.list {
            let width = EXAMPLES.iter().map(|it| it.name.len()).max().unwrap_or(0);
            let list = EXAMPLES.iter().map(|it| format!("{:width$}  {}\n", it.name, it.about()));
            terminal::say(&list.collect::<String>());
            return Outcome::Clean;
        }
        let mut play = match play::find(&self.example) {
            Ok(play) => play,
            Err(nothing) => return could_not_run(&nothing.message, nothing.hint.as_deref()),
        };
        let files = play.given.files.clone();
        let checked = load::check(std::mem::take(&mut play.given));
        play.given.files = files;
        match self.perform(&play, &checked, colour) {
            Ok(outcome) | Err(outcome) => outcome,
        }
    }

    fn perform(&self, play: &Play, checked: &Checked, colour: Colour) -> Result<Outcome, Outcome> {
        let (Some(blueprint), Some(graph)) = (&checked.blueprint, &checked.graph) else {
            return Err(faulty(checked, colour));
        };
        if checked.worst() == Some(Severity::Error) {
            return Err(faulty(checked, colour));
        }
        let own = graph.roots == [pemdas_core::graph::OWN_ROOT];
        if !play.has_samples() && !own {
            let message = format!("{} has nothing in sample/ to begin with", self.example);
            let hint = "put an object of a kind of the blueprint there, as the examples do";
            return Err(could_not_run(&message, Some(hint)));
        }
        let bed = self.bed(play)?;
        let picture = Picture::of(blueprint, graph, &checked.given.files);
        let kubeconfig = bed.kubeconfig();
        let attempts = attempts(play);
        let stage =
            Stage { picture: &picture, kubeconfig: &kubeconfig, attempts: &attempts, speed: self.speed };
        let mut objects = vec![
            (
                String::new(),
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": OPERATOR } }),
            ),
            (String::new(), play.blueprint(&blueprint.name)),
        ];
        // Without the account nothing may be done, and without the blueprint there are no kinds.
        let access = play.objects.iter().take_while(|(file, _)| file == play::ACCESS).count();
        objects.splice(1..1, play.objects.iter().take(access).cloned());
        objects.extend(play.objects.iter().skip(access).cloned());
        let mut watched = Watched::new(&bed, blueprint, objects);
        watched.create().map_err(|why| refused(&why))?;
        let workers = || {
            Workers::new()
                .map_err(|why| could_not_run(&format!("this program cannot find itself: {why}"), None))
        };
        let operator = Operator::start(&bed, workers()?, colour);
        let ended = signals(&bed);
        let mut screen = Screen::open(colour);
        screen.begin(&stage);
        let result = self.go(&mut watched, &mut screen, &stage, &operator, &ended, workers()?);
        screen.close(&stage, &watched);
        drop(operator);
        match result {
            Err(why) => Err(refused(&why)),
            Ok(end) => Ok(self.told(end, &watched)),
        }
    }

    fn bed(&self, play: &Play) -> Result<Bed, Outcome> {
        let scenario = play.script.scenario().map_err(|why| could_not_run(&why, None))?;
        let place = self.kubeconfig_out.as_deref();
        Bed::new(scenario, self.speed, self.port, place).map_err(|trouble| match trouble {
            Trouble::Port(why) => could_not_run(
                &format!("the port {} cannot be had: {why}", self.port),
                Some("leave --port out: any that is free is taken"),
            ),
            Trouble::Kubeconfig(why) => {
                let shown = place.map(|it| format!(" {}", it.display())).unwrap_or_default();
                let hint = "give --kubeconfig-out a file that is not there yet, in a folder that is";
                could_not_run(&format!("the kubeconfig{shown} cannot be written: {why}"), Some(hint))
            }
            Trouble::Here(why) => could_not_run(&format!("nothing can be run here: {why}"), None),
        })
    }

    /// Shows it until it ends.
    fn go(
        &self,
        watched: &mut Watched<'_>,
        screen: &mut Screen,
        stage: &Stage<'_>,
        operator: &Operator,
        ended: &Receiver<()>,
        workers: Workers,
    ) -> Result<End, String> {
        // Its kinds are asked for once: they have to be there.
        while !watched.is_served() {
            if let Some(end) = self.pause(watched, screen, stage, operator, ended)? {
                return Ok(end);
            }
        }
        let reading = Reading::at(stage.kubeconfig.to_owned(), OPERATOR);
        let looker = Looker::start(watched, move || reading.session().ok(), workers);
        loop {
            watched.take(&looker);
            if let Some(end) = self.pause(watched, screen, stage, operator, ended)? {
                return Ok(end);
            }
        }
    }

    /// Shows how it is, and waits for a moment; how it ended, if it did.
    fn pause(
        &self,
        watched: &mut Watched<'_>,
        screen: &mut Screen,
        stage: &Stage<'_>,
        operator: &Operator,
        ended: &Receiver<()>,
    ) -> Result<Option<End>, String> {
        watched.create()?;
        watched.listen();
        let seen = screen.show(stage, watched);
        let standing = watched.standing();
        if self.until_ready && standing != Standing::Moving {
            return Ok(Some(End::Standing(standing)));
        }
        if operator.has_ended() {
            return Err("the operator has ended".to_owned());
        }
        match ended.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout) if seen => Ok(None),
            _ => Ok(Some(End::Stopped)),
        }
    }

    fn told(&self, end: End, watched: &Watched<'_>) -> Outcome {
        let (said, outcome) = match end {
            End::Standing(Standing::Ready) => ("all instances are ready", Outcome::Clean),
            End::Standing(Standing::Stalled) => {
                ("an instance is stalled: a human must look", Outcome::Problems)
            }
            End::Standing(_) => ("nothing happens any more, and not all is ready", Outcome::Problems),
            End::Stopped if self.until_ready => ("stopped before all was ready", Outcome::Problems),
            End::Stopped => ("stopped: the cluster and its kubeconfig are gone", Outcome::Clean),
        };
        terminal::say(&format!("{said}\n"));
        if matches!(end, End::Standing(Standing::Quiet | Standing::Stalled)) {
            watched.missing().iter().for_each(|it| terminal::say(&format!("  {it}\n")));
        }
        outcome
    }
}

/// How it ended.
#[derive(Clone, Copy)]
enum End {
    /// As it was waited for.
    Standing(Standing),
    /// Somebody stopped it, or went away.
    Stopped,
}

/// Says what is wrong with the blueprint.
fn faulty(checked: &Checked, colour: Colour) -> Outcome {
    terminal::remark(&render::text::diagnostics(checked, colour.on_stderr()));
    if checked.given.unreadable { Outcome::CouldNotRun } else { Outcome::Problems }
}

fn refused(why: &str) -> Outcome {
    terminal::remark(&format!("error: {why}\n"));
    Outcome::Problems
}

/// What to try: what the script says, or what can be done with anything.
fn attempts(play: &Play) -> Vec<Attempt> {
    if !play.script.attempts.is_empty() {
        return play.script.attempts.clone();
    }
    let Some((_, object)) = play.objects.last() else { return Vec::new() };
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let place = match text("/metadata/namespace") {
        "" | "default" => String::new(),
        namespace => format!("-n {namespace} "),
    };
    let of = format!("{place}{} {}", text("/kind").to_lowercase(), text("/metadata/name"));
    let attempt = |run: String, then: &str| Attempt { run, then: then.to_owned() };
    vec![
        attempt(format!("kubectl edit {of}"), "change a field"),
        attempt(format!("pemdas explain {of}"), "why it is where it is"),
        attempt(format!("kubectl delete {of}"), "everything goes, in its order"),
    ]
}

/// Tells when somebody wants it to end.
fn signals(bed: &Bed) -> Receiver<()> {
    let (tell, ended) = mpsc::channel();
    bed.runtime().spawn(async move {
        stopped().await;
        // Whoever listened has ended by itself.
        let _told = tell.send(());
    });
    ended
}
