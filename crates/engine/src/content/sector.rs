//! Content in which each 512 bytes say what they are: run, file, offset, writer.
//!
//! A sector begins with 80 bytes of facts, masked with random words that are changed by a key made of the same facts;
//! the bytes behind them are further such words. So a sector looks random throughout (nothing compresses, no two are
//! alike), who reads it can take its facts off and make the rest again, and each byte depends on its place in the file
//! only, not on the pieces in which it is written. The writer stands in eight bytes of its own: the others are the same
//! whoever writes, so that a sector which several ranks wrote in parts is still known byte by byte.
//!
//! The bytes behind the facts of sector n are those of sector n + [`PERIOD`] of the same file. A writer that keeps them
//! in memory writes the facts alone anew ([`Writer::renew`]).

use super::mask::{Head, Mask, mix};

pub use super::mask::{Form, SECTOR};

/// Words of facts at the beginning of a sector.
const FACTS: usize = 10;
/// Bytes of facts.
pub const HEAD: usize = 8 * FACTS;
/// The word with the number of the sector.
const NUMBER: usize = 3;
/// The word that depends on the writer.
const WRITER: usize = 5;
/// Where in a sector it stands.
pub const WRITER_AT: usize = 8 * WRITER;
/// Blocks of this many sectors (128 KiB) are duplicates as a whole.
const UNIT: u64 = 256;
/// Different duplicates.
const POOL: u64 = 16;
/// After so many sectors the bytes behind the facts are the same again: more than a MiB, which compressors look back
/// and record sizes of file systems are, whole pages, and of those a prime number, so that what lies at a wrong place is
/// hardly ever away by a multiple of it.
pub const PERIOD: u64 = 8 * 257;
/// A single transfer beyond this (1 GiB) repeats its content.
pub const REPEAT: u64 = 1 << 30;

/// What a stream of sectors is counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// By its place in a file.
    Placed,
    /// The same, in a transfer so long that its content repeats every [`REPEAT`] bytes.
    Repeated,
    /// By what one rank appended to a file so far.
    Appended,
    /// By its place in memory of the program.
    Memory,
    /// A duplicate, which describes no place.
    Duplicate,
}

const KINDS: [ContentKind; 5] = [
    ContentKind::Placed,
    ContentKind::Repeated,
    ContentKind::Appended,
    ContentKind::Memory,
    ContentKind::Duplicate,
];

/// How content is made. By default it can be neither compressed nor deduplicated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dials {
    /// Of each sector, so many per cent are zeros.
    pub compressible: u8,
    /// So many per cent of all blocks of 128 KiB are copies of a few.
    pub dedupe: u8,
    /// The bytes behind the facts.
    pub form: Form,
}

impl Dials {
    /// More of a sector cannot be zeros: its facts are not.
    pub const MOST_COMPRESSIBLE: u8 = 80;
}

/// The end of a file's path.
pub type Name = [u8; 32];

/// A stream of sectors: everything about content but the offset and the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentStream {
    /// The number of the run.
    pub run: u64,
    /// The number of the file.
    pub file: u64,
    /// The end of its path.
    pub name: Name,
    /// What it is counted by.
    pub kind: ContentKind,
    /// How far it may be shortened.
    pub dials: Dials,
}

/// A stream, and where in a file its beginning lies (modulo 2^64).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lying {
    /// The stream.
    pub stream: ContentStream,
    /// The offset in the file of its first byte.
    pub shift: u64,
}

/// The facts of one sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Of which stream.
    pub stream: ContentStream,
    /// The number of the sector in it.
    pub number: u64,
    /// Who wrote it; `None` where several did, or it was changed.
    pub rank: Option<u32>,
}

fn name_words(name: &Name) -> [u64; 4] {
    std::array::from_fn(|at| u64::from_le_bytes(std::array::from_fn(|byte| name[8 * at + byte])))
}

impl ContentStream {
    fn meta(&self) -> u64 {
        let kind = KINDS.iter().position(|kind| *kind == self.kind).unwrap_or(0) as u64;
        let form = match self.dials.form {
            Form::Keyed => 0,
            Form::Periodic => 1,
        };
        kind | u64::from(self.dials.compressible) << 8 | u64::from(self.dials.dedupe) << 16 | form << 24
    }

    /// What all keys of the stream are made of.
    fn root(&self) -> u64 {
        let name = name_words(&self.name).iter().fold(0, |all, word| mix(all, *word));
        mix(mix(mix(self.run, self.file), name), self.meta())
    }

    /// Bytes of a sector before its zeros.
    fn filled(&self) -> usize {
        let zeros = SECTOR * usize::from(self.dials.compressible.min(Dials::MOST_COMPRESSIBLE)) / 100;
        SECTOR - zeros / 8 * 8
    }

