//! Leaves the warm-up of a run out, as its facts say ([`crate::SteadyFacts`]).

use crate::{CommonClock, Facts, Run, Sample, Site, SiteKind};

/// The stretch of a run that its results leave out.
#[derive(Clone, Debug)]
pub struct WarmUp {
    begin_ns: i64,
    end_ns: i64,
    cut_sites: Vec<u32>,
    clock: CommonClock,
}

impl WarmUp {
    /// Of a run with these facts; `None` where it has none.
    pub fn of(facts: &Facts) -> Option<WarmUp> {
        let steady = facts.steady.as_ref()?;
        let [begin, end] = steady.warm_up_ns?;
        let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let clock = CommonClock::of(facts);
        Some(WarmUp { begin_ns: ns(begin), end_ns: ns(end), cut_sites: steady.cut_sites.clone(), clock })
    }

    /// Whether the sample counts, of a site of this kind. A block under way when the warm-up ends is shortened by what lies
    /// in it.
    pub fn keeps(&self, kind: SiteKind, sample: &mut Sample) -> bool {
        let begin = self.clock.common_ns(sample.rank, sample.start_ns);
        if begin >= self.end_ns {
            return true;
        }
        let length = i64::try_from(sample.duration_ps / 1000).unwrap_or(i64::MAX);
        let is_block = matches!(kind, SiteKind::Time | SiteKind::Phase);
        let is_cut = is_block && self.cut_sites.contains(&sample.site);
        if is_cut && begin.saturating_add(length) > self.end_ns {
            let early = (self.end_ns - begin) as u64;
            sample.start_ns += early;
            sample.duration_ps = sample.duration_ps.saturating_sub(early.saturating_mul(1000));
            return true;
        }
        begin < self.begin_ns
    }

    /// Moves the samples that count to the front and says how many there are.
    pub fn sift(&self, sites: &[Site], samples: &mut [Sample]) -> usize {
        let mut kept = 0;
        for at in 0..samples.len() {
            let kind = sites.get(samples[at].site as usize).map_or(SiteKind::Operation, |site| site.kind);
            if self.keeps(kind, &mut samples[at]) {
                samples.swap(kept, at);
                kept += 1;
            }
        }
        kept
    }
}

impl Run {
    /// Leaves the samples of the warm-up out, where its facts tell of one.
    pub fn leave_out_warm_up(&mut self) {
        if let Some(warm_up) = WarmUp::of(&self.facts) {
            let kept = warm_up.sift(&self.sites, &mut self.samples);
            self.samples.truncate(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SteadyFacts, SteadyOutcome};

    #[test]
    fn what_began_in_the_warm_up_goes_and_a_block_under_way_is_shortened() {
        let site = |kind| Site { kind, ..Site::default() };
        let sample =
            |site, start_ns, duration_ps| Sample { site, start_ns, duration_ps, ..Sample::default() };
        let mut run = Run {
            sites: vec![site(SiteKind::Operation), site(SiteKind::Time), site(SiteKind::Time)],
            samples: vec![
                sample(0, 50, 1_000),
                sample(0, 100, 1_000),
                sample(0, 199, 500_000),
                sample(0, 200, 2_000),
                sample(1, 90, 400_000),
                sample(2, 150, 400_000),
            ],
            ..Run::default()
        };
        let all = run.samples.clone();
        run.leave_out_warm_up();
        assert_eq!(run.samples, all);
        run.facts.steady = Some(SteadyFacts {
            outcome: SteadyOutcome::Steady,
            warm_up_ns: Some([100, 200]),
            cut_sites: vec![1],
            ..SteadyFacts::default()
        });
        run.leave_out_warm_up();
        assert_eq!(run.samples, [all[0], all[3], sample(1, 200, 290_000)]);
    }
}
