//! Random words that the content of a sector is combined with.

/// Bytes that describe themselves.
pub const SECTOR: usize = 512;
/// The word with the number of the sector.
pub(super) const NUMBER: usize = 3;
/// The word that depends on the writer.
pub(super) const WRITER: usize = 5;
/// Facts at the beginning of a sector, and zeros up to a multiple of four words.
pub(super) type Head = [u64; 12];
/// What [`mix`] multiplies by, and what the first word of a sector's own is made with.
pub(super) const FACTORS: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xa076_1d64_78bd_642f];

/// Odd, and its inverse modulo 2^64.
pub(super) const SPREAD: (u64, u64) = (0xd6e8_feb8_6659_fd93, inverse(0xd6e8_feb8_6659_fd93));

/// The inverse of an odd number modulo 2^64 (by Newton's method: each step doubles the bits).
const fn inverse(odd: u64) -> u64 {
    let (mut inverse, mut steps) = (odd, 0);
    while steps < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        steps += 1;
    }
    inverse
}

/// The words that sectors are made of: each of consecutive ones, from one of the first [`STARTS`] on.
static WORDS: [u64; STARTS + SECTOR / 8] = pool();
/// Places of the pool where a sector can begin.
const STARTS: usize = 128;

/// Random words (SplitMix64; Steele, Lea and Flood 2014).
const fn pool() -> [u64; STARTS + SECTOR / 8] {
    let (mut words, mut at) = ([0; STARTS + SECTOR / 8], 0);
    while at < words.len() {
        words[at] = mix(FACTORS[3], at as u64);
        at += 1;
    }
    words
}

/// The part of the pool that the sector with this key is made of.
#[inline(always)]
pub(super) fn pool_from(key: u64) -> &'static [u64; SECTOR / 8] {
    let start = (key >> 57) as usize;
    WORDS[start..].first_chunk().expect("the pool is longer than the last place by a sector")
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
        Self { key, pool: pool_from(key), own: [key.wrapping_mul(FACTORS[3]) ^ (key >> 32), mix(key, 1)] }
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
}

/// One number made of two, of which each bit depends on each of theirs (the rounds are those of Stafford 2011).
#[inline(always)]
pub(super) const fn mix(a: u64, b: u64) -> u64 {
    let all = a.rotate_left(23).wrapping_mul(FACTORS[0]) ^ b;
    let all = (all ^ (all >> 30)).wrapping_mul(FACTORS[1]);
    let all = (all ^ (all >> 27)).wrapping_mul(FACTORS[2]);
    all ^ (all >> 31)
}
