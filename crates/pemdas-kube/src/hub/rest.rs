//! Instances at rest: what is known of them is put away until something happens to them.
//!
//! *The accident*: an operator that keeps every object as a tree and every decision with its reasons is killed for its memory by the
//! thousandth instance, of which nine hundred and ninety have not moved since yesterday.

use std::{collections::VecDeque, sync::Arc};

use pemdas_core::{packed::Press, world::Live};

use super::{Hub, InstanceId, views::Views};
use crate::identity::Identity;

/// How long nothing happens to an instance before it is put to rest, in milliseconds.
const REST_AFTER: u64 = 100;
/// Instances that have nothing to do and are not put to rest yet: the first of more go before their time.
const MAX_AWAKE: usize = 32;
/// How many are put to rest before others have their turns again.
const AT_ONCE: usize = 64;

/// Instances that may be put to rest, in the order of their time; each is in here once at most.
#[derive(Default)]
pub(super) struct Resting(VecDeque<(u64, InstanceId)>);

impl Resting {
    /// When the next is due.
    pub(super) fn next(&self) -> Option<u64> {
        self.0.front().map(|(at, _)| *at)
    }

    fn pop(&mut self, now: u64) -> Option<InstanceId> {
        let crowded = self.0.len() > MAX_AWAKE;
        self.0.pop_front_if(|(at, _)| crowded || *at <= now).map(|(_, id)| id)
    }
}

impl Hub {
    /// An instance has nothing to do.
    pub(super) fn rest_soon(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get_mut(id).filter(|_| !at_length!()) else { return };
        let is_new = instance.rests.is_none();
        instance.rests = Some(instance.world.changes);
        if is_new {
            self.resting.0.push_back((self.clock.now() + REST_AFTER, id));
        }
    }

    /// Puts to rest whom nothing has happened to for a while.
    pub(super) fn put_to_rest(&mut self) {
        let now = self.clock.now();
        for _ in 0..AT_ONCE {
            let Some(id) = self.resting.pop(now) else { break };
            let Some(instance) = self.instances.get_mut(id) else { continue };
            let still = instance.rests.take() == Some(instance.world.changes);
            if still && !instance.evaluating {
                self.rest(id);
            } else if !still && instance.world.writes.is_empty() {
                self.rest_soon(id);
            }
        }
    }

    /// Puts away what is known of an instance.
    pub(super) fn rest(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get_mut(id) else { return };
        instance.memo.rest();
        let (views, identity, press) = (&mut self.views, &instance.identity, &mut self.press);
        instance.world.rest(&mut |live| put_away(views, identity, press, live));
    }
}

/// Puts an object away where it is seen: everybody who looks there shares it.
fn put_away(views: &mut Views, identity: &Identity, press: &mut Press, live: &Arc<Live>) -> Arc<Live> {
    let seen = views.all.values_mut().filter(|it| it.kind == live.key.kind && it.readers.contains(identity));
    for view in seen {
        let Some(shared) = view.objects.get_mut(&live.key) else { continue };
        if (&shared.uid, shared.resource_version) == (&live.uid, live.resource_version) {
            if !shared.is_pressed() {
                *shared = Arc::new(shared.pressed(press));
            }
            return shared.clone();
        }
    }
    if live.is_pressed() { live.clone() } else { Arc::new(live.pressed(press)) }
}

#[cfg(test)]
mod tests {
    use super::{InstanceId, MAX_AWAKE, Resting};

    #[test]
    fn who_is_due_goes_to_rest_and_of_too_many_the_first() {
        let mut resting = Resting::default();
        resting.0.extend((0..=MAX_AWAKE as u64).map(|it| (100 + it, InstanceId(it))));
        assert_eq!(resting.pop(0), Some(InstanceId(0)), "one too many");
        assert_eq!(resting.pop(100), None);
        assert_eq!(resting.pop(101), Some(InstanceId(1)));
        assert_eq!((resting.pop(101), resting.next()), (None, Some(102)));
    }
}
