//! Compiles statements with bodies: loops, conditions, phases, groups.

use samples::SiteKind;

use crate::code::{Expr, ExprIndex, GroupId, NO_LIMIT, Slot, Step};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::syntax::{ExprId, Exprs, StatementId, Statements, Stonewall};

use super::checker::Checker;

impl Checker<'_> {
    pub(super) fn repeat(
        &mut self,
        id: StatementId,
        variable: Option<ExprId>,
        count: ExprId,
        body: StatementId,
    ) -> Step {
        let place = count;
        self.whole(count, "the count of `repeat`", (0, i64::MAX));
        let count = self.expression_pushed(count);
        self.place_of_condition(count, place);
        let (slot, body) = self.loop_body(id, variable, body);
        Step::Repeat { slot, count, body }
    }

    /// Compiles three consecutive expressions.
    pub(super) fn range(&mut self, from: ExprId, to: ExprId, step: Option<ExprId>) -> ExprIndex {
        self.range_parts(from, to, step);
        let parts = [Some(from), Some(to), step];
        let three = parts.map(|part| part.map_or(Expr::Int(1), |part| self.expression(part)));
        let first = self.push_exprs(&three);
        for (at, part) in (first..).zip(parts) {
            if let Some(part) = part {
                self.place_of_condition(at, part);
            }
        }
        first
    }

    pub(super) fn for_range(
        &mut self,
        id: StatementId,
        variable: ExprId,
        first: ExprIndex,
        body: StatementId,
    ) -> Step {
        let (slot, body) = self.loop_body(id, Some(variable), body);
        Step::ForRange { slot, first, body }
    }

    pub(super) fn for_each(
        &mut self,
        id: StatementId,
        variable: ExprId,
        list: ExprId,
        body: StatementId,
    ) -> Step {
        let place = list;
        self.list(list);
        let list = self.expression_pushed(list);
        self.place_of_condition(list, place);
        let (slot, body) = self.loop_body(id, Some(variable), body);
        Step::ForEach { slot, list, body }
    }

    pub(super) fn for_time(&mut self, id: StatementId, duration: ExprId, body: StatementId) -> Step {
        let place = self.tree.span(duration);
        self.needs_time(
            duration,
            "for",
            "`for 60s { … }` runs for a minute; `repeat 60 { … }` runs 60 times",
        );
        let time = duration;
        let duration = self.expression_pushed(duration);
        self.place_of_condition(duration, time);
        // If ranks meet inside, they also agree on the last round.
        let together = self.meets(body);
        if together {
            self.meeting(place, "this loop over time, in which ranks meet,");
        }
        let (_, body) = self.loop_body(id, None, body);
        Step::ForTime { duration, body, together }
    }

    pub(super) fn while_loop(&mut self, id: StatementId, condition: ExprId, body: StatementId) -> Step {
        let place = condition;
        // The condition is evaluated again after the body, so it may use what the body assigns.
        let outermost = self.outermost_end;
        if outermost == 0 {
            self.outermost_end = self.tree.statement_span(id).end;
        }
        let condition = self.expression_pushed(condition);
        self.outermost_end = outermost;
        self.place_of_condition(condition, place);
        let (_, body) = self.loop_body(id, None, body);
        Step::While { condition, body }
    }

    /// A loop body with the counter `variable`.
    fn loop_body(
        &mut self,
        statement: StatementId,
        variable: Option<ExprId>,
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
        let block = self.body(body);
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
        let place = condition;
        let condition = self.expression_pushed(condition);
        self.place_of_condition(condition, place);
        let then = self.body_block(then);
        let otherwise = otherwise.map_or((0, 0), |id| self.body_block(id));
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
        self.meeting(place, "a phase");
        let label = self.label(Some(name));
        let site = self.site(span, None, SiteKind::Phase);
        // Its two barriers share the site that follows.
        let waits = self.site(span, None, SiteKind::Barrier);
        self.place_of_meeting(site, place);
        self.place_of_meeting(waits, place);
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
                Diagnostic::error(DiagnosticCode::Misplaced, place, "a stonewall is inside another one")
                    .help("the inner phases end with the outer one: omit the inner `stonewall`"),
            );
        }
        let outer = self.stonewall.replace(place);
        let body = self.body(body);
        self.stonewall = outer;
        let base = self.start_block();
        self.push_step(Step::Stonewall { limit, body }, span.start);
        let block = self.finish_block(base);
        self.push_block(block)
    }

    pub(super) fn in_group(&mut self, name: ExprId, body: StatementId) -> Step {
        let number = self.group_number(name).unwrap_or(0);
        let outer = std::mem::replace(&mut self.group, number as u16);
        let body = self.body(body);
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
        self.meeting(span, &what);
        let site = self.site(span, None, SiteKind::Barrier);
        self.place_of_meeting(site, span);
        Step::Barrier { site, group: GroupId(number) }
    }

    pub(super) fn rate(&mut self, rate: ExprId, poisson: bool, body: StatementId) -> Step {
        self.pace(rate);
        let rate = self.expression_pushed(rate);
        let state = self.code.paces;
        self.code.paces += 1;
        let body = self.body(body);
        if poisson { Step::Poisson { rate, state, body } } else { Step::Rate { rate, state, body } }
    }

    pub(super) fn choose(&mut self, span: Span, weights: Exprs, bodies: Statements) -> Step {
        let place = Span::new(span.start, span.start + 6);
        self.weights(weights);
        let weights = self.expressions(weights);
        let blocks: Vec<(u32, u32)> = bodies.iter().map(|body| self.body_block(body)).collect();
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
        let workers = count;
        self.whole(count, "the number of workers of `parallel`", (1, 1024));
        let count = self.expression_pushed(count);
        self.place_of_condition(count, workers);
        let loops = std::mem::take(&mut self.loops);
        let outer = self.workers.replace(place);
        let body = self.body(body);
        self.workers = outer;
        self.loops = loops;
        Step::Parallel { count, body }
    }

    /// Compiles the time of a statement.
    pub(super) fn time(&mut self, id: ExprId, what: &str) -> ExprIndex {
        self.needs_time(id, what, "name the unit: `5ms`, `1.25s`");
        self.expression_pushed(id)
    }
}
