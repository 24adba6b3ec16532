//! Runs the workers of a `parallel` block at the same time within one rank.
//!
//! Each is a thread with an instrument, a recorder and a random sequence of its own. They share the rank's
//! region, so that their samples outlive the rank as its own do; files that were open stay open for
//! each, with positions of their own. The rank itself waits, and passes on a wish to stop.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use super::instrument::Seed;
use super::session::{Paces, Session, SessionSettings, Stop, WorkDone};
use super::start_latch::{CountedExit, StartLatch, WorkerComm};
use ranks::{CommError, RankStatus};
use record::{Entry, FailureKey, Recorder};

/// Stack of a worker: the interpreter is content with a quarter of it.
const STACK: usize = 2 << 20;

/// What a worker hands back.
#[derive(Default)]
struct WorkerTally {
    commands_ps: u64,
    bytes: u64,
    queue_ns: u64,
    operations: u64,
    failures: HashMap<FailureKey, u64>,
    errno: i32,
    paces: Option<Paces>,
}

/// How a worker ended, and what it did.
type Ended = (Result<(), Stop>, WorkerTally);

/// What a worker has from its rank.
#[derive(Clone)]
struct Parent<'a> {
    session: SessionSettings<'a>,
    latch: &'a StartLatch,
    /// Workers of the block.
    count: u32,
    /// When the rank came to the block, on the clock.
    came: u64,
}

impl Parent<'_> {
    /// The life of a worker, on its own thread.
    fn worker<W>(
        self,
        index: u32,
        standing: &RankStatus,
        (seed, recorder): (Seed, Recorder),
        work: &W,
    ) -> Ended
    where
        W: Fn(u32, &mut Session<'_>) -> Result<(), Stop> + Sync,
    {
        let latch = self.latch;
        let exit = CountedExit(latch);
        // Where the rank is pinned its workers are not: they would share its processor.
        machine::affinity::unpin();
        let (rank, size) = (self.session.rank(), self.session.rank_count());
        let comm = WorkerComm { rank, size, standing, latch };
        let Some(instrument) = seed.grow() else { return (Ok(()), WorkerTally::default()) };
        let mut session = self.session.worker(instrument, recorder, &comm);
        // What fails in a worker shows in the blocks around `parallel`.
        session.watch_failures();
        if !latch.wait_for_all() {
            return (Ok(()), WorkerTally::default());
        }
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        if self.count as usize > processors {
            session.instrument.shares_processors();
        }
        session.begins_behind(self.came);
        let mut result = work(index, &mut session);
        let rest = session.complete_all();
        result = result.and(rest);
        if let Err(stop) = &result {
            let by = format!("another worker of rank {rank}, which stopped: {stop}");
            latch.stop_because_of(index, CommError::Stopped { by });
        }
        let tally = session.tally();
        drop(session);
        drop(exit);
        (result, tally)
    }
}

