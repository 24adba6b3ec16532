//! How does a program become a run under MPI?

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::collect::collect;
use super::facts::Timing;
use super::{Body, Options, Outcome, RunError, clock_for, options, work};
use crate::clock::Clock;
use crate::comm::Comm;
use crate::comm::mpi::Mpi;
use crate::files::Moment;
use crate::launch::{Delivery, Job, Watch};
use crate::record::{RankRecord, Region, pack, read, unpack};

/// What is to be done with the outcome that a process of a job has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It holds the samples of all ranks: write the run file.
    Whole,
    /// It holds the samples of this rank: write this part of the run.
    Part(u32),
    /// The process of rank 0 has the samples of this rank as well: write nothing.
    Elsewhere,
}

/// So many samples of all ranks (64 bytes each) are gathered; of more, every rank writes its own part.
const GATHERED: u64 = 2_000_000;

/// What the rank tells its parent after the program, before the records of all ranks.
#[derive(Serialize, Deserialize)]
struct Head {
    gathered: bool,
    offsets_ns: Vec<[i64; 2]>,
    parts: Vec<usize>,
}

/// Runs `body` as this process's rank of an MPI job.
///
/// `directory` is one that the processes share: where the run file goes. `save` is called once in
/// every process, whatever happened, with what that process holds: it writes that and prints what
/// failed. When a rank is lost every rank keeps its own part. `options.launch.ranks` is the job's
/// size, whatever it was.
///
/// # Errors
/// Where the run could not begin; every process of the job meets such an error, so that rank 0
/// should tell it.
pub fn job<T: Body>(
    body: &T,
    options: &Options,
    job: &Job,
    directory: &Path,
    save: impl FnOnce(&Outcome, Kept),
    watch: impl FnMut(&Watch),
) -> Result<Outcome, RunError> {
    let mut options = options.clone();
    options.launch.ranks = job.size();
    let options = &options;
    let begun = Moment::now();
    let (clock, description) = clock_for(options);
    options::allow_descriptors(64);
    let memory = |error| RunError::Memory { rank: job.rank(), error };
    let region = Region::new(job.rank(), options.samples_per_rank(), &options.spill_directory)
        .map(Arc::new)
        .map_err(memory)?;
    let delivery = Delivery::new().map_err(memory)?;
    let timing = Timing::begin(clock, description);
    let clock = timing.clock;
    let mut timing = Some(timing);
    let mut outcome = None;
    job.run(
        &options.launch,
        directory,
        |mpi| one_rank(body, options, mpi, &region, clock, begun, &delivery),
        |ended| {
            let Some(mut timing) = timing.take() else { return };
            timing.end();
            let delivered = delivery.take().unwrap_or_default();
            let (kept, records, offsets) = received(&delivered, ended.first, ended.complete(), &region);
            let regions = [Arc::clone(&region)];
            let mut whole = collect(options, records, &regions, ended.clone(), timing, begun);
            if !offsets.is_empty() {
                whole.run.facts.clock_offsets_ns = offsets;
            }
            save(&whole, kept);
            outcome = Some(whole);
        },
        watch,
    )?;
    Ok(outcome.unwrap_or_default())
}

/// What the rank does: clock offsets, the program, clock offsets, gathering.
fn one_rank<T: Body>(
    body: &T,
    options: &Options,
    mpi: &Mpi,
    region: &Arc<Region>,
    clock: Clock,
    begun: Moment,
    delivery: &Delivery,
) -> Result<(), String> {
    // All epochs begin together, as near as a barrier brings them: offsets tell the rest.
    mpi.barrier(0).map_err(|error| error.to_string())?;
    let clock = clock.restarted();
    let mut now = || clock.since_epoch_ns(clock.now());
    let before = mpi.clock_offsets(&mut now).map_err(|error| error.to_string())?;
    work(body, options, mpi, Arc::clone(region), clock, begun)?;
    let after = mpi.clock_offsets(&mut now).map_err(|error| error.to_string())?;
    let offsets_ns = before.into_iter().zip(after).map(|(before, after)| [before, after]).collect();
    let record = read(region).map_err(|error| error.to_string())?;
    let most = mpi.barrier(record.samples.len() as u64).map_err(|error| error.to_string())?;
    let gathered = most.saturating_mul(u64::from(mpi.size())) <= GATHERED;
    let mut parts = None;
    if gathered {
        let packed = pack(&record).map_err(|error| error.to_string())?;
        parts = mpi.gather(0, &packed).map_err(|error| error.to_string())?;
    }
    let parts = parts.unwrap_or_default();
    let head = Head { gathered, offsets_ns, parts: parts.iter().map(Vec::len).collect() };
    let head = serde_json::to_vec(&head).map_err(|error| error.to_string())?;
    let deliver = || {
        delivery.put(&(head.len() as u64).to_ne_bytes())?;
        delivery.put(&head)?;
        parts.iter().try_for_each(|part| delivery.put(part))
    };
    deliver().map_err(|error: std::io::Error| format!("no memory to hand the samples over: {error}"))
}

type Records = Vec<Result<RankRecord, crate::record::ReadError>>;

/// What the parent holds in the end: its role, the records, the clock offsets of all ranks.
fn received(bytes: &[u8], rank: u32, complete: bool, region: &Region) -> (Kept, Records, Vec<[i64; 2]>) {
    let own = || vec![read(region)];
    let Some((head, rest)) = head_of(bytes).filter(|_| complete) else {
        return (Kept::Part(rank), own(), Vec::new());
    };
    match (head.gathered, rank) {
        (false, _) => (Kept::Part(rank), own(), head.offsets_ns),
        (true, 0) => {
            let mut rest = rest;
            let records: Option<Vec<RankRecord>> = head
                .parts
                .iter()
                .map(|length| {
                    let (part, more) = rest.split_at_checked(*length)?;
                    rest = more;
                    unpack(part)
                })
                .collect();
            match records {
                Some(records) => (Kept::Whole, records.into_iter().map(Ok).collect(), head.offsets_ns),
                None => (Kept::Part(rank), own(), head.offsets_ns),
            }
        }
        (true, _) => (Kept::Elsewhere, own(), head.offsets_ns),
    }
}

fn head_of(bytes: &[u8]) -> Option<(Head, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (head, rest) = rest.split_at_checked(usize::try_from(u64::from_ne_bytes(*length)).ok()?)?;
    Some((serde_json::from_slice(head).ok()?, rest))
}
