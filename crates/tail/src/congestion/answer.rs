//! What a comparison comes to: its code, and the number to quote.

use serde::{Deserialize, Serialize};

use super::{Arm, Comparison, ComparisonAdvice, ComparisonCode, EQUALITY_SHARE, Estimate, QuantileRatio};
use crate::Interval;

/// What the number to quote rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The factor of the common distribution ([`super::ByDistribution::factor`]).
    #[serde(rename = "law")]
    Distribution,
    /// The ratio over all pairs ([`super::Robust::hodges_lehmann`]), which needs no distribution and allows for dependence.
    Pairs,
    /// The ratio of geometric means ([`super::Robust::mean_ln_k`]), which rounding does not move in steps.
    Means,
    /// The ratio of medians ([`super::Robust::median_ratio`]): other quantiles have another one, so that no factor holds.
    Medians,
}

/// The number that a comparison is quoted with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// How many times as long the new runs take.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// Whether it is the factor of the common distribution.
    #[serde(rename = "by_law")]
    pub by_distribution: bool,
    /// What it rests on.
    pub by: Basis,
}

/// Whether runs take k times as long, or the same amount longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slowdown {
    /// Every run takes k times as long.
    Factor,
    /// Every run takes the same amount longer.
    Shift,
    /// Undecided with these values.
    Undecided,
}

/// What it is tested with whether one factor turns one sample into the other.
const ONE_FACTOR: f64 = 0.01;

/// A factor whose whole interval is within so much of 1 matters to nobody: machines differ by more from day to day.
pub const TOO_SMALL_TO_MATTER: f64 = 0.01;

impl Comparison {
    pub(super) fn judge(&self) -> ComparisonCode {
        if !self.is_unequal() {
            return ComparisonCode::NoDifference;
        }
        if self.level_moves() {
            return ComparisonCode::NotIndependent;
        }
        let one_factor = self.one_factor();
        let headline = self.headline();
        match (one_factor, headline.interval.contains(1.0)) {
            (Some(true), true) => ComparisonCode::NoDifference,
            (Some(false), _) => ComparisonCode::OtherDifference,
            // The spread differs, or the level only by the test.
            (None, true) if self.p_spread <= self.p_level => ComparisonCode::OtherDifference,
            (None, true) => ComparisonCode::NoDifference,
            (Some(true) | None, false) if headline.value > 1.0 => ComparisonCode::Slower,
            (Some(true) | None, false) => ComparisonCode::Faster,
        }
    }

    /// Whether the test of equality alone tells the samples apart, at its share of the error.
    pub fn is_unequal(&self) -> bool {
        self.p_equal < EQUALITY_SHARE * self.error
    }

    /// Whether the level of one of the samples drifts or jumps.
    pub fn level_moves(&self) -> bool {
        self.baseline.level_moves || self.new.level_moves
    }

    /// Whether something hints at values that depend on each other.
    pub fn is_dependent(&self) -> bool {
        [&self.baseline, &self.new].iter().any(|arm| arm.inflation > 1.0 || !arm.independent)
    }

    /// Whether values are too coarse for a distribution or for ratios of pairs.
    pub fn is_coarse(&self) -> bool {
        self.baseline.coarse || self.new.coarse
    }

    /// Whether the distribution may be asked at all: its likelihood is that of independent values that are not rounded, and `fit`
    /// shows the distribution of either sample.
    pub(super) fn uses_distribution(&self) -> bool {
        let is_shown =
            |arm: &Arm| arm.verdict.is_some_and(|verdict| verdict.usability().is_distribution_shown());
        !(self.is_dependent() || self.is_coarse()) && is_shown(&self.baseline) && is_shown(&self.new)
    }

    /// The ratio of the medians, whose ends may be open.
    pub fn median_ratio(&self) -> QuantileRatio {
        let Estimate { value, interval } = self.robust.median_ratio;
        QuantileRatio {
            value,
            lower: Some(interval.lower).filter(|end| *end > 0.0),
            upper: Some(interval.upper).filter(|end| end.is_finite()),
        }
    }

