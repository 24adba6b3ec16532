//! One process of an MPI job: runs its rank and brings the samples together.
//!
//! The rank runs in a process forked by ours. When all ranks reached the end of a run of moderate size,
//! rank 0 gathers every record and hands them to its parent, which has the whole run. When one did
//! not, or there are many samples, each parent keeps what its own rank recorded: a part.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use super::{
    Body, Options, Recording, RunError, RunOutcome, clock_for, collect, confined, facts, no_memory, told,
    work,
};
use crate::files::{Moment, Ownership};
use crate::mpi::Job;
use ranks::Comm;
use ranks::{RankEnd, RanksView};
use record::{RankRecord, SampleRegion, read};

/// What this process has of the run.
#[derive(Debug)]
pub enum JobShare {
    /// All ranks' samples: only rank 0 has this, and only of a complete run.
    Whole(Box<RunOutcome>),
    /// The samples of this process's own rank: some rank did not reach the end, or the run is large.
    Part(Box<RunOutcome>),
    /// The run is complete, and rank 0 has it.
    AtRankZero,
    /// Some process refused the run before it began ([`JobSeat::refuses`]): no rank did anything.
    Refused,
}

/// So many samples of all ranks (64 bytes each) are gathered; of more, every rank keeps its own part, so
/// that memory is bounded and no rank waits for one that writes everything.
const GATHERED: u64 = 2_000_000;
/// The first byte that a rank hands to its parent.
const WHOLE: u8 = 1;
const PARTS: u8 = 2;
const REFUSED: u8 = 3;

/// One process's part in an MPI job.
#[derive(Clone, Copy)]
pub struct JobSeat<'a> {
    /// The job, as the launcher describes it.
    pub job: &'a Job,
    /// A directory that all processes of the job share.
    pub directory: &'a Path,
    /// The run is not to begin, on any rank: one process that ended by itself would leave the others waiting in their MPI
    /// library.
    pub refuses: bool,
}

/// Runs `body` as one rank of an MPI job. `save` is called once with what this process has, before any
/// process of an incomplete run ends. Returns, on rank 0, the ranks that did not answer after one.
///
/// # Errors
/// Where no MPI world can be made, or the rank cannot be started.
pub fn job<T: Body>(
    body: &T,
    options: &Options,
    JobSeat { job, directory, refuses }: JobSeat<'_>,
    save: impl FnOnce(JobShare),
    watch: impl FnMut(&RanksView),
) -> Result<Vec<u32>, RunError> {
    let confined = confined::decide(options, true)?;
    let begun = Moment::now();
    let rank = job.rank();
    perf::expect(job.ranks().unwrap_or(u32::MAX));
    let memory = |error| no_memory(rank, options, error);
    let (clock, description) = clock_for(options);
    // Ranks of other nodes have memory of their own.
    let here = crate::mpi::local_ranks().or(job.ranks()).unwrap_or(options.launch.ranks);
    let limit = options.samples_per_rank(here);
    let region = Arc::new(SampleRegion::new(rank, limit, &options.spill_directory).map_err(memory)?);
    let gathered = unnamed(&options.spill_directory).map_err(memory)?;
    ranks::board::prepare_carried(options.launch.timeout).map_err(memory)?;
    let mut timing = facts::Timing::begin(clock, description);
    let clock = timing.clock;
    let regions = [Arc::clone(&region)];
    let own = confined::ownership(options, true);
    let ends = job.run(
        &options.launch,
        directory,
        |world| {
            // All epochs begin together, as near as a barrier brings them: clock offsets tell the rest.
            if world.barrier(refuses.into()).map_err(|error| error.to_string())? > 0 {
                return hand(&gathered, &[REFUSED]);
            }
            let recording = Recording {
                region: Arc::clone(&region),
                clock: clock.restarted(),
                begun,
                own: owned_together(world, &own, begun)?,
                confined: &confined,
            };
            work(body, options, world, recording)?;
            hand_over(world, &region, &gathered)
        },
        |ended| {
            if is_refused(&gathered) {
                return save(JobShare::Refused);
            }
            timing.end();
            let (own, cleaned) = collect::leftovers(options, &regions, &own, ended.complete());
            let (elsewhere, whole) = if ended.complete() { read_back(&gathered) } else { (false, None) };
            let share = match whole {
                None if elsewhere && rank > 0 => JobShare::AtRankZero,
                found => {
                    let is_whole = found.is_some();
                    let left = found.map_or(own, collect::Left::of);
                    let ranks = job.ranks().unwrap_or(left.ranks() as u32);
                    let mut ended = ended.clone();
                    if is_whole {
                        ended.ends = vec![RankEnd::Finished; left.ranks()];
                    }
                    let parts = collect::Parts { left, ended, timing, cleaned, ranks };
                    let mut outcome = Box::new(collect::collect(options, parts));
                    outcome.run.facts.confinement = told(options, confined.facts.clone());
                    body.judge(&mut outcome);
                    if is_whole { JobShare::Whole(outcome) } else { JobShare::Part(outcome) }
                }
            };
            save(share);
        },
        watch,
    )?;
    Ok(ends.silent)
}

