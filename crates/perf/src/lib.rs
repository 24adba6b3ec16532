//! Observes why an operation was slow; nothing is guessed.
//!
//! [`Watch`] stands around an operation, outside the two clock reads:
//!
//! ```
//! let clock = clock::Clock::monotonic();
//! let mut watch = perf::Watch::of_this_thread();
//! watch.before();
//! let begin = clock.now();
//! std::thread::sleep(std::time::Duration::from_millis(1));
//! let end = clock.now();
//! let seen = watch.after();
//! assert!(seen.causes.has(samples::Cause::Blocked));
//! assert!(clock.picoseconds(begin, end) > seen.queue_ns * 1000);
//! ```
//!
//! Three tiers, the best that the machine allows:
//! - **accounting** (any user): `getrusage` and the run-queue wait of `schedstat`, about 1.5 µs twice
//!   an operation, so only while operations of 20 µs and more are about;
//! - **events** (`perf_event_paranoid` at most 2): context switches and page faults as records in a
//!   shared ring. Without a record nothing happened, and no system call is needed to know it;
//! - **tracepoints** (root or CAP_PERFMON): also timer, soft and device interrupts, and when block devices
//!   were at work for this thread.

mod accounting;
mod device;
mod events;
mod ring;
mod sources;
mod tally;
mod watch;

pub use accounting::{Accounting, Counters};
pub use tally::Totals;
pub use watch::{Observed, Watch};

/// Finds out what forked ranks need not find out each by itself; so many of them will watch.
pub fn prepare(ranks: u32) {
    events::prepare();
    expect(ranks);
}

/// Says how many ranks of this machine, or of others, will watch.
pub fn expect(ranks: u32) {
    device::expect(ranks);
}
