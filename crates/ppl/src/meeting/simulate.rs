//! Simulates the control flow of all ranks and matches their meetings.
//!
//! Only for programs whose meetings do not depend on values of a run: for these the result is exact.

use std::collections::HashMap;

use crate::code::{GroupId, SiteId};
use crate::commands::{Command, Kind, Yields};
use crate::interpret::{Arguments, Halt, Machine, Reply, Wait, Work, run};
use crate::plan::Plan;
use crate::value::Value;

/// The largest total number of simulated steps of all ranks.
const MAX_STEPS: u64 = 2_000_000;
/// The largest product of statements and ranks.
const MAX_SIZE: u64 = 20_000_000;

/// In place of a site, for a loop over time, which has none.
pub(super) const NO_SITE: SiteId = SiteId(u32::MAX);

/// The result of the simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All ranks reach the end of the program.
    AllMeet,
    /// Unknown: it would take too long, a rank stops with an error, or ranks meet at different places.
    Unknown,
    /// A rank waits for one that never arrives.
    Stuck(StuckRank),
}

/// A rank that waits forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StuckRank {
    pub rank: u32,
    pub site: SiteId,
    /// The rank that never arrives, and where it waits itself, if it does.
    pub missing: u32,
    pub elsewhere: Option<SiteId>,
}

/// A rank's arrival at a meeting of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Arrival {
    group: GroupId,
    site: SiteId,
}

/// A machine that only records where its rank meets others.
struct MeetingRecorder<'p> {
    plan: &'p Plan,
    meetings: Vec<Arrival>,
    /// Steps left of the limit.
    left: &'p mut u64,
    opened: HashMap<u32, GroupId>,
    now: u64,
    /// For each loop of which only one round is simulated: the index of its first meeting, and its number of
    /// rounds.
    loops: Vec<(usize, u64)>,
    /// Whether it is inside `parallel`.
    workers: bool,
}

impl MeetingRecorder<'_> {
    fn spend(&mut self, steps: u64) -> Option<Halt> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                *self.left = left;
                None
            }
            None => {
                *self.left = 0;
                Some(Halt::Machine("the simulation is long enough".into()))
            }
        }
    }

    fn meet(&mut self, group: GroupId, site: SiteId) -> Result<(), Halt> {
        if self.workers {
            return Err(Halt::Machine("workers meet".into()));
        }
        self.meetings.push(Arrival { group, site });
        self.spend(1).map_or(Ok(()), Err)
    }

    /// The group whose ranks execute a collective command together; `None` if they need not meet.
    fn group_of(&self, command: Command, site: SiteId, arguments: &Arguments) -> Option<GroupId> {
        let spec = command.spec();
        let number = |kind| {
            let at = spec.position(kind)?;
            arguments.int(at).and_then(|number| u32::try_from(number).ok())
        };
        let pattern = || self.plan.patterns.get(number(Kind::Pattern)? as usize);
        if spec.by_pattern && !pattern().is_some_and(|pattern| pattern.is_collective()) {
            return None;
        }
        if spec.position(Kind::File).is_some() {
            return self.opened.get(&arguments.file(0)?).copied();
        }
        if spec.position(Kind::Group).is_some() {
            return number(Kind::Group).map(GroupId);
        }
        Some(self.plan.site(site).group)
    }
}

