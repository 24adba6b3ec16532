//! What a format of traces is, and what its parser may be told.

use crate::description::Description;
use crate::input::{Input, TraceError};
use crate::model::Trace;

/// What a parser may be told about a trace.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The working directory of the application, where known.
    pub directory: Option<Vec<u8>>,
    /// What the lines of a trace mean that is of no format below.
    pub description: Option<Description>,
}

/// A format of traces.
pub struct Format {
    /// What made the trace, in a word.
    pub name: &'static str,
    /// How a user makes one.
    pub made_by: &'static str,
    /// Whether the first bytes of a file, at most 64 KiB, are of this format.
    pub detect: fn(head: &[u8]) -> bool,
    /// Reads a trace of this format.
    pub parse: fn(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError>,
}
