//! The trace formats that `lastrank import` reads: one file each below, and its entry in [`ALL`].

mod fio;
mod strace;

use super::trace::Format;

/// All formats, in the order in which a text is tried.
pub const ALL: [&Format; 2] = [&fio::FORMAT, &strace::FORMAT];
