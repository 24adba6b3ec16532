//! Tests whether values are independent draws of one distribution, which all other methods assume.
//!
//! Five tests, their p-values adjusted together (Holm 1979, weighted): lag 1 and Ljung-Box on ranks
//! (autocorrelation), Mann-Kendall corrected for autocorrelation (trend), Pettitt (jump), Hartigan's dip and
//! a gap before a cluster (several modes), and the times of the slow values (periods, bursts). A good fit of
//! the pooled values does not replace these tests.

mod autocorrelation;
mod change;
mod cluster;
mod cut_ranks;
mod exceedances;
mod findings;
mod hull;
mod inversions;
mod level;
pub(crate) mod long_run;
mod modes;
mod montecarlo;
mod neighbours;
mod slow;
mod split;
mod trend;

pub(crate) use autocorrelation::ranks_of_sorted;
pub use autocorrelation::{autocorrelations, ljung_box, ranks};
pub use change::{Jump, change_points, gumbel_scores, pettitt};
pub use cluster::{Gap, separated};
pub use exceedances::{Exceedances, exceedances, inflation};
pub use findings::TestFinding;
pub use level::LevelModel;
pub use modes::{Dip, dip_test};
pub use neighbours::{Neighbours, neighbours};
pub use slow::{SlowValues, Spacing, slow_values};
pub use split::{Mode, modes};
pub use trend::{Trend, mann_kendall, theil_sen};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Error, Series, Xoshiro, argument, ordered};

/// Subject of a test of stage one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Successive values are correlated (lag 1 and Ljung-Box on ranks).
    Autocorrelation,
    /// The level has a trend (Mann-Kendall).
    Trend,
    /// The level jumps (Pettitt).
    Jump,
    /// Several modes (dip, and a gap before a cluster).
    Modes,
    /// Slow values come at a period, in bursts, or too evenly.
    SlowValues,
}

impl Question {
    /// Whether it is about the order of the values; otherwise it is about their distribution.
    pub fn is_about_order(self) -> bool {
        match self {
            Question::Autocorrelation | Question::Trend | Question::Jump | Question::SlowValues => true,
            Question::Modes => false,
        }
    }

    /// This test's share of the error of all tests. Autocorrelation is the most frequent dependence in series
    /// of runs; the test of modes is far below its level for distributions with a peak.
    fn weight(self) -> f64 {
        match self {
            Question::Autocorrelation => 0.5,
            Question::Trend | Question::Jump | Question::SlowValues => 0.13,
            Question::Modes => 0.11,
        }
    }
}

/// One test and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// Its subject.
    pub question: Question,
    /// Name of the test.
    pub name: String,
    /// Its statistic.
    pub statistic: f64,
    /// Its p-value.
    pub p: f64,
    /// The p-value adjusted for all tests of the stage (Holm 1979, weighted), and for further stages where the stage
    /// has only a share of the error.
    pub p_adjusted: f64,
    /// Whether it rejects independent draws of one distribution, by more than is negligible.
    pub rejected: bool,
    /// Whether what it shows is too small to matter: very many values show what changes no result.
    #[serde(default)]
    pub negligible: bool,
    /// The finding.
    pub finding: TestFinding,
}

/// The part of a run between two change points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Index of its first value, from 0.
    pub start: usize,
    /// Index after its last value.
    pub end: usize,
    /// Median of its values.
    pub median: f64,
}

