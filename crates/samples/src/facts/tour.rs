//! Facts of a tour (`lastrank try`): its rungs, the curve of memory latency, bandwidths, noise of processors.

use serde::{Deserialize, Serialize};

use super::clock::ClockFacts;
use super::coverage::Coverage;
use super::machine::Cache;
use super::other::OtherFacts;

/// Results of a tour besides its samples: the section `tour` of the facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TourFacts {
    /// `lastrank.tour/1`.
    pub schema: String,
    /// The rungs, from the fastest group to the slowest.
    pub rungs: Vec<RungFacts>,
    /// Latency against working set.
    pub curve: Vec<CurvePoint>,
    /// Bandwidths.
    pub bandwidths: Vec<Bandwidth>,
    /// Caches, for marks on the curve.
    pub caches: Vec<Cache>,
    /// The clock, with its drift.
    pub clock: ClockFacts,
    /// The causes that could be observed.
    #[serde(rename = "sight")]
    pub coverage: Coverage,
    /// The time that each allowed processor did not give to a thread that only reads the clock, the quietest
    /// first. All rungs except processes and threads were measured on the quietest.
    pub noise: Vec<Noise>,
    /// The steps that were skipped, and why.
    pub skipped: Vec<String>,
    /// Total time of the tour, in s.
    pub elapsed_s: f64,
    /// Keys that another version wrote.
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
    /// Description of one operation.
    pub what: String,
    /// The group of the rung.
    pub group: RungGroup,
    /// Operations in one observation. If it is more than 1, the quantiles are those of means over so many
    /// operations.
    pub batch: u32,
    /// Number of observations.
    pub n: usize,
    /// Median of blocks of about 1 ms, in ps an operation: the number to quote.
    pub headline_ps: f64,
    /// Quantiles as measured.
    pub raw: RungQuantiles,
    /// Quantiles without the wait on the run queue, if there was any and most operations block. An
    /// interrupted computation is not undone by subtracting the wait, so computing rungs have none.
    pub corrected: Option<RungQuantiles>,
    /// Quantiles of single operations, if `batch` is more than 1. The clock advances in steps
    /// ([`ClockFacts::quantum_ps`]), so short durations are multiples of a step.
    pub single: Option<RungQuantiles>,
    /// The share of each cause in the excess of the slowest 1% over the median, the greatest first (see
    /// [`crate::attribute`]); `unattributed` is one of them.
    pub causes: Vec<(String, f64)>,
    /// The survival function of an operation without the clock's cost, in a few dozen points: `[duration in
    /// ps, share of observations that are longer]`.
    pub survival: Vec<[f64; 2]>,
    /// Comparison of single timings with the amortised time.
    pub check: Option<TimingCheck>,
    /// Whether it was steady before it was measured.
    pub steady: bool,
    /// Operations in one of the blocks of about 1 ms whose median is the headline.
    pub block: u32,
    /// Keys that another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// The group of a rung.
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

/// Quantiles of the time of one operation, in ps, without the clock's cost. A quantile is given only if at
/// least ten observations exceed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RungQuantiles {
    /// Median.
    pub median_ps: f64,
    /// 99th percentile.
    pub p99_ps: Option<f64>,
    /// 99.9th percentile.
    pub p999_ps: Option<f64>,
    /// The longest.
    pub max_ps: f64,
}

/// Compares the mean of single timings, without the clock's cost, with the amortised time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimingCheck {
    /// Mean of single timings without what a bracket added at that time, in ps.
    pub single_ps: f64,
    /// Median of blocks timed in between, in ps an operation.
    pub amortised_ps: f64,
    /// The largest permitted difference: the greater of 0.6 ns and 5%.
    pub tolerance_ps: f64,
}

impl TimingCheck {
    /// Whether both times agree within the tolerance.
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
    /// Whether it was on huge pages.
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
    /// Number of concurrent threads, each with its own buffer and processor.
    pub threads: u32,
    /// Size of each thread's buffer in bytes.
    pub bytes: u64,
    /// Bytes read and written in a second.
    pub bytes_per_second: f64,
}

/// The time that a processor did not give to a thread that only reads the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Noise {
    /// Its number.
    pub cpu: u16,
    /// The share of time in gaps of a microsecond and more: 0 to 1.
    pub lost: f64,
    /// The longest gap, in ns.
    pub longest_ns: u64,
}
