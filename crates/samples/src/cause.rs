//! Causes of slow operations: the one list of them, their names in files, and what each may explain.
//!
//! The words that a reader sees are in the report, in one match over this list.

use serde::{Deserialize, Serialize};

/// A reason for a slow sample that was observed, not guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u16)]
pub enum Cause {
    /// The thread was switched out against its will.
    Preempted = 1 << 0,
    /// The thread gave the processor up: it waited for a device, a lock, another rank.
    Blocked = 1 << 1,
    /// It ended on another processor than it began on.
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
    /// Throttled by a cgroup or by the real-time limit.
    Throttled = 1 << 8,
    /// A block device had a request of this thread for more than half of the time blocked.
    Device = 1 << 9,
    /// The call returned fewer bytes than asked for and was completed by further calls.
    ShortTransfer = 1 << 10,
    /// A signal interrupted the call (EINTR) and it was made again.
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

    /// How well it explains time that an operation spent on the processor, the greatest first; none of a cause
    /// whose time is known as waiting, or that says nothing about time.
    pub(crate) fn weight_on_processor(self) -> Option<u8> {
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

    /// Is `cause` in the set?
    pub fn has(self, cause: Cause) -> bool {
        self.0 & cause as u16 != 0
    }
}

/// To what a part of the time is put down by which slow operations exceed the usual ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExcessPart {
    /// The wait for a processor.
    RunQueue,
    /// A cause that was observed meanwhile.
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

    /// The part of this name; none where this version does not know it.
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
    fn the_list_holds_every_bit_once_and_names_are_those_of_files() {
        for (bit, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as u16, 1 << bit, "{cause:?}");
            assert_eq!(serde_json::to_value(cause).expect("a name"), cause.name());
            assert_eq!(ExcessPart::from_name(cause.name()), Some(ExcessPart::Of(cause)));
        }
        assert_eq!(ExcessPart::from_name("run_queue"), Some(ExcessPart::RunQueue));
        assert_eq!(ExcessPart::from_name("of tomorrow"), None);
    }
}
