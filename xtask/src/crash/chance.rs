//! A reproducible random number generator: SplitMix64.

use std::time::Duration;

/// Random numbers that are the same for the same seed. The point at which a process is killed still
/// depends on the machine.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `bound`.
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// Returns true in `percent` percent of the calls.
    pub(crate) const fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns a random duration of at most `millis`.
    pub(super) const fn within(&mut self, millis: u64) -> Duration {
        Duration::from_micros(self.below(millis * 1_000))
    }
}
