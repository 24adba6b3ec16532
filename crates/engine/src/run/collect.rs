//! Puts together what the ranks left.

use std::collections::HashMap;
use std::sync::Arc;

use samples::{
    ClockFacts, ClockOffset, Counted, Coverage, FACTS_SCHEMA, Facts, HintsOfFile, JudgementKind, Judgements,
    MpiFacts, MpiHints, RankSpan, Run, Sample, Site, VerifiedFacts, Warning, histogram, units,
};

use super::claims::Claimed;
use super::facts::Timing;
use super::judge::Judge;
use super::{Clean, Confine, Options, RunOutcome};
use crate::files::{self, Cleaned, Ownership};
use ranks::{RankEnd, RankEnds};
use record::{
    CountedRecord, Entry, RankRecord, RecordState, SampleRegion, Stonewalled, read_together, room_for,
};

/// What ranks left: of each its record and the number of its samples, which stand in one vector, rank after rank.
pub(super) struct Left {
    records: Vec<CountedRecord>,
    samples: Vec<Sample>,
}

impl Left {
    /// What lies in regions.
    pub(super) fn in_regions<'r>(regions: impl IntoIterator<Item = &'r SampleRegion>) -> Self {
        let (records, samples) = read_together(regions);
        Self { records, samples }
    }

    /// Of how many ranks.
    pub(super) fn ranks(&self) -> usize {
        self.records.len()
    }

    /// Of records that have their samples.
    pub(super) fn of(records: Vec<RankRecord>) -> Self {
        let mut samples = room_for(records.iter().map(|record| record.samples.len()).sum());
        let mut take = |mut record: RankRecord| {
            let count = record.samples.len();
            samples.append(&mut std::mem::take(&mut record.samples));
            Ok((record, count))
        };
        let records = records.into_iter().map(&mut take).collect();
        Self { records, samples }
    }
}

/// What there is to put together.
pub(super) struct Parts {
    pub(super) left: Left,
    pub(super) ended: ranks::RankEnds,
    pub(super) timing: Timing,
    pub(super) cleaned: Option<Cleaned>,
    /// Ranks in the whole run.
    pub(super) ranks: u32,
}

/// Reads what the ranks of this process left, and removes their files if that is to be done.
pub(super) fn leftovers(
    options: &Options,
    regions: &[Arc<SampleRegion>],
    own: &Ownership,
    complete: bool,
) -> (Left, Option<Cleaned>) {
    let left = Left::in_regions(regions.iter().map(AsRef::as_ref));
    let local = options.backend.capabilities().local_files;
    let created = || regions.iter().flat_map(|region| files::created(region)).collect::<Vec<_>>();
    let cleaned = match (options.clean, complete) {
        (Clean::Never, _) | (Clean::WhenIncomplete, true) => {
            if local && options.confine != Confine::Nobody {
                let forgotten = files::remember(&created(), own);
                forgotten.map(|why| Cleaned { forgotten: Some(why), ..Cleaned::default() })
            } else {
                None
            }
        }
        (Clean::WhenIncomplete, false) | (Clean::Always, _) => {
            let created = created();
            // Where files are elsewhere, only kernels have made some here.
            let own = (options.confine != Confine::Nobody).then_some(own);
            (local || !created.is_empty()).then(|| files::clean(&created, own))
        }
    };
    (left, cleaned)
}

/// What ranks left whose supervisor was killed; `known` is what was known before the run.
pub(super) fn collect_left(options: &Options, left: Left, ended: RankEnds, known: Facts) -> RunOutcome {
    let mut outcome = together(options, (left, ended, None, known.ranks), |virtual_s| {
        (known.started.clone(), virtual_s, known.clock.clone().unwrap_or_default())
    });
    let found = std::mem::take(&mut outcome.run.facts);
    outcome.run.facts = Facts {
        ranks: found.ranks,
        communicator: found.communicator,
        hosts: found.hosts,
        nodes: found.nodes,
        elapsed_s: found.elapsed_s,
        clock_offsets: found.clock_offsets,
        spans: found.spans,
        complete: found.complete,
        failures: found.failures,
        judgements: found.judgements,
        verified: found.verified.or(known.verified),
        warnings: known.warnings.iter().cloned().chain(found.warnings).collect(),
        counted: found.counted,
        coverage: found.coverage,
        ..known
    };
    outcome
}