/// The result of stage one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Independence {
    /// Whether no test rejects independent draws of one distribution.
    pub passed: bool,
    /// Level of the adjusted tests.
    pub significance: f64,
    /// Whether the values are sorted, so that their order is not that in which they came: the tests of order are left
    /// out.
    #[serde(default)]
    pub sorted: bool,
    /// Share of that level for all these tests; 1 if nothing else is tested.
    #[serde(default = "whole")]
    pub share: f64,
    /// The tests, in the order of [`Question`].
    pub tests: Vec<Test>,
    /// Autocorrelations of the ranks at lags 1, 2, …
    pub autocorrelations: Vec<f64>,
    /// 95% limit (±) of each autocorrelation of independent values.
    pub autocorrelation_bound: f64,
    /// First-order autoregressive coefficient of the ranks, without the levels of the segments.
    pub ar1: f64,
    /// Factor by which dependence within the segments inflates the variance of a mean; 1 unless the test of neighbours alone
    /// shows dependence at 2.5%.
    pub variance_inflation: f64,
    /// Number of independent values to which the n are equivalent for a mean or location: n over that factor. Every output
    /// that tells an n_eff tells this one.
    pub effective_size: f64,
    /// The trend.
    pub trend: Trend,
    /// The most likely jump.
    pub jump: Jump,
    /// The dip.
    pub dip: Dip,
    /// The gap with the strongest evidence for a separate cluster; `None` for few values.
    #[serde(default)]
    pub gap: Option<Gap>,
    /// The times of the slow values; `None` for few values.
    #[serde(default)]
    pub slow: Option<SlowValues>,
    /// The segments between change points; one unless the level jumps.
    pub segments: Vec<Segment>,
    /// What describes the change of the level best; `None` if none is shown.
    #[serde(default)]
    pub level: Option<LevelModel>,
    /// The modes, fastest first; empty if there is one mode.
    #[serde(default)]
    pub modes: Vec<Mode>,
}

fn whole() -> f64 {
    1.0
}

impl Independence {
    /// The test of a question.
    pub fn test(&self, question: Question) -> Option<&Test> {
        self.tests.iter().find(|test| test.question == question)
    }

    /// Whether the values tell a change of the level from neighbours that resemble each other.
    pub fn tells_changes(&self) -> bool {
        self.test(Question::Jump).is_some()
    }

    /// The questions whose tests were rejected.
    pub fn rejected(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| test.rejected)
    }

    /// The tests that were rejected, what tells most first: the change of the level, of which a jump and a trend are one
    /// where both tests show it; then what lasts.
    pub fn reasons(&self) -> Vec<&Test> {
        let shadow = match self.level {
            Some(LevelModel::Jump) => Some(Question::Trend),
            Some(LevelModel::Trend) => Some(Question::Jump),
            None => None,
        };
        let is_change = |test: &&Test| matches!(test.question, Question::Trend | Question::Jump);
        let (change, rest): (Vec<&Test>, Vec<&Test>) = self.rejected().partition(is_change);
        let several = change.len() > 1;
        change.into_iter().filter(|test| !several || Some(test.question) != shadow).chain(rest).collect()
    }
}

/// Tests values in time order, at the joint `significance` (0.05 is usual). Values that are
/// not finite are left out.
///
/// # Errors
/// [`Error::TooFew`] below 10 values, [`Error::Constant`].
pub fn check(values: &[f64], significance: f64) -> Result<Independence, Error> {
    check_series(&Series::clean(values), significance)
}

/// [`check`] of a series.
///
/// # Errors
/// As [`check`].
pub fn check_series(series: &Series, significance: f64) -> Result<Independence, Error> {
    check_share(series, significance, 1.0)
}

