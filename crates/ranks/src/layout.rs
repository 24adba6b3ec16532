//! Which bytes of a shared file belong to which rank.

pub use crate::pieces::{Pieces, SharedPieces, Stretch, View};

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
/// i of rank r of P lies at `(i * P + r) * element` bytes. Or the blocks are `pieces`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// The blocks of this rank where they are not dealt out in turn; `element` is then the largest of them.
    pub pieces: Option<SharedPieces>,
    /// Bytes of the file before all that, where the program says so.
    pub base: Option<u64>,
}

impl Layout {
    /// Blocks dealt out in turn.
    pub fn in_turn(kind: ViewKind, (blocks, element): (u64, u64), level: u8) -> Self {
        Self { kind, blocks, element, level, pieces: None, base: None }
    }

    /// These pieces.
    pub fn of_pieces(pieces: SharedPieces, level: u8) -> Self {
        let (blocks, element) = (pieces.0.list().len() as u64, pieces.0.largest());
        Self { kind: ViewKind::Table, blocks, element, level, pieces: Some(pieces), base: None }
    }

    #[inline]
    fn piece(&self, block: u64) -> Option<&Stretch> {
        self.pieces.as_ref()?.0.list().get(block as usize)
    }

    /// Where block `block` of rank `rank` of `ranks` begins, in bytes; pieces are of one rank.
    #[inline]
    pub fn offset(&self, block: u64, rank: u32, ranks: u32) -> u64 {
        let inside = match self.piece(block) {
            Some(piece) => piece.offset,
            None => (block * u64::from(ranks) + u64::from(rank)) * self.element,
        };
        self.base.unwrap_or(0) + inside
    }

    /// Bytes of block `block`.
    #[inline]
    pub fn length(&self, block: u64) -> u64 {
        self.piece(block).map_or(self.element, |piece| piece.bytes)
    }

    /// Where block `block` begins in the memory of all blocks; `None` beyond all memory.
    #[inline]
    pub fn memory(&self, block: u64) -> Option<u64> {
        match self.piece(block) {
            Some(piece) => Some(piece.at),
            None => block.checked_mul(self.element),
        }
    }

    /// Bytes that one rank moves.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match &self.pieces {
            Some(pieces) => pieces.0.bytes(),
            None => self.blocks.saturating_mul(self.element),
        }
    }

    /// Transfers that a rank takes part in, one a block: where they are collective, as many as any rank has.
    #[inline]
    pub fn rounds(&self) -> u64 {
        match &self.pieces {
            Some(pieces) if self.is_collective() => pieces.0.rounds(),
            _ => self.blocks,
        }
    }

    /// Is each byte of one rank only?
    #[inline]
    pub fn is_apart(&self) -> bool {
        self.pieces.as_ref().is_none_or(|pieces| pieces.0.are_apart())
    }

    /// Bytes of the file up to the end of the last block of the last rank; `None` where a file cannot be so long.
    pub fn file_bytes(&self, ranks: u32) -> Option<u64> {
        let inside = match &self.pieces {
            Some(pieces) => pieces.0.end(),
            None => self.blocks.checked_mul(u64::from(ranks))?.checked_mul(self.element)?,
        };
        let all = inside.checked_add(self.base.unwrap_or(0))?;
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
    /// All blocks use the same memory.
    same: bool,
}

impl Blocks {
    /// All blocks of a layout one behind the other in `length` bytes from `base`; `same`: the blocks, one after the
    /// other, in the memory of one.
    ///
    /// # Safety
    /// The `length` bytes from `base` are readable for a write and writable for a read, as long as this lives.
    pub unsafe fn new(base: *mut u8, length: usize, same: bool) -> Self {
        Self { base, length: length as u64, same }
    }

    /// Where block `number` of `layout` begins, with as many bytes behind it as the block has.
    #[inline]
    pub fn block(&self, layout: &Layout, number: u64) -> Option<*mut u8> {
        let begin = if self.same { 0 } else { layout.memory(number)? };
        self.part(begin, layout.length(number))
    }

    /// Where all blocks of `layout` begin, one behind the other.
    #[inline]
    pub fn whole(&self, layout: &Layout) -> Option<*mut u8> {
        let one_behind_the_other = !self.same || layout.blocks <= 1;
        self.part(0, layout.bytes()).filter(|_| one_behind_the_other)
    }

    #[inline]
    fn part(&self, begin: u64, bytes: u64) -> Option<*mut u8> {
        let end = begin.checked_add(bytes)?;
        // SAFETY: within the `length` bytes that the maker promised.
        (end <= self.length).then(|| unsafe { self.base.add(begin as usize) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn memory_that_is_shorter_than_a_layout_asks_for_is_not_given_out() {
        let layout = |blocks| Layout::in_turn(ViewKind::Table, (blocks, 100), 0);
        let mut memory = [0_u8; 250];
        // SAFETY: the array lives longer.
        let blocks = unsafe { Blocks::new(memory.as_mut_ptr(), 250, false) };
        assert!(blocks.block(&layout(3), 0).is_some() && blocks.block(&layout(3), 1).is_some());
        assert!(blocks.whole(&layout(2)).is_some() && blocks.whole(&layout(3)).is_none());
        assert!(blocks.block(&layout(3), 2).is_none() && blocks.block(&layout(3), u64::MAX).is_none());
        // SAFETY: as above.
        let same = unsafe { Blocks::new(memory.as_mut_ptr(), 100, true) };
        assert!(same.block(&layout(3), 2).is_some() && same.whole(&layout(1)).is_some());
        assert!(same.whole(&layout(2)).is_none());
    }

    #[test]
    fn memory_of_pieces_is_as_long_as_they_are() {
        let pieces = Pieces::new([(100, 10), (0, 30), (500, 20)], (4, 520, true), View::Listed);
        let layout = Layout::of_pieces(SharedPieces(Arc::new(pieces)), 1);
        assert_eq!(
            (layout.blocks, layout.bytes(), layout.rounds(), layout.file_bytes(2)),
            (3, 60, 4, Some(520))
        );
        assert_eq!((layout.offset(1, 0, 2), layout.length(1), layout.memory(2)), (0, 30, Some(40)));
        let mut memory = [0_u8; 59];
        // SAFETY: the array lives longer.
        let blocks = unsafe { Blocks::new(memory.as_mut_ptr(), 59, false) };
        assert!(blocks.block(&layout, 1).is_some());
        assert!(blocks.block(&layout, 2).is_none() && blocks.whole(&layout).is_none());
    }

    #[test]
    fn a_layout_beyond_the_longest_file_has_no_length() {
        let layout = |blocks, element| Layout::in_turn(ViewKind::Row, (blocks, element), 1);
        assert_eq!(layout(8, 768 << 10).file_bytes(4), Some(8 * 4 * (768 << 10)));
        assert_eq!(layout(1 << 40, 1 << 30).file_bytes(4), None);
        assert_eq!(layout(u64::MAX, 2).file_bytes(1), None);
    }
}
