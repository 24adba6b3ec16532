//! Blocks, barriers and pauses of a rank.

use samples::{Sample, SiteKind};

use super::open_blocks::{OpenBlocks, WorkDone};
use super::stop::Stop;
use super::work::Session;
use crate::execute::call::Timed;
use ranks::meeting::{Meeting, MeetingKind};
use ranks::{Activity, Comm};
use record::{Entry, Stonewalled};

impl Session<'_> {
    /// Meets the ranks of `group`, or of the world.
    pub fn barrier(&mut self, place: usize, group: Option<&dyn Comm>) -> Result<(), Stop> {
        self.meet(MeetingKind::Barrier, place, group)
    }

    /// This rank comes to a meeting: others that wait there for another one learn of it.
    pub(super) fn comes_to(&self, kind: MeetingKind, line: u32, place: usize) {
        self.standing.set_meeting(Meeting { kind, line, place: place as u32 }, self.rank);
    }

    fn meet(&mut self, kind: MeetingKind, place: usize, group: Option<&dyn Comm>) -> Result<(), Stop> {
        self.complete_all()?;
        self.comes_to(kind, self.line(place), place);
        let site = self.site(place)?;
        self.recorder.begin(site);
        self.standing.set_line(self.line(place));
        self.standing.set_activity(Activity::Waiting);
        let met = self.instrument.barrier(group.unwrap_or(self.comm));
        self.standing.set_activity(Activity::Running);
        let (begin, end) = met?;
        let commands_ps = self.commands_ps;
        self.store(site, Timed { begin, end, ..Timed::default() })?;
        // Waiting for other ranks does not count as a command.
        self.commands_ps = commands_ps;
        self.operations -= 1;
        self.own_time.count_from(end, commands_ps);
        Ok(())
    }

    /// Brings a number to the ranks of `group`, or of the world, and gets the largest; at step `step` in line `line`.
    pub fn agree(
        &mut self,
        (step, line): (u32, u32),
        group: Option<&dyn Comm>,
        value: u64,
    ) -> Result<u64, Stop> {
        self.complete_all()?;
        self.comes_to(MeetingKind::Round, line, step as usize);
        self.standing.set_activity(Activity::Waiting);
        let met = self.instrument.agree(group.unwrap_or(self.comm), value);
        self.standing.set_activity(Activity::Running);
        self.own_time.forget();
        Ok(met?)
    }

    /// What was done so far: operations and bytes, and when that is.
    pub(in crate::execute) fn done(&self) -> (u64, u64, u64) {
        (self.operations, self.bytes, self.instrument.since_epoch_ns(self.instrument.now()))
    }

    /// The phase at `place` is over, with which stonewall this rank began at `since` ([`Session::done`]).
    pub(in crate::execute) fn stonewalled(
        &mut self,
        place: usize,
        since: (u64, u64, u64),
        cut: bool,
    ) -> Result<(), Stop> {
        self.complete_all()?;
        let site = self.site(place)?;
        let (operations, bytes, ns) = self.done();
        let entry = Entry::Stonewall(Stonewalled {
            site,
            operations: operations - since.0,
            bytes: bytes - since.1,
            ns: ns.saturating_sub(since.2),
            cut,
        });
        Ok(self.recorder.note(&entry)?)
    }

    /// What commands did so far that were waited for; what was started counts where it was started.
    fn done_in_turn(&self) -> WorkDone {
        let all = WorkDone { commands_ps: self.commands_ps, bytes: self.bytes, queue_ns: self.queue_ns };
        all.since(self.in_flight.done)
    }

    /// Enters a `time`, `ctime` or `phase` block.
    pub fn enter(&mut self, place: usize, label: &str) -> Result<(), Stop> {
        self.sites.enter(label);
        // The site's number is found before the clock is read.
        self.site(place)?;
        let done = self.done_in_turn();
        let begin = self.instrument.now();
        let late_ns = self.late(begin);
        self.blocks.enter(begin, late_ns, done);
        Ok(())
    }

    /// Leaves the block entered last. Its sample is stored when what was started in it has ended.
    pub fn leave(&mut self, place: usize) -> Result<(), Stop> {
        let end = self.instrument.now();
        let site = self.site(place)?;
        let left = self.blocks.leave((place, site), end, self.done_in_turn());
        self.sites.leave();
        left.map_or(Ok(()), |block| self.store_ended(block))
    }

    /// Leaves the phase entered last: what was started in it is waited for, its sample stored, and then the ranks of
    /// `group` meet. That wait is a sample of its own, at the place `waits`: in the phase's it would make each rank's
    /// time that of the slowest.
    pub fn leave_phase(&mut self, place: usize, waits: usize, group: Option<&dyn Comm>) -> Result<(), Stop> {
        self.complete_all()?;
        let end = self.instrument.now();
        let site = self.site(place)?;
        let left = self.blocks.leave((place, site), end, self.done_in_turn());
        left.map_or(Ok(()), |block| self.store_ended(block))?;
        let met = self.meet(MeetingKind::PhaseEnd, waits, group);
        self.sites.leave();
        met
    }

    /// Stores the samples of this block and of those around it, as far as they have ended.
    pub(super) fn store_ended(&mut self, block: u32) -> Result<(), Stop> {
        let mut next = Some(block);
        while let Some(block) = next.and_then(|number| self.blocks.take_ended(number)) {
            next = OpenBlocks::around(&block);
            let (done, end) = (block.inside(), block.left.unwrap_or(block.begin));
            let duration_ps = match self.spots.get(block.place).map(|spot| spot.kind) {
                Some(SiteKind::CommandTime) => done.commands_ps,
                _ => self.instrument.picoseconds(block.begin, end),
            };
            self.recorder.push(Sample {
                start_ns: self.instrument.since_epoch_ns(block.begin),
                duration_ps,
                late_ns: block.late_ns,
                bytes: done.bytes,
                queue_ns: done.queue_ns,
                errno: block.errno,
                site: block.site,
                rank: self.rank,
                batch: 1,
                cpu: self.instrument.processor(),
                ..Sample::default()
            })?;
        }
        Ok(())
    }

    /// Sleeps, unless sleeps are to be left out.
    pub fn sleep(&mut self, ns: u64) -> Result<(), Stop> {
        if self.skip_sleep { Ok(()) } else { self.wait(ns) }
    }

    /// Lets so many nanoseconds pass.
    pub fn wait(&mut self, ns: u64) -> Result<(), Stop> {
        let now = self.instrument.now();
        let waited = self.wait_until(now, now.saturating_add(self.instrument.ticks(ns)));
        self.own_time.forget();
        waited
    }

    /// Pauses so that the next operation begins `ns` nanoseconds after the end of the one before: what this rank itself
    /// took since then is part of the pause, up to [`super::own_time::MOST_NS`].
    pub fn pause(&mut self, ns: u64) -> Result<(), Stop> {
        if self.skip_sleep || self.own_time.covers(ns) {
            return Ok(());
        }
        let now = self.instrument.now();
        let instrument = &self.instrument;
        let passed = |begin, end| instrument.picoseconds(begin, end);
        let left = self.own_time.left_of(ns, (now, self.commands_ps), passed);
        if left == 0 {
            return Ok(());
        }
        let until = now.saturating_add(self.instrument.ticks(left));
        self.own_time.ends_at(until);
        self.wait_until(now, until)
    }

    /// It was with other ranks, or others were at work: its own time counts from now.
    pub(in crate::execute) fn resumes(&mut self) {
        self.own_time.count_from(self.instrument.now(), self.commands_ps);
    }

    /// A worker begins, whose rank did its last operation at the clock reading `ticks`: the first pause counts from there.
    pub(in crate::execute) fn begins_behind(&mut self, ticks: u64) {
        self.resumes();
        let passed = self.instrument.picoseconds(ticks, self.instrument.now()) / 1000;
        self.own_time.began_before(passed);
    }

    /// Lets time pass from now, `begin`, until `ticks`.
    fn wait_until(&mut self, begin: u64, ticks: u64) -> Result<(), Stop> {
        let none_left = self.complete_until(ticks);
        if matches!(none_left, Ok(true)) {
            self.instrument.wait_until(ticks, self.comm);
        }
        self.paused_ps += self.instrument.picoseconds(begin, self.instrument.now());
        none_left?;
        self.comm.stopped().map_or(Ok(()), |why| Err(why.into()))
    }
}
