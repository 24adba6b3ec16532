//! What does the program define and assign, anywhere?

use std::collections::{HashMap, HashSet};

use crate::diagnostic::Span;
use crate::syntax::{Callee, ExprId, ExprKind, StatementId, StatementKind, Statements, Symbol, Tree};

/// A function before its body is checked.
pub(super) struct Function {
    pub statement: StatementId,
    pub span: Span,
    /// Does it hold a barrier, or call a function that does?
    pub collective: bool,
    calls: Vec<Symbol>,
}

/// What the walk before the check found.
#[derive(Default)]
pub(super) struct Survey {
    /// Offset of the first assignment to each name that is no loop's own counter.
    pub first_assigned: Vec<u32>,
    /// Names that `define param` gives.
    pub parameters: HashSet<Symbol>,
    /// Names of groups (trimmed) and their numbers; the world is 0.
    pub groups: HashMap<String, u32>,
    /// Names of patterns (trimmed), their numbers and definitions' places.
    pub patterns: HashMap<String, u32>,
    /// Functions by name, in order.
    pub functions: Vec<(Symbol, Function)>,
    pub function_numbers: HashMap<Symbol, u32>,
    /// Is there anything collective in the program?
    pub collective: bool,
    /// Per name: can its value differ between ranks? 0 no, 1 perhaps, 2 yes.
    pub taint: Vec<u8>,
    /// Per name: the group in which it is assigned, +1; `u16::MAX` for several.
    pub assigned_in: Vec<u16>,
}

struct Walk<'a> {
    tree: &'a Tree,
    text: &'a str,
    survey: Survey,
    counting: Vec<u16>,
    inside: Option<usize>,
}

impl Survey {
    pub fn of(tree: &Tree, text: &str) -> Self {
        let names = tree.names().len();
        let mut walk = Walk {
            tree,
            text,
            survey: Survey { first_assigned: vec![u32::MAX; names], ..Survey::default() },
            counting: vec![0; names],
            inside: None,
        };
        walk.survey.groups.insert("world".into(), 0);
        walk.statements(tree.top());
        let mut survey = walk.survey;
        survey.spread_collective();
        survey
    }

