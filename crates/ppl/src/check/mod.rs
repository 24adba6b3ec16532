//! Is the program right, and what is it in compact steps?
//!
//! One walk over the tree resolves names, checks kinds and counts of arguments, and emits
//! [`Code`]. A survey before it collects what may be used before it is written down: definitions,
//! functions, and where each variable is first assigned.

mod calls;
mod collective;
mod definitions;
mod expressions;
mod statements;
mod strings;
mod survey;
mod taint;
mod uniform;

use samples::SiteKind;

use crate::code::{BlockIndex, Code, Expr, ExprIndex, RawSite, SiteId, Slot, Step};
use crate::commands::Command;
use crate::diagnostic::{Diagnostic, Span, nearest};
use crate::source::Source;
use crate::syntax::{Symbol, Tree};
use crate::value::Value;

pub(crate) use collective::Collective;
use collective::Restriction;
pub(crate) use definitions::classic_suffix;
pub use definitions::{Definitions, GroupDefinition, GroupTag, Parameter, PatternDefinition};
use survey::Survey;

/// More diagnostics than this are not kept.
const MAX_DIAGNOSTICS: usize = 200;

/// A checked program.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The steps; only to be run where there is no error.
    pub code: Code,
    /// What the program defines.
    pub definitions: Definitions,
    /// What is wrong with it, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a tree against the text it came from. Never fails.
pub fn check(tree: &Tree, source: &Source) -> Checked {
    let survey = Survey::of(tree, source.text());
    let mut checker = Checker {
        tree,
        text: source.text(),
        survey,
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
        stonewall: None,
        restrictions: Vec::new(),
        loop_base: 0,
        left: None,
        returned: None,
        pending: Vec::new(),
        pending_exprs: Vec::new(),
        longest_name: tree.names().iter().map(str::len).max().unwrap_or(0),
    };
    checker.program();
    let Checker { mut code, definitions, mut diagnostics, .. } = checker;
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    code.uniform = uniform::uniform_blocks(&code);
    code.steps.shrink_to_fit();
    code.origins.shrink_to_fit();
    code.exprs.shrink_to_fit();
    code.texts.shrink_to_fit();
    code.pieces.shrink_to_fit();
    code.templates.shrink_to_fit();
    code.sites.shrink_to_fit();
    code.pool.shrink_to_fit();
    Checked { code, definitions, diagnostics }
}

/// Variables of the function that is being checked.
struct Locals {
    /// Name, slot, and whether it can be seen now (a loop variable only inside its loop).
    names: Vec<(Symbol, u32)>,
    /// How many slots the function needs.
    most: u32,
}

struct Checker<'a> {
    tree: &'a Tree,
    text: &'a str,
    survey: Survey,
    code: Code,
    definitions: Definitions,
    diagnostics: Vec<Diagnostic>,
    /// Slot of each global, by symbol.
    slots: Vec<Slot>,
    /// How many loops around this place count with the name.
    counting: Vec<u16>,
    /// Was it assigned before this place?
    assigned: Vec<bool>,
    locals: Option<Locals>,
    /// Loops around this place, inside the function.
    loops: u32,
    /// Where the outermost loop around this place ends, 0 outside of loops: what is assigned
    /// before that may have a value here.
    outermost_end: u32,
    /// The innermost group around this place.
    group: u16,
    /// The stonewall around this place, whose loops end differently often.
    stonewall: Option<Span>,
    restrictions: Vec<Restriction>,
    /// How many of them stood around the innermost loop.
    loop_base: usize,
    /// Some ranks have left the innermost loop, or its round, before this place.
    left: Option<Restriction>,
    /// Some ranks have returned from the function before this place.
    returned: Option<Restriction>,
    pending: Vec<(Step, u32)>,
    pending_exprs: Vec<Expr>,
    longest_name: usize,
}

impl Checker<'_> {
    fn push(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    // --- names ---

    fn name(&self, symbol: Symbol) -> &str {
        self.tree.names().text(symbol)
    }

    /// The slot of a global variable.
    fn global(&mut self, symbol: Symbol) -> Slot {
        let slot = self.slots[symbol.0 as usize];
        if slot != Slot::NONE {
            return slot;
        }
        let slot = Slot(self.code.variables.len() as u32);
        self.code.variables.push(self.name(symbol).to_owned());
        self.slots[symbol.0 as usize] = slot;
        slot
    }

    /// Is it defined at this place?
    fn is_defined(&self, symbol: Symbol) -> bool {
        let at = symbol.0 as usize;
        if let Some(locals) = &self.locals {
            if locals.names.iter().any(|(name, _)| *name == symbol) {
                return true;
            }
            // A function may run after anything at the top level.
            return self.survey.first_assigned[at] != u32::MAX || self.survey.parameters.contains(&symbol);
        }
        self.assigned[at]
            || self.counting[at] > 0
            || self.survey.parameters.contains(&symbol)
            || self.survey.first_assigned[at] < self.outermost_end
    }

    /// The variable at this place.
    fn variable(&mut self, symbol: Symbol) -> Option<Slot> {
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

    /// The name that was probably meant by one that is not defined.
    fn meant(&self, name: &str) -> Option<String> {
        let names = self.tree.names();
        // Enough candidates for any program written by hand.
        let candidates = names.iter().take(10_000).enumerate();
        nearest(name, candidates.filter(|(at, _)| self.is_defined(Symbol(*at as u32))).map(|(_, name)| name))
            .map(|near| format!("did you mean `${near}`?"))
    }

    /// A new local variable, or a global one outside of functions.
    fn declare(&mut self, symbol: Symbol) -> Slot {
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

    // --- building ---

    fn push_expr(&mut self, expr: Expr) -> ExprIndex {
        self.code.exprs.push(expr);
        self.code.exprs.len() as u32 - 1
    }

    fn push_exprs(&mut self, exprs: &[Expr]) -> ExprIndex {
        let first = self.code.exprs.len() as u32;
        self.code.exprs.extend_from_slice(exprs);
        first
    }

    fn constant(&mut self, value: Value) -> Expr {
        if let Value::Int(small) = value
            && let Ok(small) = i32::try_from(small)
        {
            return Expr::Int(small);
        }
        self.code.constants.push(value);
        Expr::Constant(self.code.constants.len() as u32 - 1)
    }

    fn add_text(&mut self, text: &str) -> u32 {
        let start = self.code.pool.len() as u32;
        self.code.pool.push_str(text);
        self.code.texts.push((start, text.len() as u32));
        self.code.texts.len() as u32 - 1
    }

    fn site(&mut self, span: Span, command: Option<Command>, kind: SiteKind) -> SiteId {
        self.code.sites.push(RawSite { offset: span.start, command, kind, group: self.group });
        SiteId(self.code.sites.len() as u32 - 1)
    }

    fn push_block(&mut self, block: (u32, u32)) -> BlockIndex {
        self.code.blocks.push(block);
        self.code.blocks.len() as u32 - 1
    }

    /// Puts the steps collected since `base` into the code.
    fn finish_block(&mut self, base: usize) -> (u32, u32) {
        let first = self.code.steps.len() as u32;
        let count = (self.pending.len() - base) as u32;
        for (step, origin) in self.pending.drain(base..) {
            self.code.steps.push(step);
            self.code.origins.push(origin);
        }
        (first, count)
    }
}
