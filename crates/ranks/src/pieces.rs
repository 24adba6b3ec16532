//! Pieces of a shared file that are not dealt out in turn.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Neighbouring bytes of a file that are a rank's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Where they begin in the file.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Where they begin in memory, in which all of a rank lie one behind the other.
    pub at: u64,
}

/// How a view of the pieces is described to MPI; sizes in elements of so many bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// One by one.
    Listed,
    /// As a part of an array.
    Subarray {
        /// Of the array.
        sizes: Vec<u64>,
        /// Of the part.
        parts: Vec<u64>,
        /// Where it begins.
        starts: Vec<u64>,
        /// Bytes of an element.
        element: u64,
    },
    /// As an array dealt out to a grid of ranks.
    Darray {
        /// Of the array.
        sizes: Vec<u64>,
        /// Of a block.
        blocks: Vec<u64>,
        /// Ranks of each dimension.
        grid: Vec<u64>,
        /// Bytes of an element.
        element: u64,
    },
    /// As vectors of vectors.
    Nested {
        /// From the outermost.
        counts: Vec<u64>,
        /// Bytes.
        strides: Vec<u64>,
        /// Bytes of an element.
        element: u64,
    },
}

/// The pieces of one rank, and what it knows of the others'.
#[derive(Debug)]
pub struct Pieces {
    list: Vec<Stretch>,
    rounds: u64,
    end: u64,
    apart: bool,
    view: View,
}

impl Pieces {
    /// Of offsets and lengths. `rounds`: the most pieces of any rank of the group; `end`: that of the last one;
    /// `apart`: no byte is of two ranks.
    pub fn new(
        list: impl IntoIterator<Item = (u64, u64)>,
        (rounds, end, apart): (u64, u64, bool),
        view: View,
    ) -> Self {
        let mut at = 0;
        let list = list.into_iter().map(|(offset, bytes)| {
            let begin = at;
            at += bytes;
            Stretch { offset, bytes, at: begin }
        });
        Self { list: list.collect(), rounds, end, apart, view }
    }

    /// One by one.
    pub fn list(&self) -> &[Stretch] {
        &self.list
    }

    /// How a view of them is described.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The most pieces of any rank.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The end of the last piece of any rank.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Is no byte of two ranks?
    pub fn are_apart(&self) -> bool {
        self.apart
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.list.last().map_or(0, |last| last.at + last.bytes)
    }

    /// Bytes of the largest.
    pub fn largest(&self) -> u64 {
        self.list.iter().map(|piece| piece.bytes).max().unwrap_or(0)
    }
}

/// Pieces that are shared; equal are those that are the same ones.
#[derive(Clone, Debug)]
pub struct SharedPieces(pub Arc<Pieces>);

impl PartialEq for SharedPieces {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedPieces {}

impl Hash for SharedPieces {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}