    /// A function that calls a collective one is collective.
    fn spread_collective(&mut self) {
        loop {
            let known: HashSet<Symbol> =
                self.functions.iter().filter(|(_, f)| f.collective).map(|(name, _)| *name).collect();
            let mut changed = false;
            for (_, function) in &mut self.functions {
                if !function.collective && function.calls.iter().any(|call| known.contains(call)) {
                    function.collective = true;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }
}

impl Walk<'_> {
    fn statements(&mut self, list: Statements) {
        for id in list.iter() {
            self.statement(id);
        }
    }

    fn counted(&mut self, variable: Option<ExprId>, body: StatementId) {
        let symbol = variable.and_then(|id| match self.tree.expr_kind(id) {
            ExprKind::Variable(symbol) => Some(symbol.0 as usize),
            _ => None,
        });
        if let Some(at) = symbol {
            self.counting[at] += 1;
        }
        self.statement(body);
        if let Some(at) = symbol {
            self.counting[at] -= 1;
        }
    }

    fn collective(&mut self) {
        self.survey.collective = true;
        if let Some(function) = self.inside {
            self.survey.functions[function].1.collective = true;
        }
    }

    /// Calls inside an expression: which function makes them, and whether they are collective.
    fn expression(&mut self, id: ExprId) {
        let has_parts = |kind| !matches!(kind, ExprKind::Number(_) | ExprKind::Text | ExprKind::Variable(_));
        if !has_parts(self.tree.expr_kind(id)) {
            return;
        }
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            match self.tree.expr_kind(id) {
                ExprKind::Call(callee, arguments) => {
                    match (callee, self.inside) {
                        (Callee::Named(symbol), Some(function)) => {
                            self.survey.functions[function].1.calls.push(symbol);
                        }
                        (Callee::Command(command), _) if command.is_collective() => {
                            self.collective();
                        }
                        _ => {}
                    }
                    open.extend(arguments.iter());
                }
                ExprKind::Unary(_, a) | ExprKind::Parens(a) => open.push(a),
                ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => open.extend([a, b]),
                ExprKind::Choice(a, b, c) => open.extend([a, b, c]),
                ExprKind::List(items) => open.extend(items.iter()),
                _ => {}
            }
        }
    }

    fn statement(&mut self, id: StatementId) {
        let statement = self.tree.statement(id);
        match statement.kind {
            StatementKind::Block(list) => self.statements(list),
            StatementKind::Include { statements, .. } => self.statements(statements),
            StatementKind::Assign { variable, value } => {
                let at = variable.0 as usize;
                if self.counting[at] == 0 {
                    let first = &mut self.survey.first_assigned[at];
                    *first = (*first).min(statement.span.start);
                }
                self.expression(value);
            }
            StatementKind::Let { variable, value } => {
                if let ExprKind::Variable(symbol) = self.tree.expr_kind(variable)
                    && self.inside.is_none()
                {
                    let first = &mut self.survey.first_assigned[symbol.0 as usize];
                    *first = (*first).min(statement.span.start);
                }
                self.expression(value);
            }
            StatementKind::AssignItem { index, value, .. } => {
                self.expression(index);
                self.expression(value);
            }
            StatementKind::Call(call) => self.expression(call),
            StatementKind::Command { command, .. } if command.is_collective() => {
                self.collective();
            }
            StatementKind::Barrier(_) => self.collective(),
            StatementKind::Phase { body, .. } => {
                self.collective();
                self.statement(body);
            }
            StatementKind::Repeat { variable, body, .. } => self.counted(variable, body),
            StatementKind::ForRange { variable, body, .. }
            | StatementKind::ForEach { variable, body, .. } => {
                self.counted(Some(variable), body);
            }
            StatementKind::Time { body, .. }
            | StatementKind::Group { body, .. }
            | StatementKind::Master(body)
            | StatementKind::While { body, .. }
            | StatementKind::ForTime { body, .. }
            | StatementKind::Rate { body, .. }
            | StatementKind::At { body, .. }
            | StatementKind::Parallel { body, .. }
            | StatementKind::Async { body, .. }
            | StatementKind::Verify(body)
            | StatementKind::Expect { body, .. } => self.statement(body),
            StatementKind::If { condition, then, otherwise } => {
                self.expression(condition);
                self.statement(then);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise);
                }
            }
            StatementKind::Choose { bodies, .. } => self.statements(bodies),
            StatementKind::Return(Some(value)) => self.expression(value),
            StatementKind::Def { name, body, .. } => {
                if let ExprKind::Word(symbol) = self.tree.expr_kind(name) {
                    let number = self.survey.functions.len();
                    self.survey.function_numbers.entry(symbol).or_insert(number as u32);
                    self.survey.functions.push((
                        symbol,
                        Function {
                            statement: id,
                            span: self.tree.span(name),
                            collective: false,
                            calls: Vec::new(),
                        },
                    ));
                    self.inside = Some(number);
                    self.statement(body);
                    self.inside = None;
                }
            }
            StatementKind::DefineParam { variable, .. } => {
                if let ExprKind::Variable(symbol) = self.tree.expr_kind(variable) {
                    self.survey.parameters.insert(symbol);
                }
            }
            StatementKind::DefineGroups(items) => {
                for at in (0..items.len()).step_by(3) {
                    let name = items.get(at).map(|id| self.tree.raw_text(id, self.text).0.trim().to_owned());
                    let next = self.survey.groups.len() as u32;
                    if let Some(name) = name {
                        self.survey.groups.entry(name).or_insert(next);
                    }
                }
            }
            StatementKind::DefinePattern(items) => {
                if let Some(id) = items.get(0) {
                    let name = self.tree.raw_text(id, self.text).0.trim().to_owned();
                    let next = self.survey.patterns.len() as u32;
                    self.survey.patterns.entry(name).or_insert(next);
                }
            }
            _ => {}
        }
    }
}
