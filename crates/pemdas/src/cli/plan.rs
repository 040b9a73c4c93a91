//! `pemdas plan`: what would happen to an instance, or to all of them, from files or in a cluster.

use std::path::{Path, PathBuf};

use clap::Args;
use pemdas_core::diagnostic::Severity;

use super::{
    Outcome,
    cluster::Reading,
    complete, could_not_run,
    explain::{Format, told},
    one_blueprint,
    progress::Still,
    workers,
};
use crate::{
    import,
    input::Given,
    live::Session,
    load::Checked,
    operate::Workers,
    plan::{self, Planned, Prepared, live::Live, observed::Files},
    render,
    terminal::{self, Colour},
};

/// Show what would happen to an instance: the rounds, what each does, what waits for what, and a diff
///
/// From files: give the instance, and perhaps what else exists. In a cluster: name an instance as KIND/NAME, or give a file and
/// --live, or plan the whole --fleet when a blueprint changes. Plan reads the cluster with your own permissions and writes nothing.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 planned, 1 with --exit-code: something would change, 2 no plan could be made.",
    after_long_help = "\
Examples:
  pemdas plan --instance sample.yaml               this folder's blueprint, from files alone
  pemdas plan . --instance sample.yaml --live      the file applied to the cluster as it is
  pemdas plan . --instance foo/one -n shop         the instance that the cluster has, under this blueprint
  pemdas plan cm/foo --instance foo/one            the same, under the blueprint that the cluster has
  pemdas plan --fleet                              every instance: how many would change, and which
  pemdas plan --instance foo/one --delete          what its deletion would do

Exit status: 0 planned, 1 with --exit-code: something would change, 2 no plan could be made."
)]
pub(super) struct Plan {
    /// The blueprint: a directory with a main.ncl, an .ncl file, a manifest with a ConfigMap, - for standard input, or cm/NAME
    /// for one that the cluster has
    #[arg(value_name = "PATH", default_value = ".", add = complete::files_or_objects())]
    path: PathBuf,
    #[command(flatten)]
    of: Of,
    /// Plan against the objects that the cluster has
    #[arg(long, conflicts_with = "observed")]
    live: bool,
    /// Plan all instances of the cluster, in all namespaces or in the given one
    #[arg(long, conflicts_with_all = ["observed", "instance"])]
    fleet: bool,
    /// With --fleet: the instances of all namespaces, even if -n is given
    #[arg(short = 'A', long, requires = "fleet")]
    all_namespaces: bool,
    /// Plan the deletion of the instance
    #[arg(long, conflicts_with = "fleet")]
    delete: bool,
    /// The ConfigMap that holds the blueprint, or will hold it; without it, the one with roots of the same kind
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    configmap: Option<String>,
    /// The most instances of a fleet that are named
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// Leave out the diffs
    #[arg(long)]
    summary: bool,
    /// Exit with 1 if something would change, as `kubectl diff` does
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    reading: Reading,
}

/// Which instance is planned, and from where.
#[derive(Debug, Args)]
pub(super) struct Of {
    /// The instance: a YAML or JSON file with the root object, or - for standard input; `plan` also takes KIND/NAME
    #[arg(long, value_name = "FILE", add = complete::files_or_objects())]
    pub(super) instance: Option<PathBuf>,
    /// The objects of the cluster: a folder of YAML and JSON files, or one file; without it, the cluster is empty
    #[arg(long, value_name = "DIR")]
    pub(super) observed: Option<PathBuf>,
}

/// What was made in a cluster.
enum Made {
    /// The plan of one instance, to be shown.
    One(Box<Planned>),
    /// A plan of all instances, which was shown.
    Fleet {
        /// Whether nothing would change.
        is_idle: bool,
    },
}

