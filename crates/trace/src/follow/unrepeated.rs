//! Calls that no program repeats: they are kept with what they were about, so that none is lost without a word.

use super::state::{Follower, Kind, Living, call};
use crate::event::{Asked, Concerns, Event};
use crate::model::{Call, NONE, Op};

/// What a call is whose name counts from a descriptor that the trace does not explain.
pub(super) const BELOW_UNKNOWN: &str =
    "calls on names below a directory that was opened before the trace began";

impl Follower {
    pub(super) fn unrepeated(&mut self, living: Living, event: &Event<'_>) {
        let (what, place, mut changes, reads, (count, bytes)) = match &event.asked {
            Asked::Unrepeated { what, place, changes, count, bytes } => {
                (what, place, *changes, false, (*count, *bytes))
            }
            Asked::Lost { what, place, changes, reads } => (what, place, *changes, *reads, (1, 0)),
            _ => return,
        };
        let mut made = Call { bytes, offset: count, ..call(Op::Unrepeated, living, event) };
        match *place {
            Concerns::Unknown => {}
            Concerns::File(descriptor) => {
                if let Some(at) = self.description(living, event, descriptor) {
                    let description = &self.descriptions[at];
                    if !matches!(description.kind, Kind::File | Kind::Directory) {
                        return;
                    }
                    (made.file, made.path) = (at, description.path);
                } else if matches!(event.asked, Asked::Lost { .. }) && descriptor <= 2 {
                    // Standard input, output and errors are no files as a rule.
                    changes = false;
                }
            }
            Concerns::Name(name) => made.path = self.resolved(living, name).unwrap_or(NONE),
            Concerns::Names(one, other) => {
                made.path = self.resolved(living, one).unwrap_or(NONE);
                made.other = self.resolved(living, other).unwrap_or(NONE);
            }
        }
        made.flags = self.trace.unrepeated_kind(what, changes, reads);
        self.push(made);
    }

    /// A call of which the trace does not tell enough, by what it is.
    pub(super) fn missed(&mut self, living: Living, event: &Event<'_>, what: &str) {
        let flags = self.trace.unrepeated(what, true);
        self.push(Call { flags, offset: 1, ..call(Op::Unrepeated, living, event) });
    }

    /// A transfer on a descriptor that the trace does not explain. What is read from standard input, and written to output and
    /// errors, is no file as a rule.
    pub(super) fn unknown_transfer(&mut self, living: Living, event: &Event<'_>, descriptor: i32) {
        let writes = matches!(event.asked, Asked::Write { .. } | Asked::Submit { writes: true, .. })
            || matches!(event.asked, Asked::Copy { to, .. } if to == descriptor);
        let (what, changes) = match descriptor {
            0..=2 => ("transfers on standard input, output and errors", false),
            _ => ("transfers on descriptors whose opening was not seen", writes),
        };
        let (flags, bytes) = (self.trace.unrepeated(what, changes), u64::try_from(event.result).unwrap_or(0));
        self.push(Call { flags, bytes, offset: 1, ..call(Op::Unrepeated, living, event) });
    }
}
