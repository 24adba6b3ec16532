//! Does every rank reach what all of them must do together?

use crate::commands::Command;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::syntax::template::{Part, parts};
use crate::syntax::{Callee, ExprId, ExprKind, StatementId, StatementKind, Statements, Stonewall, Symbol};

use super::Checker;

/// Why only some ranks come to a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Restriction {
    /// `master`
    Master(Span),
    /// `group`
    Group(u32, Span),
    /// A condition or count that can differ: 1 perhaps, 2 surely.
    Differs(u8, Span),
    /// `parallel`
    Workers(Span),
}

/// A collective operation inside a group: whether all come depends on the ranks of the groups.
#[derive(Clone, Debug)]
pub(crate) struct Collective {
    /// Where.
    pub span: Span,
    /// What, in words.
    pub what: String,
    /// The group that must come; `None`: that of the file.
    pub target: Option<u32>,
    /// The group inside which it stands, and where that begins.
    pub inside: Option<(u32, Span)>,
    /// Only collective where this pattern is.
    pub pattern: Option<u32>,
    /// Stands inside `master` or under a condition: an error where the pattern is collective.
    pub restricted: Option<Span>,
}

impl Checker<'_> {
    pub(super) fn collective_command(
        &mut self,
        span: Span,
        command: Command,
        target: Option<u32>,
        pattern: Option<u32>,
    ) {
        let what = format!("`{}`", command.name());
        if command.spec().by_pattern {
            let restricted = self.restrictions.iter().rev().find_map(|restriction| match restriction {
                Restriction::Master(span) | Restriction::Workers(span) | Restriction::Differs(2, span) => {
                    Some(*span)
                }
                _ => None,
            });
            if let (Some(pattern), Some(_)) = (pattern, restricted) {
                self.definitions.collectives.push(Collective {
                    span,
                    what,
                    target: None,
                    inside: None,
                    pattern: Some(pattern),
                    restricted,
                });
            }
            return;
        }
        self.collective(span, &what, target, command == Command::Pfclose);
    }

    /// A collective operation of the group `target` (`None`: it is not known).
    pub(super) fn collective(&mut self, span: Span, what: &str, target: Option<u32>, lenient: bool) {
        let restrictions = std::mem::take(&mut self.restrictions);
        let mut seen_groups = false;
        let mut perhaps = None;
        let before = self.diagnostics.len();
        for restriction in restrictions.iter().rev().copied().chain(self.left).chain(self.returned) {
            match restriction {
                Restriction::Master(place) => {
                    self.push(
                        Diagnostic::error(
                            Code::Collective,
                            span,
                            format!("only one rank reaches {what}, which waits for all"),
                        )
                        .label(place, "only the first rank comes in here")
                        .help("move it out of `master`"),
                    );
                    break;
                }
                Restriction::Workers(place) => {
                    self.push(
                        Diagnostic::error(
                            Code::Collective,
                            span,
                            format!("{what} cannot stand in `parallel`"),
                        )
                        .label(place, "several workers of each rank come in here")
                        .help("move it out of `parallel`"),
                    );
                    break;
                }
                Restriction::Differs(2, place) if !lenient => {
                    self.push(
                        Diagnostic::error(
                            Code::Collective,
                            span,
                            format!("not all ranks reach {what} equally often: the program would hang"),
                        )
                        .label(place, "this differs between ranks")
                        .help("move it out, or make the condition the same on all ranks"),
                    );
                    break;
                }
                Restriction::Differs(_, place) => perhaps = perhaps.or(Some(place)),
                Restriction::Group(group, place) => {
                    if target != Some(group) && target.is_some() && !seen_groups {
                        self.definitions.collectives.push(Collective {
                            span,
                            what: what.to_owned(),
                            target,
                            inside: Some((group, place)),
                            pattern: None,
                            restricted: None,
                        });
                    }
                    seen_groups = true;
                }
            }
        }
        if let (Some(place), true) = (perhaps, before == self.diagnostics.len()) {
            self.push(
                Diagnostic::warning(
                    Code::PerhapsCollective,
                    span,
                    format!("perhaps not all ranks reach {what} equally often"),
                )
                .label(place, "this can differ between ranks")
                .help("where the ranks disagree, the program hangs"),
            );
        }
        self.restrictions = restrictions;
    }

    /// The condition under which only some ranks take the jump at this place, within the loop or function
    /// around which `base` restrictions stand.
    pub(super) fn jump(&self, base: usize) -> Option<Restriction> {
        self.restrictions.get(base..)?.iter().rev().find_map(|restriction| match *restriction {
            Restriction::Differs(level, place) => Some(Restriction::Differs(level, place)),
            Restriction::Master(place) => Some(Restriction::Differs(2, place)),
            _ => None,
        })
    }

    /// The condition under which only some ranks leave the loop with this body by `break` or `return`;
    /// `inner`: inside a loop of its own, which a `break` leaves instead.
    pub(super) fn leaves(
        &self,
        id: StatementId,
        context: Option<Restriction>,
        inner: bool,
    ) -> Option<Restriction> {
        if !self.survey.collective {
            return None;
        }
        match self.tree.statement(id).kind {
            StatementKind::Break if !inner => context,
            StatementKind::Return(_) => context,
            StatementKind::Block(list) => list.iter().find_map(|id| self.leaves(id, context, inner)),
            StatementKind::If { condition, then, otherwise } => {
                let context = self.differs(condition).or(context);
                let then = self.leaves(then, context, inner);
                then.or_else(|| otherwise.and_then(|id| self.leaves(id, context, inner)))
            }
            StatementKind::Choose { bodies, .. } => {
                let place = self.tree.statement_span(id);
                let context = Some(Restriction::Differs(2, Span::new(place.start, place.start + 6)));
                bodies.iter().find_map(|id| self.leaves(id, context, inner))
            }
            StatementKind::Master(body) => {
                let place = self.tree.statement_span(id);
                let context = Some(Restriction::Differs(2, Span::new(place.start, place.start + 6)));
                self.leaves(body, context, inner)
            }
            StatementKind::Repeat { count: condition, body, .. }
            | StatementKind::While { condition, body } => {
                self.leaves(body, self.differs(condition).or(context), true)
            }
            StatementKind::ForRange { body, .. }
            | StatementKind::ForEach { body, .. }
            | StatementKind::ForTime { body, .. } => self.leaves(body, context, true),
            StatementKind::Time { body, .. }
            | StatementKind::Group { body, .. }
            | StatementKind::Rate { body, .. }
            | StatementKind::At { body, .. }
            | StatementKind::Async { body, .. }
            | StatementKind::Phase { body, .. }
            | StatementKind::Verify(body)
            | StatementKind::Expect { body, .. } => self.leaves(body, context, inner),
            _ => None,
        }
    }

    /// Can the value differ between ranks? 0 no, 1 perhaps, 2 surely.
    pub(super) fn taint(&self, id: ExprId) -> u8 {
        if !self.survey.collective {
            return 0;
        }
        let mut worst = 0;
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            worst = worst.max(match self.tree.expr_kind(id) {
                ExprKind::Variable(symbol) => self.taint_of(symbol),
                ExprKind::Builtin(symbol) => builtin_taint(self.name(symbol)),
                ExprKind::Text => {
                    let raw = self.tree.raw_text(id, self.text).0;
                    if !raw.contains('$') {
                        continue;
                    }
                    parts(raw)
                        .into_iter()
                        .map(|part| match part {
                            Part::Builtin(name, _) => builtin_taint(name),
                            Part::Variable(run, _) | Part::Braced(run, _) => {
                                let symbol = (1..=run.len().min(self.longest_name))
                                    .rev()
                                    .find_map(|used| self.tree.names().find(run.get(..used)?));
                                symbol.map_or(0, |symbol| self.taint_of(symbol))
                            }
                            _ => 0,
                        })
                        .max()
                        .unwrap_or(0)
                }
                ExprKind::Call(callee, arguments) => {
                    open.extend(arguments.iter());
                    match callee {
                        Callee::Command(_) => 1,
                        Callee::Function(function) if function.spec().random => 2,
                        Callee::Function(function)
                            if crate::arithmetic::function(
                                function,
                                &[crate::Value::Int(1), crate::Value::Int(1), crate::Value::Int(1)],
                            )
                            .is_none() =>
                        {
                            2
                        }
                        Callee::Function(_) => 0,
                        Callee::Named(_) => 1,
                    }
                }
                ExprKind::Unary(_, a) | ExprKind::Parens(a) => {
                    open.push(a);
                    0
                }
                ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => {
                    open.extend([a, b]);
                    0
                }
                ExprKind::Choice(a, b, c) => {
                    open.extend([a, b, c]);
                    0
                }
                ExprKind::List(items) => {
                    open.extend(items.iter());
                    0
                }
                _ => 0,
            });
        }
        worst
    }

    fn taint_of(&self, symbol: Symbol) -> u8 {
        let at = symbol.0 as usize;
        let elsewhere = self.survey.assigned_in.get(at).copied().unwrap_or(0);
        if elsewhere != 0 && elsewhere != self.group + 1 {
            return 2;
        }
        self.survey.taint.get(at).copied().unwrap_or(0)
    }

    /// Finds out which variables can differ between ranks: to a fixed point.
    pub(super) fn spread_taint(&mut self) {
        let names = self.tree.names().len();
        self.survey.taint = vec![0; names];
        self.survey.assigned_in = vec![0; names];
        if !self.survey.collective {
            return;
        }
        // Each round carries a taint one assignment further; programs by hand need two or three.
        for _ in 0..16 {
            let before = (self.survey.taint.clone(), self.survey.assigned_in.clone());
            self.taint_statements(self.tree.top(), 0);
            if before == (self.survey.taint.clone(), self.survey.assigned_in.clone()) {
                break;
            }
        }
        self.group = 0;
    }

    fn taint_statements(&mut self, list: Statements, context: u8) {
        for id in list.iter() {
            self.taint_statement(id, context);
        }
    }

    fn taint_assign(&mut self, variable: ExprId, taint: u8) {
        if let Some(symbol) = self.symbol(variable) {
            self.taint_symbol(symbol, taint);
        }
    }

    /// What is passed to a function of the program reaches its parameters.
    fn taint_parameters(&mut self, id: ExprId, context: u8) {
        let ExprKind::Call(Callee::Named(symbol), arguments) = self.tree.expr_kind(id) else { return };
        let Some(&number) = self.survey.function_numbers.get(&symbol) else { return };
        let definition = self.survey.functions[number as usize].1.statement;
        let StatementKind::Def { parameters, .. } = self.tree.statement(definition).kind else { return };
        for (index, argument) in arguments.iter().enumerate() {
            let taint = self.taint(argument).max(context);
            if let Some(parameter) = parameters.get(2 * index) {
                self.taint_assign(parameter, taint);
            }
        }
    }

    fn taint_symbol(&mut self, symbol: Symbol, taint: u8) {
        let at = symbol.0 as usize;
        self.survey.taint[at] = self.survey.taint[at].max(taint);
        if self.group != 0 {
            let seen = &mut self.survey.assigned_in[at];
            *seen = if *seen == 0 || *seen == self.group + 1 { self.group + 1 } else { u16::MAX };
        }
    }

    fn taint_statement(&mut self, id: StatementId, context: u8) {
        match self.tree.statement(id).kind {
            StatementKind::Block(list) | StatementKind::Include { statements: list, .. } => {
                self.taint_statements(list, context);
            }
            StatementKind::Assign { variable, value } => {
                self.taint_parameters(value, context);
                let taint = self.taint(value).max(context);
                self.taint_symbol(variable, taint);
            }
            StatementKind::AssignItem { list, index, value } => {
                let taint = self.taint(index).max(self.taint(value)).max(context);
                self.taint_assign(list, taint);
            }
            StatementKind::Call(call) => self.taint_parameters(call, context),
            StatementKind::Let { variable, value } => {
                self.taint_parameters(value, context);
                let taint = self.taint(value).max(context);
                self.taint_assign(variable, taint);
            }
            StatementKind::Repeat { count, body, .. } => {
                let inner = context.max(self.taint(count));
                self.taint_statement(body, inner);
            }
            StatementKind::While { condition, body } => {
                let inner = context.max(self.taint(condition));
                self.taint_statement(body, inner);
            }
            StatementKind::ForRange { variable, from, to, body, .. } => {
                let taint = self.taint(from);
                self.taint_assign(variable, taint);
                let inner = context.max(taint).max(self.taint(to));
                self.taint_statement(body, inner);
            }
            StatementKind::ForEach { variable, list, body } => {
                let taint = self.taint(list);
                self.taint_assign(variable, taint);
                self.taint_statement(body, context.max(taint));
            }
            StatementKind::If { condition, then, otherwise } => {
                let inner = context.max(self.taint(condition));
                self.taint_statement(then, inner);
                if let Some(otherwise) = otherwise {
                    self.taint_statement(otherwise, inner);
                }
            }
            StatementKind::ForTime { body, .. } => {
                let inner = if self.meets(body) { context } else { 2 };
                self.taint_statement(body, inner);
            }
            StatementKind::Master(body) | StatementKind::Parallel { body, .. } => {
                self.taint_statement(body, 2);
            }
            // Its loops end differently often.
            StatementKind::Phase { body, stonewall: Stonewall::First | Stonewall::Time(_), .. } => {
                self.taint_statement(body, 2);
            }
            StatementKind::Choose { bodies, .. } => self.taint_statements(bodies, 2),
            StatementKind::Group { name, body } => {
                let outer = self.group;
                let raw = self.tree.raw_text(name, self.text).0.trim();
                self.group = self.survey.groups.get(raw).copied().unwrap_or(0) as u16;
                self.taint_statement(body, context);
                self.group = outer;
            }
            StatementKind::Time { body, .. }
            | StatementKind::Rate { body, .. }
            | StatementKind::At { body, .. }
            | StatementKind::Async { body, .. }
            | StatementKind::Phase { body, .. }
            | StatementKind::Verify(body)
            | StatementKind::Expect { body, .. }
            | StatementKind::Def { body, .. } => self.taint_statement(body, context),
            _ => {}
        }
    }
}

fn builtin_taint(name: &str) -> u8 {
    match name.to_ascii_lowercase().as_str() {
        "size" | "crand" => 0,
        "errno" | "bytes" => 1,
        _ => 2,
    }
}