impl Machine for MeetingRecorder<'_> {
    fn command(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        if command.is_collective()
            && let Some(group) = self.group_of(command, site, arguments)
        {
            // If the limit is exceeded, the next loop or meeting ends the simulation.
            _ = self.meet(group, site);
            if command.spec().yields == Yields::File {
                self.opened.insert(self.opened.len() as u32, group);
                return Reply::value(Value::File(self.opened.len() as u32 - 1));
            }
        }
        match command.spec().yields {
            Yields::File => Reply::value(Value::File(u32::MAX)),
            Yields::Buffer => Reply::value(Value::Buffer(0)),
            Yields::Nothing | Yields::Bytes | Yields::Int | Yields::List => Reply::done(),
        }
    }

    fn barrier(&mut self, site: SiteId, group: GroupId) -> Result<(), Halt> {
        self.meet(group, site)
    }

    fn agree(&mut self, _step: u32, group: GroupId, value: u64) -> Result<u64, Halt> {
        self.meet(group, NO_SITE)?;
        Ok(value)
    }

    fn largest(&mut self, _step: u32, site: SiteId, group: GroupId, value: u64) -> Result<u64, Halt> {
        self.meet(group, site)?;
        Ok(value)
    }

    fn wait_until(&mut self, _: u64, _: Wait) {}

    fn now_ns(&mut self) -> u64 {
        self.now
    }

    /// Each round advances the clock by a month, so that a loop over time has one round.
    fn interrupted(&mut self) -> Option<Halt> {
        self.now = self.now.saturating_add(30 * 86_400 * 1_000_000_000);
        self.spend(1)
    }

    fn enter_loop(&mut self, count: u64, constant_body: bool) -> Option<u64> {
        if !constant_body || count <= 1 {
            return None;
        }
        self.loops.push((self.meetings.len(), count));
        Some(1)
    }

    fn leave_loop(&mut self) {
        let Some((start, count)) = self.loops.pop() else { return };
        let round = self.meetings[start..].to_vec();
        let steps = (round.len() as u64).saturating_mul(count - 1);
        if self.spend(steps).is_none() {
            for _ in 1..count {
                if round.is_empty() {
                    break;
                }
                self.meetings.extend_from_slice(&round);
            }
        }
    }

    fn parallel<W: Work>(&mut self, count: u32, work: &W) -> Result<(), Halt> {
        let outer = std::mem::replace(&mut self.workers, true);
        let done = (0..count).try_for_each(|index| work.run(index, self));
        self.workers = outer;
        done
    }
}

/// The meetings of each rank; `None` if they cannot be determined.
fn meetings(plan: &Plan) -> Option<Vec<Vec<Arrival>>> {
    if (plan.code.steps.len() as u64).saturating_mul(u64::from(plan.ranks)) > MAX_SIZE {
        return None;
    }
    let mut left = MAX_STEPS;
    let mut all = Vec::new();
    for rank in 0..plan.ranks {
        let mut walker = MeetingRecorder {
            plan,
            meetings: Vec::new(),
            left: &mut left,
            opened: HashMap::new(),
            now: 0,
            loops: Vec::new(),
            workers: false,
        };
        run(plan, rank, &mut walker).ok()?;
        all.push(walker.meetings);
        left.checked_sub(1).filter(|left| *left > 0)?;
    }
    Some(all)
}

/// Matches the meetings of all ranks, each in its own order.
pub(super) fn simulate(plan: &Plan) -> Verdict {
    let Some(all) = meetings(plan) else { return Verdict::Unknown };
    let mut next = vec![0; all.len()];
    let mut mixed = false;
    let at = |next: &[usize], rank: u32| all[rank as usize].get(next[rank as usize]).copied();
    // Groups whose next meeting may be complete.
    let mut open: Vec<GroupId> = (0..plan.groups.len()).map(|group| GroupId(group as u32)).collect();
    while let Some(group) = open.pop() {
        let ranks = &plan.groups[group.index()].ranks;
        while !ranks.is_empty()
            && ranks.iter().all(|rank| at(&next, *rank).is_some_and(|meeting| meeting.group == group))
        {
            let site = at(&next, ranks[0]).map(|meeting| meeting.site);
            for rank in ranks {
                mixed |= at(&next, *rank).map(|meeting| meeting.site) != site;
                next[*rank as usize] += 1;
                if let Some(meeting) = at(&next, *rank)
                    && meeting.group != group
                    && !open.contains(&meeting.group)
                {
                    open.push(meeting.group);
                }
            }
        }
    }
    let waiting = (0..plan.ranks).find_map(|rank| at(&next, rank).map(|meeting| (rank, meeting)));
    let Some((rank, meeting)) = waiting else {
        return if mixed { Verdict::Unknown } else { Verdict::AllMeet };
    };
    let ranks = &plan.groups[meeting.group.index()].ranks;
    let comes = |other: &&u32| at(&next, **other).is_some_and(|there| there.group == meeting.group);
    // A rank outside of the group stops with an error instead of waiting.
    let Some(missing) = ranks.iter().find(|other| !comes(other)).filter(|_| ranks.contains(&rank)) else {
        return Verdict::Unknown;
    };
    let elsewhere = at(&next, *missing).map(|meeting| meeting.site);
    Verdict::Stuck(StuckRank { rank, site: meeting.site, missing: *missing, elsewhere })
}
