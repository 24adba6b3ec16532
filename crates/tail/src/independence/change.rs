//! Detects jumps of the level: Pettitt's test and PELT change points.

use lanes::{Arithmetic, LaneWork, widest};
use serde::{Deserialize, Serialize};

use super::autocorrelation::ranks;
use super::cut_ranks::CutRanks;
use super::long_run;
use crate::{Takers, lagged, special};

/// The most likely single jump of the level (Pettitt 1979).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Jump {
    /// K = max |U_t|.
    pub statistic: f64,
    /// Index of the last value before the jump, from 0.
    pub last_before: usize,
    /// p-value, 2 exp(-6 K² / (n³ + n²)), at most 1.
    pub p: f64,
}

/// Pettitt's rank test for one jump at an unknown time.
pub fn pettitt(values: &[f64]) -> Jump {
    pettitt_of_ranks(&ranks(values))
}

/// [`pettitt`] for known ranks.
pub(super) fn pettitt_of_ranks(ranks: &[f64]) -> Jump {
    let n = ranks.len() as f64;
    let mut sum = 0.0;
    let mut best = Jump { statistic: 0.0, last_before: 0, p: 1.0 };
    for (t, rank) in ranks.iter().enumerate() {
        sum += 2.0 * rank - n - 1.0;
        if sum.abs() > best.statistic {
            best = Jump { statistic: sum.abs(), last_before: t, p: 1.0 };
        }
    }
    best.p = (2.0 * (-6.0 * best.statistic.powi(2) / (n.powi(3) + n * n)).exp()).min(1.0);
    best
}

/// A test of whether the level jumps that allows for neighbours that resemble each other.
///
/// The sums of centred ranks up to each time are, without a jump, a Brownian bridge times the long-run variance. Their
/// largest distance from 0 tells one jump, their range (Kuiper 1960) one up and down again. The variance is that
/// without the best jump, or without the two best ones, times an allowance for its own error from few values; both were
/// tuned by simulation of autoregressions. See the page of calibration for sizes and powers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LevelTest {
    /// The index of the first value after the best single jump.
    pub at: usize,
    /// The long-run variance of the ranks beside that of independent values, without that jump.
    pub variance_factor: f64,
    /// p-value of a constant level.
    pub p: f64,
}

/// Allowances for the error of the long-run variance without one jump, and without two.
const ALLOWANCES: [f64; 2] = [14.0, 100.0];
/// Shares of the error: one jump, two jumps; and of each: distance, range.
const OF_JUMPS: [f64; 2] = [0.7, 0.3];
const OF_STATISTICS: [f64; 2] = [0.6, 0.4];
/// From so many values on, two jumps are looked for.
const FEWEST_FOR_TWO: usize = 50;
/// A stretch between two jumps that is shorter than so many times what the values are correlated for is the longest of
/// several bursts: bursts of 10 values on average, a tenth of the time, have one of 40 in every fifteenth series of 400.
const LONGER_THAN_BURSTS: f64 = 20.0;
/// No stretch between two jumps that is shorter than a quarter of the series, within these numbers of values, is told from the
/// longest of several bursts either: without it, the few others tell too little of how long bursts are.
const SHORTEST_STRETCH: [f64; 2] = [60.0, 100.0];

