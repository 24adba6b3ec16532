//! What does a rank do around each operation: time it, store it, count its failure?

use samples::{Sample, SiteKind, Span, Warning};

use super::backend::{Backend, Call, Collective, Meaning, NoKernel, Timed};
use super::flights::Flights;
use crate::files::Refusal;
use crate::ops::flags::errno_text;
use probes::Request;
use ranks::{Comm, CommError, Standing, State as Doing};
use record::{Entry, Place, Recorder, SiteTable, Stonewalled};
use samples::Outcome;

/// Failures of one site that are told in words; the rest is counted.
const TOLD: u64 = 3;

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
    pub(super) recorder: Recorder,
    pub(super) sites: SiteTable,
    pub(super) comm: &'a dyn Comm,
    pub(super) standing: &'a Standing,
    pub(super) places: &'a [Place],
    pub(super) flights: Flights,
    pub(super) rank: u32,
    pub(super) on_error: OnError,
    pub(super) skip_sleep: bool,
    /// Since when the operations that follow are late, and how late, once the first has begun.
    pace: Pace,
    /// Time inside commands so far, and bytes moved: `ctime` blocks take differences.
    pub(super) commands_ps: u64,
    pub(super) bytes: u64,
    pub(super) queue_ns: u64,
    /// Operations done so far, and how many there will be; 0: not known.
    pub(super) operations: u64,
    pub(super) planned: u64,
    /// When the program began, and how long it paused.
    began_ns: u64,
    pub(super) paused_ps: u64,
    pub(super) blocks: Vec<Block>,
    /// Failures by site.
    pub(super) failures: Vec<u64>,
    pub(super) noted: Vec<String>,
}

/// Is there an intended start?
#[derive(Clone, Copy, Debug)]
enum Pace {
    None,
    /// Of the next operation.
    Intended(u64),
    /// The operations are so late.
    Late(u64),
}

impl Pace {
    #[inline(always)]
    fn late(&mut self, start_ns: u64) -> u64 {
        match *self {
            Pace::None => 0,
            Pace::Late(ns) => ns,
            Pace::Intended(intended) => {
                let ns = start_ns.saturating_sub(intended);
                *self = Pace::Late(ns);
                ns
            }
        }
    }
}

