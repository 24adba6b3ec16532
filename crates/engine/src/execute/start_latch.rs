//! Lets the workers of a `parallel` block begin together, and stops them together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ranks::{Comm, CommError, RankStatus, StopFlag};

/// How often the rank looks whether the run is to stop.
const LOOK: Duration = Duration::from_millis(20);
/// The same while it carries signals between the workers and other ranks.
const CARRYING_LOOK: Duration = Duration::from_micros(200);

/// Who has come, may go, has gone.
#[derive(Default)]
struct LatchState {
    ready: u32,
    /// `Some(false)`: not all could be started, nobody begins.
    open: Option<bool>,
    gone: u32,
}

/// Where the workers of a block wait for each other, and look whether they are to stop.
pub(super) struct StartLatch {
    gate: Mutex<LatchState>,
    changed: Condvar,
    stopped: AtomicBool,
    why: Mutex<Option<CommError>>,
    /// The worker that gave it.
    first: Mutex<Option<u32>>,
    flag: StopFlag,
    /// The stonewall around the workers has fallen.
    fell: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StartLatch {
    pub(super) fn new(flag: StopFlag) -> Self {
        Self {
            gate: Mutex::default(),
            changed: Condvar::new(),
            stopped: AtomicBool::new(false),
            why: Mutex::default(),
            first: Mutex::default(),
            flag,
            fell: AtomicBool::new(false),
        }
    }

    /// The stonewall around the workers has fallen.
    pub(super) fn set_fallen(&self) {
        self.fell.store(true, Ordering::Relaxed);
    }

    /// Worker `index` stopped and the others are to.
    pub(super) fn stop_because_of(&self, index: u32, why: CommError) {
        if lock(&self.why).is_none() {
            lock(&self.first).get_or_insert(index);
        }
        self.stop(why);
    }

    /// The worker whose stop was the first cause.
    pub(super) fn first(&self) -> Option<u32> {
        *lock(&self.first)
    }

    fn stop(&self, why: CommError) {
        lock(&self.why).get_or_insert(why);
        self.stopped.store(true, Ordering::Release);
    }
}

/// Counts a worker as gone however it goes.
pub(super) struct CountedExit<'m>(pub(super) &'m StartLatch);

impl Drop for CountedExit<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(CommError::Stopped { by: "a panic of a worker".into() });
        }
        lock(&self.0.gate).gone += 1;
        self.0.changed.notify_all();
    }
}

impl StartLatch {
    /// A worker is set up; true when it may begin.
    pub(super) fn wait_for_all(&self) -> bool {
        let mut gate = lock(&self.gate);
        gate.ready += 1;
        self.changed.notify_all();
        loop {
            match gate.open {
                Some(begin) => return begin,
                None => gate = self.changed.wait(gate).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Lets all begin when all are set up, or none.
    pub(super) fn open(&self, started: u32, begin: bool) {
        let mut gate = lock(&self.gate);
        while begin && gate.ready + gate.gone < started {
            gate = self.changed.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
        gate.open = Some(begin);
        self.changed.notify_all();
    }

    /// Waits for all that were started; `look` says whether they are to stop.
    pub(super) fn wait_until_gone(&self, started: u32, look: impl Fn() -> Option<CommError>) {
        let mut gate = lock(&self.gate);
        while gate.gone < started {
            let look_again = if ranks::board::needs_carrying() { CARRYING_LOOK } else { LOOK };
            gate = self.changed.wait_timeout(gate, look_again).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(why) = look() {
                self.stop(why);
            }
        }
    }
}

/// The communicator of a worker: nobody to meet.
pub(super) struct WorkerComm<'m> {
    pub(super) rank: u32,
    pub(super) size: u32,
    pub(super) standing: &'m RankStatus,
    pub(super) latch: &'m StartLatch,
}

impl std::fmt::Debug for WorkerComm<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a worker of rank {}", self.rank)
    }
}

impl WorkerComm<'_> {
    fn refused<T>(&self) -> Result<T, CommError> {
        Err(CommError::Stopped { by: "a worker of `parallel`, which cannot meet other ranks".into() })
    }
}

impl Comm for WorkerComm<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn barrier(&self, _value: u64) -> Result<u64, CommError> {
        self.refused()
    }

    fn broadcast(&self, _root: u32, _bytes: &mut Vec<u8>) -> Result<(), CommError> {
        self.refused()
    }

    fn gather(&self, _root: u32, _bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        self.refused()
    }

    fn split(&self, _color: Option<u32>, _key: u32) -> Result<Option<Box<dyn Comm>>, CommError> {
        self.refused()
    }

    fn clock_offsets(&self, _now: &mut dyn FnMut() -> u64) -> Result<Vec<samples::ClockOffset>, CommError> {
        self.refused()
    }

    fn status(&self) -> &RankStatus {
        self.standing
    }

    fn stopped(&self) -> Option<CommError> {
        if self.latch.stopped.load(Ordering::Relaxed) {
            lock(&self.latch.why).clone()
        } else {
            self.latch.flag.why()
        }
    }

    fn raised(&self, _phase: u64) -> bool {
        self.latch.fell.load(Ordering::Relaxed)
    }

    fn abandon(&self, _why: &str) {}

    fn name(&self) -> &'static str {
        "worker"
    }

    fn description(&self) -> String {
        "a worker of a rank".into()
    }
}
