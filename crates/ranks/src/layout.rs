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
