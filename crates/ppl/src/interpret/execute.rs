//! How are the steps of a plan carried out?

use crate::commands::{Command, Kind};
use crate::errno::EBADF;
use crate::plan::{BlockIndex, Code, Expr, ExprIndex, Plan, SiteId, Slot, Step};
use crate::value::{MAX_LIST_DEPTH, Value};

use super::arguments::{Argument, Arguments};
use super::machine::{Failure, Fault, Machine, Reply, Stop, Wait, Work};
use super::random::Random;

/// What an end before the end costs: one pointer.
pub(super) type Broken = Box<Stop>;

/// EINVAL: a negative size or offset.
const EINVAL: i32 = 22;

/// Runs a plan as one of its ranks.
///
/// # Errors
/// Where the rank ended before the end of its program.
pub fn run<M: Machine>(plan: &Plan, rank: u32, machine: &mut M) -> Result<(), Stop> {
    let variables = plan.initial.clone();
    let random = Random::new(plan.seed, u64::from(rank) + 1);
    Interpreter::new(plan, rank, machine, variables, random)
        .block(plan.code.main)
        .map(|_| ())
        .map_err(|stop| *stop)
}

/// How a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return,
}

/// When the next body of a `rate` statement is due.
#[derive(Clone, Copy)]
struct Pace {
    /// In which run of the surrounding loop it counts; `u64::MAX` before the first.
    activation: u64,
    due: f64,
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
    member: Vec<bool>,
    pub arguments: Arguments,
    text: Vec<u8>,
    pub random: Random,
    pub common: Random,
    pub errno: i64,
    pub bytes: i64,
    pub worker: u32,
    pub step: u32,
    paces: Vec<Pace>,
    activation: u64,
    activations: u64,
    expected: Option<i32>,
    stop_on_error: bool,
}

impl<'p, M: Machine> Interpreter<'p, M> {
    fn new(plan: &'p Plan, rank: u32, machine: &'p mut M, variables: Vec<Value>, random: Random) -> Self {
        Self {
            plan,
            code: &plan.code,
            machine,
            rank,
            variables,
            locals: Vec::new(),
            base: 0,
            calls: 0,
            stack: super::evaluate::here(),
            returned: Value::Int(0),
            group: 0,
            member: plan.groups.iter().map(|group| group.place(rank).is_some()).collect(),
            arguments: Arguments::default(),
            text: Vec::new(),
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
        }
    }

    /// A mistake of the program at the current step.
    #[cold]
    pub fn fault(&self, message: impl Into<String>) -> Broken {
        Box::new(Stop::Fault(Box::new(Fault {
            position: self.plan.place(self.step),
            message: message.into(),
        })))
    }

