//! Compares what operations of an `async` block read, when they are done.

use samples::{Outcome, VerifiedFacts};

use super::layer::Layer;
use super::under_way::{AsyncJob, ToVerify};
use crate::content::{FileName, Wrong};

impl Layer {
    /// What a read from `offset` of this file is compared with when it is done; `all`: it reads up to the end.
    pub(super) fn to_verify(&self, (file, offset): (FileName, u64), all: bool) -> ToVerify {
        ToVerify { file, offset, all, least: self.catalogue.least(file) }
    }

    /// Compares what a job read, if it is to be compared and is in the memory of the job.
    pub(super) fn verify_job(&mut self, job: &AsyncJob, outcome: Outcome) -> Option<Wrong> {
        let ToVerify { file, offset, all, least } = job.verify?;
        let memory = job.memory.as_ref().filter(|_| matches!(outcome.errno, 0 | libc::ENODATA))?;
        // SAFETY: the read is done, and the memory is of this job alone.
        let found = unsafe { memory.bytes(outcome.value as usize) };
        self.compared = VerifiedFacts::default();
        let end = offset.saturating_add(outcome.value);
        // What was written since the read began may have come after it.
        let goes_on = least.min(self.catalogue.least(file)) > end;
        let ended = goes_on && (all || outcome.errno == libc::ENODATA);
        let differs = self.differs(file, (found, offset), None);
        let differs = differs.or_else(|| self.was_cut(file, (found, offset), ended.then_some(end)));
        if all {
            self.ends_there(file, end);
        }
        self.concluded(differs)
    }
}
