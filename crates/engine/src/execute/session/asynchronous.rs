//! Operations that are under way at the same time.
//!
//! In an `async` block an operation is started and the program goes on; its sample is stored when it is
//! done, with its own start, and judged then.

use samples::Outcome;

use super::failures::{Failed, Named, was_read};
use super::open_blocks::WorkDone;
use super::state::{JudgedBy, StartedOperation};
use super::stop::Stop;
use super::work::Session;
use crate::execute::call::{Call, Completed, Patience, Started};
use ppl::commands::Moves;
use record::Entry;

impl Session<'_> {
    /// Operations that follow may be under way at the same time, so many.
    pub fn enter_async(&mut self, depth: u32) -> Result<(), Stop> {
        self.complete_all()?;
        let outer = self.in_flight.depth;
        self.in_flight.outer.push(outer);
        self.begin_depth(depth)
    }

    fn begin_depth(&mut self, depth: u32) -> Result<(), Stop> {
        self.in_flight.depth = depth;
        if depth == 0 {
            return Ok(());
        }
        let warning = self.instrument.begin_async(depth);
        self.in_flight.in_order = warning.is_some();
        if !self.in_flight.in_order && !std::mem::replace(&mut self.in_flight.unordered, true) {
            self.recorder.note(&Entry::Unordered)?;
        }
        self.in_flight.all.clear();
        self.in_flight.all.resize_with(depth as usize, StartedOperation::default);
        self.in_flight.free = (0..depth).rev().collect();
        warning.map_or(Ok(()), |warning| self.warn(warning))
    }

    /// Waits for everything that is under way.
    pub fn leave_async(&mut self) -> Result<(), Stop> {
        let all = self.complete_all();
        self.instrument.end_async();
        for note in self.instrument.take_notes() {
            self.warn(note)?;
        }
        let outer = self.in_flight.outer.pop().unwrap_or(0);
        self.begin_depth(outer)?;
        all
    }

    /// Are operations to be started without waiting?
    #[inline(always)]
    pub fn is_async(&self) -> bool {
        self.in_flight.depth > 0 && !self.in_flight.in_order
    }

    /// Can anything be under way: is this inside an `async` block?
    #[inline(always)]
    pub(in crate::execute) fn may_overlap(&self) -> bool {
        self.in_flight.depth > 0
    }

    /// Starts an operation. `Some`: it was done in the ordinary way, and is yet to be judged.
    pub fn start(
        &mut self,
        place: usize,
        call: Call<'_>,
        judgement: JudgedBy,
    ) -> Result<Option<Outcome>, Stop> {
        let site = self.site(place)?;
        let (command, line) = self.command(place);
        loop {
            self.take_completed()?;
            let Some(number) = self.in_flight.free.last().copied() else {
                self.complete_one()?;
                continue;
            };
            self.begin_at(site, line);
            match self.instrument.start(number, command, call, judgement.verify) {
                Ok(Started::UnderWay { begin }) => {
                    self.in_flight.free.pop();
                    self.in_flight.under_way += 1;
                    let late_ns = self.late(begin);
                    let block = self.blocks.started();
                    let started = &mut self.in_flight.all[number as usize];
                    (started.place, started.site, started.late_ns) = (place, site, late_ns);
                    started.block = block;
                    started.judgement = judgement;
                    started.note(&call);
                    // A job that is done already ends now, not when the program next looks.
                    return self.take_completed().map(|()| None);
                }
                Ok(Started::Conflict) => self.complete_one()?,
                Ok(Started::InOrder) => {
                    self.complete_all()?;
                    return self.operation(place, call).map(Some);
                }
                Err(refusal) => return Err(Stop::Refused { line, refusal: Box::new(refusal) }),
            }
        }
    }

    /// Takes what is done, without waiting.
    #[inline(always)]
    fn take_completed(&mut self) -> Result<(), Stop> {
        while self.in_flight.under_way > 0 {
            match self.instrument.completed(Patience::Look) {
                Some(completed) => self.finish(&completed)?,
                None => break,
            }
        }
        Ok(())
    }

    fn complete_one(&mut self) -> Result<(), Stop> {
        match self.instrument.completed(Patience::Wait) {
            Some(completed) => self.finish(&completed),
            None => {
                // Nothing is in flight: all job numbers are free.
                self.in_flight.under_way = 0;
                self.in_flight.free = (0..self.in_flight.depth).rev().collect();
                Ok(())
            }
        }
    }

    /// Waits for everything under way; all of it, whatever one of them says.
    pub(in crate::execute) fn complete_all(&mut self) -> Result<(), Stop> {
        let mut result = Ok(());
        while self.in_flight.under_way > 0 {
            let one = self.complete_one();
            result = result.and(one);
        }
        if self.in_flight.depth > 0 {
            self.instrument.all_completed();
        }
        result
    }

    /// Takes what is done until the clock shows `ticks`; true where nothing is under way before.
    pub(in crate::execute) fn complete_until(&mut self, ticks: u64) -> Result<bool, Stop> {
        /// So often does it look whether the run is to stop.
        const LOOK_NS: u64 = 100_000_000;
        while self.in_flight.under_way > 0 {
            let soon = self.instrument.now() + self.instrument.ticks(LOOK_NS);
            match self.instrument.completed(Patience::Until(ticks.min(soon))) {
                Some(completed) => self.finish(&completed)?,
                None if self.instrument.now() >= ticks => return Ok(false),
                None => {}
            }
            if let Some(stop) = self.interrupted() {
                return Err(stop);
            }
        }
        Ok(true)
    }

    fn finish(&mut self, completed: &Completed) -> Result<(), Stop> {
        let number = completed.number;
        let Some(started) = self.in_flight.all.get(number as usize) else { return Ok(()) };
        let (site, place, late_ns) = (started.site, started.place, started.late_ns);
        let (block, judgement) = (started.block, started.judgement);
        self.in_flight.free.push(number);
        self.in_flight.under_way -= 1;
        let before = WorkDone { commands_ps: self.commands_ps, bytes: self.bytes, queue_ns: self.queue_ns };
        if judgement.verify {
            self.count_verified();
        }
        let mut timed = completed.timed;
        if completed.wrong.is_some() && was_read(timed) {
            timed.outcome.errno = libc::EBADMSG;
        }
        self.store_late(site, timed, late_ns)?;
        let after = WorkDone { commands_ps: self.commands_ps, bytes: self.bytes, queue_ns: self.queue_ns };
        self.in_flight.done.add(after.since(before));
        let failed = Failed {
            errno: timed.outcome.errno,
            expected: judgement.expected,
            moved: timed.outcome.value,
            wrong: completed.wrong,
        };
        let judged = if failed.errno == 0 && judgement.expected.is_none() {
            Ok(())
        } else {
            self.judge(number, (place, site, block), judgement, failed)
        };
        self.blocks.ended(block, completed.timed.end, after.since(before));
        let stored = block.map_or(Ok(()), |block| self.store_ended(block));
        judged.and(stored)
    }

    /// Of an operation at this place and site, which was started in this block.
    #[cold]
    #[inline(never)]
    fn judge(
        &mut self,
        number: u32,
        (place, site, block): (usize, u32, Option<u32>),
        judgement: JudgedBy,
        failed: Failed,
    ) -> Result<(), Stop> {
        if judgement.expected == Some(failed.errno) {
            return self.failed_as_expected(place, failed.errno);
        }
        let words = match judgement.stop_on_error || self.words_wanted(site, &failed) {
            true => self.started_words(number, place),
            false => Named::default(),
        };
        let moves = self.command(place).0.is_some_and(|command| command.spec().moves != Moves::Nothing);
        let failed = Failed { moved: if moves { failed.moved } else { 0 }, ..failed };
        // The program may be in another block, with other labels, by now.
        self.blocks.mark_from(block, failed.errno);
        self.failed_at((place, site), &words, &failed)?;
        if judgement.stop_on_error {
            return Err(Stop::on_error(self.line(place), &failed.words(&words.operation, "")));
        }
        Ok(())
    }

    fn started_words(&self, number: u32, place: usize) -> Named {
        let operation = self.operation_name(place);
        let (file, is_open) = match self.in_flight.all.get(number as usize) {
            Some(StartedOperation { file: Some(file), .. }) => match self.instrument.path_of(*file) {
                Some(path) => (path.to_string_lossy().into_owned(), true),
                None => (String::new(), false),
            },
            Some(started) => (String::from_utf8_lossy(&started.names).into_owned(), true),
            None => return Named { operation: format!("{operation}()"), ..Named::default() },
        };
        let named = if is_open { format!("\"{file}\"") } else { "a file that is not open".into() };
        Named { operation: format!("{operation}({named})"), file, to_write: None }
    }
}
