//! The trace formats: one file each in this folder, and its entry in [`ALL`].

mod blkparse;
mod block_csv;
mod described;
mod dxt;
mod fio;
mod strace;

pub use strace::merge_parts;

use crate::format::{Format, Reading};

/// All formats, in the order in which a file is tried.
pub const ALL: [&Format; 6] =
    [&fio::FORMAT, &dxt::FORMAT, &strace::FORMAT, &blkparse::FORMAT, &block_csv::FORMAT, &described::FORMAT];

/// The format of a file by its first bytes; with a description always the described one.
pub fn detect(head: &[u8], reading: &Reading) -> Option<&'static Format> {
    match reading.description {
        Some(_) => Some(&described::FORMAT),
        None => ALL.into_iter().find(|format| (format.detect)(head)),
    }
}
