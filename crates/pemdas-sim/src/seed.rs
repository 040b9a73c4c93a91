//! Chance that is no chance: everything random is drawn from a seed.

/// A source of numbers that its seed decides.
#[derive(Debug, Clone)]
pub struct Seed(u64);

impl Seed {
    /// The source of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        // SplitMix64: small, quick, and good enough for names.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound; zero if the bound is.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw().checked_rem(bound).unwrap_or(0)
    }

    /// A uid.
    pub fn uid(&mut self) -> String {
        let (high, low) = (self.draw(), self.draw());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }

    /// The end of a generated name: letters that make no words.
    pub fn suffix(&mut self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..5)
            .filter_map(|_| {
                let index = usize::try_from(self.below(LETTERS.len() as u64)).ok()?;
                LETTERS.get(index).map(|letter| char::from(*letter))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn a_seed_decides_everything() {
        let draw = |seed| {
            let mut seed = Seed::new(seed);
            (seed.uid(), seed.suffix())
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let (uid, suffix) = draw(7);
        assert_eq!((uid.len(), suffix.len()), (36, 5));
    }
}
