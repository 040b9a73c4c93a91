//! Chance: the same seed draws the same.

use std::ops::Range;

pub(super) struct Dice {
    state: u64,
    /// Whether templates read their own object and random values: in every fourth draft.
    pub(super) own: bool,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        // Mixed, or the draws of one seed would be those of the one before without the first.
        Self { state: mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), own: seed % 4 == 1 }
    }

    /// A number less than this.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        usize::try_from(mix(self.state) % bound as u64).expect("less than a usize")
    }

    pub(super) fn within(&mut self, range: Range<usize>) -> usize {
        range.start + self.below(range.len())
    }

    /// Once in so many times.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn coin(&mut self) -> bool {
        self.once_in(2)
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

fn mix(mut it: u64) -> u64 {
    it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    it ^ (it >> 31)
}
