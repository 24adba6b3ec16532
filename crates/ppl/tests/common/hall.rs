//! Runs all ranks of a plan concurrently, each in a thread, and detects ranks that wait forever.
#![allow(dead_code)]

use std::sync::{Condvar, Mutex};

use ppl::Value;
use ppl::commands::{Command, Yields};
use ppl::interpret::random::RandomSequence;
use ppl::interpret::{Arguments, Halt, Machine, Reply, Wait, Work, run};
use ppl::plan::{GroupId, Plan, SiteId};

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All ranks reached the end.
    AllMeet,
    /// All ranks reached the end, but at some meeting they were at different places.
    Mixed,
    /// Some ranks wait for others that never arrive.
    Stuck,
    /// A rank stopped with an error, or it took too long.
    Stopped,
}

#[derive(Clone, Copy, PartialEq)]
enum At {
    Work,
    Wait(GroupId, SiteId, u64),
    /// The meeting took place; the maximum of the values.
    Met(u64),
    End,
}

struct Whereabouts {
    ranks: Vec<At>,
    mixed: bool,
    over: Option<End>,
}

struct Hall<'p> {
    plan: &'p Plan,
    state: Mutex<Whereabouts>,
    news: Condvar,
}

impl Hall<'_> {
    /// Completes meetings at which all ranks have arrived; detects a deadlock.
    fn settle(&self, state: &mut Whereabouts) {
        let waits = |at: At| match at {
            At::Wait(group, site, value) => Some((group, site, value)),
            _ => None,
        };
        for (number, group) in self.plan.groups.iter().enumerate() {
            let here: Vec<_> = group.ranks.iter().map(|rank| waits(state.ranks[*rank as usize])).collect();
            let complete =
                |there: &Option<(GroupId, SiteId, u64)>| there.is_some_and(|it| it.0.index() == number);
            if here.is_empty() || !here.iter().all(complete) {
                continue;
            }
            let largest = here.iter().flatten().map(|it| it.2).max().unwrap_or(0);
            state.mixed |= here.iter().flatten().any(|it| it.1 != here[0].unwrap().1);
            for rank in &group.ranks {
                state.ranks[*rank as usize] = At::Met(largest);
            }
        }
        let idle = |at: &At| matches!(at, At::Wait(..) | At::End);
        if state.ranks.iter().all(idle) && state.ranks.iter().any(|at| *at != At::End) && state.over.is_none()
        {
            state.over = Some(End::Stuck);
        }
        self.news.notify_all();
    }

    fn meet(&self, rank: u32, group: GroupId, site: SiteId, value: u64) -> Result<u64, Halt> {
        let mut state = self.state.lock().unwrap();
        state.ranks[rank as usize] = At::Wait(group, site, value);
        self.settle(&mut state);
        loop {
            if state.over.is_some() {
                return Err(Halt::Machine("over".into()));
            }
            if let At::Met(value) = state.ranks[rank as usize] {
                state.ranks[rank as usize] = At::Work;
                return Ok(value);
            }
            state = self.news.wait(state).unwrap();
        }
    }

    fn end(&self, rank: u32, result: Result<(), Halt>) {
        let mut state = self.state.lock().unwrap();
        if result.is_err() && state.over.is_none() {
            state.over = Some(End::Stopped);
        }
        state.ranks[rank as usize] = At::End;
        self.settle(&mut state);
    }
}

/// A rank whose commands return random values.
struct Visitor<'h, 'p> {
    hall: &'h Hall<'p>,
    rank: u32,
    chance: RandomSequence,
    opened: Vec<GroupId>,
    now: u64,
    polls: u32,
    workers: bool,
}

impl Visitor<'_, '_> {
    fn group_of(&self, command: Command, site: SiteId, arguments: &Arguments) -> Option<GroupId> {
        let plan = self.hall.plan;
        match command {
            Command::Pfread | Command::Pfwrite => {
                let pattern = &plan.patterns[arguments.int(1)? as usize];
                let opened = self.opened.get(arguments.file(0)? as usize).copied();
                opened.filter(|_| pattern.is_collective())
            }
            Command::Pfclose => self.opened.get(arguments.file(0)? as usize).copied(),
            Command::Pread | Command::Pwrite | Command::Pfopen => Some(GroupId(arguments.int(2)? as u32)),
            _ => Some(plan.site(site).group),
        }
    }
}

impl Machine for Visitor<'_, '_> {
    fn command(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        let mut reply = match command.spec().yields {
            Yields::File => Reply::value(Value::File(self.opened.len() as u32)),
            _ => Reply::value(Value::Int(self.chance.below(3) as i64)),
        };
        if command.is_collective()
            && let Some(group) = self.group_of(command, site, arguments)
        {
            let member = self.hall.plan.groups[group.index()].place(self.rank).is_some();
            if !member || self.workers || self.hall.meet(self.rank, group, site, 0).is_err() {
                self.polls = 0;
            }
            if command == Command::Pfopen {
                self.opened.push(group);
            }
        } else if command.spec().yields == Yields::File {
            reply = Reply::value(Value::File(u32::MAX));
        }
        reply
    }

    fn barrier(&mut self, site: SiteId, group: GroupId) -> Result<(), Halt> {
        if self.workers {
            return Err(Halt::Machine("a worker".into()));
        }
        self.hall.meet(self.rank, group, site, 0).map(|_| ())
    }

    fn agree(&mut self, _step: u32, group: GroupId, value: u64) -> Result<u64, Halt> {
        if self.workers {
            return Err(Halt::Machine("a worker".into()));
        }
        self.hall.meet(self.rank, group, SiteId(u32::MAX), value)
    }

    fn largest(&mut self, _step: u32, site: SiteId, group: GroupId, value: u64) -> Result<u64, Halt> {
        if self.workers {
            return Err(Halt::Machine("a worker".into()));
        }
        self.hall.meet(self.rank, group, site, value)
    }

    fn wait_until(&mut self, _: u64, _: Wait) {}

    fn now_ns(&mut self) -> u64 {
        self.now += self.chance.below(100_000);
        self.now
    }

    fn interrupted(&mut self) -> Option<Halt> {
        self.now += 300_000;
        match self.polls.checked_sub(1) {
            Some(left) => self.polls = left,
            None => return Some(Halt::Machine("too long".into())),
        }
        None
    }

    fn stonewall_fell(&mut self) -> bool {
        self.chance.below(4) == 0
    }

    fn parallel<W: Work>(&mut self, count: u32, work: &W) -> Result<(), Halt> {
        let outer = std::mem::replace(&mut self.workers, true);
        let done = (0..count).try_for_each(|index| work.run(index, self));
        self.workers = outer;
        done
    }
}

/// Runs all ranks; `chance` seeds the values of commands.
pub fn gather(plan: &Plan, chance: u64) -> End {
    let ranks = vec![At::Work; plan.ranks as usize];
    let state = Mutex::new(Whereabouts { ranks, mixed: false, over: None });
    let hall = Hall { plan, state, news: Condvar::new() };
    std::thread::scope(|scope| {
        for rank in 0..plan.ranks {
            let hall = &hall;
            scope.spawn(move || {
                let chance = RandomSequence::new(chance, u64::from(rank));
                let mut visitor =
                    Visitor { hall, rank, chance, opened: Vec::new(), now: 0, polls: 400, workers: false };
                let result = run(plan, rank, &mut visitor);
                hall.end(rank, result);
            });
        }
    });
    let state = hall.state.into_inner().unwrap();
    state.over.unwrap_or(if state.mixed { End::Mixed } else { End::AllMeet })
}
