//! Implements [`Comm`] through an MPI library.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hasher};

use ranks::job::JobIdentity;
use ranks::{Comm, CommError, ControlBlock, RankStatus, StopFlag};
use samples::{ClockOffset, MpiFacts, NodeFacts};

use crate::abi::Handle;
use crate::clocks;
use crate::error::MpiError;
use crate::find::{FoundLibrary, LibrarySearch};
use crate::find_nodes;
use crate::library::MpiLibrary;
use crate::link::Link;
use crate::phase_news::PhaseNews;
use crate::question::{Place, Step, Wait};
use crate::signals::Carried;
use crate::world::World;

/// A communicator of the MPI library: the world, or a group of the program.
pub struct Mpi {
    link: Link,
    news: RefCell<PhaseNews>,
    /// Signals of the program: of the world alone.
    carried: RefCell<Carried>,
    announced: Cell<Option<Exchange>>,
    /// How many times it was split.
    splits: Cell<u64>,
}

/// A reduction of a number and a meeting over all ranks of a communicator. After an error the library may
/// still write to its memory, which is therefore leaked.
#[derive(Clone, Copy)]
struct Exchange {
    request: Handle,
    /// The values of this rank, and the result of the reduction.
    values: *mut [[u64; 3]; 2],
    memory: Memory,
    /// What this rank has come to.
    here: Step,
}

/// Whose memory the values of an [`Exchange`] are in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// A box.
    Boxed,
    /// The announcement in the control block, which the keeper reads.
    Shared,
}

/// The most bytes passed to one MPI call, well within the range of an `int` count.
const PIECE: usize = 64 << 20;
/// A tag on the communicator for data, of which `clocks` has 2, `phase_news` 3 and `nodes` 4; control messages have a
/// communicator of their own.
const TAG_PIECE: c_int = 1;

impl Mpi {
    /// Starts MPI (once in a process) and returns the world, which must have `planned` ranks (0: any).
    pub(crate) fn start(
        library: MpiLibrary,
        search: LibrarySearch,
        planned: u32,
        timeout: Option<std::time::Duration>,
        block: &'static ControlBlock,
    ) -> Result<Self, MpiError> {
        let (world, handle) = World::start(library, search, planned, timeout, block)?;
        let members = (0..world.size).collect();
        let link = Link { world, handle, rank: world.rank, members, number: world.open(0) };
        let mpi = Self::of(link);
        // A number unique to the job, which distinguishes its files from those left by an earlier job.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let id = mpi.meet_first((since.as_nanos() as u64 ^ u64::from(std::process::id()) << 40) | 1)?;
        block.set_job(JobIdentity { id, rank: world.rank, size: world.size });
        mpi.find_nodes(id)?;
        Ok(mpi)
    }

    /// Finds which ranks share a machine, and tells all how the nodes are called.
    fn find_nodes(&self, job: u64) -> Result<(), CommError> {
        let nodes = find_nodes::find(&self.link, job)?;
        let mut names = find_nodes::names(&nodes, &self.link)?.join("\n").into_bytes();
        let length = self.meet_first(names.len() as u64)?;
        self.spread(0, &mut names, length)?;
        let names = String::from_utf8_lossy(&names).split('\n').map(str::to_owned).collect();
        self.world().nodes.set(nodes, names);
        Ok(())
    }

    fn of(link: Link) -> Self {
        Self {
            link,
            news: RefCell::default(),
            carried: RefCell::default(),
            announced: Cell::default(),
            splits: Cell::default(),
        }
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// The library's handle, which identifies the communicator.
    pub fn handle(&self) -> usize {
        self.link.handle
    }

    fn world(&self) -> &'static World {
        self.link.world
    }

    /// Starts the reduction of a number and of the meeting that this rank has reached, in this memory if it is free.
    fn bring(&self, value: u64, memory: Memory) -> Result<Exchange, CommError> {
        let library = self.link.library();
        let meeting = self.status().meeting(self.world().rank);
        // The maxima of a number and of its complement give the largest and the smallest number.
        let brought = [value, meeting, !meeting];
        let shared = match memory {
            Memory::Shared => self.world().block.announcement().begin(brought),
            Memory::Boxed => None,
        };
        let (values, memory) = match shared {
            Some(values) => (values, Memory::Shared),
            None => (Box::into_raw(Box::new([brought, [0; 3]])), Memory::Boxed),
        };
        let arrival = self.world().arrive(self.link.number);
        let mut request: Handle = 0;
        let code = unsafe {
            // SAFETY: both arrays live until the request is complete, are leaked, or live as long as the process.
            (library.f.iallreduce)(
                values.cast::<c_void>(),
                values.cast::<[u64; 3]>().add(1).cast::<c_void>(),
                3,
                library.k.uint64,
                library.k.max,
                self.link.handle,
                &raw mut request,
            )
        };
        library.check("MPI_Iallreduce", code)?;
        let here = Step { place: Place { communicator: self.link.number, arrival }, meeting };
        Ok(Exchange { request, values, memory, here })
    }

