//! What becomes of the CRD of an owned kind in a cluster: made, changed, waited for, or left alone with a reason.
//!
//! The accidents that this prevents: two blueprints fight over one kind; a blueprint that was rolled back, or an old binary
//! that starts once more, takes fields away from objects that have them; a hand's addition to a CRD is
//! overwritten; a CRD that is changed incompatibly makes objects unreadable. A CRD is never deleted: that
//! would delete all its objects.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::against::{self, Given};
use super::compatibility::{self, changes};
use super::difference::{Effect, differences};
use super::gap::Side;
use super::schema::{Schema, Type};
use crate::digest::Digest;

/// On a CRD: who made it, and from what.
pub const MAKER_ANNOTATION: &str = "pemdas.dev/made-by";

/// The field manager of definitions: one for all blueprints and binaries, so that a newer one may change what an older
/// one wrote. Whose a CRD is, is written on it.
pub const MANAGER: &str = "pemdas-definitions";

/// Who makes the definitions of a blueprint's kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Pemdas: it creates what is missing, and changes what may be changed.
    #[default]
    Create,
    /// Somebody else: Pemdas waits for it.
    Await,
    /// Somebody else, who takes it from the blueprint's ConfigMap.
    Publish,
}

/// Who makes a CRD, as it is written on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    /// The blueprint, as `namespace/name`.
    pub blueprint: String,
    /// The uid of its ConfigMap: revisions are counted anew when that is made anew.
    pub uid: String,
    /// The number of its revision.
    pub ordinal: u64,
    /// The version of the binary, `major.minor.patch`.
    pub version: String,
}

/// What is written on a CRD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    #[serde(flatten)]
    maker: Maker,
    /// The digest of what was applied: what differs from it without our doing was a hand.
    applied: Digest,
}

/// What to do about a CRD.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Apply this, which creates it or is refused: it carries the resourceVersion that says so.
    Create(Value),
    /// Apply this over the one that was judged: it carries its uid and resourceVersion. Never with force.
    Change(Value),
    /// It can be used. What differs from the draft, in sentences.
    Usable(Vec<String>),
    /// Not yet, because of this.
    Wait(String),
    /// It is being deleted. Until its last object is gone the API server serves those that there are, and makes no new ones.
    Going(String),
    /// Not at all, until a human changes something.
    Refused(Vec<String>),
    /// Not at all: another blueprint made it.
    Anothers(String),
}

/// What to do about a CRD: `draft` is what we would write, `live` what is there.
#[must_use]
pub fn judge(policy: Policy, draft: &Value, live: Option<&Value>, maker: &Maker) -> Verdict {
    let name = text(draft, "/metadata/name");
    let Some(live) = live else {
        return match policy {
            Policy::Create => Verdict::Create(with(draft, maker, json!({ "resourceVersion": "1" }))),
            Policy::Await => Verdict::Wait(format!("somebody has to apply the CRD {name}")),
            Policy::Publish => Verdict::Wait(format!(
                "somebody has to apply the CRD {name}, which the blueprint's ConfigMap has"
            )),
        };
    };
    let mark = mark(live);
    if let Some(other) = mark.as_ref().filter(|it| it.maker.blueprint != maker.blueprint) {
        let why = format!("the kind of {name} belongs to the blueprint {}", other.maker.blueprint);
        return Verdict::Anothers(why);
    }
    if live.pointer("/metadata/deletionTimestamp").is_some() {
        return Verdict::Going(format!(
            "the CRD {name} is being deleted: it waits for its objects, which are removed"
        ));
    }
    let (Some(wanted), Some(given)) = (Given::read(draft), Given::read(live)) else {
        return Verdict::Refused(vec![format!("{name} is no CRD that can be read")]);
    };
    match policy {
        Policy::Create => kept(draft, live, &wanted, &given, mark.as_ref(), maker),
        Policy::Await | Policy::Publish => awaited(live, &wanted, &given),
    }
}

