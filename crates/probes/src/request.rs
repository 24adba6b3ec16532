//! Builds the kernel that a command of the language requests.

use std::path::{Path, PathBuf};

use crate::calls::{self, CreateDeleteNames, Identity, Lookup, MallocFree, MmapMunmap, Null};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::loaded::{LoadedChase, NodeChase};
use crate::memory::{Chase, MemoryStream, Pass, Poke, Touch};
use crate::net::{NetPingPong, Transport};
use crate::own_file::{OwnFile, own_file};
use crate::processes::{Fork, PingPong, Spawn, Thread};
use crate::sharing::{AtomicKind, AtomicWord, CorePingPong, MutexHandover, SelfSignal};

/// A kernel as a program requests it. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are sizes, the use of huge pages, seeds and directories")]
pub enum Request {
    /// No operation: the cost of the clock itself.
    Empty,
    /// Dependent loads through a random cycle over `bytes`.
    Chase { bytes: u64, huge: bool, seed: u64 },
    /// Independent random reads and writes over `bytes`.
    Poke { bytes: u64, huge: bool, seed: u64 },
    /// Dependent loads, each in another page of `bytes`.
    PageChase { bytes: u64, huge: bool, seed: u64 },
    /// Dependent loads over `bytes` while `loaders` threads read other memory.
    LoadedChase { bytes: u64, loaders: u32, seed: u64 },
    /// Dependent loads over `bytes` on the NUMA node `to`, by a processor of the node `from`.
    NodeChase { bytes: u64, from: u32, to: u32, seed: u64 },
    /// One operation passes over all of `bytes`.
    Stream { pass: Pass, bytes: u64, huge: bool },
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
    /// As the variant above, as a raw system call.
    RawReadNull,
    /// Write one byte to `/dev/null`.
    WriteNull,
    /// As the variant above, as a raw system call.
    RawWriteNull,
    /// `stat` of a file in `directory`.
    Stat { directory: PathBuf },
    /// `fstat` of an open file in `directory`.
    Fstat { directory: PathBuf },
    /// As the variant above, as a raw system call.
    RawFstat { directory: PathBuf },
    /// `open` and `close` of a file in `directory`.
    OpenClose { directory: PathBuf },
    /// `fopen` and `fclose` of a file in `directory`.
    FopenFclose { directory: PathBuf },
    /// Create and delete a file in `directory`, opened with O_SYNC if `sync`.
    CreateDelete { directory: PathBuf, sync: bool },
    /// Calls of a function, each of which waits for the one before.
    FunctionCall,
    /// `malloc` and `free` of `bytes`.
    MallocFree { bytes: u64 },
    /// `mmap`, touch, `munmap` of `bytes`.
    MmapMunmap { bytes: u64 },
    /// `fork`, `_exit`, `waitpid`, with `resident` extra bytes of touched memory.
    Fork { resident: u64 },
    /// `posix_spawn` of a program (words separated by blanks) and `waitpid`.
    Spawn { program: String },
    /// `pthread_create` and `pthread_join`.
    Thread,
    /// A byte to another process and back, through pipes.
    PipePingpong,
    /// A switch between two processes on one processor.
    ContextSwitch,
    /// A cache line from one processor to another.
    CorePingpong { first: u32, second: u32 },
    /// An atomic operation on a word that `others` threads use as well.
    Atomic { kind: AtomicKind, others: u32 },
    /// A lock that a sleeping thread is handed.
    MutexHandover,
    /// A signal to itself, with its handler.
    Signal,
    /// `bytes` to an echo at `address` and back.
    NetPingpong { transport: Transport, address: String, bytes: u64 },
}

/// Builds the kernel of `request`, with its memory touched and its file created.
pub fn build(request: &Request) -> Result<Box<dyn Kernel>, Error> {
    build_on(request, request.own_file().map(|path| OwnFile { path, held: None }))
}

