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

/// Which bytes a sector has besides its facts. Its facts say which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Those of its key: no two sectors have the same.
    Keyed,
    /// Those of its number modulo [`super::sector::PERIOD`]: they stay in memory from one write to another.
    #[default]
    Periodic,
}

impl Form {
    /// Those that were ever written.
    pub(super) const ALL: [Self; 2] = [Self::Periodic, Self::Keyed];
}

/// What the words of a sector are combined with: a part of the pool and two words of its own, in turn.
pub(super) struct Mask {
    key: u64,
    form: Form,
    pool: &'static [u64; SECTOR / 8],
    own: [u64; 2],
}

impl Mask {
    /// Of the facts of the sector with this key.
    #[inline(always)]
    pub(super) fn of(form: Form, key: u64) -> Self {
        match form {
            Form::Keyed => Self::of_bytes(key),
            Form::Periodic => {
                let own = key.wrapping_mul(0xa076_1d64_78bd_642f);
                Self { key, form, pool: Self::first(), own: [own, own.rotate_left(32)] }
            }
        }
    }

    /// Of a whole sector with this key.
    #[inline(always)]
    pub(super) fn of_bytes(key: u64) -> Self {
        let start = (key >> 57) as usize;
        let pool = WORDS[start..].first_chunk().expect("the pool is longer than the last place by a sector");
        let own = [key.wrapping_mul(0xa076_1d64_78bd_642f) ^ (key >> 32), mix(key, 1)];
        Self { key, form: Form::Keyed, pool, own }
    }

    #[inline(always)]
    fn first() -> &'static [u64; SECTOR / 8] {
        WORDS.first_chunk().expect("the pool is longer than a sector")
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

    /// Thirty-two bits that depend on the sector and on the rank that wrote it.
    #[inline(always)]
    pub(super) fn check(&self, rank: u32) -> u64 {
        match self.form {
            Form::Keyed => mix(self.key, u64::from(rank)) & 0xffff_ffff,
            Form::Periodic => {
                let all = self.key ^ u64::from(rank).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                all.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
            }
        }
    }

    /// `facts` with the part of the pool that all sectors of [`Form::Periodic`] combine them with.
    pub(super) fn prepared(facts: &Head) -> Head {
        std::array::from_fn(|at| facts[at] ^ WORDS[at])
    }

    /// Writes the facts of a sector, of which [`Mask::prepared`] gave `prepared`.
    #[inline(always)]
    pub(super) fn stamp<const FACTS: usize>(&self, prepared: &Head, out: &mut [u8; SECTOR]) {
        let (pairs, _) = out.as_chunks_mut::<16>();
        for (pair, facts) in pairs.iter_mut().zip(prepared[..FACTS].as_chunks::<2>().0) {
            let words = [facts[0] ^ self.own[0], facts[1] ^ self.own[1]].map(u64::to_le_bytes);
            pair.copy_from_slice(words.as_flattened());
        }
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
            let (mask, facts) = (Mask::of_bytes(key), std::array::from_fn(|at| mix(key, at as u64)));
            let (mut one, mut other) = ([0; SECTOR], [1; SECTOR]);
            mask.blend(&facts, &mut one);
            // SAFETY: the processor has the instructions.
            unsafe { mask.blend_by_avx2(&facts, &mut other) };
            assert_eq!(one, other);
        }
    }

    #[test]
    fn stamped_facts_are_what_the_mask_says() {
        let facts: Head = std::array::from_fn(|at| mix(3, at as u64));
        let (mask, mut out) = (Mask::of(Form::Periodic, mix(5, 9)), [0; SECTOR]);
        mask.stamp::<10>(&Mask::prepared(&facts), &mut out);
        let (words, _) = out.as_chunks::<8>();
        for (at, word) in words.iter().enumerate() {
            let fact = if at < 10 { facts[at] ^ mask.word(at) } else { 0 };
            assert_eq!(u64::from_le_bytes(*word), fact, "word {at}");
        }
    }
}
