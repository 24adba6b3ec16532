//! Time until written data are safe: from the begin of a write to the end of the first call behind it that makes data durable.

use std::collections::{BTreeMap, HashMap};

use samples::{Site, SiteKind};
use serde::Serialize;

use crate::columns::Stream;
use crate::interval::QuantileInterval;
use crate::quantiles::Quantiles;
use crate::summary::quantiles;

/// Calls after which what was written is safe.
pub(crate) const SYNCS: [&str; 3] = ["fsync", "fdatasync", "sync"];

/// Fewest calls that make data durable: one at the end of a job is part of its time, not of each write.
const FEWEST: usize = 2;

/// Most writes for each of them.
const MOST_WRITES: usize = 1_000;

/// The writes of a row as somebody sees them who must not lose data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Safe {
    /// Writes that were made safe.
    pub count: u64,
    /// Calls that made them so.
    pub syncs: u64,
    /// Quantiles from the begin of a write, under `rate` from its intended start, to the end of the first such call that
    /// began behind it on its rank; in seconds.
    pub quantiles_seconds: Option<Quantiles>,
    /// Their intervals.
    pub intervals: Vec<QuantileInterval>,
}

/// The calls that make data durable, by the labels around them and by rank.
#[derive(Default)]
pub(crate) struct Syncs<'a> {
    of: HashMap<&'a [String], BTreeMap<u32, Vec<Sync>>>,
}

#[derive(Clone, Copy)]
struct Sync {
    start_ps: u64,
    /// When the first of this one and all later ones ended.
    end_ps: u64,
}

impl<'a> Syncs<'a> {
    pub fn of(sites: &'a [Site], streams: &[Stream]) -> Syncs<'a> {
        let mut of: HashMap<&[String], BTreeMap<u32, Vec<Sync>>> = HashMap::new();
        for stream in streams {
            let Some(site) = sites.get(stream.site as usize) else { continue };
            if site.kind != SiteKind::Operation || !SYNCS.contains(&site.operation.as_str()) {
                continue;
            }
            let of_rank = of.entry(site.labels.as_slice()).or_default().entry(stream.rank).or_default();
            of_rank.extend(stream.timings().filter(|timing| !timing.failed).map(|timing| {
                let start_ps = timing.start_ns.saturating_mul(1_000);
                Sync { start_ps, end_ps: start_ps.saturating_add(timing.duration_ps) }
            }));
        }
        for syncs in of.values_mut().flat_map(BTreeMap::values_mut) {
            syncs.sort_by_key(|sync| sync.start_ps);
            let mut first = u64::MAX;
            for sync in syncs.iter_mut().rev() {
                first = first.min(sync.end_ps);
                sync.end_ps = first;
            }
        }
        Syncs { of }
    }

    /// When the writes of some streams below these labels were safe; `None` where there are too few such calls.
    pub fn safe(&self, labels: &[String], streams: &[Stream]) -> Option<Safe> {
        let of_ranks = self.of.get(labels)?;
        let syncs: usize = of_ranks.values().map(Vec::len).sum();
        let writes: usize = streams.iter().map(|stream| stream.starts().len()).sum();
        if syncs < FEWEST || writes > syncs.saturating_mul(MOST_WRITES) {
            return None;
        }
        let mut durations: Vec<(u64, u64)> = Vec::with_capacity(writes);
        for stream in streams {
            let Some(syncs) = of_ranks.get(&stream.rank) else { continue };
            let mut at = 0;
            for timing in stream.timings().filter(|timing| !timing.failed) {
                let start_ps = timing.start_ns.saturating_mul(1_000);
                // Begins are whole nanoseconds.
                let end_ps = (start_ps.saturating_add(timing.duration_ps) / 1_000).saturating_mul(1_000);
                // Writes in flight together end in any order, but close to each other.
                while at > 0 && syncs[at - 1].start_ps >= end_ps {
                    at -= 1;
                }
                while syncs.get(at).is_some_and(|sync| sync.start_ps < end_ps) {
                    at += 1;
                }
                if let Some(sync) = syncs.get(at) {
                    let due_ps = start_ps.saturating_sub(timing.late_ns.saturating_mul(1_000));
                    durations.push((timing.start_ns, sync.end_ps - due_ps));
                }
            }
        }
        if streams.len() > 1 {
            durations.sort_by_key(|(start_ns, _)| *start_ns);
        }
        let count = durations.len() as u64;
        let in_order = durations.into_iter().map(|(_, ps)| ps).collect();
        let (quantiles_seconds, intervals) = quantiles(in_order, &[], |ps| ps as f64 * 1e-12);
        Some(Safe { count, syncs: syncs as u64, quantiles_seconds, intervals })
    }
}

#[cfg(test)]
mod tests {
    use samples::{Run, Sample};

    use super::*;
    use crate::of_run;

    #[test]
    fn a_write_is_safe_when_the_next_sync_is_over() {
        let site = |operation: &str| Site { operation: operation.into(), line: 1, ..Site::default() };
        let sample = |site, start_ns, us: u64| Sample {
            site,
            start_ns,
            duration_ps: us * 1_000_000,
            bytes: if site == 0 { 4096 } else { 0 },
            batch: 1,
            ..Sample::default()
        };
        // Write at 0 and 100 µs, sync from 200 to 4,200 µs; write at 5,000 µs, sync from 5,100 to 8,100 µs; a last write.
        let samples = vec![
            sample(0, 0, 18),
            sample(0, 100_000, 18),
            sample(1, 200_000, 4_000),
            sample(0, 5_000_000, 18),
            sample(1, 5_100_000, 3_000),
            sample(0, 9_000_000, 18),
        ];
        let run = Run { sites: vec![site("fwrite"), site("fsync")], samples, ..Run::default() };
        let rows = of_run(&run);
        let safe = rows[0].safe.as_ref().expect("two syncs");
        let found = safe.quantiles_seconds.as_ref().expect("three writes");
        assert_eq!((safe.count, safe.syncs), (3, 2));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} instead of {b}");
        near(found.min, 3.1e-3);
        near(found.p50, 4.1e-3);
        near(found.max, 4.2e-3);
        assert!(rows[1].safe.is_none());
        let once = Run { samples: run.samples[..3].to_vec(), ..run };
        assert!(of_run(&once)[0].safe.is_none(), "one sync at the end of a job is part of its time");
    }
}
