//! Which kernel does a command of the language ask for, and how many operations at once?

use std::path::{Path, PathBuf};

use ppl::commands::Command;
use ppl::interpret::Arguments;

use super::{Error, Kernel, Request, Timed, build};
use crate::clock::Clock;

impl Request {
    /// The kernel that `command` asks for, and the operations in one sample; `None` of a command that is
    /// no kernel. The seed gives the order of memory accesses.
    pub fn of_command(command: Command, arguments: &Arguments, seed: u64) -> Option<(Self, u32)> {
        let bytes = |index: usize| arguments.size(index, 0);
        let count = |index: usize, otherwise: u64| {
            u32::try_from(arguments.size(index, otherwise)).unwrap_or(u32::MAX).max(1)
        };
        let huge = |index: usize| arguments.text(index) == "huge";
        let directory = || PathBuf::from(arguments.text(0));
        let unknown = |at| !matches!(arguments.text(at), "" | "raw" | "libc");
        Some(match command {
            Command::Getpid | Command::Getppid | Command::ReadNull | Command::WriteNull if unknown(1) => {
                return None;
            }
            Command::Fstat if unknown(2) => return None,
            Command::Empty => (Self::Empty, 1),
            Command::Chase => (Self::Chase { bytes: bytes(0), huge: huge(2), seed }, count(1, 1000)),
            Command::Poke => (Self::Poke { bytes: bytes(0), huge: huge(2), seed }, count(1, 1000)),
            Command::Stream => {
                let (bytes, huge) = (bytes(1), huge(3));
                let request = match arguments.text(0) {
                    "read" => Self::StreamRead { bytes, huge },
                    "write" => Self::StreamWrite { bytes, huge },
                    "copy" => Self::StreamCopy { bytes, huge },
                    _ => return None,
                };
                (request, count(2, 1))
            }
            Command::Touch => (Self::Touch { bytes: bytes(0), huge: huge(2) }, count(1, 1)),
            Command::Getpid if arguments.text(1) == "libc" => (Self::LibraryGetpid, count(0, 1)),
            Command::Getpid => (Self::Getpid, count(0, 1)),
            Command::Getppid if arguments.text(1) == "libc" => (Self::LibraryGetppid, count(0, 1)),
            Command::Getppid => (Self::Getppid, count(0, 1)),
            Command::ReadNull if arguments.text(1) == "raw" => (Self::RawReadNull, count(0, 1)),
            Command::ReadNull => (Self::ReadNull, count(0, 1)),
            Command::WriteNull if arguments.text(1) == "raw" => (Self::RawWriteNull, count(0, 1)),
            Command::WriteNull => (Self::WriteNull, count(0, 1)),
            Command::Fstat if arguments.text(2) == "raw" => {
                (Self::RawFstat { directory: directory() }, count(1, 1))
            }
            Command::Fstat => (Self::Fstat { directory: directory() }, count(1, 1)),
            Command::OpenClose => (Self::OpenClose { directory: directory() }, count(1, 1)),
            Command::FopenFclose => (Self::FopenFclose { directory: directory() }, count(1, 1)),
            Command::CreateDelete => (Self::CreateDelete { directory: directory() }, count(1, 1)),
            Command::Malloc => (Self::MallocFree { bytes: bytes(0) }, count(1, 1)),
            Command::MmapMunmap => (Self::MmapMunmap { bytes: bytes(0) }, count(1, 1)),
            Command::Fork => (Self::Fork { resident: bytes(0) }, 1),
            Command::Spawn => (Self::Spawn { program: arguments.text(0).into() }, 1),
            Command::Thread => (Self::Thread, 1),
            Command::PipePingpong => (Self::PipePingpong, count(0, 1)),
            Command::ContextSwitch => (Self::ContextSwitch, count(0, 2)),
            _ => return None,
        })
    }

    /// The directory in which the kernel makes a file of its own.
    pub fn writes_in(&self) -> Option<&Path> {
        match self {
            Self::Stat { directory }
            | Self::Fstat { directory }
            | Self::RawFstat { directory }
            | Self::OpenClose { directory }
            | Self::FopenFclose { directory }
            | Self::CreateDelete { directory } => Some(directory),
            _ => None,
        }
    }
}

