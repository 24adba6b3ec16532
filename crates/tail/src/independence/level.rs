//! What describes a change of the level best: jumps or a line; and how large it is.

use serde::{Deserialize, Serialize};

use super::change::{self, LevelTest};
use super::findings::TestFinding;
use super::trend::Trend;
use super::{Segment, within_segments};
use crate::series::{measured_quantile, sorted_quantile};
use crate::{Series, lagged, ordered};

/// What describes a change of the level best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelModel {
    /// Constant levels with jumps between them.
    Jump,
    /// A line.
    Trend,
}

/// Changes of the level below this share of the interquartile range change no result.
const NEGLIGIBLE: f64 = 0.1;

/// The change of the level of a series.
pub(super) struct Change {
    /// What describes it best; `None` if neither test shows one that matters.
    pub model: Option<LevelModel>,
    /// One unless it jumps.
    pub segments: Vec<Segment>,
    pub is_trend_negligible: bool,
    pub is_jump_negligible: bool,
}

impl Change {
    /// Of a series with its ranks; `shown` is whether the test of a trend and that of a jump reject a constant level.
    pub fn of(
        series: &Series,
        ranks: &[f64],
        level: &LevelTest,
        trend: &Trend,
        [trend_shown, jump_shown]: [bool; 2],
    ) -> Change {
        let spread = spread(series);
        // The ranks change by 2 Spearman's ρ, about 3 τ, of their own interquartile range; a slope of values is less precise.
        let is_trend_negligible = 3.0 * trend.tau.abs() < NEGLIGIBLE;
        let segments = if jump_shown { segments(series, ranks, level) } else { whole(series) };
        let is_jump_negligible = segments.windows(2).all(|pair| {
            let by = (pair[1].median - pair[0].median) / spread;
            by.abs() < NEGLIGIBLE
        });
        let jumps = jump_shown && !is_jump_negligible;
        let creeps = trend_shown && !is_trend_negligible;
        let model = match (jumps, creeps) {
            (false, false) => None,
            (false, true) => Some(LevelModel::Trend),
            (true, false) => Some(LevelModel::Jump),
            (true, true) => Some(better(ranks, &segments, level.variance_factor)),
        };
        let segments = if model == Some(LevelModel::Jump) { segments } else { whole(series) };
        Change { model, segments, is_trend_negligible, is_jump_negligible }
    }
}

/// Whether jumps or a line describe the ranks better, by the criterion of Schwarz (1978) with as many values as the
/// dependent ones are worth.
fn better(ranks: &[f64], segments: &[Segment], variance_factor: f64) -> LevelModel {
    let n = ranks.len() as f64;
    let worth = n / variance_factor;
    let squares = |of: &[f64]| of.iter().map(|r| r * r).sum::<f64>();
    let around_levels = squares(&within_segments(ranks, segments));
    let (middle, mean) = (0.5 * (n - 1.0), lagged::mean(ranks));
    let (mut products, mut all) = (0.0, 0.0);
    for (at, rank) in ranks.iter().enumerate() {
        products += (at as f64 - middle) * (rank - mean);
        all += (rank - mean).powi(2);
    }
    let around_line = all - products * products * 12.0 / (n * (n * n - 1.0));
    // Each jump has a place and a height, the line a slope.
    let extra = 2.0 * (segments.len() - 1) as f64 - 1.0;
    match worth * (around_line / around_levels).ln() > extra * worth.max(2.0).ln() {
        true => LevelModel::Jump,
        false => LevelModel::Trend,
    }
}

fn whole(series: &Series) -> Vec<Segment> {
    vec![Segment { start: 0, end: series.len(), median: measured_quantile(series.sorted(), 0.5) }]
}

/// The segments between change points, or on both sides of the best jump where there are none.
fn segments(series: &Series, ranks: &[f64], level: &LevelTest) -> Vec<Segment> {
    let values = series.values();
    let mut cuts = change::change_points_of_ranks(ranks, series.takers());
    if cuts.is_empty() {
        cuts.push(level.at);
    }
    let mut starts = vec![0];
    starts.extend(cuts.into_iter().filter(|at| (1..values.len()).contains(at)));
    let of = |(k, &start): (usize, &usize)| {
        let end = starts.get(k + 1).copied().unwrap_or(values.len());
        Segment { start, end, median: median(&values[start..end]) }
    };
    starts.iter().enumerate().map(of).collect()
}

fn median(values: &[f64]) -> f64 {
    measured_quantile(&ordered::ascending(values), 0.5)
}

fn spread(series: &Series) -> f64 {
    sorted_quantile(series.sorted(), 0.75) - sorted_quantile(series.sorted(), 0.25)
}

pub(super) fn trend_found(trend: &Trend, series: &Series) -> TestFinding {
    let ranges = (trend.change / spread(series)).abs();
    TestFinding::Trend {
        tau: trend.tau,
        interquartile_ranges: Some(ranges).filter(|ranges| ranges.is_finite()),
    }
}

pub(super) fn jump_found(at: usize, values: &[f64], segments: &[Segment]) -> TestFinding {
    let (times, n) = (segments.len().saturating_sub(1).max(1), values.len());
    let (up, after) = match segments {
        [.., before, last] => (last.median > before.median, before.end),
        [] | [_] => {
            let (before, after) = values.split_at(at);
            (median(after) > median(before), before.len())
        }
    };
    TestFinding::Jump { times, up, after, n }
}
