//! Tests whether values are independent draws of one law, which everything else assumes.
//!
//! Four tests, their p-values adjusted together (Holm 1979): Ljung-Box on ranks (dependence of
//! neighbours), Mann-Kendall corrected for autocorrelation (trend), Pettitt (jump) and
//! Hartigan's dip (several modes). A good fit of the pooled values answers none of these.

mod autocorrelation;
mod change;
mod modes;
mod split;
mod trend;

pub(crate) use autocorrelation::order;
pub use autocorrelation::{autocorrelations, ljung_box, ljung_box_of_ranks, ranks};
pub use change::{Jump, change_points, gumbel_scores, pettitt};
pub use modes::{Dip, dip_test};
pub use split::{Mode, modes};
pub use trend::{Trend, mann_kendall, theil_sen};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::series::sorted_quantile;
use crate::{Error, Series, Xoshiro, argument};

/// What a test of stage one looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Neighbouring values resemble each other (Ljung-Box on ranks).
    Autocorrelation,
    /// The level creeps (Mann-Kendall).
    Trend,
    /// The level jumps (Pettitt).
    Jump,
    /// Several modes (dip).
    Modes,
}

/// What one test found, with the numbers that a sentence about it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TestFinding {
    /// Ljung-Box: nothing speaks against independence.
    NoAutocorrelation {
        /// Correlation of the ranks of neighbouring values.
        lag_one: f64,
        /// Lags tested.
        lags: usize,
    },
    /// Ljung-Box: neighbouring values resemble each other.
    Autocorrelation {
        /// Correlation of the ranks of neighbouring values.
        lag_one: f64,
        /// Lags tested.
        lags: usize,
        /// Number of values.
        n: usize,
        /// How many independent values they are worth.
        effective_size: f64,
    },
    /// Mann-Kendall: no trend.
    NoTrend {
        /// Kendall's tau of the values and time.
        tau: f64,
    },
    /// Mann-Kendall: the level creeps; down where `tau` is negative.
    Trend {
        /// Kendall's tau of the values and time.
        tau: f64,
        /// Size of the change over the run in interquartile ranges; none where half of the values and more are
        /// equal.
        interquartile_ranges: Option<f64>,
    },
    /// Pettitt: no jump.
    NoJump,
    /// Pettitt: the level jumps.
    Jump {
        /// Whether the level is higher afterwards.
        up: bool,
        /// Position of the last value before it, from 1.
        after: usize,
        /// Number of values.
        n: usize,
    },
    /// Hartigan's dip: no sign of more than one mode.
    OneMode,
    /// Hartigan's dip: several modes.
    SeveralModes {
        /// The modes, fastest first; empty where they could not be told apart.
        modes: Vec<Mode>,
    },
}

/// One test and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// What it looks for.
    pub question: Question,
    /// Name of the test.
    pub name: String,
    /// Its statistic.
    pub statistic: f64,
    /// Its p-value.
    pub p: f64,
    /// The p-value adjusted for all tests of the stage (Holm 1979).
    pub p_adjusted: f64,
    /// Whether it speaks against independent draws of one law.
    pub rejected: bool,
    /// What was found.
    pub finding: TestFinding,
}

/// A stretch of the run between two change points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Index of its first value, from 0.
    pub start: usize,
    /// Index after its last value.
    pub end: usize,
    /// Median of its values.
    pub median: f64,
}

/// The answer of stage one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Independence {
    /// Whether no test speaks against independent draws of one law.
    pub passed: bool,
    /// Level of the adjusted tests.
    pub significance: f64,
    /// The tests, in the order of [`Question`].
    pub tests: Vec<Test>,
    /// Autocorrelations of the ranks at lags 1, 2, …
    pub autocorrelations: Vec<f64>,
    /// Single autocorrelations of independent values stay within plus or minus this in 95 of 100 cases.
    pub autocorrelation_bound: f64,
    /// First-order autoregressive coefficient of the ranks, levels of the segments taken out.
    pub ar1: f64,
    /// By how much dependence within the segments inflates the variance of a mean: 1 + 2 Σ ρ_k.
    pub variance_inflation: f64,
    /// How many independent values the n are worth for a mean or location.
    pub effective_size: f64,
    /// The trend.
    pub trend: Trend,
    /// The most likely jump.
    pub jump: Jump,
    /// The modes.
    pub dip: Dip,
    /// The stretches between change points (one stretch: none found).
    pub segments: Vec<Segment>,
    /// The modes, fastest first, where the dip test finds several; else empty.
    #[serde(default)]
    pub modes: Vec<Mode>,
}

impl Independence {
    /// The test that answers a question.
    pub fn test(&self, question: Question) -> Option<&Test> {
        self.tests.iter().find(|test| test.question == question)
    }

    /// The questions whose tests were rejected.
    pub fn rejected(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| test.rejected)
    }
}

/// Put the four tests to values in time order, at the joint `significance` (0.05 is usual). Values that are
/// not finite are left out.
///
/// # Errors
/// [`Error::TooFew`] below 10 values, [`Error::Constant`].
pub fn check(values: &[f64], significance: f64) -> Result<Independence, Error> {
    check_series(&Series::clean(values), significance)
}

