//! The memory of a transfer by pattern.

use crate::buffers::{Buffer, SCRATCH_LIMIT};
use crate::content::{Author, ContentKind, FileName};
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
    /// Room for the blocks of `comm`'s rank; `keep`: all of them at once, also where one after the other would do.
    /// Without an author nothing is moved.
    ///
    /// Blocks that are written one after the other are all made beforehand, up to 1 GiB; beyond that all blocks are one
    /// and the same, which says that it is memory and not where it lies.
    ///
    /// # Errors
    /// The errno where there is no memory, or a file cannot be so long (EFBIG).
    pub fn new(
        author: Option<(Author, FileName)>,
        (direction, layout): (Direction, &Layout),
        keep: bool,
        comm: &dyn Comm,
    ) -> Result<Self, i32> {
        let write = direction == Direction::Write;
        let (rank, ranks) = (comm.rank(), comm.size());
        layout.file_bytes(ranks).ok_or(libc::EFBIG)?;
        let small = layout.bytes() <= SCRATCH_LIMIT as u64;
        let complete = layout.is_whole() || keep || (write && small);
        let mut made = Self { memory: None, complete, layout: layout.clone(), rank, ranks };
        let Some((author, name)) = author else { return Ok(made) };
        let length = if complete { layout.bytes() } else { layout.element };
        let mut memory = Buffer::take(usize::try_from(length).map_err(|_| libc::ENOMEM)?)?;
        if write && layout.element > 0 {
            let kind = if complete { ContentKind::Placed } else { ContentKind::Memory };
            let stream = author.stream(name, kind);
            let mut rest = memory.bytes_mut();
            for number in 0..if complete { layout.blocks } else { layout.blocks.min(1) } {
                let length = if complete { layout.length(number) } else { layout.element };
                let Some((part, behind)) = rest.split_at_mut_checked(length as usize) else { break };
                let offset = if complete { layout.offset(number, rank, ranks) } else { 0 };
                stream.fill(author.rank, offset, part);
                rest = behind;
            }
        }
        made.memory = Some(memory);
        Ok(made)
    }

    /// What was read, block by block, with its offsets in the file.
    pub fn parts(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let found: &[u8] = match self.memory.as_ref().filter(|_| self.complete && self.layout.element > 0) {
            // SAFETY: the transfer is over, and the memory is of this one alone.
            Some(memory) => unsafe { memory.bytes(memory.length()) },
            None => &[],
        };
        (0..self.layout.blocks).map_while(move |number| {
            let (begin, length) = (self.layout.memory(number)?, self.layout.length(number));
            let part = found.get(begin as usize..(begin + length) as usize)?;
            Some((part, self.layout.offset(number, self.rank, self.ranks)))
        })
    }

    /// The memory of the blocks.
    pub fn blocks(&self) -> Blocks {
        let (base, length) = match &self.memory {
            Some(memory) => (memory.pointer(), memory.length()),
            None => (std::ptr::dangling_mut(), 0),
        };
        // SAFETY: the buffer is as long as it says, and lives as long as `self`, which whoever transfers keeps.
        unsafe { Blocks::new(base, length, !self.complete) }
    }
}
