//! Starts and ends MPI, waits for requests, and exchanges notices of lost ranks.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_int;
use std::time::{Duration, Instant};

use ranks::job::ExitStatus;
use ranks::launcher::local_ranks;
use ranks::{Activity, CommError, ControlBlock, RankStatus};

use crate::abi::Handle;
use crate::error::MpiError;
use crate::find::LibrarySearch;
use crate::library::{MpiLibrary, MpiStatus};
use crate::nodes::KnownNodes;
use crate::question::{Reaction, Wait};

/// Tag on the control communicator: the reason why the sender leaves, or a question.
const TAG_NOTICE: c_int = 11;
/// Tag on the control communicator: the sender also waits at the barrier.
const TAG_WAITS: c_int = 12;
/// Tag on the control communicator: a signal of the program.
pub(crate) const TAG_SIGNAL: c_int = 13;
/// The longest notice in bytes, small enough to be sent eagerly, without a matching receive.
const NOTICE: usize = 512;
/// First byte of a notice: the sender is lost, and its reason follows as text.
const LOST: u8 = 0;
/// First byte of a notice: a signal asked the run to stop, and its number follows.
const SIGNALLED: u8 = 1;
/// First byte of a notice: a question for ranks that wait follows.
const QUESTION: u8 = 2;
/// A library that has not ended after so long does not end. Nothing of the run is lost if it would have.
const FINALIZED_WITHIN: Duration = Duration::from_secs(30);

/// State shared by the communicators of one process.
pub(crate) struct World {
    pub(crate) library: MpiLibrary,
    /// The search that found it.
    pub(crate) search: LibrarySearch,
    pub(crate) control: Handle,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    timeout: Option<Duration>,
    /// Whether there are fewer processors than ranks, so that a waiting rank must yield its processor.
    crowded: bool,
    /// Whether the library grants less than `MPI_THREAD_FUNNELED`, so that this process must have one thread.
    pub(crate) one_thread: bool,
    /// The control block, shared with the keeper.
    pub(crate) block: &'static ControlBlock,
    lost: OnceCell<CommError>,
    /// Whether the other ranks know that this rank leaves.
    notified: Cell<bool>,
    ended: Cell<bool>,
    /// The communicators of this rank by their numbers, and how many times it has come to a meeting of each.
    arrivals: RefCell<Vec<(u64, u32)>>,
    /// Questions that have arrived.
    questions: RefCell<Vec<Vec<u8>>>,
    /// How many times this rank has asked.
    asked: Cell<u32>,
    pub(crate) nodes: KnownNodes,
}

