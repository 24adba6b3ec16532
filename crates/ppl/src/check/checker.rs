//! Holds the state of the check: names in scope, enclosing restrictions, code being built.

use std::collections::HashSet;

use samples::SiteKind;

use crate::code::{BlockIndex, Code, Expr, ExprIndex, RawSite, SiteId, Slot, Step};
use crate::commands::Command;
use crate::diagnostic::{Diagnostic, Span, nearest};
use crate::syntax::{ExprId, Symbol, Tree, put_behind, template};
use crate::value::Value;

use super::definitions::Definitions;
use super::survey::Survey;

/// The largest number of diagnostics kept.
const MAX_DIAGNOSTICS: usize = 200;

/// Variables of the function being checked.
pub(super) struct Locals {
    /// Name and slot of each variable that is in scope (a loop variable only inside its loop).
    pub names: Vec<(Symbol, u32)>,
    /// The number of slots the function needs.
    pub most: u32,
}

/// An `assert` whose condition is being compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assertion {
    /// Each rank judges its own samples.
    pub each: bool,
    /// The other side of the comparison is in per cent.
    pub share: bool,
}

pub(super) struct Checker<'a> {
    pub tree: &'a Tree,
    pub text: &'a str,
    pub survey: Survey,
    pub code: Code,
    pub definitions: Definitions,
    pub diagnostics: Vec<Diagnostic>,
    /// Slot of each global, by symbol.
    pub slots: Vec<Slot>,
    /// The number of enclosing loops whose counter has the name.
    pub counting: Vec<u16>,
    /// Whether the global was assigned before the current position.
    pub assigned: Vec<bool>,
    pub locals: Option<Locals>,
    /// Number of enclosing loops inside the function.
    pub loops: u32,
    /// The end of the outermost enclosing loop, 0 outside of loops: a variable assigned before that offset
    /// may have a value here.
    pub outermost_end: u32,
    /// The innermost enclosing group.
    pub group: u16,
    /// The errno of the innermost `expect`, where it is a constant; 0 otherwise.
    pub expects: u16,
    /// The enclosing stonewall, in which loops end after different numbers of rounds.
    pub stonewall: Option<Span>,
    /// The `assert` whose condition is being compiled.
    pub assertion: Option<Assertion>,
    /// The label of the timed block or phase that encloses this place, or that ended last before it.
    pub block_before: Option<ExprId>,
    /// Labels of samples that the program refers to.
    pub asked: Vec<(Span, String)>,
    /// The names of signals that somebody awaits, and of those that are given.
    pub awaited: Vec<(Span, ExprIndex)>,
    pub signalled: Vec<ExprIndex>,
    /// The enclosing `parallel`.
    pub workers: Option<Span>,
    /// Steps of blocks that are still open, and the offsets of their statements.
    pub pending: (Vec<Step>, Vec<u32>),
    pub pending_exprs: Vec<Expr>,
    pub longest_name: usize,
    /// Names in strings of which it was told that they are shorter ones, followed by text.
    pub shorter: HashSet<String>,
}

impl<'a> Checker<'a> {
    pub fn new(tree: &'a Tree, text: &'a str) -> Self {
        Self {
            tree,
            text,
            survey: Survey::of(tree, text),
            code: Code { classic: tree.classic, ..Code::default() },
            definitions: Definitions::default(),
            diagnostics: Vec::new(),
            slots: vec![Slot::NONE; tree.names().len()],
            counting: vec![0; tree.names().len()],
            assigned: vec![false; tree.names().len()],
            locals: None,
            loops: 0,
            outermost_end: 0,
            group: 0,
            expects: 0,
            stonewall: None,
            assertion: None,
            block_before: None,
            asked: Vec::new(),
            awaited: Vec::new(),
            signalled: Vec::new(),
            workers: None,
            pending: (Vec::new(), Vec::new()),
            pending_exprs: Vec::new(),
            longest_name: tree.names().iter().map(str::len).max().unwrap_or(0),
            shorter: HashSet::new(),
        }
    }
}

