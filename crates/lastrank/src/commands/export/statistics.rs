//! Computes what Parabench's own reports contain: times of blocks, calls inside `ctime` blocks, commands.

use std::collections::BTreeMap;

use samples::{Run, Sample, SiteKind};

/// The kinds of timed blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockKind {
    /// Wall time of a `time` or `phase` block.
    Time,
    /// Time inside the calls of a `ctime` block.
    CommandTime,
}

/// A `time` or `ctime` block on one rank, each time it was run.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockTimes {
    pub kind: BlockKind,
    pub rank: u32,
    /// Its label, or `time:LINE` where it has none.
    pub id: String,
    /// Seconds, one a run of the block.
    pub seconds: Vec<f64>,
    /// The calls inside a `ctime` block; none of a `time` block.
    pub calls: Option<Calls>,
}

/// Calls inside a `ctime` block on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    pub count: u64,
    /// Sum, least and greatest call time in seconds; calls timed together count with their mean.
    pub total: f64,
    pub min: f64,
    pub max: f64,
    pub bytes: u64,
    /// Least and greatest throughput of a call that moved bytes, in bytes a second.
    pub slowest: f64,
    pub fastest: f64,
    /// Time inside the calls that moved bytes.
    pub moving: f64,
}

impl Calls {
    fn add(&mut self, sample: &Sample) {
        let (seconds, each) = (sample.seconds(), sample.seconds_each());
        self.min = if self.count == 0 { each } else { self.min.min(each) };
        self.max = self.max.max(each);
        self.count += u64::from(sample.batch.max(1));
        self.total += seconds;
        if sample.bytes > 0 && seconds > 0.0 {
            let throughput = sample.bytes as f64 / seconds;
            self.slowest = if self.bytes == 0 { throughput } else { self.slowest.min(throughput) };
            self.fastest = self.fastest.max(throughput);
            self.bytes += sample.bytes;
            self.moving += seconds;
        }
    }

    /// Average call time in seconds.
    pub fn average(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total / self.count as f64 }
    }

    /// Average throughput in bytes a second; none where no call moved bytes.
    pub fn throughput(&self) -> Option<f64> {
        (self.moving > 0.0).then(|| self.bytes as f64 / self.moving)
    }

    /// Calls a second of the time inside them.
    pub fn per_second(&self) -> f64 {
        if self.total > 0.0 { self.count as f64 / self.total } else { 0.0 }
    }
}

/// Timed blocks by kind, rank and first appearance in the program.
pub fn block_times(run: &Run) -> Vec<BlockTimes> {
    let mut blocks: BTreeMap<(BlockKind, u32, u32), Vec<&Sample>> = BTreeMap::new();
    let mut operations: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    for sample in &run.samples {
        let Some(site) = run.sites.get(sample.site as usize) else { continue };
        let kind = match site.kind {
            SiteKind::Time | SiteKind::Phase => BlockKind::Time,
            SiteKind::CommandTime => BlockKind::CommandTime,
            SiteKind::Operation => {
                operations.entry(sample.rank).or_default().push(sample);
                continue;
            }
            SiteKind::Barrier => continue,
        };
        blocks.entry((kind, sample.rank, sample.site)).or_default().push(sample);
    }
    operations.values_mut().for_each(|of_rank| of_rank.sort_by_key(|sample| sample.start_ns));
    let mut found: Vec<BlockTimes> = Vec::new();
    for ((kind, rank, site), mut of_block) in blocks {
        of_block.sort_by_key(|sample| sample.start_ns);
        let mut calls = Calls::default();
        if kind == BlockKind::CommandTime {
            let all = operations.get(&rank).map(Vec::as_slice).unwrap_or_default();
            of_block.iter().for_each(|block| inside(run, block, all).for_each(|call| calls.add(call)));
        }
        let id = id(run, site);
        let seconds: Vec<f64> = of_block.iter().map(|sample| sample.seconds()).collect();
        found.push(BlockTimes {
            kind,
            rank,
            id,
            seconds,
            calls: (kind == BlockKind::CommandTime).then_some(calls),
        });
    }
    found
}

/// The calls inside one run of a `ctime` block: those under its labels from its start on whose times add
/// up to its own.
fn inside<'a>(run: &'a Run, block: &'a Sample, all: &'a [&'a Sample]) -> impl Iterator<Item = &'a Sample> {
    let labels = run.sites.get(block.site as usize).map(|site| site.labels.as_slice()).unwrap_or_default();
    let first = all.partition_point(|sample| sample.start_ns < block.start_ns);
    let mut left = block.duration_ps;
    all[first..]
        .iter()
        .copied()
        .filter(move |sample| {
            run.sites.get(sample.site as usize).is_some_and(|site| site.labels.starts_with(labels))
        })
        .take_while(move |sample| {
            let within = sample.duration_ps <= left && left > 0;
            left = left.saturating_sub(sample.duration_ps);
            within
        })
}

/// The innermost label, or kind and line of a block without one.
fn id(run: &Run, site: u32) -> String {
    let Some(site) = run.sites.get(site as usize) else { return String::new() };
    // A block without a label stands under those around it.
    site.labels.last().cloned().unwrap_or_else(|| format!("{}:{}", site.operation, site.line))
}

/// For each rank and command how many succeeded and failed.
pub fn commands(run: &Run) -> BTreeMap<(u32, String), (u64, u64)> {
    let mut found: BTreeMap<(u32, String), (u64, u64)> = BTreeMap::new();
    for sample in &run.samples {
        let Some(site) = run.sites.get(sample.site as usize).filter(|site| site.kind == SiteKind::Operation)
        else {
            continue;
        };
        let counts = found.entry((sample.rank, site.operation.clone())).or_default();
        let count = u64::from(sample.batch.max(1));
        *(if sample.failed() { &mut counts.1 } else { &mut counts.0 }) += count;
    }
    found
}
