//! Finds a cluster of values separated by a gap that a distribution with one mode would not produce.

use lanes::{Arithmetic, LaneWork, widest};
use serde::{Deserialize, Serialize};

/// The gap with the strongest evidence against one mode.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Number of values below it.
    pub below: usize,
    /// Its lower end: the largest value below.
    pub from: f64,
    /// Its upper end: the smallest value above.
    pub to: f64,
    /// p-value of such a gap somewhere: a fifth of its bound for any distribution with one mode. Simulated for 50 to 2000 values,
    /// GEVs of shapes -0.7 to 1 reach a tenth of the bound, a uniform distribution two fifths.
    pub p: f64,
}

/// The smallest number of values of a cluster.
const FEWEST: usize = 5;
/// A cluster is tested as a whole and up to this share of its values, so that a few far ones do not hide a
/// gap.
const CUTS: [f64; 2] = [1.0, 0.6];

/// The fraction of the bound that distributions with one mode reach.
const REACHED: f64 = 0.2;

/// The gap with the strongest evidence against one mode among ascending values (ties spread over their tick);
/// none below 20.
///
/// A distribution with one mode has no increasing density above the mode and no decreasing one below it, and each gap lies on one
/// side. Above the mode: given the j-th value beyond the gap's lower end, at distance M, the j - 1 values between have a
/// density that does not increase, so each lies in the first part t M with probability at least t, and all
/// lie beyond it with probability at most (1 - t)^(j - 1). The same below, and the larger of both bounds
/// holds wherever the mode is. The bounds of all gaps are added, weighted by 1 / (values on the smaller
/// side): a distribution can be flat over few values more easily than over many.
pub fn separated(sorted: &[f64]) -> Option<Gap> {
    let n = sorted.len();
    if n < 4 * FEWEST {
        return None;
    }
    // Σ 1 / m over both sides.
    let total: f64 = 2.0 * (FEWEST..=n / 2).map(|m| 1.0 / m as f64).sum::<f64>();
    let gaps = SortedGaps { sorted, total };
    let mut best = Gap { below: 0, from: f64::NAN, to: f64::NAN, p: f64::INFINITY };
    let (first, behind) = (FEWEST - 1, n - FEWEST);
    let look = |at: usize, best: &mut Gap| {
        let p = gaps.bound(at);
        if p < best.p {
            *best = Gap { below: at + 1, from: sorted[at], to: sorted[at + 1], p };
        }
    };
    look(first, &mut best);
    for from in (first + 1..behind).step_by(TOGETHER) {
        let to = (from + TOGETHER).min(behind);
        let mut wide = widest(Wide { gaps: &gaps, from, to, least: best.p });
        while wide > 0 {
            look(from + wide.trailing_zeros() as usize, &mut best);
            wide &= wide - 1;
        }
    }
    Some(best)
}

/// Gaps that are looked at together: one bit of a number for each.
const TOGETHER: usize = 64;

/// The gaps between ascending values.
struct SortedGaps<'a> {
    sorted: &'a [f64],
    /// Σ 1 / (values on the smaller side) over all of them.
    total: f64,
}

impl SortedGaps<'_> {
    /// The p-value of the gap above a value.
    #[inline(always)]
    fn bound(&self, at: usize) -> f64 {
        let SortedGaps { sorted, total } = *self;
        let n = sorted.len();
        let gap = sorted[at + 1] - sorted[at];
        if gap <= 0.0 {
            return 1.0;
        }
        let beyond = |count: usize, reach: &dyn Fn(usize) -> f64| -> f64 {
            let least = CUTS
                .iter()
                .map(|cut| {
                    let j = beyond_gap(*cut, count);
                    let inside = 1.0 - (gap / reach(j)).min(1.0);
                    (j as f64 - 1.0) * inside.max(f64::MIN_POSITIVE).ln()
                })
                .fold(0.0, f64::min);
            CUTS.len() as f64 * least.exp()
        };
        let upper = beyond(n - 1 - at, &|j| sorted[at + j] - sorted[at]);
        let lower = beyond(at + 1, &|j| sorted[at + 1] - sorted[at + 1 - j]);
        (upper.max(lower) * self.smaller(at) * total * REACHED).min(1.0)
    }

    /// The number of values on the smaller side.
    fn smaller(&self, at: usize) -> f64 {
        (at + 1).min(self.sorted.len() - 1 - at) as f64
    }
}

/// How many of `count` values beyond a gap are looked at.
#[inline(always)]
fn beyond_gap(cut: f64, count: usize) -> usize {
    ((cut * count as f64).ceil() as usize).max(2).min(count)
}

/// Which of at most 64 gaps can have a smaller p-value than `least`, by one bit each.
struct Wide<'a> {
    gaps: &'a SortedGaps<'a>,
    from: usize,
    to: usize,
    least: f64,
}