/// The CRD as somebody else may install it for this blueprint.
#[must_use]
pub fn published(draft: &Value, maker: &Maker) -> Value {
    with(draft, maker, json!({}))
}

impl Policy {
    /// What a human can do about a CRD that is not as it is wanted.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::Create => "undo the change of the CRD, or the one in the blueprint",
            Self::Await => {
                "apply what `pemdas crds` writes with `kubectl apply --server-side --force-conflicts`"
            }
            Self::Publish => {
                "apply the CRD that the annotation pemdas.dev/definitions of the ConfigMap holds"
            }
        }
    }
}

/// What an apply that was refused because of other managers' fields means.
#[must_use]
pub fn contested(name: &str, message: &str) -> Verdict {
    Verdict::Refused(vec![format!(
        "{name} was changed by somebody else, whose fields are left alone: {message}. To hand it over, apply what `pemdas crds` \
         writes with `kubectl apply --server-side --force-conflicts --field-manager={MANAGER}`"
    )])
}

/// Whether a CRD serves what is drafted, as it is or compatibly: the API server accepts and keeps all that the draft accepts,
/// and fills in nothing that the draft does not know. Otherwise a contract is broken by what no owner of an object can change: a
/// field that it requires is dropped, or one that it does not know is there again after each write.
#[must_use]
pub fn serves(draft: &Value, live: &Value) -> bool {
    let (Some(wanted), Some(given)) = (Given::read(draft), Given::read(live)) else { return false };
    let whole = |it: &Given| [it.group.clone(), it.kind.clone(), it.plural.clone(), it.scope.clone()];
    whole(&wanted) == whole(&given)
        && wanted.versions.iter().filter(|(_, it)| it.served).all(|(name, wanted)| {
            let given = given.versions.get(name).filter(|it| it.served);
            given.is_some_and(|given| keeps(&wanted.schema, &given.schema))
        })
}

/// Whether what one schema accepts is accepted and kept as it is by another.
fn keeps(wanted: &Schema, given: &Schema) -> bool {
    let differ = differences(wanted, given, "");
    let refused = differ.iter().any(|it| it.effect != Effect::Looser && !compatibility::is_own(&it.path));
    !refused && !fills_in(wanted, given)
}

/// Whether a schema has a default for a field that another one does not know.
fn fills_in(wanted: &Schema, given: &Schema) -> bool {
    match (&wanted.of, &given.of) {
        (Type::Record(wanted), Type::Record(given)) => {
            given.fields.iter().any(|(name, field)| match wanted.fields.get(name) {
                Some(known) => fills_in(&known.schema, &field.schema),
                None => !wanted.open && field.schema.default.is_some(),
            })
        }
        (Type::List(wanted), Type::List(given)) | (Type::Dictionary(wanted), Type::Dictionary(given)) => {
            fills_in(wanted, given)
        }
        _ => false,
    }
}

/// A CRD that we keep up to date.
fn kept(
    draft: &Value,
    live: &Value,
    wanted: &Given,
    given: &Given,
    mark: Option<&Mark>,
    maker: &Maker,
) -> Verdict {
    if mark.is_some_and(|it| it.applied == applied(draft)) {
        // What a hand did to it since is told and left: it may have added what we cannot know.
        return usable(live, differing(wanted, given));
    }
    if let Some(why) = mark.and_then(|it| it.maker.is_newer_than(maker)) {
        let mut told = vec![why];
        told.extend(differing(wanted, given));
        return usable(live, told);
    }
    let breaking: Vec<String> = changes(given, wanted)
        .into_iter()
        .filter(|it| it.verdict > compatibility::Verdict::Safe)
        .map(|it| {
            let place = [it.version.unwrap_or_default(), it.path].join(" ");
            format!("{}: {} ({})", place.trim(), it.what, it.verdict.words())
        })
        .collect();
    if !breaking.is_empty() {
        return Verdict::Refused(breaking);
    }
    let precondition = json!({
        "resourceVersion": live.pointer("/metadata/resourceVersion"),
        "uid": live.pointer("/metadata/uid"),
    });
    Verdict::Change(with(draft, maker, precondition))
}

