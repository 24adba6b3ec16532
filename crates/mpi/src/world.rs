//! How does MPI start, how do ranks wait without hanging for ever, and how does it end?

use std::cell::{Cell, OnceCell};
use std::ffi::c_int;
use std::time::{Duration, Instant};

use crate::abi::Handle;
use crate::find::Search;
use crate::library::{MpiLibrary, Status};
use ranks::shared::Region;
use ranks::{CommError, Standing, State};

/// Why MPI could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MpiError {
    /// A launcher started us and no library can be used.
    #[error(
        "this is one of several ranks ({evidence}), but no MPI library can be opened:\n  {refusals}\n\
         name one with --mpi PATH, or start without a launcher: lastrank run -n RANKS"
    )]
    NoLibrary {
        /// The variable by which we know the launcher.
        evidence: String,
        /// What was tried and why it was refused, one a line.
        refusals: String,
    },
    /// The library that `--mpi` names cannot be used.
    #[error("--mpi {refusals}")]
    Unusable {
        /// The path and the reason.
        refusals: String,
    },
    /// The library did not find the other ranks.
    #[error(
        "{evidence} says that there are {expected} ranks, but {library} sees {found}: it does not belong to \
         this launcher; name the right library with --mpi PATH, or use its own mpirun"
    )]
    Apart {
        /// The variable by which we know the launcher.
        evidence: String,
        /// Ranks by the launcher.
        expected: u32,
        /// Ranks by the library.
        found: u32,
        /// The library.
        library: String,
    },
    /// The run was planned for another number of ranks.
    #[error(
        "the run is planned for {planned} ranks, but {library} sees {found}, and the launcher ({evidence}) \
         does not say how many it started: say it with -n {found}"
    )]
    Unplanned {
        /// The variable by which we know the launcher.
        evidence: String,
        /// Ranks by the plan.
        planned: u32,
        /// Ranks by the library.
        found: u32,
        /// The library.
        library: String,
    },
    /// A call failed while starting.
    #[error(transparent)]
    Call(#[from] CommError),
}

/// On the control communicator: why a rank gave up; `I have come to the barrier, too`.
const TAG_LOST: c_int = 11;
const TAG_WAITS: c_int = 12;
/// The longest reason sent, in bytes: small enough to travel without the receiver's help.
const REASON: usize = 512;

/// What the communicators of one process share.
pub(crate) struct World {
    pub(crate) library: MpiLibrary,
    /// How it was found.
    pub(crate) search: Search,
    control: Handle,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    timeout: Option<Duration>,
    /// Fewer processors than ranks: a waiting rank must leave the processor to others.
    crowded: bool,
    /// What this rank shares with its parent.
    pub(crate) region: &'static Region,
    lost: OnceCell<CommError>,
    told: Cell<bool>,
    ended: Cell<bool>,
}

impl World {
    pub(crate) fn start(
        library: MpiLibrary,
        search: Search,
        planned: u32,
        timeout: Option<Duration>,
        region: &'static Region,
    ) -> Result<(&'static Self, Handle), MpiError> {
        let handle = library.k.comm_world;
        let mut provided = 0;
        // SAFETY: MPI-2 allows null for both arguments; `provided` is a live integer.
        let code = unsafe {
            (library.f.init_thread)(
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                library.k.thread_funneled,
                &raw mut provided,
            )
        };
        library.check("MPI_Init_thread", code)?;
        let returns = library.k.errors_return;
        // SAFETY: world and error handler are predefined handles of this library.
        library
            .check("MPI_Comm_set_errhandler", unsafe { (library.f.comm_set_errhandler)(handle, returns) })?;
        // SAFETY: a predefined handle; its errors are those of opening and deleting files.
        unsafe { (library.f.file_set_errhandler)(library.k.file_null, returns) };
        let mut control = 0;
        // SAFETY: the world is a valid handle, the new one a live zeroed variable.
        library.check("MPI_Comm_dup", unsafe { (library.f.comm_dup)(handle, &raw mut control) })?;
        // SAFETY: the handle was just made.
        unsafe { (library.f.comm_set_errhandler)(control, returns) };
        let mut world = Self {
            library,
            search,
            control,
            rank: 0,
            size: 0,
            timeout,
            crowded: false,
            region,
            lost: OnceCell::new(),
            told: Cell::new(false),
            ended: Cell::new(false),
        };
        (world.rank, world.size) = world.numbers(handle)?;
        let told = world.search.launcher.as_ref().and_then(|launcher| launcher.ranks);
        let expected = told.or((planned > 0).then_some(planned)).unwrap_or(world.size);
        if expected != world.size {
            let library = format!("{} ({})", world.library.version(), world.library.path.display());
            let evidence = world.search.launcher.map_or_else(|| "none".into(), |launcher| launcher.evidence);
            let found = world.size;
            return Err(match told {
                Some(expected) => MpiError::Apart { evidence, expected, found, library },
                None => MpiError::Unplanned { evidence, planned, found, library },
            });
        }
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        world.crowded = crate::find::local_ranks().unwrap_or(world.size) as usize > processors;
        world.standing().set_state(State::Running);
        Ok((Box::leak(Box::new(world)), handle))
    }

