//! Whether a new draft may follow an old definition.

use super::against::Given;
use super::difference::{Effect, differences};

/// What a change asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing: objects and clients go on as before.
    Safe,
    /// A new version: objects or clients of this one would break.
    NeedsVersion,
    /// A new version and a conversion: what is stored has to become something else.
    NeedsConversion,
    /// A new kind: the API server cannot change this at all.
    NeedsKind,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::NeedsVersion => "needs a new version",
            Self::NeedsConversion => "needs a new version and a conversion",
            Self::NeedsKind => "needs a new kind",
        }
    }
}

/// One change between an old definition and a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The version that it is in; none if it is of the whole.
    pub version: Option<String>,
    /// The field.
    pub path: String,
    /// What it asks for.
    pub verdict: Verdict,
    /// What has changed.
    pub what: String,
}

/// All changes from an old definition to a new one, the worst first.
#[must_use]
pub fn changes(old: &Given, new: &Given) -> Vec<Change> {
    let mut found = Vec::new();
    let whole = [
        ("scope", &old.scope, &new.scope),
        ("names.plural", &old.plural, &new.plural),
        ("group", &old.group, &new.group),
    ];
    for (path, before, after) in whole {
        if before != after {
            let what = format!("it was {before}, and is {after} now");
            found.push(Change { version: None, path: path.to_owned(), verdict: Verdict::NeedsKind, what });
        }
    }
    for (name, before) in &old.versions {
        let mut tell = |path: String, verdict: Verdict, what: String| {
            found.push(Change { version: Some(name.clone()), path, verdict, what });
        };
        let Some(after) = new.versions.get(name) else {
            let what = "the version is gone; first stop storing and then serving it".to_owned();
            tell(String::new(), Verdict::NeedsConversion, what);
            continue;
        };
        if before.served && !after.served {
            tell(String::new(), Verdict::NeedsVersion, "the version is no longer served".to_owned());
        }
        for difference in differences(&before.schema, &after.schema, "") {
            let verdict = match difference.effect {
                Effect::Looser => Verdict::Safe,
                // What we write ourselves breaks nobody's objects.
                _ if is_own(&difference.path) => Verdict::Safe,
                Effect::Tighter | Effect::OtherMeaning => Verdict::NeedsVersion,
                Effect::OtherType | Effect::Removed => Verdict::NeedsConversion,
            };
            tell(difference.path, verdict, difference.what);
        }
    }
    for name in new.versions.keys().filter(|name| !old.versions.contains_key(*name)) {
        let what = "the version is new".to_owned();
        found.push(Change { version: Some(name.clone()), path: String::new(), verdict: Verdict::Safe, what });
    }
    found.sort_by(|a, b| {
        (b.verdict, &a.version, &a.path, &a.what).cmp(&(a.verdict, &b.version, &b.path, &b.what))
    });
    found
}

/// Whether a field is one that Pemdas writes itself.
pub(super) fn is_own(path: &str) -> bool {
    let below = |name: &str| {
        path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    path == "status"
        || below("status.pemdas")
        || below("status.conditions")
        || below("status.observedGeneration")
}

#[cfg(test)]
mod tests;
