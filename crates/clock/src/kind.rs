//! Ways to read a clock.

use samples::ClockKind;
use serde::{Deserialize, Serialize};

use crate::read;

/// The instruction sequence or system call that reads a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `clock_gettime(CLOCK_MONOTONIC)`: ticks are nanoseconds.
    Monotonic,
    /// The processor's counter (x86-64 `rdtsc` between `lfence`s, aarch64 `cntvct_el0` between `isb`s).
    Tsc,
    /// `rdtsc` between `mfence`s, for processors whose `lfence` does not wait for earlier instructions.
    TscMfence,
}

impl Kind {
    /// Reads the clock, in its own ticks, after all earlier instructions have completed and before any later
    /// one starts.
    #[inline(always)]
    pub fn read(self) -> u64 {
        match self {
            Kind::Tsc => read::counter(),
            Kind::Monotonic => read::monotonic_ns(),
            Kind::TscMfence => read::counter_mfence(),
        }
    }

    /// Reads the clock just before or just after a system call, in its own ticks: after all earlier instructions have
    /// completed. Later ones are not waited for.
    #[inline(always)]
    pub fn read_at_call(self) -> u64 {
        match self {
            Kind::Tsc => read::counter_at_call(),
            Kind::Monotonic => read::monotonic_ns(),
            Kind::TscMfence => read::counter_at_call_mfence(),
        }
    }
}

/// A clock read chosen at compile time, so that a loop has no branch on [`Kind`] between two reads.
pub trait Source {
    /// Reads the clock, in ticks; see [`Kind::read`].
    fn read() -> u64;
}

/// [`Kind::Monotonic`] as a [`Source`].
#[derive(Debug)]
pub struct Monotonic;

/// [`Kind::Tsc`] as a [`Source`].
#[derive(Debug)]
pub struct Tsc;

/// [`Kind::TscMfence`] as a [`Source`].
#[derive(Debug)]
pub struct TscMfence;

impl Source for Monotonic {
    #[inline(always)]
    fn read() -> u64 {
        read::monotonic_ns()
    }
}

impl Source for Tsc {
    #[inline(always)]
    fn read() -> u64 {
        read::counter()
    }
}

impl Source for TscMfence {
    #[inline(always)]
    fn read() -> u64 {
        read::counter_mfence()
    }
}

impl From<Kind> for ClockKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Monotonic => ClockKind::Monotonic,
            Kind::Tsc => ClockKind::Tsc,
            Kind::TscMfence => ClockKind::TscMfence,
        }
    }
}
