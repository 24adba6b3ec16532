//! How are operations done for real?
//!
//! `transfer` moves bytes, `names` opens, makes, changes and removes what has a name, `perform` says
//! which call is which.

mod flight;
mod names;
mod perform;
mod transfer;
mod worker;

pub use worker::Seed;

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::sync::Arc;

use samples::Warning;

use super::backend::{Backend, Call, Collective, Completed, Meaning, NoKernel, Patience, Started, Timed};
use super::parallel;
use super::parallel::HintBook;
use crate::files::{Confinement, Refusal, Registry, SharedRegistry};
use crate::ops::buffers::{Buffer, Scratch};
use crate::ops::collective::Parallel;
use clock::Clock;
use perf::Watch;
use probes::{Kernels, Request};
use ranks::{Comm, CommError, StopFlag};
use samples::Outcome;

use crate::ops::posix;
use samples::HintsOfFile;

/// Waits shorter than this are spun: a sleep takes about as long to end.
const SPIN_NS: u64 = 60_000;

/// Operations by system calls of this machine.
pub struct Posix {
    pub(super) clock: Clock,
    seed: u64,
    pub(super) files: Vec<Option<OpenFile>>,
    pub(super) free: Vec<u32>,
    buffers: Vec<Option<Arc<Buffer>>>,
    pub(super) scratch: Scratch,
    pub(super) registry: SharedRegistry,
    pub(super) confinement: Confinement,
    notes: Vec<Warning>,
    /// Offset and length of what was read last into our own memory.
    last_read: (u64, u64),
    pub(super) verifying: bool,
    /// Of a parallel read that was compared: where it was wrong, if it was.
    pub(super) wrong: Option<Option<u64>>,
    pub(super) hints: HintBook,
    watch: RefCell<Option<Watch>>,
    kernels: Kernels,
    pub(super) stop: StopFlag,
    /// What is under way in an `async` block.
    flights: Option<Box<flight::Flights>>,
}

pub(super) struct OpenFile {
    /// -1 for a file of a whole group.
    fd: i32,
    path: CString,
    position: u64,
    /// The kernel's position is another one: transfers under way name theirs.
    moved: bool,
    /// Other workers have it open too: each keeps its own position.
    shared: bool,
    pub(super) parallel: Option<Parallel>,
}

impl OpenFile {
    /// A file that a group opened together.
    pub(super) fn of_group(path: &CStr, parallel: Parallel) -> Self {
        Self {
            fd: -1,
            path: path.to_owned(),
            position: 0,
            moved: false,
            shared: false,
            parallel: Some(parallel),
        }
    }
}

impl Posix {
    /// A back end with no file open.
    pub fn new(clock: Clock, seed: u64, registry: Registry, confinement: Confinement) -> Self {
        Self::with_registry(clock, seed, SharedRegistry::new(registry), confinement)
    }

    fn with_registry(clock: Clock, seed: u64, registry: SharedRegistry, confinement: Confinement) -> Self {
        Self {
            clock,
            seed,
            files: Vec::new(),
            free: Vec::new(),
            buffers: Vec::new(),
            scratch: Scratch::new(seed),
            registry,
            confinement,
            notes: Vec::new(),
            last_read: (0, 0),
            verifying: false,
            wrong: None,
            hints: HintBook::default(),
            watch: RefCell::new(None),
            kernels: Kernels::default(),
            stop: StopFlag::default(),
            flights: None,
        }
    }

    /// The two clock reads, and nothing but the call between them.
    #[inline(always)]
    pub(super) fn time(&self, meaning: Meaning, call: impl FnOnce() -> Outcome) -> Timed {
        self.watched(|clock| {
            let begin = clock.now();
            let outcome = call();
            let end = clock.now();
            Timed { begin, end, outcome, meaning, ..Timed::default() }
        })
    }

    /// Looks for causes just outside the two clock reads.
    #[inline(always)]
    fn watched(&self, timing: impl FnOnce(Clock) -> Timed) -> Timed {
        let mut watch = self.watch.borrow_mut();
        if let Some(watch) = watch.as_mut() {
            watch.before();
        }
        // At one place only, so that it is inlined: a result that is handed back through memory costs more
        // than a clock read.
        let timed = timing(self.clock);
        let seen = match watch.as_mut() {
            Some(watch) => watch.after(),
            None => timed.seen,
        };
        Timed { seen, ..timed }
    }

    pub(super) fn failed(&self, errno: i32) -> Timed {
        let now = self.clock.now();
        Timed { begin: now, end: now, outcome: Outcome::error(errno), ..Timed::default() }
    }

    /// Operations of many system calls end early once `flag` says so.
    pub fn heed(&mut self, flag: StopFlag) {
        self.stop = flag;
    }

    /// Looks for the causes of slow operations from now on.
    pub fn look_for_causes(&mut self) {
        self.watch = RefCell::new(Some(Watch::of_this_thread()));
    }

    fn file(&self, number: u32) -> Option<&OpenFile> {
        self.files.get(number as usize).and_then(Option::as_ref)
    }

    fn advance(&mut self, file: u32, position: u64) {
        if let Some(Some(file)) = self.files.get_mut(file as usize) {
            file.position = position;
        }
    }

    pub(super) fn keep(&mut self, open: OpenFile) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.files[number as usize] = Some(open);
                number
            }
            None => {
                self.files.push(Some(open));
                self.files.len() as u32 - 1
            }
        }
    }
}

impl Backend for Posix {
    type Seed = Seed;

    fn seed(&mut self) -> Option<Seed> {
        Some(self.seed_of_worker())
    }

    fn grow(seed: Seed) -> Self {
        Self::of_worker(seed)
    }

    fn turn_back(&mut self, _ticks: u64) {}

    fn joined(&mut self) {
        self.back_alone();
    }

