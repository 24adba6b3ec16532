//! Calls that ask for attributes of files, or change them.

use super::{Maker, Shape, Verb, plain};
use crate::flags::EXECUTABLE;
use crate::model::{BY_FILE, Call, NO_FOLLOW, NONE, Op, UNKNOWN};
use crate::names::RAW;

/// Why a call on a link is in no program.
const OF_LINKS: &str = "attributes of symbolic links themselves";

impl Maker<'_> {
    /// A call that asks about a name.
    pub(super) fn asked(&mut self, call: &Call, gap: u64) {
        let is_link = call.op == Op::Stat && call.offset != UNKNOWN && call.offset & 0o170_000 == 0o120_000;
        if is_link {
            return self.trace.leave_out(OF_LINKS);
        }
        if self.has_no_name(call) {
            return;
        }
        if call.op == Op::Stat
            && call.errno == 0
            && let Some(variable) = self.open_file(call)
        {
            self.push(Shape { variable, ..plain(Verb::StatOpen) }, [NONE; 2], [0; 2], gap);
        } else {
            let verb = match call.op {
                Op::Lookup => Verb::Name("lookup"),
                Op::Readdir => Verb::Name("readdir"),
                _ => Verb::Name("stat"),
            };
            self.push(Shape { errno: call.errno, ..plain(verb) }, [call.path, NONE], [0; 2], gap);
        }
        self.out.calls += 1;
    }

    /// A call that changes attributes.
    pub(super) fn changed(&mut self, call: &Call, gap: u64) {
        if call.flags & NO_FOLLOW != 0 && self.facts.links.contains(&call.path) {
            return self.trace.leave_out(OF_LINKS);
        }
        if self.has_no_name(call) {
            return;
        }
        let is_directory = self.facts.directories.contains(&call.path);
        let kept = if is_directory { u32::MAX } else { !EXECUTABLE };
        let permissions = (call.op == Op::Chmod).then_some(call.offset as u32 & kept);
        if permissions.is_some_and(|kept| u64::from(kept) != call.offset) {
            self.trace.leave_out("permissions to execute a file, which a replay gives to none");
        }
        let Some(word) = call.op.command() else { return };
        let verb = if call.op == Op::Chmod { Verb::NameAndMode(word) } else { Verb::Name(word) };
        let (shape, name) = match self.open_file(call) {
            Some(variable) if call.errno == 0 && !is_directory => {
                (Shape { variable, permissions, ..plain(Verb::ChangeOpen(word)) }, NONE)
            }
            _ => (Shape { errno: call.errno, permissions, ..plain(verb) }, call.path),
        };
        self.push(shape, [name, NONE], [0; 2], gap);
        self.out.calls += 1;
    }

    /// A call that changes an extended attribute.
    pub(super) fn extended(&mut self, call: &Call, gap: u64) {
        if call.flags & NO_FOLLOW != 0 && self.facts.links.contains(&call.path) {
            return self.trace.leave_out(OF_LINKS);
        }
        if self.has_no_name(call) {
            return;
        }
        let Some(word) = call.op.command() else { return };
        let key = [RAW, self.trace.names.get(call.other)].concat();
        let key = self.trace.names.intern(&key);
        let numbers = u8::from(call.op == Op::SetAttribute);
        let shape = Shape { errno: call.errno, numbers, ..plain(Verb::Extended(word)) };
        let (shape, names) = match self.open_file(call) {
            Some(variable) => (Shape { variable, verb: Verb::ExtendedOpen(word), ..shape }, [key, NONE]),
            None => (shape, [call.path, key]),
        };
        self.push(shape, names, [call.bytes as i64, 0], gap);
        self.out.calls += 1;
    }

    /// Whether a call is about an open file that has no name any more, and is left out.
    fn has_no_name(&mut self, call: &Call) -> bool {
        let gone =
            call.file != NONE && self.facts.gone.get(&call.file).is_some_and(|gone| *gone <= call.start);
        let left_out = gone && call.flags & BY_FILE != 0;
        if left_out {
            self.trace.leave_out("attributes of open files that have no name any more");
        }
        left_out
    }

    /// The variable of the open file that a call is about.
    fn open_file(&self, call: &Call) -> Option<u32> {
        let variable = self.scope.variables.get(&call.file).copied();
        variable.filter(|_| call.flags & BY_FILE != 0)
    }
}
