//! Reads what a rank records while it goes on recording.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use samples::{Sample, Site};

use crate::journal::Entry;
use crate::reader::read_spilled;
use crate::region::SampleRegion;

/// Hands out the samples of a region piece by piece, each once. It takes nothing from the rank but memory bandwidth.
pub struct Follower {
    region: Arc<SampleRegion>,
    /// Samples handed out or passed over, those in the spill file included.
    seen: u64,
    /// Places that a worker has taken and not filled yet, and how many samples were spilled then.
    empty: (u64, Vec<usize>),
    /// Bytes of the journal that were read.
    journal: usize,
    sites: Vec<Site>,
}

impl Follower {
    /// From the first sample on.
    pub fn new(region: Arc<SampleRegion>) -> Follower {
        Follower { region, seen: 0, empty: (0, Vec::new()), journal: 0, sites: Vec::new() }
    }

    /// The rank's own sites so far; `Sample::site` of what [`Follower::news`] gave is an index into them.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Samples that were recorded since the last call, of many the newest `most`. Empty where the rank is just moving
    /// samples to its spill file; they come with the next call.
    pub fn news(&mut self, most: usize) -> Vec<Sample> {
        let header = self.region.header();
        let spilled = header.spilled.seen();
        let published = header.samples.seen();
        let limit = self.region.sample_limit() as u64;
        if published < spilled || published - spilled > limit {
            return Vec::new();
        }
        let first = self.seen.max(published.saturating_sub(most as u64));
        let mut samples = Vec::new();
        if first < spilled {
            samples.resize((spilled - first) as usize, Sample::default());
            if read_spilled(&self.region, first, &mut samples).is_err() {
                samples.clear();
            }
        }
        let in_memory = (first.max(spilled) - spilled) as usize..(published - spilled) as usize;
        let mut empty = Vec::new();
        if self.empty.0 == spilled {
            let before = std::mem::take(&mut self.empty.1);
            before.into_iter().for_each(|at| self.take(at..at + 1, &mut samples, &mut empty));
        }
        self.take(in_memory, &mut samples, &mut empty);
        // What was copied above is copied before the count is looked at again.
        fence(Ordering::Acquire);
        if self.region.header().spilled.seen() != spilled {
            return Vec::new();
        }
        self.empty = (spilled, empty);
        self.seen = published;
        self.learn_sites();
        samples.retain(|sample| sample.batch > 0 && (sample.site as usize) < self.sites.len());
        samples
    }

    /// Copies published places; those that a worker has not filled are named in `empty`.
    fn take(&self, places: Range<usize>, samples: &mut Vec<Sample>, empty: &mut Vec<usize>) {
        for at in places {
            // SAFETY: the place is below the published count, which is at most the region's limit; every bit pattern is
            // a sample. A rank that spills meanwhile may write here, and what was copied is then thrown away.
            let sample = unsafe { self.region.samples().add(at).as_ptr().read_volatile() };
            if sample.batch == 0 { empty.push(at) } else { samples.push(sample) }
        }
    }

    fn learn_sites(&mut self) {
        let used = (self.region.header().journal.seen() as usize).min(self.region.journal_limit());
        // SAFETY: `used` bytes were published before the acquire load, lie inside the mapping and are never written
        // again.
        let bytes = unsafe { std::slice::from_raw_parts(self.region.journal().as_ptr(), used) };
        while let Some((head, rest)) = bytes[self.journal.min(used)..].split_first_chunk::<4>() {
            let length = u32::from_ne_bytes(*head) as usize;
            let Some(text) = rest.get(..length) else { return };
            if let Ok(Entry::Site(site)) = serde_json::from_slice(text) {
                self.sites.push(site);
            }
            self.journal += 4 + length;
        }
    }
}
