//! After a new key: what an older one sealed is sealed with the new one, when a human asks for it. Then the older key can be thrown away.
//!
//! *The accident*: a key became known, another one took its place, and everything that the old one sealed still counts: so the
//! old one has to stay for as long as a single object lives, and whoever has it can forge.
//!
//! What is applied is applied again ([`super::converge`]). The rest is here: objects of onces, which are never applied again, and the ledger.

use super::{Mode, pass::Pass, remembered::older_mark};
use crate::{action::Action, world::LedgerFact};

impl Pass<'_> {
    /// Has what an older key sealed sealed anew, where a human asked for it.
    pub(super) fn seal_anew(&mut self) {
        if !self.facts.reseals() || self.mode != Mode::Present || mutant!(OlderKeysStay) {
            return;
        }
        let older = self.inventory.iter().filter(|(_, it)| it.claim.older && it.claim.attempt.is_some());
        let onces: Vec<_> = older.map(|(_, it)| (it.live.clone(), it.claim.clone())).collect();
        for (live, claim) in onces {
            let is_written = self.actions.iter().any(|it| it.written() == Some(&live.key));
            if is_written || live.terminating || self.unseen(&live.key).is_some() {
                continue;
            }
            let world = self.facts.all();
            let claim = (*claim).clone().sealed(&world.root.instance, &live.key.kind, &world.seal);
            let refused = self.try_again(Action::seal(&live, claim));
            self.instance.extend(refused);
        }
        if self.ledger().is_some_and(|it| it.older) {
            self.record().older = false;
        }
    }

    /// How much of it there is.
    pub(super) fn older_seals(&self) -> usize {
        let world = self.facts.all();
        if !world.seal.has_older() {
            return 0;
        }
        let claims = self.inventory.iter().filter(|(_, it)| it.claim.older).count();
        let mark = older_mark(world, self.root).is_some();
        let ledger = matches!(&world.ledger, LedgerFact::Present { ledger, .. } if ledger.older);
        claims + usize::from(mark) + usize::from(ledger)
    }
}
