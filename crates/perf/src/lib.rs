//! Why was this operation slow? Observed, never guessed.
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

use samples::{Cause, Causes};
use serde::{Deserialize, Serialize};

pub use accounting::{Accounting, Counters};
use device::Devices;
use events::Meaning;
use ring::{Record, Ring};

/// Finds out what forked ranks need not find out each by itself; so many of them will watch.
pub fn prepare(ranks: u32) {
    events::prepare();
    expect(ranks);
}

/// Says how many ranks of this machine, or of others, will watch.
pub fn expect(ranks: u32) {
    device::expect(ranks);
}

/// What the watch can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Nothing: neither schedstat nor events.
    Accounting,
    /// Context switches and page faults as records.
    Events,
    /// Interrupts and block devices too.
    Tracepoints,
}

/// What was seen during one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Time ready to run and not running, in ns: `Sample::queue_ns`.
    pub queue_ns: u64,
    /// Time off the processor and not ready to run, in ns: `Sample::blocked_ns`; 0 below [`Tier::Events`].
    pub blocked_ns: u64,
    /// `Sample::causes`.
    pub causes: Causes,
    /// The processor it ended on: `Sample::cpu`.
    pub cpu: u16,
    /// Time inside interrupt handlers, in ns; 0 below [`Tier::Tracepoints`].
    pub interrupt_ns: u64,
    /// Of the time blocked that in which a block device had a request of this thread, in ns; 0 below
    /// [`Tier::Tracepoints`].
    pub device_ns: u64,
}

/// Sums over everything a [`Watch`] saw, between operations too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Switches in which the thread gave the processor up.
    pub voluntary: u64,
    /// Switches against its will.
    pub involuntary: u64,
    /// Faults served without a device.
    pub minor_faults: u64,
    /// Faults that read a device.
    pub major_faults: u64,
    /// Timer interrupts.
    pub timer: u64,
    /// Soft interrupts.
    pub soft: u64,
    /// Device interrupts.
    pub device: u64,
    /// Records that did not fit into the ring: the sums above are too small by as much.
    pub lost: u64,
}

/// What the watch could see and what not, for the facts and for the reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// The tier reached.
    pub tier: Tier,
    /// Causes that are seen whenever they occur.
    pub sees: Vec<Cause>,
    /// In one sentence each: what it could not see, and why.
    pub blind: Vec<String>,
}

/// Watches the operations of the thread that made it.
#[derive(Debug)]
pub struct Watch {
    accounting: Accounting,
    ring: Option<Ring>,
    devices: Option<Devices>,
    sight: Sight,
    /// Counters before the operation (accounting), or after the last switch (events: only `queue_ns`).
    before: Counters,
    cpu: u16,
    totals: Totals,
    /// When the interrupts that are being served began; they nest soft in nothing, device in soft.
    entered: [u64; 3],
    faults_measured: bool,
    /// When the thread left the processor, on the clock of the records.
    left: Option<u64>,
    /// Does a control group limit the processors, and how often had it throttled?
    throttling: Option<u64>,
    /// Without a ring: when the operation began, and how many more of them are read for being near a
    /// long one.
    began_ns: u64,
    near: u8,
}

/// An operation of this length is worth two readings of the counters.
const LONG_NS: u64 = 20_000;

/// So many operations after a long one are read too.
const NEAR: u8 = 64;

/// A wait of this length may be a control group's throttling.
const LONG_WAIT_NS: u64 = 1_000_000;

/// Events of one operation as they come out of the ring.
#[derive(Default)]
struct Tally {
    causes: Causes,
    switched: bool,
    away_ns: u64,
    /// From when to when, between which it may have been back for a while.
    away: Option<(u64, u64)>,
    interrupt_ns: u64,
}

impl Watch {
    /// For the calling thread, as well as this machine allows. A forked rank makes its own.
    pub fn of_this_thread() -> Self {
        Self::at_most(Tier::Tracepoints)
    }

