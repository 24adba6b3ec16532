//! Native kernels: memory accesses, system calls, processes and small file accesses, each timed as
//! single operations, in batches, or in blocks of about a millisecond.
//!
//! A kernel is a [`Probe`]: a loop of one kind of operation. [`Kernel::time`] reads the clock right
//! before and right after that loop, which is compiled for each probe on its own; the one virtual call
//! lies outside the two clock reads. [`build`] makes a kernel from a [`Request`], as a command of the
//! language states it; [`measure`] takes a whole measurement; [`tour`] climbs from L1 to the disk.
//!
//! ```
//! use probes::{Request, build};
//! let clock = clock::Clock::monotonic();
//! let mut chase = build(&Request::Chase { bytes: 16 << 10, huge: false, seed: 1 })?;
//! let timed = chase.time(clock, 1000);
//! assert_eq!(timed.errno, 0);
//! println!("{} ps a load", clock.picoseconds(timed.begin, timed.end) / 1000);
//! # Ok::<(), probes::Error>(())
//! ```

mod buffer;
mod cache;
mod calls;
mod disk;
mod measure;
mod memory;
mod noise;
mod processes;
mod tour;

use std::path::PathBuf;

use clock::{Clock, Kind, Monotonic, Source, Tsc, TscMfence};
pub use samples::random::Random;

pub use cache::{Done, Kernels};
pub use disk::{Access, FileAccess, Scratch};
pub use machine::affinity::{Pinned, allowed, pin, unpin};
pub use measure::{Measured, Observation, Settings, measure};
pub use memory::{LINE, Pass};
pub use noise::noise;
pub use tour::{Progress, RungObservations, Tour, tour};

