//! SplitMix64 (Steele, Lea and Flood 2014), to seed other generators and to fill memory.

/// The next output of SplitMix64.
#[inline(always)]
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A small and fast random number generator, SplitMix64: 64 bits, reproducible from its seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[inline(always)]
    #[allow(clippy::should_implement_trait, reason = "it is infinite and needs no iterator methods")]
    pub fn next(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// A number below `limit` (0 for a limit of 0), computed as the high half of a product.
    #[inline(always)]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}
