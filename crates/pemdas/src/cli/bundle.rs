//! `pemdas bundle`: a blueprint ready to apply.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pemdas_core::{crd::definition, crd::install::Policy};
use pemdas_kube::files::MAX_CONFIG_MAP;
use serde_json::Value;

use super::{Outcome, could_not_run, one_blueprint, rbac};
use crate::{
    bundle::{self, Bundle, Files},
    files, import,
    input::{self, yaml, yaml::Unreadable},
    load,
    terminal::{self, Colour},
};

/// Pack a blueprint for a cluster: its ConfigMap, its ServiceAccount and the smallest roles that it needs
///
/// The same blueprint gives the same bytes. The operator creates the CRDs of the blueprint's kinds. With `--crds await`, the bundle
/// has the CRDs, and the ServiceAccount needs no permission to create them.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 packed, 1 errors in the blueprint, or it says too little, 2 it could not be read or written.",
    after_long_help = "\
Examples:
  pemdas bundle shop | kubectl apply --server-side -f -
  pemdas bundle shop --only-in team-a                      Roles in that namespace, not in the whole cluster
  pemdas bundle shop --crds await                          with the CRDs, for those who apply CRDs apart
  pemdas bundle shop --as kustomize -o deploy/base         and: kubectl apply --server-side -k deploy/base
  pemdas bundle shop --packed | kubectl apply -f -         a large blueprint, compressed
  pemdas bundle shop --as helm -o charts/shop --chart-version 1.4.0

Exit status: 0 packed, 1 errors in the blueprint, or it says too little, 2 it could not be read or written."
)]
pub(super) struct Pack {
    /// The blueprint: a directory with a main.ncl, an .ncl file, a manifest with a ConfigMap, or - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// The form of the bundle
    #[arg(long = "as", value_enum, default_value_t, value_name = "FORM")]
    form: Form,
    /// Where to write: a file for yaml, a directory for the others; without it, yaml goes to standard output
    #[arg(long, short, value_name = "FILE|DIR", required_if_eq_any([("form", "kustomize"), ("form", "helm")]))]
    output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "output")]
    force: bool,
    /// Who creates the CRDs of the blueprint's kinds; with `await` they are part of the bundle
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    crds: rbac::Crds,
    /// Compress the files (gzip, under `binaryData`), also those that a ConfigMap of 1 MiB holds uncompressed
    #[arg(long)]
    packed: bool,
    /// The version of the chart
    #[arg(long, value_name = "VERSION", value_parser = version, default_value = "0.1.0")]
    chart_version: String,
    #[command(flatten)]
    wanted: rbac::Wanted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Form {
    /// One stream of documents
    #[default]
    Yaml,
    /// A directory that is a base for kustomize
    Kustomize,
    /// The directory of a Helm chart
    Helm,
}

/// The largest ConfigMap that `kubectl apply` takes without `--server-side`: it keeps a copy of it in an annotation. Helm keeps two copies
/// in a Secret.
const MAX_COPY: usize = 250_000;

/// The definitions of kinds that the blueprint uses and does not own, from the file beside it.
pub(super) fn foreign(path: &Path) -> Result<Vec<Value>, Outcome> {
    let Some(file) = import::definitions_beside(path) else { return Ok(Vec::new()) };
    let text = input::text_of(&file).map_err(|problem| could_not_run(&problem.message, None))?;
    let unread =
        |why: Unreadable| could_not_run(&format!("{} is no YAML: {}", file.display(), why.why), None);
    let found = yaml::values(&text).map_err(unread)?;
    let is_other = |it: &&Value| it["kind"] != "CustomResourceDefinition";
    match found.iter().find(is_other) {
        Some(other) => {
            let message =
                format!("{} holds a {}, and is for CustomResourceDefinitions", file.display(), other["kind"]);
            Err(could_not_run(&message, None))
        }
        None => Ok(found),
    }
}

fn version(text: &str) -> Result<String, String> {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = core.split('.').collect();
    let number = |it: &&str| {
        !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()) && (*it == "0" || !it.starts_with('0'))
    };
    let plain = text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-+.".contains(&it));
    (numbers.len() == 3 && numbers.iter().all(number) && plain)
        .then(|| text.to_owned())
        .ok_or_else(|| "a version is MAJOR.MINOR.PATCH, such as 1.4.0".to_owned())
}

