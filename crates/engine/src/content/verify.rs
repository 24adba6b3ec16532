//! Compares what was read with what belongs there.
//!
//! Bytes are taken sector by sector as the continuation of the stream before them. Where they are not, the facts of
//! the next sector that describes itself say which stream they are of, and the rules in `judge` whether it belongs
//! there.

use std::collections::HashMap;

use super::Author;
use super::known::{FileName, Known};
use super::sector::{
    ContentKind, ContentStream, Dials, Facts, HEAD, Lying, Name, REPEAT, SECTOR, WRITER_AT, facts, run_of,
};
use super::wrong::{Described, Found, Wrong};

/// So many ranks of another run are tried where several may have written the bytes for the writer.
const RANKS_TRIED: u32 = 64;

/// Who reads, and what it expects.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// This run.
    pub run: u64,
    /// Its content.
    pub dials: Dials,
    /// Ranks of this run.
    pub ranks: u32,
    /// The rank that wrote all of it, where that is certain.
    pub owner: Option<u32>,
    /// Other ranks give files other names, of which this one knows nothing.
    pub others_rename: bool,
    /// Others append to files, in pieces of any length that lie in any order.
    pub others_append: bool,
    /// What a rank of this run appended lies in a file once.
    pub appends_once: bool,
}

/// Where in what was read the last sector begins that this author wrote in this run, if it is near the end.
pub fn last_own(author: &Author, found: &[u8]) -> Option<u64> {
    let last = found.len().checked_sub(HEAD)?;
    let mut begins = (last.saturating_sub(SECTOR)..=last).rev();
    let (begin, told) = begins.find_map(|begin| Some((begin, facts(&found[begin..])?)))?;
    let is_own = told.stream.run == author.run && told.rank == Some(author.rank);
    is_own.then_some(begin as u64)
}

/// What is compared, and by which rules.
struct Comparison<'a> {
    reader: Reader,
    file: FileName,
    known: &'a mut Known,
    found: &'a [u8],
    offset: u64,
    /// Where sectors that were appended were found, by rank and number.
    appended: HashMap<(u32, u64), usize>,
}

/// Compares `found`, read at `offset` of `file`, with what belongs there; what is known of the file grows. The first
/// byte that is wrong.
pub fn verify(
    reader: Reader,
    file: FileName,
    known: &mut Known,
    (found, offset): (&[u8], u64),
) -> Option<Wrong> {
    let before = (known.run, known.written_as);
    let whole = Comparison { reader, file, known: &mut *known, found, offset, appended: HashMap::new() }
        .compare()
        .err()?;
    // Over what an earlier run wrote, and over memory of the program, this one may have written parts of sectors: each of
    // them alone.
    let ends = known.ends_of_pieces(offset, offset + found.len() as u64);
    if ends.len() < 2 {
        return Some(whole);
    }
    (known.run, known.written_as) = before;
    let begins = std::iter::once(offset).chain(ends.clone());
    begins.zip(ends).find_map(|(from, to)| {
        let found = &found[(from - offset) as usize..(to - offset) as usize];
        Comparison { reader, file, known: &mut *known, found, offset: from, appended: HashMap::new() }
            .compare()
            .err()
    })
}

