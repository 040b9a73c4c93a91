//! `pemdas import`: a blueprint from manifests.

use std::path::{Path, PathBuf};

use clap::Args;
use pemdas_core::diagnostic::Severity;
use pemdas_core::graph;
use pemdas_core::import::Wishes;
use pemdas_core::kube_types::format;

use super::{
    Outcome, cluster::Reading, complete, could_not_run, explain::told, one_blueprint, progress::Still,
};
use crate::{
    import::{self, Added, Gathered, Imported, NotAdded, Stored, Under},
    input::{MAIN, Place},
    load::Checked,
    render,
    terminal::{self, Colour},
};

/// Make a blueprint of Kubernetes objects: one node for each, a kind of its own with what looks like a parameter, and edges
///
/// What only a server sets is left out. Before anything is written, the blueprint is evaluated with the proposed instance: it has to
/// give the objects again.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 imported, 1 imported with errors that `pemdas check` would tell as well, 2 nothing could be imported.",
    after_long_help = "\
Examples:
  pemdas import app.yaml                              the blueprint on standard output
  pemdas import manifests/ -o shop                    shop/main.ncl and an instance in shop/sample
  helm template shop ./chart | pemdas import - -o shop
  kustomize build overlays/live | pemdas import - --name shop --kind Shop --group shop.example.com
  kubectl get deploy,svc,cm -l app=shop -o yaml | pemdas import -
  pemdas import --from app/shop -n live -o shop       an object of the cluster, and everything that it owns
  pemdas import mail.yaml --into shop --instance live more nodes for a blueprint that is there; live-mail is made from the root's name

