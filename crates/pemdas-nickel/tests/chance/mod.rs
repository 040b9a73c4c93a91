//! Chance for tests that draw what they try: the same in each run of the default tier, and of a round of the deep one.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// What draws.
pub(crate) fn runner() -> TestRunner {
    let Some(round) = pemdas_tier::round() else { return TestRunner::deterministic() };
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&round.to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}