impl Plan {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let named = self.of.instance.as_deref().and_then(object_name);
        let of_cluster = Some(&*self.path).and_then(object_name).filter(|(kind, _)| is_configmap(kind));
        let planned = if self.live || self.fleet || named.is_some() || of_cluster.is_some() {
            if self.of.observed.is_some() {
                let hint = Some("leave --observed out, or give the instance as a file");
                return could_not_run("a plan is made from files or in a cluster, not both", hint);
            }
            match self.in_cluster(named.as_ref(), of_cluster.map(|(_, name)| name), colour) {
                Ok(Made::One(planned)) => Ok(*planned),
                Ok(Made::Fleet { is_idle }) => return self.outcome(is_idle),
                Err(outcome) => Err(outcome),
            }
        } else {
            let _still = Still::says("planning", colour);
            planned(&self.path, &self.of, self.delete, colour)
        };
        match planned {
            Err(outcome) => outcome,
            Ok(planned) => {
                self.output.say(
                    || plan::json::plan(&planned),
                    || plan::text::plan(&planned, !self.summary, colour.on_stdout()),
                    || plan::words::written(&planned.plan),
                );
                self.outcome(planned.plan.is_idle())
            }
        }
    }

    fn outcome(&self, is_idle: bool) -> Outcome {
        if self.exit_code && !is_idle { Outcome::Problems } else { Outcome::Clean }
    }

    /// A plan in a cluster.
    fn in_cluster(
        &self,
        named: Option<&(String, String)>,
        blueprint: Option<String>,
        colour: Colour,
    ) -> Result<Made, Outcome> {
        let session = self.reading.session()?;
        let workers = workers(Workers::new())?;
        let (given, home) = match blueprint {
            Some(name) => {
                let (given, found) = plan::live::of_cluster(&session, &name).map_err(|it| told(&it))?;
                (given, Some(found))
            }
            None => (one_blueprint(&self.path, "keep the one to plan with in a file of its own")?, None),
        };
        let prepared = prepared(given, colour)?;
        let mut live = Live::new(&session, prepared, workers, self.configmap.as_deref(), home);
        if self.fleet {
            return self.whole_fleet(&mut live, &session, colour);
        }
        let still = Still::says("reading the cluster", colour);
        let made = match named {
            Some((kind, name)) => live.named(kind, name, self.delete),
            None => live.file(self.of.instance.as_deref(), self.delete),
        };
        drop(still);
        let played = made.map_err(|lost| match lost {
            plan::live::NoPlan::Lost(lost) => told(&lost),
            plan::live::NoPlan::Problems(problems) => {
                let checked = live.with_problems(problems);
                terminal::remark(&render::text::diagnostics(checked, colour.on_stderr()));
                Outcome::CouldNotRun
            }
        })?;
        Ok(Made::One(Box::new(played.of(live.into_checked()))))
    }

    fn whole_fleet(&self, live: &mut Live<'_>, session: &Session, colour: Colour) -> Result<Made, Outcome> {
        let one = self.reading.namespace.is_some() && !self.all_namespaces;
        let namespace = one.then(|| session.namespace());
        let fleet = live.fleet(namespace, |done, total| {
            if done % 50 == 0 && total > 50 && colour.on_stderr() {
                terminal::progress(&format!("{done} of {total} instances planned"));
            }
            if done == total && total > 50 && colour.on_stderr() {
                terminal::progress("");
            }
        });
        let fleet = fleet.map_err(|lost| told(&lost))?;
        self.output.say(
            || plan::fleet::document(&fleet, self.limit.max(10_000)),
            || plan::fleet::text(&fleet, self.limit, !self.summary, colour.on_stdout()),
            || fleet.changing(),
        );
        Ok(Made::Fleet { is_idle: fleet.is_idle() })
    }
}

fn is_configmap(kind: &str) -> bool {
    ["cm", "configmap", "configmaps"].contains(&kind.to_lowercase().as_str())
}

/// KIND/NAME, where no file is meant.
fn object_name(path: &Path) -> Option<(String, String)> {
    let text = path.to_str()?;
    let (kind, name) = text.split_once('/')?;
    let word = |it: &str| {
        !it.is_empty()
            && it.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '.')
            && it.starts_with(|it: char| it.is_ascii_alphanumeric())
    };
    let file = [".yaml", ".yml", ".json", ".ncl"].iter().any(|it| name.ends_with(it)) || path.exists();
    (word(kind) && word(name) && !file).then(|| (kind.to_owned(), name.to_owned()))
}

fn prepared(given: Given, colour: Colour) -> Result<Prepared, Outcome> {
    Prepared::new(given).map_err(|checked| no_plan(*checked, colour))
}

/// Says why there is no plan: what is wrong. What is only to be known `pemdas check` says.
fn no_plan(mut checked: Checked, colour: Colour) -> Outcome {
    if checked.worst() == Some(Severity::Error) {
        checked.diagnostics.retain(|it| it.severity == Severity::Error);
    }
    terminal::remark(&render::text::diagnostics(&checked, colour.on_stderr()));
    Outcome::CouldNotRun
}

/// Makes the plan from files, or says why there is none.
pub(super) fn planned(path: &Path, of: &Of, delete: bool, colour: Colour) -> Result<Planned, Outcome> {
    let input = Path::new("-");
    if path == input && of.instance.as_deref() == Some(input) {
        let message = "the blueprint and the instance cannot both come from standard input";
        return Err(could_not_run(message, None));
    }
    let given = one_blueprint(path, "keep the one to plan with in a file of its own")?;
    let mut observed = Files::new(of.observed.as_deref()).and_definitions(import::definitions_beside(path));
    plan::make(given, of.instance.as_deref(), delete, &mut observed)
        .map_err(|checked| no_plan(*checked, colour))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::object_name;

    #[test]
    fn an_object_is_told_from_a_file() {
        let is = |text: &str| object_name(Path::new(text)).is_some();
        assert!(is("foo/one") && is("foos.example.com/one") && is("cm/foo.bar"));
        assert!(
            !is("sample/one.yaml")
                && !is("./foo/one")
                && !is("foo")
                && !is("-")
                && !is("a/b/c")
                && !is("../x/y")
        );
        assert!(!is("src/cli"), "a folder that is there is meant");
    }
}