Exit status: 0 imported, 1 imported with errors that `pemdas check` would tell as well, 2 nothing could be imported."
)]
pub(super) struct Import {
    /// What to import: YAML or JSON files, directories of them, or - for standard input
    #[arg(value_name = "PATH", required_unless_present = "from")]
    paths: Vec<PathBuf>,
    /// Import an object of the cluster and everything that it owns; may be given several times
    #[arg(long, value_name = "KIND/NAME", value_parser = object, add = complete::objects())]
    from: Vec<(String, String)>,
    /// The name of the blueprint; without it, what the objects' names have in common
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// The kind that is proposed; without it, made from the name
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<String>,
    /// The API group of the kind
    #[arg(long, value_name = "GROUP", value_parser = group, default_value = pemdas_core::import::GROUP)]
    group: String,
    /// Where to write: a directory, or an .ncl file; an instance goes to sample/ beside it. Without it, the blueprint goes to
    /// standard output
    #[arg(long, short, value_name = "DIR|FILE")]
    output: Option<PathBuf>,
    /// Let Pemdas make a value of a Secret at random, once for each instance; may be given several times
    #[arg(long, value_name = "SECRET/KEY", value_parser = value_of_secret)]
    seed: Vec<(String, String)>,
    /// Write over files that are there
    #[arg(long, requires = "output")]
    force: bool,
    /// Add to a blueprint that is there: a directory with a main.ncl, or an .ncl file. What it says stays as it is written
    #[arg(long, value_name = "BLUEPRINT", conflicts_with_all = ["output", "name", "kind", "group"])]
    into: Option<PathBuf>,
    /// The root that needs the objects, where the blueprint has several
    #[arg(long, value_name = "NODE", requires = "into")]
    root: Option<String>,
    /// The instance that the objects are of: names that begin with its name are made from the root's, others stay what they are
    #[arg(long, value_name = "NAME", requires = "into", value_parser = name)]
    instance: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

fn object(text: &str) -> Result<(String, String), String> {
    let parts = text
        .split_once('/')
        .filter(|(kind, name)| !kind.is_empty() && !name.is_empty() && !name.contains('/'));
    let parts = parts.map(|(kind, name)| (kind.to_owned(), name.to_owned()));
    parts.ok_or_else(|| "an object is KIND/NAME, such as deploy/shop".to_owned())
}

fn value_of_secret(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('/').filter(|(name, key)| !name.is_empty() && !key.is_empty());
    let parts = parts.map(|(name, key)| (name.to_owned(), key.to_owned()));
    parts.ok_or_else(|| "a value of a Secret is SECRET/KEY, such as rel-db/password".to_owned())
}

pub(super) fn name(text: &str) -> Result<String, String> {
    let fits = format::dns_label(text).is_ok();
    fits.then(|| text.to_owned())
        .ok_or_else(|| "a name has lower-case letters, digits and dashes, 63 at most".to_owned())
}

pub(super) fn kind(text: &str) -> Result<String, String> {
    let fits = text.starts_with(|it: char| it.is_ascii_uppercase())
        && text.len() <= 63
        && text.chars().all(|it| it.is_ascii_alphanumeric());
    fits.then(|| text.to_owned()).ok_or_else(|| {
        "a kind begins with a capital letter and has letters and digits, 63 at most".to_owned()
    })
}

pub(super) fn group(text: &str) -> Result<String, String> {
    let fits = format::dns_subdomain(text).is_ok() && text.contains('.');
    fits.then(|| text.to_owned()).ok_or_else(|| "a group is a domain, such as shop.example.com".to_owned())
}

impl Import {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        if self.paths.iter().filter(|it| it.as_path() == Path::new("-")).count() > 1 {
            return could_not_run("standard input can be read once only", None);
        }
        if self.into.is_none() && (self.root.is_some() || self.instance.is_some()) {
            let option = if self.root.is_some() { "--root" } else { "--instance" };
            let hint = "the instance of a new blueprint has the name that most objects begin with; --name names the blueprint";
            return could_not_run(
                &format!("{option} is for a blueprint that is there: it wants --into"),
                Some(hint),
            );
        }
        let mut gathered = import::files(&self.paths);
        if let Err(outcome) = self.of_cluster(&mut gathered) {
            return outcome;
        }
        if let Some(target) = &self.into {
            return self.add_to(target, gathered, colour);
        }
        let still = Still::says(checking(&gathered), colour);
        let outcome = import::import(gathered, &self.wishes());
        drop(still);
        let shown =
            |checked: &Checked| terminal::remark(&render::text::diagnostics(checked, colour.on_stderr()));
        shown(&outcome.of_input);
        let (Some(imported), Some(mut blueprint)) = (outcome.imported, outcome.of_blueprint) else {
            return Outcome::CouldNotRun;
        };
        let stored = match &self.output {
            None => {
                terminal::hand_over(&imported.source);
                None
            }
            Some(target) => match import::store(&imported, target, self.force) {
                Ok(stored) => Some(stored),
                Err(why) => {
                    let hint = why.ends_with("already exists").then_some("--force writes over it");
                    return could_not_run(&why, hint);
                }
            },
        };
        if let Some(stored) = &stored {
            let place = Place::file(stored.main.display().to_string());
            blueprint.given.places.insert(MAIN.to_owned(), place);
        }
        if blueprint.worst() == Some(Severity::Error) {
            shown(&blueprint);
            terminal::remark("the blueprint has errors, because the objects have: it was not tried\n");
            return Outcome::Problems;
        }
        shown(&worth_telling(blueprint));
        terminal::remark(&summary(&imported, stored.as_ref()));
        Outcome::Clean
    }

    /// Adds what was gathered to a blueprint.
    fn add_to(&self, target: &Path, gathered: Gathered, colour: Colour) -> Outcome {
        let is_file = target.extension().is_some_and(|it| it == "ncl");
        if target == Path::new("-") || !(is_file || target.is_dir()) {
            let hint = "give a directory with a main.ncl, or an .ncl file";
            return could_not_run(&format!("{} is no blueprint to add to", target.display()), Some(hint));
        }
        let given = match one_blueprint(target, "give one of them") {
            Ok(given) => given,
            Err(outcome) => return outcome,
        };
        let shown =
            |checked: &Checked| terminal::remark(&render::text::diagnostics(checked, colour.on_stderr()));
        let under = Under { root: self.root.as_deref(), instance: self.instance.as_deref() };
        let still = Still::says(checking(&gathered), colour);
        let ended = import::into(gathered, self.wishes(), given, &under);
        drop(still);
        match ended {
            Err(NotAdded::Problems(checked)) => {
                shown(&checked);
                could_not_run("nothing was added", None)
            }
            Err(NotAdded::Broken(checked)) => {
                shown(&checked);
                let hint = "the lines are those of the blueprint as it would have been";
                could_not_run("nothing was added", Some(hint))
            }
            Err(NotAdded::Cannot(why, hint)) => could_not_run(&why, hint.as_deref()),
            Ok((added, of_input)) => {
                shown(&of_input);
                terminal::remark(&told_of(&added));
                Outcome::Clean
            }
        }
    }

