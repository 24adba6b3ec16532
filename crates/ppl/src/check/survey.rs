//! Collects the definitions and assignments of the whole program before the check.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::Span;
use crate::syntax::{
    Callee, Children, Define, ExprId, ExprKind, Statement, StatementId, StatementKind, Symbol, Tree,
};

/// A function whose body is not checked yet.
pub(super) struct FunctionHead {
    pub statement: StatementId,
    pub span: Span,
    /// Whether it contains something collective, directly or in a function that it calls.
    pub collective: bool,
    calls: Vec<Symbol>,
}

/// The result of the survey.
#[derive(Default)]
pub(super) struct Survey {
    /// Offset of the first assignment to each name that is not a loop counter.
    pub first_assigned: Vec<u32>,
    /// Variables of `define param`.
    pub parameters: HashSet<Symbol>,
    /// Names of groups (trimmed) and their numbers; the world is 0.
    pub groups: HashMap<String, u32>,
    /// Names of patterns (trimmed) and their numbers.
    pub patterns: HashMap<String, u32>,
    /// Functions by name, in order.
    pub functions: Vec<(Symbol, FunctionHead)>,
    pub function_numbers: HashMap<Symbol, u32>,
    /// Whether the program contains anything collective.
    pub collective: bool,
}

struct Surveyor<'a> {
    tree: &'a Tree,
    text: &'a str,
    survey: Survey,
    counting: Vec<u16>,
    inside: Option<usize>,
}

impl Survey {
    pub fn of(tree: &Tree, text: &str) -> Self {
        let names = tree.names().len();
        let mut walk = Surveyor {
            tree,
            text,
            survey: Survey { first_assigned: vec![u32::MAX; names], ..Survey::default() },
            counting: vec![0; names],
            inside: None,
        };
        walk.survey.groups.insert("world".into(), 0);
        tree.top().iter().for_each(|id| walk.statement(id));
        let mut survey = walk.survey;
        survey.spread_collective();
        survey
    }

    /// Marks the functions that call a collective one as collective.
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

impl Surveyor<'_> {
    fn collective(&mut self) {
        self.survey.collective = true;
        if let Some(function) = self.inside {
            self.survey.functions[function].1.collective = true;
        }
    }

    /// Records the calls inside an expression for the current function, and whether they are collective.
    fn expression(&mut self, id: ExprId) {
        if self.tree.expr_kind(id).is_leaf() {
            return;
        }
        for (_, kind) in self.tree.exprs_in(id) {
            let ExprKind::Call(callee, _) = kind else { continue };
            match (callee, self.inside) {
                (Callee::Named(symbol), Some(function)) => {
                    self.survey.functions[function].1.calls.push(symbol);
                }
                (Callee::Command(command), _) if command.is_collective() => self.collective(),
                (Callee::Named(_) | Callee::Command(_) | Callee::Function(_), _) => {}
            }
        }
    }

    fn assigned(&mut self, symbol: Symbol, start: u32) {
        let first = &mut self.survey.first_assigned[symbol.0 as usize];
        *first = (*first).min(start);
    }

    fn symbol(&self, variable: ExprId) -> Option<Symbol> {
        match self.tree.expr_kind(variable) {
            ExprKind::Variable(symbol) => Some(symbol),
            _ => None,
        }
    }

    fn text(&self, id: ExprId) -> String {
        self.tree.raw_text(id, self.text).0.trim().to_owned()
    }

    /// Records what a definition defines.
    fn definition(&mut self, define: Define) {
        match define {
            Define::Param { variable, .. } => {
                let symbol = self.symbol(variable);
                self.survey.parameters.extend(symbol);
            }
            Define::Groups(items) => {
                for name in items.iter().step_by(3) {
                    let name = self.text(name);
                    let next = self.survey.groups.len() as u32;
                    self.survey.groups.entry(name).or_insert(next);
                }
            }
            Define::Pattern(items) => {
                if let Some(name) = items.get(0) {
                    let name = self.text(name);
                    let next = self.survey.patterns.len() as u32;
                    self.survey.patterns.entry(name).or_insert(next);
                }
            }
            Define::Report(_)
            | Define::Hints(_)
            | Define::Ranks(_)
            | Define::Content(_)
            | Define::Space { .. } => {}
        }
    }

    /// Records the head of a function, then surveys its body.
    fn function(&mut self, id: StatementId, name: ExprId, parts: Children) {
        let ExprKind::Word(symbol) = self.tree.expr_kind(name) else { return };
        let number = self.survey.functions.len();
        self.survey.function_numbers.entry(symbol).or_insert(number as u32);
        let span = self.tree.span(name);
        let function = FunctionHead { statement: id, span, collective: false, calls: Vec::new() };
        self.survey.functions.push((symbol, function));
        self.inside = Some(number);
        self.children(parts);
        self.inside = None;
    }

    fn children(&mut self, parts: Children) {
        parts.exprs().for_each(|expr| self.expression(expr));
        parts.statements().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, id: StatementId) {
        let Statement { kind, span } = self.tree.statement(id);
        let parts = kind.children();
        let mut counter = None;
        match kind {
            StatementKind::Assign { variable, .. } if self.counting[variable.0 as usize] == 0 => {
                self.assigned(variable, span.start);
            }
            StatementKind::Let { variable, .. } => {
                if let (Some(symbol), None) = (self.symbol(variable), self.inside) {
                    self.assigned(symbol, span.start);
                }
            }
            StatementKind::Command { command, .. } if command.is_collective() => self.collective(),
            StatementKind::Barrier(_) | StatementKind::Phase { .. } => self.collective(),
            StatementKind::Repeat { variable, .. } => counter = variable.and_then(|id| self.symbol(id)),
            StatementKind::ForRange { variable, .. } | StatementKind::ForEach { variable, .. } => {
                counter = self.symbol(variable);
            }
            StatementKind::Def { name, .. } => return self.function(id, name, parts),
            StatementKind::Define(define) => return self.definition(define),
            // The other kinds are surveyed through their children.
            _ => {}
        }
        let Some(symbol) = counter else { return self.children(parts) };
        self.counting[symbol.0 as usize] += 1;
        self.children(parts);
        self.counting[symbol.0 as usize] -= 1;
    }
}
