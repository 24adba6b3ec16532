//! What does a rank do around each operation: time it, store it, count its failure?

use std::ffi::CStr;

use samples::{Sample, SiteKind, Warning};

use super::backend::{Backend, Call, Meaning, Timed};
use crate::comm::{Comm, CommError, Standing, State as Doing};
use crate::files::Refusal;
use crate::ops::flags::errno_text;
use crate::ops::posix::Outcome;
use crate::record::{Entry, Place, Recorder, SiteTable};

/// Failures of one site that are told in words; the rest is counted.
const TOLD: u32 = 3;

/// Why a rank leaves before the end of the program.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The program wanted to touch what it may not.
    #[error("line {line}: {refusal}")]
    Refused {
        /// Where in the program.
        line: u32,
        /// What was refused.
        refusal: Box<Refusal>,
    },
    /// Another rank is lost, or the user stopped the run.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// No room for samples.
    #[error("cannot keep more samples: {0}; lower the repeats, or free memory and space for temporary files")]
    Record(#[from] std::io::Error),
    /// An operation failed, and the program cannot sensibly go on, or said `on_error stop`.
    #[error("{0}")]
    Failed(String),
    /// The program is wrong in a way that only running it showed.
    #[error("{0}")]
    Program(String),
}

impl Stop {
    /// Is the program at fault (exit status 2), or the run (3)?
    pub fn usage(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Program(_))
    }
}

/// What to do when an operation fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Count it and go on, as the original did; a full disk ends the run all the same.
    #[default]
    Continue,
    /// End the run.
    Stop,
}

/// One rank at work.
pub struct Session<'a, B: Backend> {
    pub(super) backend: B,
    recorder: Recorder,
    sites: SiteTable,
    pub(super) comm: &'a dyn Comm,
    standing: &'a Standing,
    places: &'a [Place],
    rank: u32,
    on_error: OnError,
    skip_sleep: bool,
    /// How late the next operation starts, in ns.
    late_ns: u64,
    /// Time inside commands so far, and bytes moved: `ctime` blocks take differences.
    commands_ps: u64,
    bytes: u64,
    /// Samples this rank is expected to take; 0: not known.
    planned: u64,
    blocks: Vec<Block>,
    told: Vec<u32>,
    noted: Vec<String>,
    /// Did the last operation fail, and with which errno? For `$$errno`.
    pub(super) last: Outcome,
}

struct Block {
    begin: u64,
    commands_ps: u64,
    bytes: u64,
}

impl<'a, B: Backend> Session<'a, B> {
    /// A rank of `comm` that records into `recorder` what happens at `places`.
    pub fn new(backend: B, recorder: Recorder, comm: &'a dyn Comm, places: &'a [Place]) -> Self {
        Self {
            backend,
            sites: SiteTable::new(places.len()),
            recorder,
            comm,
            standing: comm.standing(),
            places,
            rank: comm.rank(),
            on_error: OnError::default(),
            skip_sleep: false,
            late_ns: 0,
            commands_ps: 0,
            bytes: 0,
            planned: 0,
            blocks: Vec::with_capacity(64),
            told: Vec::new(),
            noted: Vec::new(),
            last: Outcome::default(),
        }
    }

    /// The number of this rank in the world.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// What to do from now on when an operation fails.
    pub fn set_on_error(&mut self, on_error: OnError) {
        self.on_error = on_error;
    }

    /// Pauses take no time from now on.
    pub fn set_skip_sleep(&mut self, skip: bool) {
        self.skip_sleep = skip;
    }

    /// How many samples this rank will take, for whoever watches.
    pub fn set_planned(&mut self, samples: u64) {
        self.planned = samples;
    }

    /// The next operation was meant to start so much earlier.
    pub fn set_late(&mut self, late_ns: u64) {
        self.late_ns = late_ns;
    }

    /// The number of a place's site under the labels around it now.
    #[inline(always)]
    fn site(&mut self, place: usize) -> Result<u32, Stop> {
        let places = self.places;
        Ok(self.sites.site(place, &mut self.recorder, || places.get(place).cloned().unwrap_or_default())?)
    }