    /// Rank and size in a communicator.
    pub(crate) fn numbers(&self, handle: Handle) -> Result<(u32, u32), CommError> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a valid communicator and live integers.
        unsafe {
            self.library.check("MPI_Comm_rank", (self.library.f.comm_rank)(handle, &raw mut rank))?;
            self.library.check("MPI_Comm_size", (self.library.f.comm_size)(handle, &raw mut size))?;
        }
        Ok((rank as u32, size as u32))
    }

    pub(crate) fn lost(&self) -> Option<&CommError> {
        self.lost.get()
    }

    pub(crate) fn ended(&self) -> bool {
        self.ended.get()
    }

    /// What this rank publishes for its parent.
    pub(crate) fn standing(&self) -> &Standing {
        &self.region.rank(0).standing
    }

    pub(crate) fn stopped(&self) -> Option<CommError> {
        if let Some(error) = self.lost.get() {
            return Some(error.clone());
        }
        let error = self.region.stopped()?;
        if let CommError::Stopped { by } = &error {
            // Where only this rank was told to stop, the others learn it from us.
            self.tell_all(&format!("the run was stopped by {by}"));
        }
        let _ = self.lost.set(error);
        self.lost.get().cloned()
    }

    /// Polls a request until it is complete; leaves when a rank is lost, when the run is stopped,
    /// or when the time is up. The request is then left to itself.
    pub(crate) fn wait(&self, request: &mut Handle, members: &[u32]) -> Result<(), CommError> {
        /// Looks at the request for each look at the news: the request is what usually comes.
        const LOOKS: u32 = 64;
        /// A crowded rank sleeps between looks once it waited so long.
        const PATIENCE: Duration = Duration::from_millis(2);
        let library = &self.library;
        let start = Instant::now();
        let mut status = Status::default();
        for look in 1_u64.. {
            let mut done = 0;
            // SAFETY: the request is one of this library's and not yet complete; the rest are live variables.
            let code = unsafe { (library.f.test)(request, &raw mut done, &raw mut status) };
            library.check("MPI_Test", code)?;
            if done != 0 {
                break;
            }
            if self.crowded {
                if look > 16 && start.elapsed() > PATIENCE {
                    std::thread::sleep(Duration::from_micros(20));
                } else {
                    std::thread::yield_now();
                }
            }
            if !look.is_multiple_of(u64::from(LOOKS)) {
                continue;
            }
            self.standing().set_state(State::Waiting);
            self.listen()?;
            if let Some(error) = self.stopped() {
                return Err(error);
            }
            if self.timeout.is_some_and(|timeout| start.elapsed() > timeout) {
                return Err(self.timed_out(members, start.elapsed()));
            }
        }
        self.standing().set_state(State::Running);
        Ok(())
    }

    /// Why this rank should leave, if it should: asks the others as well.
    pub(crate) fn look(&self) -> Result<Option<CommError>, CommError> {
        self.listen()?;
        Ok(self.stopped())
    }

    /// Has another rank told that it gives up?
    fn listen(&self) -> Result<(), CommError> {
        if let Some((rank, reason)) = self.receive(TAG_LOST)? {
            let reason = String::from_utf8_lossy(&reason).into_owned();
            let _ = self.lost.set(CommError::RankLost { rank, reason });
        }
        Ok(())
    }

    /// The next control message with `tag`, if one has come: its sender and its bytes. The message
    /// begins with the sender's rank, so that no field of a status has to be read.
    fn receive(&self, tag: c_int) -> Result<Option<(u32, Vec<u8>)>, CommError> {
        let library = &self.library;
        let mut status = Status::default();
        let mut here = 0;
        // SAFETY: the control communicator is valid; flag and status are live.
        let code = unsafe {
            (library.f.iprobe)(library.k.any_source, tag, self.control, &raw mut here, &raw mut status)
        };
        library.check("MPI_Iprobe", code)?;
        if here == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0_u8; 4 + REASON];
        // SAFETY: no message on this communicator is longer than the buffer.
        let code = unsafe {
            (library.f.recv)(
                bytes.as_mut_ptr().cast(),
                bytes.len() as c_int,
                library.k.byte,
                library.k.any_source,
                tag,
                self.control,
                &raw mut status,
            )
        };
        library.check("MPI_Recv", code)?;
        let mut count = 0;
        // SAFETY: the status was filled by the receive above.
        unsafe { (library.f.get_count)(&raw const status, library.k.byte, &raw mut count) };
        bytes.truncate(count.max(4) as usize);
        let rest = bytes.split_off(4);
        Ok(Some((u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), rest)))
    }

    /// Sends a control message without waiting for anybody. Its memory is never freed: the library
    /// may still send it when nobody waits for that any more.
    fn tell(&self, to: impl Iterator<Item = u32>, tag: c_int, text: &str) {
        let text = &text.as_bytes()[..text.len().min(REASON)];
        let message: &'static [u8] = [&self.rank.to_ne_bytes()[..], text].concat().leak();
        for rank in to.filter(|rank| *rank != self.rank) {
            let request: &'static mut Handle = Box::leak(Box::new(0));
            // SAFETY: message and request live for ever.
            unsafe {
                (self.library.f.isend)(
                    message.as_ptr().cast(),
                    message.len() as c_int,
                    self.library.k.byte,
                    rank as c_int,
                    tag,
                    self.control,
                    request,
                )
            };
        }
    }

    /// Tells every rank why this one gives up.
    pub(crate) fn abandon(&self, reason: &str) {
        if self.lost.get().is_none() {
            self.tell_all(reason);
        }
        let _ = self.lost.set(CommError::RankLost { rank: self.rank, reason: reason.into() });
    }

    fn tell_all(&self, reason: &str) {
        if !self.told.replace(true) {
            self.tell(0..self.size, TAG_LOST, reason);
        }
    }

    /// The time is up: those who wait as well say so to each other; who is silent is missing.
    fn timed_out(&self, members: &[u32], after: Duration) -> CommError {
        self.tell(members.iter().copied(), TAG_WAITS, "");
        let mut silent: Vec<u32> = members.iter().copied().filter(|rank| *rank != self.rank).collect();
        let until = Instant::now() + Duration::from_secs(2).min(after);
        while Instant::now() < until && !silent.is_empty() {
            match self.receive(TAG_WAITS) {
                Ok(Some((rank, _))) => silent.retain(|other| *other != rank),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => break,
            }
            if self.listen().is_ok()
                && let Some(error) = self.lost.get()
            {
                return error.clone();
            }
        }
        let missing = silent.into_iter().map(|rank| (rank, "it does not answer".to_string())).collect();
        let error = CommError::TimedOut { line: self.standing().line(), after, missing };
        self.abandon(&error.to_string());
        error
    }

    /// Ends MPI, when nobody was lost: then every rank has come here.
    pub(crate) fn finish(&self) {
        self.ended.set(true);
        // SAFETY: the last call to the library in this process.
        unsafe { (self.library.f.finalize)() };
    }

    /// Gives messages on their way a moment to leave: there is no collective end after a loss.
    pub(crate) fn linger(&self) {
        self.ended.set(true);
        let until = Instant::now() + Duration::from_millis(100);
        while Instant::now() < until && self.receive(TAG_WAITS).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