    /// Where sector `number` is a duplicate: the stream of all duplicates, and the sector in it.
    #[inline]
    fn duplicate(&self, number: u64) -> Option<(Self, u64)> {
        if self.dials.dedupe == 0 || self.kind != ContentKind::Placed {
            return None;
        }
        let drawn = mix(self.file, number / UNIT);
        if drawn % 100 >= u64::from(self.dials.dedupe) {
            return None;
        }
        let pool = Self { file: 0, name: Name::default(), kind: ContentKind::Duplicate, ..*self };
        Some((pool, drawn / 100 % POOL * UNIT + number % UNIT))
    }

    /// The stream that describes sector `number`, and its number there.
    fn resolved(&self, number: u64) -> (Self, u64) {
        self.duplicate(number).unwrap_or((*self, number))
    }

    /// The key of sector `number`.
    fn key(root: u64, number: u64) -> u64 {
        mix(root, number)
    }

    /// Writes what `rank` would write at `offset` of the stream into `out`.
    pub fn fill(&self, rank: u32, offset: u64, out: &mut [u8]) {
        self.written_by(rank).fill(offset, out);
    }

    /// What makes the bytes that `rank` writes.
    pub fn written_by(&self, rank: u32) -> Writer {
        // The key and the number differ between sectors; the writer has a word of its own.
        let mut facts = Head::default();
        (facts[1], facts[2], facts[4]) = (self.run, self.file, self.meta());
        facts[6..FACTS].copy_from_slice(&name_words(&self.name));
        let facts = match self.dials.form {
            Form::Keyed => facts,
            Form::Periodic => Mask::prepared(&facts),
        };
        Writer { stream: *self, root: self.root(), facts, rank, filled: self.filled() }
    }

    /// The eight bytes of the writer in the sector at `offset` of the stream.
    pub fn writer(&self, rank: u32, offset: u64) -> [u8; 8] {
        let (stream, number) = self.resolved(offset / SECTOR as u64);
        let rank = if stream.kind == ContentKind::Duplicate { u32::MAX } else { rank };
        let key = Self::key(stream.root(), number);
        writer_word(&Mask::of(stream.dials.form, key), rank)
    }

    /// Who wrote the sector at `offset` of the stream, by its eight bytes.
    pub fn rank(&self, offset: u64, bytes: [u8; 8]) -> Option<u32> {
        let (stream, number) = self.resolved(offset / SECTOR as u64);
        let key = Self::key(stream.root(), number);
        rank_of(&Mask::of(stream.dials.form, key), bytes)
    }
}

/// Writes the sectors of a stream as one rank: what they have in common.
#[derive(Clone, Debug)]
pub struct Writer {
    stream: ContentStream,
    root: u64,
    /// Without the key, the number and the writer; of [`Form::Periodic`] as [`Mask::prepared`].
    facts: Head,
    rank: u32,
    /// Bytes before the zeros.
    filled: usize,
}

impl Writer {
    /// Writes what stands at `offset` of the stream into `out`.
    pub fn fill(&self, offset: u64, out: &mut [u8]) {
        let (mut number, within) = (offset / SECTOR as u64, (offset % SECTOR as u64) as usize);
        let mut rest = out;
        if within > 0 {
            let length = (SECTOR - within).min(rest.len());
            let (part, behind) = rest.split_at_mut(length);
            part.copy_from_slice(&self.one(number)[within..within + length]);
            (rest, number) = (behind, number + 1);
        }
        let (whole, part) = rest.as_chunks_mut::<SECTOR>();
        if self.stream.dials.dedupe == 0 {
            self.sectors(number, whole);
        } else {
            whole.iter_mut().zip(number..).for_each(|(sector, number)| *sector = self.one(number));
        }
        if !part.is_empty() {
            part.copy_from_slice(&self.one(number + whole.len() as u64)[..part.len()]);
        }
    }

    /// Sector `number`, or what it is a duplicate of.
    fn one(&self, number: u64) -> [u8; SECTOR] {
        let mut sector = [[0; SECTOR]];
        match self.stream.duplicate(number) {
            None => self.sectors(number, &mut sector),
            Some((pool, number)) => pool.written_by(u32::MAX).sectors(number, &mut sector),
        }
        sector[0]
    }

