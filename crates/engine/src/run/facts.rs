//! Times a whole run: when it began, how long it took, by which clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clock::Clock;
use samples::{ClockFacts, ClockKind, units};

/// The run's clock and its wall time.
pub(super) struct Timing {
    pub(super) clock: Clock,
    pub(super) clock_facts: Option<ClockFacts>,
    started: SystemTime,
    since: Instant,
    elapsed_s: f64,
}

impl Timing {
    /// The run begins now. Without facts of the clock it is a simulation.
    pub(super) fn begin(clock: Clock, clock_facts: Option<ClockFacts>) -> Self {
        let (started, since) = (SystemTime::now(), Instant::now());
        Self { clock: clock.restarted(), clock_facts, started, since, elapsed_s: 0.0 }
    }

    /// The last rank has ended.
    pub(super) fn end(&mut self) {
        self.elapsed_s = self.since.elapsed().as_secs_f64();
        if let Some(facts) = &mut self.clock_facts {
            self.clock.close(facts);
        }
    }

    /// UTC start (RFC 3339), seconds, clock. A simulation starts at the epoch and takes as long as its
    /// slowest rank: nothing in its facts depends on the day.
    pub(super) fn facts(&self, virtual_s: f64) -> (String, f64, ClockFacts) {
        match &self.clock_facts {
            None => {
                let clock = ClockFacts { kind: ClockKind::Virtual, quantum_ps: 1, ..ClockFacts::default() };
                (units::utc(0), virtual_s, clock)
            }
            Some(clock) => (units::utc(since_epoch(self.started)), self.elapsed_s, clock.clone()),
        }
    }
}

/// Bytes that devices read for this process and for its children that ended: the kernel counts sectors where a request is
/// handed to a block device.
pub(super) fn device_read_bytes() -> u64 {
    const SECTOR: u64 = 512;
    let of = |who: i32| {
        // SAFETY: all-zero bytes are a valid `rusage`.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is valid for writes.
        unsafe { libc::getrusage(who, &mut usage) };
        u64::try_from(usage.ru_inblock).unwrap_or(0)
    };
    SECTOR * (of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN))
}

fn since_epoch(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
