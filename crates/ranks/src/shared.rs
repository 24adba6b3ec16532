//! What lies in the memory that the ranks of one machine and their parent share?
//!
//! One anonymous `MAP_SHARED` mapping made before the first fork, at the same address in every
//! process: a head, one [`RankState`] and one mailbox a rank, and room for the meeting points
//! ([`Cell`]) of the world and of every group. Pages nobody touches cost nothing.

use std::io;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use std::time::Duration;

use super::{CommError, Standing, State, futex};

/// Communicators in one run, the world included.
pub const CELLS: u32 = 1024;
/// Bytes that one rank can hand over between two barriers.
pub const MAILBOX: usize = 64 << 10;
/// The longest message of a failed rank, in bytes; the rest is cut.
const MESSAGE: usize = 1984;
/// Lowest bit of a cell's generation: nobody will be released here again.
const POISON: u32 = 1;

/// What all share once.
#[repr(C, align(64))]
struct Head {
    cells: AtomicU32,
    /// Signal that asked the run to stop; 0: none.
    stop: AtomicU32,
    /// Under MPI, where one rank shares this with its parent: a number that all ranks of the job
    /// agreed on (0: not yet), its size, and this rank's number.
    job: AtomicU64,
    job_size: AtomicU32,
    job_rank: AtomicU32,
    /// Under MPI: what the rank left is saved.
    saved: AtomicBool,
    /// Taken by whoever may write the reason.
    losing: AtomicBool,
    /// The first lost rank plus 1; 0: none. Set after the reason.
    lost: AtomicU32,
    reason: Message,
}

/// Text that one process writes once and others read.
#[repr(C)]
struct Message {
    taken: AtomicBool,
    length: AtomicU32,
    bytes: [std::cell::UnsafeCell<u8>; MESSAGE],
}

impl Message {
    /// Keeps `text`, cut to what fits; the first text stays.
    fn set(&self, text: &str) {
        if self.taken.swap(true, SeqCst) {
            return;
        }
        let mut end = text.len().min(MESSAGE);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (cell, byte) in self.bytes.iter().zip(&text.as_bytes()[..end]) {
            // SAFETY: only whoever set `taken` writes, and readers wait for the length.
            unsafe { *cell.get() = *byte };
        }
        self.length.store(end as u32, Release);
    }

