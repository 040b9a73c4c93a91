//! The inventory: which of the objects that are seen are ours, and which node made them.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    digest::Digest,
    world::{Claim, Live, ObjectKey, Owner, Touch, World},
};

/// An object of ours.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) live: Arc<Live>,
    pub(super) claim: Arc<Claim>,
    /// The digest of a desired that our entry of managed fields is known to cover.
    pub(super) covered: Cell<Option<Digest>>,
}

/// The objects of an instance.
#[derive(Debug, Clone, Default)]
pub(super) struct Inventory {
    items: BTreeMap<ObjectKey, Item>,
    /// Sorted; a set would be many times as large for the usual one object.
    by_node: BTreeMap<String, Vec<ObjectKey>>,
    /// What has our label, and no claim that Pemdas wrote: somebody else's, and left alone.
    pub(super) forged: BTreeSet<ObjectKey>,
}

impl Inventory {
    pub(super) fn of(world: &World) -> Self {
        let mut all = Self::default();
        for key in world.objects.keys() {
            all.renew(key, world);
        }
        all
    }

    /// Looks at an object again. The nodes whose objects it is or was one of, and whether a claim changed by that.
    pub(super) fn renew(&mut self, key: &ObjectKey, world: &World) -> (Vec<Touch>, bool) {
        let seen = world.objects.get(key).map(|live| (live, world.owner(live)));
        let mut moved = if matches!(seen, Some((_, Owner::Forged))) {
            self.forged.insert(key.clone())
        } else {
            self.forged.remove(key)
        };
        let new = match seen {
            Some((live, Owner::Us(claim))) => Some((live, *claim)),
            _ => None,
        };
        let old = self.items.remove(key);
        moved |= old.as_ref().map(|it| &*it.claim) != new.as_ref().map(|(_, claim)| claim);
        let mut changed = Vec::new();
        if let Some(old) = &old {
            changed.push(Touch::claims(&old.claim.node));
            if new.as_ref().is_none_or(|(_, claim)| claim.node != old.claim.node)
                && let Some(keys) = self.by_node.get_mut(&old.claim.node)
            {
                keys.retain(|it| it != key);
                if keys.is_empty() {
                    self.by_node.remove(&old.claim.node);
                }
            }
        }
        if let Some((live, claim)) = new {
            let touch = Touch::claims(&claim.node);
            if changed.first() != Some(&touch) {
                changed.push(touch);
            }
            if old.as_ref().is_none_or(|it| it.claim.node != claim.node) {
                let keys = self.by_node.entry(claim.node.clone()).or_default();
                if let Err(at) = keys.binary_search(key) {
                    keys.insert(at, key.clone());
                }
            }
            let manager = crate::world::manager(&world.root.instance);
            let same_fields = |old: &&Item| old.live.managed.get(&manager) == live.managed.get(&manager);
            let covered = old.as_ref().filter(same_fields).and_then(|it| it.covered.get());
            let claim = match &old {
                Some(old) if *old.claim == claim => old.claim.clone(),
                _ => Arc::new(claim),
            };
            self.items.insert(key.clone(), Item { live: live.clone(), claim, covered: Cell::new(covered) });
        }
        (changed, moved)
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Item> {
        self.items.get(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Item)> {
        self.items.iter()
    }

    /// The objects that a node made.
    pub(super) fn of_node(&self, node: &str) -> impl Iterator<Item = (&ObjectKey, &Item)> {
        let keys = self.by_node.get(node).into_iter().flatten();
        keys.filter_map(|key| self.items.get_key_value(key))
    }
}
