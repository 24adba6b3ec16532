//! What would the run have measured, had every operation taken a draw from a stated distribution?
//!
//! No file is touched and no real clock is read: each rank has a virtual clock that its operations
//! push forward, and a barrier sets it to the largest of all ranks'. The same seed gives the same
//! samples, to the last digit.

mod distribution;
mod files;

pub use distribution::{Distribution, Model, NotADistribution, Stream};
pub use files::Files;
