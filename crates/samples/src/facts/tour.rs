//! Facts of a tour (`lastrank try`): its rungs, the curve of memory latency, bandwidths, noise of processors.

use serde::{Deserialize, Serialize};

use super::clock::ClockFacts;
use super::coverage::Coverage;
use super::machine::Cache;
use super::other::OtherFacts;

/// All that a tour found beside its samples: the facts' `tour` section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TourFacts {
    /// `lastrank.tour/1`.
    pub schema: String,
    /// The rungs, from the quickest group to the slowest.
    pub rungs: Vec<RungFacts>,
    /// Latency against working set.
    pub curve: Vec<CurvePoint>,
    /// Bandwidths.
    pub bandwidths: Vec<Bandwidth>,
    /// Caches, to be marked on the curve.
    pub caches: Vec<Cache>,
    /// The clock, closed.
    pub clock: ClockFacts,
    /// Which causes could be observed.
    #[serde(rename = "sight")]
    pub coverage: Coverage,
    /// What each allowed processor took away from a thread that only reads the clock, the quietest
    /// first; the rungs but for processes and threads were measured on that one.
    pub noise: Vec<Noise>,
    /// What was left out, and why.
    pub skipped: Vec<String>,
    /// All time it took, in s.
    pub elapsed_s: f64,
    /// What another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// One rung of the ladder: an operation and how long it takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RungFacts {
    /// A short stable name: `l1`, `getpid`, `fsync` …
    pub code: String,
    /// Its name for a reader.
    pub name: String,
    /// What one operation is.
    pub what: String,
    /// What it belongs to.
    pub group: RungGroup,
    /// Operations in one observation; where it is more than 1, the quantiles are of means of so many.
    pub batch: u32,
    /// Observations.
    pub n: usize,
    /// Median of blocks of about 1 ms, in ps an operation: the number to quote.
    pub headline_ps: f64,
    /// As it was.
    pub raw: RungQuantiles,
    /// Less the wait on the run queue, where some of that was seen and most operations block: what
    /// computes was interrupted, and that is not undone by taking the wait off.
    pub corrected: Option<RungQuantiles>,
    /// Of single operations, where `batch` is more than 1. The clock moves in steps
    /// ([`ClockFacts::quantum_ps`]), so near it these are multiples of a step.
    pub single: Option<RungQuantiles>,
    /// Of the time by which the slowest hundredth exceeds the median: the share of each cause, the
    /// greatest first (see [`crate::attribute`]); `unattributed` is one of them.
    pub causes: Vec<(String, f64)>,
    /// `[duration in ps, share of observations that are longer]`, some dozens of points for a small
    /// picture; less the clock's cost, an operation.
    pub survival: Vec<[f64; 2]>,
    /// Single timings against the amortised time.
    pub check: Option<TimingCheck>,
    /// Was it steady before it was measured?
    pub steady: bool,
    /// Operations in one of the blocks of about 1 ms whose median is the headline.
    pub block: u32,
    /// What another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// What a rung belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RungGroup {
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
    /// Not told, or one that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

/// Quantiles of the time of one operation, in ps, less the clock's cost. A quantile is given where at
/// least ten observations lie beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RungQuantiles {
    /// Median.
    pub median_ps: f64,
    /// 99 of 100 are at most this.
    pub p99_ps: Option<f64>,
    /// 999 of 1000 are at most this.
    pub p999_ps: Option<f64>,
    /// The longest.
    pub max_ps: f64,
}

/// Does the mean of single timings, less the clock's cost, equal the amortised time?
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimingCheck {
    /// Mean of single timings, less what a bracket was found to add at that moment, in ps.
    pub single_ps: f64,
    /// Median of blocks timed in between, in ps an operation.
    pub amortised_ps: f64,
    /// What they may differ by: the greater of 0.6 ns and 5 %.
    pub tolerance_ps: f64,
}

impl TimingCheck {
    /// Do they agree?
    pub fn passes(&self) -> bool {
        (self.single_ps - self.amortised_ps).abs() <= self.tolerance_ps
    }
}

/// A point of the curve of latency against working set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CurvePoint {
    /// Working set in bytes.
    pub bytes: u64,
    /// On huge pages?
    pub huge: bool,
    /// One dependent load, in ps.
    pub ps: f64,
}

/// A bandwidth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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

/// How much of its time a processor did not give to a thread that only reads the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Noise {
    /// Its number.
    pub cpu: u16,
    /// The share of the time that went into gaps of a microsecond and more: 0 to 1.
    pub lost: f64,
    /// The longest gap, in ns.
    pub longest_ns: u64,
}