/// [`LevelTest`] of ranks in time order.
pub(super) fn level_test(ranks: &[f64], takers: Option<&Takers>) -> LevelTest {
    let n = ranks.len();
    let size = n as f64;
    let centre = 0.5 * (size + 1.0);
    let edge = 3.min(n / 4).max(1);
    let (mut sum, mut highest, mut lowest, mut best) = (0.0, (0.0, 0), (0.0, 0), (0.0, n / 2));
    for (at, rank) in ranks.iter().enumerate().take(n.saturating_sub(1)) {
        sum += rank - centre;
        let before = at + 1;
        if sum > highest.0 {
            highest = (sum, before);
        }
        if sum < lowest.0 {
            lowest = (sum, before);
        }
        let gain = sum * sum / (before as f64 * (size - before as f64));
        if before >= edge && before + edge <= n && gain > best.0 {
            best = (gain, before);
        }
    }
    let distance = highest.0.max(-lowest.0) / size.sqrt();
    let range = (highest.0 - lowest.0) / size.sqrt();
    let discrete = 0.583 / size.sqrt();
    let with = |cuts: &[usize], allowance: f64| {
        let residuals = CutRanks::at(ranks, cuts).residuals;
        let variance = residuals.iter().map(|r| r * r).sum::<f64>() / size;
        let factor = long_run::factor(&residuals, takers);
        let allowed = factor * (1.0 + allowance * (factor - 1.0) / size) * (1.0 + (20.0 / size).powi(2));
        let deviation = (variance * allowed).sqrt();
        if deviation.is_nan() || deviation <= 0.0 {
            return (factor, 1.0);
        }
        let far = (2.0 * (-2.0 * (distance / deviation + discrete).powi(2)).exp()).min(1.0);
        let wide = kuiper_survival(range / deviation + 1.5 * discrete);
        (factor, (far / OF_STATISTICS[0]).min(wide / OF_STATISTICS[1]).min(1.0))
    };
    let (up, down) = (highest.1.min(lowest.1), highest.1.max(lowest.1));
    let shorter = (down - up).min(n - (down - up)) as f64;
    let shortest = (size / 4.0).clamp(SHORTEST_STRETCH[0], SHORTEST_STRETCH[1]);
    let are_two = n >= FEWEST_FOR_TWO && shorter >= shortest;
    let ((variance_factor, one), two) =
        rayon::join(|| with(&[best.1], ALLOWANCES[0]), || are_two.then(|| with(&[up, down], ALLOWANCES[1])));
    // A burst at an end looks like a jump there.
    let side = best.1.min(n - best.1) as f64;
    let one = if side < (LONGER_THAN_BURSTS * variance_factor).min(size / 4.0) { 1.0 } else { one };
    let p = two.map_or(one, |(factor, two)| {
        let two = if shorter < LONGER_THAN_BURSTS * factor { 1.0 } else { two };
        (one / OF_JUMPS[0]).min(two / OF_JUMPS[1]).min(1.0)
    });
    // A level that goes up and down several times looks like a long memory to a test of one jump or two.
    let p = match variance_factor > LONG_MEMORY && p > SHOWN {
        true => p.min(p_of_several(ranks, takers)),
        false => p,
    };
    LevelTest { at: best.1, variance_factor, p }
}

/// From so many times the long-run variance of independent values on, several jumps are looked for.
const LONG_MEMORY: f64 = 5.0;
/// A test below this p-value needs no other.
const SHOWN: f64 = 1e-6;

