//! Which bytes of a shared file belong to which rank.

/// How the view of a pattern is described to MPI. Both put the same bytes at the same places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViewKind {
    /// Type 1: one row of one block for each rank, repeated.
    Row,
    /// Type 2: a table of rows, a block for each rank in each; the rank's column is a
    /// two-dimensional subarray.
    #[default]
    Table,
}

/// A pattern of the language: `blocks` blocks of `element` bytes a rank, dealt out round robin. Block
/// i of rank r of P lies at `(i * P + r) * element` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// How the view is described.
    pub kind: ViewKind,
    /// Blocks a rank.
    pub blocks: u64,
    /// Bytes a block.
    pub element: u64,
    /// 0: independent transfers, one a block; 1: the same, collective; 2: one independent transfer
    /// through a view; 3: the same, collective.
    pub level: u8,
}

impl Layout {
    /// Where block `block` of rank `rank` of `ranks` begins, in bytes.
    #[inline]
    pub fn offset(&self, block: u64, rank: u32, ranks: u32) -> u64 {
        (block * u64::from(ranks) + u64::from(rank)) * self.element
    }

    /// Bytes that one rank moves.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.blocks.saturating_mul(self.element)
    }

    /// Bytes of the file up to the end of the last block of the last rank; `None` where a file cannot be so long.
    pub fn file_bytes(&self, ranks: u32) -> Option<u64> {
        let all = self.blocks.checked_mul(u64::from(ranks))?.checked_mul(self.element)?;
        i64::try_from(all).ok().map(|_| all)
    }

    /// Is the transfer collective?
    #[inline]
    pub fn is_collective(&self) -> bool {
        matches!(self.level, 1 | 3)
    }

    /// Is it one transfer of everything?
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.level >= 2
    }
}

/// What a parallel file is opened for: any of the letters `c r w`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParallelMode {
    /// Create it where it is missing; never empties it.
    pub create: bool,
    /// Reading.
    pub read: bool,
    /// Writing.
    pub write: bool,
}

impl ParallelMode {
    /// The mode of `letters`, in any order; `None` for other letters. Neither `r` nor `w` means both.
    pub fn parse(letters: &str) -> Option<Self> {
        let mut mode = Self::default();
        for letter in letters.trim().chars() {
            match letter.to_ascii_lowercase() {
                'c' => mode.create = true,
                'r' => mode.read = true,
                'w' => mode.write = true,
                _ => return None,
            }
        }
        if !mode.read && !mode.write {
            (mode.read, mode.write) = (true, true);
        }
        Some(mode)
    }

    /// What `pread` opens with.
    pub const READ: Self = Self { create: false, read: true, write: false };
    /// What `pwrite` opens with: reading as well, since a library may fill the gaps between blocks.
    pub const WRITE: Self = Self { create: true, read: true, write: true };
}

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From memory to the file.
    Write,
    /// From the file to memory.
    Read,
}

/// The memory of a transfer by a layout. It knows its own length: a block that does not lie within it is not given
/// out, whatever the layout asks for.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    base: *mut u8,
    length: u64,
    element: u64,
    /// From one block to the next; 0: all blocks use the same memory.
    stride: u64,
}

impl Blocks {
    /// All blocks of a layout one behind the other in `length` bytes from `base`; `same`: the blocks, one after the
    /// other, in the memory of one.
    ///
    /// # Safety
    /// The `length` bytes from `base` are readable for a write and writable for a read, as long as this lives.
    pub unsafe fn new(base: *mut u8, length: usize, layout: &Layout, same: bool) -> Self {
        Self {
            base,
            length: length as u64,
            element: layout.element,
            stride: if same { 0 } else { layout.element },
        }
    }

    /// Where block `number` begins, with as many bytes behind it as a block has.
    #[inline]
    pub fn block(&self, number: u64) -> Option<*mut u8> {
        self.part(number, self.element)
    }

    /// Where the first `blocks` blocks begin, one behind the other.
    #[inline]
    pub fn whole(&self, blocks: u64) -> Option<*mut u8> {
        let one_behind_the_other = self.stride == self.element || blocks <= 1;
        self.part(0, blocks.checked_mul(self.element)?).filter(|_| one_behind_the_other)
    }

    #[inline]
    fn part(&self, number: u64, bytes: u64) -> Option<*mut u8> {
        let begin = number.checked_mul(self.stride)?;
        let end = begin.checked_add(bytes)?;
        // SAFETY: within the `length` bytes that the maker promised.
        (end <= self.length).then(|| unsafe { self.base.add(begin as usize) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_shorter_than_a_layout_asks_for_is_not_given_out() {
        let layout = Layout { kind: ViewKind::Table, blocks: 3, element: 100, level: 0 };
        let mut memory = [0_u8; 250];
        // SAFETY: the array lives longer.
        let blocks = unsafe { Blocks::new(memory.as_mut_ptr(), 250, &layout, false) };
        assert!(blocks.block(0).is_some() && blocks.block(1).is_some() && blocks.whole(2).is_some());
        assert!(blocks.block(2).is_none() && blocks.whole(3).is_none() && blocks.block(u64::MAX).is_none());
        // SAFETY: as above.
        let same = unsafe { Blocks::new(memory.as_mut_ptr(), 100, &layout, true) };
        assert!(same.block(2).is_some() && same.whole(1).is_some() && same.whole(2).is_none());
    }

    #[test]
    fn a_layout_beyond_the_longest_file_has_no_length() {
        let layout = |blocks, element| Layout { kind: ViewKind::Row, blocks, element, level: 1 };
        assert_eq!(layout(8, 768 << 10).file_bytes(4), Some(8 * 4 * (768 << 10)));
        assert_eq!(layout(1 << 40, 1 << 30).file_bytes(4), None);
        assert_eq!(layout(u64::MAX, 2).file_bytes(1), None);
    }
}