impl World {
    pub(crate) fn start(
        library: MpiLibrary,
        search: LibrarySearch,
        planned: u32,
        timeout: Option<Duration>,
        block: &'static ControlBlock,
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
        let one_thread = provided < library.k.thread_funneled;
        let returns = library.k.errors_return;
        // SAFETY: world and error handler are predefined handles of this library.
        library
            .check("MPI_Comm_set_errhandler", unsafe { (library.f.comm_set_errhandler)(handle, returns) })?;
        // SAFETY: a predefined handle, which stands for the errors of opening and deleting files.
        unsafe { (library.f.file_set_errhandler)(library.k.file_null, returns) };
        let mut control = 0;
        // SAFETY: the world is a valid handle, the new one a live zeroed variable.
        library.check("MPI_Comm_dup", unsafe { (library.f.comm_dup)(handle, &raw mut control) })?;
        // SAFETY: the handle was just created.
        unsafe { (library.f.comm_set_errhandler)(control, returns) };
        let mut world = Self {
            library,
            search,
            control,
            rank: 0,
            size: 0,
            timeout,
            crowded: false,
            one_thread,
            block,
            lost: OnceCell::new(),
            notified: Cell::new(false),
            ended: Cell::new(false),
            arrivals: RefCell::default(),
            questions: RefCell::default(),
            asked: Cell::new(0),
            nodes: KnownNodes::default(),
        };
        (world.rank, world.size) = world.numbers(handle)?;
        let told = world.search.launcher.as_ref().and_then(|launcher| launcher.ranks);
        let expected = told.or((planned > 0).then_some(planned)).unwrap_or(world.size);
        if expected != world.size {
            let library = format!("{} ({})", world.library.version(), world.library.path.display());
            let evidence = world.search.launcher.map_or_else(|| "none".into(), |launcher| launcher.evidence);
            let found = world.size;
            return Err(match told {
                Some(expected) => MpiError::SizeMismatch { evidence, expected, found, library },
                None => MpiError::Unplanned { evidence, planned, found, library },
            });
        }
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        world.crowded = local_ranks().unwrap_or(world.size) as usize > processors;
        world.status().set_activity(Activity::Running);
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

    /// Adds a communicator, and returns its number.
    pub(crate) fn open(&self, number: u64) -> u64 {
        self.arrivals.borrow_mut().push((number, 0));
        number
    }

    /// This rank comes to the next meeting of a communicator: which one it is.
    pub(crate) fn arrive(&self, number: u64) -> u32 {
        match self.arrivals.borrow_mut().iter_mut().find(|(known, _)| *known == number) {
            Some((_, arrivals)) => {
                *arrivals = arrivals.wrapping_add(1);
                *arrivals
            }
            None => 0,
        }
    }

    /// How many times this rank has come to a meeting of a communicator.
    fn arrivals(&self, number: u64) -> u32 {
        let known = self.arrivals.borrow();
        known.iter().find(|(known, _)| *known == number).map_or(0, |(_, arrivals)| *arrivals)
    }

    /// The status that this rank publishes for its keeper.
    pub(crate) fn status(&self) -> &RankStatus {
        self.block.status(0)
    }

    /// The reason why this rank should leave, if there is one.
    pub(crate) fn stopped(&self) -> Option<CommError> {
        if let Some(error) = self.lost.get() {
            return Some(error.clone());
        }
        let error = self.block.stopped()?;
        if let CommError::Signalled { signal } = &error {
            // If only this rank received the signal, it notifies the others.
            self.notify_all(&signal_notice(*signal));
        }
        let _ = self.lost.set(error);
        self.lost.get().cloned()
    }

    /// Polls a request until it is complete. Fails if a rank is lost, if the run is stopped, after the
    /// timeout, or where `wait` shows that ranks wait for each other; the request is then never completed.
    pub(crate) fn wait(
        &self,
        request: &mut Handle,
        members: &[u32],
        mut wait: Option<Wait>,
    ) -> Result<(), CommError> {
        /// Tests of the request between two checks for notices, which are rare.
        const LOOKS: u32 = 64;
        /// If ranks share processors, a rank sleeps between tests after waiting for this time.
        const PATIENCE: Duration = Duration::from_millis(2);
        let library = &self.library;
        let start = Instant::now();
        let mut status = MpiStatus::default();
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
            self.status().set_activity(Activity::Waiting);
            self.listen()?;
            if let Some(error) = self.stopped() {
                return Err(error);
            }
            if let Some(wait) = &mut wait {
                self.look_for_ring(wait, members, start.elapsed())?;
            }
            if self.timeout.is_some_and(|timeout| start.elapsed() > timeout) {
                return Err(self.timed_out(members, start.elapsed()));
            }
        }
        self.status().set_activity(Activity::Running);
        Ok(())
    }

