//! Why were the slow operations slow, and what is left when the wait for a processor is taken off?

use std::collections::BTreeMap;

use samples::{Attribution, Cause, Causes, Run, Sample, SiteKind, attribute};

use crate::Chapter;
use crate::summary::Summary;
use crate::table::Table;
use crate::unit::{duration, percent};

/// Places that the tables show: those whose slow operations took the most time.
const MOST: usize = 16;

/// The chapter of causes; none where nothing was seen that could be one.
pub(crate) fn chapter(run: &Run) -> Option<Chapter> {
    if run.facts.backend.starts_with("simulate") {
        return None;
    }
    let mut by_site: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    for sample in run.samples.iter().filter(|sample| !sample.failed()) {
        by_site.entry(sample.site).or_default().push(sample);
    }
    let mut found: Vec<(u32, Attribution)> = by_site
        .iter()
        .filter(|(site, _)| {
            run.sites.get(**site as usize).is_some_and(|site| site.kind == SiteKind::Operation)
        })
        .filter_map(|(site, samples)| attribute(samples.iter().copied()).map(|found| (*site, found)))
        .collect();
    let seen = |sample: &Sample| sample.causes != 0 || sample.queue_ns > 0;
    if found.is_empty() || !run.samples.iter().any(seen) {
        return None;
    }
    found.sort_by_key(|(_, one)| std::cmp::Reverse(one.excess_ps));
    let left_out = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    found.sort_by_key(|(site, _)| *site);
    let corrected: Vec<(u32, &[&Sample])> = found
        .iter()
        .map(|(site, _)| (*site, by_site[site].as_slice()))
        .filter(|(_, samples)| waits(samples))
        .collect();
    let mut tables = vec![shares(run, &found, left_out)];
    if !corrected.is_empty() {
        tables.push(side_by_side(run, &corrected));
    }
    let lead = "What was seen while an operation ran slow; nothing is guessed.";
    Some(Chapter::new("causes", "Why the slow ones were slow", lead).with([], tables))
}

/// Taking the wait for a processor off is right only for calls that block: one that computes is
/// interrupted, and would have ended earlier without.
fn waits(samples: &[&Sample]) -> bool {
    let blocking = samples.iter().filter(|sample| Causes(sample.causes).has(Cause::Blocked)).count();
    2 * blocking > samples.len() && samples.iter().any(|sample| sample.queue_ns > 0)
}

fn name(run: &Run, site: u32) -> String {
    let site = &run.sites[site as usize];
    if site.labels.is_empty() { site.operation.clone() } else { site.name() }
}

fn shares(run: &Run, found: &[(u32, Attribution)], left_out: usize) -> Table {
    let mut table = Table::new(
        "Why the slowest hundredth took longer than the median",
        &["<what", "median", "slow from", "longer in all", "<because of"],
    );
    for (site, one) in found {
        let parts = one
            .parts()
            .into_iter()
            .filter(|(_, share)| *share >= 0.005)
            .map(|(cause, share)| format!("{} {}", words(cause), percent(share)));
        table.push(
            false,
            [
                name(run, *site),
                duration(one.median_ps as f64 * 1e-12),
                duration(one.limit_ps as f64 * 1e-12),
                duration(one.excess_ps as f64 * 1e-12),
                parts.collect::<Vec<_>>().join(", "),
            ],
        );
    }
    if left_out > 0 {
        table.note = format!("{left_out} further places, whose slow operations took less, are left out. ");
    }
    let blind = run.facts.sight.get("blind").and_then(|blind| blind.as_array());
    let blind: Vec<&str> = blind.into_iter().flatten().filter_map(|line| line.as_str()).collect();
    if !blind.is_empty() {
        table.note += &format!("Could not be seen: {}.", blind.join("; "));
    }
    table
}

fn words(cause: &str) -> &'static str {
    match cause {
        "run_queue" => "waiting for a processor",
        "throttled" => "throttled by a control group",
        "blocked" => "waiting for a device or another process",
        "major_fault" => "page fault that read a device",
        "minor_fault" => "page fault",
        "device_interrupt" => "device interrupt",
        "soft_interrupt" => "soft interrupt",
        "timer" => "timer interrupt",
        "migration" => "move to another processor",
        _ => "unattributed",
    }
}

fn side_by_side(run: &Run, sites: &[(u32, &[&Sample])]) -> Table {
    let mut table = Table::new(
        "With and without the wait for a processor (calls that block)",
        &["<what", "p90", "without", "p99", "without", "p99.9", "without", "max", "without"],
    );
    for (site, samples) in sites {
        let of = |value: fn(&Sample) -> f64| {
            Summary::of(&samples.iter().map(|sample| value(sample)).collect::<Vec<_>>())
        };
        let (Some(raw), Some(less)) = (of(Sample::seconds), of(Sample::corrected_seconds)) else { continue };
        let optional = |value: Option<f64>| value.map_or("–".into(), duration);
        table.push(
            false,
            [
                name(run, *site),
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
    use samples::{Facts, Site};

    fn run(samples: Vec<Sample>) -> Run {
        let site = Site { operation: "fread".into(), labels: vec!["cold".into()], ..Site::default() };
        let sight = serde_json::json!({"tier": "events", "blind": ["interrupts: no tracepoints"]});
        Run { facts: Facts { sight, ..Facts::default() }, sites: vec![site], samples }
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
        let slow = |n| Sample {
            duration_ps: 4_050_000_000 + n,
            queue_ns: 4_000_000,
            blocked_ns: 40_000,
            causes: Cause::Blocked as u16 | Cause::Preempted as u16,
            ..Sample::default()
        };
        let chapter = chapter(&run(reads(slow))).expect("causes were seen");
        insta::assert_snapshot!(chapter.tables.iter().map(Table::text).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn where_nothing_was_seen_there_is_no_chapter() {
        assert!(chapter(&run(vec![Sample { duration_ps: 5, ..Sample::default() }; 500])).is_none());
        let mut simulated = run(reads(|_| Sample { duration_ps: 1 << 40, queue_ns: 9, ..Sample::default() }));
        simulated.facts.backend = "simulate".into();
        assert!(chapter(&simulated).is_none());
    }
}