impl Pack {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let bundle = match self.bundle(colour) {
            Ok(bundle) => bundle,
            Err(outcome) => return outcome,
        };
        if let Some(name) = bundle.misplaced() {
            let hint = "a ConfigMap has no folders: keep all files of the blueprint beside its main.ncl";
            return could_not_run(&format!("{name:?} cannot be a key of a ConfigMap"), Some(hint));
        }
        if bundle.size() > MAX_CONFIG_MAP {
            let why = format!(
                "the blueprint has {} bytes even when it is compressed; a ConfigMap holds {MAX_CONFIG_MAP}",
                bundle.size()
            );
            return could_not_run(
                &why,
                Some("keep data in ConfigMaps of its own, and `observe` or mount them"),
            );
        }
        let written = match (self.form, &self.output) {
            (Form::Yaml, None) => {
                terminal::hand_over(&bundle.yaml());
                Ok(())
            }
            (Form::Yaml, Some(file)) => files::write(&[(file.clone(), bundle.yaml())], self.force)
                .map(|()| self.wrote(file, &[], &bundle.whom.name)),
            (Form::Kustomize, Some(folder)) => {
                self.store(folder, bundle.kustomize("blueprint/"), &bundle.whom.name)
            }
            (Form::Helm, Some(folder)) => {
                self.store(folder, bundle.helm(&self.chart_version), &bundle.whom.name)
            }
            (_, None) => return could_not_run("kustomize and helm need -o DIR", None),
        };
        if let Err(why) = written {
            let hint = why.ends_with("already exists").then_some("--force writes over it");
            return could_not_run(&why, hint);
        }
        rbac::warn(&bundle.whom, &bundle.rights, colour);
        if bundle.size() > MAX_COPY {
            terminal::remark(match self.form {
                Form::Helm => {
                    "note: Helm keeps a release in a Secret, the chart and what it makes of it: this one may be too large for that\n"
                }
                Form::Yaml | Form::Kustomize => {
                    "note: it is too large for a plain `kubectl apply`: use `kubectl apply --server-side`\n"
                }
            });
        }
        Outcome::Clean
    }

    fn bundle(&self, colour: Colour) -> Result<Bundle, Outcome> {
        let given = one_blueprint(&self.path, "keep the one that is meant in a file of its own")?;
        let (mut checked, drafts) = load::check_and_draft(given);
        let policy = self.crds.policy();
        let foreign = foreign(&self.path)?;
        let (whom, rights) = self.wanted.rights(&mut checked, policy, colour, &foreign)?;
        let mut definitions: Vec<Value> = match policy {
            Policy::Await => drafts.kinds.iter().map(definition).collect(),
            Policy::Create | Policy::Publish => Vec::new(),
        };
        definitions.extend(foreign);
        Ok(Bundle {
            blueprint: checked.blueprint.map(|it| it.name).unwrap_or_default(),
            packed: bundle::packed(&checked.given.files, self.packed),
            sources: checked.given.files,
            definitions,
            policy,
            whom,
            rights,
        })
    }

    fn store(&self, folder: &Path, made: Files, release: &str) -> Result<(), String> {
        let names: Vec<String> = made.keys().cloned().collect();
        let made: Vec<_> = made.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
        files::write(&made, self.force).map(|()| self.wrote(folder, &names, release))
    }

    /// Says what was written where, and what applies it.
    fn wrote(&self, target: &Path, files: &[String], release: &str) {
        let place = target.display();
        let apply = match self.form {
            Form::Yaml => format!("kubectl apply --server-side -f {place}"),
            Form::Kustomize => format!("kubectl apply --server-side -k {place}"),
            Form::Helm => format!("helm upgrade --install {release} {place}"),
        };
        let files = if files.is_empty() { String::new() } else { format!(": {}", files.join(", ")) };
        terminal::remark(&format!("wrote {place}{files}\nnext: {apply}\n"));
    }
}
