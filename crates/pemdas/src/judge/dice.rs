//! Chance: the same seed draws the same.

use std::ops::Range;

pub(super) struct Dice {
    state: u64,
    seed: u64,
}

/// How much a draft has of a part of the language. A draft that leaves parts out goes deeper into what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    None,
    Usual,
    Much,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        // Mixed, or the draws of one seed would be those of the one before without the first.
        Self { state: mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), seed }
    }

    /// How much this draft has of a part of the language. Somebody who looks for a cause says which are left out.
    pub(super) fn share(&self, part: &str) -> Share {
        if std::env::var("PEMDAS_JUDGE_WITHOUT").is_ok_and(|without| without.split(',').any(|it| it == part))
        {
            return Share::None;
        }
        let named = part.bytes().fold(self.seed, |it, byte| mix(it.wrapping_add(u64::from(byte) + 1)));
        match named % 4 {
            0 => Share::None,
            1 => Share::Much,
            _ => Share::Usual,
        }
    }

    /// Whether a part of the language is drawn here: usually once in so many times.
    pub(super) fn part(&mut self, part: &str, times: usize) -> bool {
        let drawn = self.below(times);
        match self.share(part) {
            Share::None => false,
            Share::Usual => drawn == 0,
            Share::Much => drawn == 0 || self.coin(),
        }
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
