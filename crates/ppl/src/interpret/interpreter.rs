//! The state of one rank's interpreter.

use crate::code::{Code, SiteId, Slot};
use crate::plan::Plan;
use crate::value::Value;

use super::arguments::Arguments;
use super::machine::{Fault, Machine, Stop};
use super::random::Random;

/// Why a rank ended before the end of its program; boxed, so that results stay small.
pub(super) type EarlyEnd = Box<Stop>;

/// When the next body of a `rate` statement is due.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// In which run of the surrounding loop it counts; `u64::MAX` before the first.
    pub activation: u64,
    pub due: f64,
}

/// The stonewall around a place, as a rank inside sees it.
#[derive(Clone, Copy)]
pub(super) struct OpenStonewall {
    /// When it falls at the latest, in ns since the start of the run; `u64::MAX`: no such time.
    pub deadline: u64,
    /// One loop of this rank ended early.
    pub cut: bool,
}

/// About where the stack ends now.
pub(super) fn stack_position() -> usize {
    let marker = 0u8;
    std::ptr::from_ref(&marker) as usize
}

/// How a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return,
}

/// One rank's interpreter.
pub(super) struct Interpreter<'p, M> {
    pub plan: &'p Plan,
    pub code: &'p Code,
    pub machine: &'p mut M,
    pub rank: u32,
    pub variables: Vec<Value>,
    /// Variables of the functions that run, one function behind the other.
    pub locals: Vec<Value>,
    /// Where those of the innermost function begin.
    pub base: usize,
    pub calls: u32,
    /// Where the stack ended at the start.
    pub stack: usize,
    pub returned: Value,
    /// The group around this place.
    pub group: usize,
    /// For each group: is this rank in it?
    pub member: Vec<bool>,
    pub arguments: Arguments,
    pub text: Vec<u8>,
    /// Why the command at hand is not done; empty where it is.
    pub refused: String,
    pub random: Random,
    pub common: Random,
    pub errno: i64,
    pub bytes: i64,
    pub worker: u32,
    pub step: u32,
    pub paces: Vec<Pace>,
    pub activation: u64,
    pub activations: u64,
    pub expected: Option<i32>,
    pub stop_on_error: bool,
    /// The phase around this place.
    pub phase: SiteId,
    /// The stonewall around this place.
    pub stonewall: Option<OpenStonewall>,
}

impl<'p, M: Machine> Interpreter<'p, M> {
    pub fn new(plan: &'p Plan, rank: u32, machine: &'p mut M, variables: Vec<Value>, random: Random) -> Self {
        Self {
            plan,
            code: &plan.code,
            machine,
            rank,
            variables,
            locals: Vec::new(),
            base: 0,
            calls: 0,
            stack: stack_position(),
            returned: Value::Int(0),
            group: 0,
            member: plan.groups.iter().map(|group| group.place(rank).is_some()).collect(),
            arguments: Arguments::default(),
            text: Vec::new(),
            refused: String::new(),
            random,
            common: Random::new(plan.seed, 0),
            errno: 0,
            bytes: 0,
            worker: 0,
            step: 0,
            paces: vec![Pace { activation: u64::MAX, due: 0.0 }; plan.code.paces as usize],
            activation: 0,
            activations: 0,
            expected: None,
            stop_on_error: false,
            phase: SiteId(0),
            stonewall: None,
        }
    }

    /// A mistake of the program at the current step.
    #[cold]
    pub fn fault(&self, message: impl Into<String>) -> EarlyEnd {
        Box::new(Stop::Fault(Box::new(Fault {
            position: self.plan.place(self.step),
            message: message.into(),
        })))
    }

    #[inline]
    pub(super) fn slot(&self, slot: Slot) -> &Value {
        if slot.0 & Slot::LOCAL == 0 {
            &self.variables[slot.0 as usize]
        } else {
            &self.locals[self.base + (slot.0 & !Slot::LOCAL) as usize]
        }
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, slot: Slot) -> &mut Value {
        if slot.0 & Slot::LOCAL == 0 {
            &mut self.variables[slot.0 as usize]
        } else {
            &mut self.locals[self.base + (slot.0 & !Slot::LOCAL) as usize]
        }
    }
}
