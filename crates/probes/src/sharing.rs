//! Implements the kernels of processors that share memory: a cache line that moves, atomic operations, a lock that is
//! handed over, a signal.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use machine::affinity::{self, Pinned};

use crate::crew::Crew;
use crate::error::Error;
use crate::kernel::Probe;
use crate::loaded::MOST_LOADERS;

/// A word alone in its cache line and the next, which processors fetch together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// A word that two processors write in turn: how long a cache line takes from one to the other. An operation is one
/// way.
#[derive(Debug)]
pub struct CorePingPong {
    line: Arc<Line>,
    turn: u64,
    crew: Crew,
    _pinned: Pinned,
}

impl CorePingPong {
    /// Between the processors `first`, to which this thread is pinned, and `second`.
    pub fn new(first: u32, second: u32) -> Result<Self, Error> {
        let allowed = affinity::allowed();
        let known = |cpu: u32| u16::try_from(cpu).ok().filter(|cpu| allowed.contains(cpu));
        let (Some(here), Some(there), true) = (known(first), known(second), first != second) else {
            let allowed: Vec<String> = allowed.iter().map(u16::to_string).collect();
            return Err(Error::NoPair { first, second, allowed: allowed.join(", ") });
        };
        let line = Arc::new(Line::default());
        let crew = Crew::start([answerer(Arc::clone(&line), there)])?;
        let pinned = affinity::pin(here);
        let pinned = pinned.map_err(|source| Error::System { call: "sched_setaffinity", source })?;
        Ok(Self { line, turn: 0, crew, _pinned: pinned })
    }
}

/// Answers odd numbers by the next even one, a few thousand looks at a time.
fn answerer(line: Arc<Line>, there: u16) -> impl FnMut() + Send + 'static {
    let mut pinned = false;
    move || {
        if !pinned {
            // Where the OS kernel refuses, it runs where it is put.
            affinity::pin(there).map(Pinned::keep).ok();
            pinned = true;
        }
        for _ in 0..10_000 {
            let turn = line.0.load(Ordering::Acquire);
            if turn % 2 == 1 {
                line.0.store(turn + 1, Ordering::Release);
            }
            spin_loop();
        }
    }
}

impl Probe for CorePingPong {
    fn prepare(&mut self, _: u32) {
        self.crew.begin();
    }

    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        for _ in 0..count / 2 {
            self.line.0.store(self.turn + 1, Ordering::Release);
            self.turn += 2;
            while self.line.0.load(Ordering::Acquire) != self.turn {
                spin_loop();
            }
        }
        self.crew.end();
        0
    }

    fn min_count(&self) -> u32 {
        2
    }
}

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicKind {
    /// Adds 1 and gives the old value.
    Add,
    /// Stores a value if the word holds the expected one.
    CompareExchange,
    /// Stores a value and gives the old one.
    Exchange,
}

/// Atomic operations on one word, which other threads may use as well.
#[derive(Debug)]
pub struct AtomicWord {
    word: Arc<Line>,
    kind: AtomicKind,
    crew: Crew,
}

impl AtomicWord {
    /// With so many `others` that do the same to the same word meanwhile.
    pub fn new(kind: AtomicKind, others: u32) -> Result<Self, Error> {
        let word = Arc::new(Line::default());
        let work = (0..others.min(MOST_LOADERS)).map(|_| {
            let word = Arc::clone(&word);
            move || (0..1_000).for_each(|_| once(&word.0, kind))
        });
        Ok(Self { crew: Crew::start(work)?, word, kind })
    }
}

#[inline(always)]
fn once(word: &AtomicU64, kind: AtomicKind) {
    match kind {
        AtomicKind::Add => {
            black_box(word.fetch_add(1, Ordering::AcqRel));
        }
        AtomicKind::CompareExchange => {
            let found = word.load(Ordering::Relaxed);
            let next = found.wrapping_add(1);
            let _ = black_box(word.compare_exchange(found, next, Ordering::AcqRel, Ordering::Relaxed));
        }
        AtomicKind::Exchange => {
            black_box(word.swap(7, Ordering::AcqRel));
        }
    }
}

impl Probe for AtomicWord {
    fn prepare(&mut self, _: u32) {
        self.crew.begin();
    }

    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        (0..count).for_each(|_| once(&self.word.0, self.kind));
        self.crew.end();
        0
    }
}

/// Whose turn it is, and the condition that it changed.
#[derive(Debug, Default)]
struct Turn {
    theirs: Mutex<bool>,
    changed: Condvar,
    ending: AtomicBool,
}

