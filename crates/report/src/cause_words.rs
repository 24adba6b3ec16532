//! Words and colours of causes: the one list that tables and figures share.

use samples::{Cause, ExcessPart};

use crate::figures::draw;

/// How a part of the excess is shown.
pub(crate) struct PartStyle {
    /// In a sentence.
    pub words: &'static str,
    /// In a figure.
    pub colour: &'static str,
    /// Its place in a legend: the same on every page.
    pub order: u8,
}

/// The one list of words and colours of causes.
pub(crate) fn style(part: ExcessPart) -> PartStyle {
    let (order, words, colour) = match part {
        ExcessPart::RunQueue => (0, "CPU wait", draw::ALARM),
        ExcessPart::Of(cause) => match cause {
            Cause::Throttled => (1, "throttled by a control group", "#8e6bbf"),
            Cause::Device => (2, "the device at work", "#1f4e79"),
            Cause::Blocked => (3, "device or another process", draw::DATA),
            Cause::MajorFault => (4, "page fault that read a device", "#b0578d"),
            Cause::DeviceInterrupt => (5, "device interrupt", "#7a9a01"),
            Cause::SoftInterrupt => (6, "soft interrupt", draw::SECOND),
            Cause::Timer => (7, "timer interrupt", draw::DISTRIBUTION),
            Cause::MinorFault => (8, "page fault", "#c9a227"),
            Cause::Migration => (9, "move to another processor", "#5a7d9a"),
            Cause::Preempted => (10, "switched out for another task", "#5a7d9a"),
            Cause::ShortTransfer => (11, "completed by further calls", "#5a7d9a"),
            Cause::Interrupted => (12, "interrupted by a signal", "#5a7d9a"),
        },
        ExcessPart::Unattributed => (u8::MAX, "no cause seen", "#b8c1cc"),
    };
    PartStyle { words, colour, order }
}

/// What a cause is called before a reader, by its name in a file.
pub fn words_of_cause(name: &str) -> &'static str {
    style_of(name).words
}

/// The style of a part by its name in a file; one that only another version knows has no words.
pub(crate) fn style_of(name: &str) -> PartStyle {
    let unknown = PartStyle { order: u8::MAX - 1, ..style(ExcessPart::Of(Cause::Migration)) };
    ExcessPart::from_name(name).map_or(PartStyle { words: "no cause seen", ..unknown }, style)
}
