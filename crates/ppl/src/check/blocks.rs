//! Compiles statements that hold others: loops, conditions, phases, groups.

use samples::SiteKind;

use crate::code::{Expr, ExprIndex, GroupId, NO_LIMIT, Slot, Step};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::syntax::{ExprId, Exprs, StatementId, Statements, Stonewall};

use super::checker::Checker;
use super::restriction::Restriction;

impl Checker<'_> {
    pub(super) fn repeat(
        &mut self,
        id: StatementId,
        variable: Option<ExprId>,
        count: ExprId,
        body: StatementId,
    ) -> Step {
        let differs = self.differs(count);
        let count = self.expression_pushed(count);
        let (slot, body) = self.loop_body(id, variable, differs, body);
        Step::Repeat { slot, count, body }
    }

    /// Three expressions in a row, and whether the number of rounds can differ between ranks.
    pub(super) fn range(
        &mut self,
        from: ExprId,
        to: ExprId,
        step: Option<ExprId>,
    ) -> (ExprIndex, Option<Restriction>) {
        let differs = self.differs(from).or_else(|| self.differs(to));
        let from = self.expression(from);
        let to = self.expression(to);
        let by = step.map_or(Expr::Int(1), |step| self.expression(step));
        (self.push_exprs(&[from, to, by]), differs)
    }

    pub(super) fn for_range(
        &mut self,
        id: StatementId,
        variable: ExprId,
        (first, differs): (ExprIndex, Option<Restriction>),
        body: StatementId,
    ) -> Step {
        let (slot, body) = self.loop_body(id, Some(variable), differs, body);
        Step::ForRange { slot, first, body }
    }

    pub(super) fn for_each(
        &mut self,
        id: StatementId,
        variable: ExprId,
        list: ExprId,
        body: StatementId,
    ) -> Step {
        let differs = self.differs(list);
        let list = self.expression_pushed(list);
        let (slot, body) = self.loop_body(id, Some(variable), differs, body);
        Step::ForEach { slot, list, body }
    }

    pub(super) fn for_time(&mut self, id: StatementId, duration: ExprId, body: StatementId) -> Step {
        let place = self.tree.span(duration);
        if let Some(found) = self.literal_kind(duration).filter(|found| *found != "a duration") {
            self.push(
                Diagnostic::error(
                    DiagnosticCode::WrongKind,
                    place,
                    format!("`for` needs a time, not {found}"),
                )
                .help("`for 60s { … }` runs for a minute; `repeat 60 { … }` runs 60 times"),
            );
        }
        let duration = self.expression_pushed(duration);
        // Where the ranks meet inside, they also agree on the last round.
        let together = self.meets(body);
        if together {
            self.collective(place, "this loop over time, in which ranks meet,", None, false);
        }
        let differs = (self.survey.collective && !together).then_some(Restriction::Differs(2, place));
        let (_, body) = self.loop_body(id, None, differs, body);
        Step::ForTime { duration, body, together }
    }

    pub(super) fn while_loop(&mut self, id: StatementId, condition: ExprId, body: StatementId) -> Step {
        let differs = self.differs(condition);
        // The condition is evaluated again after the body: what that assigns counts.
        let outermost = self.outermost_end;
        if outermost == 0 {
            self.outermost_end = self.tree.statement_span(id).end;
        }
        let condition = self.expression_pushed(condition);
        self.outermost_end = outermost;
        let (_, body) = self.loop_body(id, None, differs, body);
        Step::While { condition, body }
    }

    /// A loop body, in which `variable` counts.
    fn loop_body(
        &mut self,
        statement: StatementId,
        variable: Option<ExprId>,
        restriction: Option<Restriction>,
        body: StatementId,
    ) -> (Slot, u32) {
        let symbol = variable.and_then(|id| self.symbol(id));
        let outermost = self.outermost_end;
        if outermost == 0 {
            self.outermost_end = self.tree.statement_span(statement).end;
        }
        let locals = self.locals.as_ref().map(|locals| locals.names.len());
        let slot = match symbol {
            None => Slot::NONE,
            Some(symbol) => {
                self.counting[symbol.0 as usize] += 1;
                self.declare(symbol)
            }
        };
        self.loops += 1;
        let outer = (self.loop_base, self.left_loop);
        let restriction = match self.stonewall {
            Some(place) if self.survey.collective => Some(Restriction::Differs(2, place)),
            _ => restriction,
        };
        self.restrictions.extend(restriction);
        self.loop_base = self.restrictions.len();
        // Who leaves early misses what stands before the jump in the next round, too.
        self.left_loop = self.leaves(body, None, false);
        let block = self.body(body);
        (self.loop_base, self.left_loop) = outer;
        if restriction.is_some() {
            self.restrictions.pop();
        }
        self.loops -= 1;
        if let Some(symbol) = symbol {
            self.counting[symbol.0 as usize] -= 1;
        }
        if let (Some(locals), Some(count)) = (&mut self.locals, locals) {
            locals.names.truncate(count);
        }
        self.outermost_end = outermost;
        (slot, block)
    }

    pub(super) fn condition(
        &mut self,
        condition: ExprId,
        then: StatementId,
        otherwise: Option<StatementId>,
    ) -> Step {
        let differs = self.differs(condition);
        let condition = self.expression_pushed(condition);
        self.restrictions.extend(differs);
        let then = self.body_block(then);
        let otherwise = otherwise.map_or((0, 0), |id| self.body_block(id));
        if differs.is_some() {
            self.restrictions.pop();
        }
        let then = self.push_block(then);
        self.push_block(otherwise);
        Step::If { condition, then }
    }

    pub(super) fn phase(
        &mut self,
        span: Span,
        name: ExprId,
        stonewall: Stonewall,
        body: StatementId,
    ) -> Step {
        let place = self.tree.span(name);
        self.collective(place, "a phase", Some(u32::from(self.group)), false);
        let label = self.label(Some(name));
        let site = self.site(span, None, SiteKind::Phase);
        // Its two barriers share the site behind it.
        self.site(span, None, SiteKind::Barrier);
        let body = match stonewall {
            Stonewall::None => self.body(body),
            Stonewall::First => self.stonewall(span, place, NO_LIMIT, body),
            Stonewall::Time(limit) => {
                let place = self.tree.span(limit);
                let limit = self.time(limit, "stonewall");
                self.stonewall(span, place, limit, body)
            }
        };
        Step::Phase { site, label, body }
    }

    /// The body of a phase with a stonewall: a block of one step.
    fn stonewall(&mut self, span: Span, place: Span, limit: ExprIndex, body: StatementId) -> u32 {
        if self.stonewall.is_some() {
            self.push(
                Diagnostic::error(DiagnosticCode::Misplaced, place, "a stonewall stands inside another one")
                    .help("the phases inside end with the one around them: leave the inner `stonewall` out"),
            );
        }
        let outer = self.stonewall.replace(place);
        let body = self.body(body);
        self.stonewall = outer;
        let base = self.pending.len();
        self.pending.push((Step::Stonewall { limit, body }, span.start));
        let block = self.finish_block(base);
        self.push_block(block)
    }

    pub(super) fn in_group(&mut self, name: ExprId, body: StatementId) -> Step {
        let place = self.tree.span(name);
        let number = self.group_number(name).unwrap_or(0);
        let outer = std::mem::replace(&mut self.group, number as u16);
        let body = match number {
            0 => self.body(body),
            _ => self.restricted(Restriction::Group(number, place), body),
        };
        self.group = outer;
        Step::Group { group: GroupId(number), body }
    }

    pub(super) fn barrier(&mut self, span: Span, name: Option<ExprId>) -> Step {
        let number = name.map_or(Some(0), |id| self.group_number(id)).unwrap_or(0);
        let what = match number {
            0 => "this barrier".to_owned(),
            _ => {
                let name = name.map_or("", |id| self.tree.raw_text(id, self.text).0).trim();
                format!("this barrier of \"{name}\"")
            }
        };
        self.collective(span, &what, Some(number), false);
        let site = self.site(span, None, SiteKind::Barrier);
        Step::Barrier { site, group: GroupId(number) }
    }

    pub(super) fn rate(&mut self, rate: ExprId, poisson: bool, body: StatementId) -> Step {
        let rate = self.expression_pushed(rate);
        let state = self.code.paces;
        self.code.paces += 1;
        let body = self.body(body);
        if poisson { Step::Poisson { rate, state, body } } else { Step::Rate { rate, state, body } }
    }

    pub(super) fn choose(&mut self, span: Span, weights: Exprs, bodies: Statements) -> Step {
        let place = Span::new(span.start, span.start + 6);
        let weights = self.expressions(weights);
        if self.survey.collective {
            self.restrictions.push(Restriction::Differs(2, place));
        }
        let blocks: Vec<(u32, u32)> = bodies.iter().map(|body| self.body_block(body)).collect();
        if self.survey.collective {
            self.restrictions.pop();
        }
        if blocks.is_empty() {
            self.push(
                Diagnostic::error(DiagnosticCode::BadDefine, place, "`choose` has nothing to choose from")
                    .help("the form is `choose { 70: read(…); 30: write(…); }`"),
            );
        }
        let first = self.code.blocks.len() as u32;
        self.code.blocks.extend(&blocks);
        Step::Choose { weights, count: blocks.len() as u32, bodies: first }
    }

    pub(super) fn parallel(&mut self, count: ExprId, body: StatementId) -> Step {
        let place = self.tree.span(count);
        let count = self.expression_pushed(count);
        let loops = std::mem::take(&mut self.loops);
        let body = self.restricted(Restriction::Workers(place), body);
        self.loops = loops;
        Step::Parallel { count, body }
    }

    /// A body that only some ranks reach.
    pub(super) fn restricted(&mut self, restriction: Restriction, body: StatementId) -> u32 {
        self.restrictions.push(restriction);
        let block = self.body(body);
        self.restrictions.pop();
        block
    }

    /// The time that a statement needs, put into the code.
    pub(super) fn time(&mut self, id: ExprId, what: &str) -> ExprIndex {
        if let Some(found) = self.literal_kind(id).filter(|found| *found != "a duration") {
            let span = self.tree.span(id);
            self.push(
                Diagnostic::error(
                    DiagnosticCode::WrongKind,
                    span,
                    format!("`{what}` needs a time, not {found}"),
                )
                .help("name the unit: `5ms`, `1.25s`"),
            );
        }
        self.expression_pushed(id)
    }
}
