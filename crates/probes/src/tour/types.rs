//! What a tour finds.

use clock::Description;
use machine::Cache;
use machine::affinity::Noise;
use perf::Sight;
use serde::{Deserialize, Serialize};

use crate::measure::{Check, Observation};

/// What a rung belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The clock itself.
    Clock,
    /// Caches and memory.
    Memory,
    /// System calls.
    System,
    /// Processes and threads.
    Process,
    /// Files and the disk.
    Disk,
}

/// Quantiles of the time of one operation, in ps, less the clock's cost. A quantile is given where at
/// least ten observations lie beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Median.
    pub median_ps: f64,
    /// 99 of 100 are at most this.
    pub p99_ps: Option<f64>,
    /// 999 of 1000 are at most this.
    pub p999_ps: Option<f64>,
    /// The longest.
    pub max_ps: f64,
}

/// One rung of the ladder: an operation and how long it takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rung {
    /// A short stable name: `l1`, `getpid`, `fsync` …
    pub code: String,
    /// Its name for a reader.
    pub name: String,
    /// What one operation is.
    pub what: String,
    /// What it belongs to.
    pub group: Group,
    /// Operations in one observation; where it is more than 1, the quantiles are of means of so many.
    pub batch: u32,
    /// Observations.
    pub n: usize,
    /// Median of blocks of about 1 ms, in ps an operation: the number to quote.
    pub headline_ps: f64,
    /// As it was.
    pub raw: Quantiles,
    /// Less the wait on the run queue, where some of that was seen and most operations block: what
    /// computes was interrupted, and that is not undone by taking the wait off.
    pub corrected: Option<Quantiles>,
    /// Of single operations, where `batch` is more than 1. The clock moves in steps
    /// ([`Description::quantum_ps`]), so near it these are multiples of a step.
    pub single: Option<Quantiles>,
    /// Of the time by which the slowest hundredth exceeds the median: the share of each cause, the
    /// greatest first (see [`samples::attribute`]); `unattributed` is one of them.
    pub causes: Vec<(String, f64)>,
    /// `[duration in ps, share of observations that are longer]`, some dozens of points for a small
    /// picture; less the clock's cost, an operation.
    pub survival: Vec<[f64; 2]>,
    /// Single timings against the amortised time.
    pub check: Option<Check>,
    /// Was it steady before it was measured?
    pub steady: bool,
    /// Operations in one of the blocks of about 1 ms whose median is the headline.
    pub block: u32,
    /// Every observation, in time order.
    #[serde(skip)]
    pub observations: Vec<Observation>,
    /// Single operations beside them, where `batch` is more than 1.
    #[serde(skip)]
    pub singles: Vec<Observation>,
    /// The blocks, in ps.
    #[serde(skip)]
    pub blocks: Vec<u64>,
}

/// A point of the curve of latency against working set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Working set in bytes.
    pub bytes: u64,
    /// On huge pages?
    pub huge: bool,
    /// One dependent load, in ps.
    pub ps: f64,
}

/// A bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// `L1`, `L2`, `L3`, `memory`.
    pub level: String,
    /// `read`, `write`, `copy`.
    pub kind: String,
    /// Threads at once, each with a buffer of its own on a processor of its own.
    pub threads: u32,
    /// Size of each thread's buffer in bytes.
    pub bytes: u64,
    /// Bytes read and written in a second.
    pub bytes_per_second: f64,
}

/// All that a tour found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tour {
    /// `lastrank.tour/1`.
    pub schema: String,
    /// The rungs, from the quickest group to the slowest.
    pub rungs: Vec<Rung>,
    /// Latency against working set.
    pub curve: Vec<Point>,
    /// Bandwidths.
    pub bandwidths: Vec<Bandwidth>,
    /// Caches, to be marked on the curve.
    pub caches: Vec<Cache>,
    /// The clock, closed.
    pub clock: Description,
    /// What could be seen of causes.
    pub sight: Sight,
    /// What each allowed processor took away from a thread that only reads the clock, the quietest
    /// first; the rungs but for processes and threads were measured on that one.
    pub noise: Vec<Noise>,
    /// What was left out, and why.
    pub skipped: Vec<String>,
    /// All time it took, in s.
    pub elapsed_s: f64,
}

/// What a tour tells while it is on its way.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A step begins: its name, its number from 1 and the number of steps.
    Step(&'a str, usize, usize),
    /// A rung is done.
    Rung(&'a Rung),
}
