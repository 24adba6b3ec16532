//! Content that describes itself: what is written, and whether what is read is it.
//!
//! `sector` makes and reads the bytes, `known` keeps what a rank knows of files (`ranges`: the parts that it wrote),
//! `verify` compares, `wrong` says what was found instead.

mod known;
mod place;
mod ranges;
mod sector;
#[cfg(test)]
mod tests;
mod verify;
mod wrong;

pub use known::{Catalogue, FileName, Known};
pub use place::{Destined, LastRead};
pub use sector::{ContentKind, ContentStream, Dials, Lying, REPEAT, SECTOR};
pub use verify::{Reader, verify};
pub use wrong::{Described, Found, Wrong};

/// Who writes in which run, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// The run: nanoseconds since 1970 when it began, the same on all ranks.
    pub run: u64,
    /// The rank.
    pub rank: u32,
    /// Ranks in the run.
    pub ranks: u32,
    /// How far content may be compressed and deduplicated.
    pub dials: Dials,
}

impl Author {
    /// What is written to a file.
    pub fn stream(&self, file: FileName, kind: ContentKind) -> ContentStream {
        ContentStream { run: self.run, file: file.id, name: file.name, kind, dials: self.dials }
    }

    /// Who reads in this run; `owner` wrote all of it.
    pub fn reader(&self, owner: Option<u32>) -> Reader {
        Reader { run: self.run, dials: self.dials, ranks: self.ranks, owner }
    }
}

/// Now, as the number of a run.
pub fn run_number() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
