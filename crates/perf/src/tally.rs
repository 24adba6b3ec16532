//! Adds up the records of one operation.

use samples::{Cause, Causes};

use crate::events::EventMeaning;
use crate::ring::EventRecord;

/// Sums over everything a [`crate::Watch`] saw, between operations too.
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

/// What the records of one operation say.
#[derive(Default)]
pub struct EventTally {
    pub causes: Causes,
    /// A switch was recorded, or records were lost: the wait on the run queue is to be read.
    pub switched: bool,
    /// Time off the processor, in ns.
    pub away_ns: u64,
    /// From when to when, between which the thread may have been back for a while.
    pub away: Option<(u64, u64)>,
}

impl EventTally {
    /// Adds one record. `left` is when the thread left the processor, where it has not come back.
    pub fn add(&mut self, totals: &mut Totals, left: &mut Option<u64>, time: u64, record: EventRecord) {
        match record {
            EventRecord::In => {
                if let Some(left) = left.take() {
                    self.away_ns += time.saturating_sub(left);
                    self.away = Some((self.away.map_or(left, |(first, _)| first), time));
                }
            }
            EventRecord::Out { preempted } => {
                *left = Some(time);
                self.switched = true;
                *(if preempted { &mut totals.involuntary } else { &mut totals.voluntary }) += 1;
                self.cause(if preempted { Cause::Preempted } else { Cause::Blocked });
            }
            EventRecord::Lost(count) => {
                totals.lost += count;
                // A switch may be among the lost ones.
                self.switched = true;
            }
            EventRecord::Event(meaning) => self.event(totals, meaning),
        }
    }

    fn event(&mut self, totals: &mut Totals, meaning: EventMeaning) {
        match meaning {
            EventMeaning::MinorFault => {
                totals.minor_faults += 1;
                self.cause(Cause::MinorFault);
            }
            EventMeaning::MajorFault => {
                totals.major_faults += 1;
                self.cause(Cause::MajorFault);
            }
            EventMeaning::TimerEnter => {
                totals.timer += 1;
                self.cause(Cause::Timer);
            }
            EventMeaning::SoftEnter => {
                totals.soft += 1;
                self.cause(Cause::SoftInterrupt);
            }
            EventMeaning::DeviceEnter => {
                totals.device += 1;
                self.cause(Cause::DeviceInterrupt);
            }
            // An interrupt may have begun before the operation.
            EventMeaning::TimerLeave => self.cause(Cause::Timer),
            EventMeaning::SoftLeave => self.cause(Cause::SoftInterrupt),
            EventMeaning::DeviceLeave => self.cause(Cause::DeviceInterrupt),
            // Switches have records of their own, and requests have rings of their own.
            EventMeaning::Switches
            | EventMeaning::RequestQueued
            | EventMeaning::RequestBegins
            | EventMeaning::RequestEnds => {}
        }
    }

    fn cause(&mut self, cause: Cause) {
        self.causes = self.causes.with(cause);
    }
}
