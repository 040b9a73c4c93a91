//! `pemdas init`: a new blueprint.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use pemdas_core::{crd::install::Policy, diagnostic::Severity, kube_types::format};

use super::{
    Outcome, could_not_run,
    import::{group, kind, name},
    rbac::Wanted,
};
use crate::{
    bundle::Bundle,
    files,
    init::{self, Names, SAMPLE, Template},
    input::{Given, MAIN, Place},
    load, render,
    terminal::{self, Colour},
};

/// Begin a blueprint in a directory: from a template, with a sample, its roles, a kustomization and settings for editors
///
/// What is written passes `pemdas check` as it is.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 written, 2 nothing was written.",
    after_long_help = "\
Examples:
  pemdas init shop                                           a web service
  pemdas init orders-db --template database --group db.example.com
  pemdas init team-defaults --template namespace-defaults

Exit status: 0 written, 2 nothing was written."
)]
pub(super) struct Init {
    /// The directory; it is made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// What to begin with
    #[arg(long, short, value_enum, default_value_t)]
    template: Template,
    /// The name of the blueprint; without it, that of the directory
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// The kind; without it, made from the name
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<String>,
    /// The API group of the kind, or of the label that chooses objects
    #[arg(long, value_name = "GROUP", value_parser = group, default_value = pemdas_core::import::GROUP)]
    group: String,
}

impl Init {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let names = match self.names() {
            Ok(names) => names,
            Err(outcome) => return outcome,
        };
        let made = match self.made(&names, colour) {
            Ok(made) => made,
            Err(outcome) => return outcome,
        };
        let made: Vec<_> = made.into_iter().map(|(name, text)| (self.folder.join(name), text)).collect();
        if let Err(why) = files::write(&made, false) {
            let hint = why.ends_with("already").then_some("a new blueprint goes into a directory of its own");
            return could_not_run(&why, hint);
        }
        let folder = self.folder.display();
        terminal::remark(&format!(
            "the blueprint {} is in {folder}\nnext: pemdas check {folder} && pemdas plan {folder} --instance {folder}/{SAMPLE}\n",
            names.name
        ));
        Outcome::Clean
    }

    fn names(&self) -> Result<Names, Outcome> {
        // The last part of `.` is that of where it leads to.
        let whole = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let own = whole.components().next_back().map(|it| it.as_os_str().to_string_lossy().into_owned());
        let own = own.filter(|it| format::dns_label(it).is_ok());
        let Some(name) = self.name.clone().or(own) else {
            let message = format!("{} gives no name for a blueprint", self.folder.display());
            let hint = "--name gives one: lower-case letters, digits and dashes";
            return Err(could_not_run(&message, Some(hint)));
        };
        let kind = match &self.kind {
            Some(kind) => kind.clone(),
            None => kind(&init::kind_of(&name)).map_err(|_| {
                could_not_run(
                    &format!("{name} gives no name for a kind"),
                    Some("--kind gives one, such as Shop"),
                )
            })?,
        };
        Ok(Names { name, kind, group: self.group.clone() })
    }

    /// All files, of a blueprint that was checked.
    fn made(&self, names: &Names, colour: Colour) -> Result<BTreeMap<String, String>, Outcome> {
        let mut given = Given { title: names.name.clone(), ..Given::default() };
        given.files.insert(MAIN.to_owned(), self.template.main(names));
        given.places.insert(MAIN.to_owned(), Place::file(self.folder.join(MAIN).display().to_string()));
        let mut checked = load::check(given);
        if checked.worst().is_some_and(|it| it != Severity::Note) {
            terminal::remark(&render::text::diagnostics(&checked, colour.on_stderr()));
            return Err(could_not_run("no blueprint can be made with these names", None));
        }
        let policy = Policy::Create;
        let (whom, rights) = Wanted::default().rights(&mut checked, policy, colour)?;
        let bundle = Bundle {
            blueprint: names.name.clone(),
            sources: checked.given.files,
            definitions: Vec::new(),
            policy,
            whom,
            rights,
        };
        let mut made = bundle.kustomize("");
        made.insert(SAMPLE.to_owned(), self.template.sample(names));
        made.insert("README.md".to_owned(), init::readme(names));
        made.extend(init::for_editors());
        Ok(made)
    }
}
