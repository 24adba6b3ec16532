//! How are samples kept, from the rank that takes them to the run that holds them?
//!
//! [`Region`] is the shared memory of a rank, [`Recorder`] its writing end (a store and a release of
//! the count), [`SiteTable`] the numbers of its sites, [`read`] the reading end, which works as well
//! after the rank was killed.

mod counts;
mod journal;
mod reader;
mod recorder;
mod region;
mod sites;
#[cfg(test)]
mod tests;

pub use journal::{Entry, Stonewalled};
pub use reader::{RankRecord, ReadError, read};
pub use recorder::Recorder;
pub use region::{Region, State};
pub use sites::{MORE, Place, SiteTable};

pub use region::{populate, unnamed_file};
