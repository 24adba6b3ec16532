//! How do the workers of `parallel` run at the same time within one rank?
//!
//! Each is a thread with a back end, a recorder and a random sequence of its own. They share the rank's
//! region, so that their samples outlive the rank as its own do; files that were open stay open for
//! each, with positions of their own. The rank itself waits, and passes on a wish to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::backend::Backend;
use super::session::{Session, Stop};
use ranks::{Comm, CommError, Standing, StopFlag};
use record::{Entry, Recorder};

/// How often the rank looks whether the run is to stop.
const LOOK: Duration = Duration::from_millis(20);
/// Stack of a worker: the interpreter is content with a quarter of it.
const STACK: usize = 2 << 20;

/// How the reason begins that one worker gives the others.
const ANOTHER: &str = "another worker";

/// What a worker hands back.
#[derive(Default)]
struct Tally {
    commands_ps: u64,
    bytes: u64,
    queue_ns: u64,
    operations: u64,
    failures: Vec<u64>,
    errno: i32,
}

/// How a worker ended, and what it did.
type Ended = (Result<(), Stop>, Tally);

/// Who has come, may go, has gone.
#[derive(Default)]
struct Gate {
    ready: u32,
    /// `Some(false)`: not all could be started, nobody begins.
    open: Option<bool>,
    gone: u32,
}

struct Meeting {
    gate: Mutex<Gate>,
    changed: Condvar,
    stopped: AtomicBool,
    why: Mutex<Option<CommError>>,
    flag: StopFlag,
    /// The stonewall around the workers has fallen.
    fell: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meeting {
    fn stop(&self, why: CommError) {
        lock(&self.why).get_or_insert(why);
        self.stopped.store(true, Ordering::Release);
    }
}

/// Counts a worker as gone however it goes.
struct Going<'m>(&'m Meeting);

impl Drop for Going<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(CommError::Stopped { by: "a panic of a worker".into() });
        }
        lock(&self.0.gate).gone += 1;
        self.0.changed.notify_all();
    }
}

/// The communicator of a worker: nobody to meet.
struct Alone<'m> {
    rank: u32,
    size: u32,
    standing: &'m Standing,
    meeting: &'m Meeting,
}

impl std::fmt::Debug for Alone<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a worker of rank {}", self.rank)
    }
}

impl Alone<'_> {
    fn refused<T>(&self) -> Result<T, CommError> {
        Err(CommError::Stopped { by: "a worker of `parallel`, which cannot meet other ranks".into() })
    }
}

impl Comm for Alone<'_> {
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

    fn standing(&self) -> &Standing {
        self.standing
    }

    fn stopped(&self) -> Option<CommError> {
        if self.meeting.stopped.load(Ordering::Relaxed) {
            lock(&self.meeting.why).clone()
        } else {
            self.meeting.flag.why()
        }
    }

    fn raised(&self, _phase: u64) -> bool {
        self.meeting.fell.load(Ordering::Relaxed)
    }

    fn abandon(&self, _why: &str) {}

    fn name(&self) -> &'static str {
        "worker"
    }

    fn description(&self) -> String {
        "a worker of a rank".into()
    }
}