/// [`check`] as one stage of several that share the error: all tests together reject a `share` of `significance` of
/// independent draws at most, and adjusted p-values are still compared with `significance`.
///
/// # Errors
/// As [`check`].
pub fn check_share(series: &Series, significance: f64, share: f64) -> Result<Independence, Error> {
    series.require(10, 2)?;
    argument::between_0_and_1("significance", significance)?;
    let values = series.values();
    let n = values.len();
    let size = n as f64;
    let lags = 20.min(n / 5);

    // What is about the order of the values, beside what is about their distribution.
    let (of_order, (dip, gap, slow)) = rayon::join(
        || OfOrder::of(series, lags),
        || {
            let spread = spread_ties(series);
            (dip_test(&spread, DIPS), separated(&spread), slow::slow_values_of(series))
        },
    );
    let OfOrder { ranks, correlations, of_takers, neighbours, trend, jump, level, p_change } = of_order;

    let sorted = is_sorted(values);
    let dip_p = dip.p / (1.0 - GAP);
    let gap_p = gap.map_or(1.0, |gap| gap.p / GAP);
    let mut done = vec![
        (Question::Autocorrelation, "lag 1 and Ljung-Box on ranks", neighbours.portmanteau, neighbours.p),
        (Question::Trend, "Mann-Kendall, long-run variance", trend.standardised(), p_change[0]),
        (Question::Jump, "Pettitt and Kuiper, long-run variance", jump.statistic, p_change[1]),
        (Question::Modes, "Hartigan dip, gap before a cluster", dip.dip, dip_p.min(gap_p).min(1.0)),
    ];
    done.extend(
        slow.map(|slow| (Question::SlowValues, "places of slow values", slow.followed as f64, slow.p)),
    );
    let worth = size / level.variance_factor;
    done.retain(|(question, ..)| is_told(*question, n, worth, sorted));
    let weighted: Vec<(f64, f64)> = done.iter().map(|(question, _, _, p)| (*p, question.weight())).collect();
    let adjusted: Vec<f64> = holm_weighted(&weighted).into_iter().map(|p| (p / share).min(1.0)).collect();
    let is_shown = |of: Question| {
        done.iter().zip(&adjusted).any(|((question, ..), p)| *question == of && *p < significance)
    };
    let several = is_shown(Question::Modes);
    let cut = gap.filter(|_| several && gap_p <= dip_p).map(|gap| gap.below);
    let modes = if several { split::modes(&spread_ties(series), cut, significance) } else { Vec::new() };
    let lag_one = correlations.first().copied().unwrap_or(0.0);
    let lags = lags.min(correlations.len());
    let (lag, at_lag) = telling(&correlations, lags);
    let shown = [is_shown(Question::Trend), is_shown(Question::Jump)];
    let change = level::Change::of(series, &ranks, &level, &trend, shown);
    let within = within_segments(&ranks, &change.segments);
    // Sorted values tell nothing of their dependence.
    let resembles = !sorted && neighbours.p < RESEMBLES;
    let variance_inflation = if resembles { long_run::inflation(&within, series.takers()) } else { 1.0 };
    let effective_size = size / variance_inflation;
    let own = series.takers().filter(|_| of_takers).map(|takers| takers.centred(&within));
    let ar1 = autocorrelations(own.as_deref().unwrap_or(&within), 1).first().copied();
    let ar1 = ar1.filter(|_| !sorted).unwrap_or(0.0);
    let tests: Vec<Test> = done
        .into_iter()
        .zip(adjusted)
        .map(|((question, name, statistic, p), p_adjusted)| {
            let significant = p_adjusted < significance;
            let negligible = significant && is_negligible(question, at_lag, &change);
            let rejected = significant && !negligible;
            let finding = match (question, rejected) {
                (Question::Autocorrelation, true) => {
                    TestFinding::Autocorrelation { lag_one, lag, at_lag, lags, n, effective_size, of_takers }
                }
                (Question::Autocorrelation, false) => TestFinding::NoAutocorrelation { lag_one, lags },
                (Question::Trend, true) => level::trend_found(&trend, series),
                (Question::Trend, false) => TestFinding::NoTrend { tau: trend.tau },
                (Question::Jump, true) => level::jump_found(level.at, values, &change.segments),
                (Question::Jump, false) => TestFinding::NoJump,
                (Question::Modes, true) => TestFinding::SeveralModes { modes: modes.clone() },
                (Question::Modes, false) => TestFinding::OneMode,
                (Question::SlowValues, true) => {
                    slow.map_or(TestFinding::SlowAtRandom, |slow| TestFinding::SlowPatterned { slow })
                }
                (Question::SlowValues, false) => TestFinding::SlowAtRandom,
            };
            Test { question, name: name.to_string(), statistic, p, p_adjusted, rejected, negligible, finding }
        })
        .collect();
    Ok(Independence {
        passed: !tests.iter().any(|test| test.rejected),
        significance,
        sorted,
        share,
        tests,
        autocorrelations: if sorted { Vec::new() } else { correlations },
        autocorrelation_bound: 1.96 / size.sqrt(),
        ar1,
        variance_inflation,
        effective_size,
        trend,
        jump,
        dip,
        gap,
        slow: slow.filter(|_| !sorted),
        segments: change.segments,
        level: change.model,
        modes,
    })
}

