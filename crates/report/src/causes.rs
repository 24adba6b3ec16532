//! The chapter of causes: why slow operations were slow, and what is left without the wait for a processor.

use std::collections::BTreeMap;

use samples::{Cause, Causes, Run, Sample, SiteKind, attribute};
use serde::Serialize;

use crate::Chapter;
use crate::cause_words::style_of;
use crate::figures::causes::{CauseShares, stacks};
use crate::summary::Summary;
use crate::table::Table;
use crate::unit::{duration, percent};

/// Places that the tables show: those whose slow operations took the most time.
const MOST: usize = 16;

/// What is said where a run had no eye on causes.
pub(crate) const NOT_LOOKED_FOR: &str = "Causes of slow operations were not looked for (--no-causes).";

/// What is said of operations that overlap on their rank (`async`): a call hands them over, and nobody watches what becomes of
/// them until they are done.
pub(crate) const NOT_WATCHED: &str = "Causes of slow asynchronous operations are not watched.";

/// What is known of the slow operations of one place.
#[derive(Clone, Debug, Serialize)]
pub struct Slowness {
    /// Index into the run's sites.
    pub site: u32,
    /// The innermost label around it; empty where there is none.
    pub label: String,
    /// The operation.
    pub operation: String,
    /// Durations of one operation as they were, in seconds: a batch counts as the mean of its operations.
    pub raw: Summary,
    /// Durations less the wait for a processor, in seconds; none unless most of the calls block: one
    /// that computes is interrupted, and taking the wait off would not undo that.
    pub corrected: Option<Summary>,
    /// What counts as slow: the slowest hundredth, this long and longer, in seconds.
    pub slow_from_s: f64,
    /// What the slow ones took beyond the median, together, in seconds.
    pub excess_s: f64,
    /// Whether what they waited for was watched: not of asynchronous ones.
    pub watched: bool,
    /// The share of that for which a cause was seen: 0 to 1.
    pub attributed: f64,
    /// The share of each cause and of `unattributed`, the greatest first; they add up to 1.
    pub shares: Vec<(String, f64)>,
}

/// The places whose slow operations took the most time, in the order of the program. None where nothing
/// was seen that could be a cause.
pub(crate) fn of(run: &Run) -> Vec<Slowness> {
    let seen = |sample: &Sample| sample.causes != 0 || sample.queue_ns > 0;
    // Asynchronous ones are told even where nothing was seen of any: they are not watched.
    if run.facts.backend.starts_with("simulate") || !run.samples.iter().any(seen) {
        return Vec::new();
    }
    let mut by_site: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    for sample in run.samples.iter().filter(|sample| !sample.failed()) {
        by_site.entry(sample.site).or_default().push(sample);
    }
    let is_operation =
        |site: u32| run.sites.get(site as usize).is_some_and(|site| site.kind == SiteKind::Operation);
    let mut found: Vec<Slowness> = by_site
        .into_iter()
        .filter(|(site, _)| is_operation(*site))
        .filter_map(|(site, samples)| slowness(run, site, &samples))
        .collect();
    found.sort_by(|a, b| b.excess_s.total_cmp(&a.excess_s));
    found.truncate(MOST);
    found.sort_by_key(|one| one.site);
    found
}

/// Whether any cause was seen, or could have been: operations of one rank that overlap are asynchronous, and no time of theirs
/// on a processor or off it is that of a call.
fn is_watched(samples: &[&Sample]) -> bool {
    if samples.iter().any(|sample| sample.causes != 0 || sample.queue_ns > 0 || sample.blocked_ns > 0) {
        return true;
    }
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    let mut by_start: Vec<&&Sample> = samples.iter().collect();
    by_start.sort_unstable_by_key(|sample| (sample.rank, sample.start_ns));
    !by_start.into_iter().any(|sample| {
        let end = sample.start_ns + sample.duration_ps / 1000;
        let before = ends.insert(sample.rank, end);
        before.is_some_and(|before| before > sample.start_ns + 1)
    })
}

