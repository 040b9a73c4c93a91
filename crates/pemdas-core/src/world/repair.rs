//! What somebody else did to an object of ours, and what Pemdas therefore does again.

use super::{CLAIM_ANNOTATION, Claim, World};
use crate::action::Action;

impl World {
    /// What an action that was sent just now puts right, in words; nothing if it does something new.
    #[must_use]
    pub fn repaired(&self, action: &Action) -> Option<String> {
        match action {
            Action::Change { key, .. } => {
                let last = self.reversals.get(key)?.last().filter(|it| it.at == self.now)?;
                let by = match last.from.as_str() {
                    // What the server does not keep is no drift.
                    "" if self.unkept.get(key).is_some_and(|it| !it.is_empty()) => return None,
                    "" => "was removed".to_owned(),
                    other => format!("was changed by {other}"),
                };
                Some(format!("{key}: {} {by} and is set again", last.field))
            }
            Action::Create { key, body } => {
                let claim = body.pointer("/metadata/annotations")?.get(CLAIM_ANNOTATION)?;
                let claim: Claim = claim.as_str().and_then(|it| serde_json::from_str(it).ok())?;
                let again = self.gone.contains_key(key) && claim.attempt.is_none();
                again.then(|| format!("{key}: was deleted by somebody else and is created again"))
            }
            _ => None,
        }
    }
}
