//! Facts of the clocks that timed a run.

use serde::{Deserialize, Serialize};

use super::other::{OtherFacts, is_default};

/// Facts of a clock: the section `clock` of the facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockFacts {
    /// Method of reading it.
    pub kind: ClockKind,
    /// Reason for the choice of this clock.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The fences around a read: `lfence;rdtsc;lfence` …
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fence: String,
    /// Ticks in a nanosecond.
    #[serde(skip_serializing_if = "is_default")]
    pub ticks_per_ns: f64,
    /// The step in which it advances, in ps. Single timings cannot distinguish anything shorter.
    pub quantum_ps: u64,
    /// The cost of reading the clock, which every duration includes.
    #[serde(skip_serializing_if = "is_default")]
    pub overhead: Overhead,
    /// The rate over the whole run relative to that at its start, in parts per million; `None` before the end
    /// of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_ppm: Option<f64>,
    /// Keys that another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// Method of reading a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    Monotonic,
    /// The processor's counter.
    Tsc,
    /// The time-stamp counter between `mfence`s.
    TscMfence,
    /// The virtual clock of a simulation.
    Virtual,
    /// Missing, or unknown to this version.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Overhead of an empty timed interval, in ps. It is part of every duration and never subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overhead {
    /// The cost of one clock read, amortised over thousands.
    pub mean_ps: u64,
    /// Median of empty timings.
    pub p50_ps: u64,
    /// 99th percentile of empty timings.
    pub p99_ps: u64,
}

/// The offset of a rank's clock from that of rank 0 at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The reading of the rank's clock minus the simultaneous reading of rank 0's clock.
    pub offset_ns: i64,
    /// The largest possible error of the offset in either direction: half of the fastest round trip.
    pub uncertainty_ns: u64,
    /// The time of the comparison, on the clock of rank 0.
    pub at_ns: u64,
}
