//! One rank at work: does, times and stores operations.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use samples::{Outcome, RankSpan, Sample, Warning};

use super::open_blocks::OpenBlocks;
use super::own_time::OwnTime;
use super::paces::Paces;
use super::state::{InFlight, Spot};
use super::stop::{OnError, Stop};
use crate::content::Wrong;
use crate::execute::call::{Call, Collective, Meaning, NoKernel, Timed};
use crate::execute::instrument::Instrument;
use crate::files::Refusal;
use ppl::commands::Command;
use probes::Request;
use ranks::meeting::MeetingKind;
use ranks::{Comm, RankStatus};
use record::{Entry, FailureKey, Recorder, SiteTable, StaticSite};

/// One rank at work.
pub struct Session<'a> {
    pub(in crate::execute) instrument: Instrument,
    pub(in crate::execute) recorder: Recorder,
    pub(in crate::execute) sites: SiteTable,
    pub(in crate::execute) comm: &'a dyn Comm,
    pub(in crate::execute) standing: &'a RankStatus,
    pub(in crate::execute) places: &'a [StaticSite],
    /// By place.
    pub(in crate::execute) spots: Arc<[Spot]>,
    pub(in crate::execute) in_flight: InFlight,
    pub(in crate::execute) rank: u32,
    pub(in crate::execute) on_error: OnError,
    pub(in crate::execute) skip_sleep: bool,
    /// How late operations are.
    pub(in crate::execute) paces: Paces,
    /// Time inside commands so far, and bytes moved: `ctime` blocks take differences.
    pub(in crate::execute) commands_ps: u64,
    pub(in crate::execute) bytes: u64,
    pub(in crate::execute) queue_ns: u64,
    /// Operations done so far, and how many there will be; 0: not known.
    pub(in crate::execute) operations: u64,
    pub(in crate::execute) planned: u64,
    /// When the program began, and how long it paused.
    began_ns: u64,
    pub(in crate::execute) paused_ps: u64,
    pub(super) own_time: OwnTime,
    pub(in crate::execute) blocks: OpenBlocks,
    /// How many operations failed alike.
    pub(in crate::execute) failures: HashMap<FailureKey, u64>,
    /// Reads are compared with what was written.
    pub(in crate::execute) verify: bool,
    /// Where the operation done last read something else, and what.
    pub(in crate::execute) wrong: Option<Wrong>,
    pub(in crate::execute) noted: Vec<String>,
    /// Bytes that the rank and its workers have printed.
    pub(super) printed: Arc<AtomicU64>,
}

impl<'a> Session<'a> {
    /// A rank of `comm` that records into `recorder` what happens at `places`.
    pub fn new(
        instrument: Instrument,
        recorder: Recorder,
        comm: &'a dyn Comm,
        places: &'a [StaticSite],
    ) -> Self {
        let spots = places.iter().map(Spot::of).collect();
        Self::with_spots(instrument, recorder, comm, (places, spots))
    }

    fn with_spots(
        instrument: Instrument,
        recorder: Recorder,
        comm: &'a dyn Comm,
        (places, spots): (&'a [StaticSite], Arc<[Spot]>),
    ) -> Self {
        Self {
            instrument,
            sites: SiteTable::new(places.len()),
            recorder,
            comm,
            standing: comm.status(),
            places,
            spots,
            in_flight: InFlight::default(),
            rank: comm.rank(),
            on_error: OnError::default(),
            skip_sleep: false,
            paces: Paces::default(),
            commands_ps: 0,
            bytes: 0,
            queue_ns: 0,
            operations: 0,
            planned: 0,
            began_ns: 0,
            paused_ps: 0,
            own_time: OwnTime::default(),
            blocks: OpenBlocks::new(),
            failures: HashMap::new(),
            verify: false,
            wrong: None,
            noted: Vec::new(),
            printed: Arc::default(),
        }
    }

    /// What a worker's session has from this one.
    pub(in crate::execute) fn settings(&self) -> SessionSettings<'a> {
        SessionSettings {
            places: self.places,
            spots: Arc::clone(&self.spots),
            sites: self.sites.clone(),
            noted: self.noted.clone(),
            printed: Arc::clone(&self.printed),
            on_error: self.on_error,
            skip_sleep: self.skip_sleep,
            rank: self.rank,
            rank_count: self.comm.size(),
            paces: self.paces.clone(),
        }
    }

