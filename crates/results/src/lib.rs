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

mod answer;
mod choice;
mod columns;
mod interval;
mod iterations;
mod judged;
mod kept_row;
mod many;
mod measure;
mod of_ranks;
mod page_cache;
mod passes;
mod phases;
mod quantiles;
mod rate;
mod ratio;
mod row;
mod rows;
mod safe;
mod schedule;
mod series;
mod settings;
mod settle;
mod steady;
mod steps;
mod summary;
mod timeline;
mod together;
mod wall;

pub use answer::{AnswerNumbers, AnswerPart, AnswerValue, Wish};
pub use choice::{Choice, choose, has_much_set_up, mostly_failed};
pub use columns::Columns;
pub use interval::QuantileInterval;
pub use iterations::{Iterations, Spread};
pub use judged::judgements;
pub use kept_row::KeptRow;
pub use many::{AgainstFirst, RowOfRun, RowOfRuns, compare_runs};
pub use of_ranks::RankResult;
pub use page_cache::{
    CallsFromMemory, FromMemory, from_memory, is_read, is_read_by_touch, is_write, median_of_memory,
    median_of_memory_writes, writes_end_in_memory,
};
pub use phases::{
    Moved, OperationOfRun, OperationOfRuns, Phase, PhaseOfRuns, PhasesOfRuns, phases, phases_of_runs,
    quantity,
};
pub use quantiles::{Quantiles, values_for};
pub use rate::KeptRate;
pub use ratio::{OtherWork, QuantileRatio, RowRatio, RowRatios, compare_intervals, compare_rows};
pub use row::ResultRow;
pub use rows::{of_columns, of_run, of_run_alone};
pub use safe::Safe;
pub use series::Series;
pub use settings::{apart, ask_other_depths, differing_settings, settings};
pub use settle::{judge_steady, was_steady};
pub use steady::Steadiness;
pub use steps::Steps;
pub use summary::{of_values, of_values_taken_by};
pub use together::Together;
pub use wall::AtWall;
