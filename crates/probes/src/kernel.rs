//! Defines the loop of one kind of operation and times it.

use clock::{Clock, Kind, Monotonic, Source, Tsc, TscMfence};

/// A loop of one kind of operation.
pub trait Probe {
    /// Prepares the next `count` operations, outside of the timing.
    fn prepare(&mut self, _count: u32) {}

    /// Runs `count` operations and returns 0, or the errno of the one that failed.
    fn run(&mut self, count: u32) -> i32;

    /// Bytes that one operation moves.
    fn bytes_each(&self) -> u64 {
        0
    }

    /// The smallest number of operations it can do at once.
    fn min_count(&self) -> u32 {
        1
    }

    /// Reads the clock, runs `count` operations and reads the clock again. Override it only if loading the
    /// probe's fields inside the bracket would be noticeable.
    #[inline(always)]
    fn bracket<S: Source>(&mut self, count: u32) -> TimedOperation
    where
        Self: Sized,
    {
        let begin = S::read();
        let errno = self.run(count);
        let end = S::read();
        TimedOperation { begin, end, errno }
    }

    /// The value of the last operation: an exit status.
    fn value(&self) -> u64 {
        0
    }

    /// Whether its operations consist of page faults, which are then not recorded as causes.
    fn faults(&self) -> bool {
        false
    }

    /// The greatest number of operations it can do at once.
    fn max_count(&self) -> u32 {
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

/// A [`Probe`] as a trait object that can be timed.
pub trait Kernel: Probe {
    /// Times `count` operations, as one interval.
    fn time(&mut self, clock: Clock, count: u32) -> TimedOperation;
}

impl<P: Probe> Kernel for P {
    #[inline(never)]
    fn time(&mut self, clock: Clock, count: u32) -> TimedOperation {
        self.prepare(count);
        match clock.kind() {
            Kind::Tsc => bracket::<P, Tsc>(self, count),
            Kind::Monotonic => bracket::<P, Monotonic>(self, count),
            Kind::TscMfence => bracket::<P, TscMfence>(self, count),
        }
    }
}

/// Times a single operation with a constant count of 1: a loop's branches would take as long as a load from
/// L1. Both cases are functions that are not inlined, since the compiler would otherwise merge their common
/// beginning and branch after the first clock read.
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
