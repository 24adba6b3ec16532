//! All samples of one label and operation in one line of the program.

use std::collections::{BTreeMap, BTreeSet};

use samples::{Run, SiteKind};

use crate::summary::Summary;

/// All successful samples of one label and operation in one line, of all ranks.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Innermost label; empty where there is none.
    pub label: String,
    /// `fwrite`, `chase`, …
    pub operation: String,
    /// Its line in the program, from 1.
    pub line: u32,
    /// Whether another line has the same label and operation.
    pub is_ambiguous: bool,
    /// What it times.
    pub kind: SiteKind,
    /// Time of one operation, in seconds, in the order of the run: a batch counts as the mean of its
    /// operations.
    pub seconds: Vec<f64>,
    /// Operations in one timing (median).
    pub batch: u32,
    /// Number of operations.
    pub operations: u64,
    /// Bytes moved by all of them.
    pub bytes: u64,
    /// Bytes of one operation, where all have the same.
    pub bytes_each: Option<u64>,
    /// Time of all timings, in seconds.
    pub total_s: f64,
    /// From the first start to the last end, in seconds.
    pub span_s: f64,
    /// When any rank was inside one of them: begin and end in picoseconds, apart and ascending.
    pub busy: Vec<(u64, u64)>,
    /// How many ranks did them.
    pub ranks: usize,
    /// How many samples failed.
    pub failed: usize,
    /// Time in which it could run and had no processor, in seconds, as far as that was read.
    pub waited_s: f64,
    /// Ascending.
    pub sorted: Vec<f64>,
}

impl Place {
    /// All places of a run with a successful sample, in the order of their lines.
    pub fn all(run: &Run) -> Vec<Place> {
        let mut index: BTreeMap<(&str, &str, bool, u32, u32), usize> = BTreeMap::new();
        let mut places: Vec<Place> = Vec::new();
        let mut of_site: Vec<usize> = Vec::with_capacity(run.sites.len());
        let mut order: Vec<usize> = (0..run.sites.len()).collect();
        order.sort_by_key(|&site| (run.sites[site].line, run.sites[site].column, site));
        of_site.resize(run.sites.len(), 0);
        for site_index in order {
            let site = &run.sites[site_index];
            let label = site.labels.last().map_or("", String::as_str);
            let block = !matches!(site.kind, SiteKind::Operation | SiteKind::Barrier);
            let at = *index
                .entry((label, site.operation.as_str(), block, site.line, site.column))
                .or_insert_with(|| {
                    places.push(Place::new(label, &site.operation, site.kind, site.line));
                    places.len() - 1
                });
            of_site[site_index] = at;
        }
        let mut batches: Vec<Vec<u32>> = vec![Vec::new(); places.len()];
        let mut spans = vec![(u64::MAX, 0u64); places.len()];
        let mut ranks: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); places.len()];
        let mut last: Vec<Option<u32>> = vec![None; places.len()];
        let mut bytes: Vec<Option<(u64, u32)>> = vec![None; places.len()];
        let mut equal = vec![true; places.len()];
        for sample in &run.samples {
            let Some(&at) = of_site.get(sample.site as usize) else { continue };
            let place = &mut places[at];
            if sample.failed() {
                place.failed += 1;
                continue;
            }
            let batch = sample.batch.max(1);
            place.seconds.push(sample.seconds() / f64::from(batch));
            place.operations += u64::from(batch);
            place.bytes += sample.bytes;
            place.total_s += sample.seconds();
            place.waited_s += sample.queue_ns as f64 * 1e-9;
            batches[at].push(batch);
            if last[at] != Some(sample.rank) {
                ranks[at].insert(sample.rank);
                last[at] = Some(sample.rank);
            }
            let begin_ps = sample.start_ns.saturating_mul(1000);
            place.busy.push((begin_ps, begin_ps.saturating_add(sample.duration_ps)));
            let (begin, end) = &mut spans[at];
            *begin = (*begin).min(sample.start_ns);
            *end = (*end).max(sample.start_ns + sample.duration_ps / 1000);
            equal[at] &= bytes[at].is_none_or(|known| known == (sample.bytes, batch));
            bytes[at] = Some((sample.bytes, batch));
        }
        for (at, place) in places.iter_mut().enumerate() {
            let middle = batches[at].len() / 2;
            place.batch = batches[at].get_mut(..).filter(|all| !all.is_empty()).map_or(1, |all| {
                let (_, median, _) = all.select_nth_unstable(middle);
                *median
            });
            place.bytes_each = bytes[at].filter(|_| equal[at]).map(|(bytes, batch)| bytes / u64::from(batch));
            place.span_s = spans[at].1.saturating_sub(spans[at].0) as f64 * 1e-9;
            place.busy = together(std::mem::take(&mut place.busy));
            place.ranks = ranks[at].len();
            place.sorted = place.seconds.clone();
            place.sorted.sort_unstable_by(f64::total_cmp);
        }
        places.retain(|place| !place.seconds.is_empty());
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        places.iter().for_each(|place| *count.entry(place.name()).or_default() += 1);
        for place in &mut places {
            place.is_ambiguous = count[&place.name()] > 1;
        }
        places
    }

    fn new(label: &str, operation: &str, kind: SiteKind, line: u32) -> Place {
        Place {
            label: label.into(),
            operation: operation.into(),
            line,
            is_ambiguous: false,
            kind,
            seconds: Vec::new(),
            batch: 1,
            operations: 0,
            bytes: 0,
            bytes_each: None,
            total_s: 0.0,
            span_s: 0.0,
            busy: Vec::new(),
            ranks: 0,
            failed: 0,
            waited_s: 0.0,
            sorted: Vec::new(),
        }
    }

    /// A single command, not a block around several.
    pub fn is_operation(&self) -> bool {
        self.kind == SiteKind::Operation
    }

    /// `write / fwrite`, or the operation where there is no label; with the line where that does not tell.
    pub fn name(&self) -> String {
        let name = match (self.is_operation(), self.label.is_empty()) {
            (_, true) => self.operation.clone(),
            (true, false) => format!("{} / {}", self.label, self.operation),
            (false, false) => self.label.clone(),
        };
        if self.is_ambiguous { format!("{name}, line {}", self.line) } else { name }
    }

    /// Mean to maximum. Never none: a place has a sample.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of_sorted(&self.sorted)
    }

    /// The share of its time in which it waited for a processor.
    pub fn waited_share(&self) -> f64 {
        if self.total_s > 0.0 { (self.waited_s / self.total_s).min(1.0) } else { 0.0 }
    }

    /// Median, in seconds.
    pub fn median(&self) -> f64 {
        crate::quantile(&self.sorted, 0.5)
    }
}

/// Stretches of time that overlap or meet as one, ascending.
pub(crate) fn together(mut stretches: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    // Those of a rank come in order mostly, of which a stable sort makes use.
    stretches.sort();
    let mut apart: Vec<(u64, u64)> = Vec::new();
    for (begin, end) in stretches {
        match apart.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => apart.push((begin, end)),
        }
    }
    apart
}
