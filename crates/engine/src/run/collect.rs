//! Puts together what the ranks left.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use samples::{Cause, Causes, ClockOffset, Counted, Facts, Run, Sample, Site, Span, Warning, histogram};

use super::claims::Claimed;
use super::facts::Timing;
use super::{Clean, Options, Outcome, SiteFailures};
use crate::files::{self, Cleaned, Moment};
use perf::Sight;
use record::{Entry, HintsOfFile, RankRecord, ReadError, RecordState, SampleRegion, Stonewalled, read};

/// Examples of failures kept for each site, over all ranks.
const EXAMPLES: usize = 5;

/// What there is to put together.
pub(super) struct Parts {
    pub(super) records: Vec<Result<RankRecord, ReadError>>,
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
    complete: bool,
    begun: Moment,
) -> (Vec<Result<RankRecord, ReadError>>, Option<Cleaned>) {
    let records: Vec<_> = regions.iter().map(|region| read(region)).collect();
    let local = options.backend.capabilities().local_files;
    let cleaned = match (options.clean, complete) {
        (Clean::Never, _) | (Clean::WhenIncomplete, true) => None,
        _ if !local => None,
        (Clean::WhenIncomplete, false) | (Clean::Always, _) => {
            let created: Vec<_> = regions.iter().flat_map(|region| files::created(region, begun)).collect();
            Some(files::clean(&created))
        }
    };
    (records, cleaned)
}

