//! Keeps the kernels that a rank uses, each built once.

use clock::Clock;

use crate::error::Error;
use crate::kernel::{Kernel, TimedOperation};
use crate::own_file::OwnFile;
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
    ready: Vec<Ready>,
}

/// A kernel that is built.
struct Ready {
    request: Request,
    kernel: Box<dyn Kernel>,
    /// Picoseconds that an operation took, the last time.
    each_ps: u64,
}

/// So long a kernel runs before somebody is asked whether to go on.
const SLICE_PS: u64 = 100_000_000_000;

impl Kernels {
    /// The number of kernels kept; the least recently used one is dropped first.
    const MOST: usize = 64;

    /// Whether the kernel of `request` is built.
    #[inline]
    pub fn is_ready(&self, request: &Request) -> bool {
        self.ready.iter().any(|known| known.request == *request)
    }

    /// Times `count` operations of a kernel; `None` if it is not built. Where they take longer than a moment, `is_over` is
    /// asked between whether to end; what is done until then is timed, and fails with ECANCELED.
    pub fn time(
        &mut self,
        clock: Clock,
        (request, count): (&Request, u32),
        is_over: impl Fn() -> bool,
    ) -> Option<KernelTiming> {
        let ready = self.ready.iter_mut().find(|known| known.request == *request)?;
        let kernel = &mut ready.kernel;
        let least = kernel.min_count();
        let batch = count.clamp(least, kernel.max_count()) / least * least;
        let slice = (SLICE_PS / ready.each_ps.max(1)).clamp(1, u64::from(u32::MAX)) as u32;
        let slice = (slice / least).max(1).saturating_mul(least);
        // Nearly all are done at once, as the last ones took no longer than a slice.
        let (mut timed, mut done) = (kernel.time(clock, batch.min(slice)), batch.min(slice));
        while done < batch && timed.errno == 0 {
            if is_over() {
                timed.errno = libc::ECANCELED;
                break;
            }
            let part = slice.min(batch - done);
            let next = kernel.time(clock, part);
            // What lies between two slices is not of the kernel.
            timed.begin = next.end - (next.end - next.begin) - (timed.end - timed.begin);
            (timed.end, timed.errno) = (next.end, next.errno);
            done += part;
        }
        ready.each_ps = clock.picoseconds(timed.begin, timed.end) / u64::from(done.max(1));
        let bytes = kernel.bytes_each().saturating_mul(u64::from(done));
        Some(KernelTiming { timed, batch: done, bytes, value: kernel.value() })
    }

    /// Drops the kernels that have a file: directories may lead elsewhere now.
    pub fn drop_files(&mut self) {
        self.ready.retain(|known| known.request.writes_in().is_none());
    }

    /// Builds a kernel on `file`, whose path [`Request::own_file`] gave, and runs one operation, so that its code
    /// and data are in memory; but none that starts a program, which may change anything.
    ///
    /// # Errors
    /// If it cannot be built: too little memory, or a file that cannot be opened.
    #[cold]
    pub fn build(&mut self, request: &Request, file: Option<OwnFile>, clock: Clock) -> Result<(), Error> {
        // What a kernel starts would inherit the processor of one that pins this thread.
        self.ready.retain(|known| !known.request.pins());
        // Only one working set is kept, to save memory.
        if request.holds_memory() {
            self.ready.retain(|known| !known.request.holds_memory());
        }
        if self.ready.len() >= Self::MOST {
            self.ready.remove(0);
        }
        let mut kernel = build_on(request, file)?;
        let least = kernel.min_count();
        let each_ps = match request {
            // Not known: one at a time.
            Request::Spawn { .. } => SLICE_PS,
            _ => {
                let first = kernel.time(clock, least);
                clock.picoseconds(first.begin, first.end) / u64::from(least.max(1))
            }
        };
        self.ready.push(Ready { request: request.clone(), kernel, each_ps });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(kernels: &mut Kernels, request: Request, count: u32) -> KernelTiming {
        let clock = Clock::monotonic();
        if !kernels.is_ready(&request) {
            let file = request.own_file().map(|path| OwnFile { path, held: None });
            kernels.build(&request, file, clock).expect("a kernel");
        }
        kernels.time(clock, (&request, count), || false).expect("it was built")
    }

    #[test]
    fn many_operations_end_between_two_when_it_is_over() {
        let (clock, mut kernels) = (Clock::monotonic(), Kernels::default());
        let request = Request::Chase { bytes: 4096, huge: false, seed: 1 };
        kernels.build(&request, None, clock).expect("a kernel");
        let asked = std::cell::Cell::new(0);
        let over = || asked.replace(asked.get() + 1) == 2;
        let count = u32::MAX / 4096 * 4096;
        let done = kernels.time(clock, (&request, count), over).expect("it was built");
        assert_eq!((done.timed.errno, asked.get()), (libc::ECANCELED, 3));
        assert!(done.batch < count && done.timed.end > done.timed.begin, "{done:?}");
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
    fn a_program_is_started_as_often_as_asked() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = format!("mkdir {}", folder.path().join("made").display());
        // A second start would fail.
        assert_eq!(timed(&mut Kernels::default(), Request::Spawn { program }, 1).value, 0);
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