impl<B: Backend> Session<'_, B> {
    /// Runs `work(0, …)` to `work(count - 1, …)`, each on a thread with a session of its own. Where the
    /// back end lives in virtual time, `work` runs on this session, and every worker begins now.
    ///
    /// # Errors
    /// The first reason for which one of them stopped.
    ///
    /// `fell` says whether the stonewall around them has fallen; the rank asks it while they work.
    pub fn workers<W>(&mut self, count: u32, fell: &dyn Fn() -> bool, work: W) -> Result<(), Stop>
    where
        W: Fn(u32, &mut Session<'_, B>) -> Result<(), Stop> + Sync,
    {
        self.complete_all()?;
        let mut seeds = Vec::with_capacity(count as usize);
        for _ in 0..count {
            match self.backend.seed() {
                Some(seed) => seeds.push(seed),
                None => return self.in_turn(count, &work),
            }
        }
        self.recorder.note(&Entry::Workers)?;
        let recorders = self.recorder.part(count);
        let result = recorders.map_err(Stop::Record).and_then(|own| self.at_once(seeds, own, fell, &work));
        self.recorder.joined();
        self.backend.joined();
        self.standing.set_recorded(self.recorder.total(), self.bytes);
        self.standing.set_progress(self.operations, self.planned);
        result
    }

    fn in_turn<W>(&mut self, count: u32, work: &W) -> Result<(), Stop>
    where
        W: Fn(u32, &mut Session<'_, B>) -> Result<(), Stop> + Sync,
    {
        let begin = self.backend.now();
        let mut end = begin;
        for index in 0..count {
            self.backend.turn_back(begin);
            work(index, self)?;
            self.complete_all()?;
            end = end.max(self.backend.now());
        }
        self.backend.turn_back(end);
        Ok(())
    }

    fn at_once<W>(
        &mut self,
        seeds: Vec<B::Seed>,
        mut recorders: Vec<Recorder>,
        fell: &dyn Fn() -> bool,
        work: &W,
    ) -> Result<(), Stop>
    where
        W: Fn(u32, &mut Session<'_, B>) -> Result<(), Stop> + Sync,
    {
        let count = seeds.len() as u32;
        let meeting = Meeting {
            gate: Mutex::default(),
            changed: Condvar::new(),
            stopped: AtomicBool::new(false),
            why: Mutex::default(),
            flag: self.comm.stop_flag(),
            fell: AtomicBool::new(false),
        };
        let standings: Vec<Standing> = (0..count).map(|_| Standing::default()).collect();
        let (rank, size, places) = (self.rank, self.comm.size(), self.places);
        let (on_error, skip_sleep) = (self.on_error, self.skip_sleep);
        let (sites, noted) = (&self.sites, &self.noted);
        let comm = self.comm;
        let own_standing = self.standing;
        let (operations, planned, bytes) = (self.operations, self.planned, self.bytes);
        let total = || recorded(&standings);
        let results: Vec<Result<Ended, String>> = std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(count as usize);
            let mut failed = None;
            for (index, seed) in (0..count).zip(seeds) {
                let (meeting, standing) = (&meeting, &standings[index as usize]);
                let Some(recorder) = recorders.pop() else { break };
                let (sites, noted) = (sites.clone(), noted.clone());
                let life = move || {
                    let going = Going(meeting);
                    // Where the rank is pinned its workers are not: they would share its processor.
                    machine::affinity::unpin();
                    let alone = Alone { rank, size, standing, meeting };
                    let mut session = Session::new(B::grow(seed), recorder, &alone, places);
                    session.sites = sites;
                    session.noted = noted;
                    session.on_error = on_error;
                    session.skip_sleep = skip_sleep;
                    // What fails in a worker shows in the blocks around `parallel`.
                    session.watch_failures();
                    if !meeting.wait_for_all() {
                        return (Ok(()), Tally::default());
                    }
                    let mut result = work(index, &mut session);
                    let left = session.complete_all();
                    result = result.and(left);
                    if let Err(stop) = &result {
                        let by = format!("{ANOTHER} of rank {rank}, which stopped: {stop}");
                        meeting.stop(CommError::Stopped { by });
                    }
                    let tally = session.tally();
                    drop(session);
                    drop(going);
                    (result, tally)
                };
                let name = format!("worker-{index}");
                match std::thread::Builder::new().name(name).stack_size(STACK).spawn_scoped(scope, life) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            let started = threads.len() as u32;
            meeting.open(started, failed.is_none());
            meeting.wait_until_gone(started, || {
                let (more, moved, samples) = total();
                own_standing.set_recorded(samples, bytes + moved);
                own_standing.set_progress(operations + more, planned);
                if fell() {
                    meeting.fell.store(true, Ordering::Relaxed);
                }
                comm.stopped()
            });
            let mut results: Vec<_> = threads
                .into_iter()
                .map(|thread| thread.join().map_err(|_| "a worker ended by a panic".to_owned()))
                .collect();
            if let Some(error) = failed {
                results.push(Err(format!("worker {started} of {count} cannot be started: {error}")));
            }
            results
        });
        let mut stops = Vec::new();
        for result in results {
            match result {
                Ok((result, tally)) => {
                    self.add(&tally);
                    stops.extend(result.err());
                }
                Err(why) => stops.push(Stop::Failed(why)),
            }
        }
        // Who stopped because another did says nothing new.
        let echo =
            |stop: &Stop| matches!(stop, Stop::Comm(CommError::Stopped { by }) if by.starts_with(ANOTHER));
        let first = stops.iter().position(|stop| !echo(stop)).unwrap_or(0);
        if stops.is_empty() { Ok(()) } else { Err(stops.swap_remove(first)) }
    }

    /// A block around everything a worker does, whose errno is that of its first failure.
    fn watch_failures(&mut self) {
        self.blocks.push(super::session::Block::default());
    }

    fn tally(&mut self) -> Tally {
        Tally {
            commands_ps: self.commands_ps,
            bytes: self.bytes,
            queue_ns: self.queue_ns,
            operations: self.operations,
            failures: std::mem::take(&mut self.failures),
            errno: self.blocks.first().map_or(0, |block| block.errno),
        }
    }

    fn add(&mut self, tally: &Tally) {
        self.commands_ps += tally.commands_ps;
        self.bytes += tally.bytes;
        self.queue_ns += tally.queue_ns;
        self.operations += tally.operations;
        if self.failures.len() < tally.failures.len() {
            self.failures.resize(tally.failures.len(), 0);
        }
        for (all, own) in self.failures.iter_mut().zip(&tally.failures) {
            *all += own;
        }
        for block in self.blocks.iter_mut().filter(|block| block.errno == 0) {
            block.errno = tally.errno;
        }
    }
}

/// Operations, bytes and samples of all workers so far.
fn recorded(standings: &[Standing]) -> (u64, u64, u64) {
    standings
        .iter()
        .fold((0, 0, 0), |sum, one| (sum.0 + one.progress().0, sum.1 + one.bytes(), sum.2 + one.samples()))
}

impl Meeting {
    /// A worker is set up; true when it may begin.
    fn wait_for_all(&self) -> bool {
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
    fn open(&self, started: u32, begin: bool) {
        let mut gate = lock(&self.gate);
        while begin && gate.ready + gate.gone < started {
            gate = self.changed.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
        gate.open = Some(begin);
        self.changed.notify_all();
    }

    fn wait_until_gone(&self, started: u32, look: impl Fn() -> Option<CommError>) {
        let mut gate = lock(&self.gate);
        while gate.gone < started {
            gate = self.changed.wait_timeout(gate, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(why) = look() {
                self.stop(why);
            }
        }
    }
}
