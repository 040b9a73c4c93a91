//! Questions to whoever begins a blueprint: one line each. The terminal itself edits the line; Ctrl-C ends the program before anything
//! is written.

use std::{
    io::{BufRead, Write},
    path::{Path, PathBuf},
};

use clap::ValueEnum as _;

use super::{Known, Settled, group, kind, kind_of, name, name_of};
use crate::{
    init::{Names, Template},
    input::MAIN,
};

/// Whoever was asked answers no more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// Where questions go to and answers come from.
pub(super) struct Dialogue<R, W> {
    answers: R,
    questions: W,
}

/// The templates, each with what it is.
pub(super) fn templates() -> impl Iterator<Item = (String, String)> {
    Template::value_variants().iter().filter_map(clap::ValueEnum::to_possible_value).map(|it| {
        let about = it.get_help().map(ToString::to_string).unwrap_or_default();
        (it.get_name().to_owned(), about)
    })
}

/// Asks for what is not known, shows what would come of it, and asks for all of it again if that is not what is meant.
///
/// # Errors
/// If there is no answer.
pub(super) fn ask<R: BufRead, W: Write>(
    mut known: Known,
    dialogue: &mut Dialogue<R, W>,
) -> Result<Settled, Gone> {
    dialogue
        .say("A new blueprint. Enter takes what is in brackets; Ctrl-C leaves, and nothing is written.\n")?;
    let mut again = false;
    loop {
        let settled = dialogue.all(&known, again)?;
        dialogue.say(&summary(&settled))?;
        if dialogue.line("Is that right", Some("yes"), yes_or_no)? {
            return Ok(settled);
        }
        let Settled { folder, template, names: Names { name, kind, group } } = settled;
        known = Known {
            folder: Some(folder),
            template: Some(template),
            name: Some(name),
            kind: Some(kind),
            group: Some(group),
        };
        again = true;
    }
}

impl<R: BufRead, W: Write> Dialogue<R, W> {
    pub(super) fn new(answers: R, questions: W) -> Self {
        Self { answers, questions }
    }

    fn say(&mut self, text: &str) -> Result<(), Gone> {
        self.questions.write_all(text.as_bytes()).and_then(|()| self.questions.flush()).map_err(|_| Gone)
    }

    /// Every question whose answer is not known, or every question again.
    fn all(&mut self, known: &Known, again: bool) -> Result<Settled, Gone> {
        let folder = match &known.folder {
            Some(folder) if !again => folder.clone(),
            said => {
                let proposed = said.as_ref().map(|it| it.display().to_string());
                self.line("Directory", proposed.as_deref(), new_folder)?
            }
        };
        let template = match known.template {
            Some(template) if !again => template,
            said => self.template(said.unwrap_or(Template::WebService))?,
        };
        let name = match &known.name {
            Some(name) if !again => name.clone(),
            said => {
                // Another directory proposes another name, unless somebody chose this one.
                let own = name_of(&folder);
                let before = known.folder.as_deref().and_then(name_of);
                let proposed = said.clone().filter(|it| Some(it) != before.as_ref()).or(own);
                self.line("Name of the blueprint", proposed.as_deref(), name)?
            }
        };
        let kind = match &known.kind {
            Some(kind) if !again => kind.clone(),
            _ if !template.has_kind() => kind_of(&name).unwrap_or_default(),
            said => {
                let before = known.name.as_deref().and_then(kind_of);
                let proposed =
                    said.clone().filter(|it| Some(it) != before.as_ref()).or_else(|| kind_of(&name));
                self.line("Kind of its objects", proposed.as_deref(), kind)?
            }
        };
        let group = match &known.group {
            Some(group) if !again => group.clone(),
            said => {
                let question =
                    if template.has_kind() { "API group of the kind" } else { "Domain of the label" };
                self.line(question, Some(said.as_deref().unwrap_or(pemdas_core::import::GROUP)), group)?
            }
        };
        Ok(Settled { folder, template, names: Names { name, kind, group } })
    }

    fn template(&mut self, proposed: Template) -> Result<Template, Gone> {
        let lines: String = (1..)
            .zip(templates())
            .map(|(number, (name, about))| format!("  {number}  {name:<20}{about}\n"))
            .collect();
        self.say(&lines)?;
        let proposed = proposed.to_possible_value().map(|it| it.get_name().to_owned());
        self.line("Template", proposed.as_deref(), template)
    }

