//! Which bytes of a file belong to which rank?

/// How the view of a pattern is described to MPI. Both put the same bytes at the same places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
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
    pub kind: Kind,
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
