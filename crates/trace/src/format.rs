//! A trace format and the options of its parser.

use crate::description::Description;
use crate::input::{Input, TraceError};
use crate::model::Trace;

/// Options of a parser.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The working directory of the application, where known.
    pub directory: Option<Vec<u8>>,
    /// The description of a trace that has no known format.
    pub description: Option<Description>,
}

/// A format of traces.
pub struct Format {
    /// The tool that made the trace, in one word.
    pub name: &'static str,
    /// How a user makes one.
    pub made_by: &'static str,
    /// Whether the first bytes of a file, at most 64 KiB, are of this format.
    pub detect: fn(head: &[u8]) -> bool,
    /// Reads a trace of this format.
    pub parse: fn(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError>,
}
