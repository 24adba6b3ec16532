//! Runs a program on ranks and collects what they recorded.
//!
//! [`ranks()`] makes shared memory for every rank, forks them, lets each run the program's [`Body`],
//! and collects what they recorded, also from those that died.

mod claims;
mod collect;
mod confined;
mod facts;
mod foreseen;
mod job;
mod judge;
pub mod live;
mod options;
mod program;
mod progress;
mod stonewall;
mod tap;

use std::sync::Arc;

use crate::content::{Author, Dials, run_number};
use crate::driver::Seat;
use crate::execute::{Instrument, InstrumentSettings, Session, Stop};
use crate::files::{Cleaned, Moment, Ownership, Registry};
use clock::Clock;
use ranks::{Comm, CommError};
use ranks::{LaunchError, Placement, RankEnd, RanksView};
use record::{Entry, Recorder, SampleRegion, StaticSite};
use samples::{
    ClockFacts, ConfinementFacts, Coverage, Judgement, JudgementExample, JudgementKind, Judgements,
};

pub use crate::driver::BackendKind;
pub use claims::{AnswerOf, Answers};
pub use confined::can_confine;
pub use foreseen::foreseen;
pub use job::{JobSeat, JobShare, job};
pub use options::{Clean, Confine, Keep, Options};
pub use program::{Program, addresses, missing_space, options_of};
pub use tap::Tap;

/// A program, seen by the engine: its places, and what a rank does.
pub trait Body {
    /// Every place that yields samples.
    fn places(&self) -> &[StaticSite];

    /// How many operations a rank will do, as far as that is known; 0 where it is not.
    fn planned(&self, rank: u32) -> u64 {
        let _ = rank;
        0
    }

    /// Judges what ranks asserted about the samples of all of them.
    fn judge(&self, outcome: &mut RunOutcome) {
        let _ = outcome;
    }

    /// Runs the program as one rank.
    fn run(&self, session: &mut Session<'_>) -> Result<(), Stop>;
}

/// Why there is no run at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No memory for samples.
    #[error(
        "cannot make shared memory for the samples of rank {rank}, and in {} a file for those that do not \
         fit: {error}; {}",
        spill.display(),
        way_out(error)
    )]
    Memory {
        /// The rank.
        rank: u32,
        /// The directory for temporary files.
        spill: std::path::PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },
    /// Nothing can be put into the directory for temporary files.
    #[error(
        "the directory for temporary files, {}, cannot be used ({error}): set TMPDIR to one that can be written to",
        spill.display()
    )]
    Temporary {
        /// That directory.
        spill: std::path::PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },
    /// More ranks than the memory is enough for.
    #[error(
        "{ranks} ranks need at least {needed} of memory, and {available} are free; start fewer with `-n`"
    )]
    Ranks {
        /// Ranks that were asked for.
        ranks: u32,
        /// What they need.
        needed: String,
        /// What there is.
        available: String,
    },
    /// Too little memory for what the program measures.
    #[error(
        "the program uses {wanted} of memory, and {available} can be used without swapping; give it smaller sizes \
         (`--set size=…` or `largest=…`, as it calls them)"
    )]
    WorkingSet {
        /// What can be used.
        available: String,
        /// What the program says.
        wanted: String,
    },
    /// Too little room for the program's files.
    #[error("the program needs {wanted} in {directory}, and {free} are free there")]
    Space {
        /// Where the files go.
        directory: String,
        /// What there is.
        free: String,
        /// What is needed.
        wanted: String,
    },
    /// Its files would fill the disk.
    #[error(
        "the program's files need at least {needed}, and {free} are free, of which it takes nine tenths at most (--fill lets it take all)"
    )]
    Fill {
        /// What its files take.
        needed: String,
        /// What there is.
        free: String,
    },
    /// The kernel was to confine the program, and cannot.
    #[error(
        "--require-confinement: {why}; without that option only paths are checked, by which a program is confined \
         as well but for defects of lastrank"
    )]
    Unconfined {
        /// Why.
        why: String,
    },
    /// A program cannot be kept in a room.
    #[error("--room cannot be kept here: {why}")]
    Room {
        /// Why.
        why: String,
    },
    /// Ranks could not be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// What to change where memory and files of samples are refused.