impl Session<'_> {
    /// Runs `work(0, …)` to `work(count - 1, …)`, each on a thread with a session of its own. Where the
    /// back end lives in virtual time, `work` runs on this session, and every worker begins now.
    ///
    /// # Errors
    /// The first reason for which one of them stopped.
    ///
    /// `fell` says whether the stonewall around them has fallen; the rank asks it while they work.
    pub fn workers<W>(&mut self, count: u32, fell: &dyn Fn() -> bool, work: W) -> Result<(), Stop>
    where
        W: Fn(u32, &mut Session<'_>) -> Result<(), Stop> + Sync,
    {
        self.complete_all()?;
        if self.instrument.is_virtual() {
            return self.in_turn(count, &work);
        }
        if let Some(why) = self.comm.one_thread() {
            return Err(Stop::Failed(format!(
                "workers cannot be started: {why}; use ranks instead of `parallel`"
            )));
        }
        let came = self.instrument.now();
        let seeds = (0..count).map(|_| self.instrument.seed(count)).collect::<Result<Vec<_>, _>>();
        let seeds = seeds.map_err(|why| Stop::Failed(format!("workers cannot be started: {why}")))?;
        self.recorder.note(&Entry::Unordered)?;
        let recorders = self.recorder.part(count);
        let result =
            recorders.map_err(Stop::Record).and_then(|own| self.at_once(came, (seeds, own), fell, &work));
        self.recorder.joined();
        self.instrument.joined();
        self.resumes();
        self.standing.set_recorded(self.recorder.total(), self.bytes);
        self.standing.set_progress(self.operations, self.planned);
        result
    }

    fn in_turn<W>(&mut self, count: u32, work: &W) -> Result<(), Stop>
    where
        W: Fn(u32, &mut Session<'_>) -> Result<(), Stop> + Sync,
    {
        let begin = self.instrument.now();
        let mut end = begin;
        let paces = self.paces.clone();
        let mut all = Vec::with_capacity(count as usize);
        for index in 0..count {
            self.instrument.rewind(begin);
            self.resumes();
            work(index, self)?;
            self.complete_all()?;
            end = end.max(self.instrument.now());
            all.push(std::mem::replace(&mut self.paces, paces.clone()));
        }
        self.paces.join(&all);
        self.instrument.rewind(end);
        self.resumes();
        Ok(())
    }

    fn at_once<W>(
        &mut self,
        came: u64,
        (seeds, recorders): (Vec<Seed>, Vec<Recorder>),
        fell: &dyn Fn() -> bool,
        work: &W,
    ) -> Result<(), Stop>
    where
        W: Fn(u32, &mut Session<'_>) -> Result<(), Stop> + Sync,
    {
        let count = seeds.len() as u32;
        let latch = StartLatch::new(self.comm.stop_flag());
        let standings: Vec<RankStatus> = (0..count).map(|_| RankStatus::default()).collect();
        let parent = Parent { session: self.settings(), latch: &latch, count, came };
        let (comm, own_standing) = (self.comm, self.standing);
        let (operations, planned, bytes) = (self.operations, self.planned, self.bytes);
        let results: Vec<Result<Ended, String>> = std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(count as usize);
            let mut failed = None;
            for ((index, seed), recorder) in (0..count).zip(seeds).zip(recorders.into_iter().rev()) {
                let (parent, standing) = (parent.clone(), &standings[index as usize]);
                let life = move || parent.worker(index, standing, (seed, recorder), work);
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
            latch.open(started, failed.is_none());
            latch.wait_until_gone(started, || {
                let (more, moved, samples) = recorded(&standings);
                own_standing.set_recorded(samples, bytes + moved);
                own_standing.set_progress(operations + more, planned);
                if fell() {
                    latch.set_fallen();
                }
                comm.carry_signals().err().or_else(|| comm.stopped())
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
        self.first_cause(results, latch.first())
    }

    /// Adds up what the workers did. Of their reasons to stop the first cause counts: those that stopped because of
    /// it are ignored.
    fn first_cause(&mut self, results: Vec<Result<Ended, String>>, first: Option<u32>) -> Result<(), Stop> {
        let (mut stops, mut paces) = (Vec::new(), Vec::new());
        for (index, result) in (0..).zip(results) {
            match result {
                Ok((result, mut tally)) => {
                    self.add(&tally);
                    paces.extend(tally.paces.take());
                    stops.extend(result.err().map(|stop| (index, stop)));
                }
                Err(why) => stops.push((index, Stop::Failed(why))),
            }
        }
        self.paces.join(&paces);
        let cause = stops.iter().position(|(index, _)| Some(*index) == first).unwrap_or(0);
        if stops.is_empty() { Ok(()) } else { Err(stops.swap_remove(cause).1) }
    }

    /// A block around everything a worker does, whose errno is that of its first failure.
    fn watch_failures(&mut self) {
        self.blocks.enter(0, 0, WorkDone::default());
    }

    fn tally(&mut self) -> WorkerTally {
        WorkerTally {
            commands_ps: self.commands_ps,
            bytes: self.bytes,
            queue_ns: self.queue_ns,
            operations: self.operations,
            failures: std::mem::take(&mut self.failures),
            errno: self.blocks.first_errno(),
            paces: Some(self.paces.clone()),
        }
    }

    fn add(&mut self, tally: &WorkerTally) {
        self.commands_ps += tally.commands_ps;
        self.bytes += tally.bytes;
        self.queue_ns += tally.queue_ns;
        self.operations += tally.operations;
        for (of, count) in &tally.failures {
            *self.failures.entry(*of).or_default() += count;
        }
        self.blocks.mark(tally.errno);
    }
}

/// Operations, bytes and samples of all workers so far.
fn recorded(standings: &[RankStatus]) -> (u64, u64, u64) {
    standings
        .iter()
        .fold((0, 0, 0), |sum, one| (sum.0 + one.progress().0, sum.1 + one.bytes(), sum.2 + one.samples()))
}
