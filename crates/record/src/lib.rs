//! Keeps samples in shared memory, so that the death of a rank loses none.
//!
//! [`SampleRegion`] is the shared memory of a rank, [`Recorder`] its writing end (one 64-byte store and one
//! release store of the count), [`SiteTable`] the numbers of its sites, [`read`] the reading end, which works
//! as well after the rank was killed. Writer and reader of the one layout stay together in this crate.

pub mod claim;
mod counts;
mod follow;
mod journal;
pub mod live;
mod private;
mod publish;
mod reader;
mod recorder;
mod region;
mod sites;
#[cfg(all(test, not(loom)))]
mod tests;
mod witness;

pub use follow::Follower;
pub use journal::{Entry, FailedAssertion, FailureKey, Stonewalled};
pub use reader::{CountedRecord, RankRecord, ReadError, read, read_together, room_for};
pub use recorder::Recorder;
pub use region::{RecordState, SampleRegion, unnamed_file};
pub use sites::{MORE, SiteTable, StaticSite};