    fn line(&self, place: usize) -> u32 {
        self.places.get(place).map_or(0, |place| place.line)
    }

    /// Does, times and stores one operation.
    #[inline(always)]
    pub fn operation(&mut self, place: usize, call: Call<'_>) -> Result<Outcome, Stop> {
        let site = self.site(place)?;
        self.recorder.begin(site);
        let places = self.places;
        let operation = places.get(place).map_or("", |place| place.operation.as_str());
        let timed = match self.backend.perform(operation, call) {
            Ok(timed) => timed,
            Err(refusal) => {
                return Err(Stop::Refused { line: self.line(place), refusal: Box::new(refusal) });
            }
        };
        let outcome = timed.outcome;
        self.store(site, timed)?;
        self.last = outcome;
        if !outcome.ok() {
            self.failed(place, site, call, outcome)?;
        }
        match self.comm.stopped() {
            None => Ok(outcome),
            Some(why) => Err(why.into()),
        }
    }

    #[inline(always)]
    fn store(&mut self, site: u32, timed: Timed) -> Result<(), Stop> {
        let duration_ps = self.backend.picoseconds(timed.begin, timed.end);
        let bytes = if timed.meaning == Meaning::Bytes { timed.outcome.value } else { 0 };
        self.commands_ps += duration_ps;
        self.bytes += bytes;
        self.recorder.push(Sample {
            start_ns: self.backend.since_epoch_ns(timed.begin),
            duration_ps,
            late_ns: std::mem::take(&mut self.late_ns),
            bytes,
            queue_ns: 0,
            site,
            rank: self.rank,
            errno: timed.outcome.errno,
            batch: 1,
            cpu: self.backend.processor(),
            causes: timed.outcome.causes.0,
        })?;
        self.standing.set_recorded(self.recorder.total(), self.bytes);
        self.standing.set_progress(self.recorder.total(), self.planned);
        Ok(())
    }

    /// Counts a failure, tells the first few of a site, and decides whether to go on.
    #[cold]
    #[inline(never)]
    fn failed(&mut self, place: usize, site: u32, call: Call<'_>, outcome: Outcome) -> Result<(), Stop> {
        self.recorder.count_failure();
        if self.told.len() <= site as usize {
            self.told.resize(site as usize + 1, 0);
        }
        let fatal = self.on_error == OnError::Stop || matches!(outcome.errno, libc::ENOSPC | libc::EDQUOT);
        if self.told[site as usize] >= TOLD && !fatal {
            return Ok(());
        }
        self.told[site as usize] += 1;
        let text = self.words(place, call, outcome);
        self.recorder.note(&Entry::Failure { site, errno: outcome.errno, text: text.clone() })?;
        if fatal { Err(Stop::Failed(text)) } else { Ok(()) }
    }

    fn words(&self, place: usize, call: Call<'_>, outcome: Outcome) -> String {
        let operation = self.places.get(place).map_or("", |place| place.operation.as_str());
        let named = |path: &CStr| format!("\"{}\"", path.to_string_lossy());
        let object = match call.paths() {
            (Some(path), Some(second)) => format!("{}, {}", named(path), named(second)),
            (Some(path), None) => named(path),
            _ => match call.file() {
                Some(file) => self.backend.path_of(file).map(named).unwrap_or_else(|| "no open file".into()),
                None => String::new(),
            },
        };
        let line = self.line(place);
        let moved = match call.length() {
            Some(wanted) if outcome.value > 0 => format!(" after {} of {wanted} bytes", outcome.value),
            Some(wanted) => format!(" ({wanted} bytes)"),
            None => String::new(),
        };
        let why = match outcome.errno {
            libc::ENODATA if call.reads() => "the file ended early".to_owned(),
            errno => errno_text(errno),
        };
        format!("line {line}: {operation}({object}) failed{moved}: {why}")
    }

