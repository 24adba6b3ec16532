//! Clocks that time operations: chooses one and measures its step and the cost of a read.
//!
//! [`Clock`] is a small `Copy` value. Create it once in the parent, with [`Clock::choose`] (calibrates for
//! 100 ms) or [`Clock::monotonic`] (immediate), and let forked ranks inherit it. Both kinds count the same in
//! every process of a machine, so all ranks share one epoch.
//!
//! ```
//! let (clock, mut facts) = clock::Clock::choose();
//! let begin = clock.now();
//! let end = clock.now();
//! let start_ns = clock.since_epoch_ns(begin); // Sample::start_ns
//! let duration_ps = clock.picoseconds(begin, end); // Sample::duration_ps
//! clock.close(&mut facts); // after the run: drift against the kernel's clock
//! assert!(facts.quantum_ps > 0 && duration_ps < 1_000_000_000_000 && start_ns < u64::MAX);
//! ```

mod calibrate;
mod choose;
mod kind;
mod read;

use std::time::Duration;

use samples::{ClockFacts, Overhead};

pub use calibrate::Anchor;
pub use kind::{Kind, Monotonic, Source, Tsc, TscMfence};
pub use read::{monotonic_ns, monotonic_raw_ns};

/// A clock: the way to read it, its rate and the run's epoch.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    kind: Kind,
    /// Ticks at the run's epoch.
    epoch: u64,
    /// Picoseconds per tick, times 2³².
    scale: u64,
    /// The start of the calibration. [`Clock::close`] measures the rate from here to the end of the run.
    anchor: Anchor,
}

impl Clock {
    /// The best clock of this machine: the processor's counter if the kernel uses it as its clock source, the
    /// monotonic clock otherwise. Takes about 100 ms to calibrate.
    pub fn choose() -> (Self, ClockFacts) {
        let (kind, reason) = choose::choose();
        Self::with(kind, reason)
    }

    /// The clock of the given kind, measured. Takes about 100 ms unless it is [`Kind::Monotonic`].
    pub fn of_kind(kind: Kind) -> (Self, ClockFacts) {
        Self::with(kind, "asked for".into())
    }

    /// The monotonic clock without calibration, for tests and for coarse timing.
    pub fn monotonic() -> Self {
        let anchor = Anchor::take(Kind::Monotonic);
        Self { kind: Kind::Monotonic, epoch: Kind::Monotonic.read(), scale: 1000 << 32, anchor }
    }

    /// A virtual clock for conversions only: a tick is a picosecond and the epoch is 0. Its readings have no
    /// meaning.
    pub fn of_virtual_time() -> Self {
        Self { epoch: 0, scale: 1 << 32, ..Self::monotonic() }
    }

    fn with(kind: Kind, reason: String) -> (Self, ClockFacts) {
        let mut clock = Self::monotonic();
        let mut ticks_per_ns = 1.0;
        if kind != Kind::Monotonic {
            let (rate, anchor) = calibrate::rate(kind, Duration::from_millis(100));
            clock = Self { kind, epoch: 0, scale: scale(rate), anchor };
            ticks_per_ns = rate;
        }
        let in_ps = |ticks: f64| (ticks * 1000.0 / ticks_per_ns).round() as u64;
        let [mean, p50, p99] = calibrate::overhead(kind).map(in_ps);
        let facts = ClockFacts {
            kind: kind.into(),
            reason,
            fence: fence(kind).into(),
            ticks_per_ns,
            quantum_ps: in_ps(calibrate::quantum(&calibrate::differences(kind, 40_000)) as f64).max(1),
            overhead: Overhead { mean_ps: mean, p50_ps: p50, p99_ps: p99 },
            ..ClockFacts::default()
        };
        clock.epoch = clock.now();
        (clock, facts)
    }

