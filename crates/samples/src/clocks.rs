//! Converts times on a rank's clock to the clock of rank 0.

use crate::{ClockOffset, Facts};

/// The clock of rank 0 as the common clock of all ranks.
///
/// With two comparisons of the clocks, the offset is interpolated and extrapolated linearly (a drift). With
/// one it is constant. Without any it is 0, since ranks of one machine read the same clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommonClock {
    first: Vec<ClockOffset>,
    last: Vec<ClockOffset>,
}

impl CommonClock {
    /// From the comparisons in the facts.
    pub fn of(facts: &Facts) -> Self {
        let list = |found: Option<&Vec<ClockOffset>>| found.cloned().unwrap_or_default();
        Self { first: list(facts.clock_offsets.first()), last: list(facts.clock_offsets.last()) }
    }

    /// The time on rank 0's clock, in ns, when the clock of `rank` shows `ns`; negative before rank 0's
    /// epoch.
    pub fn common_ns(&self, rank: u32, ns: u64) -> i64 {
        let ns = i64::try_from(ns).unwrap_or(i64::MAX);
        let Some(first) = self.first.get(rank as usize) else { return ns };
        let since = ns - first.offset_ns - i64::try_from(first.at_ns).unwrap_or(i64::MAX);
        // `since` is on the rank's clock, the drift on that of rank 0.
        let drift = self.drift(rank);
        let drifted = (drift / (1.0 + drift) * since as f64).round() as i64;
        ns - first.offset_ns - drifted
    }

    /// How much the clock of `rank` gains on that of rank 0, in seconds per second; 0 with fewer than two
    /// comparisons.
    pub fn drift(&self, rank: u32) -> f64 {
        let (Some(first), Some(last)) = (self.first.get(rank as usize), self.last.get(rank as usize)) else {
            return 0.0;
        };
        let between = last.at_ns.saturating_sub(first.at_ns);
        if between == 0 { 0.0 } else { (last.offset_ns - first.offset_ns) as f64 / between as f64 }
    }

    /// The largest uncertainty of the comparisons of `rank`, in ns.
    pub fn uncertainty_ns(&self, rank: u32) -> u64 {
        let of = |list: &[ClockOffset]| list.get(rank as usize).map_or(0, |found| found.uncertainty_ns);
        of(&self.first).max(of(&self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(comparisons: &[[(i64, u64); 2]]) -> Facts {
        let list = |one: &[(i64, u64); 2]| {
            let offset =
                |(offset_ns, at_ns): (i64, u64)| ClockOffset { offset_ns, uncertainty_ns: 300, at_ns };
            one.map(offset).to_vec()
        };
        Facts { clock_offsets: comparisons.iter().map(list).collect(), ..Facts::default() }
    }

    #[test]
    fn an_offset_and_its_drift_are_subtracted() {
        let clock = CommonClock::of(&facts(&[[(0, 1000), (500, 1000)], [(0, 101_000), (1500, 101_000)]]));
        assert!((clock.drift(1) - 0.01).abs() < 1e-12);
        assert_eq!([0, 50_000, 100_000].map(|common| clock.common_ns(0, common)), [0, 50_000, 100_000]);
        // Rank 1 is 500 ns ahead at 1000 and gains one in a hundred.
        assert_eq!(clock.common_ns(1, 1500), 1000);
        assert_eq!(clock.common_ns(1, 102_500), 101_000);
        assert_eq!(clock.common_ns(1, 500 + 1_010_000 + 1000), 1_001_000);
        assert_eq!(clock.uncertainty_ns(1), 300);
    }

    #[test]
    fn without_a_comparison_all_clocks_are_one() {
        let clock = CommonClock::default();
        assert_eq!((clock.common_ns(3, 77), clock.drift(3), clock.uncertainty_ns(3)), (77, 0.0, 0));
    }
}
