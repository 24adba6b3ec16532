//! Blocks, barriers and pauses of a rank.

use samples::{Sample, SiteKind};

use super::state::Block;
use super::stop::Stop;
use super::work::Session;
use crate::execute::call::Timed;
use ranks::{Activity, Comm};
use record::{Entry, Stonewalled};

impl Session<'_> {
    /// Meets the ranks of `group`, or of the world.
    pub fn barrier(&mut self, place: usize, group: Option<&dyn Comm>) -> Result<(), Stop> {
        self.complete_all()?;
        let site = self.site(place)?;
        self.recorder.begin(site);
        self.standing.set_line(self.line(place));
        self.standing.set_activity(Activity::Waiting);
        let met = self.instrument.barrier(group.unwrap_or(self.comm));
        self.standing.set_activity(Activity::Running);
        let (begin, end) = met?;
        let commands_ps = self.commands_ps;
        self.store(site, Timed { begin, end, ..Timed::default() })?;
        // Waiting for others is no command.
        self.commands_ps = commands_ps;
        self.operations -= 1;
        Ok(())
    }

    /// Brings a number to the ranks of `group`, or of the world, and gets the largest.
    pub fn agree(&mut self, group: Option<&dyn Comm>, value: u64) -> Result<u64, Stop> {
        self.complete_all()?;
        self.standing.set_activity(Activity::Waiting);
        let met = self.instrument.agree(group.unwrap_or(self.comm), value);
        self.standing.set_activity(Activity::Running);
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

    /// Enters a `time`, `ctime` or `phase` block.
    pub fn enter(&mut self, place: usize, label: &str) -> Result<(), Stop> {
        self.sites.enter(label);
        // The site's number is found before the clock is read.
        self.site(place)?;
        let (commands_ps, bytes, queue_ns) = (self.commands_ps, self.bytes, self.queue_ns);
        self.blocks.push(Block { begin: self.instrument.now(), commands_ps, bytes, queue_ns, errno: 0 });
        Ok(())
    }

    /// Leaves the block entered last and stores its sample. What was started in it ends in it.
    pub fn leave(&mut self, place: usize) -> Result<(), Stop> {
        self.complete_all()?;
        let end = self.instrument.now();
        let Some(block) = self.blocks.pop() else { return Ok(()) };
        let site = self.site(place)?;
        let duration_ps = match self.spots.get(place).map(|spot| spot.kind) {
            Some(SiteKind::CommandTime) => self.commands_ps - block.commands_ps,
            _ => self.instrument.picoseconds(block.begin, end),
        };
        self.recorder.push(Sample {
            start_ns: self.instrument.since_epoch_ns(block.begin),
            duration_ps,
            bytes: self.bytes - block.bytes,
            queue_ns: self.queue_ns - block.queue_ns,
            errno: block.errno,
            site,
            rank: self.rank,
            batch: 1,
            cpu: self.instrument.processor(),
            ..Sample::default()
        })?;
        self.sites.leave();
        Ok(())
    }

    /// Sleeps, unless sleeps are to be left out.
    pub fn sleep(&mut self, ns: u64) -> Result<(), Stop> {
        if self.skip_sleep { Ok(()) } else { self.pause(ns) }
    }

    /// Lets so many nanoseconds pass.
    pub fn pause(&mut self, ns: u64) -> Result<(), Stop> {
        let until = self.instrument.now() + self.instrument.ticks(ns);
        self.wait_until(until)
    }

    /// Lets time pass until `ticks`.
    pub fn wait_until(&mut self, ticks: u64) -> Result<(), Stop> {
        let begin = self.instrument.now();
        let none_left = self.complete_until(ticks);
        if matches!(none_left, Ok(true)) {
            self.instrument.wait_until(ticks, self.comm);
        }
        self.paused_ps += self.instrument.picoseconds(begin, self.instrument.now());
        none_left?;
        self.comm.stopped().map_or(Ok(()), |why| Err(why.into()))
    }
}