impl Comparison<'_> {
    fn compare(&mut self) -> Result<(), Wrong> {
        let Some(mut lying) = self.first()? else {
            self.known.unverified = true;
            return Ok(());
        };
        let mut at = 0;
        while at < self.found.len() {
            let end = self.end_of_sector(&lying, at);
            let same = self.matching(&lying, at, end);
            if same > 0 {
                self.judge(&lying, at, same)?;
            }
            if at + same == end {
                at = end;
                continue;
            }
            let Some(other) = self.switch(at, at + same, &lying)? else {
                self.known.unverified = true;
                return Ok(());
            };
            (at, lying) = other;
            self.judge(&lying, at, HEAD)?;
        }
        Ok(())
    }

    /// The stream that lies at the beginning: by what is known of the file, or by its own facts. `None`: what was read
    /// is too short to hold any, and nothing is known.
    fn first(&self) -> Result<Option<Lying>, Wrong> {
        let candidates = self.candidates(0);
        for lying in &candidates {
            let end = self.end_of_sector(lying, 0);
            if self.matching(lying, 0, end) == end {
                return Ok(Some(*lying));
            }
        }
        if let Some(told) = facts(self.found) {
            return Ok(Some(self.lying(&told, 0)));
        }
        if let Some(lying) = candidates.iter().find(|lying| self.mostly(lying, 0)) {
            return Ok(Some(*lying));
        }
        if let Some((_, lying)) = self.by_next_facts(0, 0, None) {
            return Ok(Some(lying));
        }
        match self.may_be_of_an_earlier_run(0) || self.may_be_appended(0) {
            true => Ok(None),
            false => Err(Wrong { at: self.offset, found: self.nothing(0) }),
        }
    }

    /// Can the bytes from `at` on be what an earlier run wrote, of which nothing is known yet, and too few to say so?
    fn may_be_of_an_earlier_run(&self, at: usize) -> bool {
        let (begin, length) = (self.offset + at as u64, self.found.len() - at);
        let enough = if begin.is_multiple_of(SECTOR as u64) { HEAD } else { SECTOR + HEAD };
        let is_own = self.known.own.gaps(begin, begin + length as u64).is_empty();
        let may_be = self.known.may_be_moved() || self.known.unplaced;
        length < enough && !is_own && may_be && self.nothing(at) == Found::Unknown
    }

    /// Can the bytes from `at` on be of pieces that ranks or workers appended, too short to say which?
    fn may_be_appended(&self, at: usize) -> bool {
        self.reader.others_append && self.nothing(at) == Found::Unknown
    }

    /// Is what is behind `wrong` of the same stream again, so that what lies between was changed?
    fn goes_on(&self, lying: &Lying, wrong: usize) -> bool {
        let last = (wrong + SECTOR + HEAD).min(self.found.len()).saturating_sub(HEAD);
        (wrong..=last)
            .any(|begin| facts(&self.found[begin..]).is_some_and(|told| self.lying(&told, begin) == *lying))
    }

    fn written_as(&self) -> FileName {
        self.known.written_as.unwrap_or(self.file)
    }

    fn placed(&self, run: u64, dials: Dials) -> Lying {
        Self::placed_as(self.written_as(), run, dials)
    }

    fn placed_as(FileName { id, name, .. }: FileName, run: u64, dials: Dials) -> Lying {
        Lying { stream: ContentStream { run, file: id, name, kind: ContentKind::Placed, dials }, shift: 0 }
    }

    /// What may lie at `at`: memory that this rank wrote there; the file's content of the run that wrote what was read
    /// before, of this run, of the one that the first bytes name.
    fn candidates(&self, at: usize) -> Vec<Lying> {
        let x = self.offset + at as u64;
        let named = if x.is_multiple_of(SECTOR as u64) { run_of(&self.found[at..]) } else { None };
        let before = self.known.run.map(|(run, dials)| self.placed(run, dials));
        let own = self.placed(self.reader.run, self.reader.dials);
        let named = named.map(|run| self.placed(run, self.reader.dials));
        // What an earlier run wrote under another name, this one writes under the name that the file has now.
        let renamed =
            self.known.written_as.map(|_| Self::placed_as(self.file, self.reader.run, self.reader.dials));
        let others = [before, Some(own), renamed, named];
        self.known.memory_at(x).into_iter().chain(others.into_iter().flatten()).collect()
    }

    fn in_stream(&self, lying: &Lying, at: usize) -> u64 {
        (self.offset + at as u64).wrapping_sub(lying.shift)
    }

    fn end_of_sector(&self, lying: &Lying, at: usize) -> usize {
        let within = (self.in_stream(lying, at) % SECTOR as u64) as usize;
        (at + SECTOR - within).min(self.found.len())
    }

    /// How many bytes from `at` on, up to `end` in the same sector, are those of the stream, whoever wrote them.
    fn matching(&self, lying: &Lying, at: usize, end: usize) -> usize {
        let place = self.in_stream(lying, at);
        let within = (place % SECTOR as u64) as usize;
        let mut expected = [0; SECTOR];
        let expected = &mut expected[..end - at];
        lying.stream.fill(0, place, expected);
        let found = &self.found[at..end];
        let writer = within.max(WRITER_AT)..(within + end - at).min(WRITER_AT + 8);
        if !writer.is_empty() {
            let part = writer.start - within..writer.end - within;
            let sector = place - within as u64;
            if self.has_writer(lying, sector, (writer.start - WRITER_AT, &found[part.clone()])) {
                expected[part.clone()].copy_from_slice(&found[part]);
            }
        }
        match *expected == *found {
            true => end - at,
            false => expected.iter().zip(found).take_while(|(a, b)| a == b).count(),
        }
    }

    /// Are these bytes of a sector's eight for the writer, from the `begin`-th on, those of one rank, or of two of
    /// which each wrote a part?
    fn has_writer(&self, lying: &Lying, sector: u64, (begin, bytes): (usize, &[u8])) -> bool {
        if let Ok(whole) = <[u8; 8]>::try_from(bytes)
            && lying.stream.rank(sector, whole).is_some()
        {
            return true;
        }
        let (seen, unclear) = self.ranks_around(lying, sector);
        let largest = seen.iter().max().map_or(0, |rank| rank.saturating_add(16));
        let other = largest.clamp(RANKS_TRIED, 16 * RANKS_TRIED);
        let ranks = if lying.stream.run == self.reader.run { self.reader.ranks } else { other };
        // The longest beginning and end that a rank wrote: of those seen around, and of any.
        let (mut begin_seen, mut end_seen, mut begin_any, mut end_any) = (0, 0, 0, 0);
        for rank in seen.iter().copied().chain(0..ranks) {
            let writer = lying.stream.writer(rank, sector);
            let same = |(a, b): &(&u8, &u8)| a == b;
            let own = &writer[begin..begin + bytes.len()];
            let before = own.iter().zip(bytes).take_while(same).count();
            let behind = own.iter().rev().zip(bytes.iter().rev()).take_while(same).count();
            (begin_any, end_any) = (before.max(begin_any), behind.max(end_any));
            if seen.contains(&rank) {
                (begin_seen, end_seen) = (before.max(begin_seen), behind.max(end_seen));
            }
        }
        let length = bytes.len();
        if length < 8 && begin_any == length {
            return true;
        }
        // Of many ranks some have a byte in common by chance: that is no evidence where one rank wrote all around.
        let several = seen.len() > 1 || unclear > 1 || ranks <= 256;
        let least = if several { 1 } else { 2 };
        let begins = |bytes| bytes <= begin_seen || (bytes <= begin_any && bytes >= least);
        let ends = |bytes| bytes <= end_seen || (bytes <= end_any && bytes >= least);
        (1..length).any(|at| begins(at) && ends(length - at))
    }

    /// Who wrote the sectors around the one at `place` of the stream, and of how many that is not clear.
    fn ranks_around(&self, lying: &Lying, place: u64) -> (Vec<u32>, usize) {
        /// So many before it, and as many behind.
        const AROUND: u64 = 32;
        let (mut ranks, mut unclear) = (Vec::new(), 0);
        for number in 0..=2 * AROUND {
            let sector = place.wrapping_add(number * SECTOR as u64).wrapping_sub(AROUND * SECTOR as u64);
            let begin = sector.wrapping_add(WRITER_AT as u64).wrapping_add(lying.shift);
            let Ok(begin) = usize::try_from(begin.wrapping_sub(self.offset)) else { continue };
            let Some(bytes) = begin.checked_add(8).and_then(|end| self.found.get(begin..end)) else {
                continue;
            };
            match bytes.try_into().ok().and_then(|bytes| lying.stream.rank(sector, bytes)) {
                Some(rank) if ranks.contains(&rank) => {}
                Some(rank) => ranks.push(rank),
                None => unclear += 1,
            }
        }
        (ranks, unclear)
    }

    /// The bytes from `at` on begin as those of a stream and are others from `wrong` on: the stream that they are of,
    /// and from where on. `None`: that cannot be known.
    fn switch(&self, at: usize, wrong: usize, before: &Lying) -> Result<Option<(usize, Lying)>, Wrong> {
        if let Some(other) = self.by_next_facts(at, wrong, Some(before)) {
            return Ok(Some(other));
        }
        // What is left may be too short to hold facts.
        for lying in self.candidates(wrong) {
            let end = self.end_of_sector(&lying, wrong);
            if lying != *before && end == self.found.len() && self.matching(&lying, wrong, end) == end - wrong
            {
                return Ok(Some((wrong, lying)));
            }
        }
        if self.may_be_of_an_earlier_run(wrong) || self.may_be_appended(wrong) && !self.goes_on(before, wrong)
        {
            return Ok(None);
        }
        let found = match self.nothing(wrong) {
            Found::Unknown if wrong > at || self.mostly(before, at) => Found::Changed,
            found => found,
        };
        Err(Wrong { at: self.offset + wrong as u64, found })
    }

    /// The stream of the next facts from `at` on that are not of `before`, where the bytes from `wrong` on are of it,
    /// and where it begins.
    fn by_next_facts(&self, at: usize, wrong: usize, before: Option<&Lying>) -> Option<(usize, Lying)> {
        let last = (wrong + SECTOR + HEAD).min(self.found.len()).checked_sub(HEAD)?;
        for begin in at..=last {
            let Some(told) = facts(&self.found[begin..]) else { continue };
            let lying = self.lying(&told, begin);
            if Some(&lying) == before {
                if begin > wrong {
                    return None;
                }
                continue;
            }
            let mut from = begin;
            while from > wrong && self.matching(&lying, from - 1, from) == 1 {
                from -= 1;
            }
            return (from <= wrong).then_some((from, lying));
        }
        None
    }

    /// What there is where no facts are.
    fn nothing(&self, at: usize) -> Found {
        let zeros = self.found[at..].iter().take(SECTOR).all(|byte| *byte == 0);
        if zeros { Found::Zeros } else { Found::Unknown }
    }

    /// Are most bytes of the sector at `at` those of the stream?
    fn mostly(&self, lying: &Lying, at: usize) -> bool {
        let end = self.end_of_sector(lying, at);
        let mut expected = [0; SECTOR];
        let expected = &mut expected[..end - at];
        lying.stream.fill(0, self.in_stream(lying, at), expected);
        let same = expected.iter().zip(&self.found[at..end]).filter(|(a, b)| a == b).count();
        same * 2 > end - at
    }

    fn lying(&self, told: &Facts, begin: usize) -> Lying {
        let x = self.offset + begin as u64;
        if told.stream.kind == ContentKind::Duplicate {
            // It describes no place: does it belong to this one?
            let here = self.placed(told.stream.run, told.stream.dials);
            let mut expected = [0; HEAD];
            here.stream.fill(0, x, &mut expected);
            if facts(&expected).is_some_and(|own| own.stream == told.stream && own.number == told.number) {
                return here;
            }
        }
        Lying { stream: told.stream, shift: x.wrapping_sub(told.number.wrapping_mul(SECTOR as u64)) }
    }

    /// Does the stream belong here? What is known of the file grows where it does, and where so many bytes of it are not
    /// the same by chance.
    fn judge(&mut self, lying: &Lying, at: usize, same: usize) -> Result<(), Wrong> {
        let x = self.offset + at as u64;
        let stream = &lying.stream;
        let own = stream.run == self.reader.run;
        let written = self.written_as();
        let in_memory = stream.kind == ContentKind::Memory;
        // A later run may find the tree elsewhere, moved or mounted at another place, or the file under the name that an
        // earlier run gave it: what it finds first says which file it is, and the rest must be of that.
        let moved = !own && self.known.may_be_moved();
        if moved && stream.kind == ContentKind::Duplicate {
            // It says neither file nor place.
            self.known.renamed_before = true;
            return Ok(());
        }
        let is_here = own && stream.file == self.file.id && self.known.own.has(x);
        // By another rank of this run: the first bytes of a read say which file it is, and the others must be of it.
        let renamed = own && self.reader.others_rename && at == 0;
        let is_file = in_memory || stream.file == written.id || is_here || moved || renamed;
        let in_place = match stream.kind {
            ContentKind::Placed => lying.shift == 0,
            ContentKind::Repeated => lying.shift.is_multiple_of(REPEAT),
            ContentKind::Appended | ContentKind::Memory => true,
            ContentKind::Duplicate => false,
        };
        let mine = self.known.emptied || self.known.own.has(x);
        let of_run = match self.known.run {
            _ if mine => own,
            Some((run, _)) => run == stream.run,
            None => true,
        };
        let by_owner = match self.reader.owner {
            Some(owner) if own => self.rank(lying, at).is_none_or(|rank| rank == owner || rank == u32::MAX),
            _ => true,
        };
        if !(is_file && in_place && of_run && by_owner) {
            return Err(Wrong { at: x, found: Found::Other(self.describe(lying, at, mine)) });
        }
        if own && stream.kind == ContentKind::Appended && !self.is_first(lying, at, same) {
            return Err(Wrong { at: x, found: Found::Twice });
        }
        self.known.of_earlier_run |= !own;
        self.known.unplaced |= stream.kind != ContentKind::Placed;
        if same < 8 {
            return Ok(());
        }
        if !mine && self.known.run.is_none() {
            self.known.run = Some((stream.run, stream.dials));
        }
        if !in_memory && stream.file != written.id && !is_here {
            self.known.renamed_by_others |= renamed;
            self.known.renamed_before |= moved && last_part(&stream.name) != last_part(&written.name);
            self.known.written_as = Some(FileName { id: stream.file, name: stream.name, life: 0 });
        }
        Ok(())
    }

    /// Was this part of what a rank appended not found before? Only a whole head says which part it is.
    fn is_first(&mut self, lying: &Lying, at: usize, same: usize) -> bool {
        let place = self.in_stream(lying, at);
        let is_head = place.is_multiple_of(SECTOR as u64) && same >= HEAD;
        match self.rank(lying, at).filter(|_| is_head && self.reader.appends_once) {
            Some(rank) => *self.appended.entry((rank, place)).or_insert(at) == at,
            None => true,
        }
    }

    /// Who wrote the sector around `at`, where its eight bytes for it were read.
    fn rank(&self, lying: &Lying, at: usize) -> Option<u32> {
        let place = self.in_stream(lying, at);
        let begin = (at + WRITER_AT).checked_sub((place % SECTOR as u64) as usize)?;
        let bytes = self.found.get(begin..begin + 8)?;
        lying.stream.rank(place, bytes.try_into().ok()?)
    }

    fn describe(&self, lying: &Lying, at: usize, mine: bool) -> Described {
        let stream = &lying.stream;
        let expected = match self.known.run {
            Some((run, _)) if !mine => run,
            _ => self.reader.run,
        };
        Described {
            offset: self.in_stream(lying, at),
            name: (stream.file != self.written_as().id).then_some(stream.name),
            rank: self.rank(lying, at).filter(|rank| *rank != u32::MAX),
            run: (stream.run != expected).then_some(stream.run),
        }
    }
}

/// What stands behind the last slash.
fn last_part(name: &Name) -> &[u8] {
    let slash = name.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    &name[slash..]
}
