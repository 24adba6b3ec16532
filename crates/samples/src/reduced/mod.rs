//! Sums samples up so that sums can be added: [`Reduced`].
//!
//! Whole numbers only, and of every map the same part is kept wherever it is full. So any split of the samples, in any
//! order, added in any tree, gives the same [`Reduced::encode`].

mod bytes;
mod decode;
mod encode;
mod errors;
mod site;
mod slowest;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

pub use decode::ReducedError;
pub use errors::ErrorCounts;
pub use site::{RankTotals, ReducedSite};
pub use slowest::{MOST_SLOW, SlowSample};
pub use steps::{MOST_STEPS, StepTotals};

use crate::{CommonClock, Run, Sample, Site, SiteKind, WarmUp};

/// Sites that are summed up alone: those with the smallest keys. The others are in [`Reduced::further`] together.
pub const MOST_SITES: usize = 4096;

/// What is known of a run without its samples. Those of other ranks, nodes or parts are added with [`Reduced::merge`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reduced {
    sites: BTreeMap<u128, ReducedSite>,
    further: FurtherSites,
}

/// What sites beyond [`MOST_SITES`] did together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FurtherSites {
    /// Timings that succeeded.
    pub timings: u64,
    /// Those that failed.
    pub failed: u64,
    /// Bytes moved.
    pub bytes: u128,
}

impl FurtherSites {
    fn add(&mut self, other: FurtherSites) {
        self.timings = self.timings.saturating_add(other.timings);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Reduced {
    /// Of a run, without its warm-up. Of a counting run it has the samples that were kept, and no more.
    pub fn of(run: &Run) -> Self {
        let clock = CommonClock::of(&run.facts);
        let warm_up = WarmUp::of(&run.facts);
        let mut all = Self::default();
        let mut next: HashMap<(u32, u32), u64> = HashMap::new();
        let mut kept: Vec<Sample> = Vec::new();
        for alike in run.samples.chunk_by(|a, b| (a.rank, a.site) == (b.rank, b.site)) {
            let (rank, number) = (alike[0].rank, alike[0].site);
            let Some(site) = run.sites.get(number as usize) else { continue };
            let samples = match &warm_up {
                None => alike,
                Some(warm_up) => {
                    kept.clear();
                    kept.extend_from_slice(alike);
                    kept.retain_mut(|sample| warm_up.keeps(site.kind, sample));
                    &kept
                }
            };
            let first = next.entry((rank, number)).or_default();
            all.add(site, *first, samples, &clock);
            *first += samples.len() as u64;
        }
        all
    }

    /// Adds samples of one site on one rank, in their order; the first of them is the `first`-th there.
    pub fn add(&mut self, site: &Site, first: u64, samples: &[Sample], clock: &CommonClock) {
        if samples.is_empty() {
            return;
        }
        let mut found = ReducedSite::default();
        found.add(site, first, samples, clock);
        self.join(key(site), found);
        self.bound();
    }

    /// Adds what is known of other samples.
    pub fn merge(&mut self, other: &Self) {
        for (key, site) in &other.sites {
            match self.sites.get_mut(key) {
                Some(known) => known.merge(site),
                None => drop(self.sites.insert(*key, site.clone())),
            }
        }
        self.further.add(other.further);
        self.bound();
    }

    /// The sums of a site.
    pub fn site(&self, site: &Site) -> Option<&ReducedSite> {
        self.sites.get(&key(site))
    }

    /// All sites with their keys, which are the same in every run of the program.
    pub fn sites(&self) -> impl Iterator<Item = (u128, &ReducedSite)> {
        self.sites.iter().map(|(key, site)| (*key, site))
    }

    /// What sites that found no room did.
    pub fn further(&self) -> FurtherSites {
        self.further
    }

    /// Leaves out what each step took: the largest part of long runs.
    pub fn leave_out_steps(&mut self) {
        self.sites.values_mut().for_each(ReducedSite::leave_out_steps);
    }

    fn join(&mut self, key: u128, found: ReducedSite) {
        match self.sites.get_mut(&key) {
            Some(known) => known.merge(&found),
            None => drop(self.sites.insert(key, found)),
        }
    }

    /// Whoever is among the smallest keys of all is among those of each part, so that what is kept is whole.
    fn bound(&mut self) {
        while self.sites.len() > MOST_SITES {
            let Some((_, last)) = self.sites.pop_last() else { break };
            let (timings, failed, bytes) = (last.timings, last.errors.count(), last.bytes);
            self.further.add(FurtherSites { timings, failed, bytes });
        }
    }
}

/// The key of a site: a hash of all that it is (FNV-1a of 128 bits), the same on every machine. Numbers of sites differ
/// between ranks.
pub fn key(site: &Site) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u128::from(*byte)).wrapping_mul((1 << 88) + 0x13b);
        }
    };
    add(&site.line.to_le_bytes());
    add(&site.column.to_le_bytes());
    add(&(site.labels.len() as u64).to_le_bytes());
    for text in site.labels.iter().chain([&site.operation, &site.group]) {
        add(&(text.len() as u64).to_le_bytes());
        add(text.as_bytes());
    }
    let kind = match site.kind {
        SiteKind::Operation => 0,
        SiteKind::Time => 1,
        SiteKind::CommandTime => 2,
        SiteKind::Barrier => 3,
        SiteKind::Phase => 4,
    };
    add(&[kind, u8::from(site.expects.is_some())]);
    add(&site.expects.unwrap_or(0).to_le_bytes());
    hash
}
