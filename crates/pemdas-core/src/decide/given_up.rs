//! What a human gives up of an instance that is being removed, by name.
//!
//! *The accident*: an object that nobody may delete holds its root for ever, and people take the finalizer off by hand, which lets
//! go of everything.

use crate::world::{KindKey, OUR_PREFIX, ObjectKey, World};

/// The annotation of the root, and the namespace of the root.
pub(super) struct GivenUp<'w> {
    entries: Vec<&'w str>,
    namespace: &'w str,
}

impl<'w> GivenUp<'w> {
    pub(super) fn of(world: &'w World) -> Self {
        let entries =
            world.root.skips().unwrap_or_default().split(',').map(str::trim).filter(|it| !it.is_empty());
        Self { entries: entries.collect(), namespace: &world.root.key.namespace }
    }

    /// Whether the nodes of the deletion are skipped: by any word that is no name of an object.
    pub(super) fn nodes(&self) -> bool {
        self.entries.iter().any(|it| !it.contains('/'))
    }

    /// Whether an object is given up.
    pub(super) fn has(&self, key: &ObjectKey) -> bool {
        self.entries.iter().any(|it| match it.split('/').collect::<Vec<_>>()[..] {
            [kind, "*"] => is_kind(&key.kind, kind),
            [kind, name] => {
                let here = key.namespace.is_empty() || key.namespace == self.namespace;
                is_kind(&key.kind, kind) && here && key.name == name
            }
            [kind, namespace, name] => {
                is_kind(&key.kind, kind) && key.namespace == namespace && key.name == name
            }
            _ => false,
        })
    }

    /// Whether all of a kind is given up, seen or not.
    pub(super) fn has_all_of(&self, kind: &KindKey) -> bool {
        self.entries.iter().any(|it| it.strip_suffix("/*").is_some_and(|it| is_kind(kind, it)))
    }

    /// How an object is named here.
    pub(super) fn entry(key: &ObjectKey) -> String {
        match key.namespace.as_str() {
            "" => format!("{}/{}", key.kind, key.name),
            namespace => format!("{}/{namespace}/{}", key.kind, key.name),
        }
    }

    /// What a human can do who wants to leave something: what was given up already stays so.
    pub(super) fn advice(&self, entry: &str) -> String {
        let all: Vec<_> = self.entries.iter().copied().chain([entry]).collect();
        format!("to leave it, annotate the root with {OUR_PREFIX}skip-deletion={}", all.join(","))
    }
}

/// A kind is named as `Service`, or with its group.
fn is_kind(kind: &KindKey, name: &str) -> bool {
    kind.kind == name || kind.to_string() == name
}
