//! `pemdas test`: the scenarios of blueprints, played by the operator itself on a simulated cluster.

use std::{path::PathBuf, sync::Arc, time::Instant};

use clap::{Args, ValueEnum};

use super::{Outcome, could_not_run, progress::Still};
use crate::{
    render,
    terminal::{self, Colour, Style},
    trial::{
        self, Fault, explore,
        gather::{self, Gathered},
        pace::Pace,
        report::{self, Result as Tried},
        text,
    },
};

/// Play the scenarios of blueprints: the real operator on a simulated cluster, in simulated time
///
/// Scenarios are Nickel files in the folder scenarios/ beside a blueprint. They say which objects exist, what happens, and what you
/// expect of objects, of their order, and of reports. Everything runs in this process, on one thread; hours of the cluster take a
/// moment. The same seed gives the same run, to the last request.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 all passed, 1 one failed, or a scenario or a blueprint has an error, 2 it cannot run.",
    after_long_help = "\
Examples:
  pemdas test                                  the blueprint in this folder
  pemdas test examples/*                       several
  pemdas test . --filter deletion              only scenarios with this in their name
  pemdas test scenarios/life.ncl               only those of one file
  pemdas test -o junit > report.xml            for CI

A file of scenarios, such as scenarios/life.ncl:
  let { Scenarios, Ready, Absent, .. } = import \"pemdas/test/v1.ncl\" in
  let shop = import \"../sample/shop.yaml\" in
  {
    \"a shop opens and closes\" = {
      steps = [
        { apply = shop },
        { first = { kind = \"Deployment\", name = \"shop\", is = Ready }, before = { kind = \"Ingress\", name = \"shop\" } },
        { eventually = { kind = \"Shop\", name = \"shop\", is = Ready } },
        { delete = shop },
        { eventually = { kind = \"Deployment\", name = \"shop\", is = Absent } },
      ],
    },
  } | Scenarios

docs/test.md says everything that a scenario can do and expect.

Exit status: 0 all passed, 1 one failed, or a scenario or a blueprint has an error, 2 it cannot run."
)]
pub(super) struct Test {
    /// The blueprints: folders with a main.ncl and scenarios/, or single files of scenarios
    #[arg(value_name = "BLUEPRINT", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Only scenarios whose name contains this text
    #[arg(long, short, value_name = "TEXT")]
    filter: Option<String>,
    /// List the scenarios and play none
    #[arg(long)]
    list: bool,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// The seed of all random names and delays
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Inject a fault at one request of the operator, counted from 0: crash-before, crash-after, broken, broken-after, silent, frozen,
    /// evaluator-dies, or a status such as 409; may be given several times
    #[arg(long = "fault", value_name = "NUMBER:WHAT", value_parser = fault)]
    faults: Vec<(usize, Fault)>,
    /// Play each scenario many times with faults: the operator crashes before and after every request, requests and responses get
    /// lost, watches lag
    #[arg(long)]
    explore: bool,
    /// With --explore: only undo the change of this step, counted from 1, and check that everything is as before
    #[arg(long, value_name = "STEP", requires = "explore")]
    roll_back: Option<usize>,
    /// With --explore: the number of seeds
    #[arg(long, value_name = "N", default_value_t = 1, requires = "explore", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: u64,
    /// With --explore: play only one in N runs; another seed chooses others
    #[arg(long, value_name = "N", default_value_t = 1, requires = "explore", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    share: u64,
    /// With --explore: the number of faults in one run; with 2, all pairs of crashes if there are few writes, and as many other pairs
    /// as single faults
    #[arg(long, value_name = "D", default_value_t = 1, requires = "explore", value_parser = clap::value_parser!(u8).range(1..=2))]
    depth: u8,
}

fn fault(text: &str) -> Result<(usize, Fault), String> {
    let wrong = || format!("write NUMBER:WHAT, such as 12:{}", Fault::CrashAfter);
    let (number, what) = text.split_once(':').ok_or_else(wrong)?;
    Ok((number.parse().map_err(|_| wrong())?, what.parse()?))
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For the terminal
    #[default]
    Text,
    /// For programs
    Json,
    /// For CI systems
    Junit,
}

impl Test {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let mut all = Vec::new();
        for path in &self.paths {
            match gather::gather(path) {
                Ok(gathered) => all.push(gathered),
                Err(nothing) => return could_not_run(&nothing.message, Some(&nothing.hint)),
            }
        }
        // What else is to be said of a blueprint that runs, `pemdas check` says.
        let broken = all.iter().filter(|it| it.bench.is_none());
        let told: String =
            broken.map(|it| render::text::diagnostics(&it.checked, colour.on_stderr())).collect();
        terminal::remark(&told);
        if self.list {
            for gathered in &all {
                terminal::say(&self.listed(gathered));
            }
            return outcome(&all, 0);
        }
        let style = Style { colour: colour.on_stdout() };
        if self.explore {
            return self.explore_all(&all, colour);
        }
        let began = Instant::now();
        let mut results = Vec::new();
        for gathered in &all {
            match self.played(gathered, style, colour) {
                Ok(some) => results.push((&gathered.checked, some)),
                Err(why) => return could_not_run(&format!("nothing can be run here: {why}"), None),
            }
        }
        let flat = || results.iter().flat_map(|it| &it.1);
        let failed = flat().filter(|it| !it.passed()).count();
        match self.output {
            Format::Json => terminal::hand_over(&report::json(&results)),
            Format::Junit => terminal::hand_over(&report::junit(&results)),
            Format::Text => {
                for (checked, some) in &results {
                    for it in some.iter().filter(|it| !it.passed()) {
                        terminal::say(&format!("\n{}", text::failure(checked, it, style)));
                    }
                }
                let played = flat().count();
                let runnable =
                    all.iter().filter(|it| it.bench.is_some()).map(|it| it.scripts.len()).sum::<usize>();
                terminal::say(&text::summary(
                    played - failed,
                    failed,
                    runnable - played,
                    began.elapsed(),
                    style,
                ));
            }
        }
        if flat().count() == 0 && self.filter.is_some() && outcome(&all, 0) == Outcome::Clean {
            let hint = "`pemdas test --list` says which there are";
            return could_not_run("no scenario has this in its name", Some(hint));
        }
        outcome(&all, failed)
    }

    fn explore_all(&self, all: &[Gathered], colour: Colour) -> Outcome {
        let style = Style { colour: colour.on_stdout() };
        let plan = explore::Plan {
            seed: self.seed,
            seeds: self.seeds,
            share: usize::try_from(self.share).unwrap_or(usize::MAX),
            depth: usize::from(self.depth),
            only: self.faults.clone(),
            roll_back: self.roll_back,
        };
        let began = Instant::now();
        let (mut runs, mut wrong) = (0, 0);
        for (path, gathered) in self.paths.iter().zip(all) {
            let Some(bench) = &gathered.bench else { continue };
            terminal::say(&format!("{}\n", style.bold(&bench.name)));
            for script in gathered.scripts.iter().filter(|it| self.wants(&it.title())) {
                let (pace, title) = (Arc::new(Pace::default()), script.title());
                let shown = Arc::clone(&pace);
                let still = Still::counts(move || format!("{title}: {}", shown.said()), colour);
                let explored = explore::explore(bench, script, &plan, &pace);
                drop(still);
                let explored = match explored {
                    Ok(explored) => explored,
                    Err(why) => return could_not_run(&format!("nothing can be run here: {why}"), None),
                };
                runs += explored.runs;
                wrong += explored.found.len() + explored.more;
                terminal::say(&text::explored_line(&script.title(), &explored, style));
                for found in &explored.found {
                    let faults =
                        found.faults.iter().map(|(number, fault)| format!(" --fault {number}:{fault}"));
                    let back = found.rolled_back.map(|it| format!(" --roll-back {it}")).unwrap_or_default();
                    let replay = format!(
                        "pemdas test {} --filter '{}' --explore --seed {}{}{back}",
                        path.display(),
                        script.name,
                        found.seed,
                        faults.collect::<String>()
                    );
                    let title = format!("{} {}", bench.name, script.title());
                    terminal::say(&format!("\n{}", text::found(&title, found, &replay, style)));
                }
                if explored.more > 0 {
                    terminal::say(&format!("  {} more runs went wrong\n", explored.more));
                }
            }
        }
        let spent = began.elapsed();
        let pace = text::per_second(runs, spent);
        let said = if wrong == 0 { "all came to the same".to_owned() } else { format!("{wrong} went wrong") };
        terminal::say(&format!("{runs} runs in {}, {pace} a second and core: {said}\n", text::took(spent)));
        outcome(all, wrong)
    }

    fn wants(&self, title: &str) -> bool {
        self.filter.as_deref().is_none_or(|it| title.contains(it))
    }

    fn listed(&self, gathered: &Gathered) -> String {
        let Some(bench) = &gathered.bench else { return String::new() };
        let titles = gathered.scripts.iter().map(trial::Script::title).filter(|it| self.wants(it));
        titles.map(|it| format!("{} {it}\n", bench.name)).collect()
    }

    /// Plays the scenarios of a blueprint; each is told as soon as it is over.
    fn played(&self, gathered: &Gathered, style: Style, colour: Colour) -> std::io::Result<Vec<Tried>> {
        let Some(bench) = &gathered.bench else { return Ok(Vec::new()) };
        let wanted: Vec<_> = gathered.scripts.iter().filter(|it| self.wants(&it.title())).collect();
        if self.output == Format::Text && !wanted.is_empty() {
            terminal::say(&format!("{}\n", style.bold(&bench.name)));
        }
        let mut results = Vec::new();
        for script in wanted {
            let began = Instant::now();
            let still = Still::says(format!("plays {}", script.title()), colour);
            let played = trial::play(bench, script, self.seed, self.faults.clone())?;
            drop(still);
            let (blueprint, script) = (bench.name.clone(), script.clone());
            let result = Tried { blueprint, script, played, took: began.elapsed() };
            if self.output == Format::Text {
                terminal::say(&text::line(&result, style));
            }
            results.push(result);
        }
        Ok(results)
    }
}

fn outcome(all: &[Gathered], failed: usize) -> Outcome {
    if all.iter().any(|it| it.checked.given.unreadable) {
        Outcome::CouldNotRun
    } else if failed > 0 || all.iter().any(|it| it.bench.is_none()) {
        Outcome::Problems
    } else {
        Outcome::Clean
    }
}
