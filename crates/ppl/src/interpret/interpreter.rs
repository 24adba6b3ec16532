//! Holds the state of one rank's interpreter.

use crate::code::{Code, SiteId, Slot};
use crate::plan::Plan;
use crate::value::Value;

use super::arguments::Arguments;
use super::machine::{Fault, Halt, Machine};
use super::maps::BlockMaps;
use super::prepared::PreparedStatements;
use super::random::RandomSequence;

/// Reason why a rank ended before the end of its program; boxed, so that results stay small.
pub(super) type EarlyEnd = Box<Halt>;

/// The state of a `rate` statement: when its next body is due.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// The activation of the enclosing loop that it belongs to; `u64::MAX` before the first.
    pub activation: u64,
    pub due: f64,
}

/// The enclosing stonewall of a rank.
#[derive(Clone, Copy)]
pub(super) struct OpenStonewall {
    /// The latest time at which it falls, in ns since the start of the run; `u64::MAX` if there is none.
    pub deadline: u64,
    /// Whether a loop of this rank ended early.
    pub cut: bool,
}

/// The approximate address of the top of the stack.
pub(super) fn stack_position() -> usize {
    let marker = 0u8;
    std::ptr::from_ref(&marker) as usize
}

/// Control flow out of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return,
    /// The time of the enclosing `for TIME` is over.
    Over,
}

/// One rank's interpreter.
pub(super) struct Interpreter<'p, M> {
    pub plan: &'p Plan,
    pub code: &'p Code,
    pub machine: &'p mut M,
    pub rank: u32,
    pub variables: Vec<Value>,
    /// Local variables of the active functions, outermost first.
    pub locals: Vec<Value>,
    /// The index of the first local of the innermost function.
    pub base: usize,
    pub calls: u32,
    /// The top of the stack at the start.
    pub stack: usize,
    pub returned: Value,
    /// The enclosing group.
    pub group: usize,
    /// For each group, whether this rank is in it.
    pub member: Vec<bool>,
    pub arguments: Arguments,
    pub prepared: PreparedStatements,
    pub text: Vec<u8>,
    /// Reason why the current command is not executed; empty if it is executed.
    pub refused: String,
    pub random: RandomSequence,
    pub common: RandomSequence,
    pub maps: BlockMaps,
    pub errno: i64,
    pub bytes: i64,
    pub worker: u32,
    pub step: u32,
    pub paces: Vec<Pace>,
    pub activation: u64,
    pub activations: u64,
    /// When the first of the enclosing `for TIME` of this rank alone is over; `u64::MAX` outside of them.
    pub ends_at: u64,
    pub expected: Option<i32>,
    pub stop_on_error: bool,
    /// Steps of assertions that were reached, or told as not reached.
    pub asserted: Vec<u32>,
    /// The run was ended where variables were still to be set.
    pub is_unset: bool,
    /// The enclosing phase.
    pub phase: SiteId,
    /// The enclosing stonewall.
    pub stonewall: Option<OpenStonewall>,
}

impl<'p, M: Machine> Interpreter<'p, M> {
    pub fn new(
        plan: &'p Plan,
        rank: u32,
        machine: &'p mut M,
        variables: Vec<Value>,
        random: RandomSequence,
    ) -> Self {
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
            prepared: PreparedStatements::new(&plan.code),
            text: Vec::new(),
            refused: String::new(),
            random,
            common: RandomSequence::new(plan.seed, 0),
            maps: BlockMaps::default(),
            errno: 0,
            bytes: 0,
            worker: 0,
            step: 0,
            ends_at: u64::MAX,
            paces: vec![Pace { activation: u64::MAX, due: 0.0 }; plan.code.paces as usize],
            activation: 0,
            activations: 0,
            expected: None,
            stop_on_error: false,
            asserted: Vec::new(),
            is_unset: false,
            phase: SiteId(0),
            stonewall: None,
        }
    }

    /// A run-time error of the program at the current step.
    #[cold]
    pub fn fault(&self, message: impl Into<String>) -> EarlyEnd {
        Box::new(Halt::Fault(Box::new(Fault {
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

    /// Gives a variable an integer. What is an integer already is written in place: a value that was put together in
    /// parts would be read before it is there.
    #[inline(always)]
    pub(super) fn set_integer(&mut self, slot: Slot, number: i64) {
        match self.slot_mut(slot) {
            Value::Int(place) => *place = number,
            place => *place = Value::Int(number),
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
