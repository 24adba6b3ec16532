//! Analyses statements: assignments, control flow and meetings.

use crate::code::{BlockIndex, ExprIndex, GroupId, Slot, Step};
use crate::diagnostic::Span;

use super::analysis::{Analysis, KnownLoop, RESULT};
use super::domain::{Control, Divergence, Jumps, State, Taint, join_into};

/// The head of a loop.
#[derive(Clone, Copy)]
enum LoopHead {
    /// The number of rounds is evaluated before the first; `counter` is the counter's taint.
    Counted { rounds: Taint, place: Span, counter: (Slot, Taint) },
    /// The condition is evaluated before each round.
    While { condition: ExprIndex },
    /// `for 60s`, each rank by its own clock.
    Alone { place: Span },
    /// `for 60s`, with the ranks of the group agreeing on each round.
    Together { place: Span },
}

impl Analysis<'_> {
    /// Analyses the statements of a block; `None` if no rank reaches its end.
    pub fn block(
        &mut self,
        block: BlockIndex,
        mut state: State,
        control: Control,
        jumps: &mut Jumps,
    ) -> Option<State> {
        let (first, count) = self.code.blocks[block as usize];
        let mut here = control;
        for at in first..first + count {
            if !self.count() {
                return None;
            }
            let mut inner = Jumps::default();
            let next = self.step(at, state, here, &mut inner);
            here = inner.behind(here);
            jumps.join(inner);
            state = next?;
        }
        Some(state)
    }

    /// The first `length` bytes of a step's statement.
    fn word(&self, at: u32, length: u32) -> Span {
        let start = self.code.origins.get(at as usize).copied().unwrap_or(0);
        Span::new(start, start + length)
    }

    /// The span of an expression, or the beginning of its statement.
    fn place(&self, at: u32, expr: ExprIndex) -> Span {
        self.code.places.of_expression(expr).unwrap_or_else(|| self.word(at, 1))
    }

    fn step(&mut self, at: u32, mut state: State, here: Control, jumps: &mut Jumps) -> Option<State> {
        match self.code.steps[at as usize] {
            Step::Assign(slot, value) => {
                let taint = self.value(value, &mut state, here)?;
                state.set(slot, here.assigned(taint));
            }
            Step::AssignItem { list, first } => {
                let taint = self.value(first, &mut state, here)?;
                let taint = taint.join(self.value(first + 1, &mut state, here)?);
                state.set(list, state.get(list).join(here.assigned(taint)));
            }
            Step::Command { command, count, first, site } => {
                self.command(command, (first, u32::from(count)), site, &mut state, here)?;
            }
            Step::Repeat { .. }
            | Step::ForRange { .. }
            | Step::ForEach { .. }
            | Step::ForTime { .. }
            | Step::While { .. } => return self.loop_step(at, state, here, jumps),
            Step::If { condition, then } => {
                let taint = self.value(condition, &mut state, here)?;
                let inside = here.under(taint, self.place(at, condition));
                let mut end = self.block(then, state.clone(), inside, jumps);
                join_into(&mut end, self.block(then + 1, state, inside, jumps));
                return end;
            }
            Step::Choose { weights, count, bodies } => {
                for weight in weights..weights + count {
                    self.value(weight, &mut state, here)?;
                }
                let inside = here.under(Taint::RESULT, self.word(at, 6));
                let mut end = None;
                for body in bodies..bodies + count {
                    join_into(&mut end, self.block(body, state.clone(), inside, jumps));
                }
                return end;
            }
            Step::Master(body) => {
                let diverged = here.diverged.or(Some(Divergence::Master(self.word(at, 6))));
                let mut end = Some(state.clone());
                join_into(&mut end, self.block(body, state, Control { diverged, ..here }, jumps));
                return end;
            }
            Step::Group { group, body } => return self.group(at, (group, body), state, here, jumps),
            Step::Barrier { site, group } => {
                let span = self.site_span(site);
                let what = match self.plan.groups.get(group.index()) {
                    Some(known) if group != GroupId::WORLD => format!("this barrier of \"{}\"", known.name),
                    _ => "this barrier".to_owned(),
                };
                self.meet(span, &what, Some(group), (here, false));
            }
            Step::Phase { site, label, body } => {
                self.value(label, &mut state, here)?;
                self.meet(self.site_span(site), "a phase", here.group, (here, false));
                let end = self.block(body, state, here, jumps);
                // Ranks that leave the block with a jump also reach the closing barrier.
                self.meet(self.site_span(site), "a phase", here.group, (here, false));
                return end;
            }
            Step::Stonewall { limit, body } => {
                if limit != crate::code::NO_LIMIT {
                    self.value(limit, &mut state, here)?;
                }
                let stonewall = Some(here.stonewall.unwrap_or_else(|| self.word(at, 5)));
                return self.block(body, state, Control { stonewall, ..here }, jumps);
            }
            Step::Parallel { count, body } => {
                self.value(count, &mut state, here)?;
                // Workers have their own variables, and their jumps stay inside the block.
                let workers = Some(self.place(at, count));
                let inside = Control { workers, ..here };
                self.block(body, state.clone(), inside, &mut Jumps::default());
            }
            Step::Break | Step::Continue | Step::Return(_) => return self.jump(at, state, here, jumps),
            // All ranks evaluate its expressions, then execute its blocks once, in order.
            step => {
                for expr in step.expressions() {
                    self.value(expr, &mut state, here)?;
                }
                for body in step.bodies() {
                    state = self.block(body, state, here, jumps)?;
                }
            }
        }
        Some(state)
    }

    fn jump(&mut self, at: u32, mut state: State, here: Control, jumps: &mut Jumps) -> Option<State> {
        let place = match self.code.steps[at as usize] {
            Step::Break => &mut jumps.breaks,
            Step::Return(value) => {
                let taint = self.value(value, &mut state, here)?;
                state.set(RESULT, here.assigned(taint));
                &mut jumps.returns
            }
            _ => &mut jumps.continues,
        };
        Jumps::add(place, state, here);
        None
    }

    /// Inside, only the ranks of the group assign, so their state needs no join with that of other ranks.
    fn group(
        &mut self,
        at: u32,
        (group, body): (GroupId, BlockIndex),
        state: State,
        here: Control,
        jumps: &mut Jumps,
    ) -> Option<State> {
        if self.known && self.plan.groups.get(group.index()).is_some_and(|known| known.ranks.is_empty()) {
            return Some(state);
        }
        let inside = Control {
            only: here.only.with(group),
            group: Some(group),
            group_place: self.word(at, 5),
            ..here
        };
        let end = self.block(body, state.clone(), inside, jumps);
        end.or_else(|| (group != GroupId::WORLD).then_some(state))
    }

    fn loop_step(&mut self, at: u32, mut state: State, here: Control, jumps: &mut Jumps) -> Option<State> {
        let (head, body) = match self.code.steps[at as usize] {
            Step::Repeat { slot, count, body } => {
                let rounds = self.value(count, &mut state, here)?;
                let counter = (slot, Taint::default());
                (LoopHead::Counted { rounds, place: self.place(at, count), counter }, body)
            }
            Step::ForRange { slot, first, body } => {
                let from = self.value(first, &mut state, here)?;
                let to = self.value(first + 1, &mut state, here)?;
                let by = self.value(first + 2, &mut state, here)?;
                let differing = [from, to, by].iter().position(|taint| taint.differs).unwrap_or(1) as u32;
                let place = self.place(at, first + differing);
                let counter = (slot, from.join(by));
                (LoopHead::Counted { rounds: from.join(to).join(by), place, counter }, body)
            }
            Step::ForEach { slot, list, body } => {
                let rounds = self.value(list, &mut state, here)?;
                (LoopHead::Counted { rounds, place: self.place(at, list), counter: (slot, rounds) }, body)
            }
            Step::ForTime { duration, body, together } => {
                self.value(duration, &mut state, here)?;
                let place = self.place(at, duration);
                (if together { LoopHead::Together { place } } else { LoopHead::Alone { place } }, body)
            }
            Step::While { condition, body } => (LoopHead::While { condition }, body),
            _ => return Some(state),
        };
        self.rounds(at, (head, body), state, here, jumps)
    }

    /// The control of the body, given that of the head.
    fn enter_body(
        &mut self,
        at: u32,
        (head, body): (LoopHead, BlockIndex),
        state: &mut State,
        control: Control,
    ) -> Option<Control> {
        // In a stonewall each rank may leave its loops after any round.
        let control = match control.stonewall {
            Some(place) => Control {
                diverged: control.diverged.or(Some(Divergence::Stonewall(place))),
                open: true,
                ..control
            },
            None => control,
        };
        Some(match head {
            LoopHead::Counted { rounds, place, counter: (slot, taint) } => {
                if slot != Slot::NONE {
                    state.set(slot, taint);
                }
                control.under(rounds, place)
            }
            LoopHead::While { condition } => {
                let taint = self.value(condition, state, control)?;
                control.under(taint, self.place(at, condition))
            }
            LoopHead::Alone { place } => control.under(Taint::RESULT, place),
            LoopHead::Together { place } => {
                let what = "this loop over time, in which ranks meet,";
                self.meet(place, what, control.group, (control, false));
                // Only a run shows how many rounds there were before.
                for slot in self.assigned_in(body) {
                    state.set(slot, Taint { open: true, ..state.get(slot) });
                }
                control
            }
        })
    }

    /// The variables that a block may assign, including in the functions that it calls.
    fn assigned_in(&self, block: BlockIndex) -> Vec<Slot> {
        let code = self.code;
        let assigned = |at: usize| match code.steps[at] {
            Step::Assign(slot, _) | Step::AssignItem { list: slot, .. } => Some(slot),
            _ => None,
        };
        if !code.procedures.is_empty() {
            return (0..code.steps.len()).filter_map(assigned).collect();
        }
        let (mut slots, mut open) = (Vec::new(), vec![block]);
        while let Some(block) = open.pop() {
            let (first, count) = code.blocks[block as usize];
            for at in first..first + count {
                slots.extend(assigned(at as usize));
                open.extend(code.steps[at as usize].bodies());
            }
        }
        slots
    }

    /// Analyses the rounds of a loop to a fixed point. The result is kept as the start of the next analysis,
    /// which can only grow.
    fn rounds(
        &mut self,
        at: u32,
        (head, body): (LoopHead, BlockIndex),
        state: State,
        here: Control,
        jumps: &mut Jumps,
    ) -> Option<State> {
        let (slot, counted) = match head {
            LoopHead::Counted { rounds, counter: (slot, taint), .. } => (slot, [rounds, taint]),
            LoopHead::While { .. } | LoopHead::Alone { .. } | LoopHead::Together { .. } => {
                (Slot::NONE, [Taint::default(); 2])
            }
        };
        let before = state.get(slot);
        let pass = self.pass;
        let mut known = self.known_loop(at).unwrap_or_else(|| KnownLoop {
            pass: 0,
            counted,
            here,
            head: State::default(),
            left: here,
            exit: None,
            jumps: Jumps::default(),
        });
        let control = known.here.join(here);
        let both = [0, 1].map(|at| known.counted[at].join(counted[at]));
        let same = known.head == state || !known.head.join(&state);
        if same && control == known.here && both == known.counted && known.pass == pass {
            return self.leave_loop(at, known, (slot, before), jumps);
        }
        (known.here, known.counted, known.pass) = (control, both, pass);
        let head = match head {
            LoopHead::Counted { place, .. } => {
                LoopHead::Counted { rounds: both[0], place, counter: (slot, both[1]) }
            }
            LoopHead::While { .. } | LoopHead::Alone { .. } | LoopHead::Together { .. } => head,
        };
        loop {
            let control = known.here.behind(known.left);
            let mut inside = known.head.clone();
            let Some(round) = self.enter_body(at, (head, body), &mut inside, control) else { break };
            let mut inner = Jumps::default();
            let end = self.block(body, inside.clone(), round, &mut inner);
            let mut changed = end.is_some_and(|end| known.head.join(&end));
            if let Some(jump) = &inner.continues {
                changed |= known.head.join(&jump.state);
            }
            // Ranks that leave also miss what comes before the jump in the next round.
            let gone = [&inner.breaks, &inner.returns];
            let left = gone.into_iter().flatten().fold(known.left, |left, jump| left.behind(jump.control));
            changed |= left != known.left;
            known.left = left;
            // The last round ends at the head or with a jump.
            let mut exit = Some(inside);
            join_into(&mut exit, inner.breaks.map(|jump| jump.state));
            known.exit = exit;
            known.jumps = Jumps { returns: inner.returns, ..Jumps::default() };
            if !changed || self.given_up {
                break;
            }
        }
        self.leave_loop(at, known, (slot, before), jumps)
    }

    /// After a loop its counter has its earlier value again.
    fn leave_loop(
        &mut self,
        at: u32,
        known: KnownLoop,
        (slot, before): (Slot, Taint),
        jumps: &mut Jumps,
    ) -> Option<State> {
        let mut exit = known.exit.clone();
        if let Some(state) = exit.as_mut().filter(|_| slot != Slot::NONE) {
            state.set(slot, before);
        }
        jumps.join(known.jumps.clone());
        self.keep_loop(at, known);
        exit
    }
}
