//! The inventory: every object that an instance made says so itself.
//!
//! One label finds them, one annotation says all that removal needs, so that there is no window in which an object
//! exists and is in no list, and no blueprint is needed to take it away again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{KindKey, Live, ObjectKey, Seal};
use crate::digest::Digest;

/// The label with the uid of the root.
pub const ROOT_LABEL: &str = "pemdas.dev/root";
/// The annotation with the rest of the claim, as JSON.
pub const CLAIM_ANNOTATION: &str = "pemdas.dev/claim";
/// On a once-object until its end is recorded. Another one than that of roots: an object may be made by one instance and be the root
/// of another, and neither takes off what the other put on.
pub const ONCE_FINALIZER: &str = "pemdas.dev/once";

/// What an instance puts on its root. Every instance has its own: of two blueprints with the same root, the one that has ended must
/// not let the root go while the other still removes what it made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finalizers {
    /// Where order or scope need it.
    pub removal: String,
    /// Where the blueprint has nodes of its deletion: says so even when the blueprint is gone.
    pub deletion: String,
}

impl Finalizers {
    /// Of the instance with this name.
    #[must_use]
    pub fn of(instance: &str) -> Self {
        let ending = ending(instance);
        Self {
            removal: format!("pemdas.dev/removal{ending}"),
            deletion: format!("pemdas.dev/deletion{ending}"),
        }
    }

    /// Whether a finalizer is one of these two.
    #[must_use]
    pub fn contains(&self, finalizer: &str) -> bool {
        finalizer == self.removal || finalizer == self.deletion
    }

    /// Whether an object has one of these two.
    #[must_use]
    pub fn hold(&self, object: &Live) -> bool {
        object.finalizers.iter().any(|it| self.contains(it))
    }
}

/// How the names of what an instance puts on its root end: what follows the uid tells the blueprint; the uid is the
/// root's own.
fn ending(instance: &str) -> String {
    instance.split_once('.').map_or(String::new(), |(_, it)| format!("-{it}"))
}

/// The annotation by which the root of the instance with this name says that there is a ledger.
#[must_use]
pub fn memory_annotation(instance: &str) -> String {
    format!("{OUR_PREFIX}memory{}", ending(instance))
}

/// What the names of our annotations on a root begin with; templates do not see them.
pub const OUR_PREFIX: &str = "pemdas.dev/";

/// What an object says of its being made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The identity of the root: tells whose it was when the uid is dead.
    pub root: ObjectKey,
    /// The namespace and the name of the object itself: a copy under another name, with everything on it, is nobody's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// The node that made it.
    pub node: String,
    /// The state it is in, where that is not its last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The member of that node; empty where it has one object only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub member: String,
    /// The nodes it came after, each with a digest of the objects that node had then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub after: BTreeMap<String, Digest>,
    /// The revision of the blueprint.
    pub revision: String,
    /// Its ordinal: in a circle of mixed revisions the older gives way.
    pub ordinal: u64,
    /// The digest of what was applied.
    pub applied: Digest,
    /// The fields that were applied (the module `fields`): one of them that somebody took is taken back, another one is a conflict.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fields: String,
    /// The fields of what was applied that the server did not keep, as marks (`Live::unkept`): the same is not applied for them again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unkept: BTreeSet<String>,
    /// The fields of what was applied that are not in the answer ([`super::dropped()`]): told to people, also by a later process.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub dropped: BTreeSet<String>,
    /// Of an object in a state: the digest of that state's patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Digest>,
    /// Whether it stays when the instance goes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub orphan: bool,
    /// Whether it was given an owner reference to the root: then the garbage collector takes it, and where the
    /// reference is gone, somebody wants it to stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub owned: bool,
    /// Of a once-object: the digest of its key, and the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<(Digest, u32)>,
    /// That it was Pemdas who wrote all this on this very object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seal: String,
    /// Whether an older key sealed it than the one that seals now: not part of it, but known once it was verified.
    #[serde(skip)]
    pub older: bool,
}

impl Claim {
    /// The claim as it is written on an object of this kind and instance.
    #[must_use]
    pub fn sealed(mut self, instance: &str, kind: &KindKey, seal: &Seal) -> String {
        self.seal = String::new();
        self.seal = seal.of(&sealed_parts(instance, kind, &self.text()));
        self.text()
    }

    /// Whether it is as Pemdas wrote it.
    fn is_genuine(&self, instance: &str, object: &ObjectKey, seal: &Seal) -> bool {
        if *seal == Seal::Unverified {
            return true;
        }
        let bare = Self { seal: String::new(), ..self.clone() };
        let here = bare.object == place(object) || mutant!(CopiedClaims);
        here && seal.holds(&self.seal, &sealed_parts(instance, &object.kind, &bare.text()))
    }

    /// Whether the key that seals now made the seal of this claim, which is genuine.
    fn is_of_current_key(&self, instance: &str, object: &ObjectKey, seal: &Seal) -> bool {
        // Almost always there is one key only.
        if !seal.has_older() {
            return true;
        }
        let bare = Self { seal: String::new(), ..self.clone() };
        seal.is_current(&self.seal, &sealed_parts(instance, &object.kind, &bare.text()))
    }

    /// Whether it names another object than the one on which it stands.
    fn is_of_another(&self, object: &ObjectKey) -> bool {
        !self.object.is_empty() && self.object != place(object)
    }

    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What the seal of a claim is of. The claim itself names the root and the place of its object.
fn sealed_parts<'p>(instance: &'p str, kind: &'p KindKey, claim: &'p str) -> [&'p str; 4] {
    let instance = if mutant!(ClaimsOfAnyInstance) { "" } else { instance };
    let (group, kind) = if mutant!(ClaimsOfAnyKind) { ("", "") } else { (&*kind.group, &*kind.kind) };
    [instance, group, kind, claim]
}