/// The p-value of a constant level against two jumps or more, up and up again, too: of the least certain one, for any place at which it could
/// have been. Jumps that are not certain, or leave too short a stretch, are taken back one by one.
fn p_of_several(ranks: &[f64], takers: Option<&Takers>) -> f64 {
    const FEWEST_JUMPS: usize = 2;
    let size = ranks.len() as f64;
    let mut cut = CutRanks::at(ranks, &change_points_of_ranks(ranks, takers));
    while cut.means.len() > FEWEST_JUMPS {
        let factor = long_run::factor(&cut.residuals, takers);
        let variance = cut.residuals.iter().map(|r| r * r).sum::<f64>() / size;
        let error = variance * factor * (1.0 + ALLOWANCES[1] * (factor - 1.0) / size);
        // Of several such stretches none is the longest of bursts, and a cut lies some values beside the jump.
        let shortest = (LONGER_THAN_BURSTS * factor).max(0.8 * SHORTEST_STRETCH[1]);
        let of_cut = |at: usize| {
            let [n, m] = [at, at + 1].map(|part| cut.length(part) as f64);
            let far = (cut.means[at] - cut.means[at + 1]).abs();
            let z = far / (error * (1.0 / n + 1.0 / m)).sqrt();
            // The shorter stretch goes with its weaker jump.
            if n.min(m) < shortest { 1e-3 * z } else { z }
        };
        let (weakest, z) = (0..cut.means.len() - 1)
            .map(|at| (at, of_cut(at)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or((0, 0.0));
        let p = (2.0 * size * special::normal_cdf(-z)).min(1.0);
        if p < SHOWN {
            return p;
        }
        cut.join(weakest);
    }
    1.0
}

/// The share of the fastest values, which bursts of slow ones hardly touch.
const BELOW_BURSTS: f64 = 0.3;
/// Fewer values than these tell too little of a step; they are at most half of all.
const FEWEST_FAST: f64 = 40.0;
/// From so many times the long-run variance of independent values on, the fastest values depend on each other themselves, and
/// what is seen is not bursts of slow ones.
const MOST_OF_FAST: f64 = 3.0;
/// A change of level with a larger p-value is none whatever the fastest values say.
pub(super) const ASKED_OF_FAST: f64 = 0.05;

/// The p-value of a constant level of the fastest values, with all others taken as one. The longest of few bursts is a change
/// of level to any test; a level that moves does so in the fastest values, too. 0 where these resemble each other as well.
pub(super) fn p_of_fast(ranks: &[f64]) -> f64 {
    let size = ranks.len() as f64;
    let most = (BELOW_BURSTS * size).max(FEWEST_FAST.min(0.5 * size));
    let fast = ranks.iter().filter(|rank| **rank <= most).count();
    let slow = 0.5 * (fast + 1 + ranks.len()) as f64;
    let fast: Vec<f64> = ranks.iter().map(|rank| if *rank <= most { *rank } else { slow }).collect();
    let level = level_test(&fast, None);
    match level.variance_factor < MOST_OF_FAST {
        true => level.p.min(super::mann_kendall(&fast).p),
        false => 0.0,
    }
}

/// The probability that the range of a Brownian bridge is above `v` (Kuiper 1960).
fn kuiper_survival(v: f64) -> f64 {
    if v < 0.4 {
        return 1.0;
    }
    let term = |j: i32| {
        let square = f64::from(j * j) * v * v;
        2.0 * (4.0 * square - 1.0) * (-2.0 * square).exp()
    };
    (1..20).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// Gumbel scores -ln(-ln(rank / (n + 1))): values without unit and tail.
pub fn gumbel_scores(values: &[f64]) -> Vec<f64> {
    scores_of_ranks(&ranks(values))
}

fn scores_of_ranks(ranks: &[f64]) -> Vec<f64> {
    widest(Scores(ranks))
}

struct Scores<'a>(&'a [f64]);

impl LaneWork for Scores<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Vec<f64> {
        let n = self.0.len() as f64;
        self.0.iter().map(|r| -lanes::ln::<A>(-lanes::ln::<A>(r / (n + 1.0)))).collect()
    }
}

/// The sum of the squared differences to the value some places later.
struct SquaredDifferences<'a> {
    values: &'a [f64],
    later: &'a [f64],
}

impl LaneWork for SquaredDifferences<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> f64 {
        const LANES: usize = 32;
        let mut sums = [0.0; LANES];
        for (values, later) in self.values.chunks(LANES).zip(self.later.chunks(LANES)) {
            for ((sum, a), b) in sums.iter_mut().zip(values).zip(later) {
                *sum = A::mul_add(a - b, a - b, *sum);
            }
        }
        sums.iter().sum()
    }
}

/// The largest number of blocks to which values are joined before the search, which is quadratic.
const BLOCKS: usize = 2000;

/// Change points of the mean of Gumbel scores by PELT (Killick, Fearnhead, Eckley 2012): the first index of
/// each new segment. The penalty is 3.2 ln n times the long-run variance, which an AR(1) model takes from
/// first and second differences, so that neither jumps nor a smooth dependence inflate their number; a test
/// checks that at most 6% of independent series have a reported jump. No segment is shorter than max(5, n /
/// 100).
pub fn change_points(values: &[f64]) -> Vec<usize> {
    change_points_of_ranks(&ranks(values), None)
}

