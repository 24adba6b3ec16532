//! Measures a kernel: blocks for the headline, single observations for the tail, and a check that both agree.

use std::time::{Duration, Instant};

use clock::Clock;
use perf::Watch;
use samples::random::Random;
use samples::{Causes, ClockFacts, TimingCheck};

use crate::calls::Additions;
use crate::kernel::Kernel;

/// Limits of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct MeasureSettings {
    /// The time limit of the whole measurement.
    pub budget: Duration,
    /// The largest number of observations.
    pub observations: usize,
    /// The largest number of blocks; the headline is their median.
    pub blocks: usize,
    /// Whether operations may be repeated to reach a steady state; false if they are slow or wear out a
    /// device.
    pub warm: bool,
}

impl Default for MeasureSettings {
    fn default() -> Self {
        Self { budget: Duration::from_millis(500), observations: 100_000, blocks: 200, warm: true }
    }
}

/// One timing of `Measured::batch` operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Nanoseconds since the clock's epoch.
    pub start_ns: u64,
    /// Duration of the whole batch including the clock's cost, in ps.
    pub duration_ps: u64,
    /// Wait on the run queue during the batch, in ns; at most about 4 s.
    pub queue_ns: u32,
    /// Time blocked during the batch, in ns; at most about 4 s.
    pub blocked_ns: u32,
    /// Causes that were observed, as [`Causes`] bits.
    pub causes: u16,
    /// The processor it ended on.
    pub cpu: u16,
}

/// The result of measuring one kernel.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Operations in each observation: 1 where an operation lasts at least eight quanta of the clock.
    pub batch: u32,
    /// Median over blocks of about 1 ms of the time an operation takes, in ps.
    pub headline_ps: f64,
    /// Every block: ps an operation.
    pub blocks: Vec<f64>,
    /// Operations in a block.
    pub block: u32,
    /// Every observation, in time order.
    pub observations: Vec<Observation>,
    /// If an observation covers many operations: single operations in addition, in time order. Most are only
    /// a few clock steps long, so only their mean and their far tail are meaningful.
    pub singles: Vec<Observation>,
    /// Single timings against the amortised time; `None` if too little was measured or an operation takes 10
    /// µs or more.
    pub check: Option<TimingCheck>,
    /// Whether three successive blocks agreed within 1% before measuring began.
    pub steady: bool,
    /// Bytes that one operation moves.
    pub bytes_each: u64,
    /// 0, or the errno that ended the measurement.
    pub errno: i32,
}

const BLOCK_PS: u64 = 1_000_000_000;

/// Operations that take less are timed many at once as well: their amortised time is another quantity than that of a single
/// one.
pub(crate) const AMORTISED_BELOW_PS: f64 = 10e6;

/// The clock of a measurement, its facts, and the watch for causes.
pub struct Instruments<'a> {
    /// The clock.
    pub clock: Clock,
    /// Its resolution and cost.
    pub facts: &'a ClockFacts,
    /// Observes what slows an operation.
    pub watch: &'a mut Watch,
}

/// Measures `kernel` within its budget: estimates the length of an operation, warms up, measures blocks, then
/// single observations.
pub fn measure(
    kernel: &mut dyn Kernel,
    instruments: &mut Instruments<'_>,
    settings: &MeasureSettings,
) -> Measured {
    let deadline = Deadline { begin: Instant::now(), budget: settings.budget };
    let mut found = Measured { bytes_each: kernel.bytes_each(), ..Measured::default() };
    instruments.watch.measure_faults(kernel.faults());
    let (clock, facts) = (instruments.clock, instruments.facts);
    let mut bench = Bench { kernel, clock, facts, watch: instruments.watch, deadline };
    if let Err(errno) = bench.measure(settings, &mut found) {
        found.errno = errno;
    }
    bench.watch.measure_faults(false);
    found
}

struct Deadline {
    begin: Instant,
    budget: Duration,
}

impl Deadline {
    fn passed(&self, share: f64) -> bool {
        self.begin.elapsed() >= self.budget.mul_f64(share)
    }
}