    /// Gives every place its number outside of blocks with labels: a program of which each statement is done once would spend
    /// more on their numbers than on its operations. Where ranks do different parts of a long program each number would be
    /// given by all of them: there the first operation at a place gives it.
    fn number_places(&mut self) {
        const MOST: usize = 1_000_000;
        if self.places.len().saturating_mul(self.rank_count() as usize) <= MOST {
            let Self { sites, recorder, places, .. } = self;
            let mut numbers = places.iter().enumerate();
            // Where there is no room for them the operations say so.
            let _ = numbers.try_for_each(|(at, place)| sites.prepare(at, recorder, place.clone()));
        }
    }

    /// The program begins now.
    pub fn begin(&mut self) {
        self.number_places();
        let now = self.instrument.now();
        self.began_ns = self.instrument.since_epoch_ns(now);
        self.own_time.count_from(now, self.commands_ps);
        let span = self.span(0);
        // An empty journal has room for it.
        drop(self.recorder.note(&Entry::Span(span)));
    }

    pub(super) fn span(&self, end_ns: u64) -> RankSpan {
        RankSpan { rank: self.rank, begin_ns: self.began_ns, end_ns, paused_ns: self.paused_ps / 1000 }
    }

    /// The number of this rank in the world.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The ranks of the world.
    pub fn comm(&self) -> &dyn Comm {
        self.comm
    }

    /// Ranks in the world.
    pub fn rank_count(&self) -> u32 {
        self.comm.size()
    }

    /// Compares the ranks' clocks once more, at the end of the program. Collective.
    pub fn compare_clocks(&mut self) -> Result<(), Stop> {
        self.comes_to(MeetingKind::End, 0, 0);
        let instrument = &self.instrument;
        let mut now = || instrument.since_epoch_ns(instrument.now());
        let offsets = if instrument.is_virtual() {
            self.comm.virtual_clocks(now())?
        } else {
            self.comm.clock_offsets(&mut now)?
        };
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

    /// When the operations that follow were meant to begin, in ns since the run's epoch; all of them are as late as
    /// the first. `None`: what counted before counts again.
    pub fn set_intended(&mut self, ns: Option<u64>) {
        match ns {
            Some(ns) => self.paces.enter(ns),
            None => self.paces.leave(),
        }
    }

    /// The number of a place's site under the labels around it now.
    #[inline(always)]
    pub(in crate::execute) fn site(&mut self, place: usize) -> Result<u32, Stop> {
        let places = self.places;
        Ok(self.sites.site(place, &mut self.recorder, || places.get(place).cloned().unwrap_or_default())?)
    }

    pub(in crate::execute) fn line(&self, place: usize) -> u32 {
        self.spots.get(place).map_or(0, |spot| spot.line)
    }

    /// The command at a place, and its line.
    #[inline(always)]
    pub(in crate::execute) fn command(&self, place: usize) -> (Option<Command>, u32) {
        self.spots.get(place).map_or((None, 0), |spot| (spot.command, spot.line))
    }

    /// What is done at a place, in the words of the program.
    pub(in crate::execute) fn operation_name(&self, place: usize) -> &'a str {
        self.places.get(place).map_or("", |place| place.operation.as_str())
    }

    fn refused(line: u32, refusal: Refusal) -> Stop {
        Stop::Refused { line, refusal: Box::new(refusal) }
    }

