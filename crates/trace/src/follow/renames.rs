//! Names that become others.

use super::state::{Follower, Living, call};
use super::unrepeated::BELOW_UNKNOWN;
use crate::event::{Asked, Event};
use crate::model::{AGAIN, Call, NEAREST, Op};
use crate::names::{is_below, parent, resolve};

/// What fails since something has the new name.
const EEXIST: u16 = 17;

impl Follower {
    pub(super) fn rename(&mut self, living: Living, event: &Event<'_>) {
        let Asked::Rename { from, to, new } = event.asked else { return };
        let (Some(path), Some(other)) = (self.resolved(living, from), self.resolved(living, to)) else {
            return self.missed(living, event, BELOW_UNKNOWN);
        };
        // A rename of a program replaces what has the name: only one that failed otherwise does what this one did.
        if new && event.errno == EEXIST {
            let what = "renameat2 with RENAME_NOREPLACE that found the new name";
            let flags = self.trace.unrepeated(what, true);
            return self.push(Call { path, other, flags, offset: 1, ..call(Op::Unrepeated, living, event) });
        }
        if event.result >= 0 {
            self.renamed(path, other);
        }
        self.push(Call { path, other, ..call(Op::Rename, living, event) });
    }

    /// Two names change places: three renames of a program.
    pub(super) fn exchange(&mut self, living: Living, event: &Event<'_>) {
        let Asked::Exchange { from, to } = event.asked else { return };
        let (Some(path), Some(other)) = (self.resolved(living, from), self.resolved(living, to)) else {
            return self.missed(living, event, BELOW_UNKNOWN);
        };
        let rename = Call { flags: NEAREST, path, other, ..call(Op::Rename, living, event) };
        if event.result < 0 || path == other {
            return self.push(rename);
        }
        self.exchanges += 1;
        let between = format!(".exchanged-{}", self.exchanges);
        let between = resolve(parent(self.trace.names.get(path)), between.as_bytes());
        let between = self.trace.names.intern(&between);
        let further = Call { flags: AGAIN, duration: 0, ..rename };
        for part in [
            Call { other: between, ..rename },
            Call { path: other, other: path, ..further },
            Call { path: between, other, ..further },
        ] {
            self.renamed(part.path, part.other);
            self.push(part);
        }
    }

    /// An open file gets a name: a second one of that under which it was opened.
    pub(super) fn link_open(&mut self, living: Living, event: &Event<'_>) {
        let Asked::LinkOpen { descriptor, to } = event.asked else { return };
        let path = self.slot(living, descriptor).map(|at| self.descriptions[at].path);
        let (Some(path), Some(other)) = (path, self.resolved(living, to)) else {
            return self.missed(living, event, BELOW_UNKNOWN);
        };
        self.push(Call { path, other, ..call(Op::Link, living, event) });
    }

    /// Open files and working directories below a directory that got another name.
    fn renamed(&mut self, from: u32, to: u32) {
        let (from_name, to_name) = (self.trace.names.get(from).to_vec(), self.trace.names.get(to).to_vec());
        let moved =
            |name: &[u8]| is_below(name, &from_name).then(|| [&to_name, &name[from_name.len()..]].concat());
        for directory in &mut self.directories {
            if let Some(now) = moved(directory) {
                *directory = now;
            }
        }
        for description in self.descriptions.iter_mut().filter(|one| one.path != crate::model::NONE) {
            if description.path == from {
                description.path = to;
            } else if let Some(now) = moved(self.trace.names.get(description.path)) {
                description.path = self.trace.names.intern(&now);
            }
        }
    }
}
