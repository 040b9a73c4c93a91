//! The seal of claims and ledgers: only who has the key can make one.
//!
//! *The accident*: anybody who may change an object may write its labels and annotations. Somebody puts the label of an
//! instance and a claim on an object that Pemdas never made, and Pemdas deletes it.

use std::{fmt, sync::Arc};

use crate::{digest::Digest, ledger::Ledger};

/// The format of claims and ledgers, which begins every seal. Another one is not read.
pub const SEAL_FORMAT: &str = "1";
/// How many letters of an HMAC-SHA-256 a seal has: 120 bits.
const LETTERS: usize = 20;
/// What the seal of a ledger begins with: it is of nothing else.
const LEDGER: &str = "pemdas.dev/ledger";

/// The keys of the seals. The first one seals; all of them verify, so that a key can be replaced.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Seal {
    /// Whoever looks has no key: what claims say is shown, and nothing is done because of it.
    #[default]
    Unverified,
    /// The keys.
    Keys(Arc<[Vec<u8>]>),
}

impl Seal {
    /// With these keys, of which the first one seals.
    #[must_use]
    pub fn with(keys: Vec<Vec<u8>>) -> Self {
        Self::Keys(keys.into())
    }

    /// The seal of these parts; empty where there is no key.
    #[must_use]
    pub fn of(&self, parts: &[&str]) -> String {
        match self {
            Self::Unverified => String::new(),
            Self::Keys(keys) => keys.first().map(|key| sealed(key, parts)).unwrap_or_default(),
        }
    }

    /// Whether a seal is of these parts, made with one of the keys. Who has no key takes every seal for good.
    #[must_use]
    pub fn holds(&self, seal: &str, parts: &[&str]) -> bool {
        match self {
            Self::Unverified => true,
            Self::Keys(keys) => keys.iter().any(|key| sealed(key, parts) == seal),
        }
    }

    /// Whether there are keys that only verify.
    #[must_use]
    pub fn has_older(&self) -> bool {
        matches!(self, Self::Keys(keys) if keys.len() > 1)
    }

    /// Whether a seal was made with the key that seals now, and not with an older one. Who has no key cannot tell.
    #[must_use]
    pub fn is_current(&self, seal: &str, parts: &[&str]) -> bool {
        matches!(self, Self::Unverified) || self.of(parts) == seal
    }

    /// The seal of a ledger, as the Secret of this instance in this namespace holds it.
    #[must_use]
    pub fn of_ledger(&self, namespace: &str, instance: &str, text: &str) -> String {
        self.of(&[LEDGER, namespace, instance, text])
    }

    /// The ledger that such a Secret holds; nothing where Pemdas did not write it there.
    #[must_use]
    pub fn ledger(&self, namespace: &str, instance: &str, text: &str, seal: &str) -> Option<Ledger> {
        let genuine = self.holds(seal, &[LEDGER, namespace, instance, text]) || mutant!(ForgedLedgers);
        let ledger: Ledger = serde_json::from_str(text).ok().filter(|_| genuine)?;
        Some(Ledger { older: !self.is_current(seal, &[LEDGER, namespace, instance, text]), ..ledger })
    }
}

fn sealed(key: &[u8], parts: &[&str]) -> String {
    let mut message = Vec::new();
    for part in [SEAL_FORMAT].iter().chain(parts) {
        // With its length before it: what ends one part is never taken for the beginning of the next.
        message.extend((part.len() as u64).to_be_bytes());
        message.extend(part.as_bytes());
    }
    format!("{SEAL_FORMAT}.{}", Digest::hmac(key, &message).letters(LETTERS))
}

/// Keys are never printed.
impl fmt::Debug for Seal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unverified => out.write_str("Unverified"),
            Self::Keys(keys) => write!(out, "Keys({})", keys.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Seal;

    #[test]
    fn a_seal_is_of_its_parts_and_its_key() {
        let seal = Seal::with(vec![vec![1; 32]]);
        let made = seal.of(&["a", "b"]);
        assert!(made.starts_with("1.") && made.len() == 22, "{made}");
        assert!(seal.holds(&made, &["a", "b"]));
        for other in [&["a", "c"][..], &["ab", ""], &["a"], &["a", "b", ""], &["b", "a"]] {
            assert!(!seal.holds(&made, other), "{other:?}");
        }
        assert!(!Seal::with(vec![vec![2; 32]]).holds(&made, &["a", "b"]));
        assert!(!seal.holds("", &["a", "b"]) && !seal.holds(made.trim_start_matches("1."), &["a", "b"]));
    }

    #[test]
    fn an_older_key_verifies_and_does_not_seal() {
        let (old, new) = (vec![1; 32], vec![2; 32]);
        let both = Seal::with(vec![new.clone(), old.clone()]);
        assert!(both.holds(&Seal::with(vec![old]).of(&["a"]), &["a"]));
        assert_eq!(both.of(&["a"]), Seal::with(vec![new]).of(&["a"]));
    }

    #[test]
    fn who_has_no_key_seals_nothing_and_refuses_nothing() {
        assert_eq!(Seal::Unverified.of(&["a"]), "");
        assert!(Seal::Unverified.holds("anything", &["a"]));
        // Without a single key nothing holds.
        assert!(!Seal::with(Vec::new()).holds("", &["a"]));
    }

    #[test]
    fn keys_are_not_printed() {
        assert_eq!(format!("{:?}", Seal::with(vec![b"very-secret".to_vec()])), "Keys(1)");
    }
}
