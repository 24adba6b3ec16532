//! What do statements become?

use samples::SiteKind;

use crate::code::{Expr, NO_LIMIT, Procedure, Slot, Step};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::syntax::{
    ExprId, ExprKind, Exprs, Statement, StatementId, StatementKind, Statements, Stonewall, Symbol,
};

use super::collective::Restriction;
use super::{Checker, Locals};

impl Checker<'_> {
    /// The whole program.
    pub(super) fn program(&mut self) {
        self.spread_taint();
        self.definitions_first(self.tree.top());
        self.procedures();
        let base = self.pending.len();
        self.statements(self.tree.top());
        let block = self.finish_block(base);
        self.code.main = self.push_block(block);
    }

    /// Definitions may stand anywhere at the top level, so they are read before everything else.
    fn definitions_first(&mut self, list: Statements) {
        for id in list.iter() {
            let Statement { kind, span } = self.tree.statement(id);
            if let StatementKind::Include { statements, .. } = kind {
                self.definitions_first(statements);
            }
            if let StatementKind::Define(define) = kind {
                self.define(define, span);
            }
        }
    }

    /// Heads of all functions, then their bodies: a function may call one that follows.
    fn procedures(&mut self) {
        let functions: Vec<(Symbol, StatementId, Span)> = self
            .survey
            .functions
            .iter()
            .map(|(symbol, function)| (*symbol, function.statement, function.span))
            .collect();
        for (at, (symbol, id, span)) in functions.iter().enumerate() {
            let StatementKind::Def { parameters, .. } = self.tree.statement(*id).kind else { continue };
            if let Some((_, _, first)) = functions[..at].iter().find(|(known, ..)| known == symbol) {
                let name = self.name(*symbol).to_owned();
                self.push(
                    Diagnostic::error(
                        Code::Duplicate,
                        *span,
                        format!("the function `{name}` is defined twice"),
                    )
                    .label(*first, "first defined here"),
                );
            }
            let (required, defaults) = self.defaults(parameters);
            let name = self.name(*symbol).to_owned();
            self.code.procedures.push(Procedure {
                name,
                parameters: parameters.len() as u32 / 2,
                required,
                defaults,
                locals: 0,
                body: 0,
            });
        }
        for (at, (_, id, _)) in functions.iter().enumerate() {
            let StatementKind::Def { parameters, body, .. } = self.tree.statement(*id).kind else { continue };
            let mut names = Vec::new();
            for index in (0..parameters.len()).step_by(2) {
                let symbol = parameters.get(index).and_then(|id| self.symbol(id)).unwrap_or(Symbol(u32::MAX));
                names.push((symbol, names.len() as u32));
            }
            let most = names.len() as u32;
            self.locals = Some(Locals { names, most });
            self.returned = None;
            let block = self.body_block(body);
            self.returned = None;
            let body = self.push_block(block);
            let locals = self.locals.take().map_or(0, |locals| locals.most);
            self.code.procedures[at].body = body;
            self.code.procedures[at].locals = locals;
        }
    }

    fn defaults(&mut self, parameters: Exprs) -> (u32, u32) {
        let mut exprs = Vec::new();
        let mut required = 0;
        for index in (0..parameters.len()).step_by(2) {
            let Some(default) = parameters.get(index + 1) else { break };
            if matches!(self.tree.expr_kind(default), ExprKind::Error) {
                if exprs.is_empty() {
                    required += 1;
                } else {
                    let span = parameters.get(index).map(|id| self.tree.span(id)).unwrap_or_default();
                    self.push(
                        Diagnostic::error(
                            Code::BadDefine,
                            span,
                            "a parameter without a default follows one with a default",
                        )
                        .help("put the parameters with defaults last"),
                    );
                    exprs.push(Expr::Int(0));
                }
                continue;
            }
            let at = self.constant_expression(default);
            exprs.push(self.code.exprs[at as usize]);
        }
        (required, self.push_exprs(&exprs))
    }

    /// The steps of a statement that belongs to another one.
    fn body_block(&mut self, id: StatementId) -> (u32, u32) {
        let base = self.pending.len();
        let locals = self.locals.as_ref().map(|locals| locals.names.len());
        match self.tree.statement(id).kind {
            StatementKind::Block(list) => self.statements(list),
            _ => self.statement(id),
        }
        if let (Some(locals), Some(count)) = (&mut self.locals, locals) {
            // `let` ends with its block; the slot may be used again.
            locals.names.truncate(count);
        }
        self.finish_block(base)
    }

    fn body(&mut self, id: StatementId) -> u32 {
        let block = self.body_block(id);
        self.push_block(block)
    }

    fn statements(&mut self, list: Statements) {
        let mut ended = false;
        for id in list.iter() {
            let statement = self.tree.statement(id);
            if ended && !matches!(statement.kind, StatementKind::Empty) {
                self.push(Diagnostic::warning(Code::Unreachable, statement.span, "this is never reached"));
                ended = false;
            }
            self.decoded(id, statement);
            ended |= matches!(
                statement.kind,
                StatementKind::Break | StatementKind::Continue | StatementKind::Return(_)
            );
        }
    }

    /// A body that only some ranks reach.
    fn restricted(&mut self, restriction: Option<Restriction>, body: StatementId) -> u32 {
        self.restrictions.extend(restriction);
        let block = self.body(body);
        if restriction.is_some() {
            self.restrictions.pop();
        }
        block
    }

    pub(super) fn differs(&self, id: ExprId) -> Option<Restriction> {
        match self.taint(id) {
            0 => None,
            level => Some(Restriction::Differs(level, self.tree.span(id))),
        }
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
        let outer = (self.loop_base, self.left);
        let restriction = match self.stonewall {
            Some(place) if self.survey.collective => Some(Restriction::Differs(2, place)),
            _ => restriction,
        };
        self.restrictions.extend(restriction);
        self.loop_base = self.restrictions.len();
        // Who leaves early misses what stands before the jump in the next round, too.
        self.left = self.leaves(body, None, false);
        let block = self.body(body);
        (self.loop_base, self.left) = outer;
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

    fn misplaced(&mut self, span: Span, what: &str, where_: &str) {
        self.push(Diagnostic::error(Code::Misplaced, span, format!("`{what}` stands outside of a {where_}")));
    }

    /// The label of a block; constant or with variables.
    fn label(&mut self, id: Option<ExprId>) -> u32 {
        match id {
            Some(id) => self.expression_pushed(id),
            None => {
                let empty = self.add_text("");
                self.push_expr(Expr::Text(empty))
            }
        }
    }

    fn statement(&mut self, id: StatementId) {
        self.decoded(id, self.tree.statement(id));
    }

    fn decoded(&mut self, id: StatementId, statement: Statement) {
        let span = statement.span;
        let step = match statement.kind {
            StatementKind::Error | StatementKind::Empty => return,
            StatementKind::Block(list) => {
                let locals = self.locals.as_ref().map(|locals| locals.names.len());
                self.statements(list);
                if let (Some(locals), Some(count)) = (&mut self.locals, locals) {
                    locals.names.truncate(count);
                }
                return;
            }
            StatementKind::Include { statements, .. } => return self.statements(statements),
            StatementKind::Assign { variable, value } => {
                let value = self.expression_pushed(value);
                Step::Assign(self.assign(variable), value)
            }
            StatementKind::AssignItem { list, index, value } => {
                let list = self.expression(list);
                let index = self.expression(index);
                let value = self.expression(value);
                let first = self.push_exprs(&[index, value]);
                let Expr::Slot(list) = list else { return };
                Step::AssignItem { list, first }
            }
            StatementKind::Let { variable, value } => {
                let value = self.expression_pushed(value);
                let Some(symbol) = self.symbol(variable) else { return };
                let slot = self.declare(symbol);
                self.assigned[symbol.0 as usize] |= self.locals.is_none();
                Step::Assign(slot, value)
            }
            StatementKind::Command { command, arguments, .. } => {
                let (first, count, site) = self.command_call(command, arguments, span);
                Step::Command { command, count: count.min(255) as u8, first, site }
            }
            StatementKind::Call(call) => Step::Evaluate(self.expression_pushed(call)),
            StatementKind::Repeat { variable, count, body, .. } => {
                let differs = self.differs(count);
                let count = self.expression_pushed(count);
                let (slot, body) = self.loop_body(id, variable, differs, body);
                Step::Repeat { slot, count, body }
            }
            StatementKind::ForRange { variable, from, to, step, body } => {
                let differs = self.differs(from).or_else(|| self.differs(to));
                let from = self.expression(from);
                let to = self.expression(to);
                let by = step.map_or(Expr::Int(1), |step| self.expression(step));
                let first = self.push_exprs(&[from, to, by]);
                let (slot, body) = self.loop_body(id, Some(variable), differs, body);
                Step::ForRange { slot, first, body }
            }
            StatementKind::ForEach { variable, list, body } => {
                let differs = self.differs(list);
                let list = self.expression_pushed(list);
                let (slot, body) = self.loop_body(id, Some(variable), differs, body);
                Step::ForEach { slot, list, body }
            }
            StatementKind::ForTime { duration, body } => {
                if let Some(found) = self.literal_kind(duration).filter(|found| *found != "a duration") {
                    let span = self.tree.span(duration);
                    self.push(
                        Diagnostic::error(Code::WrongKind, span, format!("`for` needs a time, not {found}"))
                            .help("`for 60s { … }` runs for a minute; `repeat 60 { … }` runs 60 times"),
                    );
                }
                let place = self.tree.span(duration);
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
            StatementKind::While { condition, body } => {
                let differs = self.differs(condition);
                // The condition is evaluated again after the body: what that assigns counts.
                let outermost = self.outermost_end;
                if outermost == 0 {
                    self.outermost_end = span.end;
                }
                let condition = self.expression_pushed(condition);
                self.outermost_end = outermost;
                let (_, body) = self.loop_body(id, None, differs, body);
                Step::While { condition, body }
            }
            StatementKind::If { condition, then, otherwise } => {
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
            StatementKind::Time { inside_calls, label, body } => {
                let label = self.label(label);
                let kind = if inside_calls { SiteKind::CommandTime } else { SiteKind::Time };
                let site = self.site(span, None, kind);
                Step::Time { site, label, body: self.body(body) }
            }
            StatementKind::Phase { name, stonewall, body } => {
                self.collective(self.tree.span(name), "a phase", Some(u32::from(self.group)), false);
                let label = self.label(Some(name));
                let site = self.site(span, None, SiteKind::Phase);
                // Its two barriers share the site behind it.
                self.site(span, None, SiteKind::Barrier);
                let body = match stonewall {
                    Stonewall::None => self.body(body),
                    Stonewall::First => self.stonewall(span, self.tree.span(name), NO_LIMIT, body),
                    Stonewall::Time(limit) => {
                        self.needs_time(limit, "stonewall");
                        let place = self.tree.span(limit);
                        let limit = self.expression_pushed(limit);
                        self.stonewall(span, place, limit, body)
                    }
                };
                Step::Phase { site, label, body }
            }
            StatementKind::Group { name, body } => {
                let place = self.tree.span(name);
                let number = self.group_number(name).unwrap_or(0);
                let outer = std::mem::replace(&mut self.group, number as u16);
                let restriction = (number != 0).then_some(Restriction::Group(number, place));
                let body = self.restricted(restriction, body);
                self.group = outer;
                Step::Group { group: crate::code::GroupId(number), body }
            }
            StatementKind::Master(body) => {
                let place = Span::new(span.start, span.start + 6);
                Step::Master(self.restricted(Some(Restriction::Master(place)), body))
            }
            StatementKind::Barrier(name) => {
                let number = name.map_or(Some(0), |id| self.group_number(id)).unwrap_or(0);
                let what = match number {
                    0 => "this barrier".to_owned(),
                    _ => format!(
                        "this barrier of \"{}\"",
                        name.map_or("", |id| self.tree.raw_text(id, self.text).0).trim()
                    ),
                };
                self.collective(span, &what, Some(number), false);
                let site = self.site(span, None, SiteKind::Barrier);
                Step::Barrier { site, group: crate::code::GroupId(number) }
            }
            StatementKind::Break | StatementKind::Continue => {
                let is_break = statement.kind == StatementKind::Break;
                if self.loops == 0 {
                    self.misplaced(span, if is_break { "break" } else { "continue" }, "loop");
                }
                self.left = self.jump(self.loop_base).or(self.left);
                if is_break { Step::Break } else { Step::Continue }
            }
            StatementKind::Return(value) => {
                if self.locals.is_none() {
                    self.misplaced(span, "return", "function");
                }
                let value = match value {
                    Some(value) => self.expression(value),
                    None => Expr::Int(0),
                };
                self.returned = self.jump(0).or(self.returned);
                Step::Return(self.push_expr(value))
            }
            StatementKind::Rate { rate, poisson, body } => {
                let rate = self.expression_pushed(rate);
                let state = self.code.paces;
                self.code.paces += 1;
                let body = self.body(body);
                if poisson { Step::Poisson { rate, state, body } } else { Step::Rate { rate, state, body } }
            }
            StatementKind::At { time, body } => {
                self.needs_time(time, "at");
                let time = self.expression_pushed(time);
                Step::At { time, body: self.body(body) }
            }
            StatementKind::Think(time) => {
                self.needs_time(time, "think");
                Step::Think(self.expression_pushed(time))
            }
            StatementKind::Choose { weights, bodies } => {
                let place = Span::new(span.start, span.start + 6);
                let weights_at = self.expressions(weights);
                if self.survey.collective {
                    self.restrictions.push(Restriction::Differs(2, place));
                }
                let blocks: Vec<(u32, u32)> = bodies.iter().map(|body| self.body_block(body)).collect();
                if self.survey.collective {
                    self.restrictions.pop();
                }
                if blocks.is_empty() {
                    self.push(
                        Diagnostic::error(Code::BadDefine, place, "`choose` has nothing to choose from")
                            .help("the form is `choose { 70: read(…); 30: write(…); }`"),
                    );
                }
                let first = self.code.blocks.len() as u32;
                self.code.blocks.extend(&blocks);
                Step::Choose { weights: weights_at, count: blocks.len() as u32, bodies: first }
            }
            StatementKind::Parallel { count, body } => {
                let place = self.tree.span(count);
                let count = self.expression_pushed(count);
                let loops = std::mem::take(&mut self.loops);
                let body = self.restricted(Some(Restriction::Workers(place)), body);
                self.loops = loops;
                Step::Parallel { count, body }
            }
            StatementKind::Async { depth, body } => {
                let depth = self.expression_pushed(depth);
                Step::Async { depth, body: self.body(body) }
            }
            StatementKind::Verify(body) => Step::Verify(self.body(body)),
            StatementKind::Expect { errno, body } => {
                let errno = self.expression_pushed(errno);
                Step::Expect { errno, body: self.body(body) }
            }
            StatementKind::Assert { condition, each } => {
                Step::Assert { condition: self.expression_pushed(condition), each }
            }
            StatementKind::OnError { stop } => Step::OnError { stop },
            // They were read before everything else.
            StatementKind::Def { .. } | StatementKind::Define(_) => return,
        };
        self.pending.push((step, span.start));
    }

    /// The body of a phase with a stonewall: a block of one step.
    fn stonewall(&mut self, span: Span, place: Span, limit: u32, body: StatementId) -> u32 {
        if self.stonewall.is_some() {
            self.push(
                Diagnostic::error(Code::Misplaced, place, "a stonewall stands inside another one")
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

    fn needs_time(&mut self, id: ExprId, what: &str) {
        if let Some(found) = self.literal_kind(id).filter(|found| *found != "a duration") {
            let span = self.tree.span(id);
            self.push(
                Diagnostic::error(Code::WrongKind, span, format!("`{what}` needs a time, not {found}"))
                    .help("name the unit: `5ms`, `1.25s`"),
            );
        }
    }

    /// The slot that an assignment writes.
    fn assign(&mut self, symbol: Symbol) -> Slot {
        if let Some(locals) = &self.locals {
            if let Some((_, slot)) = locals.names.iter().rev().find(|(name, _)| *name == symbol) {
                return Slot(slot | Slot::LOCAL);
            }
        } else if self.counting[symbol.0 as usize] == 0 {
            self.assigned[symbol.0 as usize] = true;
        }
        self.global(symbol)
    }
}
