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
    workers,
};
use crate::{
    demo::{
        Attempt,
        bed::{Bed, Trouble},
        examples::EXAMPLES,
        keys::{Key, Keys},
        play::{self, Play},
        reload::{Edited, Reload},
        screen::{Screen, Stage},
        watch::{Looker, Standing, Watched},
    },
    draw::Picture,
    input::MAIN,
    load::{self, Checked},
    operate::Workers,
    render,
    terminal::{self, Colour},
    ui::Ui,
};

/// How often it is looked whether something has changed.
const TICK: Duration = Duration::from_millis(100);
/// The namespace in which the operator keeps what is its own.
const OPERATOR: &str = "pemdas-system";

/// Play an example on a simulated cluster, with the real operator, live graphs, and a kubeconfig for kubectl
///
/// Everything runs in this process, and ends with it: an API server, simulated controllers, and the operator of `pemdas run`. No
/// container runs; workloads become ready after a few seconds, faster with --speed. The link that is printed first shows the page of
/// `pemdas ui`. On a terminal, the demo draws the graphs in
/// place, and q quits; elsewhere it prints a line for each change. Set RUST_LOG to see the operator's log on standard error.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 ended, or ready with --until-ready, 1 not ready or refused, 2 it cannot run.",
    after_long_help = "\
Examples:
  pemdas demo                            the example web-app
  pemdas demo postgres --speed 5         another one, five times as fast
  pemdas demo .                          this folder: a blueprint, and what to create in sample/
  pemdas demo --until-ready > log.txt    for scripts

The demo reads a blueprint of your own again whenever you save it. A folder may have an access.yaml, which the demo applies first,
and a demo.yaml, which says what to apply, what Services answer, how workloads behave, and what to try. The examples have both.

Exit status: 0 ended, or ready with --until-ready, 1 not ready or refused, 2 it cannot run."
)]
pub(super) struct Demo {
    /// The example, or a folder with a blueprint
    #[arg(value_name = "EXAMPLE", default_value = "web-app")]
    example: String,
    /// List the examples
    #[arg(long)]
    list: bool,
    /// How many times faster the cluster's time passes than yours
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// The local port at which kubectl reaches the cluster; 0 for any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Where to write the kubeconfig, instead of a temporary folder. The file must not exist; the demo removes it at its end
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    /// End as soon as all instances are ready, or one is stalled
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
        let page = page(&bed)?;
        let stage = Stage {
            page,
            picture: Picture::of(blueprint, graph, &checked.given.files),
            kubeconfig: bed.kubeconfig(),
            attempts: attempts(play),
            speed: self.speed,
            has_kubectl: has_kubectl(),
        };
        let mut objects = vec![
            (
                String::new(),
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": OPERATOR } }),
            ),
            (MAIN.to_owned(), play.blueprint(&blueprint.name)),
        ];
        // Without the account nothing may be done, and without the blueprint there are no kinds.
        let access = play.objects.iter().take_while(|(file, _)| file == play::ACCESS).count();
        objects.splice(1..1, play.objects.iter().take(access).cloned());
        objects.extend(play.objects.iter().skip(access).cloned());
        let mut watched = Watched::new(&bed, blueprint.clone(), objects);
        watched.create().map_err(|why| refused(&why))?;
        let operator = Operator::start(&bed, workers(Workers::new())?, colour);
        let mut screen = Screen::open(colour);
        let keys = Keys::open(screen.is_terminal());
        screen.begin(&stage);
        let mut show = Show {
            configmap: blueprint.name.clone(),
            reload: Reload::of(&self.example, play),
            ended: signals(&bed),
            keys,
            operator,
            stage,
            watched,
            screen,
        };
        let result = self.go(&mut show);
        let Show { stage, watched, screen, operator, keys, .. } = show;
        screen.close(&stage, &watched);
        drop((keys, operator));
        match result {
            Err(why) => Err(why),
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
    fn go(&self, show: &mut Show<'_>) -> Result<End, Outcome> {
        let mut looker: Option<Looker> = None;
        loop {
            if let Some(end) = self.pause(show).map_err(|why| refused(&why))? {
                return Ok(end);
            }
            // Its kinds are asked for once: they have to be served by then.
            if looker.is_none() && show.watched.is_served() {
                let reading = Reading::at(show.stage.kubeconfig.clone(), OPERATOR);
                // A user who quits at once removes the kubeconfig before it is read. That is no error.
                let session = move || reading.try_session().ok();
                looker = Some(Looker::start(&show.watched, session, workers(Workers::new())?));
            }
            if let Some(looker) = &looker {
                show.watched.take(looker);
            }
            if let Some(edited) = show.reload.edited()
                && show.edited(edited)
            {
                looker = None;
            }
        }
    }

    /// Shows how it is, and waits for a moment; how it ended, if it did.
    fn pause(&self, show: &mut Show<'_>) -> Result<Option<End>, String> {
        let Show { watched, screen, stage, operator, ended, keys, .. } = show;
        for key in keys.pressed() {
            match key {
                Key::Quit => return Ok(Some(End::Stopped)),
                Key::Again => watched.again(),
            }
        }
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
                ("an instance is stalled and needs attention", Outcome::Problems)
            }
            End::Standing(_) => {
                ("nothing changes any more, and not all instances are ready", Outcome::Problems)
            }
            End::Stopped if self.until_ready => {
                ("stopped before all instances were ready", Outcome::Problems)
            }
            End::Stopped => ("stopped: the cluster and its kubeconfig are gone", Outcome::Clean),
        };
        terminal::say(&format!("{said}\n"));
        if matches!(end, End::Standing(Standing::Quiet | Standing::Stalled)) {
            watched.missing().iter().for_each(|it| terminal::say(&format!("  {it}\n")));
        }
        outcome
    }
}