    /// Whether one factor turns the baseline sample into the new one: of independent values by their distribution, of others by whether
    /// the ratio of the quantiles is one; `None` where that is not excluded without a distribution.
    fn one_factor(&self) -> Option<bool> {
        if let Some(distribution) = self.distribution.as_ref().filter(|_| self.uses_distribution()) {
            return Some(distribution.factor.p >= ONE_FACTOR && distribution.agrees);
        }
        // A rounded quantile moves in steps.
        if self.is_coarse() {
            return None;
        }
        let (median, pairs) = (&self.robust.median_ratio.interval, &self.robust.hodges_lehmann.interval);
        let is_apart = pairs.lower > median.upper || pairs.upper < median.lower;
        let other_tail = self.p99_ratio.is_some_and(|p99| p99.differs_from(&self.median_ratio(), ONE_FACTOR));
        (is_apart || other_tail).then_some(false)
    }

    /// The number to quote: the factor where one factor describes independent samples, else a ratio without a distribution, which is
    /// that of the medians where no factor holds.
    pub fn headline(&self) -> Headline {
        let one_factor = self.one_factor();
        if let Some(distribution) = self.distribution.as_ref().filter(|_| one_factor == Some(true)) {
            let factor = &distribution.factor;
            return Headline {
                value: factor.value,
                interval: factor.interval,
                by_distribution: true,
                by: Basis::Distribution,
            };
        }
        if one_factor == Some(false) {
            let Estimate { value, interval } = self.robust.median_ratio;
            return Headline { value, interval, by_distribution: false, by: Basis::Medians };
        }
        if self.is_coarse() {
            let mean = &self.robust.mean_ln_k;
            let Interval { lower, upper, level, .. } = mean.interval;
            let interval = Interval::new(lower.exp(), upper.exp(), level);
            return Headline { value: mean.value.exp(), interval, by_distribution: false, by: Basis::Means };
        }
        let ratio = &self.robust.hodges_lehmann;
        Headline { value: ratio.value, interval: ratio.interval, by_distribution: false, by: Basis::Pairs }
    }

    /// Whether the difference is shown, and is too small to matter ([`TOO_SMALL_TO_MATTER`]).
    pub fn is_negligible(&self) -> bool {
        let Interval { lower, upper, .. } = self.headline().interval;
        lower >= 1.0 / (1.0 + TOO_SMALL_TO_MATTER) && upper <= 1.0 + TOO_SMALL_TO_MATTER
    }

    /// The factor that the new runs surely have: the lower end of the quoted interval, and at most 1 where no difference
    /// is shown.
    pub fn sure_factor(&self) -> f64 {
        let lower = self.headline().interval.lower;
        if self.code == ComparisonCode::NoDifference { lower.min(1.0) } else { lower }
    }

    /// Whether the difference is a factor or a shift, by the weight of the factor; `None` where no distribution was asked.
    pub fn slowdown(&self) -> Option<Slowdown> {
        let distribution = self.distribution.as_ref().filter(|_| self.headline().by_distribution)?;
        Some(if distribution.factor_weight > 0.9 {
            Slowdown::Factor
        } else if distribution.factor_weight < 0.1 {
            Slowdown::Shift
        } else {
            Slowdown::Undecided
        })
    }

    pub(super) fn advise(&self) -> Vec<ComparisonAdvice> {
        let mut advice = Vec::new();
        let one_factor = matches!(self.code, ComparisonCode::Slower | ComparisonCode::Faster);
        if one_factor && self.slowdown() == Some(Slowdown::Undecided) && !self.is_negligible() {
            let runs = (3.20 / self.headline().value.ln()).powi(2);
            if runs.is_finite() && runs > self.baseline.n.min(self.new.n) as f64 {
                advice.push(ComparisonAdvice::MeasureMore { runs });
            }
        }
        advice.push(ComparisonAdvice::Interleave);
        advice
    }
}