    /// Does, times and stores one operation. What to make of a failed one is the caller's
    /// decision: [`Session::failed`] if the program did not foretell it.
    #[inline(always)]
    pub fn operation(&mut self, place: usize, call: Call<'_>) -> Result<Outcome, Stop> {
        let site = self.site(place)?;
        self.recorder.begin(site);
        let (command, line) = self.command(place);
        self.standing.set_line(line);
        match self.instrument.perform_frequent(command, call) {
            Some(timed) => {
                let timed = self.verified(&call, timed);
                self.keep(site, timed)
            }
            None => self.other_operation((site, line), command, call),
        }
    }

    #[inline(never)]
    fn other_operation(
        &mut self,
        (site, line): (u32, u32),
        command: Option<Command>,
        call: Call<'_>,
    ) -> Result<Outcome, Stop> {
        match self.instrument.perform(command, call) {
            Ok(timed) => {
                let timed = self.verified(&call, timed);
                self.keep(site, timed)
            }
            Err(refusal) => Err(Self::refused(line, refusal)),
        }
    }

    /// Stores an operation, unless it was broken off: it has no meaningful duration then.
    #[inline(always)]
    fn keep(&mut self, site: u32, timed: Timed) -> Result<Outcome, Stop> {
        if timed.outcome.errno == libc::ECANCELED
            && let Some(stop) = self.interrupted()
        {
            return Err(stop);
        }
        self.store(site, timed)?;
        Ok(timed.outcome)
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
        let (command, line) = self.command(place);
        self.standing.set_line(line);
        self.comes_to(MeetingKind::Command, line, place);
        match self.instrument.together(command, what, group.unwrap_or(self.comm)) {
            Ok(timed) if timed.outcome.errno == libc::ECANCELED => match self.interrupted() {
                Some(stop) => Err(stop),
                None => Ok(timed.outcome),
            },
            Ok(timed) => {
                let compares = self.verify && timed.outcome.ok() && what.reads();
                let timed = if compares { self.compared(timed) } else { timed };
                self.store(site, timed)?;
                Ok(timed.outcome)
            }
            Err(refusal) => Err(Self::refused(line, refusal)),
        }
    }

    /// Runs `count` operations of a kernel as one sample. One that cannot be built is an outcome with an
    /// errno, and a note.
    pub fn kernel(&mut self, place: usize, request: Request, count: u32) -> Result<Outcome, Stop> {
        self.complete_all()?;
        let site = self.site(place)?;
        self.recorder.begin(site);
        let (command, line) = self.command(place);
        match self.instrument.kernel(command, request, count) {
            Ok(timed) => {
                // One that was broken off did what it did until then, in that time.
                let stop = (timed.outcome.errno == libc::ECANCELED).then(|| self.interrupted()).flatten();
                let errno = if stop.is_some() { 0 } else { timed.outcome.errno };
                let outcome = Outcome { errno, ..timed.outcome };
                self.store(site, Timed { outcome, ..timed })?;
                stop.map_or(Ok(outcome), Err)
            }
            Err(NoKernel::Refused(refusal)) => Err(Self::refused(line, refusal)),
            Err(NoKernel::Failed(error)) => {
                let operation = self.operation_name(place);
                let text = format!("line {line}: {operation}: {error}");
                self.warn(Warning { code: format!("no-{operation}"), text, advice: String::new() })?;
                let (now, outcome) = (self.instrument.now(), Outcome::error(NoKernel::errno(&error)));
                self.store(site, Timed { begin: now, end: now, outcome, ..Timed::default() })?;
                Ok(outcome)
            }
        }
    }

    /// Should this rank leave, because another is lost or the user pressed Ctrl-C?
    #[inline]
    pub fn interrupted(&self) -> Option<Stop> {
        self.comm.stopped().map(Stop::Comm)
    }

    /// Is [`Session::interrupted`] some reason?
    #[inline(always)]
    pub(in crate::execute) fn is_interrupted(&self) -> bool {
        self.comm.is_stopped()
    }