    /// Asks until there is an answer that can be read. An empty one is what is proposed.
    fn line<T>(
        &mut self,
        question: &str,
        proposed: Option<&str>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Gone> {
        loop {
            let bracket = proposed.map(|it| format!(" [{it}]")).unwrap_or_default();
            self.say(&format!("{question}{bracket}: "))?;
            let mut line = String::new();
            if self.answers.read_line(&mut line).map_err(|_| Gone)? == 0 {
                // What was asked stands on a line of its own.
                self.say("\n")?;
                return Err(Gone);
            }
            let answer = line.trim();
            let answer = if answer.is_empty() { proposed.unwrap_or_default() } else { answer };
            match read(answer) {
                Ok(read) => return Ok(read),
                Err(why) => self.say(&format!("  {why}\n"))?,
            }
        }
    }
}

fn new_folder(text: &str) -> Result<PathBuf, String> {
    let folder = Path::new(text);
    if text.is_empty() {
        return Err("a directory for the blueprint; it is made if it is missing".to_owned());
    }
    if folder.join(MAIN).exists() {
        return Err(format!("there is a blueprint in {text} already"));
    }
    if folder.exists() && !folder.is_dir() {
        return Err(format!("{text} is a file"));
    }
    Ok(folder.to_owned())
}

/// By number or by name.
fn template(text: &str) -> Result<Template, String> {
    let all = Template::value_variants();
    let by_number = text.parse::<usize>().ok().and_then(|it| all.get(it.checked_sub(1)?).copied());
    by_number
        .or_else(|| Template::from_str(text, true).ok())
        .ok_or_else(|| format!("a number from 1 to {}, or a name", all.len()))
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err("yes or no; no asks again".to_owned()),
    }
}

fn summary(settled: &Settled) -> String {
    let Settled { folder, template, names: Names { name, kind, group } } = settled;
    let what = if template.has_kind() {
        format!("with the kind {kind}.{group}")
    } else {
        format!("for objects with the label {group}/{name}")
    };
    format!("The blueprint {name} {what}, in {}.\n", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers, and what was settled and asked with them.
    fn asked(known: Known, answers: &str) -> (Result<Settled, Gone>, String) {
        let mut dialogue = Dialogue::new(answers.as_bytes(), Vec::new());
        let settled = ask(known, &mut dialogue);
        (settled, String::from_utf8(dialogue.questions).unwrap())
    }

    fn settled(folder: &str, template: Template, name: &str, kind: &str, group: &str) -> Settled {
        let names = Names { name: name.to_owned(), kind: kind.to_owned(), group: group.to_owned() };
        Settled { folder: PathBuf::from(folder), template, names }
    }

    #[test]
    fn enter_takes_what_is_proposed() {
        let (result, said) = asked(Known::default(), "some/web-shop\n\n\n\n\n\n");
        assert_eq!(
            result,
            Ok(settled("some/web-shop", Template::WebService, "web-shop", "WebShop", "example.com"))
        );
        assert!(said.contains("Kind of its objects [WebShop]: "), "{said}");
        assert!(
            said.contains("The blueprint web-shop with the kind WebShop.example.com, in some/web-shop."),
            "{said}"
        );
    }

    #[test]
    fn what_is_known_is_not_asked() {
        let known = Known { folder: Some("shop".into()), group: Some("shop.org".into()), ..Known::default() };
        let (result, said) = asked(known, "database\nstore\n\n\n");
        assert_eq!(result, Ok(settled("shop", Template::Database, "store", "Store", "shop.org")));
        assert!(!said.contains("Directory") && !said.contains("API group"), "{said}");
    }

    #[test]
    fn what_cannot_be_is_asked_again() {
        let (result, said) =
            asked(Known::default(), "\nshop\n9\n3\nShop\nshop\nno-domain\nshop.org\nperhaps\nyes\n");
        assert_eq!(result, Ok(settled("shop", Template::OnEvent, "shop", "Shop", "shop.org")));
        for part in [
            "a directory for the blueprint",
            "a number from 1 to 4",
            "lower-case letters",
            "a group is a domain",
            "yes or no",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        assert!(!said.contains("Kind of its objects"), "it has none: {said}");
    }

    #[test]
    fn no_asks_again_with_what_was_said() {
        let (result, said) = asked(Known::default(), "shop\n2\n\n\nshop.org\nno\nstore\n\n\n\n\n\n");
        assert_eq!(result, Ok(settled("store", Template::Database, "store", "Store", "shop.org")));
        assert!(said.contains("Directory [shop]: ") && said.contains("Template [database]: "), "{said}");
        // A name of one's own stays, wherever it goes.
        let (result, _) = asked(Known::default(), "shop\n1\nmine\nOwn\n\nno\nstore\n\n\n\n\n\n");
        assert_eq!(result, Ok(settled("store", Template::WebService, "mine", "Own", "example.com")));
    }

    #[test]
    fn whoever_is_gone_gets_nothing() {
        assert_eq!(asked(Known::default(), "shop\n1\n").0, Err(Gone));
        assert_eq!(asked(Known::default(), "").0, Err(Gone));
    }
}