fn way_out(error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EFBIG) => "raise `ulimit -f`, which limits the size of files and of shared memory",
        _ => "see `ulimit -v`, `ulimit -n` and TMPDIR, or start fewer ranks",
    }
}

/// Operations of one site that did not end as the program says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteFailures {
    /// Index into [`samples::Run::sites`].
    pub site: u32,
    /// How many, on all ranks.
    pub count: u64,
    /// The first few in words, with their ranks.
    pub examples: Vec<String>,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// Samples, sites and facts; `facts.complete` says whether every rank reached the end.
    pub run: samples::Run,
    /// How each rank ended.
    pub ends: Vec<RankEnd>,
    /// The signal that asked the run to stop, if one did.
    pub stopped: Option<i32>,
    /// Assertions about samples, still to be judged.
    pub(crate) claims: Vec<claims::Claimed>,
    /// What could be seen of the causes of slow operations; `None` where nobody looked.
    pub coverage: Option<Coverage>,
    /// What was removed afterwards, where anything was to be removed.
    pub cleaned: Option<Cleaned>,
    /// What simulated ranks printed, in the order of virtual time.
    pub printed: String,
}

impl RunOutcome {
    /// What was found.
    pub fn judgements(&self) -> std::borrow::Cow<'_, Judgements> {
        self.run.judgements()
    }

    /// The exit status this run asks for: 0 ok, 1 an assertion did not hold, 2 the program is at fault,
    /// 3 incomplete or failed operations.
    pub fn exit_status(&self) -> u8 {
        self.judgements().status()
    }

    /// Operations that did not end as the program says, by site.
    pub fn failures(&self) -> Vec<SiteFailures> {
        let mut all: std::collections::BTreeMap<u32, SiteFailures> = std::collections::BTreeMap::new();
        for found in self.judgements().found.iter().filter(|one| one.kind.is_of_operations()) {
            let Some(site) = found.site else { continue };
            let known = all.entry(site).or_insert_with(|| SiteFailures { site, ..SiteFailures::default() });
            known.count += found.count;
            known.examples.extend(found.examples.iter().map(JudgementExample::told));
        }
        all.into_values().collect()
    }

    /// Assertions that do not hold, or cannot be judged, in words.
    pub fn assertions(&self) -> Vec<String> {
        let found = self.judgements();
        let fault = found.of(JudgementKind::ProgramAtFault).filter(|one| !one.what.is_empty());
        let unevaluated = found.of(JudgementKind::AssertionNotEvaluated);
        let of = found.of(JudgementKind::AssertionFailed).chain(unevaluated).chain(fault);
        of.flat_map(|one| one.examples.iter().map(|example| example.text.clone())).collect()
    }

    /// Adds what was found after the ranks had ended.
    pub(crate) fn judged(&mut self, judgement: Judgement) {
        self.run.facts.judgements.get_or_insert_default().add(judgement);
    }
}

