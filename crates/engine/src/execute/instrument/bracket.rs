//! The two clock reads around a call, by a real clock or in virtual time.

use ppl::commands::Command;
use samples::Outcome;

use crate::driver::Driver;
use crate::execute::call::{Meaning, Timed};
use clock::Clock;
use perf::{Observed, Watch};
use ranks::{Comm, CommError};
use samples::Coverage;

/// Waits shorter than this are spun: a sleep takes about as long to end.
pub(super) const SPIN_NS: u64 = 60_000;

/// The same where more threads wait than there are processors: one that spins keeps another from its work.
const CROWDED_SPIN_NS: u64 = 2_000;

/// The clock of a rank or worker, and what it sees of the causes of slow operations.
pub(super) struct Bracket {
    pub(super) clock: Clock,
    /// Virtual time, in picoseconds; `None` by a real clock.
    virtual_now: Option<u64>,
    watch: Option<Watch>,
    /// Waits shorter than this are spun, in nanoseconds.
    spin_ns: u64,
    /// Of the operation that is about to be timed.
    pub(super) command: Option<Command>,
    /// Requests for memory between the clock reads of the last operation.
    #[cfg(test)]
    pub(super) allocated: u64,
}

/// An operation whose first clock read was made.
pub(super) struct Begun {
    /// How long it takes in virtual time, in ps.
    drawn: u64,
    /// Requests for memory before it.
    #[cfg(test)]
    requests: u64,
    /// The clock, in ticks.
    ticks: u64,
}

impl Bracket {
    pub(super) fn new(clock: Clock, is_virtual: bool) -> Self {
        let (clock, virtual_now) =
            if is_virtual { (Clock::of_virtual_time(), Some(0)) } else { (clock, None) };
        Self {
            clock,
            virtual_now,
            watch: None,
            spin_ns: SPIN_NS,
            command: None,
            #[cfg(test)]
            allocated: 0,
        }
    }

    pub(super) fn is_virtual(&self) -> bool {
        self.virtual_now.is_some()
    }

    /// Looks for the causes of slow operations of the calling thread from now on.
    pub(super) fn look_for_causes(&mut self) {
        if !self.is_virtual() {
            self.watch = Some(Watch::of_this_thread());
        }
    }

