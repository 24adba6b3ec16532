//! Adds up the records of one operation.

use samples::{Cause, Causes};

use crate::events::EventMeaning;
use crate::ring::EventRecord;

/// Sums over all that a [`crate::Watch`] recorded, during and between operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Voluntary context switches: the thread gave up the processor.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// Page faults served without reading a device.
    pub minor_faults: u64,
    /// Page faults that read a device.
    pub major_faults: u64,
    /// Timer interrupts.
    pub timer: u64,
    /// Soft interrupts.
    pub soft: u64,
    /// Device interrupts.
    pub device: u64,
    /// Records lost because the ring was full; the sums above miss them.
    pub lost: u64,
}

/// Sums over the records of one operation.
#[derive(Default)]
pub struct EventTally {
    pub causes: Causes,
    /// A switch was recorded or records were lost, so the run-queue wait must be read.
    pub switched: bool,
    /// Time off the processor, in ns.
    pub away_ns: u64,
    /// The first switch-out and the last switch-in; the thread may have run in between.
    pub away: Option<(u64, u64)>,
}

impl EventTally {
    /// Adds one record. `left` is the time of a switch-out without a switch-in yet.
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
                // The lost records may include a switch.
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
            EventMeaning::Timer => {
                totals.timer += 1;
                self.cause(Cause::Timer);
            }
            EventMeaning::SoftInterrupt => {
                totals.soft += 1;
                self.cause(Cause::SoftInterrupt);
            }
            EventMeaning::DeviceInterrupt => {
                totals.device += 1;
                self.cause(Cause::DeviceInterrupt);
            }
            // Requests have rings of their own.
            EventMeaning::RequestQueued | EventMeaning::RequestBegins | EventMeaning::RequestEnds => {}
        }
    }

    fn cause(&mut self, cause: Cause) {
        self.causes = self.causes.with(cause);
    }
}