    fn get(&self) -> Option<String> {
        let length = self.length.load(Acquire) as usize;
        // SAFETY: bytes up to the published length are written and never change.
        let bytes: Vec<u8> = self.bytes[..length].iter().map(|cell| unsafe { *cell.get() }).collect();
        (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What one rank tells the others and the parent.
#[repr(C, align(64))]
pub struct RankState {
    /// Where the rank stands.
    pub standing: Standing,
    /// Where it waits: `(cell + 1) << 32 | generation`; 0: nowhere.
    waits: AtomicU64,
    /// For `split`: color + 1 in the upper half, key in the lower.
    pub color_key: AtomicU64,
    /// For `split`: the first of the new cells, written by rank 0 of the old one.
    pub first_cell: AtomicU32,
    /// Length of what is being broadcast or gathered.
    pub length: AtomicU64,
    message: Message,
}

/// A meeting point: a barrier that counts generations, so that it is ready again at once.
#[repr(C, align(64))]
pub struct Cell {
    /// Even numbers; the lowest bit is [`POISON`].
    generation: AtomicU32,
    arrived: AtomicU32,
    sleepers: AtomicU32,
    size: AtomicU32,
    /// Member that ended its program (world rank + 1): it will never come again.
    ended: AtomicU32,
    /// Largest value of even and of odd generations: the one not in use is cleared by the last to come.
    largest: [AtomicU64; 2],
    /// The last phase with a stonewall that a member is through with.
    raised: AtomicU64,
}

/// The mapping, seen from any process. A rank never unmaps it: it holds references into it.
pub struct Region {
    base: *mut u8,
    bytes: usize,
    ranks: u32,
    /// Waiting may spin for a moment: there is a processor for every rank.
    spin: bool,
    timeout: Option<Duration>,
}

// SAFETY: everything behind `base` is reached through atomics, except messages and mailboxes,
// which are written by one rank and read by others only after an atomic hand-over.
unsafe impl Sync for Region {}
// SAFETY: as above; the pointer stays valid in every thread for the life of the process.
unsafe impl Send for Region {}

const HEAD: usize = 4096;
const _: () = assert!(size_of::<Head>() <= HEAD);

impl Region {
    /// Maps memory for `ranks` ranks and makes the world's cell.
    pub fn new(ranks: u32, timeout: Option<Duration>) -> io::Result<&'static Self> {
        let states = ranks as usize * size_of::<RankState>();
        let members = CELLS as usize * ranks as usize * size_of::<u32>();
        let bytes = HEAD + CELLS as usize * size_of::<Cell>() + states + members + ranks as usize * MAILBOX;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no other memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let spin = std::thread::available_parallelism().is_ok_and(|cpus| ranks as usize <= cpus.get());
        let region: &'static Self =
            Box::leak(Box::new(Self { base: base.cast(), bytes, ranks, spin, timeout }));
        let everyone: Vec<u32> = (0..ranks).collect();
        region.head().cells.store(1, SeqCst);
        region.make_cell(0, &everyone);
        Ok(region)
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// Nothing uses the region in this process any more.
    pub unsafe fn release(&self) {
        // SAFETY: the mapping is ours and has this length; the caller promises that it is not used after.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }

    fn head(&self) -> &Head {
        // SAFETY: the mapping begins with a page for the head; zero bytes are valid atomics.
        unsafe { &*self.base.cast::<Head>() }
    }

    /// The meeting point number `index`.
    pub fn cell(&self, index: u32) -> &Cell {
        assert!(index < CELLS);
        // SAFETY: CELLS cells lie behind the head, aligned to 64 bytes; zero bytes are valid atomics.
        unsafe { &*self.base.add(HEAD).cast::<Cell>().add(index as usize) }
    }

    /// What rank `rank` of the world publishes.
    pub fn rank(&self, rank: u32) -> &RankState {
        assert!(rank < self.ranks);
        let offset = HEAD + CELLS as usize * size_of::<Cell>();
        // SAFETY: one state a rank lies behind the cells; zero bytes are valid for all its fields.
        unsafe { &*self.base.add(offset).cast::<RankState>().add(rank as usize) }
    }

    fn members_of(&self, cell: u32) -> *mut u32 {
        let offset = HEAD + CELLS as usize * size_of::<Cell>() + self.ranks as usize * size_of::<RankState>();
        // SAFETY: CELLS lists of `ranks` numbers lie behind the states, and `cell` is below CELLS.
        unsafe { self.base.add(offset).cast::<u32>().add(cell as usize * self.ranks as usize) }
    }

    /// World ranks of the members of a cell, in the order of their ranks in it.
    pub fn members(&self, cell: u32) -> &[u32] {
        let size = self.cell(cell).size.load(Acquire) as usize;
        // SAFETY: the list was written before `size` was stored and is never written again.
        unsafe { std::slice::from_raw_parts(self.members_of(cell), size) }
    }

    /// Makes a cell ready for `members`. One rank does it, before the others learn of the cell.
    pub fn make_cell(&self, index: u32, members: &[u32]) {
        assert!(index < CELLS && members.len() <= self.ranks as usize);
        // SAFETY: the list has room for every rank, and nobody reads it before `size` is stored.
        unsafe { std::ptr::copy_nonoverlapping(members.as_ptr(), self.members_of(index), members.len()) };
        self.cell(index).size.store(members.len() as u32, Release);
    }

    /// Takes `count` unused cells; the number of the first, or an error when there are not so many.
    pub fn take_cells(&self, count: u32) -> Result<u32, CommError> {
        let first = self.head().cells.fetch_add(count, SeqCst);
        if first.saturating_add(count) > CELLS {
            self.head().cells.fetch_sub(count, SeqCst);
            return Err(CommError::TooManyGroups { wanted: count, limit: CELLS });
        }
        Ok(first)
    }

    /// The mailbox of a rank: `MAILBOX` bytes that it writes and others read after a barrier.
    pub fn mailbox(&self, rank: u32) -> *mut u8 {
        assert!(rank < self.ranks);
        let offset = HEAD
            + CELLS as usize * size_of::<Cell>()
            + self.ranks as usize * size_of::<RankState>()
            + CELLS as usize * self.ranks as usize * size_of::<u32>();
        // SAFETY: one mailbox a rank lies at the end of the mapping.
        unsafe { self.base.add(offset + rank as usize * MAILBOX) }
    }

    /// The barrier of one cell, for the world's rank `me`.
    pub fn barrier(&self, index: u32, me: u32, value: u64) -> Result<u64, CommError> {
        let cell = self.cell(index);
        let generation = cell.generation.load(Acquire);
        if generation & POISON != 0 {
            return Err(self.why(index));
        }
        let largest = &cell.largest[(generation as usize >> 1) & 1];
        let state = self.rank(me);
        state.waits.store(u64::from(index + 1) << 32 | u64::from(generation), Relaxed);
        largest.fetch_max(value, Relaxed);
        if cell.arrived.fetch_add(1, SeqCst) + 1 == cell.size.load(Relaxed) {
            cell.largest[(generation as usize >> 1 & 1) ^ 1].store(0, Relaxed);
            cell.arrived.store(0, Relaxed);
            cell.generation.fetch_add(2, SeqCst);
            if cell.sleepers.load(SeqCst) > 0 {
                futex::wake_all(&cell.generation);
            }
        } else {
            self.wait(index, me, generation)?;
        }
        state.waits.store(0, Relaxed);
        Ok(largest.load(Acquire))
    }

    /// A member of the cell is through with the phase of this number.
    pub fn raise(&self, index: u32, phase: u64) {
        self.cell(index).raised.fetch_max(phase, Relaxed);
    }

    /// Is one?
    pub fn raised(&self, index: u32, phase: u64) -> bool {
        self.cell(index).raised.load(Relaxed) >= phase
    }

    fn wait(&self, index: u32, me: u32, generation: u32) -> Result<(), CommError> {
        let cell = self.cell(index);
        // Released comes before poisoned: who was released by a rank that died later goes on.
        let look = || match cell.generation.load(Acquire) {
            now if now & !POISON != generation => Some(Ok(())),
            now if now & POISON != 0 => Some(Err(self.why(index))),
            _ => None,
        };
        if self.spin {
            for _ in 0..SPINS {
                if let Some(seen) = look() {
                    return seen;
                }
                std::hint::spin_loop();
            }
        }
        let state = self.rank(me);
        state.standing.set_state(State::Waiting);
        let start = std::time::Instant::now();
        cell.sleepers.fetch_add(1, SeqCst);
        let seen = loop {
            if let Some(seen) = look() {
                break seen;
            }
            let left = self.timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                let error = self.timed_out(index, me, generation, start.elapsed());
                self.lose(me, &error.to_string());
                break Err(error);
            }
            futex::wait(&cell.generation, generation, left);
        };
        cell.sleepers.fetch_sub(1, SeqCst);
        state.standing.set_state(State::Running);
        seen
    }

    fn timed_out(&self, index: u32, me: u32, generation: u32, after: Duration) -> CommError {
        let here = u64::from(index + 1) << 32 | u64::from(generation);
        let missing = self
            .members(index)
            .iter()
            .filter(|rank| self.rank(**rank).waits.load(Relaxed) != here)
            .map(|rank| (*rank, self.rank(*rank).standing.words()))
            .collect();
        CommError::TimedOut { line: self.rank(me).standing.line(), after, missing }
    }

    /// Why nobody is released at this cell any more.
    fn why(&self, index: u32) -> CommError {
        if let Some(error) = self.stopped() {
            return error;
        }
        let ended = self.cell(index).ended.load(Acquire).saturating_sub(1);
        CommError::RankLost {
            rank: ended,
            reason: format!("rank {ended} reached the end of its program, but a barrier still waits for it"),
        }
    }

    /// Why the run is to stop, if it is.
    pub fn stopped(&self) -> Option<CommError> {
        let head = self.head();
        if head.lost.load(Acquire) != 0 {
            let rank = head.lost.load(Acquire) - 1;
            let reason = head.reason.get().unwrap_or_else(|| format!("rank {rank} is lost"));
            return Some(CommError::RankLost { rank, reason });
        }
        match head.stop.load(Acquire) {
            0 => None,
            signal => Some(CommError::Stopped { by: crate::signals::words(signal as i32) }),
        }
    }

    /// Keeps the message of a rank; the first one stays.
    pub fn set_message(&self, rank: u32, text: &str) {
        self.rank(rank).message.set(text);
    }

    /// The message a rank left, if it left one.
    pub fn message(&self, rank: u32) -> Option<String> {
        self.rank(rank).message.get()
    }

    /// Declares a rank lost: everyone who waits anywhere leaves with its message. First one counts.
    /// `reason` is a whole clause: `rank 3 was killed by SIGKILL`.
    pub fn lose(&self, rank: u32, reason: &str) {
        let head = self.head();
        if !head.losing.swap(true, SeqCst) {
            head.reason.set(reason);
            head.lost.store(rank + 1, SeqCst);
        }
        self.poison_all();
    }

    /// Asks everyone to stop because of a signal.
    pub fn stop(&self, signal: i32) {
        self.head().stop.store(signal as u32, SeqCst);
        self.poison_all();
    }

    /// A rank reached its end: barriers it belongs to can never complete again.
    pub fn end(&self, rank: u32) {
        self.rank(rank).standing.set_state(State::Ended);
        for index in 0..self.cells_made() {
            if self.members(index).contains(&rank) {
                let _ = self.cell(index).ended.compare_exchange(0, rank + 1, SeqCst, SeqCst);
                self.poison(index);
            }
        }
    }

    fn cells_made(&self) -> u32 {
        self.head().cells.load(SeqCst).min(CELLS)
    }

    fn poison_all(&self) {
        (0..self.cells_made()).for_each(|index| self.poison(index));
    }

    fn poison(&self, index: u32) {
        let cell = self.cell(index);
        cell.generation.fetch_or(POISON, SeqCst);
        futex::wake_all(&cell.generation);
    }

    /// Tells the parent which MPI job this is.
    pub fn set_job(&self, job: u64, rank: u32, size: u32) {
        let head = self.head();
        head.job_rank.store(rank, Relaxed);
        head.job_size.store(size, Relaxed);
        head.job.store(job, Release);
    }

    /// The job's number, this rank in it and its size, once they are known.
    pub fn job(&self) -> Option<(u64, u32, u32)> {
        let head = self.head();
        let job = head.job.load(Acquire);
        (job != 0).then(|| (job, head.job_rank.load(Relaxed), head.job_size.load(Relaxed)))
    }

    /// What the rank left is saved.
    pub fn set_saved(&self) {
        self.head().saved.store(true, SeqCst);
    }

    /// Whether it is.
    pub fn saved(&self) -> bool {
        self.head().saved.load(SeqCst)
    }

    /// How many ranks share the region.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Whether ranks spin for a moment before they sleep.
    pub fn spins(&self) -> bool {
        self.spin
    }
}

/// Looks before sleeping: some ten microseconds, several times what a barrier between running ranks
/// takes, and less than sleeping and being woken costs.
const SPINS: u32 = 1000;
