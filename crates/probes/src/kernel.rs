//! A loop of one kind of operation, and how it is timed.

use clock::{Clock, Kind, Monotonic, Source, Tsc, TscMfence};

/// A loop of one kind of operation.
pub trait Probe {
    /// Prepares the next `count` operations, outside the timing.
    fn ready(&mut self, _count: u32) {}

    /// Does `count` operations; 0, or the errno of the one that failed.
    fn go(&mut self, count: u32) -> i32;

    /// Bytes that one operation moves.
    fn bytes_each(&self) -> u64 {
        0
    }

    /// The smallest number of operations it can do at once.
    fn least(&self) -> u32 {
        1
    }

    /// Reads the clock, does `count` operations, reads the clock. To be replaced only where even loading
    /// the probe's own fields would show.
    #[inline(always)]
    fn bracket<S: Source>(&mut self, count: u32) -> TimedOperation
    where
        Self: Sized,
    {
        let begin = S::read();
        let errno = self.go(count);
        let end = S::read();
        TimedOperation { begin, end, errno }
    }

    /// What the last operation gave: an exit status.
    fn value(&self) -> u64 {
        0
    }

    /// Do its operations consist of page faults? Then those are not recorded one by one.
    fn faults(&self) -> bool {
        false
    }

    /// The greatest number of operations it can do at once.
    fn most(&self) -> u32 {
        u32::MAX
    }
}

/// One timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOperation {
    /// The clock before, in ticks.
    pub begin: u64,
    /// The clock after, in ticks.
    pub end: u64,
    /// 0, or the errno of the operation that failed.
    pub errno: i32,
}

/// A probe that can be timed without knowing which it is.
pub trait Kernel: Probe {
    /// Times `count` operations, as one interval.
    fn time(&mut self, clock: Clock, count: u32) -> TimedOperation;
}

impl<P: Probe> Kernel for P {
    #[inline(never)]
    fn time(&mut self, clock: Clock, count: u32) -> TimedOperation {
        self.ready(count);
        match clock.kind() {
            Kind::Tsc => bracket::<P, Tsc>(self, count),
            Kind::Monotonic => bracket::<P, Monotonic>(self, count),
            Kind::TscMfence => bracket::<P, TscMfence>(self, count),
        }
    }
}

/// A single operation gets a bracket of its own, in which the compiler knows that it is one: the loop's
/// own branches would take as long as a load that hits L1. Both are functions of their own, or the
/// compiler would find that they begin alike and decide between them after the clock has been read.
fn bracket<P: Probe, S: Source>(probe: &mut P, count: u32) -> TimedOperation {
    #[inline(never)]
    fn single<P: Probe, S: Source>(probe: &mut P) -> TimedOperation {
        probe.bracket::<S>(1)
    }
    #[inline(never)]
    fn many<P: Probe, S: Source>(probe: &mut P, count: u32) -> TimedOperation {
        probe.bracket::<S>(count)
    }
    if count == 1 { single::<P, S>(probe) } else { many::<P, S>(probe, count) }
}