/// What came of a command that is a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The two readings of the clock, and the errno.
    pub timed: Timed,
    /// Operations between them: as asked for, but rounded to what the kernel can do at once.
    pub batch: u32,
    /// Bytes that they moved.
    pub bytes: u64,
    /// What the last of them gave: an exit status.
    pub value: u64,
}

/// The kernels that a rank has in use. A loop over several sizes finds each as it left it, so that a
/// working set is built once.
#[derive(Default)]
pub struct Kernels {
    ready: Vec<(Request, Box<dyn Kernel>)>,
}

impl Kernels {
    /// More are not kept: the one used longest ago is let go.
    const MOST: usize = 64;

    /// Is it built?
    #[inline]
    pub fn is_ready(&self, request: &Request) -> bool {
        self.ready.iter().any(|(known, _)| known == request)
    }

    /// Times `count` operations of a kernel that was built; `None` where it was not.
    pub fn time(&mut self, clock: Clock, request: &Request, count: u32) -> Option<Done> {
        let (_, kernel) = self.ready.iter_mut().find(|(known, _)| known == request)?;
        let least = kernel.least();
        let batch = count.clamp(least, kernel.most()) / least * least;
        let timed = kernel.time(clock, batch);
        let bytes = kernel.bytes_each().saturating_mul(u64::from(batch));
        Some(Done { timed, batch, bytes, value: kernel.value() })
    }

    /// Builds a kernel and does a first operation, so that its code and data are there.
    ///
    /// # Errors
    /// Where it cannot be built: memory, a file.
    #[cold]
    pub fn build(&mut self, request: &Request, clock: Clock) -> Result<(), Error> {
        // What is in memory takes memory: one working set makes room for the next.
        if request.holds_memory() {
            self.ready.retain(|(known, _)| !known.holds_memory());
        }
        if self.ready.len() >= Self::MOST {
            self.ready.remove(0);
        }
        let mut kernel = build(request)?;
        let least = kernel.least();
        kernel.time(clock, least);
        self.ready.push((request.clone(), kernel));
        Ok(())
    }

    /// Lets all of them go: their memory, files and processes.
    pub fn clear(&mut self) {
        self.ready.clear();
    }
}

impl Request {
    /// Are page faults what it measures?
    pub fn faults(&self) -> bool {
        matches!(self, Self::Touch { .. } | Self::MmapMunmap { .. } | Self::Fork { .. })
    }

    /// Does it hold more than a page of memory or so?
    fn holds_memory(&self) -> bool {
        matches!(
            self,
            Self::Chase { .. }
                | Self::Poke { .. }
                | Self::StreamRead { .. }
                | Self::StreamWrite { .. }
                | Self::StreamCopy { .. }
                | Self::Touch { .. }
                | Self::Fork { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl::value::Value;

    #[test]
    fn a_command_becomes_a_kernel_with_its_defaults() {
        let of = |command, values: &[Value]| Request::of_command(command, &Arguments::of(values), 7);
        let size = Value::Int(32 << 10);
        assert_eq!(
            of(Command::Chase, std::slice::from_ref(&size)),
            Some((Request::Chase { bytes: 32 << 10, huge: false, seed: 7 }, 1000))
        );
        let huge = Value::Text("huge".into());
        assert_eq!(
            of(Command::Poke, &[size, Value::Int(5), huge]),
            Some((Request::Poke { bytes: 32 << 10, huge: true, seed: 7 }, 5))
        );
        assert_eq!(of(Command::Fwrite, &[]), None);
        assert_eq!(of(Command::Stream, &[Value::Text("sideways".into()), Value::Int(64)]), None);
    }

    fn timed(kernels: &mut Kernels, request: Request, count: u32) -> Done {
        let clock = Clock::monotonic();
        if !kernels.is_ready(&request) {
            kernels.build(&request, clock).expect("a kernel");
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
        let stream = Request::StreamRead { bytes: 4096, huge: false };
        assert_eq!(timed(&mut kernels, stream, 3).bytes, 3 * 4096);
        assert_eq!(timed(&mut kernels, Request::Spawn { program: "false".into() }, 1).value, 1);
    }
}