    /// An operation begins that overlaps with others: what happens to the thread says nothing about it.
    #[inline(always)]
    pub(super) fn pass_over(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.pass_over();
        }
    }

    /// The thread waits for its workers.
    pub(super) fn rest(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.rest();
        }
    }

    pub(super) fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// The two clock reads, and nothing but the call between them.
    #[inline(always)]
    pub(super) fn time<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        meaning: Meaning,
        call: impl FnOnce(&mut D) -> Outcome,
    ) -> Timed {
        let begun = self.begin(driver);
        let outcome = call(driver);
        self.end(driver, begun, meaning, outcome)
    }

    /// The first clock read, for a call that is to be inlined; a closure of several calls is not, and hands its result
    /// back through memory, which costs more than a clock read. [`Bracket::end`] follows the call at once.
    #[inline(always)]
    pub(super) fn begin<D: Driver + ?Sized>(&mut self, driver: &mut D) -> Begun {
        // Known when compiled for a driver that is known.
        let drawn = if driver.capabilities().virtual_time {
            driver.duration_ps(self.command, 1)
        } else {
            if let Some(watch) = &mut self.watch {
                watch.before();
            }
            0
        };
        let clock = self.clock;
        Begun {
            drawn,
            #[cfg(test)]
            requests: super::counted::requests(),
            ticks: clock.at_call(),
        }
    }

    /// The second clock read.
    #[inline(always)]
    pub(super) fn end<D: Driver + ?Sized>(
        &mut self,
        driver: &D,
        begun: Begun,
        meaning: Meaning,
        outcome: Outcome,
    ) -> Timed {
        let end = self.clock.at_call();
        #[cfg(test)]
        self.count(begun.requests);
        let begin = begun.ticks;
        if driver.capabilities().virtual_time {
            let (begin, end) = self.pass(begun.drawn);
            return Timed { begin, end, outcome, meaning, ..Timed::default() };
        }
        let seen = match &mut self.watch {
            Some(watch) => watch.after(),
            None => Observed::default(),
        };
        Timed { begin, end, outcome, meaning, seen, batch: 0 }
    }

    #[cfg(test)]
    fn count(&mut self, before: u64) {
        self.allocated = super::counted::requests() - before;
    }

    /// Lets virtual time pass; from when to when.
    fn pass(&mut self, ps: u64) -> (u64, u64) {
        let begin = self.now();
        self.rewind(begin.saturating_add(ps));
        (begin, self.now())
    }

    /// Times what is done on this machine and by no driver, without looking for causes.
    pub(super) fn time_unwatched<D: Driver + ?Sized, T>(
        &mut self,
        driver: &mut D,
        work: impl FnOnce(&mut D) -> T,
    ) -> (Timed, T) {
        let drawn = self.is_virtual().then(|| driver.duration_ps(self.command, 1));
        #[cfg(test)]
        let requests = super::counted::requests();
        let begin = self.clock.now();
        let done = work(driver);
        let end = self.clock.now();
        #[cfg(test)]
        self.count(requests);
        let (begin, end) = drawn.map_or((begin, end), |ps| self.pass(ps));
        (Timed { begin, end, ..Timed::default() }, done)
    }

    /// In virtual time: `count` operations of the command at once.
    pub(super) fn draw(&mut self, driver: &mut dyn Driver, count: u32) -> Timed {
        let drawn = driver.duration_ps(self.command, count);
        let (begin, end) = self.pass(drawn);
        Timed { begin, end, batch: count, ..Timed::default() }
    }

    /// An operation that failed before any call was made.
    #[inline(always)]
    pub(super) fn failed<D: Driver + ?Sized>(&mut self, driver: &mut D, errno: i32) -> Timed {
        let (begin, end) = if self.is_virtual() {
            let drawn = driver.duration_ps(self.command, 1);
            self.pass(drawn)
        } else {
            let now = self.clock.now();
            (now, now)
        };
        Timed { begin, end, outcome: Outcome::error(errno), ..Timed::default() }
    }

    /// Times a kernel, which reads the clock itself.
    pub(super) fn watched<T>(&mut self, faults: bool, kernel: impl FnOnce(Clock) -> T) -> (T, Observed) {
        if let Some(watch) = &mut self.watch {
            watch.measure_faults(faults);
            watch.before();
        }
        let done = kernel(self.clock);
        let seen = self.watch.as_mut().map(Watch::after).unwrap_or_default();
        (done, seen)
    }

    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        match self.virtual_now {
            None => self.clock.now(),
            Some(now) => now,
        }
    }

    /// Sets virtual time.
    pub(super) fn rewind(&mut self, ticks: u64) {
        if let Some(now) = &mut self.virtual_now {
            *now = ticks;
        }
    }

    /// There are fewer processors than threads of this kind: the calling thread sleeps where it would spin, and as exactly
    /// as Linux can.
    pub(super) fn shares_processors(&mut self) {
        self.spin_ns = CROWDED_SPIN_NS;
        // SAFETY: no pointers. Where it is refused, sleeps take some 50 us longer, which later pauses make up for.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    }

    pub(super) fn wait_until(&mut self, ticks: u64, comm: &dyn Comm) {
        if let Some(now) = &mut self.virtual_now {
            *now = ticks.max(*now);
            return;
        }
        loop {
            let now = self.clock.now();
            if now >= ticks || comm.stopped().is_some() {
                return;
            }
            let left_ns = self.clock.picoseconds(now, ticks) / 1000;
            if left_ns <= self.spin_ns {
                std::hint::spin_loop();
                continue;
            }
            // Short, so that a request to stop is seen soon, whichever thread takes the signal.
            let nap = (left_ns - self.spin_ns).min(100_000_000);
            let time = libc::timespec { tv_sec: 0, tv_nsec: nap as libc::c_long };
            // SAFETY: `time` is valid to read; an early return is handled by the loop.
            unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
        }
    }

    /// Meets the others; the readings before and after. Virtual time is then that of the latest.
    pub(super) fn barrier(&mut self, comm: &dyn Comm) -> Result<(u64, u64), CommError> {
        let begin = self.now();
        let latest = comm.barrier(self.virtual_now.unwrap_or(0))?;
        self.rewind(latest);
        Ok((begin, self.now()))
    }

    pub(super) fn agree(&mut self, comm: &dyn Comm, value: u64) -> Result<u64, CommError> {
        if self.is_virtual() {
            self.barrier(comm)?;
        }
        comm.barrier(value)
    }

    /// What can be seen of causes; in virtual time there are none.
    pub(super) fn sight(&self) -> Option<Coverage> {
        match &self.watch {
            Some(watch) => Some(watch.coverage().clone()),
            None if self.is_virtual() => None,
            None => Some(Coverage { unwanted: true, ..Coverage::default() }),
        }
    }

    #[inline(always)]
    pub(super) fn processor(&self) -> u16 {
        if self.is_virtual() {
            return u16::MAX;
        }
        // SAFETY: a plain call; it reads thread-local memory where the kernel keeps the number there.
        u16::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(u16::MAX)
    }
}
