//! The communicator of an MPI library: the world, or a group of the program.
//!
//! [`find`] chooses the library, [`library`] opens it, [`abi`] holds the few numbers that differ.
//! Waiting polls a non-blocking reduction, so that a rank can leave when another one is lost or
//! when the time is up; the news of a lost rank travels as a message on a communicator of its own.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use ranks::shared::Region;
use ranks::{Comm, CommError, Standing, StopFlag};
use samples::ClockOffset;
use samples::MpiFacts;

use crate::abi::Handle;
use crate::find::{Found, Search};
use crate::library::{MpiLibrary, Status};
use crate::news::News;
use crate::world::{MpiError, World};

/// A communicator of the MPI library: the world, or a group of the program.
pub struct Mpi {
    pub(crate) world: &'static World,
    pub(crate) handle: Handle,
    pub(crate) rank: u32,
    /// World ranks of its members.
    pub(crate) members: Vec<u32>,
    pub(crate) news: RefCell<News>,
}

/// The largest piece given to one MPI call, in bytes: every library takes it, whatever its `int`.
const PIECE: usize = 64 << 20;
/// Tags on the communicator for data; control messages have a communicator of their own.
const TAG_PIECE: c_int = 1;
const TAG_CLOCK: c_int = 2;

impl Mpi {
    /// Starts MPI (once in a process) and returns the world, which must have `planned` ranks (0: any).
    pub(crate) fn start(
        library: MpiLibrary,
        search: Search,
        planned: u32,
        timeout: Option<std::time::Duration>,
        region: &'static Region,
    ) -> Result<Self, MpiError> {
        let (world, handle) = World::start(library, search, planned, timeout, region)?;
        let members = (0..world.size).collect();
        let mpi = Self { world, handle, rank: world.rank, members, news: RefCell::default() };
        // A number that no other job has, so that traces of an earlier one are not taken for ours.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let job = mpi.barrier((since.as_nanos() as u64 ^ u64::from(std::process::id()) << 40) | 1)?;
        region.set_job(job, world.rank, world.size);
        Ok(mpi)
    }

    /// The library behind the communicator.
    pub(crate) fn library(&self) -> &'static MpiLibrary {
        &self.world.library
    }

    /// The library's handle of the communicator.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Ends the world after the program: together when every rank comes here, else at once.
    pub(crate) fn conclude(&self) -> Result<(), CommError> {
        let together = self.barrier(0);
        match &together {
            Ok(_) => self.world.finish(),
            Err(_) => self.world.linger(),
        }
        together.map(drop)
    }

    /// This rank leaves alone; the others are told if they do not know.
    pub(crate) fn leave(&self, why: &str) {
        self.abandon(why);
        self.world.linger();
    }

    pub(crate) fn receive(&self, from: u32, tag: c_int, into: &mut [u8]) -> Result<(), CommError> {
        let library = &self.world.library;
        let mut status = Status::default();
        let code = unsafe {
            // SAFETY: the buffer holds as many bytes as are asked for.
            (library.f.recv)(
                into.as_mut_ptr().cast(),
                into.len() as c_int,
                library.k.byte,
                from as c_int,
                tag,
                self.handle,
                &raw mut status,
            )
        };
        library.check("MPI_Recv", code)
    }

    pub(crate) fn send(&self, to: u32, tag: c_int, bytes: &[u8]) -> Result<(), CommError> {
        let library = &self.world.library;
        let code = unsafe {
            // SAFETY: the buffer holds as many bytes as are sent.
            (library.f.send)(
                bytes.as_ptr().cast(),
                bytes.len() as c_int,
                library.k.byte,
                to as c_int,
                tag,
                self.handle,
            )
        };
        library.check("MPI_Send", code)
    }

    fn everyones(&self, mine: u64) -> Result<Vec<u64>, CommError> {
        let library = &self.world.library;
        let mut all = vec![0_u64; self.members.len()];
        let code = unsafe {
            // SAFETY: one number is sent, and there is room for one from each rank.
            (library.f.allgather)(
                (&raw const mine).cast(),
                1,
                library.k.uint64,
                all.as_mut_ptr().cast(),
                1,
                library.k.uint64,
                self.handle,
            )
        };
        library.check("MPI_Allgather", code)?;
        Ok(all)
    }
}

