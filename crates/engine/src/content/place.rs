//! Where bytes go, and where they came from.

use super::known::FileName;

/// Content for a file from a place on.
#[derive(Clone, Copy, Debug)]
pub struct Destined {
    /// The file.
    pub file: FileName,
    /// The offset of the first byte.
    pub place: u64,
    /// `place` counts what this rank appended: where it will lie is not known.
    pub appended: bool,
}

/// What was read last into our own memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastRead {
    /// The file.
    pub file: FileName,
    /// The offset of the first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Where the file ended, if it ended in this read and should not have.
    pub ended: Option<u64>,
    /// It was to read up to the end, wherever that is.
    pub all: bool,
}