    /// As [`Watch::of_this_thread`], but with no better tier than `limit`.
    pub fn at_most(limit: Tier) -> Self {
        let accounting = Accounting::of_this_thread();
        let (ring, devices, sight) = open(limit, accounting.sees_queue());
        let before = accounting.read();
        Self {
            accounting,
            ring,
            devices,
            sight,
            before,
            cpu: processor(),
            totals: Totals::default(),
            entered: [0; 3],
            faults_measured: false,
            left: None,
            throttling: throttled(),
            began_ns: 0,
            near: NEAR,
        }
    }

    /// What can be seen here.
    pub fn sight(&self) -> &Sight {
        &self.sight
    }

    /// Does watching cost next to nothing when nothing happens? Then every operation can be watched,
    /// not only those of 20 µs and more.
    pub fn is_cheap(&self) -> bool {
        self.ring.is_some()
    }

    /// Are page faults what is measured from here on? Then they are not recorded one by one: that costs
    /// about a microsecond each.
    #[inline]
    pub fn measure_faults(&mut self, measured: bool) {
        if self.faults_measured != measured {
            self.faults_measured = measured;
            if let Some(ring) = &self.ring {
                ring.see_faults(!measured);
            }
        }
    }

    /// To be called just before the clock is read.
    #[inline(always)]
    pub fn before(&mut self) {
        match &self.ring {
            Some(ring) if ring.is_quiet() => {}
            Some(_) => self.before_records(),
            None => self.before_accounting(),
        }
        if let Some(devices) = &mut self.devices {
            devices.before();
        }
        self.cpu = processor();
    }

    /// To be called just after the clock was read again: what happened since [`Watch::before`].
    #[inline(always)]
    pub fn after(&mut self) -> Observed {
        let cpu = processor();
        let mut seen = match &self.ring {
            Some(ring) if ring.is_quiet() => Observed::default(),
            Some(_) => self.after_records(),
            None => self.after_accounting(),
        };
        if cpu != self.cpu {
            seen.causes = seen.causes.with(Cause::Migration);
        }
        seen.cpu = cpu;
        seen
    }

    /// Sums over all records so far; of the ring, so zero without one.
    pub fn totals(&mut self) -> Totals {
        if self.drain().switched {
            self.before.queue_ns = self.accounting.queue_ns();
        }
        self.totals
    }

    /// What lies in the ring belongs to nothing that is timed.
    #[cold]
    fn before_records(&mut self) {
        if self.drain().switched {
            self.before.queue_ns = self.accounting.queue_ns();
        }
    }

    #[inline(never)]
    fn before_accounting(&mut self) {
        if self.near > 0 {
            self.before = self.accounting.read();
        }
        self.began_ns = clock::monotonic_raw_ns();
    }

    #[cold]
    fn after_records(&mut self) -> Observed {
        let mut tally = self.drain();
        let mut queue_ns = 0;
        if tally.switched {
            // The kernel adds to the wait only when the thread is switched in, so the value before the
            // operation is the one after the last switch.
            let now = self.accounting.queue_ns();
            queue_ns = now.saturating_sub(self.before.queue_ns);
            self.before.queue_ns = now;
        }
        if queue_ns >= LONG_WAIT_NS && self.was_throttled() {
            tally.causes = tally.causes.with(Cause::Throttled);
        }
        // Off the processor a thread is either ready, and waits in the queue, or it is blocked.
        let blocked_ns =
            if tally.causes.has(Cause::Blocked) { tally.away_ns.saturating_sub(queue_ns) } else { 0 };
        let mut device_ns = 0;
        if let (1.., Some(devices), Some((left, back))) = (blocked_ns, &mut self.devices, tally.away) {
            device_ns = devices.busy_ns(left, back).min(blocked_ns);
            if 2 * device_ns > blocked_ns {
                tally.causes = tally.causes.with(Cause::Device);
            }
        }
        let (causes, interrupt_ns) = (tally.causes, tally.interrupt_ns);
        Observed { queue_ns, blocked_ns, causes, cpu: 0, interrupt_ns, device_ns }
    }

