//! Moments of the clock from which the kernel takes the birth times of files.

/// A moment of the file system's clock, to be compared with birth times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Nanoseconds since 1970.
    pub(super) ns: i64,
}

impl Moment {
    /// Later than any other.
    pub(super) const MAX: Self = Self { ns: i64::MAX };

    /// A birth time may be a tick of the clock later than the end of the call.
    const TICK_NS: i64 = 20_000_000;

    /// Now, by the coarse clock from which the kernel takes the times of files. No system call.
    pub fn now() -> Self {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid to write to.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut time) };
        #[allow(clippy::useless_conversion)] // the fields' widths differ between architectures
        Self::of(i64::from(time.tv_sec), i64::from(time.tv_nsec))
    }

    /// So long before it.
    pub fn before(self, span: std::time::Duration) -> Self {
        let ns = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        Self { ns: self.ns.saturating_sub(ns) }
    }

    pub(super) fn of(seconds: i64, nanoseconds: i64) -> Self {
        Self { ns: seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds) }
    }

    /// Was it between the two, as far as the clock can tell?
    pub(super) fn is_within(self, (from, to): (Self, Self)) -> bool {
        self >= from && self.ns <= to.ns.saturating_add(Self::TICK_NS)
    }
}
