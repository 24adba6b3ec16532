//! Watches single operations of a thread: records what happened between two clock reads.

use samples::{Cause, Causes, Coverage, Tier};

use crate::accounting::{Accounting, Counters};
use crate::device::Devices;
use crate::ring::EventRing;
use crate::sources::{self, Sources};
use crate::tally::{EventTally, Totals};

/// Observations during one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Time runnable but not running, in ns: `Sample::queue_ns`.
    pub queue_ns: u64,
    /// Time off the processor and not runnable, in ns: `Sample::blocked_ns`; 0 below [`Tier::Events`].
    pub blocked_ns: u64,
    /// `Sample::causes`.
    pub causes: Causes,
    /// The processor it ended on: `Sample::cpu`; `u16::MAX` if it was not observed.
    pub cpu: u16,
    /// The part of `blocked_ns` in which a block device had a request of this thread; 0 below
    /// [`Tier::Tracepoints`].
    pub device_ns: u64,
}

impl Default for Observed {
    fn default() -> Self {
        Self { queue_ns: 0, blocked_ns: 0, causes: Causes::default(), cpu: u16::MAX, device_ns: 0 }
    }
}

/// Watches the operations of the thread that created it.
#[derive(Debug)]
pub struct Watch {
    accounting: Accounting,
    ring: Option<EventRing>,
    devices: Option<Devices>,
    coverage: Coverage,
    /// Counters before the operation (accounting), or after the last switch (events: only `queue_ns`).
    before: Counters,
    /// The processor at the start of the operation. With a ring it is that of the last record: a thread moves
    /// only by a switch, which is recorded.
    cpu: u16,
    totals: Totals,
    faults_measured: bool,
    /// The time of a switch-out without a switch-in yet, on the clock of the records.
    left: Option<u64>,
    /// Number of times that the control group had throttled; `None` if none limits the processors.
    throttling: Option<u64>,
    /// Without a ring: the start of the operation, and how many more operations are read because they are
    /// near a long one.
    began_ns: u64,
    near: u8,
    /// Operations since the last one that was watched; [`UNWATCHED`] of them stop the events.
    unwatched: u8,
    /// What was seen of the last operation that was not quiet. A result through memory of the caller would be read
    /// before it is there.
    seen: Observed,
}

/// Operations of this length and longer justify two readings of the counters.
const LONG_NS: u64 = 20_000;

/// The number of operations after a long one that are read too.
const NEAR: u8 = 64;

/// So many operations in a row that nobody watches stop the events until the next that is watched.
const UNWATCHED: u8 = 64;

/// Waits of this length and longer may be throttling by a control group.
const LONG_WAIT_NS: u64 = 1_000_000;

impl Watch {
    /// Watches the calling thread at the best tier that this machine allows. A forked rank must create its
    /// own.
    pub fn of_this_thread() -> Self {
        Self::at_most(Tier::Tracepoints)
    }

    /// As [`Watch::of_this_thread`], but with no better tier than `limit`.
    pub fn at_most(limit: Tier) -> Self {
        let accounting = Accounting::of_this_thread();
        let Sources { ring, devices, coverage } = sources::open(limit, accounting.sees_queue());
        let before = accounting.read();
        Self {
            accounting,
            ring,
            devices,
            coverage,
            before,
            cpu: processor(),
            totals: Totals::default(),
            faults_measured: false,
            left: None,
            throttling: throttled(),
            began_ns: 0,
            near: NEAR,
            unwatched: 0,
            seen: Observed::default(),
        }
    }

    /// The causes that can be observed.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Whether watching an operation without events costs almost nothing, so that every operation can be
    /// watched, not only those of 20 µs and more.
    pub fn is_cheap(&self) -> bool {
        self.ring.is_some()
    }

    /// Sets whether page faults that read no device are what is being measured. If so, they are not recorded, which would
    /// cost about a microsecond each.
    #[inline]
    pub fn measure_faults(&mut self, measured: bool) {
        if self.faults_measured != measured {
            self.faults_measured = measured;
            if let Some(ring) = &self.ring {
                ring.record_minor_faults(!measured);
            }
        }
    }

    /// An operation is not watched, as of those that overlap. After a number of them the events are stopped: each costs
    /// time at every switch and every request, and nobody reads it. [`Watch::before`] starts them again.
    #[inline]
    pub fn pass_over(&mut self) {
        if self.unwatched < UNWATCHED {
            self.unwatched += 1;
            if self.unwatched == UNWATCHED {
                self.pause();
            }
        }
    }

    /// The thread waits for others, whose operations are watched: its own events stop until the next [`Watch::before`].
    /// The kernel would record each request of theirs once more for a thread that makes none.
    pub fn rest(&mut self) {
        if self.unwatched < UNWATCHED {
            self.unwatched = UNWATCHED;
            self.pause();
        }
    }

    #[cold]
    fn pause(&mut self) {
        if let Some(ring) = &mut self.ring {
            ring.pause();
        }
        if let Some(devices) = &mut self.devices {
            devices.pause();
        }
    }

    /// After [`Watch::pause`].
    #[cold]
    fn resume(&mut self) {
        let faults = !self.faults_measured;
        let ring = self
            .ring
            .as_mut()
            .map_or(Ok(()), |ring| ring.resume().map(|()| ring.record_minor_faults(faults)));
        if let Err(error) = ring.and_then(|()| self.devices.as_mut().map_or(Ok(()), Devices::resume)) {
            // The counters of the thread remain.
            (self.ring, self.devices) = (None, None);
            self.coverage.tier = Tier::Accounting;
            self.coverage.blind.push(format!("what perf events tell: they did not start again ({error})"));
        }
        self.left = None;
        self.before.queue_ns = self.accounting.queue_ns();
    }

