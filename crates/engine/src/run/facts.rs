//! Times a whole run: when it began, how long it took, by which clock.

use std::collections::BTreeMap;
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

/// Reads that each block device was asked for since the machine started; `None` where the kernel does not tell.
pub(super) fn device_reads() -> Option<BTreeMap<String, u64>> {
    Some(reads_of(&std::fs::read_to_string("/proc/diskstats").ok()?))
}

/// Lines of `/proc/diskstats`: numbers of the device, its name, reads completed, reads that were merged into others.
fn reads_of(text: &str) -> BTreeMap<String, u64> {
    let of_line = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(2);
        let (name, completed, merged) = (words.next()?, words.next()?, words.next()?);
        Some((name.to_owned(), completed.parse::<u64>().ok()? + merged.parse::<u64>().ok()?))
    };
    text.lines().filter_map(of_line).collect()
}

/// What was asked for between two looks, of devices that were there at both.
pub(super) fn reads_between(
    before: Option<BTreeMap<String, u64>>,
    after: Option<BTreeMap<String, u64>>,
) -> Option<BTreeMap<String, u64>> {
    let before = before?;
    let of_device = |(name, reads): (String, u64)| {
        let earlier = before.get(&name)?;
        Some((name, reads.saturating_sub(*earlier)))
    };
    Some(after?.into_iter().filter_map(of_device).collect())
}

fn since_epoch(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_devices_are_those_that_were_asked_for() {
        let before =
            "   8       0 sda 100 20 4000 5 1 0 8 0 0 0 0\n   8       1 sda1 90 20 3900 5 0 0 0 0 0 0 0\n";
        let after =
            "   8       0 sda 130 27 5000 5 1 0 8 0 0 0 0\n   7       0 loop0 5 0 40 1 0 0 0 0 0 0 0\n";
        let found = reads_between(Some(reads_of(before)), Some(reads_of(after)));
        assert_eq!(found, Some([("sda".to_owned(), 37)].into()));
        assert_eq!(reads_between(None, Some(reads_of(after))), None);
        assert!(reads_of("nonsense\n\n8 0 sda x y\n").is_empty());
    }
}