    /// Meets the ranks of `group`, or of the world.
    pub fn barrier(&mut self, place: usize, group: Option<&dyn Comm>) -> Result<(), Stop> {
        let site = self.site(place)?;
        self.recorder.begin(site);
        self.standing.set_line(self.line(place));
        self.standing.set_state(Doing::Waiting);
        let met = self.backend.barrier(group.unwrap_or(self.comm));
        self.standing.set_state(Doing::Running);
        let (begin, end) = met?;
        let commands_ps = self.commands_ps;
        self.store(site, Timed { begin, end, ..Timed::default() })?;
        // Waiting for others is not time inside a command.
        self.commands_ps = commands_ps;
        Ok(())
    }

    /// Enters a `time`, `ctime` or `phase` block.
    pub fn enter(&mut self, place: usize, label: &str) -> Result<(), Stop> {
        self.sites.enter_label(label);
        // The site's number is found before the clock is read.
        self.site(place)?;
        let (commands_ps, bytes) = (self.commands_ps, self.bytes);
        self.blocks.push(Block { begin: self.backend.now(), commands_ps, bytes });
        Ok(())
    }

    /// Leaves the block entered last and stores its sample.
    pub fn leave(&mut self, place: usize) -> Result<(), Stop> {
        let end = self.backend.now();
        let Some(block) = self.blocks.pop() else { return Ok(()) };
        let site = self.site(place)?;
        let duration_ps = match self.places.get(place).map(|place| place.kind) {
            Some(SiteKind::CommandTime) => self.commands_ps - block.commands_ps,
            _ => self.backend.picoseconds(block.begin, end),
        };
        self.recorder.push(Sample {
            start_ns: self.backend.since_epoch_ns(block.begin),
            duration_ps,
            bytes: self.bytes - block.bytes,
            site,
            rank: self.rank,
            batch: 1,
            cpu: self.backend.processor(),
            ..Sample::default()
        })?;
        self.sites.leave();
        Ok(())
    }

    /// Enters a group's block.
    pub fn enter_group(&mut self, group: &str) {
        self.sites.enter_group(group);
    }

    /// Leaves a group's block.
    pub fn leave_group(&mut self) {
        self.sites.leave();
    }

    /// Prints whole lines. A simulated rank leaves them to the parent, which knows the order.
    pub fn print(&mut self, lines: &[u8]) -> Result<(), Stop> {
        if self.backend.name() == "simulate" {
            let text = String::from_utf8_lossy(lines).into_owned();
            let at = self.backend.picoseconds(0, self.backend.now());
            self.recorder.note(&Entry::Print { at, text })?;
            return Ok(());
        }
        Ok(crate::launch::print(lines)?)
    }

    /// Keeps a warning, once.
    pub fn warn(&mut self, warning: Warning) -> Result<(), Stop> {
        if !self.noted.contains(&warning.code) {
            self.noted.push(warning.code.clone());
            self.recorder.note(&Entry::Warning(warning))?;
        }
        Ok(())
    }

    /// Keeps the text of an assertion that did not hold.
    pub fn assertion_failed(&mut self, text: String) -> Result<(), Stop> {
        Ok(self.recorder.note(&Entry::Assertion { text })?)
    }

    /// Lets so many nanoseconds pass.
    pub fn pause(&mut self, ns: u64) -> Result<(), Stop> {
        if self.skip_sleep {
            return Ok(());
        }
        let until = self.backend.now() + self.backend.ticks(ns);
        self.wait_until(until)
    }

    /// Lets time pass until `ticks`.
    pub fn wait_until(&mut self, ticks: u64) -> Result<(), Stop> {
        self.backend.wait_until(ticks, self.comm);
        self.comm.stopped().map_or(Ok(()), |why| Err(why.into()))
    }

    /// Says what a finished or stopped rank still has to say, and how it ended.
    pub fn end(&mut self, result: &Result<(), Stop>) {
        drop(self.recorder.note(&Entry::Communicator(self.comm.description())));
        for note in self.backend.take_notes() {
            // A full journal has been told already.
            drop(self.warn(note));
        }
        match result {
            Ok(()) => self.recorder.finish(crate::record::State::Finished),
            Err(stop) => {
                let entry = Entry::Stop { text: stop.to_string(), usage: stop.usage() };
                drop(self.recorder.note(&entry));
                self.recorder.finish(crate::record::State::Stopped);
            }
        }
    }
}
