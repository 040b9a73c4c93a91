//! `pemdas init`: a new blueprint.

mod ask;

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

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

/// Create a blueprint in a directory from a template, with a sample, scenarios, roles, a kustomization and editor settings
///
/// The new blueprint passes `pemdas check` and `pemdas test`. Without --template, init asks at the terminal.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 written, 2 nothing was written.",
    after_long_help = "\
Examples:
  pemdas init                                                asks
  pemdas init shop --template web-service
  pemdas init orders-db --template database --group db.example.com
  pemdas init team-defaults --template namespace-defaults
  pemdas init shop --editor-only                             for a blueprint that exists: its editor settings

Exit status: 0 written, 2 nothing was written."
)]
pub(super) struct Init {
    /// The directory; init creates it if it does not exist
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The template
    #[arg(long, short, value_enum)]
    template: Option<Template>,
    /// The name of the blueprint; without it, the name of the directory
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// The kind; without it, derived from the name
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<String>,
    /// The API group of the kind, or of the label that selects objects; without it, example.com
    #[arg(long, value_name = "GROUP", value_parser = group)]
    group: Option<String>,
    /// Only write what editors need, into a directory with a blueprint
    #[arg(long, conflicts_with_all = ["template", "name", "kind", "group"])]
    editor_only: bool,
}

/// What was said so far.
#[derive(Debug, Clone, Default)]
struct Known {
    folder: Option<PathBuf>,
    template: Option<Template>,
    name: Option<String>,
    kind: Option<String>,
    group: Option<String>,
}

/// All there is to say.
#[derive(Debug, PartialEq, Eq)]
struct Settled {
    folder: PathBuf,
    template: Template,
    names: Names,
}

impl Init {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        if self.editor_only {
            return self.for_editor();
        }
        let settled = match self.settled() {
            Ok(settled) => settled,
            Err(outcome) => return outcome,
        };
        let made = match settled.made(colour) {
            Ok(made) => made,
            Err(outcome) => return outcome,
        };
        let made: Vec<_> = made.into_iter().map(|(name, text)| (settled.folder.join(name), text)).collect();
        if let Err(why) = files::write(&made, false) {
            let hint =
                why.ends_with("already exists").then_some("a new blueprint goes into a directory of its own");
            return could_not_run(&why, hint);
        }
        let folder = settled.folder.display();
        terminal::remark(&format!(
            "the blueprint {} is in {folder}\nnext: pemdas check {folder} && pemdas test {folder} && pemdas plan {folder} --instance {folder}/{SAMPLE}\n",
            settled.names.name
        ));
        Outcome::Clean
    }

    /// Writes the library anew, and settings of editors where there are none.
    fn for_editor(&self) -> Outcome {
        let folder = self.folder.as_deref().unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let hint = "give the directory of a blueprint, or leave --editor-only out to begin a new one";
            return could_not_run(&format!("{} is no directory", folder.display()), Some(hint));
        }
        let mut made = init::for_editors();
        made.retain(|name, _| name.starts_with(".pemdas/") || !folder.join(name).exists());
        let made: Vec<_> = made.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
        if let Err(why) = files::write(&made, true) {
            return could_not_run(&why, None);
        }
        let library = folder.join(init::LIBRARY);
        let library = library.display();
        terminal::remark(&format!("wrote {library}\nnext: export NICKEL_IMPORT_PATH={library}\n"));
        Outcome::Clean
    }

    fn settled(&self) -> Result<Settled, Outcome> {
        let known = Known {
            folder: self.folder.clone(),
            template: self.template,
            name: self.name.clone(),
            kind: self.kind.clone(),
            group: self.group.clone(),
        };
        if self.folder.is_some() && self.template.is_some() {
            return known.settle();
        }
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            let answered = ask::ask(known, &mut ask::Dialogue::new(io::stdin().lock(), io::stderr()));
            return answered.map_err(|ask::Gone| could_not_run("nothing was written", None));
        }
        let missing = if self.folder.is_none() { "a directory" } else { "a template" };
        let templates: String =
            ask::templates().map(|(name, about)| format!("\n  {name:<20}{about}")).collect();
        let hint = format!("pemdas init DIR --template TEMPLATE, which is one of{templates}");
        Err(could_not_run(&format!("{missing} has to be given: there is no terminal to ask at"), Some(&hint)))
    }
}

impl Known {
    /// With what was not said proposed.
    fn settle(self) -> Result<Settled, Outcome> {
        let (folder, template) =
            (self.folder.unwrap_or_default(), self.template.unwrap_or(Template::WebService));
        let Some(name) = self.name.or_else(|| name_of(&folder)) else {
            let message = format!("{} gives no name for a blueprint", folder.display());
            let hint = "--name gives one: lower-case letters, digits and dashes";
            return Err(could_not_run(&message, Some(hint)));
        };
        let own = self.kind.or_else(|| kind_of(&name));
        let Some(kind) = own.or_else(|| (!template.has_kind()).then(String::new)) else {
            let message = format!("{name} gives no name for a kind");
            return Err(could_not_run(&message, Some("--kind gives one, such as Shop")));
        };
        let group = self.group.unwrap_or_else(|| pemdas_core::import::GROUP.to_owned());
        Ok(Settled { folder, template, names: Names { name, kind, group } })
    }
}

/// The name that a directory gives a blueprint, if it can.
fn name_of(folder: &Path) -> Option<String> {
    // The last part of `.` is that of where it leads to.
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let own = whole.components().next_back().map(|it| it.as_os_str().to_string_lossy().into_owned());
    own.filter(|it| format::dns_label(it).is_ok())
}

/// The kind that a name gives, if it can.
fn kind_of(name: &str) -> Option<String> {
    kind(&init::kind_of(name)).ok()
}

impl Settled {
    /// All files, of a blueprint that was checked.
    fn made(&self, colour: Colour) -> Result<BTreeMap<String, String>, Outcome> {
        let names = &self.names;
        let mut given = Given { title: names.name.clone(), ..Given::default() };
        given.files.insert(MAIN.to_owned(), self.template.main(names));
        given.places.insert(MAIN.to_owned(), Place::file(self.folder.join(MAIN).display().to_string()));
        let mut checked = load::check(given);
        if checked.worst().is_some_and(|it| it != Severity::Note) {
            terminal::remark(&render::text::diagnostics(&checked, colour.on_stderr()));
            return Err(could_not_run("no blueprint can be made with these names", None));
        }
        let policy = Policy::Create;
        let (whom, rights) = Wanted::default().rights(&mut checked, policy, colour, &[])?;
        let bundle = Bundle {
            blueprint: names.name.clone(),
            packed: None,
            sources: checked.given.files,
            definitions: Vec::new(),
            policy,
            whom,
            rights,
        };
        let mut made = bundle.kustomize("");
        made.extend(self.template.beside(names));
        Ok(made)
    }
}
