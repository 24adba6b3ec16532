//! Analyses expressions: whether their value can differ between ranks, and which ranks meet in them.

use crate::code::{Builtin, CompiledCall, Expr, ExprIndex, GroupId, Piece, SiteId, Slot};
use crate::commands::{Command, FunctionKind, Kind, Yields};
use crate::diagnostic::Span;
use crate::syntax::BinaryOp;

use super::analysis::{Analysis, RESULT};
use super::domain::{Control, Groups, Opener, State, Taint};

impl Analysis<'_> {
    /// The taint of a value; `None` while its evaluation is not known to end.
    pub fn value(&mut self, index: ExprIndex, state: &mut State, here: Control) -> Option<Taint> {
        let code = self.code;
        Some(match code.exprs[index as usize] {
            Expr::Int(_) | Expr::Constant(_) | Expr::Text(_) => Taint::default(),
            Expr::Environment(_) => Taint::ENVIRONMENT,
            Expr::Slot(slot) => state.get(slot),
            Expr::Builtin(builtin) => builtin_value(builtin, state, here),
            Expr::Template(at) => {
                let template = code.templates[at as usize];
                let pieces = &code.pieces[template.first as usize..][..template.count as usize];
                pieces.iter().fold(Taint::default(), |taint, piece| {
                    taint.join(match *piece {
                        Piece::Text(_) => Taint::default(),
                        Piece::Environment(_) => Taint::ENVIRONMENT,
                        Piece::Slot(slot) => state.get(slot),
                        Piece::Builtin(builtin) => builtin_value(builtin, state, here),
                    })
                })
            }
            Expr::Binary(BinaryOp::And | BinaryOp::Or, first) => {
                let left = self.value(first, state, here)?;
                let inside = here.under(left, self.expr_span(first));
                // The right side may not be evaluated.
                let without = state.clone();
                let right = self.value(first + 1, state, inside);
                match right {
                    Some(_) => _ = state.join(&without),
                    None => *state = without,
                }
                left.join(right.unwrap_or_default())
            }
            Expr::Choice(first) => {
                let condition = self.value(first, state, here)?;
                let inside = here.under(condition, self.expr_span(first));
                let mut other = state.clone();
                let values =
                    [self.value(first + 1, state, inside), self.value(first + 2, &mut other, inside)];
                if values[0].is_none() {
                    *state = other;
                } else if values[1].is_some() {
                    state.join(&other);
                }
                values.into_iter().flatten().reduce(Taint::join)?.join(condition)
            }
            Expr::Unary(..) | Expr::Binary(..) | Expr::Index(_) | Expr::List(_) => {
                let operands = code.operands(index);
                self.values(operands, state, here)?
            }
            Expr::Function(at) => {
                let kind = code.calls[at as usize].function().spec().kind;
                let operands = code.operands(index);
                let taint = self.values(operands, state, here)?;
                match kind {
                    FunctionKind::Pure => taint,
                    FunctionKind::Draws | FunctionKind::Samples => taint.join(Taint::RESULT),
                }
            }
            Expr::Command(at) => {
                let CompiledCall { first, count, site, .. } = code.calls[at as usize];
                let command = code.calls[at as usize].command();
                self.command(command, (first, count), site, state, here)?
            }
            Expr::Call(at) => self.call(code.calls[at as usize], state, here)?,
        })
    }

    fn values(
        &mut self,
        operands: std::ops::Range<ExprIndex>,
        state: &mut State,
        here: Control,
    ) -> Option<Taint> {
        let mut all = Taint::default();
        for operand in operands {
            all = all.join(self.value(operand, state, here)?);
        }
        Some(all)
    }

    fn expr_span(&self, index: ExprIndex) -> Span {
        self.code.places.of_expression(index).unwrap_or_default()
    }

    /// The span of a site: its statement or call.
    pub fn site_span(&self, site: SiteId) -> Span {
        let start = self.code.sites.get(site.index()).map_or(0, |site| site.offset);
        self.code.places.of_site(site).unwrap_or(Span::new(start, start + 1))
    }

    /// Analyses a call of a function of the program.
    fn call(&mut self, call: CompiledCall, state: &mut State, here: Control) -> Option<Taint> {
        let mut inside = Vec::with_capacity(call.count as usize);
        for argument in call.first..call.first + call.count {
            inside.push(self.value(argument, state, here)?);
        }
        let mut input = state.globals();
        for (at, taint) in inside.into_iter().enumerate() {
            input.set(Slot(at as u32 | Slot::LOCAL), here.assigned(taint));
        }
        let output = self.called(call.target, input, here)?;
        let result = output.get(RESULT);
        *state = output.back_in(state);
        Some(result)
    }

    /// Analyses a command: its arguments, then the command itself, in which ranks may meet.
    pub fn command(
        &mut self,
        command: Command,
        (first, count): (ExprIndex, u32),
        site: SiteId,
        state: &mut State,
        here: Control,
    ) -> Option<Taint> {
        let mut opener = Opener::Unknown;
        let mut of_group = false;
        for argument in first..first + count {
            let taint = self.value(argument, state, here)?;
            if argument == first {
                opener = taint.opener;
            }
            of_group |= taint.opener != Opener::None
                && command.spec().files().any(|at| at == (argument - first) as usize);
        }
        if !command.is_collective() {
            if of_group {
                let span = self.site_span(site);
                self.misused.insert((span.start, span.end), command);
            }
            return Some(Taint::RESULT);
        }
        let spec = command.spec();
        let constant = |kind: Kind| {
            let at = spec.position(kind).filter(|at| (*at as u32) < count)?;
            match self.code.exprs[first as usize + at] {
                Expr::Int(number) => u32::try_from(number).ok(),
                _ => None,
            }
        };
        let target = match (spec.position(Kind::File), opener) {
            (Some(_), Opener::Group(group)) => Some(group),
            (Some(_), Opener::None | Opener::Unknown) => None,
            (None, _) => match (spec.position(Kind::Group), constant(Kind::Group)) {
                (Some(_), group) => group.map(GroupId),
                (None, _) => self.code.sites.get(site.index()).map(|site| GroupId(site.group.into())),
            },
        };
        // At these levels all ranks meet only with some MPI libraries, in which setting the view is a
        // collective wait.
        let pattern = constant(Kind::Pattern).and_then(|number| self.plan.patterns.get(number as usize));
        let soft = spec.by_pattern && pattern.is_some_and(|pattern| !pattern.is_collective());
        self.meet(self.site_span(site), &format!("`{}`", command.name()), target, (here, soft));
        if let (true, Some(group)) = (spec.agrees, target) {
            // All ranks that meet get the same number, which only a run shows.
            return Some(Taint { within: Groups::default().with(group), open: true, ..Taint::default() });
        }
        let opener = match (spec.yields, target) {
            (Yields::File, Some(group)) => Opener::Group(group),
            (Yields::File, None) => Opener::Unknown,
            _ => Opener::None,
        };
        Some(Taint { opener, ..Taint::RESULT })
    }
}

fn builtin_value(builtin: Builtin, state: &mut State, here: Control) -> Taint {
    match builtin {
        Builtin::Size => Taint::default(),
        Builtin::Group if here.group.is_some() => Taint::default(),
        Builtin::Group | Builtin::Rank | Builtin::GroupRank | Builtin::Worker => Taint::DIFFERS,
        // All ranks have the same, which only a run shows.
        Builtin::Run => Taint { open: true, ..Taint::default() },
        Builtin::Errno | Builtin::Bytes | Builtin::Time | Builtin::Rand => Taint::RESULT,
        Builtin::CommonRand => {
            // After ranks drew a different number of times, their numbers differ.
            state.common = here.assigned(state.common);
            Taint { open: true, ..state.common }
        }
    }
}
