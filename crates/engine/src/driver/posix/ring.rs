//! Hands calls to the kernel without waiting for them, through io_uring.
//!
//! One io_uring a thread. Every entry is submitted at once, so that the clock read before it is the
//! beginning of the call, and not of a batch.

use std::io;
use std::time::Duration;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, squeue};

/// A queue of calls under way.
pub struct Ring {
    ring: IoUring,
    probe: Probe,
}

impl Ring {
    /// A ring for `depth` calls at a time.
    ///
    /// # Errors
    /// Where the kernel has no io_uring, or refuses it (seccomp, `kernel.io_uring_disabled`, limits).
    pub fn new(depth: u32) -> io::Result<Self> {
        let ring = Self::build(depth.next_power_of_two())?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        Ok(Self { ring, probe })
    }

    /// Completions are handed over when this thread enters the kernel, or asks for them because the ring says that there
    /// are some: an interrupt of the thread for each would cost more than a small transfer. Kernels before 6.1 interrupt
    /// less or always.
    fn build(entries: u32) -> io::Result<IoUring> {
        let on_request = IoUring::builder()
            .dontfork()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .build(entries);
        let refused = |error: &io::Error| error.raw_os_error() == Some(libc::EINVAL);
        match on_request {
            Err(error) if refused(&error) => {}
            made => return made,
        }
        match IoUring::builder().dontfork().setup_coop_taskrun().setup_taskrun_flag().build(entries) {
            Err(error) if refused(&error) => IoUring::builder().dontfork().build(entries),
            made => made,
        }
    }

    /// Does this kernel know that operation (`opcode::Read::CODE` …)?
    pub fn offers(&self, code: u8) -> bool {
        self.probe.is_supported(code)
    }

    /// Hands one call to the kernel.
    ///
    /// # Safety
    /// Everything the entry points to stays where it is, and is not read or written by others, until
    /// its completion was taken.
    ///
    /// # Errors
    /// The errno where the kernel does not take it.
    #[inline]
    pub unsafe fn submit(&mut self, entry: &squeue::Entry) -> Result<(), i32> {
        // SAFETY: the caller's promise. At most `depth` entries are under way, so there is room.
        if unsafe { self.ring.submission().push(entry) }.is_err() {
            return Err(libc::EBUSY);
        }
        loop {
            match self.ring.submit() {
                Ok(_) => return Ok(()),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // No memory for the request just now.
                    Some(libc::EAGAIN) => std::thread::yield_now(),
                    errno => return Err(errno.unwrap_or(libc::EIO)),
                },
            }
        }
    }

    /// The next completion, if there is one: the entry's number and the call's result.
    #[inline]
    pub fn completed(&mut self) -> Option<(u64, i32)> {
        if let Some(entry) = self.ring.completion().next() {
            return Some((entry.user_data(), entry.result()));
        }
        if !self.ring.submission().taskrun() {
            return None;
        }
        // An error is no completion: the caller asks again.
        drop(self.ring.submit());
        self.ring.completion().next().map(|entry| (entry.user_data(), entry.result()))
    }

    /// Waits until there is a completion, a signal comes, or the time is over.
    pub fn wait(&mut self, most: Option<Duration>) {
        let time = most.map(Timespec::from);
        let mut arguments = SubmitArgs::new();
        if let Some(time) = &time {
            if !self.ring.params().is_feature_ext_arg() {
                // A kernel before 5.11 has no such wait.
                std::thread::sleep(most.unwrap_or_default().min(Duration::from_micros(50)));
                return;
            }
            arguments = arguments.timespec(time);
        }
        // An interrupted or expired wait is no error: the caller looks for completions anyway.
        drop(self.ring.submitter().submit_with_args(1, &arguments));
    }
}
