//! Native kernels: memory accesses, system calls, processes and small file accesses, timed as single
//! operations, in batches, or in blocks of about a millisecond.
//!
//! A kernel is a [`Probe`]: a loop of one kind of operation. [`Kernel::time`] reads the clock just before and
//! just after that loop, which is monomorphised for each probe; the one virtual call is outside of the two
//! clock reads. [`build`] makes a kernel from a [`Request`], which a command of the language states;
//! [`measure`] runs a whole measurement; [`tour`] measures all levels from L1 to the disk.
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
mod crew;
mod disk;
mod error;
pub mod introduction;
mod kernel;
mod loaded;
mod measure;
mod memory;
mod net;
mod net_server;
mod noise;
mod own_file;
mod processes;
mod request;
mod sharing;
mod system;
mod tour;

pub use samples::random::Random;

pub use cache::{KernelTiming, Kernels};
pub use disk::{Access, FileAccess, ScratchFile};
pub use error::Error;
pub use kernel::{Kernel, Probe, TimedOperation};
pub use measure::{Instruments, MeasureSettings, Measured, Observation, measure};
pub use memory::{LINE, Pass};
pub use net::{ANSWER_OF_AN_ECHO, Transport};
pub use noise::noise;
pub use own_file::OwnFile;
pub use request::{Request, build};
pub use sharing::AtomicKind;
pub use tour::{RungObservations, Tour, TourProgress, tour};
