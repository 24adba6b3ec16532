//! Observes why an operation was slow, from kernel counters and events only.
//!
//! [`Watch`] brackets an operation, outside of the two clock reads:
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
//! It uses the best of three tiers that the machine allows:
//! - **accounting** (any user): `getrusage` and the run-queue wait of `schedstat`, at about 1.5 µs twice an
//!   operation, so they are read only near operations of 20 µs and more;
//! - **events** (`perf_event_paranoid` at most 2): context switches and page faults as records in a shared
//!   ring. An operation without events needs no system call;
//! - **tracepoints** (root or CAP_PERFMON): also timer, soft and device interrupts, and the time in which
//!   block devices worked on this thread's requests.

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

/// Looks up what forked ranks inherit; `ranks` of them will watch.
pub fn prepare(ranks: u32) {
    events::prepare();
    expect(ranks);
}

/// Sets how many ranks will watch.
pub fn expect(ranks: u32) {
    device::expect(ranks);
}