/// [`change_points`] for known ranks.
pub(super) fn change_points_of_ranks(ranks: &[f64], takers: Option<&Takers>) -> Vec<usize> {
    let n = ranks.len();
    if n < 20 {
        return Vec::new();
    }
    let scores = scores_of_ranks(ranks);
    let own = takers.map(|takers| takers.centred(&scores));
    let variance = [Some(&scores), own.as_ref()].into_iter().flatten().map(|scores| long_run_of(scores));
    let variance = variance.fold(0.0, f64::max);
    if variance <= 0.0 {
        return Vec::new();
    }
    let penalty = PENALTY * (n as f64).ln() * variance;

    let width = n.div_ceil(BLOCKS);
    let blocks = n.div_ceil(width);
    // Prefix sums at block ends.
    let mut at = vec![0usize; blocks + 1];
    let mut sum = vec![0.0; blocks + 1];
    for b in 0..blocks {
        at[b + 1] = ((b + 1) * width).min(n);
        sum[b + 1] = sum[b] + lagged::sum(&scores[at[b]..at[b + 1]]);
    }
    // Cost of a segment up to a constant: -(Σ x)² / length.
    let cost = |from: usize, to: usize| -> f64 {
        let s = sum[to] - sum[from];
        -s * s / (at[to] - at[from]) as f64
    };
    let shortest = 5.max(n / 100).div_ceil(width).max(1);
    let mut best = vec![f64::INFINITY; blocks + 1];
    let mut previous = vec![0usize; blocks + 1];
    best[0] = -penalty;
    // Where the last segment may begin, and what it would all cost without the penalty.
    let mut candidates = vec![(0usize, 0.0)];
    for to in shortest..=blocks {
        let mut choice = (f64::INFINITY, 0);
        for (from, total) in &mut candidates {
            *total = best[*from] + cost(*from, to);
            if *total < choice.0 {
                choice = (*total, *from);
            }
        }
        (best[to], previous[to]) = (choice.0 + penalty, choice.1);
        candidates.retain(|(_, total)| *total <= best[to]);
        let next = (to + 1).saturating_sub(shortest);
        if next >= shortest && best[next].is_finite() {
            candidates.push((next, 0.0));
        }
    }
    let mut found = Vec::new();
    let mut to = blocks;
    while previous[to] > 0 {
        to = previous[to];
        found.push(at[to]);
    }
    found.reverse();
    without_weak(&scores, found)
}

/// Ascending cuts less those that the variance beside them makes: scores of the slowest stretch vary more than those of all.
fn without_weak(scores: &[f64], mut cuts: Vec<usize>) -> Vec<usize> {
    let least = PENALTY * (scores.len() as f64).ln();
    let gain = |cuts: &[usize], at: usize| {
        let from = at.checked_sub(1).map_or(0, |before| cuts[before]);
        let to = cuts.get(at + 1).copied().unwrap_or(scores.len());
        let [before, after] = [&scores[from..cuts[at]], &scores[cuts[at]..to]];
        let [n, m] = [before.len() as f64, after.len() as f64];
        let by = lagged::mean(before) - lagged::mean(after);
        by * by * n * m / (n + m) / long_run_of(&scores[from..to])
    };
    let mut gains: Vec<f64> = (0..cuts.len()).map(|at| gain(&cuts, at)).collect();
    while cuts.len() > 1 {
        let weakest = gains.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((at, _)) = weakest.filter(|(_, gain)| *gain < least) else { break };
        cuts.remove(at);
        gains.remove(at);
        // Only its neighbours part other stretches than before.
        let beside = gains.iter_mut().enumerate().skip(at.saturating_sub(1)).take(if at > 0 { 2 } else { 1 });
        beside.for_each(|(at, of_cut)| *of_cut = gain(&cuts, at));
    }
    cuts
}

const PENALTY: f64 = 3.2;