impl Comm for Mpi {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.members.len() as u32
    }

    fn barrier(&self, value: u64) -> Result<u64, CommError> {
        let library = &self.world.library;
        if let Some(error) = self.world.stopped() {
            return Err(error);
        }
        // The library writes here after we return with an error: so it lies on the heap for good then.
        let values = Box::into_raw(Box::new([value, 0_u64]));
        let mut request: Handle = 0;
        let code = unsafe {
            // SAFETY: both numbers live until the request is complete, or for ever.
            (library.f.iallreduce)(
                values.cast::<c_void>(),
                values.cast::<u64>().add(1).cast::<c_void>(),
                1,
                library.k.uint64,
                library.k.max,
                self.handle,
                &raw mut request,
            )
        };
        library.check("MPI_Iallreduce", code)?;
        self.world.wait(&mut request, &self.members)?;
        // SAFETY: the request is complete, so that the library no longer uses the box.
        let values = unsafe { Box::from_raw(values) };
        Ok(values[1])
    }

    fn broadcast(&self, root: u32, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        let library = &self.world.library;
        let length = self.barrier(if self.rank == root { bytes.len() as u64 } else { 0 })?;
        bytes.resize(length as usize, 0);
        for piece in bytes.chunks_mut(PIECE) {
            let code = unsafe {
                // SAFETY: the piece holds as many bytes as are said.
                (library.f.bcast)(
                    piece.as_mut_ptr().cast(),
                    piece.len() as c_int,
                    library.k.byte,
                    root as c_int,
                    self.handle,
                )
            };
            library.check("MPI_Bcast", code)?;
        }
        Ok(())
    }

    fn gather(&self, root: u32, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        self.barrier(0)?;
        let lengths = self.everyones(bytes.len() as u64)?;
        if self.rank != root {
            bytes.chunks(PIECE).try_for_each(|piece| self.send(root, TAG_PIECE, piece))?;
            return Ok(None);
        }
        let mut all = Vec::with_capacity(lengths.len());
        for (rank, length) in (0..).zip(lengths) {
            let mut part = bytes.to_vec();
            if rank != root {
                part = vec![0; length as usize];
                part.chunks_mut(PIECE).try_for_each(|piece| self.receive(rank, TAG_PIECE, piece))?;
            }
            all.push(part);
        }
        Ok(Some(all))
    }

    fn split(&self, color: Option<u32>, key: u32) -> Result<Option<Box<dyn Comm>>, CommError> {
        let library = &self.world.library;
        let color = color.map_or(library.k.undefined, |color| (color & i32::MAX as u32) as c_int);
        let mut handle: Handle = 0;
        // SAFETY: the new handle is a live variable, zeroed, since some libraries write its lower half only.
        let code = unsafe {
            (library.f.comm_split)(self.handle, color, (key & i32::MAX as u32) as c_int, &raw mut handle)
        };
        library.check("MPI_Comm_split", code)?;
        if handle == library.k.comm_null {
            return Ok(None);
        }
        let (rank, size) = self.world.numbers(handle)?;
        let members = vec![0; size as usize];
        let mut group = Self { world: self.world, handle, rank, members, news: RefCell::default() };
        group.members =
            group.everyones(u64::from(self.world.rank))?.into_iter().map(|rank| rank as u32).collect();
        Ok(Some(Box::new(group)))
    }

    fn clock_offsets(&self, now: &mut dyn FnMut() -> u64) -> Result<Vec<ClockOffset>, CommError> {
        /// Of so many exchanges the fastest counts: it had the least room for asymmetry.
        const EXCHANGES: u32 = 24;
        self.barrier(0)?;
        let mut offsets = vec![ClockOffset { at_ns: now(), ..ClockOffset::default() }];
        let mut theirs = [0_u8; 8];
        for rank in 1..self.size() {
            if self.rank == 0 {
                let mut best = (u64::MAX, ClockOffset::default());
                for _ in 0..EXCHANGES {
                    let before = now();
                    self.send(rank, TAG_CLOCK, &[0])?;
                    self.receive(rank, TAG_CLOCK, &mut theirs)?;
                    let after = now();
                    let at_ns = before + (after - before) / 2;
                    let offset_ns = u64::from_ne_bytes(theirs).wrapping_sub(at_ns) as i64;
                    let uncertainty_ns = (after - before).div_ceil(2);
                    if after - before < best.0 {
                        best = (after - before, ClockOffset { offset_ns, uncertainty_ns, at_ns });
                    }
                }
                offsets.push(best.1);
            } else if self.rank == rank {
                for _ in 0..EXCHANGES {
                    self.receive(0, TAG_CLOCK, &mut [0])?;
                    self.send(0, TAG_CLOCK, &now().to_ne_bytes())?;
                }
            }
        }
        self.barrier(0)?;
        Ok(if self.rank == 0 { offsets } else { Vec::new() })
    }

    fn standing(&self) -> &Standing {
        self.world.standing()
    }

    fn stopped(&self) -> Option<CommError> {
        self.world.stopped()
    }

    fn stop_flag(&self) -> StopFlag {
        StopFlag(Some(self.world.region))
    }

    fn raise(&self, phase: u64) {
        self.spread(phase);
    }

    fn raised(&self, phase: u64) -> bool {
        self.hear(phase)
    }

    fn settle(&self, phase: u64) -> Result<(), CommError> {
        self.gather_news(phase)
    }

    fn abandon(&self, why: &str) {
        self.world.abandon(&format!("rank {} gave up: {why}", self.world.rank));
    }

    fn name(&self) -> &'static str {
        "mpi"
    }

    fn description(&self) -> String {
        self.world.search.found.as_ref().map(Found::words).unwrap_or_default()
    }

    fn facts(&self) -> Option<MpiFacts> {
        let Search { launcher, found, .. } = &self.world.search;
        let found = found.as_ref()?;
        Some(MpiFacts {
            library: found.library.clone(),
            version: found.version.clone(),
            abi: found.abi.clone(),
            why: found.why.clone(),
            launcher: launcher.as_ref().map(|found| found.evidence.clone()),
            ..MpiFacts::default()
        })
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // The world is not ours to free, and after a loss nothing can be freed together.
        if self.handle != self.world.library.k.comm_world
            && self.world.lost().is_none()
            && !self.world.ended()
        {
            // SAFETY: the handle came from MPI_Comm_split and is not used after this.
            unsafe { (self.world.library.f.comm_free)(&raw mut self.handle) };
        }
    }
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mpi {{ rank: {} of {}, {} }}", self.rank, self.size(), self.description())
    }
}

/// The MPI communicator behind `comm`, where it is one: MPI-IO needs it.
pub fn of(comm: &dyn Comm) -> Option<&Mpi> {
    comm.as_any()?.downcast_ref()
}