/// As [`build`], with the file that [`Request::own_file`] gave.
pub(crate) fn build_on(request: &Request, file: Option<OwnFile>) -> Result<Box<dyn Kernel>, Error> {
    let mut file = file.unwrap_or_default();
    let mut names = |what| CreateDeleteNames::new(what, std::mem::take(&mut file));
    let small = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
    Ok(match request {
        Request::Empty => Box::new(calls::Empty),
        Request::Chase { bytes, huge, seed } => Box::new(Chase::new(*bytes, *huge, *seed)?),
        Request::Poke { bytes, huge, seed } => Box::new(Poke::new(*bytes, *huge, *seed)?),
        Request::PageChase { bytes, huge, seed } => Box::new(Chase::pages(*bytes, *huge, *seed)?),
        Request::LoadedChase { bytes, loaders, seed } => Box::new(LoadedChase::new(*bytes, *loaders, *seed)?),
        Request::NodeChase { bytes, from, to, seed } => Box::new(NodeChase::new(*bytes, *from, *to, *seed)?),
        Request::Stream { pass, bytes, huge } => Box::new(MemoryStream::new(*pass, *bytes, *huge)?),
        Request::Touch { bytes, huge } => Box::new(Touch::new(*bytes, *huge)?),
        Request::Getpid => Box::new(Identity::Getpid),
        Request::LibraryGetpid => Box::new(Identity::LibraryGetpid),
        Request::Getppid => Box::new(Identity::Getppid),
        Request::LibraryGetppid => Box::new(Identity::LibraryGetppid),
        Request::ReadNull => Box::new(Null::new(false, false)?),
        Request::RawReadNull => Box::new(Null::new(false, true)?),
        Request::WriteNull => Box::new(Null::new(true, false)?),
        Request::RawWriteNull => Box::new(Null::new(true, true)?),
        Request::RawFstat { .. } => Box::new(names(Lookup::RawFstat)?),
        Request::Stat { .. } => Box::new(names(Lookup::Stat)?),
        Request::Fstat { .. } => Box::new(names(Lookup::Fstat)?),
        Request::OpenClose { .. } => Box::new(names(Lookup::OpenClose)?),
        Request::FopenFclose { .. } => Box::new(names(Lookup::FopenFclose)?),
        Request::CreateDelete { sync, .. } => Box::new(names(Lookup::CreateDelete { sync: *sync })?),
        Request::FunctionCall => Box::new(calls::FunctionCall),
        Request::MallocFree { bytes } => Box::new(MallocFree { bytes: small(*bytes) }),
        Request::MmapMunmap { bytes } => Box::new(MmapMunmap { bytes: small(*bytes) }),
        Request::Fork { resident } => Box::new(Fork::new(*resident)?),
        Request::Spawn { program } => Box::new(Spawn::new(program)?),
        Request::Thread => Box::new(Thread),
        Request::PipePingpong => Box::new(PingPong::new(false)?),
        Request::ContextSwitch => Box::new(PingPong::new(true)?),
        Request::CorePingpong { first, second } => Box::new(CorePingPong::new(*first, *second)?),
        Request::Atomic { kind, others } => Box::new(AtomicWord::new(*kind, *others)?),
        Request::MutexHandover => Box::new(MutexHandover::new()?),
        Request::Signal => Box::new(SelfSignal::new()?),
        Request::NetPingpong { transport, address, bytes } => {
            Box::new(NetPingPong::new(*transport, address, *bytes)?)
        }
    })
}

impl Request {
    /// The directory in which the kernel creates a file, if it does.
    pub fn writes_in(&self) -> Option<&Path> {
        match self {
            Self::Stat { directory }
            | Self::Fstat { directory }
            | Self::RawFstat { directory }
            | Self::OpenClose { directory }
            | Self::FopenFclose { directory }
            | Self::CreateDelete { directory, .. } => Some(directory),
            _ => None,
        }
    }

    /// A new unique name for the file that the kernel creates, if it does.
    pub fn own_file(&self) -> Option<PathBuf> {
        self.writes_in().map(|directory| own_file(directory, "names"))
    }

    /// Whether it measures page faults.
    pub fn faults(&self) -> bool {
        matches!(self, Self::Touch { .. } | Self::MmapMunmap { .. } | Self::Fork { .. })
    }

    /// Whether it keeps the thread on one processor while it exists.
    pub(crate) fn pins(&self) -> bool {
        matches!(self, Self::ContextSwitch | Self::CorePingpong { .. } | Self::NodeChase { .. })
    }

    /// The address that it connects to, if it does.
    pub fn connects_to(&self) -> Option<&str> {
        match self {
            Self::NetPingpong { address, .. } => Some(address),
            _ => None,
        }
    }

    /// Whether it holds a working set, more than about a page of memory.
    pub(crate) fn holds_memory(&self) -> bool {
        matches!(
            self,
            Self::Chase { .. }
                | Self::Poke { .. }
                | Self::PageChase { .. }
                | Self::LoadedChase { .. }
                | Self::NodeChase { .. }
                | Self::Stream { .. }
                | Self::Touch { .. }
                | Self::Fork { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use clock::Clock;

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
            Request::PageChase { bytes: 1 << 16, huge: false, seed: 1 },
            Request::LoadedChase { bytes: 1 << 16, loaders: 1, seed: 1 },
            Request::Stream { pass: Pass::Read, bytes: 4096, huge: false },
            Request::Stream { pass: Pass::Write, bytes: 4096, huge: false },
            Request::Stream { pass: Pass::Copy, bytes: 4096, huge: false },
            Request::Stream { pass: Pass::Triad, bytes: 4096, huge: false },
            Request::Atomic { kind: AtomicKind::Add, others: 1 },
            Request::MutexHandover,
            Request::Signal,
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
            Request::CreateDelete { directory: directory.clone(), sync: false },
            Request::CreateDelete { directory, sync: true },
            Request::FunctionCall,
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
}