/// The long-run variance of a first-order autoregression, from first and second differences.
fn long_run_of(scores: &[f64]) -> f64 {
    let n = scores.len();
    let difference = |lag: usize| -> f64 {
        widest(SquaredDifferences { values: &scores[..n - lag], later: &scores[lag..] }) / (n - lag) as f64
    };
    let (one, two) = (difference(1), difference(2));
    if one <= 0.0 {
        return 0.0;
    }
    let phi = (two / one - 1.0).clamp(0.0, 0.9);
    one / (2.0 * (1.0 - phi)) * (1.0 + phi) / (1.0 - phi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Xoshiro};

    fn sample(seed: u64, n: usize) -> Vec<f64> {
        let distribution = Gev::new(10.0, 0.2, 0.1).unwrap();
        let mut random = Xoshiro::new(seed);
        (0..n).map(|_| distribution.sample(&mut random)).collect()
    }

    #[test]
    fn two_jumps_are_found_where_they_are() {
        let mut values = sample(3, 400);
        values[120..300].iter_mut().for_each(|x| *x += 0.8);
        let found = change_points(&values);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].abs_diff(120) <= 4 && found[1].abs_diff(300) <= 4, "{found:?}");
    }

    #[test]
    fn independent_values_seldom_jump() {
        let false_alarms = (0..400).filter(|&seed| !change_points(&sample(seed, 300)).is_empty()).count();
        assert!(false_alarms <= 24, "{false_alarms} of 400");
    }

    #[test]
    fn long_runs_are_searched_in_blocks() {
        let mut values = sample(5, 50_000);
        values[20_000..].iter_mut().for_each(|x| *x += 0.2);
        let found = change_points(&values);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].abs_diff(20_000) < 100, "{found:?}");
    }

    /// How many of 1,000 autoregressions have a p-value below 0.5%, which is the share of this test in a verdict.
    fn rejected(n: usize, phi: f64, level: impl Fn(f64) -> f64) -> usize {
        let mut random = Xoshiro::new(91 + n as u64);
        (0..1000)
            .filter(|_| {
                let mut state = random.normal();
                let values: Vec<f64> = (0..n)
                    .map(|at| {
                        state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
                        state + level(at as f64 / n as f64)
                    })
                    .collect();
                level_test(&ranks(&values), None).p < 0.005
            })
            .count()
    }

    #[test]
    fn the_longest_of_several_bursts_is_no_level_and_a_long_stretch_is() {
        let p = |stretch: std::ops::Range<usize>| {
            let mut random = Xoshiro::new(17);
            let is_slow =
                |at: usize| stretch.contains(&at) || (40..48).contains(&at) || (330..339).contains(&at);
            let values: Vec<f64> =
                (0..400).map(|at| random.normal() + 3.0 * f64::from(u8::from(is_slow(at)))).collect();
            level_test(&ranks(&values), None).p
        };
        assert!(p(180..225) > 0.05 && p(140..270) < 0.005, "{} {}", p(180..225), p(140..270));
    }

    #[test]
    fn a_level_that_goes_up_and_down_several_times_is_no_long_memory_and_a_long_memory_is_no_level() {
        let levels = [10.0, 13.0, 9.0, 14.0, 8.0, 15.0];
        for (seed, deviation, phi) in [(1, 0.2, 0.0), (2, 1.0, 0.0), (3, 0.5, 0.6)] {
            let mut random = Xoshiro::new(seed);
            let mut state = 0.0;
            let values: Vec<f64> = (0..3_600)
                .map(|at| {
                    state = phi * state + random.normal();
                    levels[at / 600] + deviation * state
                })
                .collect();
            let found = level_test(&ranks(&values), None);
            assert!(found.p < 1e-6, "{seed}: {found:?}");
        }
        // A staircase has no stretch between two jumps that stands out.
        let mut random = Xoshiro::new(4);
        let stairs: Vec<f64> = (0..300).map(|at| f64::from(at / 100) + 0.1 * random.normal()).collect();
        assert!(level_test(&ranks(&stairs), None).p < 1e-6);
        let memory = |n: usize, phi: f64, seed: u64| {
            let mut random = Xoshiro::new(seed);
            let mut state = 0.0;
            let next = |_| {
                state = phi * state + random.normal();
                state
            };
            p_of_several(&ranks(&(0..n).map(next).collect::<Vec<f64>>()), None)
        };
        for (n, phi) in [(1_000, 0.6), (1_000, 0.9), (4_000, 0.9), (4_000, 0.97)] {
            let told = (0..200).filter(|seed| memory(n, phi, *seed) < 0.005).count();
            assert_eq!(told, 0, "{n} {phi}");
        }
    }

    #[test]
    fn the_test_of_the_level_keeps_it_under_dependence_and_finds_steps() {
        for (n, phi, most) in [
            (20, 0.0, 20),
            (50, 0.0, 18),
            (50, 0.6, 60),
            (100, 0.6, 22),
            (400, 0.0, 12),
            (400, 0.3, 12),
            (400, 0.6, 12),
            (400, 0.9, 22),
            (2000, 0.9, 12),
        ] {
            let told = rejected(n, phi, |_| 0.0);
            assert!(told <= most, "{n} {phi}: {told}");
        }
        let step = |from: f64, to: f64, by: f64| move |at: f64| if at >= from && at < to { by } else { 0.0 };
        assert!(rejected(400, 0.3, step(0.5, 1.0, 1.0)) >= 980);
        assert!(rejected(400, 0.3, step(0.25, 1.0, 1.0)) >= 930);
        assert!(rejected(400, 0.0, step(0.4, 0.7, 10.0)) >= 980);
    }
}