/// Whose an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// Nobody's of ours.
    Nobody,
    /// An instance's with another root uid.
    Another {
        /// The uid.
        uid: String,
        /// The identity of that root.
        root: ObjectKey,
    },
    /// This instance's.
    Us(Box<Claim>),
    /// Somebody's who put a label of ours on it: its claim is missing, cannot be read, or was not written by Pemdas.
    Forged,
}

/// Whose an object is, as seen from the instance with this name.
#[must_use]
pub fn owner(object: &Live, instance: &str, seal: &Seal) -> Owner {
    let Some(label) = object.label(ROOT_LABEL) else { return Owner::Nobody };
    let claim: Option<Claim> =
        object.annotation(CLAIM_ANNOTATION).and_then(|text| serde_json::from_str(text).ok());
    match claim {
        Some(claim) if claim.is_of_another(&object.key) && !mutant!(CopiedClaims) => Owner::Nobody,
        Some(claim) if !claim.is_genuine(label, &object.key, seal) && !mutant!(ForgedClaims) => Owner::Forged,
        Some(claim) if label != instance => Owner::Another { uid: label.to_owned(), root: claim.root },
        Some(mut claim) => {
            claim.older = !claim.is_of_current_key(label, &object.key, seal);
            Owner::Us(Box::new(claim))
        }
        None => Owner::Forged,
    }
}

/// How a claim names its object.
#[must_use]
pub fn place(key: &ObjectKey) -> String {
    format!("{}/{}", key.namespace, key.name)
}

/// The field manager of an instance: one for each, so that two never merge into one object.
#[must_use]
pub fn manager(root_uid: &str) -> String {
    format!("pemdas-{root_uid}")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::{Claim, Owner, owner};
    use crate::{
        digest::Digest,
        world::{KindKey, Live, ObjectKey, Seal},
    };

    fn object(name: &str, claim: &str) -> Live {
        let key = ObjectKey::new(KindKey::new("v1", "ConfigMap"), "n".to_owned(), name.to_owned());
        Live {
            key,
            uid: "u".to_owned(),
            resource_version: 1,
            generation: None,
            terminating: false,
            finalizers: BTreeSet::new(),
            managed: crate::packed::Packed::default(),
            body: json!({ "metadata": {
                "labels": { "pemdas.dev/root": "root" }, "annotations": { "pemdas.dev/claim": claim },
            } })
            .into(),
        }
    }

    fn claim(name: &str) -> Claim {
        Claim {
            root: object("a", "").key,
            object: format!("n/{name}"),
            node: "map".to_owned(),
            state: None,
            member: String::new(),
            after: BTreeMap::new(),
            revision: "r".to_owned(),
            ordinal: 1,
            applied: Digest::of(&[], &json!(1)),
            fields: String::new(),
            unkept: BTreeSet::new(),
            dropped: BTreeSet::new(),
            patch: None,
            orphan: false,
            owned: false,
            attempt: None,
            seal: String::new(),
            older: false,
        }
    }

    #[test]
    fn a_copy_under_another_name_is_nobodys() {
        let seal = Seal::Unverified;
        assert_eq!(owner(&object("a", "rubbish"), "root", &seal), Owner::Forged);
        let text = serde_json::to_string(&claim("a")).unwrap();
        assert!(matches!(owner(&object("a", &text), "root", &seal), Owner::Us(_)));
        assert_eq!(owner(&object("b", &text), "root", &seal), Owner::Nobody);
        assert_eq!(owner(&object("b", &text), "another", &seal), Owner::Nobody);
        assert!(matches!(owner(&object("a", &text), "another", &seal), Owner::Another { .. }));
    }

    #[test]
    fn only_what_pemdas_wrote_on_this_very_object_counts() {
        let seal = Seal::with(vec![vec![7; 32]]);
        let kind = KindKey::new("v1", "ConfigMap");
        let text = claim("a").sealed("root", &kind, &seal);
        let whose = |it: &Live| owner(it, "root", &seal);
        assert!(matches!(whose(&object("a", &text)), Owner::Us(_)), "{text}");
        // Nothing of it can be changed.
        for (from, to) in
            [("map", "mop"), ("\"ordinal\":1", "\"ordinal\":2"), ("\"revision\":\"r\"", "\"revision\":\"s\"")]
        {
            assert!(text.contains(from), "{text}");
            assert_eq!(whose(&object("a", &text.replace(from, to))), Owner::Forged, "{from}");
        }
        // Nor can it be moved: to another name, kind, or instance.
        assert_eq!(whose(&object("b", &text.replace("n/a", "n/b"))), Owner::Forged);
        assert_eq!(
            whose(&object("a", &claim("a").sealed("root", &KindKey::new("v1", "Secret"), &seal))),
            Owner::Forged
        );
        assert_eq!(whose(&object("a", &claim("a").sealed("other", &kind, &seal))), Owner::Forged);
        // Nor does it hold without a seal, without the object's name, or with somebody else's key.
        assert_eq!(whose(&object("a", &serde_json::to_string(&claim("a")).unwrap())), Owner::Forged);
        let nameless = Claim { object: String::new(), ..claim("a") };
        assert_eq!(whose(&object("a", &nameless.sealed("root", &kind, &seal))), Owner::Forged);
        let theirs = Seal::with(vec![vec![8; 32]]);
        assert_eq!(whose(&object("a", &claim("a").sealed("root", &kind, &theirs))), Owner::Forged);
    }
}