/// What the run owns, known to all ranks of this machine: they meet here before any of them is confined.
fn owned_together(world: &dyn Comm, own: &Ownership, begun: Moment) -> Result<Ownership, String> {
    let words = |error: ranks::CommError| error.to_string();
    let mut own = own.clone();
    let mut tickets = world.gather(0, &own.ticket()).map_err(words)?.unwrap_or_default().concat();
    world.broadcast(0, &mut tickets).map_err(words)?;
    let are_elsewhere = own.join(&tickets, world.rank());
    // Nobody ends before all have looked, and one that is not reached is elsewhere for all.
    let are_elsewhere = world.barrier(are_elsewhere.into()).map_err(words)? > 0;
    Ok(if are_elsewhere { own.with_ranks_elsewhere_since(begun) } else { own })
}

/// Brings every rank's record to rank 0, which leaves them in `file` for its parent; where there are too
/// many samples for that, every rank says so to its parent.
fn hand_over(world: &dyn Comm, region: &SampleRegion, file: &File) -> Result<(), String> {
    let record = read(region).map_err(|error| error.to_string())?;
    let most = world.barrier(record.samples.len() as u64).map_err(|error| error.to_string())?;
    let large = most.saturating_mul(u64::from(world.size())) > GATHERED;
    let mut all = None;
    if !large {
        all = world.gather(0, &record.to_bytes()).map_err(|error| error.to_string())?;
    }
    hand(file, &[if large { PARTS } else { WHOLE }])?;
    for bytes in all.into_iter().flatten() {
        hand(file, &(bytes.len() as u64).to_le_bytes())?;
        hand(file, &bytes)?;
    }
    Ok(())
}

fn hand(mut file: &File, bytes: &[u8]) -> Result<(), String> {
    file.write_all(bytes)
        .map_err(|error| format!("cannot hand the samples over to the parent process: {error}"))
}

/// Whether the rank was told that the run does not begin.
fn is_refused(mut file: &File) -> bool {
    let mut first = [0];
    file.seek(SeekFrom::Start(0)).is_ok() && file.read_exact(&mut first).is_ok() && first == [REFUSED]
}

/// Whether rank 0 has the whole run, and the records where that is here.
fn read_back(mut file: &File) -> (bool, Option<Vec<RankRecord>>) {
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).is_err() {
        return (false, None);
    }
    match bytes.split_first() {
        Some((&WHOLE, records)) => (true, records_in(records)),
        _ => (false, None),
    }
}

fn records_in(mut rest: &[u8]) -> Option<Vec<RankRecord>> {
    let mut records = Vec::new();
    while let Some((length, tail)) = rest.split_first_chunk::<8>() {
        let (one, tail) = tail.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        records.push(RankRecord::from_bytes(one)?);
        rest = tail;
    }
    (!records.is_empty()).then_some(records)
}

/// A file without a name that parent and rank share.
fn unnamed(directory: &Path) -> std::io::Result<File> {
    record::unnamed_file(directory)
}