    fn of_cluster(&self, gathered: &mut Gathered) -> Result<(), Outcome> {
        if self.from.is_empty() {
            return Ok(());
        }
        let session = self.reading.session()?;
        for (kind, name) in &self.from {
            import::owned(&session, kind, name, gathered).map_err(|lost| told(&lost))?;
        }
        Ok(())
    }

    fn wishes(&self) -> Wishes {
        let stem = |path: &PathBuf| path.file_stem().map(|it| it.to_string_lossy().into_owned());
        Wishes {
            name: self.name.clone(),
            kind: self.kind.clone(),
            group: Some(self.group.clone()),
            namespace: self.reading.namespace.clone(),
            fallback: self.paths.first().and_then(stem),
            taken: Vec::new(),
            definitions_inside: self.output.is_none(),
            apart: false,
            seeds: self.seed.clone(),
        }
    }
}

/// What takes long, if there is much of it.
fn checking(gathered: &Gathered) -> String {
    format!("checking that {} objects are the same", gathered.objects.len())
}

/// Warnings about the blueprint. Of names that are the same for all instances its comments tell.
fn worth_telling(mut checked: Checked) -> Checked {
    checked.diagnostics.retain(|it| it.severity == Severity::Warning && it.code != graph::codes::FIXED_NAME);
    checked
}

/// How many nodes are named for one reason.
const MAX_NAMED: usize = 4;

/// What to look at first, a line for each reason, with the places in the blueprint.
fn look_at(imported: &Imported, main: &str) -> String {
    let line = |node: &String| {
        let begins = format!("    {} = {{", pemdas_nickel::print::field_name(node));
        let at = imported.source.lines().position(|it| it == begins);
        at.map_or_else(|| node.clone(), |it| format!("{node} ({main}:{})", it + 1))
    };
    let lines = imported.draft.attention.iter().map(|it| {
        let mut named: Vec<String> = it.nodes.iter().take(MAX_NAMED).map(line).collect();
        if it.nodes.len() > MAX_NAMED {
            named.push(format!("and {} more", it.nodes.len() - MAX_NAMED));
        }
        format!("  {}: {}\n", it.why, named.join(", "))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("look first at\n{lines}") }
}

fn told_of(added: &Added) -> String {
    let Added { draft, changed } = added;
    let nodes: Vec<_> = draft.nodes.iter().map(|it| it.name.as_str()).collect();
    let fields: Vec<_> = draft.parameters.iter().map(|it| it.name.as_str()).collect();
    let parameters = if fields.is_empty() {
        String::new()
    } else {
        format!("; spec of {} has {}, with what was read as defaults", draft.kind, fields.join(", "))
    };
    let files: Vec<_> = changed.iter().map(|it| it.display().to_string()).collect();
    format!(
        "added {} to {}{parameters}; checked: they give the same again for an instance called {}, and the other nodes are what they were\n",
        nodes.join(", "),
        files.join(", "),
        draft.instance,
    )
}

fn summary(imported: &Imported, stored: Option<&Stored>) -> String {
    let draft = &imported.draft;
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let edges = draft.nodes.iter().map(|it| it.edges.len()).sum::<usize>() + draft.needs.len();
    let secrets = draft.objects.iter().filter(|it| it["kind"] == "Secret").count();
    let first = format!(
        "imported {} into the blueprint {}: kind {}.{} with {}, {}; checked: it gives the same again{}\n",
        plural(draft.nodes.len(), "object"),
        draft.name,
        draft.kind,
        draft.group,
        plural(draft.parameters.len(), "parameter"),
        plural(edges, "Also edge"),
        if secrets > 0 { format!(", {} included", plural(secrets, "Secret")) } else { String::new() },
    );
    let next = match stored {
        Some(Stored { main, sample, definitions }) => {
            let definitions = definitions.as_ref().map(|it| {
                let count = plural(draft.definitions.len(), "CustomResourceDefinition");
                format!(
                    "{count} in {}: `bundle`, `demo` and `test` apply them, and no instance deletes them\n",
                    it.display()
                )
            });
            let main = main.display();
            let next =
                format!("next: pemdas check {main} && pemdas plan {main} --instance {}\n", sample.display());
            let first = look_at(imported, &main.to_string());
            format!("{}{first}{next}", definitions.unwrap_or_default())
        }
        None => "hint: -o DIR writes it to files, with an instance that gives the objects again\n".to_owned(),
    };
    format!("{first}{next}")
}