    /// Has the control group throttled since this was last asked?
    fn was_throttled(&mut self) -> bool {
        let Some(before) = self.throttling else { return false };
        self.throttling = throttled();
        self.throttling.is_some_and(|now| now > before)
    }

    #[inline(never)]
    fn after_accounting(&mut self) -> Observed {
        let took = clock::monotonic_raw_ns().saturating_sub(self.began_ns);
        let was_read = self.near > 0;
        self.near = if took >= LONG_NS { NEAR } else { self.near.saturating_sub(1) };
        if !was_read {
            return Observed::default();
        }
        let (old, new) = (self.before, self.accounting.read());
        let happened = [
            (new.voluntary > old.voluntary, Cause::Blocked),
            (new.involuntary > old.involuntary, Cause::Preempted),
            (new.minor_faults > old.minor_faults, Cause::MinorFault),
            (new.major_faults > old.major_faults, Cause::MajorFault),
        ];
        let seen = happened.iter().filter(|(yes, _)| *yes);
        let mut causes = seen.fold(Causes::default(), |set, (_, cause)| set.with(*cause));
        let queue_ns = new.queue_ns.saturating_sub(old.queue_ns);
        if queue_ns >= LONG_WAIT_NS && self.was_throttled() {
            causes = causes.with(Cause::Throttled);
        }
        Observed { queue_ns, causes, ..Observed::default() }
    }

    fn drain(&mut self) -> Tally {
        let mut tally = Tally::default();
        let (totals, entered, left) = (&mut self.totals, &mut self.entered, &mut self.left);
        if let Some(ring) = &mut self.ring {
            ring.drain(|time, record| {
                match record {
                    Record::Out { .. } => *left = Some(time),
                    Record::In => {
                        if let Some(left) = left.take() {
                            tally.away_ns += time.saturating_sub(left);
                            tally.away = Some((tally.away.map_or(left, |(first, _)| first), time));
                        }
                    }
                    _ => {}
                }
                tally.add(totals, entered, time, record);
            });
        }
        tally
    }
}

impl Tally {
    fn add(&mut self, totals: &mut Totals, entered: &mut [u64; 3], time: u64, record: Record) {
        let cause = match record {
            Record::In => return,
            Record::Lost(count) => {
                totals.lost += count;
                // A switch may be among the lost ones: have the wait read.
                self.switched = true;
                return;
            }
            Record::Out { preempted } => {
                self.switched = true;
                *(if preempted { &mut totals.involuntary } else { &mut totals.voluntary }) += 1;
                if preempted { Cause::Preempted } else { Cause::Blocked }
            }
            Record::Event(Meaning::MinorFault) => {
                totals.minor_faults += 1;
                Cause::MinorFault
            }
            Record::Event(Meaning::MajorFault) => {
                totals.major_faults += 1;
                Cause::MajorFault
            }
            Record::Event(meaning) => return self.interrupt(totals, entered, time, meaning),
        };
        self.causes = self.causes.with(cause);
    }

    fn interrupt(&mut self, totals: &mut Totals, entered: &mut [u64; 3], time: u64, meaning: Meaning) {
        let (slot, enters) = match meaning {
            Meaning::TimerEnter | Meaning::TimerLeave => (0, meaning == Meaning::TimerEnter),
            Meaning::SoftEnter | Meaning::SoftLeave => (1, meaning == Meaning::SoftEnter),
            Meaning::DeviceEnter | Meaning::DeviceLeave => (2, meaning == Meaning::DeviceEnter),
            Meaning::Switches
            | Meaning::MinorFault
            | Meaning::MajorFault
            | Meaning::RequestQueued
            | Meaning::RequestBegins
            | Meaning::RequestEnds => return,
        };
        let cause = [Cause::Timer, Cause::SoftInterrupt, Cause::DeviceInterrupt][slot];
        self.causes = self.causes.with(cause);
        if enters {
            *[&mut totals.timer, &mut totals.soft, &mut totals.device][slot] += 1;
            entered[slot] = time;
        } else if entered[slot] != 0 {
            self.interrupt_ns += time.saturating_sub(entered[slot]);
            entered[slot] = 0;
        }
    }
}