    /// Sectors from `first` on.
    fn sectors(&self, first: u64, out: &mut [[u8; SECTOR]]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            unsafe { self.sectors_by_avx2(first, out) };
            return;
        }
        for (sector, number) in out.iter_mut().zip(first..) {
            let (mask, facts) = self.bytes_of(number);
            mask.blend(facts, sector);
            self.complete(number, sector);
        }
    }

    /// The same with vectors of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn sectors_by_avx2(&self, first: u64, out: &mut [[u8; SECTOR]]) {
        for (sector, number) in out.iter_mut().zip(first..) {
            let (mask, facts) = self.bytes_of(number);
            mask.blend_by_avx2(facts, sector);
            self.complete(number, sector);
        }
    }

    /// What all bytes of a sector are combined with, and the facts that it is to have by that.
    #[inline(always)]
    fn bytes_of(&self, number: u64) -> (Mask, &Head) {
        match self.stream.dials.form {
            Form::Keyed => (Mask::of_bytes(ContentStream::key(self.root, number)), &self.facts),
            // The facts follow by a mask of their own.
            Form::Periodic => (Mask::of_bytes(mix(!self.root, number % PERIOD)), &[0; 12]),
        }
    }

    /// The words that differ between sectors.
    #[inline(always)]
    fn complete(&self, number: u64, out: &mut [u8; SECTOR]) {
        self.stamp(number, out);
        if self.filled < SECTOR {
            out[self.filled..].fill(0);
        }
    }

    /// The facts, or those of them that differ between sectors.
    #[inline(always)]
    fn stamp(&self, number: u64, out: &mut [u8; SECTOR]) {
        let mask = Mask::of(self.stream.dials.form, ContentStream::key(self.root, number));
        if self.stream.dials.form == Form::Periodic {
            mask.stamp::<FACTS>(&self.facts, out);
        }
        let (words, _) = out.as_chunks_mut::<8>();
        words[0] = mask.key().to_le_bytes();
        words[NUMBER] = (number ^ mask.word(NUMBER)).to_le_bytes();
        words[WRITER] = writer_word(&mask, self.rank);
    }

    /// Can [`Writer::renew`] make its sectors?
    pub fn renews(&self) -> bool {
        self.stream.dials.form == Form::Periodic && self.stream.dials.dedupe == 0
    }

    /// Writes sectors from `first` on into memory that is always the same for numbers of the same remainder by
    /// [`PERIOD`]. `made` says of what stream each sector in it is (0 at first): where it is this one, its facts are
    /// enough.
    pub fn renew(&self, first: u64, made: &mut [u64], out: &mut [[u8; SECTOR]]) {
        for ((sector, made), number) in out.iter_mut().zip(made).zip(first..) {
            if *made == self.root {
                self.stamp(number, sector);
            } else {
                self.sectors(number, std::slice::from_mut(sector));
                *made = self.root;
            }
        }
    }
}

/// Odd, and its inverse modulo 2^64.
const SPREAD: (u64, u64) = (0xd6e8_feb8_6659_fd93, inverse(0xd6e8_feb8_6659_fd93));

/// The inverse of an odd number modulo 2^64 (by Newton's method: each step doubles the bits).
const fn inverse(odd: u64) -> u64 {
    let (mut inverse, mut steps) = (odd, 0);
    while steps < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        steps += 1;
    }
    inverse
}

/// The rank and a check of it, spread over all bytes: no two ranks have more bytes in common than by chance.
fn writer_word(mask: &Mask, rank: u32) -> [u8; 8] {
    let plain = mask.word(WRITER) ^ (u64::from(rank) | mask.check(rank) << 32);
    let spread = plain.wrapping_mul(SPREAD.0);
    (spread ^ (spread >> 32)).wrapping_mul(SPREAD.0).to_le_bytes()
}

fn rank_of(mask: &Mask, bytes: [u8; 8]) -> Option<u32> {
    let spread = u64::from_le_bytes(bytes).wrapping_mul(SPREAD.1);
    let plain = (spread ^ (spread >> 32)).wrapping_mul(SPREAD.1);
    let rank = (plain ^ mask.word(WRITER)) as u32;
    (writer_word(mask, rank) == bytes).then_some(rank)
}

/// The facts at the beginning of `bytes`; `None` where no sector begins there.
pub fn facts(bytes: &[u8]) -> Option<Facts> {
    let (words, _) = bytes.get(..HEAD)?.as_chunks::<8>();
    Form::ALL.into_iter().find_map(|form| facts_of(form, words))
}

fn facts_of(form: Form, words: &[[u8; 8]]) -> Option<Facts> {
    let key = u64::from_le_bytes(words[0]);
    let mask = Mask::of(form, key);
    let fact = |at: usize| u64::from_le_bytes(words[at]) ^ mask.word(at);
    let meta = fact(4);
    let kind = *KINDS.get((meta & 0xff) as usize)?;
    let mut name = Name::default();
    for at in 0..4 {
        name[8 * at..8 * at + 8].copy_from_slice(&fact(6 + at).to_le_bytes());
    }
    let dials = Dials { compressible: (meta >> 8) as u8, dedupe: (meta >> 16) as u8, form };
    let stream = ContentStream { run: fact(1), file: fact(2), name, kind, dials };
    if stream.meta() != meta {
        return None;
    }
    let number = fact(NUMBER);
    (ContentStream::key(stream.root(), number) == key).then(|| Facts {
        stream,
        number,
        rank: rank_of(&mask, words[WRITER]),
    })
}

/// The runs that the first 16 bytes of a sector name, if it has this form or that one.
pub fn runs_of(bytes: &[u8]) -> Option<[(Form, u64); 2]> {
    let (words, _) = bytes.get(..16)?.as_chunks::<8>();
    let [key, run] = [words[0], words[1]].map(u64::from_le_bytes);
    Some(Form::ALL.map(|form| (form, run ^ Mask::of(form, key).word(1))))
}

#[cfg(test)]
#[path = "sector_tests.rs"]
mod tests;