#[derive(Default)]
pub(super) struct Block {
    begin: u64,
    commands_ps: u64,
    bytes: u64,
    queue_ns: u64,
    /// Of the first operation in it that failed.
    pub(super) errno: i32,
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
            flights: Flights::default(),
            rank: comm.rank(),
            on_error: OnError::default(),
            skip_sleep: false,
            pace: Pace::None,
            commands_ps: 0,
            bytes: 0,
            queue_ns: 0,
            operations: 0,
            planned: 0,
            began_ns: 0,
            paused_ps: 0,
            blocks: Vec::with_capacity(64),
            failures: Vec::new(),
            noted: Vec::new(),
        }
    }

    /// The program begins now.
    pub fn begin(&mut self) {
        self.began_ns = self.backend.since_epoch_ns(self.backend.now());
        let span = self.span(0);
        // An empty journal has room for it.
        drop(self.recorder.note(&Entry::Span(span)));
    }

    fn span(&self, end_ns: u64) -> Span {
        Span { rank: self.rank, begin_ns: self.began_ns, end_ns, paused_ns: self.paused_ps / 1000 }
    }

    /// The number of this rank in the world.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Ranks in the world.
    pub fn rank_count(&self) -> u32 {
        self.comm.size()
    }

    /// Compares the ranks' clocks once more. Collective.
    pub fn compare_clocks(&mut self) -> Result<(), Stop> {
        let backend = &self.backend;
        let offsets = self.comm.clock_offsets(&mut || backend.since_epoch_ns(backend.now()))?;
        Ok(self.recorder.note(&Entry::ClockOffsets(offsets))?)
    }

    /// What to do from now on when an operation fails.
    pub fn set_on_error(&mut self, on_error: OnError) {
        self.on_error = on_error;
    }

    /// Pauses take no time from now on.
    pub fn set_skip_sleep(&mut self, skip: bool) {
        self.skip_sleep = skip;
    }

    /// How many operations this rank will do, for whoever watches.
    pub fn set_planned(&mut self, operations: u64) {
        self.planned = operations;
    }

    /// When the operations that follow were meant to begin, in ns since the run's epoch. All of them
    /// are as late as the first.
    pub fn set_intended(&mut self, ns: Option<u64>) {
        self.pace = ns.map_or(Pace::None, Pace::Intended);
    }

    /// The number of a place's site under the labels around it now.
    #[inline(always)]
    pub(super) fn site(&mut self, place: usize) -> Result<u32, Stop> {
        let places = self.places;
        Ok(self.sites.site(place, &mut self.recorder, || places.get(place).cloned().unwrap_or_default())?)
    }

    pub(super) fn line(&self, place: usize) -> u32 {
        self.places.get(place).map_or(0, |place| place.line)
    }

    /// Does, times and stores one operation. What to make of a failed one is the caller's
    /// decision: [`Session::failed`] if the program did not foretell it.
    #[inline(always)]
    pub fn operation(&mut self, place: usize, call: Call<'_>) -> Result<Outcome, Stop> {
        let site = self.site(place)?;
        self.recorder.begin(site);
        let places = self.places;
        let (operation, line) =
            places.get(place).map_or(("", 0), |place| (place.operation.as_str(), place.line));
        self.standing.set_line(line);
        match self.backend.perform(operation, call) {
            Ok(timed) => {
                // Broken off in the middle, it says nothing about how long it takes.
                if timed.outcome.errno == libc::ECANCELED
                    && let Some(stop) = self.interrupted()
                {
                    return Err(stop);
                }
                self.store(site, timed)?;
                Ok(timed.outcome)
            }
            Err(refusal) => Err(Stop::Refused { line: self.line(place), refusal: Box::new(refusal) }),
        }
    }

    /// Does something together with the ranks of `group`, or of the world, in one timing.
    pub fn together(
        &mut self,
        place: usize,
        what: Collective<'_>,
        group: Option<&dyn Comm>,
    ) -> Result<Outcome, Stop> {
        self.complete_all()?;
        let site = self.site(place)?;
        self.recorder.begin(site);
        self.standing.set_line(self.line(place));
        let places = self.places;
        let operation = places.get(place).map_or("", |place| place.operation.as_str());
        match self.backend.together(operation, what, group.unwrap_or(self.comm)) {
            Ok(timed) if timed.outcome.errno == libc::ECANCELED => match self.interrupted() {
                Some(stop) => Err(stop),
                None => Ok(timed.outcome),
            },
            Ok(timed) => {
                self.store(site, timed)?;
                Ok(timed.outcome)
            }
            Err(refusal) => Err(Stop::Refused { line: self.line(place), refusal: Box::new(refusal) }),
        }
    }

    /// Runs `count` operations of a kernel as one sample. One that cannot be built is an outcome with an
    /// errno, and a note.
    pub fn kernel(&mut self, place: usize, request: Request, count: u32) -> Result<Outcome, Stop> {
        self.complete_all()?;
        let site = self.site(place)?;
        self.recorder.begin(site);
        let places = self.places;
        let operation = places.get(place).map_or("", |place| place.operation.as_str());
        match self.backend.kernel(operation, request, count) {
            Ok(timed) => {
                self.store(site, timed)?;
                Ok(timed.outcome)
            }
            Err(NoKernel::Refused(refusal)) => {
                Err(Stop::Refused { line: self.line(place), refusal: Box::new(refusal) })
            }
            Err(NoKernel::Failed(error)) => {
                let text = format!("line {}: {operation}: {error}", self.line(place));
                self.warn(Warning { code: format!("no-{operation}"), text, advice: String::new() })?;
                let (now, outcome) = (self.backend.now(), Outcome::error(NoKernel::errno(&error)));
                self.store(site, Timed { begin: now, end: now, outcome, ..Timed::default() })?;
                Ok(outcome)
            }
        }
    }

    /// Should this rank leave: another is lost, the user pressed Ctrl-C?
    #[inline]
    pub fn interrupted(&self) -> Option<Stop> {
        self.comm.stopped().map(Stop::Comm)
    }

    /// Says where the operation that begins stands.
    #[inline(always)]
    pub(super) fn begin_at(&self, site: u32, line: u32) {
        self.recorder.begin(site);
        self.standing.set_line(line);
    }

    /// How late an operation is that began at `begin`.
    #[inline(always)]
    pub(super) fn late(&mut self, begin: u64) -> u64 {
        match self.pace {
            Pace::None => 0,
            _ => self.pace.late(self.backend.since_epoch_ns(begin)),
        }
    }

    #[inline(always)]
    fn store(&mut self, site: u32, timed: Timed) -> Result<(), Stop> {
        let late_ns = self.late(timed.begin);
        self.store_late(site, timed, late_ns)
    }

    #[inline(always)]
    pub(super) fn store_late(&mut self, site: u32, timed: Timed, late_ns: u64) -> Result<(), Stop> {
        let duration_ps = self.backend.picoseconds(timed.begin, timed.end);
        self.operations += 1;
        let bytes = if timed.meaning == Meaning::Bytes { timed.outcome.value } else { 0 };
        self.commands_ps += duration_ps;
        self.bytes += bytes;
        self.queue_ns += timed.seen.queue_ns;
        let start_ns = self.backend.since_epoch_ns(timed.begin);
        self.recorder.push(Sample {
            start_ns,
            duration_ps,
            late_ns,
            bytes,
            // What was seen reaches a little beyond the two clock reads.
            queue_ns: timed.seen.queue_ns.min(duration_ps / 1000),
            blocked_ns: u32::try_from(timed.seen.blocked_ns.min(duration_ps / 1000)).unwrap_or(u32::MAX),
            site,
            rank: self.rank,
            errno: timed.outcome.errno,
            batch: timed.batch.max(1),
            cpu: self.backend.processor(),
            causes: timed.outcome.causes.0 | timed.seen.causes.0,
        })?;
        self.standing.set_recorded(self.recorder.total(), self.bytes);
        self.standing.set_progress(self.operations, self.planned);
        Ok(())
    }

    /// Will the next failure at `place` be told in words? Otherwise nobody need find any.
    pub fn tells(&mut self, place: usize, errno: i32) -> bool {
        let Ok(site) = self.site(place) else { return true };
        self.is_fatal(errno) || self.failures.get(site as usize).is_none_or(|count| *count < TOLD)
    }

    fn is_fatal(&self, errno: i32) -> bool {
        self.on_error == OnError::Stop || matches!(errno, libc::ENOSPC | libc::EDQUOT)
    }

    /// Counts the failure of the operation at `place`, tells the first few of a site in words, and
    /// decides whether to go on: `operation` is the command with the names in it.
    #[cold]
    #[inline(never)]
    pub fn failed(&mut self, place: usize, operation: &str, errno: i32, moved: u64) -> Result<(), Stop> {
        self.recorder.count_failure();
        for block in self.blocks.iter_mut().filter(|block| block.errno == 0) {
            block.errno = errno;
        }
        // Words of an earlier failure that nobody asked for are not those of this one.
        let said = crate::ops::collective::take_error().filter(|_| operation.starts_with('p'));
        let site = self.site(place)?;
        if self.failures.len() <= site as usize {
            self.failures.resize(site as usize + 1, 0);
        }
        self.failures[site as usize] += 1;
        let fatal = self.is_fatal(errno);
        if self.failures[site as usize] > TOLD && !fatal {
            return Ok(());
        }
        let moved = if moved > 0 { format!(" after {moved} bytes") } else { String::new() };
        let why = match errno {
            0 => "it worked".to_owned(),
            libc::ENODATA => "the file ended early".to_owned(),
            errno => errno_text(errno),
        };
        let said = said.map(|words| format!(" ({words})")).unwrap_or_default();
        let text = format!("line {}: {operation} failed{moved}: {why}{said}", self.line(place));
        self.recorder.note(&Entry::Failure { site, errno, text: text.clone() })?;
        if fatal { Err(Stop::Failed(text)) } else { Ok(()) }
    }

    /// Meets the ranks of `group`, or of the world.
    pub fn barrier(&mut self, place: usize, group: Option<&dyn Comm>) -> Result<(), Stop> {
        self.complete_all()?;
        let site = self.site(place)?;
        self.recorder.begin(site);
        self.standing.set_line(self.line(place));
        self.standing.set_state(Doing::Waiting);
        let met = self.backend.barrier(group.unwrap_or(self.comm));
        self.standing.set_state(Doing::Running);
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
        self.standing.set_state(Doing::Waiting);
        let met = self.backend.agree(group.unwrap_or(self.comm), value);
        self.standing.set_state(Doing::Running);
        Ok(met?)
    }

    /// What was done so far: operations and bytes, and when that is.
    pub(super) fn done(&self) -> (u64, u64, u64) {
        (self.operations, self.bytes, self.backend.since_epoch_ns(self.backend.now()))
    }

    /// The phase at `place` is over, with which stonewall this rank began at `since` ([`Session::done`]).
    pub(super) fn stonewalled(
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
        self.blocks.push(Block { begin: self.backend.now(), commands_ps, bytes, queue_ns, errno: 0 });
        Ok(())
    }

    /// Leaves the block entered last and stores its sample. What was started in it ends in it.
    pub fn leave(&mut self, place: usize) -> Result<(), Stop> {
        self.complete_all()?;
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
            queue_ns: self.queue_ns - block.queue_ns,
            errno: block.errno,
            site,
            rank: self.rank,
            batch: 1,
            cpu: self.backend.processor(),
            ..Sample::default()
        })?;
        self.sites.leave();
        Ok(())
    }

    /// Prints whole lines. A simulated rank leaves them to the parent, which knows the order. Lines that
    /// standard output does not take are lost with a warning: what is measured is worth more.
    pub fn print(&mut self, lines: &[u8]) -> Result<(), Stop> {
        if self.backend.name() == "simulate" {
            let text = String::from_utf8_lossy(lines).into_owned();
            let at = self.backend.picoseconds(0, self.backend.now());
            self.recorder.note(&Entry::Print { at, text })?;
            return Ok(());
        }
        match ranks::launch::print(lines) {
            Ok(()) => Ok(()),
            Err(error) => self.warn(Warning {
                code: "print-lost".into(),
                text: format!("standard output did not take what the program printed: {error}"),
                advice: "the measurement is whole; to see the lines, send standard output elsewhere".into(),
            }),
        }
    }

    /// Durations in seconds of this rank's samples so far whose label or operation is `name`, spilled ones
    /// included.
    ///
    /// # Errors
    /// Where the file of spilled samples cannot be read.
    pub fn durations(&self, name: &str) -> Result<Vec<f64>, Stop> {
        if self.recorder.counts_samples() {
            return Err(Stop::Program(format!(
                "the program asks for the durations of {name:?}, but samples are counted in histograms and not \
                 kept: run it with --record samples"
            )));
        }
        let wanted: Vec<bool> = self.recorder.sites().iter().map(|site| site.matches(name)).collect();
        let mut found = Vec::new();
        self.recorder.each(|sample| {
            if sample.batch > 0 && wanted.get(sample.site as usize).is_some_and(|wanted| *wanted) {
                found.push(sample.seconds());
            }
        })?;
        Ok(found)
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

    /// Keeps an assertion that the samples of all ranks decide.
    pub(super) fn claimed(&mut self, claim: ppl::claim::Claim) -> Result<(), Stop> {
        if self.recorder.counts_samples() {
            return Err(Stop::Program(
                "the program asserts something about samples, but they are counted in histograms and not kept: \
                 run it with --record samples"
                    .into(),
            ));
        }
        // What is under way belongs to what the program did before.
        self.complete_all()?;
        let at_ns = self.backend.since_epoch_ns(self.backend.now());
        Ok(self.recorder.note(&Entry::Claim { claim, at_ns })?)
    }

    /// Sleeps, unless sleeps are to be left out.
    pub fn sleep(&mut self, ns: u64) -> Result<(), Stop> {
        if self.skip_sleep { Ok(()) } else { self.pause(ns) }
    }

    /// Lets so many nanoseconds pass.
    pub fn pause(&mut self, ns: u64) -> Result<(), Stop> {
        let until = self.backend.now() + self.backend.ticks(ns);
        self.wait_until(until)
    }

    /// Lets time pass until `ticks`.
    pub fn wait_until(&mut self, ticks: u64) -> Result<(), Stop> {
        let begin = self.backend.now();
        let none_left = self.complete_until(ticks);
        if matches!(none_left, Ok(true)) {
            self.backend.wait_until(ticks, self.comm);
        }
        self.paused_ps += self.backend.picoseconds(begin, self.backend.now());
        none_left?;
        self.comm.stopped().map_or(Ok(()), |why| Err(why.into()))
    }

    /// The program is over: says when.
    pub fn over(&mut self) {
        let span = self.span(self.backend.since_epoch_ns(self.backend.now()));
        drop(self.recorder.note(&Entry::Span(span)));
    }

    /// Says what a finished or stopped rank still has to say, and how it ended.
    pub fn end(&mut self, result: &Result<(), Stop>) {
        // Of a program that broke off: what is done is stored, what was under way is waited for.
        drop(self.complete_all());
        for (site, count) in (0..).zip(std::mem::take(&mut self.failures)) {
            if count > 0 {
                drop(self.recorder.note(&Entry::Failures { site, count }));
            }
        }
        if let Some(sight) = self.backend.sight() {
            drop(self.recorder.note(&Entry::Sight(sight)));
        }
        for hints in self.backend.take_hints() {
            drop(self.recorder.note(&Entry::Hints(hints)));
        }
        for note in self.backend.take_notes() {
            // A full journal has been told already.
            drop(self.warn(note));
        }
        match result {
            Ok(()) => self.recorder.finish(record::State::Finished),
            Err(stop) => {
                let entry = Entry::Stop { text: stop.to_string(), usage: stop.usage() };
                drop(self.recorder.note(&entry));
                self.recorder.finish(record::State::Stopped);
            }
        }
    }
}