/// A CRD that somebody else keeps.
fn awaited(live: &Value, wanted: &Given, given: &Given) -> Verdict {
    let whole = [
        ("group", &wanted.group, &given.group),
        ("kind", &wanted.kind, &given.kind),
        ("plural", &wanted.plural, &given.plural),
        ("scope", &wanted.scope, &given.scope),
    ];
    let other: Vec<String> = whole
        .into_iter()
        .filter(|(_, wanted, given)| wanted != given)
        .map(|(what, wanted, given)| format!("its {what} is {given}, and has to be {wanted}"))
        .collect();
    if !other.is_empty() {
        return Verdict::Refused(other);
    }
    let unserved: Vec<&str> = wanted
        .versions
        .iter()
        .filter(|(name, it)| it.served && !given.versions.get(*name).is_some_and(|it| it.served))
        .map(|(name, _)| name.as_str())
        .collect();
    if !unserved.is_empty() {
        return Verdict::Wait(format!("its version {} is not served", unserved.join(", ")));
    }
    usable(live, differing(wanted, given))
}

/// Usable, if the API server says so too.
fn usable(live: &Value, told: Vec<String>) -> Verdict {
    let conditions: BTreeMap<&str, (&str, &str)> = live
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|it| (text(it, "/type"), (text(it, "/status"), text(it, "/message"))))
        .collect();
    match (conditions.get("NamesAccepted"), conditions.get("Established")) {
        (Some(("False", why)), _) => {
            Verdict::Refused(vec![format!("the API server does not accept its names: {why}")])
        }
        (_, Some(("True", _))) => Verdict::Usable(told),
        _ => Verdict::Wait("the API server does not serve it yet".to_owned()),
    }
}

fn differing(wanted: &Given, given: &Given) -> Vec<String> {
    against::gaps(wanted, given, "in the cluster's CRD")
        .into_iter()
        .map(|gap| {
            let who = match gap.side {
                Side::OnlyContract => "only the contract checks it",
                Side::OnlyKubernetes => "only the API server checks it",
            };
            format!("{} {}: {} ({who})", gap.version, gap.path, gap.what)
        })
        .collect()
}

impl Maker {
    /// Why what this one wrote is not written over by another.
    fn is_newer_than(&self, other: &Self) -> Option<String> {
        let was = format!("it was written by revision {} under Pemdas {}", self.ordinal, self.version);
        if numbers(&self.version) > numbers(&other.version) {
            return Some(format!("{was}; this is Pemdas {}, which is older and leaves it", other.version));
        }
        if self.uid == other.uid && self.ordinal > other.ordinal {
            return Some(format!("{was}; revision {} is older and leaves it", other.ordinal));
        }
        None
    }
}

/// The numbers of a version; what cannot be read is older than everything.
fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    release.split('.').map_while(|it| it.parse().ok()).collect()
}

fn mark(live: &Value) -> Option<Mark> {
    let annotations = live.pointer("/metadata/annotations")?;
    serde_json::from_str(annotations.get(MAKER_ANNOTATION)?.as_str()?).ok()
}

fn applied(draft: &Value) -> Digest {
    Digest::of(&[], draft)
}

/// The draft, with who made it and what it must find.
fn with(draft: &Value, maker: &Maker, metadata: Value) -> Value {
    let mark = Mark { maker: maker.clone(), applied: applied(draft) };
    let mark = serde_json::to_string(&mark).unwrap_or_default();
    let mut body = draft.clone();
    if let (Some(into), Value::Object(more)) = (body["metadata"].as_object_mut(), metadata) {
        into.extend(more);
        into.insert("annotations".to_owned(), json!({ MAKER_ANNOTATION: mark }));
    }
    body
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
