//! The memory of a transfer by pattern.

use crate::buffers::{Buffer, PERIOD, SCRATCH_LIMIT, Scratch};
use ranks::Comm;
use ranks::layout::{Direction, Layout};

/// The memory of a transfer: its blocks hold what belongs at their places in the file.
pub struct TransferMemory {
    /// Levels 2 and 3: all blocks, one behind the other.
    whole: Option<Buffer>,
    /// Levels 0 and 1: the sequence that all files are made of, or room for one block.
    base: *mut u8,
    layout: Layout,
    rank: u32,
    ranks: u32,
    write: bool,
}

impl TransferMemory {
    /// Room for the blocks of `comm`'s rank; `keep`: all of them at once, also where one after the other would do. Without
    /// scratch memory nothing is moved.
    ///
    /// # Errors
    /// The errno where there is no memory.
    pub fn new(
        scratch: Option<&mut Scratch>,
        (direction, layout): (Direction, &Layout),
        keep: bool,
        comm: &dyn Comm,
    ) -> Result<Self, i32> {
        let write = direction == Direction::Write;
        let (rank, ranks) = (comm.rank(), comm.size());
        let base = std::ptr::dangling_mut();
        let mut memory = Self { whole: None, base, layout: *layout, rank, ranks, write };
        let Some(scratch) = scratch else { return Ok(memory) };
        let element = usize::try_from(layout.element).map_err(|_| libc::ENOMEM)?;
        if element > SCRATCH_LIMIT {
            return Err(libc::ENOMEM);
        }
        memory.base = match write {
            true => scratch.outgoing(0, element)?.cast_mut(),
            false => scratch.incoming(element)?,
        };
        if layout.is_whole() || keep {
            let length = usize::try_from(layout.bytes()).map_err(|_| libc::ENOMEM)?;
            let mut whole = Buffer::take(length)?;
            if write && element > 0 {
                for (number, part) in (0..).zip(whole.bytes_mut().chunks_exact_mut(element)) {
                    // SAFETY: the sequence is readable for a block from each place within a period.
                    part.copy_from_slice(unsafe {
                        std::slice::from_raw_parts(memory.place(number).cast_const(), element)
                    });
                }
            }
            memory.whole = Some(whole);
        }
        Ok(memory)
    }

    /// Where the content of a block lies in the sequence.
    fn place(&self, number: u64) -> *mut u8 {
        let offset = self.layout.offset(number, self.rank, self.ranks);
        // SAFETY: the scratch memory for writes is a whole period longer than the block.
        unsafe { self.base.add((offset % PERIOD as u64) as usize) }
    }

    /// Where in the file the first byte lies that is not what our own writes put there.
    pub fn first_wrong(&self, scratch: &mut Scratch) -> Option<u64> {
        let element = self.layout.element as usize;
        let whole = self.whole.as_ref()?;
        // SAFETY: the transfer is over, and the memory is of this one alone.
        let found = unsafe { whole.bytes(whole.length()) };
        for (number, found) in (0..).zip(found.chunks_exact(element.max(1)).take(self.layout.blocks as usize))
        {
            let offset = self.layout.offset(number, self.rank, self.ranks);
            let expected = scratch.outgoing(offset, element).ok()?;
            // SAFETY: `outgoing` gave memory for so many bytes, which lives until the next call.
            let expected = unsafe { std::slice::from_raw_parts(expected, element) };
            if expected != found {
                let at = expected.iter().zip(found).position(|(a, b)| a != b)?;
                return Some(offset + at as u64);
            }
        }
        None
    }

    /// The memory of a block.
    pub fn block(&self, number: u64) -> *mut u8 {
        match &self.whole {
            // SAFETY: the memory holds all blocks, one behind the other.
            Some(whole) => unsafe { whole.pointer().add((number * self.layout.element) as usize) },
            None if self.write => self.place(number),
            None => self.base,
        }
    }
}