fn slowness(run: &Run, site: u32, samples: &[&Sample]) -> Option<Slowness> {
    let found = attribute(samples.iter().copied())?;
    let batch = |sample: &Sample| f64::from(sample.batch.max(1));
    let summary = |value: fn(&Sample) -> f64| {
        Summary::of(&samples.iter().map(|sample| value(sample) / batch(sample)).collect::<Vec<_>>())
    };
    let mut batches: Vec<u32> = samples.iter().map(|sample| sample.batch.max(1)).collect();
    batches.sort_unstable();
    let usual = f64::from(batches.get(batches.len() / 2).copied().unwrap_or(1));
    let blocking = samples.iter().filter(|sample| Causes(sample.causes).has(Cause::Blocked)).count();
    let raw = summary(Sample::seconds)?;
    // As in the steps of the answer: none takes less without its wait than the quickest with it.
    let less = |sample: &Sample| (sample.corrected_seconds() / batch(sample)).max(raw.min);
    let corrected = || Summary::of(&samples.iter().map(|sample| less(sample)).collect::<Vec<_>>());
    let described = &run.sites[site as usize];
    Some(Slowness {
        site,
        label: described.labels.last().cloned().unwrap_or_default(),
        operation: described.operation.clone(),
        corrected: if 2 * blocking > samples.len() { corrected() } else { None },
        raw,
        slow_from_s: found.limit_ps as f64 * 1e-12 / usual,
        excess_s: found.excess_ps as f64 * 1e-12,
        watched: is_watched(samples),
        attributed: found.attributed(),
        shares: found.parts().into_iter().map(|(part, share)| (part.name().to_owned(), share)).collect(),
    })
}

/// The chapter of causes; none where nothing was seen that could be one.
pub(crate) fn chapter(run: &Run, found: &[Slowness]) -> Option<Chapter> {
    let waited = |one: &&Slowness| one.corrected.as_ref().is_some_and(|less| less.mean < one.raw.mean);
    let corrected: Vec<&Slowness> = found.iter().filter(waited).collect();
    let mut tables = vec![shares(run, found)];
    if !corrected.is_empty() {
        tables.push(side_by_side(run, &corrected));
    }
    let lead = "What was seen while an operation ran slow; nothing is guessed.";
    let row = |one: &Slowness| CauseShares {
        name: name(run, one.site),
        shares: one.shares.clone(),
        excess_s: one.excess_s,
    };
    let watched = found.iter().filter(|one| one.watched);
    let figure = stacks(watched.map(row).collect(), "the slowest hundredth of every operation");
    let chapter =
        Chapter::new("causes", "Why were slow operations slow?", lead).with(figure, tables).repeating();
    (!found.is_empty()).then_some(chapter)
}

fn name(run: &Run, site: u32) -> String {
    let site = &run.sites[site as usize];
    if site.labels.is_empty() { site.operation.clone() } else { site.name() }
}

fn shares(run: &Run, found: &[Slowness]) -> Table {
    let mut table = Table::new(
        "Why the slowest hundredth took longer than the median",
        &["<what", "median", "slow from", "total excess", "<because of"],
    );
    for one in found {
        let parts = one.shares.iter().filter(|(_, share)| *share >= 0.005);
        let parts: Vec<String> = match one.watched {
            true => {
                parts.map(|(cause, share)| format!("{} {}", style_of(cause).words, percent(*share))).collect()
            }
            false => vec!["not watched: asynchronous".into()],
        };
        table.push(
            false,
            [
                name(run, one.site),
                duration(one.raw.median),
                duration(one.slow_from_s),
                duration(one.excess_s),
                parts.join(", "),
            ],
        );
    }
    if found.len() == MOST {
        table.note = format!("These are the {MOST} places whose slow operations took the most time. ");
    }
    match &run.facts.coverage {
        Some(coverage) if coverage.unwanted => table.note += NOT_LOOKED_FOR,
        Some(coverage) if !coverage.blind.is_empty() => {
            table.note += &format!("Could not be seen: {}.", coverage.blind.join("; "));
        }
        Some(_) | None => {}
    }
    let is_here = |sample: &Sample| found.iter().any(|one| one.site == sample.site);
    if run.samples.iter().any(|sample| sample.late_ns > 0 && is_here(sample)) {
        table.note += " Under `rate`: of durations once begun, not from the scheduled start.";
    }
    table
}