impl Turn {
    /// Waits for the turn of one side; false when the other has gone.
    fn take(&self, theirs: bool) -> bool {
        let mut turn = self.theirs.lock().unwrap_or_else(PoisonError::into_inner);
        while *turn != theirs {
            if self.ending.load(Ordering::Acquire) {
                return false;
            }
            turn = self.changed.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn give(&self, theirs: bool) {
        *self.theirs.lock().unwrap_or_else(PoisonError::into_inner) = theirs;
        self.changed.notify_one();
    }
}

/// A lock with a condition that two threads hand to each other, both sleeping until it is theirs. An operation is one
/// hand-over.
#[derive(Debug)]
pub struct MutexHandover {
    turn: Arc<Turn>,
    partner: Option<std::thread::JoinHandle<()>>,
}

impl MutexHandover {
    /// Starts the other thread.
    pub fn new() -> Result<Self, Error> {
        let turn = Arc::new(Turn::default());
        let shared = Arc::clone(&turn);
        let partner = std::thread::Builder::new().spawn(move || {
            affinity::unpin();
            while shared.take(true) {
                shared.give(false);
            }
        });
        let partner = partner.map_err(|source| Error::System { call: "pthread_create", source })?;
        Ok(Self { turn, partner: Some(partner) })
    }
}

impl Probe for MutexHandover {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        for _ in 0..count / 2 {
            self.turn.give(true);
            if !self.turn.take(false) {
                return libc::ESRCH;
            }
        }
        0
    }

    fn min_count(&self) -> u32 {
        2
    }
}

impl Drop for MutexHandover {
    fn drop(&mut self) {
        {
            let _held = self.turn.theirs.lock().unwrap_or_else(PoisonError::into_inner);
            self.turn.ending.store(true, Ordering::Release);
        }
        self.turn.changed.notify_all();
        if let Some(partner) = self.partner.take() {
            let _ = partner.join();
        }
    }
}

/// Signals that the handler has seen.
static SEEN: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_signal(_: libc::c_int) {
    SEEN.fetch_add(1, Ordering::Relaxed);
}

/// A signal that a thread sends to itself, with its handler.
pub struct SelfSignal {
    number: libc::c_int,
    before: libc::sigaction,
}

impl SelfSignal {
    /// Installs a handler for a real-time signal that nobody else uses.
    pub fn new() -> Result<Self, Error> {
        let number = libc::SIGRTMIN() + 7;
        // SAFETY: all zeros are a valid `sigaction`.
        let (mut action, mut before) = unsafe { (std::mem::zeroed::<libc::sigaction>(), std::mem::zeroed()) };
        action.sa_sigaction = count_signal as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: both point to valid structs; the handler only adds to an atomic counter.
        if unsafe { libc::sigaction(number, &action, &mut before) } != 0 {
            return Err(Error::System { call: "sigaction", source: std::io::Error::last_os_error() });
        }
        Ok(Self { number, before })
    }
}

impl std::fmt::Debug for SelfSignal {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "SelfSignal({})", self.number)
    }
}

impl Drop for SelfSignal {
    fn drop(&mut self) {
        // SAFETY: what `sigaction` gave before.
        unsafe { libc::sigaction(self.number, &self.before, std::ptr::null_mut()) };
    }
}

impl Probe for SelfSignal {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        for _ in 0..count {
            // SAFETY: the signal has a handler. It is delivered before `raise` returns.
            let failed = unsafe { libc::raise(self.number) };
            if failed != 0 {
                return failed;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_moves_between_two_processors() {
        let allowed = affinity::allowed();
        if let [first, .., last] = allowed.as_slice() {
            let mut pair = CorePingPong::new((*first).into(), (*last).into()).expect("two processors");
            pair.prepare(200);
            assert_eq!(pair.run(200), 0);
            assert_eq!(pair.line.0.load(Ordering::Relaxed), 200, "each of 200 ways is one write");
        }
        assert!(matches!(CorePingPong::new(0, 0), Err(Error::NoPair { first: 0, second: 0, .. })));
        assert!(matches!(CorePingPong::new(0, 70_000), Err(Error::NoPair { .. })));
    }

    #[test]
    fn atomic_operations_are_done_alone_and_beside_others() {
        let mut add = AtomicWord::new(AtomicKind::Add, 0).expect("no thread");
        add.prepare(1000);
        assert_eq!((add.run(1000), add.word.0.load(Ordering::Relaxed)), (0, 1000));
        for kind in [AtomicKind::Add, AtomicKind::CompareExchange, AtomicKind::Exchange] {
            let mut shared = AtomicWord::new(kind, 2).expect("two threads");
            shared.prepare(1000);
            assert_eq!(shared.run(1000), 0);
            assert!(shared.word.0.load(Ordering::Relaxed) > 0, "{kind:?}");
        }
    }

    #[test]
    fn a_lock_is_handed_over_and_back() {
        let mut pair = MutexHandover::new().expect("a thread");
        assert_eq!(pair.run(100), 0);
        assert!(!*pair.turn.theirs.lock().expect("nobody panicked"));
    }

    #[test]
    fn every_signal_reaches_its_handler() {
        let before = SEEN.load(Ordering::Relaxed);
        let mut signal = SelfSignal::new().expect("a handler");
        assert_eq!(signal.run(50), 0);
        assert!(SEEN.load(Ordering::Relaxed) >= before + 50);
    }
}
