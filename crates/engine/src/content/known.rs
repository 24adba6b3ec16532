//! What a rank knows of one file: its number, who wrote what is in it.

use super::ranges::Ranges;
use super::sector::{Dials, Lying, Name};
use ranks::layout::Layout;

/// What stands in a file's sectors for the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileName {
    /// A number made of its whole path.
    pub id: u64,
    /// The end of its path.
    pub name: Name,
    /// Which of the files that had this path one after the other. No content says it: knowledge of files is kept by it.
    pub life: u32,
}

impl Default for FileName {
    fn default() -> Self {
        Self { id: START, name: Name::default(), life: 0 }
    }
}

const START: u64 = 0xcbf2_9ce4_8422_2325;

impl FileName {
    /// What is called `name` in this directory (FNV-1a; Fowler, Noll and Vo 1991).
    pub(super) fn inside(&self, name: &[u8]) -> Self {
        let id = name.iter().chain(b"/");
        let id = id.fold(self.id, |id, byte| (id ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
        // The last bytes of the directory, a slash and the name.
        let mut end = self.name;
        match name.last_chunk() {
            Some(last) => end = *last,
            None => {
                let before = end.len() - name.len();
                end.copy_within(name.len() + 1.., 0);
                end[before - 1] = b'/';
                end[before..].copy_from_slice(name);
            }
        }
        Self { id, name: end, ..*self }
    }

    /// Of memory that a rank took: the `number`-th.
    pub fn of_memory(rank: u32, number: u64) -> Self {
        let directory = Self::default().inside(format!("memory of rank {rank}").as_bytes());
        directory.inside(number.to_string().as_bytes())
    }
}

/// What a rank knows of one file's content.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// What this rank wrote in this run.
    pub own: Ranges,
    /// Where this rank copied bytes of other files in this run and has not written since: what lies there is not known.
    pub copied: Ranges,
    /// This rank made it, or emptied it, in this run.
    pub emptied: bool,
    /// The run that wrote what this rank did not, as far as it was read.
    pub run: Option<(u64, Dials)>,
    /// The name under which it was written, where that is another one.
    pub written_as: Option<FileName>,
    /// Where this rank cut the file, or had holes made, and has not written since: zeros, if nobody else wrote there.
    pub cut: Ranges,
    /// The file is so long, if nobody else cut it.
    pub least: u64,
    /// From where to where this rank wrote last, each piece behind the one before: while the first is there, nobody emptied
    /// the file since, and the last must be there, too.
    pub in_turn: (u64, u64),
    /// Where it ended once without anybody of the program having cut it, and up to where it had been written.
    pub lost: Option<(u64, u64)>,
    /// Content that no place describes was found in it: such bytes may be too few to say what they are.
    pub unplaced: bool,
    /// What an earlier run wrote was found in it.
    pub of_earlier_run: bool,
    /// It was emptied by an operation that others may have overtaken: how long it is cannot be known.
    pub unsteady: bool,
    /// Content was appended at places that are not known.
    pub shifted: bool,
    /// It has the content of a file of another name, and another rank may have renamed that.
    pub renamed_by_others: bool,
    /// It has the content of a file of another name that an earlier run wrote, and may have renamed.
    pub renamed_before: bool,
    /// Something could not be verified.
    pub unverified: bool,
    /// By what pattern, of how many ranks, as which of them this rank wrote it.
    pub pattern: Option<(Layout, u32, u32)>,
    /// Memory of the program that this rank wrote: from, to, and what it is.
    memory: Vec<(u64, u64, Lying)>,
}

impl Known {
    /// Of a file that this rank has just made or emptied.
    pub fn of_empty() -> Self {
        Self { emptied: true, ..Self::default() }
    }

    /// The file ends at `length` now; grown again, it has zeros from there on.
    pub fn ends_at(&mut self, length: u64) {
        self.zeros_at(length, u64::MAX);
        // Grown, it has zeros from its former end on, wherever that was.
        if self.least < length {
            self.cut.add(self.least, length);
        }
        (self.least, self.lost) = (length, None);
    }

    /// The file ended at `length` before it was appended to: was something lost?
    pub fn found_end(&mut self, length: u64) {
        if length < self.least {
            self.lost.get_or_insert((length, self.least));
            self.least = length;
        }
    }

    /// So many bytes were appended, wherever the file ended.
    pub fn was_appended(&mut self, length: u64) {
        self.shifted = true;
        self.out_of_turn();
        self.least = self.least.saturating_add(length);
    }