/// Sorted values have at least so many distinct ones: of fewer, a step of a coarse clock looks sorted.
const FEWEST_SORTED: usize = 6;

/// Of fewer values no test tells a jump or a trend from neighbours that resemble each other.
const FEWEST_FOR_CHANGE: usize = 50;

/// Below this number no test does where neighbours are correlated so much that the values are worth fewer
/// independent ones than [`FEWEST_WORTH`].
const FEW_FOR_CHANGE: usize = 100;
const FEWEST_WORTH: f64 = 8.0;

/// Whether values, at least six different ones, are in the order of their size, ascending or descending, as no
/// measurement is.
pub fn is_sorted<T: PartialOrd>(values: &[T]) -> bool {
    let distinct = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    distinct >= FEWEST_SORTED && (values.is_sorted() || values.is_sorted_by(|a, b| a >= b))
}

/// Whether what a test shows is too small to matter.
fn is_negligible(question: Question, at_lag: f64, change: &level::Change) -> bool {
    match question {
        Question::Autocorrelation => at_lag.abs() < NEGLIGIBLE_CORRELATION,
        Question::Trend => change.is_trend_negligible,
        Question::Jump => change.is_jump_negligible,
        Question::Modes | Question::SlowValues => false,
    }
}

/// Whether the test of a question can tell anything.
fn is_told(question: Question, n: usize, worth: f64, sorted: bool) -> bool {
    match question {
        Question::Trend | Question::Jump => {
            !sorted && n >= FEWEST_FOR_CHANGE && (n >= FEW_FOR_CHANGE || worth >= FEWEST_WORTH)
        }
        Question::Autocorrelation | Question::SlowValues => !sorted,
        Question::Modes => true,
    }
}

/// The level of the test of neighbours from which on values count as fewer independent ones. It is that of the test alone, so
/// that the number is the same beside whatever else is asked of the values.
const RESEMBLES: f64 = 0.025;

/// Ranks that are correlated less than this change no interval.
const NEGLIGIBLE_CORRELATION: f64 = 0.05;

/// A correlation so many times that of neighbours does not come from theirs.
const ALONE: f64 = 1.5;
/// Of a period and its multiples the first counts, where it has so much of the largest correlation.
const FIRST: f64 = 0.8;

/// The lag that tells most about how values are correlated, among the first `lags`, and the correlation there.
fn telling(correlations: &[f64], lags: usize) -> (usize, f64) {
    let all = || (1..).zip(correlations.iter().copied().take(lags));
    let largest = all().map(|(_, at)| at.abs()).fold(0.0, f64::max);
    let first = (1, correlations.first().copied().unwrap_or(0.0));
    if largest <= ALONE * first.1.abs() {
        return first;
    }
    all().find(|(_, at)| at.abs() >= FIRST * largest).unwrap_or(first)
}

/// The largest number of simulated samples for the dip.
const DIPS: usize = 3999;
/// The gap's share of the error of the test of modes; the dip is far below its level.
const GAP: f64 = 0.75;

/// What the order of the values tells.
struct OfOrder {
    ranks: Vec<f64>,
    /// Of the ranks.
    correlations: Vec<f64>,
    /// Whether these are in the order of each taker.
    of_takers: bool,
    neighbours: Neighbours,
    trend: Trend,
    jump: Jump,
    level: change::LevelTest,
    /// The p-values of a trend and of a jump; where neighbours resemble each other, at least that of the fastest values.
    p_change: [f64; 2],
}

