//! The operations that io_uring has under way: a chain of one or several calls each.

use std::time::Duration;

use samples::Outcome;

use super::chain::{CallChain, Next};
use super::ring::Ring;
use crate::driver::submission::Submission;

/// CallChains by number, and the ring that carries their calls.
pub(super) struct CallChains {
    ring: Ring,
    jobs: Vec<CallChain>,
    under_way: u32,
    /// Distinguishes a completion from one of an earlier job with the same number.
    generation: u32,
    /// The kernel did not take a call: no further job is begun.
    broken: bool,
}

impl CallChains {
    pub(super) fn new(depth: u32) -> std::io::Result<Self> {
        let jobs = (0..depth).map(|_| CallChain::default()).collect();
        Ok(Self { ring: Ring::new(depth)?, jobs, under_way: 0, generation: 0, broken: false })
    }

    /// Can it be used again for this depth?
    pub(super) fn serves(&self, depth: u32) -> bool {
        self.jobs.len() == depth as usize && !self.broken
    }

    pub(super) fn prepare(&mut self, number: u32, submission: Submission<'_>) -> bool {
        let Some(job) = self.jobs.get_mut(number as usize) else { return false };
        job.set(submission);
        !self.broken && self.ring.offers(job.code())
    }

    /// # Safety
    /// As [`crate::driver::Driver::submit`].
    #[inline]
    pub(super) unsafe fn submit(&mut self, number: u32) -> Result<(), i32> {
        let Some(job) = self.jobs.get_mut(number as usize) else { return Err(libc::EINVAL) };
        self.generation = self.generation.wrapping_add(1);
        job.tag = u64::from(self.generation) << 32 | u64::from(number);
        let entry = job.entry();
        // SAFETY: paths and results are allocations of the job, which stays in `jobs`, whose length never changes;
        // the memory of a transfer is the caller's promise.
        match unsafe { self.ring.submit(&entry) } {
            Ok(()) => {
                job.under_way = true;
                self.under_way += 1;
                Ok(())
            }
            Err(errno) => {
                // Memory that the entry points to must not move: the entry may still be in the queue.
                self.broken = true;
                Err(errno)
            }
        }
    }

    /// The next job that is done; on the way the next calls of others are submitted.
    #[inline]
    pub(super) fn completed(&mut self) -> Option<(u32, Outcome)> {
        while let Some((tag, result)) = self.ring.completed() {
            let number = tag as u32;
            let Some(job) = self.jobs.get_mut(number as usize) else { continue };
            if job.tag != tag || !job.under_way {
                continue;
            }
            if job.step(result) == Next::Call {
                let entry = job.entry();
                // SAFETY: as for the job's first call.
                match unsafe { self.ring.submit(&entry) } {
                    Ok(()) => continue,
                    Err(errno) => {
                        self.broken = true;
                        job.outcome.errno = errno;
                    }
                }
            }
            job.under_way = false;
            self.under_way -= 1;
            return Some((number, job.outcome));
        }
        None
    }

    pub(super) fn wait(&mut self, most: Option<Duration>) {
        self.ring.wait(most);
    }
}

impl Drop for CallChains {
    /// Waits: what the kernel may still write to is not given back before it is done.
    fn drop(&mut self) {
        while self.under_way > 0 {
            while self.completed().is_some() {}
            if self.under_way > 0 {
                self.ring.wait(None);
            }
        }
    }
}
