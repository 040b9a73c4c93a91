//! A new blueprint in a directory: a template with names of one's own, and what stands beside a blueprint.

use std::collections::BTreeMap;

use clap::ValueEnum;
use pemdas_core::kube_types::Kind;
use pemdas_nickel::kube_contracts;

/// What to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    /// A kind for web services: settings, pods, a Service
    WebService,
    /// A kind for databases: a volume, a password, a backup every night and a last one on deletion
    Database,
    /// A Job that runs once for each labelled object, and again when it changes
    OnEvent,
    /// What every labelled namespace gets: a quota, limits, closed doors
    NamespaceDefaults,
}

/// The names in a new blueprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    /// Of the blueprint.
    pub(crate) name: String,
    /// Of its kind, where it has one.
    pub(crate) kind: String,
    /// Of the API group of the kind, or of the label.
    pub(crate) group: String,
}

/// Where the sample is.
pub(crate) const SAMPLE: &str = "sample/sample.yaml";
/// Where its scenarios are.
pub(crate) const SCENARIOS: &str = "scenarios/life.ncl";

/// What a template consists of.
struct Texts {
    main: &'static str,
    sample: &'static str,
    scenarios: &'static str,
}

macro_rules! texts {
    ($name:literal) => {
        Texts {
            main: include_str!(concat!("templates/", $name, ".ncl")),
            sample: include_str!(concat!("templates/", $name, ".yaml")),
            scenarios: include_str!(concat!("templates/", $name, ".life.ncl")),
        }
    };
}

impl Template {
    fn texts(self) -> Texts {
        match self {
            Self::WebService => texts!("web-service"),
            Self::Database => texts!("database"),
            Self::OnEvent => texts!("on-event"),
            Self::NamespaceDefaults => texts!("namespace-defaults"),
        }
    }

    /// Whether it has a kind of its own; the others wait for objects with a label.
    pub(crate) fn has_kind(self) -> bool {
        matches!(self, Self::WebService | Self::Database)
    }

    /// The blueprint.
    pub(crate) fn main(self, names: &Names) -> String {
        names.put_into(self.texts().main)
    }

    /// What stands beside it: an object that starts an instance, scenarios of its life, a page, and what editors need.
    pub(crate) fn beside(self, names: &Names) -> BTreeMap<String, String> {
        let mut files = for_editors();
        files.insert(SAMPLE.to_owned(), names.put_into(self.texts().sample));
        files.insert(SCENARIOS.to_owned(), names.put_into(self.texts().scenarios));
        files.insert("README.md".to_owned(), names.put_into(include_str!("templates/README.md")));
        files
    }
}

impl Names {
    fn put_into(&self, text: &str) -> String {
        text.replace("@name@", &self.name).replace("@Kind@", &self.kind).replace("@group@", &self.group)
    }
}

/// A kind from a name: `web-shop` is a `WebShop`.
pub(crate) fn kind_of(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|it| it.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
    };
    name.split('-').map(capital).collect()
}

/// Where the library is for editors.
pub(crate) const LIBRARY: &str = ".pemdas/library";

/// The library as files: what blueprints import, and the contracts of all built-in kinds, which Pemdas itself makes on demand.
pub(crate) fn library() -> BTreeMap<String, String> {
    let mut names: BTreeMap<String, String> =
        pemdas_nickel::LIBRARY.iter().map(|it| (it.name.to_owned(), it.text.to_owned())).collect();
    for kind in Kind::all() {
        let name = format!("{}{}/{}.ncl", kube_contracts::FOLDER, kind.api_version, kind.name);
        names.extend(kube_contracts::with_imports(&name));
    }
    names.into_iter().map(|(name, text)| (format!("{LIBRARY}/{name}"), text)).collect()
}

/// What editors need: the library, and where it is.
pub(crate) fn for_editors() -> BTreeMap<String, String> {
    let mut files = library();
    // They are many, the same everywhere, and `--editor-only` writes them again.
    files.insert(format!("{LIBRARY}/{}.gitignore", kube_contracts::FOLDER), "*\n".to_owned());
    let about = "# What blueprints import, for Nickel's language server. Pemdas has its own copy and reads nothing here.\n\
                 # `pemdas init --editor-only` writes it again, for another version of Pemdas.\n";
    files.insert(".pemdas/README".to_owned(), about.to_owned());
    let direnv = "# Nickel's language server finds the library of blueprints here.\n\
                  export NICKEL_IMPORT_PATH=\"$PWD/.pemdas/library\"\n";
    files.insert(".envrc".to_owned(), direnv.to_owned());
    let helix = "[language-server.nls]\ncommand = \"nls\"\nenvironment = { NICKEL_IMPORT_PATH = \".pemdas/library\" }\n";
    files.insert(".helix/languages.toml".to_owned(), helix.to_owned());
    let code = "{\n  \"recommendations\": [\"Tweag.vscode-nickel\", \"mkhl.direnv\"]\n}\n";
    files.insert(".vscode/extensions.json".to_owned(), code.to_owned());
    files
}

#[cfg(test)]
mod tests {
    use super::kind_of;

    #[test]
    fn a_kind_is_made_from_a_name() {
        assert_eq!(kind_of("web-shop"), "WebShop");
        assert_eq!(kind_of("shop2"), "Shop2");
    }
}
