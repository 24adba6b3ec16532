//! Content in which each 512 bytes say what they are: run, file, offset, writer.
//!
//! A sector begins with 80 bytes of facts, masked with random words that are chosen and changed by a key made of the
//! same facts; the bytes behind them are further such words. So a sector looks random throughout (nothing compresses,
//! no two are alike), who reads it can take its facts off and make the rest again, and each byte depends on its place
//! in the file only, not on the pieces in which it is written. The writer stands in eight bytes of its own: the others
//! are the same whoever writes, so that a sector which several ranks wrote in parts is still known byte by byte.

use super::mask::{Head, Mask, NUMBER, SPREAD, WRITER, mix};
#[cfg(target_arch = "x86_64")]
use super::vectors::ManySectors;

pub use super::mask::SECTOR;

/// Words of facts at the beginning of a sector.
const FACTS: usize = 10;
/// Bytes of facts.
pub const HEAD: usize = 8 * FACTS;
/// Where in a sector it stands.
pub const WRITER_AT: usize = 8 * WRITER;
/// Blocks of this many sectors (128 KiB) are duplicates as a whole.
const UNIT: u64 = 256;
/// Different duplicates.
const POOL: u64 = 16;
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

/// How far content may be compressed and deduplicated, in per cent. By default not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dials {
    /// Of each sector, so much is zeros.
    pub compressible: u8,
    /// So many of all blocks of 128 KiB are copies of a few.
    pub dedupe: u8,
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
        kind | u64::from(self.dials.compressible) << 8 | u64::from(self.dials.dedupe) << 16
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
        Writer { stream: *self, root: self.root(), facts, rank, filled: self.filled() }
    }

    /// The eight bytes of the writer in the sector at `offset` of the stream.
    pub fn writer(&self, rank: u32, offset: u64) -> [u8; 8] {
        let (stream, number) = self.resolved(offset / SECTOR as u64);
        let rank = if stream.kind == ContentKind::Duplicate { u32::MAX } else { rank };
        let key = Self::key(stream.root(), number);
        writer_word(&Mask::of(key), rank)
    }

    /// Who wrote the sector at `offset` of the stream, by its eight bytes.
    pub fn rank(&self, offset: u64, bytes: [u8; 8]) -> Option<u32> {
        let (stream, number) = self.resolved(offset / SECTOR as u64);
        let key = Self::key(stream.root(), number);
        rank_of(&Mask::of(key), bytes)
    }
}

/// Writes the sectors of a stream as one rank: what they have in common.
#[derive(Clone, Debug)]
pub struct Writer {
    stream: ContentStream,
    root: u64,
    /// Without the key, the number and the writer.
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
            let many = ManySectors { root: self.root, facts: &self.facts, rank: self.rank };
            // SAFETY: the processor has these instructions.
            unsafe { many.write(first, out) };
            if self.filled < SECTOR {
                out.iter_mut().for_each(|sector| sector[self.filled..].fill(0));
            }
            return;
        }
        self.one_by_one(first, out);
    }

    /// Sectors from `first` on, each word by itself.
    fn one_by_one(&self, first: u64, out: &mut [[u8; SECTOR]]) {
        for (sector, number) in out.iter_mut().zip(first..) {
            let mask = Mask::of(ContentStream::key(self.root, number));
            mask.blend(&self.facts, sector);
            self.complete(&mask, number, sector);
        }
    }

    /// The words that differ between sectors.
    #[inline(always)]
    fn complete(&self, mask: &Mask, number: u64, out: &mut [u8; SECTOR]) {
        let (words, _) = out.as_chunks_mut::<8>();
        words[0] = mask.key().to_le_bytes();
        words[NUMBER] = (number ^ mask.word(NUMBER)).to_le_bytes();
        words[WRITER] = writer_word(mask, self.rank);
        if self.filled < SECTOR {
            out[self.filled..].fill(0);
        }
    }
}

/// The rank and a check of it, spread over all bytes: no two ranks have more bytes in common than by chance.
fn writer_word(mask: &Mask, rank: u32) -> [u8; 8] {
    let check = mix(mask.key(), u64::from(rank)) & 0xffff_ffff;
    let plain = mask.word(WRITER) ^ (u64::from(rank) | check << 32);
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
    let key = u64::from_le_bytes(words[0]);
    let mask = Mask::of(key);
    let fact = |at: usize| u64::from_le_bytes(words[at]) ^ mask.word(at);
    let meta = fact(4);
    let kind = *KINDS.get((meta & 0xff) as usize).filter(|_| meta >> 24 == 0)?;
    let mut name = Name::default();
    for at in 0..4 {
        name[8 * at..8 * at + 8].copy_from_slice(&fact(6 + at).to_le_bytes());
    }
    let dials = Dials { compressible: (meta >> 8) as u8, dedupe: (meta >> 16) as u8 };
    let stream = ContentStream { run: fact(1), file: fact(2), name, kind, dials };
    let number = fact(NUMBER);
    (ContentStream::key(stream.root(), number) == key).then(|| Facts {
        stream,
        number,
        rank: rank_of(&mask, words[WRITER]),
    })
}

