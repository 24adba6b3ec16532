//! Files that several strands use: who opens them, and who closes them.

use super::{Maker, Shape, Verb, plain};
use crate::flags::{O_CREAT, O_EXCL, O_TRUNC};
use crate::model::{Call, NONE, Op};

impl Maker<'_> {
    /// The variable of an open file; one that another strand opened is opened here as well.
    pub(super) fn variable(&mut self, call: &Call) -> Option<u32> {
        if let Some(variable) = self.scope.variables.get(&call.file) {
            return Some(*variable);
        }
        if call.op == Op::Close {
            return None;
        }
        if self.facts.gone.get(&call.file).is_some_and(|gone| *gone <= call.start) || call.path == NONE {
            self.trace.leave_out("calls on files that another process opened and that have no name any more");
            return None;
        }
        // Of a file that was open before, or a directory that is synced.
        let otherwise = if matches!(call.op, Op::Sync | Op::DataSync) { 0 } else { 2 };
        let flags = self.facts.flags(call.file).unwrap_or(otherwise) & !(O_CREAT | O_EXCL | O_TRUNC);
        let variable = self.scope.take(call.file);
        self.out.implied_opens += 1;
        self.scope.implied.insert(call.file);
        let shape = Shape { variable, flags, implied: true, ..plain(Verb::Open) };
        self.push(shape, [call.path, NONE], [0; 2], 0);
        Some(variable)
    }

    /// Whether a file that another strand closes is to be closed here, behind its last use.
    pub(super) fn is_last_here(&self, file: u32, at: u32) -> bool {
        match self.scope.alone {
            true => self.facts.is_last_use(self.rank, file, at, self.lanes),
            false => self.scope.own.contains(&file) && self.facts.is_last_of_strand(self.strand, file, at),
        }
    }

    /// Whether a worker would close a file under the hands of the others: it was opened before they began.
    pub(super) fn is_for_all(&self, file: u32) -> bool {
        let mut others = self.segment.iter().filter(|other| **other != self.strand);
        !self.scope.alone
            && self.scope.variables.contains_key(&file)
            && !self.scope.own.contains(&file)
            && others.any(|other| self.facts.is_used_by(*other, file))
    }

    /// The close of a file by one of several workers that used it, behind all of them.
    pub(super) fn close_late(&mut self, file: u32, at: u32) {
        if self.scope.variables.contains_key(&file) && !self.scope.implied.contains(&file) {
            self.out.calls += 1;
            self.out.done.push(u64::from(at));
        }
        self.close(file, 0);
    }

    /// Closes a file that another strand of the trace closes. Of the same rank, that is the call which is done here; what another
    /// rank does there is no call of this one.
    pub(super) fn close_for_another(&mut self, file: u32) {
        if !self.scope.variables.contains_key(&file) {
            return;
        }
        let rank_of = |at: u32| self.lanes.strands[self.lanes.strand_of(at) as usize].rank;
        match self.facts.close_of(file).filter(|at| rank_of(*at) == self.rank) {
            Some(at) if !self.scope.implied.contains(&file) => {
                self.out.calls += 1;
                self.out.done.push(u64::from(at));
            }
            _ => drop(self.scope.implied.insert(file)),
        }
        self.close(file, 0);
    }

    pub(super) fn close(&mut self, file: u32, gap: u64) {
        if let Some(variable) = self.scope.give_back(file) {
            let implied = self.scope.implied.remove(&file);
            self.push(Shape { variable, implied, ..plain(Verb::Close) }, [NONE; 2], [0; 2], gap);
        }
    }
}