impl Checker<'_> {
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    // --- names ---

    pub fn name(&self, symbol: Symbol) -> &str {
        self.tree.names().text(symbol)
    }

    /// The slot of a global variable.
    pub fn global(&mut self, symbol: Symbol) -> Slot {
        let slot = self.slots[symbol.0 as usize];
        if slot != Slot::NONE {
            return slot;
        }
        let slot = Slot(self.code.variables.len() as u32);
        self.code.variables.push(self.name(symbol).to_owned());
        self.slots[symbol.0 as usize] = slot;
        slot
    }

    /// Whether the variable is defined at the current position.
    pub fn is_defined(&self, symbol: Symbol) -> bool {
        let at = symbol.0 as usize;
        if let Some(locals) = &self.locals {
            if locals.names.iter().any(|(name, _)| *name == symbol) {
                return true;
            }
            // A function may be called after any statement of the top level.
            return self.survey.first_assigned[at] != u32::MAX || self.survey.parameters.contains(&symbol);
        }
        self.assigned[at]
            || self.counting[at] > 0
            || self.survey.parameters.contains(&symbol)
            || self.survey.first_assigned[at] < self.outermost_end
    }

    /// The slot of the variable at the current position.
    pub fn variable(&mut self, symbol: Symbol) -> Option<Slot> {
        if !self.is_defined(symbol) {
            return None;
        }
        if let Some(locals) = &self.locals
            && let Some((_, slot)) = locals.names.iter().rev().find(|(name, _)| *name == symbol)
        {
            return Some(Slot(slot | Slot::LOCAL));
        }
        Some(self.global(symbol))
    }

    /// The defined name that is most similar to an undefined one.
    pub fn meant(&self, name: &str) -> Option<&str> {
        let names = self.tree.names();
        // Limits the work for generated programs.
        let candidates = names.iter().take(10_000).enumerate();
        nearest(name, candidates.filter(|(at, _)| self.is_defined(Symbol(*at as u32))).map(|(_, name)| name))
    }

    /// Declares a local variable, or a global one outside of functions.
    pub fn declare(&mut self, symbol: Symbol) -> Slot {
        match &mut self.locals {
            Some(locals) => {
                let slot = locals.names.len() as u32;
                locals.names.push((symbol, slot));
                locals.most = locals.most.max(slot + 1);
                Slot(slot | Slot::LOCAL)
            }
            None => self.global(symbol),
        }
    }

    /// Records a label whose samples are referred to, if it is plain text.
    pub fn ask_for(&mut self, label: ExprId) {
        let raw = self.tree.raw_text(label, self.text).0;
        if !raw.is_empty() && template::is_plain(raw) {
            let asked = (self.tree.span(label), raw.to_owned());
            self.asked.push(asked);
        }
    }

    // --- building ---

    pub fn push_expr(&mut self, expr: Expr) -> ExprIndex {
        self.code.exprs.push(expr);
        self.code.exprs.len() as u32 - 1
    }

    pub fn push_exprs(&mut self, exprs: &[Expr]) -> ExprIndex {
        let first = self.code.exprs.len() as u32;
        self.code.exprs.extend_from_slice(exprs);
        first
    }

    pub fn constant(&mut self, value: Value) -> Expr {
        if let Value::Int(small) = value
            && let Ok(small) = i32::try_from(small)
        {
            return Expr::Int(small);
        }
        self.code.constants.push(value);
        Expr::Constant(self.code.constants.len() as u32 - 1)
    }

    pub fn add_text(&mut self, text: &str) -> u32 {
        let start = self.code.pool.len() as u32;
        self.code.pool.push_str(text);
        self.code.texts.push((start, text.len() as u32));
        self.code.texts.len() as u32 - 1
    }

    pub fn site(&mut self, span: Span, command: Option<Command>, kind: SiteKind) -> SiteId {
        self.code.sites.push(RawSite {
            offset: span.start,
            command,
            kind,
            group: self.group,
            expects: self.expects,
        });
        SiteId(self.code.sites.len() as u32 - 1)
    }

    pub fn push_block(&mut self, block: (u32, u32)) -> BlockIndex {
        self.code.blocks.push(block);
        self.code.blocks.len() as u32 - 1
    }

    /// Adds a step to the innermost open block.
    pub fn push_step(&mut self, step: Step, origin: u32) {
        self.pending.0.push(step);
        self.pending.1.push(origin);
    }

    /// The steps of a block are those that are added from now on.
    pub fn start_block(&self) -> usize {
        self.pending.0.len()
    }

    /// Moves the steps collected since `base` into the code.
    pub fn finish_block(&mut self, base: usize) -> (u32, u32) {
        let first = self.code.steps.len() as u32;
        let (steps, origins) = &mut self.pending;
        let count = (steps.len() - base) as u32;
        if base == 0 {
            // The top level, which has most: nothing is copied.
            put_behind(&mut self.code.steps, std::mem::take(steps));
            put_behind(&mut self.code.origins, std::mem::take(origins));
        } else {
            self.code.steps.extend(steps.drain(base..));
            self.code.origins.extend(origins.drain(base..));
        }
        (first, count)
    }
}
