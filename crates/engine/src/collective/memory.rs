//! The memory of a transfer by pattern.

use crate::buffers::{Buffer, Scratch};
use ranks::Comm;
use ranks::layout::{Blocks, Direction, Layout};

/// The memory of a transfer: its blocks hold what belongs at their places in the file.
pub struct TransferMemory {
    /// `None` where nothing is moved.
    memory: Option<Buffer>,
    /// Every block is there, one behind the other.
    complete: bool,
    layout: Layout,
    rank: u32,
    ranks: u32,
}

impl TransferMemory {
    /// Room for the blocks of `comm`'s rank; `keep`: all of them at once, also where one after the other would do. Without
    /// scratch memory nothing is moved.
    ///
    /// # Errors
    /// The errno where there is no memory, or a file cannot be so long (EFBIG).
    pub fn new(
        scratch: Option<&mut Scratch>,
        (direction, layout): (Direction, &Layout),
        keep: bool,
        comm: &dyn Comm,
    ) -> Result<Self, i32> {
        let write = direction == Direction::Write;
        let (rank, ranks) = (comm.rank(), comm.size());
        layout.file_bytes(ranks).ok_or(libc::EFBIG)?;
        // Each block that is written has a content of its own, which is not made between two clock reads.
        let complete = write || layout.is_whole() || keep;
        let mut made = Self { memory: None, complete, layout: *layout, rank, ranks };
        let Some(scratch) = scratch else { return Ok(made) };
        let length = if complete { layout.bytes() } else { layout.element };
        let mut memory = Buffer::take(usize::try_from(length).map_err(|_| libc::ENOMEM)?)?;
        if write && layout.element > 0 {
            let element = layout.element as usize;
            for (number, part) in (0..layout.blocks).zip(memory.bytes_mut().chunks_exact_mut(element)) {
                scratch.copy_content(layout.offset(number, rank, ranks), part)?;
            }
        }
        made.memory = Some(memory);
        Ok(made)
    }

    /// Where in the file the first byte lies that is not what our own writes put there.
    pub fn first_wrong(&self, scratch: &mut Scratch) -> Option<u64> {
        let element = self.layout.element as usize;
        let memory = self.memory.as_ref().filter(|_| self.complete)?;
        // SAFETY: the transfer is over, and the memory is of this one alone.
        let found = unsafe { memory.bytes(memory.length()) };
        let blocks = (0..self.layout.blocks).zip(found.chunks_exact(element.max(1)));
        blocks.filter(|_| element > 0).find_map(|(number, found)| {
            let offset = self.layout.offset(number, self.rank, self.ranks);
            scratch.differs(offset, found).map(|at| offset + at as u64)
        })
    }

    /// The memory of the blocks.
    pub fn blocks(&self) -> Blocks {
        let (base, length) = match &self.memory {
            Some(memory) => (memory.pointer(), memory.length()),
            None => (std::ptr::dangling_mut(), 0),
        };
        // SAFETY: the buffer is as long as it says, and lives as long as `self`, which whoever transfers keeps.
        unsafe { Blocks::new(base, length, &self.layout, !self.complete) }
    }
}
