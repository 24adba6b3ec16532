//! Random words that the content of a sector is combined with.

/// Bytes that describe themselves.
pub const SECTOR: usize = 512;
/// Words that are combined at a time.
const LANES: usize = 4;
/// Facts at the beginning of a sector, and zeros up to a multiple of [`LANES`].
pub(super) type Head = [u64; 3 * LANES];

/// The words that sectors are made of: each of consecutive ones, from one of the first [`STARTS`] on.
static WORDS: [u64; STARTS + SECTOR / 8] = pool();
/// Places of the pool where a sector can begin.
const STARTS: usize = 128;

/// Random words (SplitMix64; Steele, Lea and Flood 2014).
const fn pool() -> [u64; STARTS + SECTOR / 8] {
    let (mut words, mut at) = ([0; STARTS + SECTOR / 8], 0);
    while at < words.len() {
        words[at] = mix(0xa076_1d64_78bd_642f, at as u64);
        at += 1;
    }
    words
}

/// What the words of a sector are combined with its facts by: a part of the pool and two words of its own, in turn.
pub(super) struct Mask {
    key: u64,
    pool: &'static [u64; SECTOR / 8],
    own: [u64; 2],
}

impl Mask {
    #[inline(always)]
    pub(super) fn of(key: u64) -> Self {
        let start = (key >> 57) as usize;
        let pool = WORDS[start..].first_chunk().expect("the pool is longer than the last place by a sector");
        Self { key, pool, own: [key.wrapping_mul(0xa076_1d64_78bd_642f) ^ (key >> 32), mix(key, 1)] }
    }

    /// What the sector's own words are made of.
    #[inline(always)]
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    #[inline(always)]
    pub(super) fn word(&self, at: usize) -> u64 {
        self.pool[at] ^ self.own[at % 2]
    }

    /// Writes the words of a sector, the first ones combined with its facts.
    #[inline(always)]
    pub(super) fn blend(&self, facts: &Head, out: &mut [u8; SECTOR]) {
        let (words, _) = out.as_chunks_mut::<8>();
        for (at, (word, pool)) in words.iter_mut().zip(self.pool).enumerate() {
            *word = (pool ^ self.own[at % 2]).to_le_bytes();
        }
        for (at, (word, fact)) in words.iter_mut().zip(facts).enumerate() {
            *word = (fact ^ self.word(at)).to_le_bytes();
        }
    }

    /// The same, four words at a time. Compilers make bytes of the loop above.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn blend_by_avx2(&self, facts: &Head, out: &mut [u8; SECTOR]) {
        use std::arch::x86_64::{
            __m256i, _mm256_loadu_si256, _mm256_set_epi64x, _mm256_storeu_si256, _mm256_xor_si256,
        };
        let [even, odd] = self.own.map(|word| word as i64);
        let own = _mm256_set_epi64x(odd, even, odd, even);
        let (pool, _) = self.pool.as_chunks::<LANES>();
        let (facts, _) = facts.as_chunks::<LANES>();
        let (lanes, _) = out.as_chunks_mut::<{ 8 * LANES }>();
        for (at, (lane, pool)) in lanes.iter_mut().zip(pool).enumerate() {
            // SAFETY: 32 bytes each, of any alignment.
            unsafe {
                let mut words = _mm256_xor_si256(_mm256_loadu_si256(pool.as_ptr().cast::<__m256i>()), own);
                if let Some(facts) = facts.get(at) {
                    words = _mm256_xor_si256(words, _mm256_loadu_si256(facts.as_ptr().cast::<__m256i>()));
                }
                _mm256_storeu_si256(lane.as_mut_ptr().cast::<__m256i>(), words);
            }
        }
    }
}

/// One number made of two, of which each bit depends on each of theirs (the rounds are those of Stafford 2011).
#[inline(always)]
pub(super) const fn mix(a: u64, b: u64) -> u64 {
    let all = a.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b;
    let all = (all ^ (all >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let all = (all ^ (all >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    all ^ (all >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_give_the_same_bytes() {
        #[cfg(target_arch = "x86_64")]
        for key in (0..200).map(|number| mix(7, number)) {
            if !std::arch::is_x86_feature_detected!("avx2") {
                eprintln!("skipped: this processor has no AVX2");
                return;
            }
            let (mask, facts) = (Mask::of(key), std::array::from_fn(|at| mix(key, at as u64)));
            let (mut one, mut other) = ([0; SECTOR], [1; SECTOR]);
            mask.blend(&facts, &mut one);
            // SAFETY: the processor has the instructions.
            unsafe { mask.blend_by_avx2(&facts, &mut other) };
            assert_eq!(one, other);
        }
    }
}
