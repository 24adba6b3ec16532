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

/// What a file is that begins so, where it looks like a trace and cannot be read as one.
pub fn refused(head: &[u8]) -> Option<&'static str> {
    let lines = || head.split(|byte| *byte == b'\n').take(50);
    let has = |line: &[u8], text: &[u8]| line.windows(text.len()).any(|window| window == text);
    if lines().any(|line| has(line, b"% time") && has(line, b"usecs/call") && has(line, b"syscall")) {
        return Some(
            "the summary of strace -c (its calls are not in it; `strace -f -ttt -T -o FILE COMMAND` writes them)",
        );
    }
    if lines().any(|line| line.starts_with(b"SYSCALL(args)") && has(line, b"= return")) {
        return Some("a trace of dtruss (names and results are not as Linux has them; record on Linux)");
    }
    let by_perf = |line: &[u8]| {
        has(line, b" ms): ")
            && line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit)
            && has(line, b"(")
    };
    if lines().any(by_perf) {
        return Some(
            "a trace of perf trace (it cuts names and loses calls; `strace -f -ttt -T -o FILE COMMAND` does not)",
        );
    }
    None
}
