//! The memory that the ranks of one machine share with their parent: the control block.
//!
//! One anonymous `MAP_SHARED` mapping made before the first fork, at the same address in every process: a
//! head, the barriers of the world and of every group, one [`RankSlot`] and one mailbox a rank. Pages that
//! nobody touches cost nothing.

use std::io;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::announcement::Announcement;
use crate::barrier::{BarrierSlot, Unmet, Waiter};
use crate::message::Message;
use crate::stuck::{Awaited, Waits, ring_through};
use crate::{Activity, CommError, RankStatus, meeting};

/// Communicators in one run, the world included.
pub(crate) const SLOTS: u32 = 1024;
/// Bytes that one rank can hand over between two barriers.
pub(crate) const MAILBOX: usize = 64 << 10;
/// Looks before sleeping: some ten microseconds, several times what a barrier between running ranks
/// takes, and less than sleeping and being woken costs.
const SPINS: u32 = 1000;
/// A rank that waits so long looks whether those that it waits for wait for it.
const PATIENCE: Duration = Duration::from_millis(200);

/// What all share once.
#[repr(C, align(64))]
struct Head {
    /// Barriers in use.
    slots: AtomicU32,
    /// Signal that asked the run to stop; 0: none.
    stop: AtomicU32,
    /// Under MPI: the number of the job; 0: not yet known.
    job: AtomicU64,
    job_size: AtomicU32,
    job_rank: AtomicU32,
    /// Under MPI: what the rank recorded is saved.
    saved: AtomicBool,
    /// Taken by whoever may write the reason.
    losing: AtomicBool,
    /// The first lost rank plus 1; 0: none. Set after the reason.
    lost: AtomicU32,
    /// The reason is that ranks came to different meetings.
    apart: AtomicBool,
    reason: Message,
    /// Under MPI: what the rank has announced.
    announcement: Announcement,
}

/// What one rank tells the others and the parent.
#[repr(C, align(64))]
pub(crate) struct RankSlot {
    /// What the rank does.
    pub(crate) status: RankStatus,
    /// Where it waits: `(barrier + 1) << 32 | generation`; 0: nowhere.
    waits: AtomicU64,
    /// For `split`: color + 1 in the upper half, key in the lower.
    pub(crate) color_key: AtomicU64,
    /// For `split`: the first of the new barriers, written by rank 0 of the old one.
    pub(crate) first_slot: AtomicU32,
    /// Length of what is being gathered.
    pub(crate) length: AtomicU64,
    message: Message,
}

/// Which job of an MPI launcher a rank belongs to, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobIdentity {
    /// A number that all ranks of the job agreed on; not 0.
    pub id: u64,
    /// The rank.
    pub rank: u32,
    /// Ranks in the job.
    pub size: u32,
}

/// Shared memory through which ranks meet and their parent watches them. A rank never unmaps it: it holds
/// references into it.
pub struct ControlBlock {
    base: *mut u8,
    bytes: usize,
    ranks: u32,
    /// Waiting may spin for a moment: there is a processor for every rank.
    spin: bool,
    timeout: Option<Duration>,
}

// SAFETY: everything behind `base` is reached through atomics, except messages and mailboxes,
// which are written by one rank and read by others only after an atomic hand-over.
unsafe impl Sync for ControlBlock {}
// SAFETY: as above; the pointer stays valid in every thread for the life of the process.
unsafe impl Send for ControlBlock {}

const HEAD: usize = 4096;
const _: () = assert!(size_of::<Head>() <= HEAD);

