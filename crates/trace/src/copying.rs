//! Whether an application copies: whether most of what it writes is what it read just before.

use crate::lanes::Lanes;
use crate::maps::HashMap;
use crate::model::column::{BYTES, ERRNO, FILE, FLAGS, OP};
use crate::model::{COPY, CallReader, Op, Trace};
use crate::packed::Packed;

/// What a strand read last: bytes that it did not write yet, and where in its memory they begin.
#[derive(Clone, Copy, Default)]
struct Read {
    unwritten: u64,
    from: u64,
}

impl Read {
    /// Whether a write takes of it, as programs with `define content "copied"` do.
    fn is_written(&mut self, bytes: u64) -> bool {
        if bytes > self.unwritten || !self.from.is_multiple_of(4096) {
            *self = Self::default();
            return false;
        }
        (self.unwritten, self.from) = (self.unwritten - bytes, self.from + bytes);
        true
    }
}

/// Whether at least half of the bytes that `kept` calls write can be those that the same strand read just before from another
/// file: `kept` is in the order of their beginning. No trace tells what a call moves, so this is taken for it; what is
/// written to the file that was read is a changed page of a database rather than a copy.
pub fn copies(trace: &Trace, kept: &Packed, lanes: &Lanes) -> bool {
    let mut strands: HashMap<u32, (Read, u32)> = HashMap::default();
    let (mut copied, mut written) = (0_u64, 0_u64);
    let mut reader = CallReader::of(&[OP, ERRNO, FLAGS, FILE, BYTES]);
    for at in kept.iter().map(|at| at as u32) {
        let call = reader.get(&trace.calls, at);
        if call.errno != 0 || call.flags & COPY != 0 {
            continue;
        }
        match call.op {
            Op::Read => {
                strands.insert(lanes.strand_of(at), (Read { unwritten: call.bytes, from: 0 }, call.file));
            }
            Op::Write => {
                written = written.saturating_add(call.bytes);
                let read = strands.get_mut(&lanes.strand_of(at));
                if read.is_some_and(|(read, from)| read.is_written(call.bytes) && *from != call.file) {
                    copied = copied.saturating_add(call.bytes);
                }
            }
            _ => {}
        }
    }
    written > 0 && copied >= written.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_written_once_and_from_the_beginning_of_a_page() {
        let mut read = Read { unwritten: 10_000, from: 0 };
        assert!(read.is_written(4096));
        assert!(read.is_written(100));
        assert!(!read.is_written(100), "not where a page begins");
        assert!(!read.is_written(1), "a write of other content used the memory");
        assert!(!Read { unwritten: 10, from: 0 }.is_written(11));
    }
}
