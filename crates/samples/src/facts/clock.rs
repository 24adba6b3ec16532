//! Facts of the clocks that timed a run.

use serde::{Deserialize, Serialize};

use super::other::{OtherFacts, is_default};

/// What is known of a clock: the facts' `clock` section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockFacts {
    /// How it is read.
    pub kind: ClockKind,
    /// Why this clock and not the other.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What keeps other instructions out of the bracket: `lfence;rdtsc;lfence` …
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fence: String,
    /// Ticks in a nanosecond.
    #[serde(skip_serializing_if = "is_default")]
    pub ticks_per_ns: f64,
    /// The step in which it advances, in ps. Nothing shorter can be told apart from a single timing.
    pub quantum_ps: u64,
    /// What a timing of nothing shows; it is part of every duration.
    #[serde(skip_serializing_if = "is_default")]
    pub overhead: Overhead,
    /// The rate over the whole run against the rate at its start, in parts per million; none before
    /// the run has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_ppm: Option<f64>,
    /// What another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// How a clock is read.
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
    /// Not told, or one that this version does not know.
    #[default]
    #[serde(other)]
    Unknown,
}

/// What a timing of nothing shows, in ps. It is part of every duration and not subtracted from any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overhead {
    /// The cost of one clock read, amortised over thousands.
    pub mean_ps: u64,
    /// Median of what the clock itself shows.
    pub p50_ps: u64,
    /// 99th percentile of what the clock itself shows.
    pub p99_ps: u64,
}

/// A rank's clock against that of rank 0, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// What the rank's clock showed minus what that of rank 0 showed at the same moment.
    pub offset_ns: i64,
    /// The offset may be wrong by so much, either way: half of the fastest message there and back.
    pub uncertainty_ns: u64,
    /// The moment, on the clock of rank 0.
    pub at_ns: u64,
}