impl LaneWork for Wide<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> u64 {
        let Wide { gaps: SortedGaps { sorted, total }, from, to, least } = self;
        let n = sorted.len();
        let smaller = self.gaps.smaller(from).min(self.gaps.smaller(to - 1));
        // A bound of one side is at least exp of minus the largest (j - 1) gap / (reach - gap), since -ln(1 - x) is at
        // most x / (1 - x).
        let needed = (CUTS.len() as f64 * REACHED * total * smaller / least).ln() * (1.0 - 1e-9);
        let mut found = 0;
        for at in from..to {
            let gap = sorted[at + 1] - sorted[at];
            let far = |count: usize, reach: &dyn Fn(usize) -> f64| {
                CUTS.iter().any(|cut| {
                    let j = beyond_gap(*cut, count);
                    (j as f64 - 1.0) * gap >= needed * (reach(j) - gap)
                })
            };
            let both = far(n - 1 - at, &|j| sorted[at + j] - sorted[at])
                && far(at + 1, &|j| sorted[at + 1] - sorted[at + 1 - j]);
            found |= u64::from(both) << (at - from);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Xoshiro};

    fn smallest(mut draw: impl FnMut(&mut Xoshiro) -> f64, n: usize, samples: u64) -> usize {
        (0..samples)
            .filter(|&index| {
                let mut random = Xoshiro::stream(41, index);
                let mut values: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
                values.sort_by(f64::total_cmp);
                separated(&values).unwrap().p <= 0.05
            })
            .count()
    }

    #[test]
    fn distributions_with_one_mode_are_seldom_called_two_even_where_heavy_or_flat() {
        let heavy = Gev::new(10.0, 1.0, 0.8).unwrap();
        let bounded = Gev::new(10.0, 1.0, -0.7).unwrap();
        assert!(smallest(|random| heavy.sample(random), 400, 300) <= 15);
        assert!(smallest(|random| bounded.sample(random), 400, 300) <= 15);
        assert!(smallest(|random| random.uniform(), 400, 300) <= 30);
        // A spike and a flat tail of a twentieth.
        let flat = |random: &mut Xoshiro| {
            let u = random.uniform();
            if random.uniform() < 0.05 { 1.0 + 10.0 * u } else { u }
        };
        assert!(smallest(flat, 400, 300) <= 30);
    }

    #[test]
    fn the_gap_is_the_best_of_all_for_any_distribution_size_and_ties() {
        let plain = |sorted: &[f64]| {
            let n = sorted.len();
            let total = 2.0 * (FEWEST..=n / 2).map(|m| 1.0 / m as f64).sum::<f64>();
            let mut best = (0, f64::INFINITY);
            for at in FEWEST - 1..n - FEWEST {
                let p = SortedGaps { sorted, total }.bound(at);
                if p < best.1 {
                    best = (at + 1, p);
                }
            }
            best
        };
        let mut random = Xoshiro::new(17);
        for n in [20, 21, 68, 69, 70, 133, 400, 5000] {
            for shape in [-0.9, -0.2, 0.3, 1.5] {
                let distribution = Gev::new(10.0, 1.0, shape).unwrap();
                for far in [0.0, 0.4, 2.0, 30.0] {
                    let cluster = |i: usize| if i.is_multiple_of(9) { far } else { 0.0 };
                    let mut values: Vec<f64> =
                        (0..n).map(|i| cluster(i) + distribution.sample(&mut random)).collect();
                    values.sort_by(f64::total_cmp);
                    let found = separated(&values).unwrap();
                    assert_eq!((found.below, found.p), plain(&values), "{n} {shape} {far}");
                    values.iter_mut().for_each(|x| *x = (*x * 8.0).round() / 8.0);
                    let found = separated(&values).unwrap();
                    assert_eq!((found.below, found.p), plain(&values), "{n} {shape} {far} tied");
                }
            }
        }
    }

    #[test]
    fn a_small_cluster_far_out_is_found_where_it_begins_and_a_single_value_is_none() {
        let mut random = Xoshiro::new(3);
        let mut values: Vec<f64> = (0..380).map(|_| 10.0 + 0.3 * random.normal()).collect();
        values.extend((0..20).map(|_| 13.0 + 0.3 * random.normal()));
        values.sort_by(f64::total_cmp);
        let gap = separated(&values).unwrap();
        assert_eq!(gap.below, 380);
        assert!(gap.p < 0.003, "{}", gap.p);
        let mut single: Vec<f64> = values[..380].to_vec();
        single.push(1000.0);
        assert!(separated(&single).unwrap().p > 0.2);
        assert!(separated(&values[..19]).is_none());
    }
}
