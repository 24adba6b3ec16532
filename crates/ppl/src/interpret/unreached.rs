//! Assertions that a rank did not reach, because its run was ended from outside: by a time limit, a condition, a signal.

use crate::code::{BlockIndex, Builtin, Expr, ExprIndex, Step};

use super::interpreter::{EarlyEnd, Interpreter};
use super::machine::Machine;

impl<M: Machine> Interpreter<'_, M> {
    /// A block ended early at the step `at`. If the run was ended, its assertions up to the step `end` are judged where
    /// what they are about is known, and told as not evaluated elsewhere: none is dropped without a word.
    #[cold]
    pub(super) fn ended(&mut self, stop: EarlyEnd, at: u32, end: u32) -> EarlyEnd {
        if !self.machine.was_ended() {
            return stop;
        }
        let steps = self.code.steps[at as usize..end as usize].iter();
        for (at, step) in (at..end).zip(steps) {
            match *step {
                Step::Assert { condition, each } if !self.asserted.contains(&at) => {
                    self.step = at;
                    if !self.is_answerable(condition) || self.assert(condition, each).is_err() {
                        self.unevaluated(condition);
                    }
                }
                step => {
                    self.is_unset |= sets_variables(step);
                    self.unreached(step);
                }
            }
        }
        stop
    }

    /// Tells the assertions within a step that were not reached.
    fn unreached(&mut self, step: Step) {
        let takes_part = match step {
            Step::Group { group, .. } => self.member[group.index()],
            Step::Master(_) => self.plan.groups[self.group].ranks.first() == Some(&self.rank),
            _ => true,
        };
        if takes_part {
            step.bodies().for_each(|body| self.unreached_of(body));
        }
    }

    fn unreached_of(&mut self, body: BlockIndex) {
        let (first, count) = self.code.blocks[body as usize];
        for at in first..first + count {
            match self.code.steps[at as usize] {
                Step::Assert { condition, .. } if !self.asserted.contains(&at) => {
                    self.step = at;
                    self.unevaluated(condition);
                }
                step => self.unreached(step),
            }
        }
    }

    fn unevaluated(&mut self, condition: ExprIndex) {
        self.asserted.push(self.step);
        let place = self.plan.place(self.step);
        let claim = self.spelled(condition);
        self.machine.not_evaluated(&claim, &place);
    }

    /// Can it be judged without the statements that were not executed? Samples can, and constants; variables where none
    /// was still to be set.
    fn is_answerable(&self, condition: ExprIndex) -> bool {
        let known = match self.code.exprs[condition as usize] {
            Expr::Slot(_) | Expr::Template(_) => !self.is_unset && self.calls == 0,
            Expr::Builtin(builtin) => !matches!(builtin, Builtin::Errno | Builtin::Bytes),
            Expr::Command(_) | Expr::Call(_) => false,
            _ => true,
        };
        known && self.code.operands(condition).all(|at| self.is_answerable(at))
    }
}

/// May variables have another value after this step?
fn sets_variables(step: Step) -> bool {
    matches!(step, Step::Assign(..) | Step::AssignItem { .. } | Step::Evaluate(_))
        || !step.bodies().is_empty()
}