    /// Whether a request still becomes complete within a moment, although a rank leaves: it may have got what it leaves
    /// others to receive.
    pub(crate) fn arrives(&self, request: &mut Handle) -> bool {
        const MOMENT: Duration = Duration::from_secs(1);
        let (start, mut status, mut done) = (Instant::now(), MpiStatus::default(), 0);
        while start.elapsed() < MOMENT {
            // SAFETY: the request is one of this library's and not yet complete; the rest are live variables.
            let code = unsafe { (self.library.f.test)(request, &raw mut done, &raw mut status) };
            if code != 0 || done != 0 {
                return code == 0;
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        false
    }

    /// Reacts to questions, and asks the members of the communicator in which this rank waits if it is time to.
    fn look_for_ring(&self, wait: &mut Wait, members: &[u32], waited: Duration) -> Result<(), CommError> {
        if self.arrivals.borrow().len() < 2 {
            // Ranks of one communicator cannot wait for each other at different ones.
            return Ok(());
        }
        let ask = |question: Vec<u8>| {
            let notice = [&[QUESTION], &question[..]].concat();
            self.notify(members.iter().copied(), TAG_NOTICE, &notice);
        };
        for question in self.questions.take() {
            match wait.react(&question, |number| self.arrivals(number)) {
                Reaction::Ignore => {}
                Reaction::PassOn(question) => ask(question),
                Reaction::Ring(ring) => {
                    let text = ranks::meeting::ring(&ring);
                    self.part(&text);
                    return Err(CommError::Apart { text });
                }
            }
        }
        if wait.is_due(waited) {
            self.asked.set(self.asked.get().wrapping_add(1));
            ask(wait.question(self.rank, self.asked.get()));
        }
        Ok(())
    }

    /// As [`World::stopped`], after receiving the notices of other ranks.
    pub(crate) fn check_notices(&self) -> Result<Option<CommError>, CommError> {
        self.listen()?;
        Ok(self.stopped())
    }

    /// Receives the notices that have arrived: of ranks that leave, and questions.
    fn listen(&self) -> Result<(), CommError> {
        while let Some((rank, notice)) = self.receive(TAG_NOTICE)? {
            match notice.split_first() {
                Some((&QUESTION, question)) => self.questions.borrow_mut().push(question.to_vec()),
                _ => {
                    let _ = self.lost.set(cause_in(rank, &notice));
                }
            }
        }
        Ok(())
    }

    /// Receives the next control message with `tag`, if one has arrived: its sender and its bytes. The
    /// message begins with the sender's rank, so that no field of a status has to be read.
    pub(crate) fn receive(&self, tag: c_int) -> Result<Option<(u32, Vec<u8>)>, CommError> {
        let library = &self.library;
        let mut status = MpiStatus::default();
        let mut here = 0;
        // SAFETY: the control communicator is valid; flag and status are live.
        let code = unsafe {
            (library.f.iprobe)(library.k.any_source, tag, self.control, &raw mut here, &raw mut status)
        };
        library.check("MPI_Iprobe", code)?;
        if here == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0_u8; 4 + NOTICE];
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

    /// Sends a control message without waiting. Its memory is never freed, since the library may still be
    /// sending it when no one waits for the request.
    fn notify(&self, to: impl Iterator<Item = u32>, tag: c_int, notice: &[u8]) {
        let notice = &notice[..notice.len().min(NOTICE)];
        let message: &'static [u8] = [&self.rank.to_ne_bytes()[..], notice].concat().leak();
        for rank in to.filter(|rank| *rank != self.rank) {
            let request: &'static mut Handle = Box::leak(Box::new(0));
            // SAFETY: message and request are leaked.
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

    /// Notifies every rank of the reason why this one gives up.
    pub(crate) fn abandon(&self, reason: &str) {
        self.give_up(reason, CommError::RankLost { rank: self.rank, reason: reason.into() });
    }

    /// Notifies every rank that ranks reached different meetings, with the message `text`.
    pub(crate) fn part(&self, text: &str) {
        let reason = format!("rank {} gave up: {text}", self.rank);
        self.give_up(&reason, CommError::Apart { text: text.into() });
    }

    fn give_up(&self, reason: &str, cause: CommError) {
        if self.lost.get().is_none() {
            self.notify_all(&[&[LOST], reason.as_bytes()].concat());
        }
        let _ = self.lost.set(cause);
    }

    fn notify_all(&self, notice: &[u8]) {
        if !self.notified.replace(true) {
            self.notify(0..self.size, TAG_NOTICE, notice);
        }
    }

    /// After the time-out, waiting ranks exchange notices with their places; ranks without a notice, or at
    /// another place, are missing.
    fn timed_out(&self, members: &[u32], after: Duration) -> CommError {
        let mine = self.status().meeting(self.rank);
        self.notify(0..self.size, TAG_WAITS, &mine.to_ne_bytes());
        let others = members.iter().copied().filter(|rank| *rank != self.rank);
        // The places of missing ranks that have sent one.
        let mut missing: Vec<(u32, Option<u64>)> = others.map(|rank| (rank, None)).collect();
        let until = Instant::now() + Duration::from_secs(2).min(after);
        while Instant::now() < until && missing.iter().any(|(_, waits)| waits.is_none()) {
            match self.receive(TAG_WAITS) {
                Ok(Some((rank, notice))) => {
                    let theirs = notice.first_chunk::<8>().map_or(mine, |bytes| u64::from_ne_bytes(*bytes));
                    if ranks::meeting::is_same(theirs, mine) {
                        missing.retain(|(other, _)| *other != rank);
                    }
                    for (_, waits) in missing.iter_mut().filter(|(other, _)| *other == rank) {
                        *waits = Some(theirs);
                    }
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => break,
            }
            if self.listen().is_ok()
                && let Some(error) = self.lost.get()
            {
                return error.clone();
            }
        }
        let stands = |waits: Option<u64>| match waits {
            Some(theirs) => format!("it waits {}", ranks::meeting::place(theirs)),
            None => "it does not answer".into(),
        };
        let missing = missing.into_iter().map(|(rank, waits)| (rank, stands(waits))).collect();
        let error = CommError::TimedOut { line: self.status().line(), after, missing };
        self.abandon(&error.to_string());
        error
    }

    /// Finalizes MPI if no rank was lost, so that every rank reaches this call. Where the library does not end in time, the
    /// rank does: libraries have been seen to wait for ever here.
    pub(crate) fn finish(&self) {
        self.ended.set(true);
        self.block.announcement().conclude();
        end_within(self.timeout.map_or(FINALIZED_WITHIN, |timeout| timeout.min(FINALIZED_WITHIN)));
        // Questions that came too late to be of use.
        let _ = self.listen();
        // SAFETY: the last call to the library in this process.
        unsafe { (self.library.f.finalize)() };
    }

    /// Waits a moment for messages in flight to be sent: after a loss there is no collective end.
    pub(crate) fn linger(&self) {
        self.ended.set(true);
        let until = Instant::now() + Duration::from_millis(100);
        while Instant::now() < until && self.receive(TAG_WAITS).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Ends this process after `limit`, whatever it does then, also in an exit handler of the library.
fn end_within(limit: Duration) {
    extern "C" fn end(_: c_int) {
        // SAFETY: `_exit` may be called in a signal handler.
        unsafe { libc::_exit(ExitStatus::EndedAlone as i32) }
    }
    // SAFETY: the action is zeroed and filled as sigaction wants it, its handler calls `_exit` alone, and the set is live.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = end as extern "C" fn(c_int) as usize;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        let mut alarm: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut alarm, libc::SIGALRM);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const alarm, std::ptr::null_mut());
        libc::alarm(u32::try_from(limit.as_secs()).unwrap_or(u32::MAX).max(1));
    }
}

fn signal_notice(signal: i32) -> Vec<u8> {
    [&[SIGNALLED][..], &signal.to_ne_bytes()].concat()
}

/// The reason in the notice that `rank` sent.
fn cause_in(rank: u32, notice: &[u8]) -> CommError {
    let (kind, rest) = notice.split_first().unwrap_or((&LOST, &[]));
    match (*kind, rest.first_chunk::<4>()) {
        (SIGNALLED, Some(signal)) => CommError::Signalled { signal: i32::from_ne_bytes(*signal) },
        _ => CommError::RankLost { rank, reason: String::from_utf8_lossy(rest).into_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_distinguishes_a_signal_from_a_loss() {
        assert_eq!(cause_in(3, &signal_notice(15)), CommError::Signalled { signal: 15 });
        let reason = "the run was stopped by nobody".to_string();
        let notice = [&[LOST], reason.as_bytes()].concat();
        assert_eq!(cause_in(3, &notice), CommError::RankLost { rank: 3, reason });
    }
}
