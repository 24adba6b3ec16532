//! Executes the steps of a plan.

use crate::claim::{self, Claim, Part};
use crate::code::{BlockIndex, Expr, ExprIndex, GroupId, SiteId, Slot, Step, spell};
use crate::literal;
use crate::plan::Plan;
use crate::value::{MAX_LIST_DEPTH, Value};

use super::interpreter::{EarlyEnd, Flow, Interpreter, OpenStonewall};
use super::machine::{Halt, Machine, Wait, Work};
use super::random::RandomSequence;

/// Runs a plan as one of its ranks.
///
/// # Errors
/// If the rank ended before the end of its program.
pub fn run<M: Machine>(plan: &Plan, rank: u32, machine: &mut M) -> Result<(), Halt> {
    let variables = plan.initial.clone();
    let random = RandomSequence::new(plan.seed, u64::from(rank) + 1);
    Interpreter::new(plan, rank, machine, variables, random)
        .block(plan.code.main)
        .map(|_| ())
        .map_err(|stop| *stop)
}

impl<M: Machine> Interpreter<'_, M> {
    /// Executes the steps of a block.
    pub fn block(&mut self, block: BlockIndex) -> Result<Flow, EarlyEnd> {
        let (first, count) = self.code.blocks[block as usize];
        for at in first..first + count {
            self.step = at;
            let flow = match self.code.steps[at as usize] {
                Step::Assign(slot, value) => {
                    match self.quick_integer(value) {
                        Some(number) => self.set_integer(slot, number),
                        None => {
                            let assigned = self.assign(slot, value);
                            assigned.map_err(|stop| self.ended(stop, at, first + count))?;
                        }
                    }
                    continue;
                }
                Step::Command { command, count: arguments, first: argument, site } => {
                    let done = self.statement(command, argument, usize::from(arguments), site);
                    done.map_err(|stop| self.ended(stop, at, first + count))?;
                    continue;
                }
                Step::Repeat { slot, count, body } => self.repeat(slot, count, body),
                step => self.other_step(step),
            };
            let flow = flow.map_err(|stop| self.ended(stop, at, first + count))?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// Executes `$v = value;`.
    #[inline(never)]
    fn assign(&mut self, slot: Slot, value: ExprIndex) -> Result<(), EarlyEnd> {
        let value = match self.code.exprs[value as usize] {
            Expr::Command(call) => self.command_value(self.code.calls[call as usize], true)?,
            _ => self.value(value)?,
        };
        match &value {
            Value::List(items) => self.machine.assigned(items.len()),
            Value::Text(text) => self.machine.assigned(text.len()),
            _ => {}
        }
        *self.slot_mut(slot) = value;
        Ok(())
    }

    pub(super) fn integer(&mut self, index: ExprIndex, what: &str) -> Result<i64, EarlyEnd> {
        if let Some(number) = self.quick_integer(index) {
            return Ok(number);
        }
        let value = self.value(index)?;
        value.integer().ok_or_else(|| match value {
            Value::Float(number) => self.fault(format!("{what} must fit an integer, not {number}")),
            _ => self.fault(format!("{what} must be a number, not {}", value.kind())),
        })
    }

    /// A waiting time, which must not be negative.
    pub(super) fn not_negative(&mut self, ns: i64, what: &str) -> Result<u64, EarlyEnd> {
        u64::try_from(ns).map_err(|_| {
            let time = Value::Duration(ns);
            self.fault(format!(
                "{what} cannot wait {time}; where a drawn time may be below 0, write `max(0ms, …)`"
            ))
        })
    }

    /// Executes `$l[i] = v;`. Other variables with the same list are not changed.
    fn assign_item(&mut self, list: Slot, first: ExprIndex) -> Result<(), EarlyEnd> {
        let at = self.integer(first, "the index")?;
        let value = match self.code.exprs[first as usize + 1] {
            Expr::Command(call) => self.command_value(self.code.calls[call as usize], true)?,
            _ => self.value(first + 1)?,
        };
        if value.is_deeper_than(MAX_LIST_DEPTH - 1) {
            return Err(self.fault(format!("lists are nested more than {MAX_LIST_DEPTH} deep")));
        }
        let Value::List(items) = self.slot_mut(list) else {
            let kind = self.slot_mut(list).kind();
            return Err(self.fault(format!("only a list has items, not {kind}")));
        };
        let count = items.len();
        match usize::try_from(at).ok().filter(|at| *at < count) {
            Some(at) => std::sync::Arc::make_mut(items)[at] = value,
            None => return Err(self.fault(format!("a list of {count} items has no item {at}"))),
        }
        Ok(())
    }

    /// A time in nanoseconds; negative times count as 0.
    pub(super) fn time(&mut self, index: ExprIndex, what: &str) -> Result<u64, EarlyEnd> {
        Ok(self.signed_time(index, what)?.max(0) as u64)
    }

    /// A time in nanoseconds, of either sign.
    fn signed_time(&mut self, index: ExprIndex, what: &str) -> Result<i64, EarlyEnd> {
        if let Some(ns) = self.quick_time(index) {
            return Ok(ns);
        }
        let value = match self.value(index)? {
            Value::Text(text) => literal::signed(&text).map_or(Value::Text(text.clone()), Value::from),
            value => value,
        };
        match value {
            Value::Duration(ns) => Ok(ns),
            other => Err(self.fault(format!("{what} needs a time such as `5ms`, not {}", other.kind()))),
        }
    }

    /// Executes a step other than the most frequent ones.
    #[inline(never)]
    fn other_step(&mut self, step: Step) -> Result<Flow, EarlyEnd> {
        // A program without loops can take as long as one with them.
        if let Some(stop) = self.machine.stopped() {
            return Err(Box::new(stop));
        }
        match step {
            // Executed by `block`.
            Step::Assign(..) | Step::Command { .. } | Step::Repeat { .. } => {}
            Step::Evaluate(value) => {
                self.value(value)?;
            }
            Step::AssignItem { list, first } => self.assign_item(list, first)?,
            Step::ForRange { slot, first, body } => return self.for_range(slot, first, body),
            Step::ForEach { slot, list, body } => return self.for_each(slot, list, body),
            Step::ForTime { duration, body, together } => return self.for_time(duration, body, together),
            Step::Stonewall { limit, body } => return self.stonewall(limit, body),
            Step::While { condition, body } => return self.while_loop(condition, body),
            Step::If { condition, then } => {
                let truth = match self.quick_integer(condition) {
                    Some(number) => number != 0,
                    None => self.value(condition)?.truth(),
                };
                return self.block(if truth { then } else { then + 1 });
            }
            Step::Time { site, label, body } => {
                self.enter_block(site, label)?;
                let flow = self.block(body)?;
                self.machine.leave_block(site);
                return Ok(flow);
            }
            Step::Phase { site, label, body } => return self.phase(site, label, body),
            Step::Group { group, body } => {
                if self.member[group.index()] {
                    let outer = std::mem::replace(&mut self.group, group.index());
                    let flow = self.block(body);
                    self.group = outer;
                    return flow;
                }
            }
            Step::Master(body) => {
                if self.plan.groups[self.group].ranks.first() == Some(&self.rank) {
                    return self.block(body);
                }
            }
            Step::Barrier { site, group } => {
                if self.member[group.index()] {
                    self.machine.barrier(site, group).map_err(Box::new)?;
                }
            }
            Step::Think(time) => {
                let ns = self.signed_time(time, "`think`")?;
                let ns = self.not_negative(ns, "`think`")?;
                if self.ends_at != u64::MAX {
                    let until = self.machine.now_ns().saturating_add(ns);
                    if self.is_over_before(until) {
                        return Ok(Flow::Over);
                    }
                }
                self.machine.wait(ns, Wait::Think);
            }
            Step::Rate { rate, state, body } => return self.paced(rate, state, body, false),
            Step::Poisson { rate, state, body } => return self.paced(rate, state, body, true),
            Step::At { time, body } => {
                let due = self.time(time, "`at`")?;
                return self.start_at(due, body);
            }
            Step::Choose { weights, count, bodies } => {
                let chosen = self.choose(weights, count)?;
                return self.block(bodies + chosen);
            }
            Step::Parallel { count, body } => return self.parallel(count, body),
            Step::Async { depth, body } => return self.asynchronous(depth, body),
            Step::Verify(body) => {
                let outer = self.machine.verify(true);
                let flow = self.block(body);
                self.machine.verify(outer);
                return flow;
            }
            Step::Expect { errno, body } => return self.expect(errno, body),
            Step::Assert { condition, each } => self.assert(condition, each)?,
            Step::OnError { stop } => {
                self.stop_on_error = stop;
                self.machine.judge_by(self.expected, stop);
            }
            Step::Break => return Ok(Flow::Break),
            Step::Continue => return Ok(Flow::Continue),
            Step::Return(value) => {
                self.returned = self.value(value)?;
                return Ok(Flow::Return);
            }
        }
        Ok(Flow::Next)
    }

    /// Executes a barrier, the body and a barrier. Only the body, each rank's own work, is timed.
    fn phase(&mut self, site: SiteId, label: ExprIndex, body: BlockIndex) -> Result<Flow, EarlyEnd> {
        let group = GroupId(self.group as u32);
        // The wait is a separate sample, so that a phase has one sample per iteration.
        let waits = SiteId(site.0 + 1);
        self.machine.barrier(waits, group).map_err(Box::new)?;
        self.enter_block(site, label)?;
        let outer = std::mem::replace(&mut self.phase, site);
        let flow = self.block(body)?;
        self.phase = outer;
        self.machine.leave_phase(site, waits, group).map_err(Box::new)?;
        Ok(flow)
    }

    fn asynchronous(&mut self, depth: ExprIndex, body: BlockIndex) -> Result<Flow, EarlyEnd> {
        let depth = self.integer(depth, "the depth")?;
        if !(1..=4096).contains(&depth) {
            return Err(self.fault(format!("`async` needs a depth of 1 to 4096, not {depth}")));
        }
        self.machine.enter_async(depth as u32);
        let flow = self.block(body);
        self.machine.leave_async();
        flow
    }

    fn expect(&mut self, errno: ExprIndex, body: BlockIndex) -> Result<Flow, EarlyEnd> {
        let errno = self.integer(errno, "the errno")?;
        // The Linux kernel's own limit of error numbers.
        let Some(errno) = i32::try_from(errno).ok().filter(|errno| (0..=4095).contains(errno)) else {
            return Err(self.fault(format!("`expect` needs an errno from 0 to 4095, not {errno}")));
        };
        let outer = self.expected.replace(errno);
        self.machine.judge_by(self.expected, self.stop_on_error);
        let flow = self.block(body);
        self.expected = outer;
        self.machine.judge_by(self.expected, self.stop_on_error);
        flow
    }

    /// Judges an assertion, or records one about samples.
    pub(super) fn assert(&mut self, condition: ExprIndex, each: bool) -> Result<(), EarlyEnd> {
        if !self.asserted.contains(&self.step) {
            self.asserted.push(self.step);
        }
        if claim::is_claim(self.code, condition) {
            self.claim(condition, each);
        } else if !self.value(condition)?.truth() {
            let place = self.plan.place(self.step);
            let claim = self.spelled(condition);
            self.machine.not_held(&claim, &place);
        }
        Ok(())
    }

    /// The text of a condition.
    pub(super) fn spelled(&self, condition: ExprIndex) -> String {
        spell(self.code, condition, false, &|_| "the variable".into())
    }

    /// Records an assertion about samples, with the values of its parts that can be evaluated now.
    fn claim(&mut self, condition: ExprIndex, each: bool) {
        let mut parts = Vec::new();
        for at in claim::parts_of(self.code, condition) {
            let part = match self.value(at) {
                Ok(value) => Part::from(&value),
                // Its value may not be needed: `count("x") == 0 || …`.
                Err(end) => Part::Fault(match *end {
                    Halt::Fault(fault) => fault.message,
                    other => other.to_string(),
                }),
            };
            parts.push((at, part));
        }
        let claim = Claim { condition, step: self.step, group: self.group as u32, parts };
        self.machine.claimed(claim, each);
    }

    fn enter_block(&mut self, site: SiteId, label: ExprIndex) -> Result<(), EarlyEnd> {
        if let Expr::Text(at) = self.code.exprs[label as usize] {
            self.machine.enter_block(site, self.code.text(at));
            return Ok(());
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        self.render_value(label, &mut text)?;
        self.machine.enter_block(site, &String::from_utf8_lossy(&text));
        self.text = text;
        Ok(())
    }

    fn choose(&mut self, weights: ExprIndex, count: u32) -> Result<u32, EarlyEnd> {
        let mut total = 0.0;
        let weight = |me: &mut Self, at: u32| -> Result<f64, EarlyEnd> {
            let value = me.value(weights + at)?;
            match value.float() {
                Some(weight) if weight >= 0.0 && weight.is_finite() => Ok(weight),
                _ => Err(me.fault(format!("a weight must be a number of 0 or more, not {value}"))),
            }
        };
        for at in 0..count {
            total += weight(self, at)?;
        }
        if total <= 0.0 {
            return Err(self.fault("the sum of the weights of `choose` is 0"));
        }
        let mut left = self.random.unit() * total;
        for at in 0..count {
            let own = weight(self, at)?;
            if left < own {
                return Ok(at);
            }
            left -= own;
        }
        Ok(count - 1)
    }

    fn parallel(&mut self, count: ExprIndex, body: BlockIndex) -> Result<Flow, EarlyEnd> {
        let count = self.integer(count, "the number of workers")?;
        if !(1..=1024).contains(&count) {
            return Err(self.fault(format!("`parallel` needs 1 to 1024 workers, not {count}")));
        }
        let workers = Workers {
            plan: self.plan,
            rank: self.rank,
            group: self.group,
            base: self.base,
            variables: self.variables.clone(),
            locals: self.locals.clone(),
            expected: self.expected,
            stop_on_error: self.stop_on_error,
            stonewall: self.stonewall,
            seed: self.random.bits(),
            body,
        };
        self.machine.parallel(count as u32, &workers).map_err(Box::new)?;
        if let Some(wall) = self.stonewall {
            // If the stonewall ended the workers' loops, it ended this rank's.
            self.stonewall_fell(wall);
        }
        Ok(Flow::Next)
    }
}

/// The workers of a `parallel` block: copies of the rank's state before the block, each with its own random
/// sequence.
struct Workers<'p> {
    plan: &'p Plan,
    rank: u32,
    group: usize,
    base: usize,
    variables: Vec<Value>,
    locals: Vec<Value>,
    expected: Option<i32>,
    stop_on_error: bool,
    stonewall: Option<OpenStonewall>,
    seed: u64,
    body: BlockIndex,
}

impl Work for Workers<'_> {
    fn run<M: Machine>(&self, index: u32, machine: &mut M) -> Result<(), Halt> {
        let random = RandomSequence::new(self.seed, u64::from(index));
        let mut worker = Interpreter::new(self.plan, self.rank, machine, self.variables.clone(), random);
        worker.locals = self.locals.clone();
        worker.base = self.base;
        worker.group = self.group;
        worker.worker = index;
        worker.expected = self.expected;
        worker.stop_on_error = self.stop_on_error;
        worker.stonewall = self.stonewall;
        worker.block(self.body).map(|_| ()).map_err(|stop| *stop)
    }
}
