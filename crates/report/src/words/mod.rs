//! The sentences about what the statistics found.
//!
//! The crate `tail` hands out findings as enums and numbers; each sentence that a terminal, a page or a JSON field
//! shows about them is made here, one file a kind of result. To translate, shorten or restyle them is to edit
//! this folder.

pub mod alarm;
pub mod comparison;
mod independence;
pub mod interleaved;
mod json;
mod latency;
mod number;
pub mod planning;
pub mod prediction;
pub mod targets;
pub mod verdict;

pub(crate) use independence::slow_ones;
pub use independence::{against, finding};
pub(crate) use json::serialize;
pub use json::{Worded, json};
pub use latency::text as of_latency;