    fn name(&self) -> &'static str {
        "posix"
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    #[inline(always)]
    fn since_epoch_ns(&self, ticks: u64) -> u64 {
        self.clock.since_epoch_ns(ticks)
    }

    #[inline(always)]
    fn picoseconds(&self, begin: u64, end: u64) -> u64 {
        self.clock.picoseconds(begin, end)
    }

    fn ticks(&self, ns: u64) -> u64 {
        self.clock.ns_to_ticks(ns)
    }

    fn wait_until(&mut self, ticks: u64, comm: &dyn Comm) {
        loop {
            let now = self.clock.now();
            if now >= ticks || comm.stopped().is_some() {
                return;
            }
            let left_ns = self.clock.picoseconds(now, ticks) / 1000;
            if left_ns <= SPIN_NS {
                std::hint::spin_loop();
                continue;
            }
            // Short enough that a request to stop is seen soon, whoever takes the signal.
            let nap = (left_ns - SPIN_NS).min(100_000_000);
            let time = libc::timespec { tv_sec: 0, tv_nsec: nap as libc::c_long };
            // SAFETY: `time` is valid to read; an early return is handled by the loop.
            unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
        }
    }

    fn barrier(&mut self, comm: &dyn Comm) -> Result<(u64, u64), CommError> {
        let begin = self.clock.now();
        comm.barrier(0)?;
        Ok((begin, self.clock.now()))
    }

    #[inline(always)]
    fn perform(&mut self, _operation: &str, call: Call<'_>) -> Result<Timed, Refusal> {
        match call {
            Call::Write { file, length, offset, buffer } => Ok(self.write(file, length, offset, buffer)),
            Call::Read { file, length, offset, buffer } => Ok(self.read(file, length, offset, buffer)),
            Call::Stat { path } => self.reading(path, Meaning::Value, posix::stat),
            other => self.perform_other(other),
        }
    }

    fn together(
        &mut self,
        _operation: &str,
        what: Collective<'_>,
        comm: &dyn Comm,
    ) -> Result<Timed, Refusal> {
        parallel::together(self, what, comm)
    }

    fn kernel(&mut self, _operation: &str, request: Request, count: u32) -> Result<Timed, NoKernel> {
        if !self.kernels.is_ready(&request) {
            self.may_use(&request).map_err(NoKernel::Refused)?;
            self.kernels.build(&request, self.clock).map_err(NoKernel::Failed)?;
        }
        let mut watch = self.watch.borrow_mut();
        if let Some(watch) = watch.as_mut() {
            watch.measure_faults(request.faults());
            watch.before();
        }
        let Some(done) = self.kernels.time(self.clock, &request, count) else {
            return Ok(self.failed(libc::ENOSYS));
        };
        let seen = watch.as_mut().map(Watch::after).unwrap_or_default();
        let (begin, end) = (done.timed.begin, done.timed.end);
        // The value of a kernel that moves nothing is what its last operation gave.
        let (value, meaning) = match done.bytes {
            0 => (done.value, Meaning::Value),
            bytes => (bytes, Meaning::Bytes),
        };
        let outcome = Outcome { value, errno: done.timed.errno, ..Outcome::default() };
        Ok(Timed { begin, end, outcome, meaning, seen, batch: done.batch })
    }

    fn begin_async(&mut self, depth: u32) -> Option<Warning> {
        let why = self.begin_flights(depth).err()?;
        Some(Warning {
            code: "async-one-by-one".into(),
            text: format!(
                "operations of `async depth={depth}` were done one after the other: the kernel refuses \
                 io_uring ({why})"
            ),
            advice: "take their durations as those of a depth of 1, or allow io_uring \
                     (kernel.io_uring_disabled, the container's seccomp profile)"
                .into(),
        })
    }

    fn start(
        &mut self,
        number: u32,
        _operation: &str,
        call: Call<'_>,
        verify: bool,
    ) -> Result<Started, Refusal> {
        self.start_flight(number, call, verify)
    }

    fn completed(&mut self, patience: Patience) -> Option<Completed> {
        self.next_landed(patience)
    }

    fn all_completed(&mut self) {
        self.land();
    }

    fn end_async(&mut self) {
        self.end_flights();
    }

    fn sight(&self) -> Option<samples::Coverage> {
        self.watch.borrow().as_ref().map(|watch| watch.coverage().clone())
    }

    fn verify(&mut self) -> Option<u64> {
        if let Some(found) = self.wrong.take() {
            return found;
        }
        let (offset, length) = std::mem::take(&mut self.last_read);
        self.scratch.verify(offset, length as usize).ok().flatten().map(|at| offset + at as u64)
    }

    fn set_hints(&mut self, hints: &[(String, String)]) {
        self.hints.asked = hints.to_vec();
    }

    fn take_hints(&mut self) -> Vec<HintsOfFile> {
        self.hints.take_used()
    }

    fn set_verifying(&mut self) {
        self.verifying = true;
    }

    fn buffer_length(&self, buffer: u32) -> u64 {
        self.buffers.get(buffer as usize).and_then(Option::as_ref).map_or(0, |own| own.length() as u64)
    }

    fn path_of(&self, file: u32) -> Option<&CStr> {
        self.file(file).map(|open| open.path.as_c_str())
    }

    fn take_notes(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.notes)
    }

    #[inline(always)]
    fn processor(&self) -> u16 {
        // SAFETY: a plain call; it reads thread-local memory where the kernel keeps the number there.
        u16::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(u16::MAX)
    }
}

impl Drop for Posix {
    fn drop(&mut self) {
        // Waits for what is under way.
        self.flights = None;
        for open in self.files.iter().flatten().filter(|open| open.fd >= 0) {
            posix::close(open.fd);
        }
    }
}
