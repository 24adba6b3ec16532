//! Results of a run: counts, rates, depth and quantiles of each operation and block, over all ranks.
//!
//! [`of_run`] turns a run into rows, one for each path of labels and operation. Rates are over wall time, so that they
//! add up over ranks and never come from a sum of latencies; quantiles are values that were measured. The crate is pure:
//! terminal, page, JSON and Python show its numbers and compute none of their own.
//!
//! ```
//! let run = samples::example::parallel_write(16, 400, 7);
//! let rows = results::of_run(&run);
//! let write = rows.iter().find(|row| row.operation == "fwrite").expect("writes");
//! assert_eq!((write.ranks, write.operations), (Some(16), Some(6_400)));
//! assert!(write.bytes_per_second.is_some());
//! ```
#![forbid(unsafe_code)]

mod quantiles;
mod row;
mod timeline;

pub use quantiles::Quantiles;
pub use row::{ResultRow, of_run};