    /// In what order this rank wrote is not known.
    pub fn out_of_turn(&mut self) {
        self.in_turn = (u64::MAX, 0);
    }

    /// Bytes of other files were copied there.
    pub fn was_copied(&mut self, begin: u64, end: u64) {
        self.pattern = None;
        self.copied.add(begin, end);
        self.cut.remove(begin, end);
        self.least = self.least.max(end);
    }

    /// What was behind `begin` was moved by `length` bytes: towards it where they were taken out.
    pub fn was_moved(&mut self, begin: u64, length: u64, taken_out: bool) {
        let least = self.least;
        self.was_copied(begin, u64::MAX);
        self.least = if taken_out { least.saturating_sub(length) } else { least };
    }

    /// There are zeros from `begin` to `end`, whatever was written.
    pub fn zeros_at(&mut self, begin: u64, end: u64) {
        self.own.remove(begin, end);
        self.copied.remove(begin, end);
        self.cut.add(begin, end);
        self.pattern = None;
        self.no_memory_at(begin, end);
    }

    /// No memory of the program lies there any more.
    fn no_memory_at(&mut self, begin: u64, end: u64) {
        if !self.memory.iter().any(|(from, to, _)| *from < end && begin < *to) {
            return;
        }
        let memory = std::mem::take(&mut self.memory);
        let around = memory.into_iter().flat_map(|(from, to, lying)| {
            [(from, to.min(begin), lying), (from.max(end), to, lying)]
                .into_iter()
                .filter(|(from, to, _)| from < to)
        });
        self.memory = around.collect();
    }

    /// Where what lies between `begin` and `end` was written by others, by this rank, and by it from memory of the program:
    /// the end of each such piece. One for all of it where too much is known to say.
    pub(super) fn ends_of_pieces(&self, begin: u64, end: u64) -> Vec<u64> {
        let own = self.own.within(begin, end).into_iter().chain(self.own.gaps(begin, end));
        let memory = self.memory.iter().flat_map(|(from, to, _)| [*from, *to]);
        let inside = own.map(|(_, to)| to).chain(memory).filter(|at| begin < *at && *at < end);
        let mut ends: Vec<u64> = inside.chain([end]).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// This rank wrote there.
    pub fn wrote(&mut self, begin: u64, end: u64) {
        self.own.add(begin, end);
        self.copied.remove(begin, end);
        self.cut.remove(begin, end);
        self.least = self.least.max(end);
        let (first, last) = self.in_turn;
        self.in_turn = (if begin < last { begin } else { first }, end);
        self.pattern = None;
        self.no_memory_at(begin, end);
    }

    /// Parts between `begin` and `end` where there are zeros as far as this rank knows: what it never wrote of a file that
    /// it made or emptied, and nobody else writes to (`alone`); else where it cut the file.
    pub fn hollow(&self, begin: u64, end: u64, alone: bool) -> Vec<(u64, u64)> {
        if self.shifted {
            return Vec::new();
        }
        match alone && self.emptied {
            true => self.own.gaps(begin, end),
            false => self.cut.within(begin, end),
        }
    }

    /// This rank wrote memory of the program there.
    pub fn wrote_memory(&mut self, begin: u64, length: u64, lying: Lying) {
        /// So many are kept.
        const MOST: usize = 4096;
        if self.memory.len() >= MOST {
            self.memory.drain(..MOST / 2);
        }
        self.memory.push((begin, begin.saturating_add(length), lying));
    }

    /// The memory of the program that this rank wrote last at that place.
    pub(super) fn memory_at(&self, at: u64) -> Option<Lying> {
        let covers = |(begin, end, _): &&(u64, u64, Lying)| (*begin..*end).contains(&at);
        self.memory.iter().rev().find(covers).map(|(.., lying)| *lying)
    }

    /// Can it have been written under another name? Not where the name was found right before.
    pub(super) fn may_be_moved(&self) -> bool {
        !self.emptied && self.run.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_is_kept_however_long_its_name_is() {
        let directory = FileName::default().inside(b"a-directory-with-a-rather-long-name");
        for length in 0..40 {
            let name: Vec<u8> = (0..length).map(|at| b'a' + at % 26).collect();
            let whole = [b"a-directory-with-a-rather-long-name/".as_slice(), &name].concat();
            assert_eq!(directory.inside(&name).name, whole[whole.len() - 32..], "{length} bytes");
        }
        let short = FileName::default().inside(b"d").inside(b"f").name;
        assert_eq!((&short[..28], &short[28..]), ([0; 28].as_slice(), b"/d/f".as_slice()));
    }
}