    /// The current time in ticks. Only differences have a meaning.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.kind.read()
    }

    /// The current time in ticks, just before or just after a system call: see [`Kind::read_at_call`].
    #[inline(always)]
    pub fn at_call(&self) -> u64 {
        self.kind.read_at_call()
    }

    /// The way this clock is read. A monomorphised kernel matches on it once, outside its loop.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// A number of ticks in picoseconds; saturates after 213 days.
    #[inline]
    pub fn ticks_to_ps(&self, ticks: u64) -> u64 {
        const HALF: u64 = 1 << 31;
        let wide = u128::from(ticks) * u128::from(self.scale);
        // Up to some milliseconds the product fits one word: shifting two costs more than the product.
        if let Some(narrow) = u64::try_from(wide).ok().and_then(|narrow| narrow.checked_add(HALF)) {
            return narrow >> 32;
        }
        u64::try_from((wide + u128::from(HALF)) >> 32).unwrap_or(u64::MAX)
    }

    /// The time from `begin` to `end` in picoseconds; 0 if the clock seems to have run backwards.
    #[inline]
    pub fn picoseconds(&self, begin: u64, end: u64) -> u64 {
        self.ticks_to_ps(end.saturating_sub(begin))
    }

    /// Nanoseconds from the epoch to `ticks`; 0 if `ticks` is before the epoch.
    #[inline]
    pub fn since_epoch_ns(&self, ticks: u64) -> u64 {
        let wide = (u128::from(ticks.saturating_sub(self.epoch)) * u128::from(self.scale)) >> 32;
        // 64 bits hold 213 days. A 128-bit division costs as much as reading the clock.
        match u64::try_from(wide) {
            Ok(ps) => ps / 1000,
            Err(_) => u64::try_from(wide / 1000).unwrap_or(u64::MAX),
        }
    }

    /// The number of ticks in `ns` nanoseconds, rounded down, for deadlines that are compared in ticks.
    pub fn ns_to_ticks(&self, ns: u64) -> u64 {
        let wide = ((u128::from(ns) * 1000) << 32) / u128::from(self.scale.max(1));
        u64::try_from(wide).unwrap_or(u64::MAX)
    }

    /// The same clock with its epoch set to the current time, for the start of a run.
    #[must_use]
    pub fn restarted(mut self) -> Self {
        self.epoch = self.now();
        self
    }

    /// Calibrates again over the whole time since the first calibration and stores the drift in `facts`.
    pub fn close(&self, facts: &mut ClockFacts) {
        let elapsed = read::monotonic_raw_ns().saturating_sub(self.anchor.raw_ns);
        if self.kind != Kind::Monotonic && elapsed < 200_000_000 {
            std::thread::sleep(Duration::from_nanos(200_000_000 - elapsed));
        }
        let rate = self.anchor.rate(Anchor::take(self.kind));
        facts.drift_ppm = Some((rate / facts.ticks_per_ns - 1.0) * 1e6);
    }
}

fn scale(ticks_per_ns: f64) -> u64 {
    (1000.0 / ticks_per_ns * 4_294_967_296.0).round() as u64
}