fn side_by_side(run: &Run, found: &[&Slowness]) -> Table {
    let mut table = Table::new(
        "With and without the wait for a processor (calls that block)",
        &["<what", "p90", "without", "p99", "without", "p99.9", "without", "max", "without"],
    );
    for one in found {
        let Some(less) = &one.corrected else { continue };
        let raw = &one.raw;
        let optional = |value: Option<f64>| value.map_or("–".into(), duration);
        table.push(
            false,
            [
                name(run, one.site),
                duration(raw.p90),
                duration(less.p90),
                optional(raw.p99),
                optional(less.p99),
                optional(raw.p999),
                optional(less.p999),
                duration(raw.max),
                duration(less.max),
            ],
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{Coverage, Facts, Site, Tier};

    fn run(samples: Vec<Sample>) -> Run {
        let site = Site { operation: "fread".into(), labels: vec!["cold".into()], ..Site::default() };
        let blind = vec!["interrupts: no tracepoints".into()];
        let coverage = Some(Coverage { tier: Tier::Events, blind, ..Coverage::default() });
        Run { facts: Facts { coverage, ..Facts::default() }, sites: vec![site], samples }
    }

    fn reads(slow: impl Fn(u64) -> Sample) -> Vec<Sample> {
        let usual = Sample {
            duration_ps: 50_000_000,
            blocked_ns: 40_000,
            causes: Cause::Blocked as u16,
            ..Sample::default()
        };
        (0..2000).map(|n| if n % 60 == 7 { slow(n) } else { usual }).collect()
    }

    #[test]
    fn a_wait_for_a_processor_is_named_and_taken_off() {
        let slow = |n: u64| Sample {
            duration_ps: 4_050_000_000 + n,
            queue_ns: 4_000_000,
            blocked_ns: 40_000,
            causes: Cause::Blocked as u16 | Cause::Preempted as u16,
            ..Sample::default()
        };
        let chapter = chapter(&run(reads(slow)), &of(&run(reads(slow)))).expect("causes were seen");
        insta::assert_snapshot!(chapter.tables.iter().map(Table::text).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn a_batch_counts_as_the_mean_of_its_operations() {
        let slow = |_| Sample { duration_ps: 4_050_000_000, queue_ns: 4_000_000, ..Sample::default() };
        let single = of(&run(reads(slow)));
        let batched =
            of(&run(reads(slow).into_iter().map(|sample| Sample { batch: 10, ..sample }).collect()));
        let of_one = |found: &[Slowness]| (found[0].raw.median, found[0].raw.max, found[0].slow_from_s);
        let ((a, b, c), (x, y, z)) = (of_one(&single), of_one(&batched));
        for (one, of_ten) in [(a, x), (b, y), (c, z)] {
            assert!((of_ten / one - 0.1).abs() < 1e-12, "{of_ten} of {one}");
        }
    }

    #[test]
    fn asynchronous_operations_are_not_watched_and_none_is_said_to_have_no_cause() {
        let of = |depth: u64| {
            let slow = |n: u64| if n % 60 == 7 { 4_050_000_000 } else { 50_000_000 };
            let all = (0..2000).map(|n| Sample {
                start_ns: n * 50_000 / depth * 82,
                duration_ps: slow(n),
                ..Sample::default()
            });
            // Elsewhere in the run something was seen.
            let open = Sample { site: 1, queue_ns: 9, ..Sample::default() };
            let mut run = run(all.chain([open]).collect());
            run.sites.push(Site { operation: "fopen".into(), ..Site::default() });
            let found = super::of(&run);
            let table = chapter(&run, &found).map(|one| one.tables[0].text()).unwrap_or_default();
            (found[0].watched, table)
        };
        let (watched, table) = of(16);
        assert!(
            !watched && table.contains("not watched: asynchronous") && !table.contains("no cause seen"),
            "{table}"
        );
        let (watched, table) = of(1);
        assert!(watched && table.contains("no cause seen"), "{table}");
    }

    #[test]
    fn where_nothing_was_seen_there_is_no_chapter() {
        assert!(of(&run(vec![Sample { duration_ps: 5, ..Sample::default() }; 500])).is_empty());
        let mut simulated = run(reads(|_| Sample { duration_ps: 1 << 40, queue_ns: 9, ..Sample::default() }));
        simulated.facts.backend = "simulate".into();
        assert!(of(&simulated).is_empty() && chapter(&simulated, &[]).is_none());
    }
}
