//! Content that describes itself: what is written, and whether what is read is it.
//!
//! `sector` makes and reads the bytes, `known` keeps what a rank knows of a file (`ranges`: the parts that it wrote),
//! `catalogue` which file a path leads to,
//! `verify` compares, `wrong` says what was found instead.

mod catalogue;
mod known;
mod mask;
mod place;
mod ranges;
mod sector;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vectors;
mod verify;
mod wrong;

pub use catalogue::Catalogue;
pub use known::{FileName, Known};
pub use place::{Destined, LastRead};
pub use sector::{ContentKind, ContentStream, Dials, Lying, REPEAT, SECTOR, Writer};
pub use verify::{Reader, last_own, verify};
pub use wrong::{Described, Found, Wrong, shown};

/// Who writes in which run, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// The run, by a number that nobody can guess, the same on all ranks.
    pub run: u64,
    /// What names of files carry that the run makes up: another number, since names are read by anybody.
    pub name: u32,
    /// The rank.
    pub rank: u32,
    /// Ranks in the run.
    pub ranks: u32,
    /// How far content may be compressed and deduplicated.
    pub dials: Dials,
    /// Writes take what was read just before, where that is enough.
    pub copies: bool,
}

impl Author {
    /// What is written to a file.
    pub fn stream(&self, file: FileName, kind: ContentKind) -> ContentStream {
        ContentStream { run: self.run, file: file.id, name: file.name, kind, dials: self.dials }
    }

    /// Who reads in this run; `owner` wrote all of it.
    pub fn reader(&self, owner: Option<u32>) -> Reader {
        Reader {
            run: self.run,
            dials: self.dials,
            ranks: self.ranks,
            owner,
            others_rename: false,
            others_append: false,
            appends_once: false,
        }
    }
}

/// Random bits of a run's number; above them stand the minutes since 1970.
const RANDOM_BITS: u32 = 38;

/// A number for a run that begins now. Its content depends on it, and no program can foresee it: one that could would
/// compose what it likes of pieces of known content.
///
/// # Errors
/// As getrandom(2).
pub fn run_number() -> std::io::Result<u64> {
    let random = ranks::random_number()?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let minutes = (now.as_secs() / 60) & (u64::MAX >> RANDOM_BITS);
    Ok(minutes << RANDOM_BITS | random >> (u64::BITS - RANDOM_BITS))
}

/// The minute in which a run of this number began, in seconds since 1970.
fn began_s(run: u64) -> u64 {
    (run >> RANDOM_BITS) * 60
}

#[cfg(test)]
mod run_numbers {
    use super::*;

    #[test]
    fn a_run_has_a_number_that_cannot_be_guessed_and_tells_when_it_began() {
        let numbers: std::collections::BTreeSet<u64> =
            (0..100).map(|_| run_number().expect("random numbers")).collect();
        assert_eq!(numbers.len(), 100);
        let random = |run: &u64| run & ((1 << RANDOM_BITS) - 1);
        // Each bit is 0 in some and 1 in others: by chance one is not so once in 10^28 times.
        let (any, all) =
            numbers.iter().map(random).fold((0, u64::MAX), |(any, all), bits| (any | bits, all & bits));
        assert_eq!((any, all), ((1 << RANDOM_BITS) - 1, 0));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let earlier = numbers.iter().all(|run| now.as_secs() - began_s(*run) < 3600);
        assert!(earlier, "{numbers:?}");
    }
}