impl ControlBlock {
    /// Maps memory for `ranks` ranks, and makes the world's barrier. A rank waits there at most for
    /// `timeout`; `None`: for ever.
    ///
    /// # Errors
    /// As mmap(2).
    pub fn new(ranks: u32, timeout: Option<Duration>) -> io::Result<&'static Self> {
        let slots = ranks as usize * size_of::<RankSlot>();
        let members = SLOTS as usize * ranks as usize * size_of::<u32>();
        let bytes =
            HEAD + SLOTS as usize * size_of::<BarrierSlot>() + slots + members + ranks as usize * MAILBOX;
        // Anonymous, and not a memory file: that one would count against the limit of file sizes.
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no other memory.
        let base = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::SHARED | MapFlags::NORESERVE)?
        };
        let spin = std::thread::available_parallelism().is_ok_and(|cpus| ranks as usize <= cpus.get());
        let block: &'static Self =
            Box::leak(Box::new(Self { base: base.cast(), bytes, ranks, spin, timeout }));
        let everyone: Vec<u32> = (0..ranks).collect();
        block.head().slots.store(1, SeqCst);
        block.open_slot(0, &everyone);
        Ok(block)
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// Nothing uses the block in this process any more.
    pub(crate) unsafe fn release(&self) {
        // SAFETY: the mapping is ours and has this length; the caller promises that it is not used after.
        let _ = unsafe { munmap(self.base.cast(), self.bytes) };
    }

    fn head(&self) -> &Head {
        // SAFETY: the mapping begins with a page for the head; zero bytes are valid atomics.
        unsafe { &*self.base.cast::<Head>() }
    }

    fn slot(&self, index: u32) -> &BarrierSlot {
        assert!(index < SLOTS);
        // SAFETY: SLOTS barriers lie behind the head, aligned to 64 bytes; zero bytes are valid atomics.
        unsafe { &*self.base.add(HEAD).cast::<BarrierSlot>().add(index as usize) }
    }

    /// What rank `rank` of the world publishes.
    pub(crate) fn rank(&self, rank: u32) -> &RankSlot {
        assert!(rank < self.ranks);
        let offset = HEAD + SLOTS as usize * size_of::<BarrierSlot>();
        // SAFETY: one slot a rank lies behind the barriers; zero bytes are valid for all its fields.
        unsafe { &*self.base.add(offset).cast::<RankSlot>().add(rank as usize) }
    }

    fn members_of(&self, slot: u32) -> *mut u32 {
        let offset =
            HEAD + SLOTS as usize * size_of::<BarrierSlot>() + self.ranks as usize * size_of::<RankSlot>();
        // SAFETY: SLOTS lists of `ranks` numbers lie behind the ranks' slots, and `slot` is below SLOTS.
        unsafe { self.base.add(offset).cast::<u32>().add(slot as usize * self.ranks as usize) }
    }

    /// World ranks of those who meet at barrier `slot`, in the order of their ranks in it.
    pub(crate) fn members(&self, slot: u32) -> &[u32] {
        let size = self.slot(slot).size() as usize;
        // SAFETY: the list was written before the size was stored and is never written again.
        unsafe { std::slice::from_raw_parts(self.members_of(slot), size) }
    }

    /// Makes a barrier ready for `members`. One rank does it, before the others learn of it.
    pub(crate) fn open_slot(&self, slot: u32, members: &[u32]) {
        assert!(slot < SLOTS && members.len() <= self.ranks as usize);
        // SAFETY: the list has room for every rank, and nobody reads it before the size is stored.
        unsafe { std::ptr::copy_nonoverlapping(members.as_ptr(), self.members_of(slot), members.len()) };
        self.slot(slot).set_size(members.len() as u32);
    }

    /// Takes `count` unused barriers; the number of the first.
    ///
    /// # Errors
    /// Where there are not so many.
    pub(crate) fn take_slots(&self, count: u32) -> Result<u32, CommError> {
        let first = self.head().slots.fetch_add(count, SeqCst);
        if first.saturating_add(count) > SLOTS {
            self.head().slots.fetch_sub(count, SeqCst);
            return Err(CommError::TooManyGroups { wanted: count, limit: SLOTS });
        }
        Ok(first)
    }

    /// The mailbox of a rank: `MAILBOX` bytes that it writes and others read after a barrier.
    pub(crate) fn mailbox(&self, rank: u32) -> *mut u8 {
        assert!(rank < self.ranks);
        let offset = HEAD
            + SLOTS as usize * size_of::<BarrierSlot>()
            + self.ranks as usize * size_of::<RankSlot>()
            + SLOTS as usize * self.ranks as usize * size_of::<u32>();
        // SAFETY: one mailbox a rank lies at the end of the mapping.
        unsafe { self.base.add(offset + rank as usize * MAILBOX) }
    }

    /// Meets the other members of barrier `slot` as the world's rank `me`.
    pub(crate) fn barrier(&self, slot: u32, me: u32, value: u64) -> Result<u64, CommError> {
        let mine = self.rank(me);
        let mut waiter = RankWaiter { block: self, slot, me, mine, since: None, ring: None };
        let met = self.slot(slot).meet(value, &mut waiter);
        let after = waiter.since.map(|since| since.elapsed()).unwrap_or_default();
        let ring = waiter.ring.unwrap_or_default();
        match met {
            Ok(largest) => {
                mine.waits.store(0, Relaxed);
                Ok(largest)
            }
            Err(Unmet::Closed) => Err(self.why_closed(slot)),
            Err(Unmet::TimedOut(generation)) => {
                let error = self.timed_out(slot, me, generation, after);
                self.lose(me, &error.to_string());
                Err(error)
            }
            Err(Unmet::Apart(theirs)) => Err(self.apart(me, meeting::apart(theirs, mine.status.meeting(me)))),
            Err(Unmet::Stuck) => Err(self.apart(me, meeting::ring(&ring))),
        }
    }

    /// Ranks came to different meetings: the run ends.
    fn apart(&self, me: u32, text: String) -> CommError {
        let error = CommError::Apart { text };
        self.head().apart.store(true, SeqCst);
        self.lose(me, &error.to_string());
        error
    }

    /// A member of barrier `slot` has completed the phase of this number.
    pub(crate) fn raise(&self, slot: u32, phase: u64) {
        self.slot(slot).raise(phase);
    }

    /// Has one?
    pub(crate) fn raised(&self, slot: u32, phase: u64) -> bool {
        self.slot(slot).raised(phase)
    }

    fn timed_out(&self, slot: u32, me: u32, generation: u32, after: Duration) -> CommError {
        let here = waits_at(slot, generation);
        let missing = self
            .members(slot)
            .iter()
            .filter(|rank| self.rank(**rank).waits.load(Relaxed) != here)
            .map(|rank| (*rank, self.status(*rank).describe()))
            .collect();
        CommError::TimedOut { line: self.status(me).line(), after, missing }
    }

    fn why_closed(&self, slot: u32) -> CommError {
        self.stopped().unwrap_or_else(|| {
            let rank = self.slot(slot).ended().unwrap_or_default();
            let reason =
                format!("rank {rank} reached the end of its program, but a barrier still waits for it");
            CommError::RankLost { rank, reason }
        })
    }

    /// Is the run to stop? Two loads: ranks ask before each operation.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        let head = self.head();
        head.lost.load(Acquire) != 0 || head.stop.load(Acquire) != 0
    }

    /// Why the run is to stop, if it is: [`CommError::RankLost`] or [`CommError::Signalled`].
    pub fn stopped(&self) -> Option<CommError> {
        let head = self.head();
        if let Some(rank) = head.lost.load(Acquire).checked_sub(1) {
            let reason = head.reason.get().unwrap_or_else(|| format!("rank {rank} is lost"));
            return Some(CommError::RankLost { rank, reason });
        }
        match head.stop.load(Acquire) {
            0 => None,
            signal => Some(CommError::Signalled { signal: signal as i32 }),
        }
    }

    /// The same as rank `me` sees it: the one that noticed that ranks came to different meetings says so itself.
    pub(crate) fn stopped_of(&self, me: u32) -> Option<CommError> {
        match self.stopped()? {
            CommError::RankLost { rank, reason } if rank == me && self.head().apart.load(SeqCst) => {
                Some(CommError::Apart { text: reason })
            }
            other => Some(other),
        }
    }

    /// What a rank does.
    pub fn status(&self, rank: u32) -> &RankStatus {
        &self.rank(rank).status
    }

    /// Keeps the message of a rank; the first one stays.
    pub fn set_message(&self, rank: u32, text: &str) {
        self.rank(rank).message.set(text);
    }

    /// The message of a rank, if it has one.
    pub(crate) fn message(&self, rank: u32) -> Option<String> {
        self.rank(rank).message.get()
    }

    /// Declares a rank lost: every waiting rank leaves with its message. The first one counts.
    /// `reason` is a whole clause: `rank 3 was killed by SIGKILL`.
    pub fn lose(&self, rank: u32, reason: &str) {
        let head = self.head();
        if !head.losing.swap(true, SeqCst) {
            head.reason.set(reason);
            head.lost.store(rank + 1, SeqCst);
        }
        self.close_all();
    }

    /// Asks everyone to stop because of a signal.
    pub fn stop(&self, signal: i32) {
        self.head().stop.store(signal as u32, SeqCst);
        self.close_all();
    }

    /// Passes on why another part of the job stops.
    pub fn stop_because(&self, cause: &CommError) {
        match cause {
            CommError::RankLost { rank, reason } => self.lose(*rank, reason),
            CommError::Signalled { signal } => self.stop(*signal),
            CommError::Stopped { .. }
            | CommError::TimedOut { .. }
            | CommError::Apart { .. }
            | CommError::TooManyGroups { .. }
            | CommError::Mpi { .. } => self.lose(0, &cause.to_string()),
        }
    }

    /// A rank reached its end: barriers it belongs to can never complete again.
    pub(crate) fn end(&self, rank: u32) {
        self.status(rank).set_activity(Activity::Ended);
        for slot in 0..self.slots_in_use() {
            if self.members(slot).contains(&rank) {
                self.slot(slot).close_for(rank);
            }
        }
    }

    fn slots_in_use(&self) -> u32 {
        self.head().slots.load(SeqCst).min(SLOTS)
    }

    fn close_all(&self) {
        (0..self.slots_in_use()).for_each(|slot| self.slot(slot).close());
    }

    /// Tells the parent which MPI job this is.
    pub fn set_job(&self, job: JobIdentity) {
        let head = self.head();
        head.job_rank.store(job.rank, Relaxed);
        head.job_size.store(job.size, Relaxed);
        head.job.store(job.id, Release);
    }

    /// The MPI job, once it is known.
    pub fn job(&self) -> Option<JobIdentity> {
        let head = self.head();
        let id = head.job.load(Acquire);
        let (rank, size) = (head.job_rank.load(Relaxed), head.job_size.load(Relaxed));
        (id != 0).then_some(JobIdentity { id, rank, size })
    }

    /// Under MPI: what the rank has announced.
    pub fn announcement(&self) -> &Announcement {
        &self.head().announcement
    }

    /// What the rank recorded is saved.
    pub fn set_saved(&self) {
        self.head().saved.store(true, SeqCst);
    }

    /// Whether it is.
    pub fn saved(&self) -> bool {
        self.head().saved.load(SeqCst)
    }

    /// How many ranks share the block.
    pub(crate) fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Whether ranks spin for a moment before they sleep.
    pub(crate) fn spins(&self) -> bool {
        self.spin
    }
}

