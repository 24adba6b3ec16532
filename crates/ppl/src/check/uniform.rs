//! Finds loops whose iterations do equal work, so that counting one iteration is enough.

use std::collections::HashSet;

use crate::code::{BlockIndex, Builtin, Code, Expr, ExprIndex, Piece, Slot, Step};
use crate::commands::{FunctionKind, Kind, Yields};

/// The variables that a block assigns, and those that its amount of work depends on.
#[derive(Default)]
struct Dependences {
    assigned: HashSet<Slot>,
    read: HashSet<Slot>,
    /// The assigned slots, with the values.
    values: Vec<(Slot, ExprIndex)>,
    /// Whether it depends on random numbers, time, results or jumps.
    varies: bool,
}

/// For each block that is the body of a counting loop, whether every iteration does the same work. Paths may
/// differ; sizes, counts and conditions may not.
pub(super) fn uniform_blocks(code: &Code) -> Vec<bool> {
    let mut out = vec![false; code.blocks.len()];
    let mut amounts = None;
    for step in &code.steps {
        let (slot, body) = match *step {
            Step::Repeat { slot, body, .. } => (slot, body),
            Step::ForRange { slot, body, .. } => (slot, body),
            _ => continue,
        };
        let mut reach = Dependences::default();
        reach.assigned.insert(slot);
        reach.block(code, body);
        let same = !reach.varies && reach.assigned.is_disjoint(&reach.read);
        out[body as usize] = same
            && !reach.affects_outside(code, |slot| {
                amounts.get_or_insert_with(|| amounts_of(code)).contains(&slot)
            });
    }
    out
}

/// The variables on which the amount of work depends anywhere in the program.
fn amounts_of(code: &Code) -> HashSet<Slot> {
    let mut reach = Dependences::default();
    for step in &code.steps {
        match *step {
            Step::Assign(slot, value) => {
                reach.values.push((slot, value));
                reach.calls(code, value);
            }
            Step::AssignItem { list, first } => {
                reach.values.extend([(list, first), (list, first + 1)]);
            }
            Step::Command { command, count, first, .. } => {
                reach.arguments(code, command, first, u32::from(count));
            }
            // Names, times and errnos do not affect the amount of work.
            Step::Time { .. }
            | Step::Phase { .. }
            | Step::Think(_)
            | Step::Rate { .. }
            | Step::Poisson { .. }
            | Step::At { .. }
            | Step::Async { .. }
            | Step::Expect { .. }
            | Step::Stonewall { .. }
            | Step::Assert { .. } => {}
            _ => step.expressions().for_each(|index| reach.depends(code, index)),
        }
    }
    for (at, expr) in code.exprs.iter().enumerate() {
        if let Expr::Call(_) = expr {
            code.operands(at as u32).for_each(|operand| reach.depends(code, operand));
        }
    }
    let values = std::mem::take(&mut reach.values);
    loop {
        let before = reach.read.len();
        for &(slot, value) in &values {
            if reach.read.contains(&slot) {
                reach.depends(code, value);
            }
        }
        if reach.read.len() == before {
            return reach.read;
        }
    }
}

impl Dependences {
    /// Whether the amount of work outside of the loop depends on a variable whose value at the end changes
    /// with the number of rounds.
    fn affects_outside(&self, code: &Code, mut matters: impl FnMut(Slot) -> bool) -> bool {
        self.values.iter().any(|&(slot, value)| {
            let mut own = Dependences::default();
            own.depends(code, value);
            !own.read.is_disjoint(&self.assigned) && matters(slot)
        })
    }