pub(super) fn collect(options: &Options, parts: Parts) -> Outcome {
    let Parts { records, ended, timing, cleaned, ranks } = parts;
    let mut together = Together::default();
    let mut problems = Vec::new();
    together.samples.reserve_exact(records.iter().flatten().map(|record| record.samples.len()).sum());
    for record in records {
        match record {
            Ok(record) => together.add(record),
            Err(error) => problems.push(error.to_string()),
        }
    }
    histogram::keep_slowest(&mut together.samples, &together.histograms);
    let complete = ended.complete() && problems.is_empty();
    let mut causes = ended.failures();
    if causes.is_empty() {
        // Of an MPI job this process has one rank, and another one may be to blame.
        causes = ended.left_because();
    }
    let lines = together.explain(causes);
    problems.splice(0..0, lines);
    let virtual_s = together.samples.iter().map(end_s).fold(0.0, f64::max);
    let (started, elapsed_s, clock) = timing.facts(virtual_s);
    let facts = Facts {
        schema: "lastrank.facts/1".into(),
        seed: options.seed,
        ranks,
        backend: options.backend.to_string(),
        communicator: std::mem::take(&mut together.communicator),
        mpi: std::mem::take(&mut together.mpi),
        job: if ended.job == 0 { String::new() } else { format!("{:016x}", ended.job) },
        hints: serde_json::json!({ "used": std::mem::take(&mut together.hints) }),
        started,
        elapsed_s,
        clock,
        clock_offsets: std::mem::take(&mut together.clocks),
        spans: std::mem::take(&mut together.spans),
        complete,
        failures: problems,
        warnings: together.warnings(),
        counted: std::mem::take(&mut together.histograms),
        sight: together.sight.as_ref().and_then(|sight| serde_json::to_value(sight).ok()).unwrap_or_default(),
        ..Facts::default()
    };
    together.printed.sort_by_key(|(at, rank, _)| (*at, *rank));
    Outcome {
        failures: together.failures(),
        assertions: together.assertions,
        claims: together.claims,
        usage: together.usage,
        printed: together.printed.into_iter().map(|(.., text)| text).collect(),
        run: Run { facts, sites: together.sites, samples: together.samples },
        ends: ended.ends,
        stopped: ended.stopped,
        cleaned,
        sight: together.sight,
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
    failed: HashMap<u32, Vec<String>>,
    counted: BTreeMap<u32, u64>,
    ranks: HashMap<u32, Standing>,
    noted: Vec<Warning>,
    spilled: u64,
    assertions: Vec<String>,
    usage: bool,
    printed: Vec<(u64, u32, String)>,
    communicator: String,
    mpi: serde_json::Value,
    hints: Vec<HintsOfFile>,
    sight: Option<Sight>,
    claims: Vec<Claimed>,
    /// What ranks did in phases with a stonewall: their site, rank.
    stonewalls: Vec<(u32, u32, Stonewalled)>,
    /// Clock offsets at the start and at the end, by rank.
    clocks: Vec<Vec<ClockOffset>>,
    spans: Vec<Span>,
}

/// Where a rank stood when it ended.
struct Standing {
    samples: usize,
    last_site: Option<u32>,
}

impl Together {
    fn add(&mut self, record: RankRecord) {
        let rank = record.rank;
        let own: Vec<u32> = record.sites.into_iter().map(|site| self.number(site)).collect();
        let global = |site: u32| own.get(site as usize).copied();
        for counted in record.counted {
            let site = own[counted.site as usize];
            histogram::join(&mut self.histograms, Counted { site, ..counted });
        }
        let last_site = record.last_site.and_then(global);
        self.ranks.insert(rank, Standing { samples: record.samples.len(), last_site });
        // A rank that was killed could not count its failures.
        let killed = !matches!(record.state, RecordState::Finished | RecordState::Stopped);
        for sample in record.samples {
            let site = own[sample.site as usize];
            if killed && sample.failed() {
                *self.counted.entry(site).or_default() += 1;
            }
            self.samples.push(Sample { site, ..sample });
        }
        self.spilled += record.spilled;
        for entry in record.entries {
            match entry {
                Entry::Failure { site, text, .. } => {
                    if let Some(site) = global(site) {
                        let known = self.failed.entry(site).or_default();
                        if known.len() < EXAMPLES {
                            known.push(format!("rank {rank}, {text}"));
                        }
                    }
                }
                Entry::Failures { site, count } => {
                    if let Some(site) = global(site) {
                        *self.counted.entry(site).or_default() += count;
                    }
                }
                Entry::Stop { usage, .. } => self.usage |= usage,
                Entry::Assertion { text } => {
                    if !self.assertions.contains(&text) {
                        self.assertions.push(text);
                    }
                }
                Entry::Warning(warning) => {
                    if !self.noted.contains(&warning) {
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
                Entry::Sight(sight) => self.sight = Some(sight),
                Entry::Span(span) => {
                    self.spans.retain(|known| known.rank != rank);
                    self.spans.push(span);
                }
                Entry::Communicator(words) => self.communicator = words,
                Entry::Hints(used) => self.hints.push(used),
                Entry::Mpi(facts) => self.mpi = facts,
                Entry::Site(_) | Entry::Workers => {}
            }
        }
    }

    fn number(&mut self, site: Site) -> u32 {
        *self.numbers.entry(site).or_insert_with_key(|site| {
            self.sites.push(site.clone());
            self.sites.len() as u32 - 1
        })
    }

    /// Adds to each line that names a killed rank what it was doing.
    fn explain(&self, lines: Vec<String>) -> Vec<String> {
        lines.into_iter().map(|line| self.explain_one(&line).unwrap_or(line)).collect()
    }

    fn explain_one(&self, line: &str) -> Option<String> {
        let rank: u32 = line.strip_prefix("rank ")?.split(' ').next()?.parse().ok()?;
        let without_a_word = ["was killed by", "exited with status", "called MPI_Abort", "was ended:"];
        if !without_a_word.iter().any(|words| line.contains(words)) {
            return None;
        }
        let stood = self.ranks.get(&rank)?;
        let place = match stood.last_site.and_then(|site| self.sites.get(site as usize)) {
            Some(site) => format!("in or after {} at line {}", site.operation, site.line),
            None => "before its first operation".into(),
        };
        let comma = if line.contains([',', ':']) { "," } else { "" };
        Some(format!("{line}{comma} {place}; its {} samples are kept", stood.samples))
    }

    fn failures(&self) -> Vec<SiteFailures> {
        let examples = |site| self.failed.get(site).cloned().unwrap_or_default();
        self.counted
            .iter()
            .map(|(site, count)| SiteFailures { site: *site, count: *count, examples: examples(site) })
            .collect()
    }

    fn warnings(&mut self) -> Vec<Warning> {
        let mut warnings = std::mem::take(&mut self.noted);
        warnings.extend(super::stonewall::words(&self.stonewalls, &self.sites));
        let short =
            self.samples.iter().filter(|sample| Causes(sample.causes).has(Cause::ShortTransfer)).count();
        if short > 0 {
            warnings.push(Warning {
                code: "short-transfer".into(),
                text: format!("{short} transfers moved fewer bytes than asked for and were completed"),
                advice: "their durations hold several calls; one call moves at most 2,147,479,552 bytes"
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