/// The run that the first 16 bytes of a sector name.
pub fn run_of(bytes: &[u8]) -> Option<u64> {
    let (words, _) = bytes.get(..16)?.as_chunks::<8>();
    Some(u64::from_le_bytes(words[1]) ^ Mask::of(u64::from_le_bytes(words[0])).word(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> ContentStream {
        let dials = Dials::default();
        ContentStream {
            run: 17,
            file: 5,
            name: *b"0123456789abcdefghijklmnopqrst/f",
            kind: ContentKind::Placed,
            dials,
        }
    }

    #[test]
    fn any_pieces_give_the_same_bytes() {
        let mut whole = vec![0; 5000];
        stream().fill(3, 0, &mut whole);
        for (offset, length) in [(0, 1), (1, 511), (7, 2000), (511, 2), (512, 512), (4999, 1)] {
            let mut piece = vec![0; length];
            stream().fill(3, offset as u64, &mut piece);
            assert_eq!(piece, whole[offset..offset + length], "at {offset}");
        }
    }

    #[test]
    fn vectors_give_the_same_bytes() {
        for (rank, first, compressible) in
            [(0, 0, 0), (3, 1 << 40, 0), (u32::MAX, u64::MAX >> 9, 0), (7, 3, 30)]
        {
            let stream = ContentStream {
                run: u64::from(rank) << 20,
                dials: Dials { compressible, dedupe: 0 },
                ..stream()
            };
            let writer = stream.written_by(rank);
            let (mut one, mut other) = ([[0; SECTOR]; 11], [[1; SECTOR]; 11]);
            writer.one_by_one(first, &mut one);
            writer.sectors(first, &mut other);
            assert!(one == other, "rank {rank}, from {first}");
        }
    }

    #[test]
    fn content_of_earlier_versions_stays_known() {
        let mut bytes = vec![0; 5120];
        stream().fill(3, 0, &mut bytes);
        // FNV-1a of what the first version of this format wrote.
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(hash, 0x0cdc_5854_1711_09a5);
    }

    #[test]
    fn a_sector_says_what_it_is_and_the_writer_is_all_that_depends_on_the_writer() {
        let (mut one, mut other) = ([0; 1024], [0; 1024]);
        stream().fill(3, 512 * 9, &mut one);
        stream().fill(4, 512 * 9, &mut other);
        let found = facts(&one[512..]).expect("facts");
        assert_eq!((found.stream, found.number, found.rank), (stream(), 10, Some(3)));
        assert_eq!(run_of(&one), Some(17));
        let differing: Vec<usize> = (0..512).filter(|at| one[*at] != other[*at]).collect();
        assert!(differing.iter().all(|at| (WRITER_AT..WRITER_AT + 8).contains(at)), "{differing:?}");
        assert!(!differing.is_empty());
        // One changed bit, and it is none any more; but for the writer's.
        for bit in 0..8 * HEAD {
            let mut changed = one;
            changed[bit / 8] ^= 1 << (bit % 8);
            let found = facts(&changed);
            let in_writer = (WRITER_AT..WRITER_AT + 8).contains(&(bit / 8));
            assert_eq!((found.is_some(), found.and_then(|found| found.rank)), (in_writer, None), "bit {bit}");
        }
    }

    #[test]
    fn content_is_neither_compressible_nor_a_duplicate_unless_asked_for() {
        let mut bytes = vec![0; 1 << 20];
        stream().fill(0, 0, &mut bytes);
        // Each byte value as often as the next, here and at each place of a sector.
        let chi = |bytes: &mut dyn Iterator<Item = u8>| {
            let (mut counts, mut n) = ([0_f64; 256], 0.0);
            bytes.for_each(|byte| {
                counts[usize::from(byte)] += 1.0;
                n += 1.0;
            });
            counts.iter().map(|count| (count - n / 256.0).powi(2) / (n / 256.0)).sum::<f64>()
        };
        // 255 degrees of freedom: mean 255, deviation 22.6.
        assert!(chi(&mut bytes.iter().copied()) < 400.0);
        for at in 0..SECTOR {
            let column = chi(&mut bytes.iter().skip(at).step_by(SECTOR).copied());
            assert!(column < 400.0, "byte {at} of a sector: {column}");
        }
        let (words, _) = bytes.as_chunks::<8>();
        let mut words: Vec<_> = words.iter().collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), (1 << 20) / 8);
    }

    #[test]
    fn dials_make_zeros_and_duplicates() {
        let dials = Dials { compressible: 30, dedupe: 20 };
        let (mut zeros, mut kinds) = (0, 0);
        let mut seen = std::collections::HashSet::new();
        let mut unit = vec![0; 512 * UNIT as usize];
        for number in 0..1000 {
            ContentStream { dials, ..stream() }.fill(0, number * unit.len() as u64, &mut unit[..1024]);
            zeros += unit[..1024].iter().filter(|byte| **byte == 0).count();
            kinds += usize::from(facts(&unit).expect("facts").stream.kind == ContentKind::Duplicate);
            seen.insert(unit[..1024].to_vec());
        }
        let share = zeros as f64 / 1_024_000.0;
        assert!((0.29..0.31).contains(&share), "{share} zeros");
        assert!((160..240).contains(&kinds), "{kinds} of 1000 blocks are duplicates");
        assert_eq!(seen.len(), 1000 - kinds + 16);
    }
}
