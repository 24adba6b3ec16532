//! Shows the samples of a run to its supervisor while it runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use record::{Follower, SampleRegion};
use samples::{Sample, Site};

/// Through it the caller of a run sees samples as they are recorded ([`super::Options::tap`]).
#[derive(Default)]
pub struct Tap(Mutex<Followed>);

#[derive(Default)]
struct Followed {
    ranks: Vec<Follower>,
    /// For each rank the number in `sites` of each of its own.
    numbers: Vec<Vec<u32>>,
    sites: Vec<Site>,
    known: HashMap<Site, u32>,
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tap")
    }
}

impl Tap {
    pub(super) fn open(&self, regions: &[Arc<SampleRegion>]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.ranks = regions.iter().map(|region| Follower::new(Arc::clone(region))).collect();
        all.numbers = vec![Vec::new(); regions.len()];
    }

    /// Gives up the memory of the ranks, when they are gone.
    pub(super) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ranks.clear();
    }

    /// Shows the samples since the last call, rank by rank, of each rank the newest `most`; `Sample::site` is an index
    /// into the sites.
    pub fn news(&self, most: usize, mut see: impl FnMut(&[Site], &[Sample])) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Followed { ranks, numbers, sites, known } = &mut *all;
        for (follower, numbers) in ranks.iter_mut().zip(numbers) {
            let mut samples = follower.news(most);
            for site in &follower.sites()[numbers.len()..] {
                numbers.push(*known.entry(site.clone()).or_insert_with(|| {
                    sites.push(site.clone());
                    sites.len() as u32 - 1
                }));
            }
            samples.iter_mut().for_each(|sample| sample.site = numbers[sample.site as usize]);
            see(sites, &samples);
        }
    }
}