    /// The steps of a block.
    pub fn block(&mut self, block: BlockIndex) -> Result<Flow, Broken> {
        let (first, count) = self.code.blocks[block as usize];
        for at in first..first + count {
            self.step = at;
            let flow = match self.code.steps[at as usize] {
                Step::Assign(slot, value) => {
                    if let Some(number) = self.quick(value) {
                        *self.slot_mut(slot) = Value::Int(number);
                        continue;
                    }
                    let value = match self.code.exprs[value as usize] {
                        Expr::Command(call) => self.command_value(self.code.calls[call as usize])?,
                        _ => self.value(value)?,
                    };
                    *self.slot_mut(slot) = value;
                    Flow::Next
                }
                Step::Command { command, count, first, site } => {
                    self.command::<false>(command, first, usize::from(count), site)?;
                    Flow::Next
                }
                Step::Repeat { slot, count, body } => self.repeat(slot, count, body)?,
                Step::Block(block) => self.block(block)?,
                step => self.rare(step)?,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// A new run of a loop: the paces inside start anew. What to restore afterwards.
    fn activate(&mut self) -> u64 {
        self.activations += 1;
        std::mem::replace(&mut self.activation, self.activations)
    }

    /// One iteration of a loop; `Some` where the loop ends.
    #[inline]
    fn iterate(&mut self, body: BlockIndex) -> Result<Option<Flow>, Broken> {
        if let Some(stop) = self.machine.interrupted() {
            return Err(Box::new(stop));
        }
        Ok(match self.block(body)? {
            Flow::Next | Flow::Continue => None,
            Flow::Break => Some(Flow::Next),
            Flow::Return => Some(Flow::Return),
        })
    }

    fn repeat(&mut self, slot: Slot, count: ExprIndex, body: BlockIndex) -> Result<Flow, Broken> {
        let value = self.value(count)?;
        let Some(count) = value.integer().filter(|_| !matches!(value, Value::Duration(_))) else {
            return Err(self.fault(format!("`repeat` needs a number, not {}", value.kind())));
        };
        if count < 0 {
            return Err(self.fault(format!("`repeat` cannot run {count} times")));
        }
        self.count_up(slot, 0, count, 1, body)
    }

    /// `slot` from `from` to `to` by `step`, then its old value again.
    fn count_up(
        &mut self,
        slot: Slot,
        from: i64,
        to: i64,
        by: i64,
        body: BlockIndex,
    ) -> Result<Flow, Broken> {
        let iterations = if (by > 0 && from >= to) || (by < 0 && from <= to) {
            0
        } else {
            (i128::from(to) - i128::from(from)).unsigned_abs().div_ceil(u128::from(by.unsigned_abs())) as u64
        };
        let some = self.machine.enter_loop(iterations, self.code.uniform[body as usize]);
        let outer = self.activate();
        let saved = if slot == Slot::NONE { Value::Unset } else { std::mem::take(self.slot_mut(slot)) };
        let step = self.step;
        let mut flow = Flow::Next;
        let mut counter = from;
        for _ in 0..some.unwrap_or(iterations).min(iterations) {
            if slot != Slot::NONE {
                *self.slot_mut(slot) = Value::Int(counter);
            }
            if let Some(end) = self.iterate(body)? {
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

    fn integer(&mut self, index: ExprIndex, what: &str) -> Result<i64, Broken> {
        let value = self.value(index)?;
        value.integer().ok_or_else(|| self.fault(format!("{what} must be a number, not {}", value.kind())))
    }

    /// `$l[i] = v;`: other variables that hold the same list keep theirs.
    fn assign_item(&mut self, list: Slot, first: ExprIndex) -> Result<(), Broken> {
        let at = self.integer(first, "the index")?;
        let value = match self.code.exprs[first as usize + 1] {
            Expr::Command(call) => self.command_value(self.code.calls[call as usize])?,
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

    /// A time in nanoseconds.
    fn time(&mut self, index: ExprIndex, what: &str) -> Result<u64, Broken> {
        let value = match self.value(index)? {
            Value::Text(text) => crate::syntax::literal::signed(&text).unwrap_or(Value::Text(text)),
            value => value,
        };
        match value {
            Value::Duration(ns) => Ok(ns.max(0) as u64),
            other => Err(self.fault(format!("{what} needs a time such as `5ms`, not {}", other.kind()))),
        }
    }

    fn rare(&mut self, step: Step) -> Result<Flow, Broken> {
        match step {
            Step::Nop | Step::Assign(..) | Step::Command { .. } | Step::Repeat { .. } | Step::Block(_) => {}
            Step::Evaluate(value) => {
                self.value(value)?;
            }
            Step::AssignItem { list, first } => self.assign_item(list, first)?,
            Step::ForRange { slot, first, body } => {
                let from = self.integer(first, "the beginning of the range")?;
                let to = self.integer(first + 1, "the end of the range")?;
                let by = self.integer(first + 2, "the step")?;
                if by == 0 {
                    return Err(self.fault("a range cannot go on by 0"));
                }
                return self.count_up(slot, from, to, by, body);
            }
            Step::ForEach { slot, list, body } => return self.for_each(slot, list, body),
            Step::ForTime { duration, body } => {
                let duration = self.time(duration, "`for`")?;
                let end = self.machine.now_ns().saturating_add(duration);
                let outer = self.activate();
                let mut flow = Flow::Next;
                while self.machine.now_ns() < end {
                    if let Some(ended) = self.iterate(body)? {
                        flow = ended;
                        break;
                    }
                }
                self.activation = outer;
                return Ok(flow);
            }
            Step::While { condition, body } => {
                let outer = self.activate();
                let step = self.step;
                let mut flow = Flow::Next;
                while self.value(condition)?.truth() {
                    if let Some(ended) = self.iterate(body)? {
                        flow = ended;
                        break;
                    }
                    self.step = step;
                }
                self.activation = outer;
                return Ok(flow);
            }
            Step::If { condition, then } => {
                let truth = match self.quick(condition) {
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
            Step::Phase { site, label, body } => {
                let group = crate::plan::GroupId(self.group as u32);
                // Waiting is a sample of its own, so that a phase has one sample an iteration.
                let waits = SiteId(site.0 + 1);
                self.machine.barrier(waits, group).map_err(Box::new)?;
                self.enter_block(site, label)?;
                let flow = self.block(body)?;
                self.machine.barrier(waits, group).map_err(Box::new)?;
                self.machine.leave_block(site);
                return Ok(flow);
            }
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
                let ns = self.time(time, "`think`")?;
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
            Step::Async { depth, body } => {
                let depth = self.integer(depth, "the depth")?;
                if !(1..=4096).contains(&depth) {
                    return Err(self.fault(format!("`async` needs a depth of 1 to 4096, not {depth}")));
                }
                self.machine.enter_async(depth as u32);
                let flow = self.block(body);
                self.machine.leave_async();
                return flow;
            }
            Step::Verify(body) => {
                self.machine.verify(true);
                let flow = self.block(body);
                self.machine.verify(false);
                return flow;
            }
            Step::Expect { errno, body } => {
                let errno = self.integer(errno, "the errno")? as i32;
                let outer = self.expected.replace(errno);
                self.machine.judge_by(self.expected, self.stop_on_error);
                let flow = self.block(body);
                self.expected = outer;
                self.machine.judge_by(self.expected, self.stop_on_error);
                return flow;
            }
            Step::Assert(condition) => {
                let holds = self.value(condition)?.truth();
                let place = self.plan.place(self.step);
                self.machine.asserted(holds, &place);
            }
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

    fn enter_block(&mut self, site: SiteId, label: ExprIndex) -> Result<(), Broken> {
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

    fn for_each(&mut self, slot: Slot, list: ExprIndex, body: BlockIndex) -> Result<Flow, Broken> {
        let value = self.value(list)?;
        let Value::List(items) = value else {
            return Err(self.fault(format!("`for` needs a list or a range, not {}", value.kind())));
        };
        let outer = self.activate();
        let saved = std::mem::take(self.slot_mut(slot));
        let mut flow = Flow::Next;
        for item in items.iter() {
            *self.slot_mut(slot) = item.clone();
            if let Some(end) = self.iterate(body)? {
                flow = end;
                break;
            }
        }
        *self.slot_mut(slot) = saved;
        self.activation = outer;
        Ok(flow)
    }

    fn paced(
        &mut self,
        rate: ExprIndex,
        state: u32,
        body: BlockIndex,
        poisson: bool,
    ) -> Result<Flow, Broken> {
        let value = self.value(rate)?;
        let per_second = match value.float() {
            Some(rate) if rate > 0.0 && rate.is_finite() && !matches!(value, Value::Duration(_)) => rate,
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
            // From the intended time, not from now: who is late stays late until he has caught up.
            pace.due += gap;
        }
        self.paces[state as usize] = pace;
        self.start_at(pace.due as u64, body)
    }

    fn start_at(&mut self, due: u64, body: BlockIndex) -> Result<Flow, Broken> {
        self.machine.wait_until(due, Wait::Pace);
        self.machine.intended_start(Some(due));
        let flow = self.block(body);
        self.machine.intended_start(None);
        flow
    }

    fn choose(&mut self, weights: ExprIndex, count: u32) -> Result<u32, Broken> {
        let mut total = 0.0;
        let weight = |me: &mut Self, at: u32| -> Result<f64, Broken> {
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
            return Err(self.fault("the weights of `choose` add up to nothing"));
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

    fn parallel(&mut self, count: ExprIndex, body: BlockIndex) -> Result<Flow, Broken> {
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
            seed: self.random.bits(),
            body,
        };
        self.machine.parallel(count as u32, &workers).map_err(Box::new)?;
        Ok(Flow::Next)
    }

    /// A command: its arguments are evaluated and its paths rendered, then the machine is called.
    /// With `VALUE` its value is wanted, otherwise it may be under way afterwards.
    pub fn command<const VALUE: bool>(
        &mut self,
        command: Command,
        first: ExprIndex,
        count: usize,
        site: SiteId,
    ) -> Result<Reply, Broken> {
        match command {
            Command::Print => return self.print(first, count),
            Command::Sleep => {
                let value = self.value(first)?;
                let ns = match value {
                    Value::Duration(ns) => ns,
                    _ => value
                        .integer()
                        .ok_or_else(|| self.fault(format!("`sleep` needs a time, not {}", value.kind())))?
                        .saturating_mul(1000),
                };
                self.machine.wait(ns.max(0) as u64, Wait::Sleep);
                return Ok(Reply::done());
            }
            Command::Glob => {
                let pattern = self.value(first)?.to_string();
                let names =
                    self.machine.glob(&pattern).into_iter().map(|name| Value::Text(name.into())).collect();
                return Ok(Reply::value(Value::List(std::sync::Arc::new(names))));
            }
            _ => {}
        }
        self.arguments.clear();
        let mut refused = 0;
        for index in 0..count {
            let kind = command.spec().arguments[index].kind;
            let argument = self.argument(command, kind, index, first + index as u32, &mut refused)?;
            self.arguments.put(argument);
        }
        let reply = if refused == 0 {
            if VALUE {
                self.machine.command_now(command, site, &self.arguments)
            } else {
                self.machine.command(command, site, &self.arguments)
            }
        } else {
            Reply::failed(refused)
        };
        self.errno = i64::from(reply.errno);
        self.bytes = reply.bytes as i64;
        if reply.errno != 0 || (self.expected.is_some() && !reply.started) {
            self.judge(command, site, &reply)?;
        }
        Ok(reply)
    }

    /// A command failed, or was expected to.
    #[cold]
    fn judge(&mut self, command: Command, site: SiteId, reply: &Reply) -> Result<(), Broken> {
        let failure =
            Failure { site, command, arguments: &self.arguments, errno: reply.errno, bytes: reply.bytes };
        match self.expected {
            Some(wanted) if wanted == reply.errno => self.machine.expected(&failure),
            Some(wanted) => self.machine.unexpected(&failure, wanted),
            None => self.machine.failed(&failure),
        }
        if self.stop_on_error && self.expected != Some(reply.errno) {
            return Err(Box::new(Stop::CommandFailed(site)));
        }
        Ok(())
    }

    #[inline]
    fn argument(
        &mut self,
        command: Command,
        kind: Kind,
        index: usize,
        expr: ExprIndex,
        refused: &mut i32,
    ) -> Result<Argument, Broken> {
        if kind.is_text() && !matches!(kind, Kind::Pattern | Kind::Group) {
            return self.text_argument(expr);
        }
        if let (Kind::Bytes | Kind::BytesOrBuffer | Kind::Integer, Some(number)) = (kind, self.quick(expr)) {
            if number < 0 && command != Command::Fseek {
                *refused = EINVAL;
            }
            return Ok(Argument::Int(number));
        }
        let value = self.value(expr)?;
        Ok(match (kind, value) {
            // A position may lie before the present one; nothing else is negative.
            (Kind::Bytes | Kind::BytesOrBuffer | Kind::Integer, Value::Int(value)) => {
                if value < 0 && command != Command::Fseek {
                    *refused = EINVAL;
                }
                Argument::Int(value)
            }
            (Kind::File, Value::File(file)) => Argument::File(file),
            (Kind::File, Value::Int(value)) => {
                *refused = EBADF;
                Argument::Int(value)
            }
            (Kind::Buffer | Kind::BytesOrBuffer, Value::Buffer(buffer)) => Argument::Buffer(buffer),
            (Kind::Buffer, Value::Int(value)) => {
                *refused = EBADF;
                Argument::Int(value)
            }
            (Kind::Group | Kind::Pattern, Value::Int(value)) => Argument::Int(value),
            (Kind::Pattern, Value::Text(name)) => {
                match self.plan.patterns.iter().position(|pattern| pattern.name == name.trim()) {
                    Some(at) => Argument::Int(at as i64),
                    None => return Err(self.fault(format!("unknown pattern \"{name}\""))),
                }
            }
            (
                Kind::Bytes | Kind::BytesOrBuffer | Kind::Integer,
                value @ (Value::Text(_) | Value::Float(_)),
            ) => match value.integer() {
                Some(number) => Argument::Int(number),
                None => return Err(self.wrong(command, index, &value)),
            },
            (_, value) => return Err(self.wrong(command, index, &value)),
        })
    }

    /// A text, rendered into the buffer of the arguments.
    fn text_argument(&mut self, expr: ExprIndex) -> Result<Argument, Broken> {
        let code = self.code;
        let start = self.arguments.text.len();
        match code.exprs[expr as usize] {
            Expr::Text(at) => self.arguments.text.extend_from_slice(code.text(at).as_bytes()),
            Expr::Template(at) => {
                // The buffer is lent out for the rendering: three words, nothing is copied.
                let mut text = std::mem::take(&mut self.arguments.text);
                let result = self.render(code.templates[at as usize], &mut text);
                self.arguments.text = text;
                result?;
            }
            _ => {
                let value = self.value(expr)?;
                value.render(&mut self.arguments.text);
            }
        }
        Ok(self.arguments.end_text(start))
    }

    #[cold]
    fn wrong(&self, command: Command, index: usize, value: &Value) -> Broken {
        let argument = &command.spec().arguments[index];
        self.fault(format!(
            "`{}` of `{}` must be {}, not {}",
            argument.name,
            command.name(),
            argument.kind.name(),
            value.kind()
        ))
    }

    fn print(&mut self, first: ExprIndex, count: usize) -> Result<Reply, Broken> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        for index in 0..count {
            if index > 0 {
                text.push(b' ');
            }
            self.render_value(first + index as u32, &mut text)?;
        }
        self.machine.print(&String::from_utf8_lossy(&text));
        self.text = text;
        Ok(Reply::done())
    }
}

/// The workers of a `parallel` block: copies of the rank as it was before, each with a random sequence of
/// its own.
struct Workers<'p> {
    plan: &'p Plan,
    rank: u32,
    group: usize,
    base: usize,
    variables: Vec<Value>,
    locals: Vec<Value>,
    expected: Option<i32>,
    stop_on_error: bool,
    seed: u64,
    body: BlockIndex,
}

impl Work for Workers<'_> {
    fn run<M: Machine>(&self, index: u32, machine: &mut M) -> Result<(), Stop> {
        let random = Random::new(self.seed, u64::from(index));
        let mut worker = Interpreter::new(self.plan, self.rank, machine, self.variables.clone(), random);
        worker.locals = self.locals.clone();
        worker.base = self.base;
        worker.group = self.group;
        worker.worker = index;
        worker.expected = self.expected;
        worker.stop_on_error = self.stop_on_error;
        worker.block(self.body).map(|_| ()).map_err(|stop| *stop)
    }
}