fn fence(kind: Kind) -> &'static str {
    match (kind, cfg!(target_arch = "aarch64")) {
        (Kind::Monotonic, _) => "clock_gettime(CLOCK_MONOTONIC)",
        (_, true) => "isb;mrs cntvct_el0;isb",
        (Kind::Tsc, _) => "lfence;rdtsc;lfence",
        (Kind::TscMfence, _) => "mfence;rdtsc;mfence",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_agrees_with_the_kernel_about_a_tenth_of_a_second() {
        for kind in [Kind::Monotonic, Kind::Tsc, Kind::TscMfence] {
            let (clock, _) = Clock::of_kind(kind);
            let (raw, begin) = (read::monotonic_raw_ns(), clock.now());
            while read::monotonic_raw_ns() - raw < 100_000_000 {}
            let ps = clock.picoseconds(begin, clock.now());
            let truth = (read::monotonic_raw_ns() - raw) * 1000;
            // Two successive reads differ by more only if the thread was preempted between them.
            assert!(ps.abs_diff(truth) < truth / 10, "{kind:?}: {ps} for {truth}");
        }
    }

    /// The shortest of many brackets around a system call, in ps; `before` and `behind` run just outside of it.
    fn shortest_call(clock: Clock, mut before: impl FnMut(), mut behind: impl FnMut()) -> u64 {
        let mut shortest = u64::MAX;
        for _ in 0..20_000 {
            before();
            let begin = clock.at_call();
            // SAFETY: takes no argument and returns a number.
            std::hint::black_box(unsafe { libc::getppid() });
            let end = clock.at_call();
            behind();
            shortest = shortest.min(clock.picoseconds(begin, end));
        }
        shortest
    }

    #[test]
    fn work_beside_a_system_call_is_not_in_its_bracket() {
        for kind in [Kind::Tsc, Kind::TscMfence] {
            if kind == Kind::Tsc && choose::choose().0 == Kind::TscMfence {
                eprintln!("skipped: lfence does not wait here");
                continue;
            }
            let (clock, _) = Clock::of_kind(kind);
            let mut number = std::hint::black_box(0x9e37_79b9_7f4a_7c15_u64);
            // Each division needs the one before: they are under way for long after they were issued.
            let mut divide = || {
                for _ in 0..40 {
                    number = (u64::MAX / (number | 1)) | (1 << 40);
                }
                std::hint::black_box(&number);
            };
            let alone = (0..20_000).map(|_| {
                let begin = clock.now();
                divide();
                clock.picoseconds(begin, clock.now())
            });
            let work = alone.min().unwrap_or(0);
            let bare = shortest_call(clock, || (), || ());
            let before = shortest_call(clock, &mut divide, || ());
            let behind = shortest_call(clock, || (), &mut divide);
            let told = format!("{kind:?}: {bare} ps, {before} behind and {behind} before work of {work}");
            assert!(before.abs_diff(bare) < work / 2 && behind.abs_diff(bare) < work / 2, "{told}");
        }
    }

    #[test]
    fn conversion_neither_overflows_nor_loses_picoseconds() {
        let clock = Clock { scale: scale(2.596), ..Clock::monotonic() };
        assert_eq!(clock.ticks_to_ps(2_596), 1_000_000);
        let year = 2_596_000_000u64 * 86_400 * 365;
        assert_eq!(clock.ticks_to_ps(year), u64::MAX);
        let day_ns = 86_400_000_000_000u64;
        let ticks = clock.ns_to_ticks(day_ns);
        assert!(clock.ticks_to_ps(ticks).abs_diff(day_ns * 1000) < 100_000);
    }

    #[test]
    fn short_and_long_times_are_rounded_alike() {
        let clock = Clock { scale: scale(2.596), ..Clock::monotonic() };
        let exact = |ticks: u64| (u128::from(ticks) * u128::from(clock.scale) + (1 << 31)) >> 32;
        // Around the number of ticks whose product with the scale is the first that needs two words.
        let first_wide = u64::MAX / clock.scale;
        for ticks in (0..5000).chain(first_wide - 5000..first_wide + 5000) {
            assert_eq!(u128::from(clock.ticks_to_ps(ticks)), exact(ticks), "{ticks} ticks");
        }
        // The sum of the rounding carries.
        let carries = Clock { scale: u64::MAX, ..clock };
        assert_eq!(carries.ticks_to_ps(1), 1 << 32);
    }

    #[test]
    fn a_forked_rank_shares_the_epoch() {
        let clock = Clock::monotonic();
        let before = clock.since_epoch_ns(clock.now());
        let mut pipe = [0; 2];
        // SAFETY: `pipe` has room for the two descriptors.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        // SAFETY: the child only reads a clock, writes eight bytes and leaves with `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let seen = clock.since_epoch_ns(clock.now()).to_ne_bytes();
            // SAFETY: `seen` holds eight bytes.
            unsafe {
                libc::write(pipe[1], seen.as_ptr().cast(), 8);
                libc::_exit(0);
            }
        }
        let mut seen = [0u8; 8];
        // SAFETY: `seen` has room for eight bytes; the child belongs to this process.
        unsafe {
            assert_eq!(libc::read(pipe[0], seen.as_mut_ptr().cast(), 8), 8);
            libc::waitpid(child, std::ptr::null_mut(), 0);
            libc::close(pipe[0]);
            libc::close(pipe[1]);
        }
        let seen = u64::from_ne_bytes(seen);
        assert!(before <= seen && seen <= clock.since_epoch_ns(clock.now()));
    }

    #[test]
    fn the_description_carries_quantum_overhead_and_drift() {
        let (clock, mut description) = Clock::choose();
        clock.close(&mut description);
        assert!(description.quantum_ps > 0);
        assert!(
            description.overhead.mean_ps > 0 && description.overhead.p99_ps >= description.overhead.p50_ps
        );
        assert!(description.drift_ppm.is_some_and(|ppm| ppm.abs() < 10_000.0), "{description:?}");
        let json = serde_json::to_value(&description).expect("plain data");
        assert!(json["quantum_ps"].is_u64() && json["kind"].is_string());
    }
}
