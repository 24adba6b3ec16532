//! What the preloaded library of the quiet recorder left, whatever a killed or broken application made of it, becomes calls
//! as far as it holds whole records, and these a program or a message; never a panic.
//!
//! An input is a row of parts, each the file of a thread: a byte for the process, one for the thread, two for the length
//! (little-endian), and its records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::import::{Options, import};
use tracer::spool::{RING, ThreadFile, read_files};

fuzz_target!(|bytes: &[u8]| {
    let mut files = Vec::new();
    let mut rest = bytes;
    while let [process, thread, low, high, more @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(more.len());
        let (records, after) = more.split_at(length);
        let bytes = [vec![0; RING], records.to_vec()].concat();
        files.push(ThreadFile { process: u32::from(*process), thread: u32::from(*thread), bytes });
        rest = after;
    }
    let mut trace = read_files(&files, b"/home", 0).follower.finish();
    let _ = import(&mut trace, &Options::default());
});