/// Runs `body` on forked ranks of this machine. `watch` is called about ten times a second.
///
/// The caller must have one thread only.
///
/// # Errors
/// Where the run could not begin; how it ended otherwise stands in the [`RunOutcome`].
pub fn ranks<T: Body>(
    body: &T,
    options: &Options,
    watch: impl FnMut(&RanksView),
) -> Result<RunOutcome, RunError> {
    options::enough_memory(options.launch.ranks)?;
    let confined = confined::decide(options, false)?;
    let (begun, out_of_memory) = (Moment::now(), options::killed_for_memory());
    if options.causes {
        perf::prepare(options.launch.ranks);
    }
    let (clock, description) = clock_for(options);
    ranks::board::prepare(options.launch.timeout)
        .map_err(|error| LaunchError::Memory { ranks: options.launch.ranks, error })?;
    let limit = options.samples_per_rank(options.launch.ranks);
    options::allow_descriptors(2 * u64::from(options.launch.ranks) + 64);
    let regions: Vec<Arc<SampleRegion>> = (0..options.launch.ranks)
        .map(|rank| {
            match &options.live {
                Some(live) => live.region(rank, limit),
                None => SampleRegion::new(rank, limit, &options.spill_directory),
            }
            .map(Arc::new)
            .map_err(|error| no_memory(rank, options, error))
        })
        .collect::<Result<_, _>>()?;
    if let Some(tap) = &options.tap {
        tap.open(&regions);
    }
    let mut timing = facts::Timing::begin(clock, description);
    let clock = timing.clock;
    let own = confined::ownership(options, false);
    let placement = if options.backend.capabilities().virtual_time {
        Placement::default()
    } else {
        Placement::choose(options.pin, options.launch.ranks)
    };
    let (read_before, reads_before) = (facts::device_read_bytes(), facts::device_reads());
    let ended = ranks::processes(
        &options.launch,
        |world| {
            placement.pin_rank(world.rank());
            let region = Arc::clone(&regions[world.rank() as usize]);
            let own = own.clone();
            work(body, options, &world, Recording { region, clock, begun, own, confined: &confined })
        },
        watch,
    )?;
    timing.end();
    let read = facts::device_read_bytes().saturating_sub(read_before);
    let reads = facts::reads_between(reads_before, facts::device_reads());
    if let Some(tap) = &options.tap {
        tap.close();
    }
    let (left, cleaned) = collect::leftovers(options, &regions, &own, ended.complete());
    let parts = collect::Parts { left, ended, timing, cleaned, ranks: options.launch.ranks };
    let mut outcome = collect::collect(options, parts);
    if outcome.ends.contains(&RankEnd::Killed(libc::SIGKILL))
        && let Some(told) = told_of_memory(options::killed_for_memory() - out_of_memory)
    {
        let text = told.clone();
        let example = JudgementExample { text, ..JudgementExample::default() };
        outcome.judged(Judgement {
            kind: JudgementKind::CutShort,
            what: "the kernel, for lack of memory".into(),
            count: 1,
            examples: vec![example],
            ..Judgement::default()
        });
        outcome.run.facts.failures.push(told);
    }
    outcome.run.facts.confinement = told(options, confined.facts);
    outcome.run.facts.placement = placement.describe();
    if !options.backend.capabilities().virtual_time {
        (outcome.run.facts.device_read_bytes, outcome.run.facts.device_reads) = (Some(read), reads);
    }
    body.judge(&mut outcome);
    Ok(outcome)
}

/// Why there is no room for the samples of a rank.
fn no_memory(rank: u32, options: &Options, error: std::io::Error) -> RunError {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    let spill = options.spill_directory.clone();
    match error.kind() {
        NotFound | NotADirectory | PermissionDenied | ReadOnlyFilesystem => {
            RunError::Temporary { spill, error }
        }
        _ => RunError::Memory { rank, spill, error },
    }
}

/// Samples whose memory is populated before the program begins, if so many are expected (64 MiB).
const READY: usize = 1 << 20;
/// The same where they are counted (4 MiB).
const READY_COUNTING: usize = 1 << 16;

/// Why a rank may have been killed.
fn told_of_memory(killed: u64) -> Option<String> {
    let processes = if killed == 1 { "1 process".to_owned() } else { format!("{killed} processes") };
    (killed > 0).then(|| {
        format!(
            "the kernel killed {processes} for lack of memory during the run: use less, or start fewer ranks"
        )
    })
}

/// The name of this machine; empty where it has none.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

fn no_random_numbers(error: std::io::Error) -> String {
    format!("this system gives no random numbers (getrandom: {error})")
}

fn clock_for(options: &Options) -> (Clock, Option<ClockFacts>) {
    if options.backend.capabilities().virtual_time {
        return (Clock::monotonic(), None);
    }
    let (clock, description) = match options.clock {
        None => Clock::choose(),
        Some(kind) => Clock::of_kind(kind),
    };
    (clock, Some(description))
}

/// Where a rank records, by which clock, since when files count as its own, and how it is confined.
struct Recording<'a> {
    region: Arc<SampleRegion>,
    clock: Clock,
    begun: Moment,
    own: Ownership,
    confined: &'a confined::Decided,
}