/// [`check`] of a series.
pub fn check_series(series: &Series, significance: f64) -> Result<Independence, Error> {
    series.require(10, 2)?;
    argument::between_0_and_1("significance", significance)?;
    let values = series.values();
    let n = values.len();
    let size = n as f64;
    let lags = 20.min(n / 5);

    let ranks = ranks(values);
    let (q, q_p) = ljung_box_of_ranks(&ranks, lags);
    let trend = mann_kendall(values, lags);
    let jump = change::pettitt_of_ranks(&ranks);
    let spread = spread_ties(series);
    let dip = dip_test(&spread, 999, 1);
    let correlations = autocorrelations(&ranks, 40.min(n / 4));

    let mut starts = vec![0];
    starts.extend(change::change_points_of_ranks(&ranks));
    let segments: Vec<Segment> = starts
        .iter()
        .enumerate()
        .map(|(k, &start)| {
            let end = starts.get(k + 1).copied().unwrap_or(n);
            Segment { start, end, median: median(&values[start..end]) }
        })
        .collect();

    // Dependence within the segments: a jump alone would pass for a very long memory.
    let mut within = ranks.clone();
    for segment in &segments {
        let part = &mut within[segment.start..segment.end];
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter_mut().for_each(|r| *r -= mean);
    }
    let effective_size = crate::gev::effective_size(&within);
    let ar1 = autocorrelations(&within, 1).first().copied().unwrap_or(0.0);

    let p = [q_p, trend.p, jump.p_corrected(n), dip.p];
    let adjusted = holm(&p);
    let rejected: Vec<bool> = adjusted.iter().map(|p| *p < significance).collect();
    let modes = if rejected[3] { split::modes(&spread, significance) } else { Vec::new() };
    let lag_one = correlations.first().copied().unwrap_or(0.0);
    let findings = [
        if rejected[0] {
            TestFinding::Autocorrelation { lag_one, lags, n, effective_size }
        } else {
            TestFinding::NoAutocorrelation { lag_one, lags }
        },
        if rejected[1] { trend_found(&trend, series) } else { TestFinding::NoTrend { tau: trend.tau } },
        if rejected[2] { jump_found(&jump, values) } else { TestFinding::NoJump },
        if rejected[3] { TestFinding::SeveralModes { modes: modes.clone() } } else { TestFinding::OneMode },
    ];
    let kinds = [
        (Question::Autocorrelation, "Ljung-Box on ranks", q),
        (Question::Trend, "Mann-Kendall (Hamed-Rao)", trend.z / trend.variance_factor.sqrt()),
        (Question::Jump, "Pettitt", jump.statistic),
        (Question::Modes, "Hartigan dip", dip.dip),
    ];
    let tests: Vec<Test> = kinds
        .into_iter()
        .zip(findings)
        .enumerate()
        .map(|(i, ((question, name, statistic), finding))| Test {
            question,
            name: name.to_string(),
            statistic,
            p: p[i],
            p_adjusted: adjusted[i],
            rejected: rejected[i],
            finding,
        })
        .collect();
    Ok(Independence {
        passed: !tests.iter().any(|test| test.rejected),
        significance,
        tests,
        autocorrelations: correlations,
        autocorrelation_bound: 1.96 / size.sqrt(),
        ar1,
        variance_inflation: size / effective_size,
        effective_size,
        trend,
        jump,
        dip,
        segments,
        modes,
    })
}

/// Adjust p-values so that the chance of any false rejection stays at the level (Holm 1979).
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut out = vec![0.0; p.len()];
    let mut running = 0.0f64;
    for (rank, &i) in order.iter().enumerate() {
        running = running.max(((p.len() - rank) as f64 * p[i]).min(1.0));
        out[i] = running;
    }
    out
}

/// Ascending values with ties spread evenly over their tick, so that a coarse clock does not look like many
/// modes.
fn spread_ties(series: &Series) -> Vec<f64> {
    let mut sorted = series.sorted().to_vec();
    if let Some(tick) = series.tick() {
        let mut random = Xoshiro::new(2);
        for x in &mut sorted {
            *x += tick * (random.uniform() - 0.5);
        }
        sorted.par_sort_unstable_by(f64::total_cmp);
    }
    sorted
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted_quantile(&sorted, 0.5)
}

fn trend_found(trend: &Trend, series: &Series) -> TestFinding {
    let spread = sorted_quantile(series.sorted(), 0.75) - sorted_quantile(series.sorted(), 0.25);
    let ranges = (trend.change / spread).abs();
    TestFinding::Trend {
        tau: trend.tau,
        interquartile_ranges: Some(ranges).filter(|ranges| ranges.is_finite()),
    }
}

fn jump_found(jump: &Jump, values: &[f64]) -> TestFinding {
    let (before, after) = values.split_at(jump.last_before + 1);
    TestFinding::Jump { up: median(after) > median(before), after: jump.last_before + 1, n: values.len() }
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
}