/// How often the control group has throttled, where one limits the processors.
fn throttled() -> Option<u64> {
    let limits = machine::limits();
    limits.processors.and(limits.throttled)
}

/// The processor this thread runs on; `u16::MAX` where that is not known.
#[inline]
fn processor() -> u16 {
    // SAFETY: takes nothing and returns a number.
    u16::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(u16::MAX)
}

/// Opens the best ring within `limit`, and says what that leaves unseen.
fn open(limit: Tier, queue: bool) -> (Option<Ring>, Option<Devices>, Sight) {
    let mut sight = Sight {
        tier: Tier::Accounting,
        sees: vec![Cause::Preempted, Cause::Blocked, Cause::Migration, Cause::MinorFault, Cause::MajorFault],
        blind: Vec::new(),
    };
    if !queue {
        sight.blind.push(
            "the wait on the run queue: /proc/thread-self/schedstat is missing, so nothing is corrected"
                .into(),
        );
    }
    let mut ring = None;
    if limit >= Tier::Events {
        match events::switches().and_then(|leader| with_faults(leader, limit, &mut sight)) {
            Ok(mapped) => ring = Some(mapped),
            Err(error) => {
                let paranoid = events::paranoid().map_or("not readable".into(), |value| value.to_string());
                sight.tier = Tier::Accounting;
                sight.blind.push(format!(
                    "causes of operations shorter than 20 µs: no perf events ({error}; \
                     kernel.perf_event_paranoid is {paranoid}, 2 or less is needed)"
                ));
            }
        }
    }
    if sight.tier < Tier::Tracepoints && !sight.blind.iter().any(|line| line.starts_with("interrupts")) {
        sight
            .blind
            .push("interrupts: they need tracepoints, which were not asked for or not to be had".into());
    }
    let mut devices = None;
    if ring.is_some() && sight.tier == Tier::Tracepoints {
        match Devices::of_this_thread() {
            Ok(found) => {
                sight.sees.push(Cause::Device);
                devices = Some(found);
            }
            Err(error) => sight.blind.push(format!("time inside block devices ({error})")),
        }
    }
    sight.blind.push(match devices {
        Some(_) => {
            "time the hypervisor took, and what a device did for the kernel's own threads (a journal, \
                    write-back): what remains unexplained may be either"
                .into()
        }
        None => {
            "time the hypervisor took, and time inside the device: what remains unexplained may be either"
                .into()
        }
    });
    (ring, devices, sight)
}

fn with_faults(leader: events::Event, limit: Tier, sight: &mut Sight) -> std::io::Result<Ring> {
    let mut others = events::faults()?;
    sight.tier = Tier::Events;
    if limit >= Tier::Tracepoints {
        match events::interrupts() {
            Ok(found) => {
                sight.tier = Tier::Tracepoints;
                let sees = |meaning| found.iter().any(|event| event.meaning == meaning);
                for (meaning, cause) in [
                    (Meaning::TimerEnter, Cause::Timer),
                    (Meaning::SoftEnter, Cause::SoftInterrupt),
                    (Meaning::DeviceEnter, Cause::DeviceInterrupt),
                ] {
                    if sees(meaning) {
                        sight.sees.push(cause);
                    }
                }
                others.extend(found);
            }
            Err(error) => sight.blind.push(format!(
                "interrupts: no tracepoints ({error}; they need root or CAP_PERFMON, and tracefs)"
            )),
        }
    }
    Ring::map(leader, others)
}

#[cfg(test)]
mod tests;