    fn block(&mut self, code: &Code, block: BlockIndex) {
        let (first, count) = code.blocks[block as usize];
        for step in &code.steps[first as usize..(first + count) as usize] {
            if self.varies {
                return;
            }
            match *step {
                Step::OnError { .. } | Step::Barrier { .. } => {}
                Step::Assign(slot, value) => {
                    self.assigned.insert(slot);
                    self.values.push((slot, value));
                    self.calls(code, value);
                }
                Step::Command { command, count, first, .. } => {
                    self.arguments(code, command, first, u32::from(count))
                }
                Step::Master(body) | Step::Verify(body) | Step::Group { body, .. } => {
                    self.block(code, body);
                }
                Step::Repeat { slot, count, body } => {
                    self.assigned.insert(slot);
                    self.depends(code, count);
                    self.block(code, body);
                }
                Step::ForRange { slot, first, body } => {
                    self.assigned.insert(slot);
                    (first..first + 3).for_each(|index| self.depends(code, index));
                    self.block(code, body);
                }
                Step::If { condition, then } => {
                    self.depends(code, condition);
                    self.block(code, then);
                    self.block(code, then + 1);
                }
                Step::Time { body, .. }
                | Step::Phase { body, .. }
                | Step::Rate { body, .. }
                | Step::Poisson { body, .. } => {
                    self.block(code, body);
                }
                Step::Async { body, .. } | Step::At { body, .. } => self.block(code, body),
                Step::Think(_) => {}
                // With several bodies, functions or jumps, rounds can differ.
                _ => self.varies = true,
            }
        }
    }

    fn arguments(&mut self, code: &Code, command: crate::commands::Command, first: ExprIndex, count: u32) {
        for (index, at) in (first..first + count).enumerate() {
            match command.spec().argument(index).map(|argument| argument.kind) {
                Some(kind) if kind.bounds().is_some() || kind == Kind::Pattern => self.depends(code, at),
                _ => self.calls(code, at),
            }
        }
    }

    /// Records the commands inside an expression whose value does not affect the amount of work.
    fn calls(&mut self, code: &Code, index: ExprIndex) {
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            match code.exprs[index as usize] {
                Expr::Command(at) => {
                    let call = code.calls[at as usize];
                    let command = call.command();
                    if matches!(command.spec().yields, Yields::List) {
                        self.varies = true;
                    }
                    self.arguments(code, command, call.first, call.count);
                }
                Expr::Call(_) => self.varies = true,
                Expr::Int(_)
                | Expr::Constant(_)
                | Expr::Text(_)
                | Expr::Template(_)
                | Expr::Slot(_)
                | Expr::Builtin(_)
                | Expr::Environment(_)
                | Expr::Unary(..)
                | Expr::Binary(..)
                | Expr::Choice(_)
                | Expr::Function(_)
                | Expr::List(_)
                | Expr::Index(_) => open.extend(code.operands(index)),
            }
        }
    }

    /// Records an expression on which the amount of work depends.
    fn depends(&mut self, code: &Code, index: ExprIndex) {
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            match code.exprs[index as usize] {
                Expr::Int(_) | Expr::Constant(_) | Expr::Text(_) | Expr::Environment(_) => {}
                Expr::Slot(slot) => {
                    self.read.insert(slot);
                }
                Expr::Builtin(builtin) => self.builtin(builtin),
                Expr::Template(at) => {
                    let template = code.templates[at as usize];
                    for piece in
                        &code.pieces[template.first as usize..(template.first + template.count) as usize]
                    {
                        match *piece {
                            Piece::Slot(slot) => {
                                self.read.insert(slot);
                            }
                            Piece::Builtin(builtin) => self.builtin(builtin),
                            Piece::Text(_) | Piece::Environment(_) => {}
                        }
                    }
                }
                Expr::Function(at) => {
                    self.varies |= code.calls[at as usize].function().spec().kind == FunctionKind::Draws;
                    open.extend(code.operands(index));
                }
                Expr::Unary(..) | Expr::Binary(..) | Expr::Index(_) | Expr::Choice(_) | Expr::List(_) => {
                    open.extend(code.operands(index));
                }
                Expr::Command(_) | Expr::Call(_) => self.varies = true,
            }
        }
    }

    fn builtin(&mut self, builtin: Builtin) {
        if !matches!(
            builtin,
            Builtin::Rank
                | Builtin::Size
                | Builtin::Group
                | Builtin::GroupRank
                | Builtin::Worker
                | Builtin::Run
        ) {
            self.varies = true;
        }
    }
}