impl OfOrder {
    fn of(series: &Series, lags: usize) -> Self {
        let ranks = autocorrelation::ranks_of_sorted(series.sorted(), series.places());
        let takers = series.takers();
        let of_neighbours = || {
            let correlations = autocorrelations(&ranks, 40.min(series.len() / 4));
            let told = neighbours::neighbours_of(&ranks, &correlations[..lags.min(correlations.len())]);
            neighbours::told_of_takers(&ranks, takers, told, correlations)
        };
        let of_trend = || trend::mann_kendall_of_ranks(series.values(), series.sorted(), &ranks, takers);
        let (((neighbours, correlations, of_takers), trend), level) =
            rayon::join(|| rayon::join(of_neighbours, of_trend), || change::level_test(&ranks, takers));
        let asked =
            takers.is_none() && neighbours.p < RESEMBLES && level.p.min(trend.p) < change::ASKED_OF_FAST;
        let of_fast = if asked { change::p_of_fast(&ranks) } else { 0.0 };
        Self {
            neighbours,
            trend,
            jump: change::pettitt_of_ranks(&ranks),
            level,
            p_change: [trend.p, level.p].map(|p| p.max(of_fast)),
            correlations,
            ranks,
            of_takers,
        }
    }
}

/// The ranks without the levels of the segments, since a jump alone would look like long-range dependence.
fn within_segments<'a>(ranks: &'a [f64], segments: &[Segment]) -> Cow<'a, [f64]> {
    if segments.len() == 1 {
        // One level is that of all, which no correlation depends on.
        return Cow::Borrowed(ranks);
    }
    let mut within = ranks.to_vec();
    for segment in segments {
        let part = &mut within[segment.start..segment.end];
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter_mut().for_each(|r| *r -= mean);
    }
    Cow::Owned(within)
}

/// Adjusts p-values so that the probability of any false rejection is at most the level (Holm 1979).
pub fn holm(p: &[f64]) -> Vec<f64> {
    holm_weighted(&p.iter().map(|p| (*p, 1.0)).collect::<Vec<_>>())
}

/// [`holm`] of pairs of p-value and weight: a test has its share of the weights of those not yet rejected.
pub fn holm_weighted(tests: &[(f64, f64)]) -> Vec<f64> {
    let ratio = |i: usize| tests[i].0 / tests[i].1;
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by(|&a, &b| ratio(a).total_cmp(&ratio(b)));
    let mut rest: f64 = tests.iter().map(|(_, weight)| weight).sum();
    let mut out = vec![0.0; tests.len()];
    let mut running = 0.0f64;
    for i in order {
        running = running.max((ratio(i) * rest).min(1.0));
        out[i] = running;
        rest -= tests[i].1;
    }
    out
}

/// Ascending values with ties spread evenly over their tick, so that a coarse clock does not look like many
/// modes.
fn spread_ties(series: &Series) -> Cow<'_, [f64]> {
    let sorted = series.sorted();
    let Some(tick) = series.tick() else { return Cow::Borrowed(sorted) };
    let mut random = Xoshiro::new(2);
    let spread: Vec<f64> = sorted.iter().map(|x| x + tick * (random.uniform() - 0.5)).collect();
    Cow::Owned(ordered::ascending(&spread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_multiplies_the_smallest_most_and_keeps_the_order() {
        let found = holm(&[0.04, 0.01, 0.03, 0.9]);
        for (a, b) in found.iter().zip([0.09, 0.04, 0.09, 0.9]) {
            assert!((a - b).abs() < 1e-15);
        }
    }

    #[test]
    fn a_weighted_test_has_its_share_of_the_level_and_the_rest_when_others_are_rejected() {
        let found = holm_weighted(&[(0.02, 0.5), (0.001, 0.1), (0.9, 0.4)]);
        for (a, b) in found.iter().zip([0.036, 0.01, 0.9]) {
            assert!((a - b).abs() < 1e-12, "{found:?}");
        }
    }
}