fn timed(kernel: &mut dyn Kernel, clock: Clock, count: u32) -> Result<u64, i32> {
    match kernel.time(clock, count) {
        timed if timed.errno == 0 => Ok(clock.picoseconds(timed.begin, timed.end)),
        timed => Err(timed.errno),
    }
}

/// Parameters of a measurement.
struct SpinPace {
    /// Operations in each.
    batch: u32,
    /// The largest number of observations.
    wanted: usize,
    /// Whether causes are watched, which costs more than a short operation.
    watched: bool,
    /// Whether the deadline is checked after each observation.
    often: bool,
    /// The share of the budget after which to stop.
    until: f64,
}

/// A measurement in progress.
struct Bench<'a> {
    kernel: &'a mut dyn Kernel,
    clock: Clock,
    facts: &'a ClockFacts,
    watch: &'a mut Watch,
    deadline: Deadline,
}

impl Bench<'_> {
    fn timed(&mut self, count: u32) -> Result<u64, i32> {
        timed(self.kernel, self.clock, count)
    }

    /// Time of one operation in ps, measured over `count` and without the clock's cost.
    fn net_of(&mut self, count: u32) -> Result<f64, i32> {
        Ok(net(self.timed(count)?, count, self.facts))
    }

    fn measure(&mut self, settings: &MeasureSettings, found: &mut Measured) -> Result<(), i32> {
        let (least, most) = (self.kernel.min_count(), self.kernel.max_count());
        let block = self.block_length()?;
        found.block = block;
        found.steady = settings.warm && self.warm_up(block)?;
        let share = if settings.observations == 0 { 1.0 } else { 0.5 };
        while found.blocks.len() < settings.blocks && (found.blocks.len() < 3 || !self.deadline.passed(share))
        {
            found.blocks.push(self.net_of(block)?);
            if self.deadline.passed(1.0) {
                break;
            }
        }
        found.headline_ps = median(&found.blocks);
        found.batch = batch(found.headline_ps, self.facts.quantum_ps, least, most);
        if found.headline_ps < AMORTISED_BELOW_PS && settings.observations > 0 {
            found.check = self.check(block)?;
        }
        let cheap = self.watch.is_cheap();
        let watched = |batch: u32| cheap || found.headline_ps * f64::from(batch) >= 20e6;
        let (many, one) = (watched(found.batch), watched(1));
        let until = if found.batch > least { 0.85 } else { 1.0 };
        self.timed(block)?;
        let wanted = settings.observations;
        let often = found.headline_ps > 1e6;
        let pace = SpinPace { batch: found.batch, wanted, watched: many, often, until };
        let mut result = self.observe(&pace, &mut found.observations);
        if result.is_ok() && found.batch > least {
            let pace = SpinPace { batch: least, wanted: wanted / 2, watched: one, often: false, until: 1.0 };
            result = self.observe(&pace, &mut found.singles);
        }
        result
    }

    /// The number of operations in a block of about 1 ms.
    fn block_length(&mut self) -> Result<u32, i32> {
        let (least, most) = (self.kernel.min_count(), self.kernel.max_count());
        let mut count = least;
        let mut ps = self.timed(count)?;
        while ps < BLOCK_PS / 2 && count < most && count < 1 << 28 && !self.deadline.passed(0.2) {
            count = count.saturating_mul(if ps < BLOCK_PS / 20 { 8 } else { 2 }).min(most);
            ps = self.timed(count)?;
        }
        let each = net(ps, count, self.facts).max(1.0);
        let fitting = (BLOCK_PS as f64 / each).clamp(f64::from(least), f64::from(most.min(1 << 28)));
        Ok((fitting as u32).next_multiple_of(least))
    }

    /// Repeats blocks until three successive ones agree within 1%; false if the time is up before.
    fn warm_up(&mut self, block: u32) -> Result<bool, i32> {
        let mut last = [0.0; 3];
        while !self.deadline.passed(0.25) {
            last.rotate_left(1);
            last[2] = self.net_of(block)?;
            let (low, high) = last.iter().fold((f64::MAX, 0.0f64), |(l, h), v| (l.min(*v), h.max(*v)));
            if low > 0.0 && high <= low * 1.01 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes observations. Their memory is allocated before the first one.
    fn observe(&mut self, pace: &SpinPace, all: &mut Vec<Observation>) -> Result<(), i32> {
        let clock = self.clock;
        *all = vec![Observation { cpu: u16::MAX, ..Observation::default() }; pace.wanted];
        let mut taken = 0;
        let mut errno = 0;
        for observation in all.iter_mut() {
            if pace.watched {
                self.watch.before();
            }
            let timed = self.kernel.time(clock, pace.batch);
            let seen = pace.watched.then(|| self.watch.after());
            if timed.errno != 0 {
                errno = timed.errno;
                break;
            }
            let cpu = seen.map_or(u16::MAX, |seen| seen.cpu);
            let seen = seen.unwrap_or_default();
            *observation = Observation {
                start_ns: clock.since_epoch_ns(timed.begin),
                duration_ps: clock.picoseconds(timed.begin, timed.end),
                queue_ns: u32::try_from(seen.queue_ns).unwrap_or(u32::MAX),
                blocked_ns: u32::try_from(seen.blocked_ns).unwrap_or(u32::MAX),
                causes: seen.causes.0,
                cpu,
            };
            taken += 1;
            if (pace.often || taken % 256 == 0) && self.deadline.passed(pace.until) {
                break;
            }
        }
        all.truncate(taken);
        if errno == 0 { Ok(()) } else { Err(errno) }
    }

    /// Compares single timings with the amortised time, in rounds. Each round takes some hundred single
    /// timings, and as many of two chains of register additions, one four times as long as the other. The
    /// line through the means of the chains, extrapolated to no additions, is what a bracket adds to an
    /// operation at that moment. (An empty bracket adds more: see [`Additions`].)
    ///
    /// The mean of a round excludes the slowest 1%, and the median round is used, so that interruptions do
    /// not count. Each round begins with a quarter of a block, which refills the caches after another process
    /// ran and gives the amortised time of the same moment. A pause of varying length precedes each single
    /// timing, so that timings begin at all phases of the clock's step; otherwise the loop synchronises with
    /// a clock of 10 ns steps and its mean is off by a step. A round is stored in 4 KiB, so that storing it
    /// does not evict the measured data from the cache.
    fn check(&mut self, block: u32) -> Result<Option<TimingCheck>, i32> {
        let (clock, facts) = (self.clock, self.facts);
        const SINGLES: usize = 256;
        const ROUNDS: usize = 301;
        let least = self.kernel.min_count();
        let quarter = (block / 4).next_multiple_of(least).max(least);
        let mut rounds = Vec::with_capacity(ROUNDS);
        let mut amortised = Vec::with_capacity(ROUNDS);
        let mut shown = [0u64; SINGLES];
        let mut phases = Random::new(1);
        while rounds.len() < ROUNDS
            && (rounds.len() < 5 || !self.deadline.passed(0.65))
            && !self.deadline.passed(1.0)
        {
            let mut mean_of = |kernel: &mut dyn Kernel, count| -> Result<f64, i32> {
                for single in &mut shown {
                    for _ in 0..phases.next() % 64 {
                        std::hint::black_box(());
                    }
                    *single = timed(kernel, clock, count)?;
                }
                shown.sort_unstable();
                let kept = &shown[..SINGLES * 99 / 100];
                Ok(kept.iter().map(|ps| *ps as f64).sum::<f64>() / kept.len() as f64)
            };
            let short = mean_of(&mut Additions::<16>, 1)?;
            amortised.push(net(timed(self.kernel, clock, quarter)?, quarter, facts));
            let single = mean_of(self.kernel, least)?;
            let long = mean_of(&mut Additions::<64>, 1)?;
            rounds.push((single - bracket_adds(short, long)) / f64::from(least));
        }
        let amortised_ps = median(&amortised);
        let found = TimingCheck {
            single_ps: median(&rounds).max(0.0),
            amortised_ps,
            tolerance_ps: (0.05 * amortised_ps).max(600.0),
        };
        Ok((rounds.len() >= 5).then_some(found))
    }
}

/// Time of one operation in ps: the total without one clock cost, divided by the count.
fn net(ps: u64, count: u32, facts: &ClockFacts) -> f64 {
    (ps as f64 - facts.overhead.mean_ps as f64).max(0.0) / f64::from(count.max(1))
}

/// The number of operations that last at least eight clock quanta.
fn batch(each_ps: f64, quantum_ps: u64, least: u32, most: u32) -> u32 {
    let wanted = (8.0 * quantum_ps as f64 / each_ps.max(1.0)).ceil();
    (wanted as u32).clamp(least, most.min(1 << 16).max(least)).next_multiple_of(least)
}

/// Overhead of a bracket, extrapolated from a chain and one four times as long.
fn bracket_adds(short: f64, long: f64) -> f64 {
    (short - (long - short) / 3.0).max(0.0)
}

/// The median of a list; 0 if it is empty.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

impl Observation {
    /// Its causes as a set.
    pub fn causes(&self) -> Causes {
        Causes(self.causes)
    }

    /// The duration without the wait on the run queue, in ps.
    pub fn corrected_ps(&self) -> u64 {
        self.duration_ps.saturating_sub(u64::from(self.queue_ns) * 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Probe;

    /// Spins for a stated time.
    struct Spin {
        clock: Clock,
        ns: u64,
    }

    impl Probe for Spin {
        fn run(&mut self, count: u32) -> i32 {
            let end = self.clock.now() + self.clock.ns_to_ticks(self.ns * u64::from(count));
            while self.clock.now() < end {}
            0
        }
    }

    #[test]
    fn a_spin_of_known_length_is_measured_correctly() {
        let (clock, facts) = Clock::choose();
        let mut watch = Watch::of_this_thread();
        let mut spin = Spin { clock, ns: 3_000 };
        let settings = MeasureSettings { budget: Duration::from_millis(200), ..MeasureSettings::default() };
        let mut instruments = Instruments { clock, facts: &facts, watch: &mut watch };
        let found = measure(&mut spin, &mut instruments, &settings);
        assert_eq!((found.batch, found.errno), (1, 0));
        // At most a clock tick shorter than the spin; other load on the machine can make it arbitrarily
        // longer.
        assert!(found.headline_ps >= 2_990_000.0, "{}", found.headline_ps);
        assert!(found.observations.iter().all(|one| one.duration_ps >= 2_990_000), "shorter than it spins");
        assert!(found.observations.windows(2).all(|pair| pair[0].start_ns <= pair[1].start_ns));
    }

    #[test]
    fn a_batch_lasts_at_least_eight_quanta() {
        assert_eq!(batch(1_083.0, 10_000, 1, u32::MAX), 74);
        assert_eq!(batch(100_000.0, 10_000, 1, u32::MAX), 1);
        assert_eq!(batch(1_000.0, 10_000, 2, u32::MAX), 80);
        assert_eq!(batch(1_000.0, 10_000, 1, 16), 16);
    }

    #[test]
    fn the_check_allows_six_tenths_of_a_nanosecond_or_five_percent() {
        let check = |single_ps, amortised_ps: f64| {
            TimingCheck { single_ps, amortised_ps, tolerance_ps: (0.05 * amortised_ps).max(600.0) }.passes()
        };
        assert!(check(1_600.0, 1_083.0) && !check(1_700.0, 1_083.0));
        assert!(check(104_000.0, 100_000.0) && !check(106_000.0, 100_000.0));
    }

    #[test]
    fn a_failing_kernel_ends_with_its_errno() {
        struct Failing;
        impl Probe for Failing {
            fn run(&mut self, _: u32) -> i32 {
                libc::ENOSPC
            }
        }
        let (clock, facts) = Clock::of_kind(clock::Kind::Monotonic);
        let mut watch = Watch::of_this_thread();
        let mut instruments = Instruments { clock, facts: &facts, watch: &mut watch };
        let found = measure(&mut Failing, &mut instruments, &MeasureSettings::default());
        assert_eq!((found.errno, found.observations.len()), (libc::ENOSPC, 0));
    }
}
