//! Defines a sample: one timed operation.

use serde::{Deserialize, Serialize};

/// One timed operation, at most 64 bytes.
///
/// The n-th sample of a site on a rank is its iteration. The cost of reading the clock is *not* subtracted;
/// it is in the facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Sample {
    /// Nanoseconds since the run's epoch, on this rank's monotonic clock.
    pub start_ns: u64,
    /// Duration in picoseconds, so that a cache hit does not round to zero.
    pub duration_ps: u64,
    /// Actual minus intended start under `rate`; 0 otherwise.
    pub late_ns: u64,
    /// Bytes as the call returned them, so that a short write is visible.
    pub bytes: u64,
    /// Run-queue wait inside a blocking call, if it was read; 0 otherwise.
    pub queue_ns: u64,
    /// Time inside the call off the processor and not runnable, in ns: waiting for a device, the network, a
    /// lock, another process. Recorded if context switches are; 0 otherwise, at most 4.29 s.
    pub blocked_ns: u32,
    /// Index into [`crate::Run::sites`].
    pub site: u32,
    /// Rank that did it.
    pub rank: u32,
    /// The positive errno of a failed operation, 0 of a successful one.
    pub errno: i32,
    /// Operations inside this timing: 1, except for kernels timed in batches.
    pub batch: u32,
    /// Processor it ended on; `u16::MAX` if unknown.
    pub cpu: u16,
    /// Observed causes of slowness, as [`crate::Causes`] bits.
    pub causes: u16,
}

const _: () = assert!(size_of::<Sample>() <= 64);

impl Sample {
    /// The duration in seconds.
    pub fn seconds(&self) -> f64 {
        self.duration_ps as f64 * 1e-12
    }

    /// The duration without its run-queue wait, in seconds: the estimate for an idle machine.
    pub fn corrected_seconds(&self) -> f64 {
        self.duration_ps.saturating_sub(self.queue_ns.saturating_mul(1000)) as f64 * 1e-12
    }

    /// The time of one operation in seconds; for a batch, the mean of its operations.
    pub fn seconds_each(&self) -> f64 {
        self.seconds() / f64::from(self.batch.max(1))
    }

    /// The time of one operation from its intended start under `rate`, in seconds; for a batch, how late the batch began
    /// and the mean of its operations.
    pub fn response_seconds_each(&self) -> f64 {
        self.seconds_each() + self.late_ns as f64 * 1e-9
    }

    /// The time of one operation without the run-queue wait, in seconds.
    pub fn corrected_seconds_each(&self) -> f64 {
        self.corrected_seconds() / f64::from(self.batch.max(1))
    }

    /// Whether the operation failed.
    pub fn failed(&self) -> bool {
        self.errno != 0
    }
}
