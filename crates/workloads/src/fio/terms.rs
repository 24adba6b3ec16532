//! The numbers of a job in a program.

use super::job::Job;
use crate::quantity::{bytes_literal, time_literal};

/// The numbers of a job as expressions of the language: names of parameters, or literals.
pub(super) struct Terms {
    /// Bytes of one file that are used.
    pub size: String,
    pub block: String,
    pub depth: String,
    pub time: String,
    pub ramp: String,
    pub rate: String,
    /// Which of the job's processes this is.
    pub process: String,
}

impl Terms {
    /// Every number where it stands.
    pub fn literal(job: &Job, region: u64, process: &str) -> Self {
        Self {
            size: bytes_literal(region),
            block: bytes_literal(job.sizes.least()),
            depth: job.in_flight().to_string(),
            time: time_literal(job.time.unwrap_or(0)),
            ramp: time_literal(job.ramp.unwrap_or(0)),
            rate: job.operations_a_second().unwrap_or(0).to_string(),
            process: process.to_owned(),
        }
    }

    /// To what random accesses are aligned.
    pub fn unit(&self, job: &Job) -> String {
        job.align.map_or_else(|| self.block.clone(), bytes_literal)
    }

    /// Parameters of the same names.
    pub fn parameters() -> Self {
        Self {
            size: "$size".into(),
            block: "$bs".into(),
            depth: "$depth".into(),
            time: "$time".into(),
            ramp: "$ramp".into(),
            rate: "$rate".into(),
            process: "$$rank".into(),
        }
    }
}
