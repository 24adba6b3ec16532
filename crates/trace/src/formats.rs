//! The trace formats: one file each in this folder, and its entry in [`ALL`].

mod blkparse;
mod block_csv;
mod counters;
mod described;
mod dxt;
mod fio;
mod recorder;
mod strace;

pub use recorder::merge_ranks;
pub use strace::{MergedParts, merge_parts};

use crate::format::{Format, Reading};

/// All formats, in the order in which a file is tried.
pub const ALL: [&Format; 8] = [
    &fio::FORMAT,
    &dxt::FORMAT,
    &counters::FORMAT,
    &recorder::FORMAT,
    &strace::FORMAT,
    &blkparse::FORMAT,
    &block_csv::FORMAT,
    &described::FORMAT,
];

/// The format of a file by its first bytes; with a description always the described one.
pub fn detect(head: &[u8], reading: &Reading) -> Option<&'static Format> {
    match reading.description {
        Some(_) => Some(&described::FORMAT),
        None => ALL.into_iter().find(|format| (format.detect)(head)),
    }
}
