//! Words the findings of the statistics.
//!
//! The crate `tail` returns findings as enums and numbers. Every sentence about them on a terminal, a page or
//! in JSON is made here, one file for each kind of result; edit this folder to translate or restyle them.

pub mod alarm;
pub mod comparison;
mod independence;
pub mod interleaved;
mod json;
pub mod judgement;
mod latency;
mod number;
pub(crate) mod operation;
pub mod planning;
pub mod prediction;
pub(crate) mod rate;
pub mod steady;
pub mod targets;
pub mod unsound;
pub(crate) mod until;
pub mod verdict;
pub(crate) mod verified;

pub use independence::{against, finding};
pub(crate) use independence::{finding_in_short, slow_ones};
pub(crate) use json::serialize;
pub use json::{Worded, json};
pub use latency::text as of_latency;
pub use number::capital;