    /// Says where the operation that begins stands.
    #[inline(always)]
    pub(in crate::execute) fn begin_at(&self, site: u32, line: u32) {
        self.recorder.begin(site);
        self.standing.set_line(line);
    }

    /// How late an operation is that began at `begin`.
    #[inline(always)]
    pub(in crate::execute) fn late(&mut self, begin: u64) -> u64 {
        self.paces.known().unwrap_or_else(|| self.first_late(begin))
    }

    /// How late the first operation of a block is that was to begin at a time.
    #[inline(never)]
    fn first_late(&mut self, begin: u64) -> u64 {
        let start_ns = self.instrument.since_epoch_ns(begin);
        self.paces.first(start_ns)
    }

    #[inline(always)]
    pub(super) fn store(&mut self, site: u32, timed: Timed) -> Result<(), Stop> {
        let late_ns = self.late(timed.begin);
        self.store_late(site, timed, late_ns)
    }

    #[inline(always)]
    pub(in crate::execute) fn store_late(
        &mut self,
        site: u32,
        timed: Timed,
        late_ns: u64,
    ) -> Result<(), Stop> {
        let duration_ps = self.instrument.picoseconds(timed.begin, timed.end);
        self.operations += 1;
        let bytes = if timed.meaning == Meaning::Bytes { timed.outcome.value } else { 0 };
        self.commands_ps += duration_ps;
        self.bytes += bytes;
        self.queue_ns += timed.seen.queue_ns;
        let start_ns = self.instrument.since_epoch_ns(timed.begin);
        // What was seen reaches a little beyond the two clock reads.
        let (queue_ns, blocked_ns) = match timed.seen.queue_ns | timed.seen.blocked_ns {
            0 => (0, 0),
            _ => {
                let most = duration_ps / 1000;
                let blocked_ns = u32::try_from(timed.seen.blocked_ns.min(most)).unwrap_or(u32::MAX);
                (timed.seen.queue_ns.min(most), blocked_ns)
            }
        };
        let cpu = match timed.seen.cpu {
            u16::MAX => self.instrument.processor(),
            seen => seen,
        };
        let rank = self.rank;
        self.recorder.push_with(|| Sample {
            start_ns,
            duration_ps,
            late_ns,
            bytes,
            queue_ns,
            blocked_ns,
            site,
            rank,
            errno: timed.outcome.errno,
            batch: timed.batch.max(1),
            cpu,
            causes: timed.outcome.causes.0 | timed.seen.causes.0,
        })?;
        self.standing.set_recorded(self.recorder.total(), self.bytes);
        self.standing.set_progress(self.operations, self.planned);
        Ok(())
    }
}

/// What the sessions of workers share with that of their rank.
#[derive(Clone)]
pub(in crate::execute) struct SessionSettings<'a> {
    places: &'a [StaticSite],
    spots: Arc<[Spot]>,
    sites: SiteTable,
    noted: Vec<String>,
    printed: Arc<AtomicU64>,
    on_error: OnError,
    skip_sleep: bool,
    rank: u32,
    rank_count: u32,
    paces: Paces,
}

impl<'a> SessionSettings<'a> {
    pub(in crate::execute) fn rank(&self) -> u32 {
        self.rank
    }

    pub(in crate::execute) fn rank_count(&self) -> u32 {
        self.rank_count
    }

    pub(in crate::execute) fn worker<'w>(
        self,
        instrument: Instrument,
        recorder: Recorder,
        comm: &'w dyn Comm,
    ) -> Session<'w>
    where
        'a: 'w,
    {
        let session = Session::with_spots(instrument, recorder, comm, (self.places, self.spots));
        Session {
            sites: self.sites,
            noted: self.noted,
            printed: self.printed,
            on_error: self.on_error,
            skip_sleep: self.skip_sleep,
            paces: self.paces,
            ..session
        }
    }
}
