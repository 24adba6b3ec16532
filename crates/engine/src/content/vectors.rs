//! Sectors made with vectors of 32 bytes (AVX2): the words that are a sector's own are computed for four sectors at a
//! time, a word in each lane. The bytes are those of [`super::mask::Mask`].
//!
//! Vectors of 64 bytes are not used: some processors lower their frequency for them, and what is measured next would
//! be slower.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_loadu_si256, _mm256_mul_epu32, _mm256_or_si256,
    _mm256_permute2x128_si256, _mm256_set_epi64x, _mm256_set1_epi64x, _mm256_slli_epi64, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::mask::{FACTORS, Head, NUMBER, SECTOR, SPREAD, WRITER, pool_from};

/// Sectors whose own words are computed at a time.
const AT_ONCE: usize = 4;

/// Writes sectors of a stream: what all of them have in common.
pub(super) struct ManySectors<'a> {
    /// What all keys are made of.
    pub(super) root: u64,
    /// Without the key, the number and the writer.
    pub(super) facts: &'a Head,
    /// Who writes.
    pub(super) rank: u32,
}

impl ManySectors<'_> {
    /// Writes sectors from `first` on.
    #[target_feature(enable = "avx2")]
    pub(super) fn write(&self, first: u64, out: &mut [[u8; SECTOR]]) {
        let (facts, _) = self.facts.as_chunks::<4>();
        let [mut start, middle, end] = [of_words(facts[0]), of_words(facts[1]), of_words(facts[2])];
        start = _mm256_add_epi64(start, at_number(first));
        let root = _mm256_set1_epi64x(self.root.rotate_left(23).wrapping_mul(FACTORS[0]) as i64);
        let rank = _mm256_set1_epi64x(i64::from(self.rank));
        let mut numbers = _mm256_add_epi64(_mm256_set1_epi64x(first as i64), of_words([0, 1, 2, 3]));
        let (fours, rest) = out.as_chunks_mut::<AT_ONCE>();
        for four in fours {
            let own = Own::of(root, rank, numbers);
            numbers = _mm256_add_epi64(numbers, _mm256_set1_epi64x(AT_ONCE as i64));
            // Of a known number: unrolled.
            for (at, sector) in four.iter_mut().enumerate() {
                own.blend(at, [start, middle, end], sector);
                start = _mm256_add_epi64(start, at_number(1));
            }
        }
        if !rest.is_empty() {
            let own = Own::of(root, rank, numbers);
            for (at, sector) in rest.iter_mut().enumerate() {
                own.blend(at, [start, middle, end], sector);
                start = _mm256_add_epi64(start, at_number(1));
            }
        }
    }
}

/// What is their own of four sectors.
struct Own {
    keys: [u64; AT_ONCE],
    writers: [u64; AT_ONCE],
    pools: [&'static [u64; SECTOR / 8]; AT_ONCE],
    /// What their words are combined with: two words, twice.
    words: [__m256i; AT_ONCE],
}

impl Own {
    /// Of the sectors with these numbers.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(root: __m256i, rank: __m256i, numbers: __m256i) -> Self {
        let keys = rounds(_mm256_xor_si256(root, numbers));
        let even = _mm256_xor_si256(times(keys, FACTORS[3]), _mm256_srli_epi64::<32>(keys));
        let turned = _mm256_or_si256(_mm256_slli_epi64::<23>(keys), _mm256_srli_epi64::<41>(keys));
        let mixed = times(turned, FACTORS[0]);
        let odd = rounds(_mm256_xor_si256(mixed, _mm256_set1_epi64x(1)));
        let check = rounds(_mm256_xor_si256(mixed, rank));
        let keys = words_of(keys);
        let pools = [pool_from(keys[0]), pool_from(keys[1]), pool_from(keys[2]), pool_from(keys[3])];
        let pool = [pools[0][WRITER], pools[1][WRITER], pools[2][WRITER], pools[3][WRITER]];
        let claim = _mm256_or_si256(rank, _mm256_slli_epi64::<32>(check));
        let plain = _mm256_xor_si256(_mm256_xor_si256(of_words(pool), odd), claim);
        let spread = times(plain, SPREAD.0);
        let spread = times(_mm256_xor_si256(spread, _mm256_srli_epi64::<32>(spread)), SPREAD.0);
        let (low, high) = (_mm256_unpacklo_epi64(even, odd), _mm256_unpackhi_epi64(even, odd));
        let words = [
            _mm256_permute2x128_si256::<0x00>(low, low),
            _mm256_permute2x128_si256::<0x00>(high, high),
            _mm256_permute2x128_si256::<0x11>(low, low),
            _mm256_permute2x128_si256::<0x11>(high, high),
        ];
        Self { keys, writers: words_of(spread), pools, words }
    }

    /// Writes one of the sectors, its first words combined with its facts.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn blend(&self, at: usize, facts: [__m256i; 3], out: &mut [u8; SECTOR]) {
        let (pool, _) = self.pools[at].as_chunks::<4>();
        let (lanes, _) = out.as_chunks_mut::<32>();
        for (place, (lane, pool)) in lanes.iter_mut().zip(pool).enumerate() {
            let mut words = _mm256_xor_si256(of_words(*pool), self.words[at]);
            if let Some(facts) = facts.get(place) {
                words = _mm256_xor_si256(words, *facts);
            }
            // SAFETY: 32 bytes, of any alignment.
            unsafe { _mm256_storeu_si256(lane.as_mut_ptr().cast::<__m256i>(), words) };
        }
        let (words, _) = out.as_chunks_mut::<8>();
        words[0] = self.keys[at].to_le_bytes();
        words[WRITER] = self.writers[at].to_le_bytes();
    }
}

/// The rounds of [`super::mask::mix`] behind its first step.
#[inline]
#[target_feature(enable = "avx2")]
fn rounds(all: __m256i) -> __m256i {
    let all = times(_mm256_xor_si256(all, _mm256_srli_epi64::<30>(all)), FACTORS[1]);
    let all = times(_mm256_xor_si256(all, _mm256_srli_epi64::<27>(all)), FACTORS[2]);
    _mm256_xor_si256(all, _mm256_srli_epi64::<31>(all))
}

/// Each word times `factor`, modulo 2^64: AVX2 multiplies words of 32 bits only.
#[inline]
#[target_feature(enable = "avx2")]
fn times(words: __m256i, factor: u64) -> __m256i {
    let (low, high) = (_mm256_set1_epi64x(factor as i64), _mm256_set1_epi64x((factor >> 32) as i64));
    let crossed = _mm256_add_epi64(
        _mm256_mul_epu32(_mm256_srli_epi64::<32>(words), low),
        _mm256_mul_epu32(words, high),
    );
    _mm256_add_epi64(_mm256_mul_epu32(words, low), _mm256_slli_epi64::<32>(crossed))
}

#[inline]
#[target_feature(enable = "avx2")]
fn of_words(words: [u64; AT_ONCE]) -> __m256i {
    // SAFETY: 32 bytes, of any alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast::<__m256i>()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn words_of(vector: __m256i) -> [u64; AT_ONCE] {
    let mut words = [0; AT_ONCE];
    // SAFETY: 32 bytes, of any alignment.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast::<__m256i>(), vector) };
    words
}

/// `value` in the word of the number, among the first four.
#[inline]
#[target_feature(enable = "avx2")]
fn at_number(value: u64) -> __m256i {
    const { assert!(NUMBER == 3) };
    _mm256_set_epi64x(value as i64, 0, 0, 0)
}