    /// As [`Comm::barrier`], before anything else: also where another rank has passed it, and is on its way out by now.
    fn meet_first(&self, value: u64) -> Result<u64, CommError> {
        let mut exchange = self.bring(value, Memory::Boxed)?;
        match self.complete(&mut exchange) {
            Err(CommError::RankLost { .. } | CommError::Signalled { .. })
                if self.world().arrives(&mut exchange.request) => {}
            done => done?,
        }
        self.result(exchange)
    }

    /// Waits for all ranks; returns the largest number if all have reached the same meeting.
    fn receive(&self, mut exchange: Exchange) -> Result<u64, CommError> {
        self.complete(&mut exchange)?;
        self.result(exchange)
    }

    fn complete(&self, exchange: &mut Exchange) -> Result<(), CommError> {
        let wait = Wait::new(exchange.here, self.link.rank);
        self.world().wait(&mut exchange.request, &self.link.members, Some(wait))
    }

    /// What a complete exchange gave.
    fn result(&self, exchange: Exchange) -> Result<u64, CommError> {
        let Exchange { values, memory, .. } = exchange;
        let [value, most, least] = match memory {
            Memory::Shared => self.world().block.announcement().end(),
            // SAFETY: the request is complete, so the library no longer uses the box, and `values` was made by
            // `bring`.
            Memory::Boxed => unsafe { (*Box::from_raw(values))[1] },
        };
        if ranks::meeting::is_same(most, !least) {
            return Ok(value);
        }
        let text = ranks::meeting::apart(most, !least);
        self.world().part(&text);
        Err(CommError::Apart { text })
    }

    /// Gives every rank the bytes of `root`, whose number all know.
    fn spread(&self, root: u32, bytes: &mut Vec<u8>, length: u64) -> Result<(), CommError> {
        let library = self.link.library();
        bytes.resize(length as usize, 0);
        for piece in bytes.chunks_mut(PIECE) {
            let code = unsafe {
                // SAFETY: the piece holds as many bytes as passed.
                (library.f.bcast)(
                    piece.as_mut_ptr().cast(),
                    piece.len() as c_int,
                    library.k.byte,
                    root as c_int,
                    self.link.handle,
                )
            };
            library.check("MPI_Bcast", code)?;
        }
        Ok(())
    }

    /// The number that all ranks of this `color` have for the communicator that the next split makes of them.
    fn number_of_part(&self, color: Option<u32>) -> u64 {
        self.splits.set(self.splits.get() + 1);
        // Unlike that of a map, this hasher gives the same in every process.
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.link.number);
        hasher.write_u64(self.splits.get());
        hasher.write_u32(color.unwrap_or_default());
        hasher.finish()
    }

    /// Ends MPI after the program: collectively if no rank was lost, immediately otherwise.
    pub(crate) fn conclude(&self) -> Result<(), CommError> {
        let together = self.settle_signals();
        match &together {
            Ok(_) => self.world().finish(),
            Err(_) => self.world().linger(),
        }
        together.map(drop)
    }

    /// Meets all ranks, and receives the signals that are under way: MPI must not end before.
    fn settle_signals(&self) -> Result<u64, CommError> {
        self.carry_signals()?;
        let sent = self.carried.borrow().sent();
        let most = self.barrier(sent)?;
        if most > 0 {
            let all = self.link.all_gather(sent)?.into_iter().sum();
            self.carried.borrow_mut().receive_all(self.world(), all)?;
        }
        Ok(most)
    }

    /// Leaves the world without the other ranks, after notifying them if they do not know yet.
    pub(crate) fn leave(&self, why: &str) {
        self.abandon(why);
        self.world().linger();
    }
}

impl Comm for Mpi {
    fn rank(&self) -> u32 {
        self.link.rank
    }

    fn size(&self) -> u32 {
        self.link.size()
    }

    fn barrier(&self, value: u64) -> Result<u64, CommError> {
        if let Some(error) = self.world().stopped() {
            return Err(error);
        }
        let exchange = self.bring(value, Memory::Boxed)?;
        self.receive(exchange)
    }

    fn announce(&self) -> Result<(), CommError> {
        self.announced.set(Some(self.bring(0, Memory::Shared)?));
        Ok(())
    }

    fn confirm(&self) -> Result<(), CommError> {
        self.announced.take().map_or(Ok(()), |exchange| self.receive(exchange).map(drop))
    }