/// Why a kernel cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// More memory than there is.
    #[error("{} of memory are wanted, but only {} are available; choose a smaller size",
        samples::units::bytes(*bytes), samples::units::bytes(*available))]
    NoMemory {
        /// What was asked for.
        bytes: u64,
        /// What there is.
        available: u64,
    },
    /// A path that no system call can take.
    #[error("the path {path:?} holds a zero byte")]
    Path {
        /// The path.
        path: String,
    },
    /// A file cannot be opened.
    #[error("{path} cannot be opened: {source}")]
    Open {
        /// The path.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// Another system call failed.
    #[error("{call} failed: {source}")]
    System {
        /// Its name.
        call: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

/// A loop of one kind of operation.
pub trait Probe {
    /// Prepares the next `count` operations, outside the timing.
    fn ready(&mut self, _count: u32) {}

    /// Does `count` operations; 0, or the errno of the one that failed.
    fn go(&mut self, count: u32) -> i32;

    /// Bytes that one operation moves.
    fn bytes_each(&self) -> u64 {
        0
    }

    /// The smallest number of operations it can do at once.
    fn least(&self) -> u32 {
        1
    }

    /// Reads the clock, does `count` operations, reads the clock. To be replaced only where even loading
    /// the probe's own fields would show.
    #[inline(always)]
    fn bracket<S: Source>(&mut self, count: u32) -> Timed
    where
        Self: Sized,
    {
        let begin = S::read();
        let errno = self.go(count);
        let end = S::read();
        Timed { begin, end, errno }
    }

    /// What the last operation gave: an exit status.
    fn value(&self) -> u64 {
        0
    }

    /// Do its operations consist of page faults? Then those are not recorded one by one.
    fn faults(&self) -> bool {
        false
    }

    /// The greatest number of operations it can do at once.
    fn most(&self) -> u32 {
        u32::MAX
    }
}

/// One timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The clock before, in ticks.
    pub begin: u64,
    /// The clock after, in ticks.
    pub end: u64,
    /// 0, or the errno of the operation that failed.
    pub errno: i32,
}

/// A probe that can be timed without knowing which it is.
pub trait Kernel: Probe {
    /// Times `count` operations, as one interval.
    fn time(&mut self, clock: Clock, count: u32) -> Timed;
}

impl<P: Probe> Kernel for P {
    #[inline(never)]
    fn time(&mut self, clock: Clock, count: u32) -> Timed {
        self.ready(count);
        match clock.kind() {
            Kind::Tsc => bracket::<P, Tsc>(self, count),
            Kind::Monotonic => bracket::<P, Monotonic>(self, count),
            Kind::TscMfence => bracket::<P, TscMfence>(self, count),
        }
    }
}

/// A single operation gets a bracket of its own, in which the compiler knows that it is one: the loop's
/// own branches would take as long as a load that hits L1. Both are functions of their own, or the
/// compiler would find that they begin alike and decide between them after the clock has been read.
fn bracket<P: Probe, S: Source>(probe: &mut P, count: u32) -> Timed {
    #[inline(never)]
    fn single<P: Probe, S: Source>(probe: &mut P) -> Timed {
        probe.bracket::<S>(1)
    }
    #[inline(never)]
    fn many<P: Probe, S: Source>(probe: &mut P, count: u32) -> Timed {
        probe.bracket::<S>(count)
    }
    if count == 1 { single::<P, S>(probe) } else { many::<P, S>(probe, count) }
}

/// A kernel as a program asks for it. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are sizes, wishes for huge pages, seeds and directories")]
pub enum Request {
    /// Nothing: what the clock itself shows.
    Empty,
    /// Dependent loads through a random cycle over `bytes`.
    Chase { bytes: u64, huge: bool, seed: u64 },
    /// Independent random reads and writes over `bytes`.
    Poke { bytes: u64, huge: bool, seed: u64 },
    /// One operation reads all of `bytes`.
    StreamRead { bytes: u64, huge: bool },
    /// One operation writes all of `bytes`.
    StreamWrite { bytes: u64, huge: bool },
    /// One operation copies one half of `bytes` onto the other.
    StreamCopy { bytes: u64, huge: bool },
    /// First touch of a page, over `bytes`.
    Touch { bytes: u64, huge: bool },
    /// `getpid`, as a raw system call.
    Getpid,
    /// `getpid`, through the C library.
    LibraryGetpid,
    /// `getppid`, as a raw system call.
    Getppid,
    /// `getppid`, through the C library.
    LibraryGetppid,
    /// Read one byte of `/dev/zero`.
    ReadNull,
    /// The same, as a raw system call.
    RawReadNull,
    /// Write one byte to `/dev/null`.
    WriteNull,
    /// The same, as a raw system call.
    RawWriteNull,
    /// `stat` of a file in `directory`.
    Stat { directory: PathBuf },
    /// `fstat` of an open file in `directory`.
    Fstat { directory: PathBuf },
    /// The same, as a raw system call.
    RawFstat { directory: PathBuf },
    /// `open` and `close` of a file in `directory`.
    OpenClose { directory: PathBuf },
    /// `fopen` and `fclose` of a file in `directory`.
    FopenFclose { directory: PathBuf },
    /// Create and delete a file in `directory`.
    CreateDelete { directory: PathBuf },
    /// `malloc` and `free` of `bytes`.
    MallocFree { bytes: u64 },
    /// `mmap`, touch, `munmap` of `bytes`.
    MmapMunmap { bytes: u64 },
    /// `fork`, `_exit`, `waitpid`, with `resident` more bytes of touched memory.
    Fork { resident: u64 },
    /// `posix_spawn` of a program (words separated by blanks) and `waitpid`.
    Spawn { program: String },
    /// `pthread_create` and `pthread_join`.
    Thread,
    /// A byte to another process and back, through pipes.
    PipePingpong,
    /// A switch between two processes on one processor.
    ContextSwitch,
}

/// Makes the kernel that `request` describes, with its memory touched and its files there.
pub fn build(request: &Request) -> Result<Box<dyn Kernel>, Error> {
    use calls::{Identity, Lookup, MallocFree, MmapMunmap, Names, Null};
    use memory::{Chase, Poke, Stream, Touch};
    use processes::{Fork, PingPong, Spawn, Thread};
    let small = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
    Ok(match request {
        Request::Empty => Box::new(calls::Empty),
        Request::Chase { bytes, huge, seed } => Box::new(Chase::new(*bytes, *huge, *seed)?),
        Request::Poke { bytes, huge, seed } => Box::new(Poke::new(*bytes, *huge, *seed)?),
        Request::StreamRead { bytes, huge } => Box::new(Stream::new(Pass::Read, *bytes, *huge)?),
        Request::StreamWrite { bytes, huge } => Box::new(Stream::new(Pass::Write, *bytes, *huge)?),
        Request::StreamCopy { bytes, huge } => Box::new(Stream::new(Pass::Copy, *bytes, *huge)?),
        Request::Touch { bytes, huge } => Box::new(Touch::new(*bytes, *huge)?),
        Request::Getpid => Box::new(Identity::Getpid),
        Request::LibraryGetpid => Box::new(Identity::LibraryGetpid),
        Request::Getppid => Box::new(Identity::Getppid),
        Request::LibraryGetppid => Box::new(Identity::LibraryGetppid),
        Request::ReadNull => Box::new(Null::new(false, false)?),
        Request::RawReadNull => Box::new(Null::new(false, true)?),
        Request::WriteNull => Box::new(Null::new(true, false)?),
        Request::RawWriteNull => Box::new(Null::new(true, true)?),
        Request::RawFstat { directory } => Box::new(Names::new(Lookup::RawFstat, directory)?),
        Request::Stat { directory } => Box::new(Names::new(Lookup::Stat, directory)?),
        Request::Fstat { directory } => Box::new(Names::new(Lookup::Fstat, directory)?),
        Request::OpenClose { directory } => Box::new(Names::new(Lookup::OpenClose, directory)?),
        Request::FopenFclose { directory } => Box::new(Names::new(Lookup::FopenFclose, directory)?),
        Request::CreateDelete { directory } => Box::new(Names::new(Lookup::CreateDelete, directory)?),
        Request::MallocFree { bytes } => Box::new(MallocFree { bytes: small(*bytes) }),
        Request::MmapMunmap { bytes } => Box::new(MmapMunmap { bytes: small(*bytes) }),
        Request::Fork { resident } => Box::new(Fork::new(*resident)?),
        Request::Spawn { program } => Box::new(Spawn::new(program)?),
        Request::Thread => Box::new(Thread),
        Request::PipePingpong => Box::new(PingPong::new(false)?),
        Request::ContextSwitch => Box::new(PingPong::new(true)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_can_be_built_and_timed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let directory = folder.path().to_path_buf();
        let clock = Clock::monotonic();
        for request in [
            Request::Empty,
            Request::Chase { bytes: 4096, huge: false, seed: 1 },
            Request::Poke { bytes: 4096, huge: true, seed: 1 },
            Request::StreamRead { bytes: 4096, huge: false },
            Request::StreamWrite { bytes: 4096, huge: false },
            Request::StreamCopy { bytes: 4096, huge: false },
            Request::Touch { bytes: 1 << 16, huge: false },
            Request::Getpid,
            Request::LibraryGetpid,
            Request::Getppid,
            Request::ReadNull,
            Request::WriteNull,
            Request::Stat { directory: directory.clone() },
            Request::Fstat { directory: directory.clone() },
            Request::OpenClose { directory: directory.clone() },
            Request::FopenFclose { directory: directory.clone() },
            Request::CreateDelete { directory },
            Request::MallocFree { bytes: 4 },
            Request::MmapMunmap { bytes: 4096 },
            Request::Fork { resident: 0 },
            Request::Spawn { program: "true".into() },
            Request::Thread,
            Request::PipePingpong,
            Request::ContextSwitch,
        ] {
            let mut kernel = build(&request).expect("a kernel");
            let timed = kernel.time(clock, 2);
            assert_eq!(timed.errno, 0, "{request:?}");
            assert!(timed.end >= timed.begin, "{request:?}");
        }
    }

    #[test]
    fn random_numbers_below_a_limit_reach_all_of_it_beyond_32_bits() {
        let mut random = Random::new(7);
        let limit = 10_000_000_000u64;
        let drawn: Vec<u64> = (0..10_000).map(|_| random.below(limit)).collect();
        assert!(drawn.iter().all(|n| *n < limit));
        let tenths = drawn.iter().fold([0u32; 10], |mut counts, n| {
            counts[(n * 10 / limit) as usize] += 1;
            counts
        });
        assert!(tenths.iter().all(|count| (850..1150).contains(count)), "{tenths:?}");
    }
}