pub(super) fn collect(options: &Options, parts: Parts) -> RunOutcome {
    let Parts { left, ended, timing, cleaned, ranks } = parts;
    together(options, (left, ended, cleaned, ranks), |virtual_s| timing.facts(virtual_s))
}

fn together(
    options: &Options,
    (left, ended, cleaned, ranks): (Left, RankEnds, Option<Cleaned>, u32),
    timing: impl FnOnce(f64) -> (String, f64, ClockFacts),
) -> RunOutcome {
    let mut together = Together::default();
    let mut problems = Vec::new();
    let Left { records, mut samples } = left;
    let mut rest = &mut samples[..];
    for record in records {
        match record {
            Ok((record, count)) => {
                let (own, others) = std::mem::take(&mut rest).split_at_mut(count);
                together.add(record, own);
                rest = others;
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    together.samples = samples;
    histogram::keep_slowest(&mut together.samples, &together.histograms);
    let complete = ended.complete() && problems.is_empty();
    let (hosts, nodes) = (together.judge.hosts(ranks), together.judge.nodes.clone());
    let judgements = together.judgements(&ended, &problems);
    problems.splice(0..0, together.explain(&ended));
    let virtual_s = together.samples.iter().map(end_s).fold(0.0, f64::max);
    let (started, elapsed_s, clock) = timing(virtual_s);
    let facts = Facts {
        schema: FACTS_SCHEMA.into(),
        seed: options.seed,
        ranks,
        backend: options.backend.to_string(),
        communicator: std::mem::take(&mut together.communicator),
        hosts,
        nodes,
        mpi: together.mpi.take(),
        job: if ended.job == 0 { String::new() } else { format!("{:016x}", ended.job) },
        hints: Some(MpiHints { used: std::mem::take(&mut together.hints), ..MpiHints::default() }),
        started,
        elapsed_s,
        clock: Some(clock),
        clock_offsets: std::mem::take(&mut together.clocks),
        spans: std::mem::take(&mut together.spans),
        complete,
        failures: problems,
        judgements: Some(judgements),
        verified: Some(together.verified).filter(|found| !found.is_nothing()),
        warnings: together.warnings(&ended),
        counted: std::mem::take(&mut together.histograms),
        coverage: together.coverage.clone(),
        ..Facts::default()
    };
    together.printed.sort_by_key(|(at, rank, _)| (*at, *rank));
    RunOutcome {
        claims: together.claims,
        printed: together.printed.into_iter().map(|(.., text)| text).collect(),
        run: Run { facts, sites: together.sites, samples: together.samples },
        ends: ended.ends,
        stopped: ended.stopped,
        cleaned,
        coverage: together.coverage,
    }
}

fn end_s(sample: &Sample) -> f64 {
    sample.start_ns as f64 * 1e-9 + sample.seconds()
}

#[derive(Default)]
struct Together {
    sites: Vec<Site>,
    numbers: HashMap<Site, u32>,
    samples: Vec<Sample>,
    histograms: Vec<Counted>,
    judge: Judge,
    ranks: HashMap<u32, Progress>,
    noted: Vec<Warning>,
    verified: VerifiedFacts,
    spilled: u64,
    printed: Vec<(u64, u32, String)>,
    communicator: String,
    mpi: Option<MpiFacts>,
    hints: Vec<HintsOfFile>,
    coverage: Option<Coverage>,
    claims: Vec<Claimed>,
    /// What ranks did in phases with a stonewall: their site, rank.
    stonewalls: Vec<(u32, u32, Stonewalled)>,
    /// Clock offsets at the start and at the end, by rank.
    clocks: Vec<Vec<ClockOffset>>,
    spans: Vec<RankSpan>,
}

/// No common number.
const NONE: u32 = u32::MAX;

/// How far a rank came.
struct Progress {
    samples: usize,
    last_site: Option<u32>,
}

impl Together {
    /// A rank's record, and its samples.
    fn add(&mut self, record: RankRecord, samples: &mut [Sample]) {
        let rank = record.rank;
        let own = self.numbers_of(&record, samples);
        let global = |site: u32| own.get(site as usize).copied().filter(|number| *number != NONE);
        let in_common = |counted: Counted| Counted { site: own[counted.site as usize], ..counted };
        histogram::join(&mut self.histograms, record.counted.into_iter().map(in_common).collect());
        let last_site = record.last_site.and_then(global);
        self.ranks.insert(rank, Progress { samples: samples.len(), last_site });
        // A rank that was killed could not count its failures.
        let killed = !matches!(record.state, RecordState::Finished | RecordState::Stopped);
        if killed {
            let sites = &record.sites;
            self.judge.killed(samples, |site| {
                Some((global(site)?, sites.get(site as usize).and_then(|site| site.expects)))
            });
        }
        // Ranks mostly come to the sites of a program in the same order.
        if !own.iter().copied().eq(0..own.len() as u32) {
            samples.iter_mut().for_each(|sample| sample.site = own[sample.site as usize]);
        }
        self.spilled += record.spilled;
        self.verified.add(record.verified);
        for entry in record.entries {
            match entry {
                Entry::Failure { of, example } => self.judge.example(rank, global(of.site), of, example),
                Entry::Failures { of, count } => self.judge.counted(global(of.site), of, count),
                Entry::Stop { usage, by, .. } => self.judge.stopped(rank, usage, by),
                Entry::Assertion(failed) => {
                    self.judge.assertion(rank, (JudgementKind::AssertionFailed, failed));
                }
                Entry::Unevaluated(one) => {
                    self.judge.assertion(rank, (JudgementKind::AssertionNotEvaluated, one));
                }
                Entry::Host(host) => self.judge.host(rank, host),
                Entry::Nodes(nodes) => self.judge.nodes = nodes,
                Entry::Warning(warning) => {
                    if !self.noted.iter().any(|one| one.says(&warning)) {
                        self.noted.push(warning);
                    }
                }
                Entry::Claim { claim, at_ns } => self.claims.push(Claimed { rank, claim, at_ns }),
                Entry::Stonewall(done) => {
                    if let Some(site) = global(done.site) {
                        self.stonewalls.push((site, rank, done));
                    }
                }
                Entry::Print { at, text } => self.printed.push((at, rank, text)),
                Entry::ClockOffsets(offsets) if rank == 0 => self.clocks.push(offsets),
                Entry::ClockOffsets(_) => {}
                Entry::Sight(coverage) => self.coverage = Some(coverage),
                Entry::Span(span) => {
                    self.spans.retain(|known| known.rank != rank);
                    self.spans.push(span);
                }
                Entry::Communicator(words) => self.communicator = words,
                Entry::Hints(used) => self.hints.push(used),
                Entry::Mpi(facts) => self.mpi = Some(facts),
                Entry::Site(_) | Entry::CameTo(_) | Entry::Unordered => {}
            }
        }
    }

    /// The common number of each of a rank's sites, given in the order in which it came to them; [`NONE`] of those that it
    /// only prepared for.
    fn numbers_of(&mut self, record: &RankRecord, samples: &[Sample]) -> Vec<u32> {
        let mut own = vec![NONE; record.sites.len()];
        let mut number = |site: u32| {
            let (Some(own), Some(site)) = (own.get_mut(site as usize), record.sites.get(site as usize))
            else {
                return;
            };
            if *own == NONE {
                *own = *self.numbers.entry(site.clone()).or_insert_with_key(|site| {
                    self.sites.push(site.clone());
                    self.sites.len() as u32 - 1
                });
            }
        };
        let came_to =
            |entry: &Entry| if let Entry::CameTo(sites) = entry { Some(sites.clone()) } else { None };
        match record.entries.iter().find_map(came_to) {
            Some(sites) => sites.into_iter().for_each(number),
            // It was killed: what it did tells.
            None => {
                samples.iter().for_each(|sample| number(sample.site));
                record.counted.iter().for_each(|counted| number(counted.site));
                record.last_site.into_iter().for_each(&mut number);
                record.entries.iter().for_each(|entry| match entry {
                    Entry::Failure { of, .. } => number(of.site),
                    Entry::Stonewall(done) => number(done.site),
                    _ => {}
                });
            }
        }
        own
    }

    /// What went wrong, one line each; of a rank that ended without a word of its own also what it was doing.
    fn explain(&self, ended: &RankEnds) -> Vec<String> {
        let alone = RankEnds { stopped: ended.stopped, ..RankEnds::default() };
        let mut lines = alone.failures();
        for (rank, end) in (ended.first..).zip(&ended.ends) {
            let alone = RankEnds { ends: vec![end.clone()], first: rank, ..RankEnds::default() };
            let doing = self.doing(rank, end).unwrap_or_default();
            lines.extend(alone.failures().into_iter().map(|line| line + &doing));
        }
        // In an MPI job this process has one rank only; the cause may be another rank.
        if lines.is_empty() { ended.left_because() } else { lines }
    }

    /// What a rank was doing when it ended; `None` where it reported that itself.
    fn doing(&self, rank: u32, end: &RankEnd) -> Option<String> {
        let comma = match end {
            RankEnd::Killed(_) | RankEnd::Exited(_) => "",
            RankEnd::Aborted(_) | RankEnd::Orphaned => ",",
            RankEnd::Finished
            | RankEnd::Left(_)
            | RankEnd::Stopped(_)
            | RankEnd::Failed(_)
            | RankEnd::Panicked(_)
            | RankEnd::Stuck(_) => return None,
        };
        let last = self.ranks.get(&rank)?;
        let place = match last.last_site.and_then(|site| self.sites.get(site as usize)) {
            Some(site) => format!("in or after {} at line {}", site.operation, site.line),
            None => "before its first operation".into(),
        };
        Some(format!("{comma} {place}; its {} samples are kept", units::count(last.samples as u64)))
    }

    /// What was found, of the run with ranks that ended so; `lost`: records that cannot be read.
    fn judgements(&mut self, ended: &RankEnds, lost: &[String]) -> Judgements {
        let mut judge = std::mem::take(&mut self.judge);
        for (rank, end) in (ended.first..).zip(&ended.ends) {
            if let Some(loss) = end.loss() {
                judge.lost(Some(rank), loss + &self.doing(rank, end).unwrap_or_default());
            }
        }
        if let Some(by) = ended.stopped_by() {
            judge.cut(&by);
        }
        lost.iter().for_each(|why| judge.lost(None, why.clone()));
        if judge.found_no_end() && !ended.complete() {
            // In an MPI job this process has one rank only; the cause may be another rank.
            ended.left_because().into_iter().for_each(|why| judge.lost(None, why));
        }
        judge.short_transfers(&self.samples, &self.sites);
        judge.finish(&self.sites)
    }

    fn warnings(&mut self, ended: &RankEnds) -> Vec<Warning> {
        let mut warnings = std::mem::take(&mut self.noted);
        warnings.extend(super::stonewall::words(&self.stonewalls, &self.sites));
        if ended.library_left {
            warnings.push(Warning {
                code: "mpi-end".into(),
                text: "the MPI library did not end after all ranks had ended the program, and was left".into(),
                advice: "no result is missing; if it happens again, try another transport of the library (MPICH with UCX: \
                         `UCX_TLS=self,sm,tcp`)"
                    .into(),
            });
        }
        if self.spilled > 0 {
            warnings.push(Warning {
                code: "spilled".into(),
                text: format!("{} samples did not fit into memory and were written to a file", self.spilled),
                advice: "that writing took place between operations, but may have disturbed them; give the \
                         samples more memory, or put temporary files on another disk"
                    .into(),
            });
        }
        warnings
    }
}