impl Waits for ControlBlock {
    fn awaited(&self, rank: u32) -> Option<Awaited> {
        let waits = self.rank(rank).waits.load(Acquire);
        let (slot, generation) = (((waits >> 32) as u32).checked_sub(1)?, waits as u32);
        self.slot(slot).is_pending(generation).then_some(Awaited { slot, generation })
    }

    fn members(&self, slot: u32) -> &[u32] {
        self.members(slot)
    }
}

fn waits_at(slot: u32, generation: u32) -> u64 {
    u64::from(slot + 1) << 32 | u64::from(generation)
}

/// A rank at a barrier: others see where it waits, and that it waits.
struct RankWaiter<'b> {
    block: &'b ControlBlock,
    slot: u32,
    me: u32,
    mine: &'b RankSlot,
    /// When it went to sleep.
    since: Option<Instant>,
    /// Once it has looked: the meetings of the ranks that wait for each other, packed; empty where none do.
    ring: Option<Vec<u64>>,
}

impl RankWaiter<'_> {
    fn waited(&self) -> Duration {
        self.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// It has still to look whether ranks wait for each other, which only those of several groups can.
    fn has_to_look(&self) -> bool {
        self.ring.is_none() && self.block.slots_in_use() > 1
    }
}

impl Waiter for RankWaiter<'_> {
    fn meeting(&self) -> u64 {
        self.mine.status.meeting(self.me)
    }

    fn arrives(&mut self, generation: u32) {
        self.mine.waits.store(waits_at(self.slot, generation), Release);
    }

    fn other(&self, generation: u32) -> Option<u64> {
        let here = waits_at(self.slot, generation);
        let arrived = |rank: &&u32| self.block.rank(**rank).waits.load(Acquire) == here;
        let members = self.block.members(self.slot).iter().filter(arrived);
        let mut meetings = members.map(|rank| self.block.status(*rank).meeting(*rank));
        meetings.find(|theirs| !meeting::is_same(*theirs, self.meeting()))
    }

    fn spins(&self) -> u32 {
        if self.block.spin { SPINS } else { 0 }
    }

    fn sleeps(&mut self, sleeping: bool) {
        self.mine.status.set_activity(if sleeping { Activity::Waiting } else { Activity::Running });
        if sleeping {
            self.since = Some(Instant::now());
        }
    }

    fn remaining(&mut self) -> Option<Duration> {
        let waited = self.waited();
        let left = self.block.timeout.map(|timeout| timeout.saturating_sub(waited));
        let look = PATIENCE.saturating_sub(waited).max(Duration::from_millis(1));
        match self.has_to_look() {
            true => Some(left.map_or(look, |left| left.min(look))),
            false => left,
        }
    }

    /// Looks once, after a while: of ranks that wait for each other the last to look sees all the others.
    fn is_stuck(&mut self) -> bool {
        if !self.has_to_look() || self.waited() < PATIENCE {
            return false;
        }
        let ring = ring_through(self.me, self.block);
        let ring = ring.iter().map(|rank| self.block.status(*rank).meeting(*rank)).collect();
        self.ring.insert(ring).len() > 1
    }
}

/// Says, without a communicator at hand, that the run is to stop: between the system calls of an operation
/// that makes many.
#[derive(Clone, Copy, Default)]
pub struct StopFlag(pub Option<&'static ControlBlock>);

impl StopFlag {
    /// As [`crate::Comm::stopped`], as far as this machine knows.
    pub fn why(self) -> Option<CommError> {
        self.0.and_then(ControlBlock::stopped)
    }
}
