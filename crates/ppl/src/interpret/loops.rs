//! Executes loops and starts paced statements on time.

use crate::code::{BlockIndex, ExprIndex, GroupId, NO_LIMIT, SiteId, Slot, Step};
use crate::commands::Command;
use crate::value::Value;

use super::interpreter::{EarlyEnd, Flow, Interpreter, OpenStonewall, Pace};
use super::machine::{Machine, Wait};

/// What a round of a loop does, found before the first. One command, as in most loops of many rounds, needs no block
/// around it.
#[derive(Clone, Copy)]
pub(super) enum Round {
    Command { step: u32, command: Command, arguments: (ExprIndex, usize), site: SiteId },
    Block(BlockIndex),
}

/// Operations a second that `rate` can ask for.
const MOST_PER_SECOND: f64 = 1e9;

impl<M: Machine> Interpreter<'_, M> {
    /// Executes the body of a phase whose loops end when one rank has completed it, or when the time has
    /// passed.
    pub(super) fn stonewall(&mut self, limit: ExprIndex, body: BlockIndex) -> Result<Flow, EarlyEnd> {
        if self.stonewall.is_some() {
            return Err(self.fault("a stonewall is inside another one, through a function call"));
        }
        let limit = if limit == NO_LIMIT { u64::MAX } else { self.time(limit, "`stonewall`")? };
        self.machine.enter_stonewall(self.phase, GroupId(self.group as u32)).map_err(Box::new)?;
        let deadline = if limit == u64::MAX { limit } else { self.machine.now_ns().saturating_add(limit) };
        self.stonewall = Some(OpenStonewall { deadline, cut: false });
        let flow = self.block(body)?;
        let cut = self.stonewall.take().is_some_and(|wall| wall.cut);
        self.machine.leave_stonewall(cut).map_err(Box::new)?;
        Ok(flow)
    }

    /// Whether the loop ends here because the enclosing stonewall has fallen.
    #[inline(never)]
    pub(super) fn stonewall_fell(&mut self, wall: OpenStonewall) -> bool {
        let over = wall.deadline != u64::MAX && self.machine.now_ns() >= wall.deadline;
        let fell = over || self.machine.stonewall_fell();
        if fell {
            self.stonewall = Some(OpenStonewall { cut: true, ..wall });
        }
        fell
    }

    /// Executes `for 60s S` by each rank's own clock, or `together`: the first rank whose time has passed
    /// ends the loop for the whole group.
    pub(super) fn for_time(
        &mut self,
        duration: ExprIndex,
        body: BlockIndex,
        together: bool,
    ) -> Result<Flow, EarlyEnd> {
        let duration = self.time(duration, "`for`")?;
        let group = GroupId(self.group as u32);
        if together {
            // The time begins when all have arrived.
            self.machine.agree(self.step, group, 0).map_err(Box::new)?;
        }
        let end = self.machine.now_ns().saturating_add(duration);
        // Ranks that end together must all come to where they agree on it.
        let ends_at = if together { u64::MAX } else { self.ends_at.min(end) };
        let outer_end = std::mem::replace(&mut self.ends_at, ends_at);
        let outer = self.activate();
        let step = self.step;
        let round = self.round(body);
        let mut flow = Flow::Next;
        loop {
            let mut over = self.machine.now_ns() >= end;
            if together {
                over = self.machine.agree(step, group, u64::from(over)).map_err(Box::new)? != 0;
            }
            if over {
                break;
            }
            if let Some(ended) = self.iterate(round)? {
                // Of an outer loop the time may be over before that of this one.
                flow = if ended == Flow::Over && ends_at == end { Flow::Next } else { ended };
                break;
            }
            self.step = step;
        }
        self.activation = outer;
        self.ends_at = outer_end;
        Ok(flow)
    }

    /// Lets time pass until `due`, or until the time of the enclosing loop is over, if that is first or the same.
    pub(super) fn is_over_before(&mut self, due: u64) -> bool {
        let over = due >= self.ends_at;
        if over {
            self.machine.wait_until(self.ends_at, Wait::Pace);
        }
        over
    }

    /// Executes `for $i in a..b step c S`; the three numbers are consecutive expressions.
    pub(super) fn for_range(
        &mut self,
        slot: Slot,
        first: ExprIndex,
        body: BlockIndex,
    ) -> Result<Flow, EarlyEnd> {
        let from = self.integer(first, "the beginning of the range")?;
        let to = self.integer(first + 1, "the end of the range")?;
        let by = self.integer(first + 2, "the step")?;
        if by == 0 {
            return Err(self.fault("the step of a range must not be 0"));
        }
        self.count_up(slot, from, to, by, body)
    }

    pub(super) fn while_loop(&mut self, condition: ExprIndex, body: BlockIndex) -> Result<Flow, EarlyEnd> {
        let outer = self.activate();
        let step = self.step;
        let round = self.round(body);
        let mut flow = Flow::Next;
        while self.value(condition)?.truth() {
            if let Some(ended) = self.iterate(round)? {
                flow = ended;
                break;
            }
            self.step = step;
        }
        self.activation = outer;
        Ok(flow)
    }

    /// Begins a new activation of a loop, in which paces restart. Returns the activation to restore
    /// afterwards.
    pub(super) fn activate(&mut self) -> u64 {
        self.activations += 1;
        std::mem::replace(&mut self.activation, self.activations)
    }

    /// Executes one iteration of a loop; `Some` if the loop ends.
    #[inline(always)]
    pub(super) fn iterate(&mut self, body: Round) -> Result<Option<Flow>, EarlyEnd> {
        if let Some(stop) = self.machine.interrupted() {
            return Err(Box::new(stop));
        }
        if let Some(wall) = self.stonewall
            && self.stonewall_fell(wall)
        {
            return Ok(Some(Flow::Next));
        }
        match body {
            Round::Command { step, command, arguments: (first, count), site } => {
                self.step = step;
                self.statement(command, first, count, site)?;
                Ok(None)
            }
            Round::Block(body) => Ok(match self.block(body)? {
                Flow::Next | Flow::Continue => None,
                Flow::Break => Some(Flow::Next),
                Flow::Return => Some(Flow::Return),
                Flow::Over => Some(Flow::Over),
            }),
        }
    }

    /// What each round of a loop with this body does.
    fn round(&self, body: BlockIndex) -> Round {
        let (step, count) = self.code.blocks[body as usize];
        match self.code.steps.get(step as usize) {
            Some(&Step::Command { command, count: arguments, first, site }) if count == 1 => {
                Round::Command { step, command, arguments: (first, usize::from(arguments)), site }
            }
            _ => Round::Block(body),
        }
    }

    pub(super) fn repeat(
        &mut self,
        slot: Slot,
        count: ExprIndex,
        body: BlockIndex,
    ) -> Result<Flow, EarlyEnd> {
        let count = match self.quick_integer(count) {
            Some(count) => count,
            None => {
                let value = self.value(count)?;
                let Some(count) = value.integer().filter(|_| !matches!(value, Value::Duration(_))) else {
                    return Err(self.fault(format!("`repeat` needs a number, not {}", value.kind())));
                };
                count
            }
        };
        match count {
            ..0 => return Err(self.fault(format!("`repeat` cannot run {count} times"))),
            // Parts that a program has or lacks are loops of one iteration or none.
            0 => return Ok(Flow::Next),
            _ => {}
        }
        self.count_up(slot, 0, count, 1, body)
    }

    /// Counts `slot` from `from` to `to` in steps of `step`, then restores its old value.
    pub(super) fn count_up(
        &mut self,
        slot: Slot,
        from: i64,
        to: i64,
        by: i64,
        body: BlockIndex,
    ) -> Result<Flow, EarlyEnd> {
        let iterations = if (by > 0 && from >= to) || (by < 0 && from <= to) {
            0
        } else {
            to.abs_diff(from).div_ceil(by.unsigned_abs())
        };
        let some = self.machine.enter_loop(iterations, self.code.uniform[body as usize]);
        let outer = self.activate();
        let saved = if slot == Slot::NONE { Value::Unset } else { std::mem::take(self.slot_mut(slot)) };
        let step = self.step;
        let round = self.round(body);
        let mut flow = Flow::Next;
        let mut counter = from;
        for at in 0..some.unwrap_or(iterations).min(iterations) {
            if some.is_some() && at > 0 {
                self.machine.next_round();
            }
            if slot != Slot::NONE {
                self.set_integer(slot, counter);
            }
            if let Some(end) = self.iterate(round)? {
                flow = end;
                break;
            }
            counter = counter.wrapping_add(by);
        }
        self.step = step;
        if slot != Slot::NONE {
            *self.slot_mut(slot) = saved;
        }
        self.activation = outer;
        if some.is_some() {
            self.machine.leave_loop();
        }
        Ok(flow)
    }

    pub(super) fn for_each(
        &mut self,
        slot: Slot,
        list: ExprIndex,
        body: BlockIndex,
    ) -> Result<Flow, EarlyEnd> {
        let value = self.value(list)?;
        let Value::List(items) = value else {
            return Err(self.fault(format!("`for` needs a list or a range, not {}", value.kind())));
        };
        let outer = self.activate();
        let saved = std::mem::take(self.slot_mut(slot));
        let round = self.round(body);
        let mut flow = Flow::Next;
        for item in items.iter() {
            *self.slot_mut(slot) = item.clone();
            if let Some(end) = self.iterate(round)? {
                flow = end;
                break;
            }
        }
        *self.slot_mut(slot) = saved;
        self.activation = outer;
        Ok(flow)
    }

    pub(super) fn paced(
        &mut self,
        rate: ExprIndex,
        state: u32,
        body: BlockIndex,
        poisson: bool,
    ) -> Result<Flow, EarlyEnd> {
        let value = self.value(rate)?;
        let per_second = match value.float() {
            // Moments are whole nanoseconds: of more nobody could say whether they came in time.
            Some(rate) if rate > MOST_PER_SECOND && !matches!(value, Value::Duration(_)) => {
                return Err(
                    self.fault(format!("a rate is at most 1e9/s, one operation a nanosecond, not {value}"))
                );
            }
            Some(rate) if rate > 0.0 && !matches!(value, Value::Duration(_)) => rate,
            _ => return Err(self.fault(format!("a rate must be a number above 0, not {value}"))),
        };
        let mut gap = 1e9 / per_second;
        if poisson {
            gap = self.random.exponential(gap);
        }
        let mut pace = self.paces[state as usize];
        if pace.activation != self.activation {
            let now = self.machine.now_ns() as f64;
            pace = Pace { activation: self.activation, due: if poisson { now + gap } else { now } };
        } else {
            // Relative to the intended time, not to the current time: a late rank stays late until it has
            // caught up.
            pace.due += gap;
        }
        self.paces[state as usize] = pace;
        if self.is_over_before(pace.due as u64) {
            return Ok(Flow::Over);
        }
        self.start_at(pace.due as u64, body)
    }

    pub(super) fn start_at(&mut self, due: u64, body: BlockIndex) -> Result<Flow, EarlyEnd> {
        self.machine.wait_until(due, Wait::Pace);
        self.machine.intended_start(Some(due));
        let flow = self.block(body);
        self.machine.intended_start(None);
        flow
    }
}