    /// Starts an operation. Call just before the first clock read.
    #[inline(always)]
    pub fn before(&mut self) {
        match &self.ring {
            Some(ring) if ring.is_quiet() => {}
            Some(_) => self.before_records(),
            None => self.before_accounting(),
        }
        if let Some(devices) = &mut self.devices {
            devices.before();
        }
    }

    /// Ends an operation and returns what happened since [`Watch::before`]. Call just after the second clock
    /// read.
    #[inline(always)]
    pub fn after(&mut self) -> Observed {
        match &self.ring {
            Some(ring) if ring.is_quiet() => return Observed { cpu: self.cpu, ..Observed::default() },
            Some(_) => self.after_records(),
            None => self.after_accounting(),
        }
        self.seen
    }

    /// Keeps what was seen, with the processor on which the operation ended, and whether it moved there.
    fn keep(&mut self, mut seen: Observed) {
        seen.cpu = processor();
        if seen.cpu != self.cpu {
            seen.causes = seen.causes.with(Cause::Migration);
            self.cpu = seen.cpu;
        }
        self.seen = seen;
    }

    /// Sums over all records of the ring so far; zero without a ring.
    pub fn totals(&mut self) -> Totals {
        self.before_records();
        self.totals
    }

    /// Discard the records in the ring: they belong to no timed operation.
    #[cold]
    fn before_records(&mut self) {
        if std::mem::take(&mut self.unwatched) == UNWATCHED {
            self.resume();
        }
        if self.drain().switched {
            self.before.queue_ns = self.accounting.queue_ns();
        }
        self.cpu = processor();
    }

    #[inline(never)]
    fn before_accounting(&mut self) {
        if self.near > 0 {
            self.before = self.accounting.read();
        }
        self.cpu = processor();
        self.began_ns = clock::monotonic_raw_ns();
    }

    #[cold]
    fn after_records(&mut self) {
        let mut tally = self.drain();
        let mut queue_ns = 0;
        if tally.switched {
            // The kernel adds to the wait only when the thread is switched in, so the value after the last
            // switch is also the value before the operation.
            let now = self.accounting.queue_ns();
            queue_ns = now.saturating_sub(self.before.queue_ns);
            self.before.queue_ns = now;
        }
        if queue_ns >= LONG_WAIT_NS && self.was_throttled() {
            tally.causes = tally.causes.with(Cause::Throttled);
        }
        // Off the processor, a thread is either runnable and queued, or blocked.
        let blocked_ns =
            if tally.causes.has(Cause::Blocked) { tally.away_ns.saturating_sub(queue_ns) } else { 0 };
        let mut device_ns = 0;
        if let (1.., Some(devices), Some((left, back))) = (blocked_ns, &mut self.devices, tally.away) {
            device_ns = devices.busy_ns(left, back).min(blocked_ns);
            if 2 * device_ns > blocked_ns {
                tally.causes = tally.causes.with(Cause::Device);
            }
        }
        self.keep(Observed { queue_ns, blocked_ns, causes: tally.causes, device_ns, ..Observed::default() });
    }

    /// Whether the control group has throttled since the last call.
    fn was_throttled(&mut self) -> bool {
        let Some(before) = self.throttling else { return false };
        self.throttling = throttled();
        self.throttling.is_some_and(|now| now > before)
    }

    #[inline(never)]
    fn after_accounting(&mut self) {
        let took = clock::monotonic_raw_ns().saturating_sub(self.began_ns);
        let was_read = self.near > 0;
        self.near = if took >= LONG_NS { NEAR } else { self.near.saturating_sub(1) };
        if !was_read {
            return self.keep(Observed::default());
        }
        let (old, new) = (self.before, self.accounting.read());
        let happened = [
            (new.voluntary > old.voluntary, Cause::Blocked),
            (new.involuntary > old.involuntary, Cause::Preempted),
            (new.minor_faults > old.minor_faults, Cause::MinorFault),
            (new.major_faults > old.major_faults, Cause::MajorFault),
        ];
        let seen = happened.iter().filter(|(yes, _)| *yes);
        let mut causes = seen.fold(Causes::default(), |set, (_, cause)| set.with(*cause));
        let queue_ns = new.queue_ns.saturating_sub(old.queue_ns);
        if queue_ns >= LONG_WAIT_NS && self.was_throttled() {
            causes = causes.with(Cause::Throttled);
        }
        self.keep(Observed { queue_ns, causes, ..Observed::default() });
    }

    fn drain(&mut self) -> EventTally {
        let mut tally = EventTally::default();
        if let Some(ring) = &mut self.ring {
            ring.drain(|time, record| tally.add(&mut self.totals, &mut self.left, time, record));
        }
        tally
    }
}

/// Number of times that the control group has throttled; `None` if none limits the processors.
fn throttled() -> Option<u64> {
    let limits = machine::limits();
    limits.processors.and(limits.throttled)
}

/// The processor this thread runs on; `u16::MAX` if it is not known.
#[inline]
fn processor() -> u16 {
    // SAFETY: takes no argument and returns a number.
    u16::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(u16::MAX)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
