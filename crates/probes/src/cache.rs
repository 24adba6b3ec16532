//! Keeps the kernels that a rank uses, each built once.

use std::path::PathBuf;

use clock::Clock;

use crate::error::Error;
use crate::kernel::{Kernel, TimedOperation};
use crate::request::{Request, build_on};

/// The result of timing a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTiming {
    /// The two readings of the clock, and the errno.
    pub timed: TimedOperation,
    /// Operations between the readings: the requested number, rounded to what the kernel can do at once.
    pub batch: u32,
    /// Bytes that they moved.
    pub bytes: u64,
    /// The value of the last operation: an exit status.
    pub value: u64,
}

/// The kernels that a rank uses, so that a loop that repeats a kernel builds its working set once.
#[derive(Default)]
pub struct Kernels {
    ready: Vec<(Request, Box<dyn Kernel>)>,
}

impl Kernels {
    /// The number of kernels kept; the least recently used one is dropped first.
    const MOST: usize = 64;

    /// Whether the kernel of `request` is built.
    #[inline]
    pub fn is_ready(&self, request: &Request) -> bool {
        self.ready.iter().any(|(known, _)| known == request)
    }

    /// Times `count` operations of a kernel; `None` if it is not built.
    pub fn time(&mut self, clock: Clock, request: &Request, count: u32) -> Option<KernelTiming> {
        let (_, kernel) = self.ready.iter_mut().find(|(known, _)| known == request)?;
        let least = kernel.min_count();
        let batch = count.clamp(least, kernel.max_count()) / least * least;
        let timed = kernel.time(clock, batch);
        let bytes = kernel.bytes_each().saturating_mul(u64::from(batch));
        Some(KernelTiming { timed, batch, bytes, value: kernel.value() })
    }

    /// Builds a kernel on `file`, which [`Request::own_file`] gave, and runs one operation, so that its code
    /// and data are in memory.
    ///
    /// # Errors
    /// If it cannot be built: too little memory, or a file that cannot be opened.
    #[cold]
    pub fn build(&mut self, request: &Request, file: Option<PathBuf>, clock: Clock) -> Result<(), Error> {
        // What a kernel starts would inherit the processor of one that pins this thread.
        self.ready.retain(|(known, _)| !known.pins());
        // Only one working set is kept, to save memory.
        if request.holds_memory() {
            self.ready.retain(|(known, _)| !known.holds_memory());
        }
        if self.ready.len() >= Self::MOST {
            self.ready.remove(0);
        }
        let mut kernel = build_on(request, file)?;
        let least = kernel.min_count();
        kernel.time(clock, least);
        self.ready.push((request.clone(), kernel));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(kernels: &mut Kernels, request: Request, count: u32) -> KernelTiming {
        let clock = Clock::monotonic();
        if !kernels.is_ready(&request) {
            kernels.build(&request, request.own_file(), clock).expect("a kernel");
        }
        kernels.time(clock, &request, count).expect("it was built")
    }

    #[test]
    fn one_working_set_makes_room_for_the_next() {
        let mut kernels = Kernels::default();
        let chase = |bytes| Request::Chase { bytes, huge: false, seed: 1 };
        for request in [chase(4096), Request::Getpid, chase(8192)] {
            let done = timed(&mut kernels, request, 10);
            assert_eq!((done.batch, done.timed.errno), (10, 0));
        }
        assert!(!kernels.is_ready(&chase(4096)));
        assert!(kernels.is_ready(&chase(8192)) && kernels.is_ready(&Request::Getpid));
    }

    #[test]
    fn switches_come_in_pairs_and_streams_count_bytes() {
        let mut kernels = Kernels::default();
        assert_eq!(timed(&mut kernels, Request::ContextSwitch, 5).batch, 4);
        let stream = Request::Stream { pass: crate::memory::Pass::Read, bytes: 4096, huge: false };
        assert_eq!(timed(&mut kernels, stream, 3).bytes, 3 * 4096);
        assert_eq!(timed(&mut kernels, Request::Spawn { program: "false".into() }, 1).value, 1);
    }
}
