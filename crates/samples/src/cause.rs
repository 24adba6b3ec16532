//! Lists the causes of slow operations, their names in files, and what each can explain.
//!
//! The words that a reader sees are in the crate `report`, in one match over this list.

use serde::{Deserialize, Serialize};

/// An observed reason for a slow sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u16)]
pub enum Cause {
    /// The thread was preempted (an involuntary context switch).
    Preempted = 1 << 0,
    /// The thread blocked: it waited for a device, a lock or another rank.
    Blocked = 1 << 1,
    /// The operation ended on another processor than it began on.
    Migration = 1 << 2,
    /// A page was mapped without reading a device.
    MinorFault = 1 << 3,
    /// A page was read from a device.
    MajorFault = 1 << 4,
    /// A timer interrupt.
    Timer = 1 << 5,
    /// A soft interrupt.
    SoftInterrupt = 1 << 6,
    /// A device interrupt.
    DeviceInterrupt = 1 << 7,
    /// Throttled by a control group or by the real-time limit.
    Throttled = 1 << 8,
    /// A block device had a request of this thread for more than half of the time blocked.
    Device = 1 << 9,
    /// The call returned fewer bytes than asked for and was completed by further calls.
    ShortTransfer = 1 << 10,
    /// A signal interrupted the call (EINTR) and it was repeated.
    Interrupted = 1 << 11,
}

impl Cause {
    /// All causes, in the order of their bits.
    pub const ALL: [Cause; 12] = [
        Cause::Preempted,
        Cause::Blocked,
        Cause::Migration,
        Cause::MinorFault,
        Cause::MajorFault,
        Cause::Timer,
        Cause::SoftInterrupt,
        Cause::DeviceInterrupt,
        Cause::Throttled,
        Cause::Device,
        Cause::ShortTransfer,
        Cause::Interrupted,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Preempted => "preempted",
            Cause::Blocked => "blocked",
            Cause::Migration => "migration",
            Cause::MinorFault => "minor_fault",
            Cause::MajorFault => "major_fault",
            Cause::Timer => "timer",
            Cause::SoftInterrupt => "soft_interrupt",
            Cause::DeviceInterrupt => "device_interrupt",
            Cause::Throttled => "throttled",
            Cause::Device => "device",
            Cause::ShortTransfer => "short_transfer",
            Cause::Interrupted => "interrupted",
        }
    }

    /// Precedence in the attribution of time that an operation spent on the processor; `None` for causes that
    /// are waiting, or that have no duration.
    pub(crate) fn precedence_on_processor(self) -> Option<u8> {
        match self {
            Cause::MajorFault => Some(6),
            Cause::DeviceInterrupt => Some(5),
            Cause::SoftInterrupt => Some(4),
            Cause::Timer => Some(3),
            Cause::MinorFault => Some(2),
            Cause::Migration => Some(1),
            Cause::Preempted
            | Cause::Blocked
            | Cause::Throttled
            | Cause::Device
            | Cause::ShortTransfer
            | Cause::Interrupted => None,
        }
    }
}

/// A set of [`Cause`]s in 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Causes(pub u16);

impl Causes {
    /// The set with `cause` added.
    #[must_use]
    pub fn with(self, cause: Cause) -> Self {
        Self(self.0 | cause as u16)
    }

    /// Whether `cause` is in the set.
    pub fn has(self, cause: Cause) -> bool {
        self.0 & cause as u16 != 0
    }
}

/// The cause of a part of the excess of slow operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExcessPart {
    /// The wait for a processor.
    RunQueue,
    /// A cause that was observed during the operation.
    Of(Cause),
    /// Nothing was observed.
    Unattributed,
}

impl ExcessPart {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            ExcessPart::RunQueue => "run_queue",
            ExcessPart::Of(cause) => cause.name(),
            ExcessPart::Unattributed => "unattributed",
        }
    }

    /// The part with this name; `None` if this version does not know it.
    pub fn from_name(name: &str) -> Option<Self> {
        let causes = Cause::ALL.map(ExcessPart::Of);
        causes
            .into_iter()
            .chain([ExcessPart::RunQueue, ExcessPart::Unattributed])
            .find(|part| part.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_occurs_once_and_names_match_the_files() {
        for (bit, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as u16, 1 << bit, "{cause:?}");
            assert_eq!(serde_json::to_value(cause).expect("a name"), cause.name());
            assert_eq!(ExcessPart::from_name(cause.name()), Some(ExcessPart::Of(cause)));
        }
        assert_eq!(ExcessPart::from_name("run_queue"), Some(ExcessPart::RunQueue));
        assert_eq!(ExcessPart::from_name("of tomorrow"), None);
    }
}