/// Everything that goes on while it is shown.
struct Show<'a> {
    /// The name of the blueprint's ConfigMap.
    configmap: String,
    reload: Reload,
    ended: Receiver<()>,
    keys: Keys,
    operator: Operator,
    stage: Stage,
    watched: Watched<'a>,
    screen: Screen,
}

impl Show<'_> {
    /// Takes what somebody edited; whether instances are of other kinds now. What is broken goes to the cluster as well: the operator
    /// says what is wrong, as it would elsewhere, and runs on with what was right.
    fn edited(&mut self, edited: Result<Edited, String>) -> bool {
        let Edited { play, checked } = match edited {
            Ok(edited) => edited,
            Err(why) => {
                self.watched.trouble = vec![why];
                return false;
            }
        };
        self.watched.trouble = render::text::short(&checked);
        if !play.given.files.is_empty() {
            let objects = std::iter::once((MAIN.to_owned(), play.blueprint(&self.configmap)));
            self.watched.edited(objects.chain(play.objects).collect());
        }
        if checked.worst() == Some(Severity::Error) {
            return false;
        }
        let (Some(blueprint), Some(graph)) = (checked.blueprint, &checked.graph) else { return false };
        self.stage.picture = Picture::of(&blueprint, graph, &checked.given.files);
        self.watched.take_blueprint(blueprint)
    }
}

/// Serves the page of `pemdas ui` for the cluster until that ends; its address.
fn page(bed: &Bed) -> Result<String, Outcome> {
    let reading = Reading::at(bed.kubeconfig(), OPERATOR);
    let workers = workers(Workers::new())?;
    let ui = Ui::open(0, move || reading.session().ok(), workers);
    let ui = ui.map_err(|why| could_not_run(&format!("the page cannot be served: {why}"), None))?;
    let link = ui.link("/");
    bed.runtime().spawn(ui.serve());
    Ok(link)
}

/// Whether kubectl is installed.
fn has_kubectl() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|it| it.join("kubectl").is_file())
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
        attempt(format!("pemdas explain {of}"), "why it is in this state"),
        attempt(format!("kubectl delete {of}"), "all its objects go, in order"),
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