/// The fact of a run that touched files.
fn told(options: &Options, confined: ConfinementFacts) -> Option<ConfinementFacts> {
    (!options.backend.capabilities().virtual_time).then_some(confined)
}

/// What one rank does from its birth to its end.
fn work<T: Body>(
    body: &T,
    options: &Options,
    world: &dyn Comm,
    recording: Recording<'_>,
) -> Result<(), String> {
    let Recording { region, clock, begun, own, confined } = recording;
    // A file that grows past `ulimit -f` then fails with EFBIG, which is an answer, instead of killing.
    // SAFETY: ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    region.set_rank(world.rank());
    let registry = Registry::new(&region, begun);
    let mut recorder = Recorder::new(region).map_err(|error| format!("no memory for samples: {error}"))?;
    // Operations, of which the progress tells; the samples of labels and barriers come on top.
    let operations = body.planned(world.rank());
    let planned = operations.max(options.expected_samples);
    if options.keep == Keep::Histogram {
        recorder.count_samples();
    }
    // Populating more beforehand is an optimisation; the recorder grows by itself.
    let ready = if recorder.counts_samples() { READY_COUNTING } else { READY };
    drop(recorder.reserve(usize::try_from(planned).unwrap_or(usize::MAX).min(ready)));
    // Virtual time begins at 0.
    let is_virtual = options.backend.capabilities().virtual_time;
    let offsets = if is_virtual {
        world.virtual_clocks(0).map_err(|error| error.to_string())?
    } else {
        let mut now = || clock.since_epoch_ns(clock.now());
        world.clock_offsets(&mut now).map_err(|error| error.to_string())?
    };
    // An empty journal has room for all of them.
    drop(recorder.note(&Entry::ClockOffsets(offsets)));
    drop(recorder.note(&Entry::Communicator(world.description())));
    drop(recorder.note(&Entry::Host(world.host().unwrap_or_else(host))));
    let nodes = world.nodes();
    if !nodes.is_empty() {
        drop(recorder.note(&Entry::Nodes(nodes)));
    }
    if let Some(facts) = world.facts() {
        drop(recorder.note(&Entry::Mpi(facts)));
    }
    // The number of the run, in everything that it writes, is the largest that a rank drew.
    let number = if is_virtual { 0 } else { run_number().map_err(no_random_numbers)? };
    let number = world.barrier(number).map_err(|error| error.to_string())?;
    let name = if is_virtual { 0 } else { ranks::random_number().map_err(no_random_numbers)? >> 32 };
    let name = world.barrier(name).map_err(|error| error.to_string())?;
    let author = Author {
        run: number,
        name: name as u32,
        rank: world.rank(),
        ranks: world.size(),
        dials: options.dials,
        copies: options.copies && options.dials == Dials::default(),
    };
    let seat = Seat { rank: world.rank(), ranks: world.size(), seed: options.seed };
    let driver = options.backend.connect(seat)?;
    let confinement = confined::checks(options, confined);
    let settings = InstrumentSettings {
        clock,
        author,
        registry,
        ownership: own,
        confinement: confinement.clone(),
        stop: world.stop_flag(),
        causes: options.causes,
    };
    let instrument = Instrument::new(driver, settings);
    // From here on this thread can open what the program may, and nothing else.
    confined::enter(&confinement, confined)?;
    let session = Session::new(instrument, recorder, world, body.places());
    run(body, options, session, operations)
}

fn run<T: Body>(body: &T, options: &Options, mut session: Session<'_>, planned: u64) -> Result<(), String> {
    session.set_on_error(options.on_error);
    session.set_skip_sleep(options.skip_sleep);
    session.set_planned(planned);
    session.begin();
    let mut result = body.run(&mut session);
    session.over();
    if result.is_ok() && session.rank_count() > 1 {
        // Every rank has ended or will; a rank lost from here on is reported by its parent. One that waits at
        // another statement never will.
        if let Err(apart @ Stop::Comm(CommError::Apart { .. })) = session.compare_clocks() {
            result = Err(apart);
        }
    }
    session.end(&result);
    result.map_err(|stop| stop.to_string())
}