    fn broadcast(&self, root: u32, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        let length = self.barrier(if self.link.rank == root { bytes.len() as u64 } else { 0 })?;
        self.spread(root, bytes, length)
    }

    fn gather(&self, root: u32, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        self.barrier(0)?;
        let lengths = self.link.all_gather(bytes.len() as u64)?;
        if self.link.rank != root {
            bytes.chunks(PIECE).try_for_each(|piece| self.link.send(root, TAG_PIECE, piece))?;
            return Ok(None);
        }
        let mut all = Vec::with_capacity(lengths.len());
        for (rank, length) in (0..).zip(lengths) {
            let mut part = bytes.to_vec();
            if rank != root {
                part = vec![0; length as usize];
                part.chunks_mut(PIECE).try_for_each(|piece| self.link.receive(rank, TAG_PIECE, piece))?;
            }
            all.push(part);
        }
        Ok(Some(all))
    }

    fn split(&self, color: Option<u32>, key: u32) -> Result<Option<Box<dyn Comm>>, CommError> {
        let library = self.link.library();
        let number = self.number_of_part(color);
        let color = color.map_or(library.k.undefined, |color| (color & i32::MAX as u32) as c_int);
        let mut handle: Handle = 0;
        // SAFETY: the new handle is a live variable. It is zeroed since some libraries write only its lower
        // half.
        let code = unsafe {
            (library.f.comm_split)(self.link.handle, color, (key & i32::MAX as u32) as c_int, &raw mut handle)
        };
        library.check("MPI_Comm_split", code)?;
        if handle == library.k.comm_null {
            return Ok(None);
        }
        let (rank, size) = self.world().numbers(handle)?;
        let mut link = Link { world: self.world(), handle, rank, members: vec![0; size as usize], number };
        let members = link.all_gather(u64::from(self.world().rank))?;
        link.members = members.into_iter().map(|rank| rank as u32).collect();
        self.world().open(number);
        Ok(Some(Box::new(Self::of(link))))
    }

    fn clock_offsets(&self, now: &mut dyn FnMut() -> u64) -> Result<Vec<ClockOffset>, CommError> {
        // A rank that has come to another place of the program is told here.
        self.barrier(0)?;
        clocks::offsets(&self.link, self.world().nodes.nodes(), now)
    }

    fn status(&self) -> &RankStatus {
        self.world().status()
    }

    fn stopped(&self) -> Option<CommError> {
        self.world().stopped()
    }

    fn stop_flag(&self) -> StopFlag {
        StopFlag(Some(self.world().block))
    }

    fn raise(&self, phase: u64) {
        self.news.borrow_mut().announce(&self.link, phase);
    }

    fn raised(&self, phase: u64) -> bool {
        self.news.borrow_mut().heard(&self.link, phase)
    }

    fn settle(&self, phase: u64) -> Result<(), CommError> {
        self.news.borrow_mut().settle(&self.link, phase)
    }

    fn carry_signals(&self) -> Result<(), CommError> {
        self.carried.borrow_mut().carry(self.world())
    }

    fn carries_signals(&self) -> bool {
        self.size() > 1 || self.world().size > 1
    }

    fn one_thread(&self) -> Option<String> {
        self.world().one_thread.then(|| {
            let library = self.world().library.version();
            format!("{library} grants MPI_THREAD_SINGLE only, so that this process may have no second thread")
        })
    }

    fn abandon(&self, why: &str) {
        self.world().abandon(&format!("rank {} gave up: {why}", self.world().rank));
    }

    fn name(&self) -> &'static str {
        "mpi"
    }

    fn description(&self) -> String {
        self.world().search.found.as_ref().map(FoundLibrary::describe).unwrap_or_default()
    }

    fn facts(&self) -> Option<MpiFacts> {
        let LibrarySearch { launcher, found, .. } = &self.world().search;
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

    fn nodes(&self) -> Vec<NodeFacts> {
        self.world().nodes.facts(self.world().rank)
    }

    fn host(&self) -> Option<String> {
        self.world().nodes.host(self.world().rank).map(str::to_owned)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // MPI_COMM_WORLD must not be freed, and after a loss no collective call can complete.
        if self.link.handle != self.link.library().k.comm_world
            && self.world().lost().is_none()
            && !self.world().ended()
        {
            // SAFETY: the handle came from MPI_Comm_split and is not used after this.
            unsafe { (self.link.library().f.comm_free)(&raw mut self.link.handle) };
        }
    }
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mpi {{ rank: {} of {}, {} }}", self.rank(), self.size(), self.description())
    }
}

/// The MPI communicator behind `comm`, if it is one; MPI-IO needs it.
pub fn of(comm: &dyn Comm) -> Option<&Mpi> {
    comm.as_any()?.downcast_ref()
}
