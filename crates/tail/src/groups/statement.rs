//! When a word is said of a group: what `run`, `fit --by` and the analysis of ranks have in common.

use serde::{Deserialize, Serialize};

/// Part of 1 - level that statements on groups may take: a screen says other things too.
const SHARE: f64 = 0.1;
/// The smallest difference that is worth a word.
const SMALLEST: f64 = 0.02;
/// What the end of the interval that is nearer to nothing exceeds.
const MARGIN: f64 = 0.005;

/// The chance, over all groups, of a false statement.
pub(crate) fn error(level: f64) -> f64 {
    SHARE * (1.0 - level)
}

/// What is said of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupFinding {
    /// Its values are larger than those of the others, by 2% or more where they have a ratio.
    Slow,
    /// Its values are smaller.
    Fast,
    /// A difference is not shown.
    AsOthers,
    /// Too few values for a test.
    TooFew,
}

impl GroupFinding {
    /// What older files do not say.
    pub(crate) fn unknown() -> GroupFinding {
        GroupFinding::AsOthers
    }
}

/// A logarithm of a ratio with its interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effect {
    pub value: f64,
    pub lower: f64,
    pub upper: f64,
}

impl Effect {
    /// The median of values whose sums vary `inflation` times as much as those of independent ones, and its interval of
    /// `z` standard deviations: order statistics where they reach so far.
    pub fn of_median(values: &mut [f64], inflation: f64, z: f64) -> Effect {
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as f64;
        let at = |share: f64| {
            let place = (share * (n + 1.0) - 1.0).clamp(0.0, n - 1.0);
            let (below, part) = (place.floor() as usize, place.fract());
            let above = (below + 1).min(values.len() - 1);
            values[below] + part * (values[above] - values[below])
        };
        let value = at(0.5);
        let spread = 0.5 * (inflation.max(1.0) / n).sqrt();
        let free = (n / inflation.max(1.0) - 1.0).max(2.0);
        // Student's quantile to first order.
        let t = z + (z * z * z + z) / (4.0 * free);
        let one = at(0.5 - spread.min(0.5)).min(value)..at(0.5 + spread.min(0.5)).max(value);
        let far = t * spread;
        let reaches = 0.5 - far >= 1.0 / (n + 1.0);
        let (lower, upper) = match reaches {
            true => (at(0.5 - far), at(0.5 + far)),
            false => {
                let half = 0.5 * t * (one.end - one.start);
                (values[0].min(value - half), values[values.len() - 1].max(value + half))
            }
        };
        Effect { value, lower, upper }
    }

    /// What is said, with a p-value adjusted for all groups.
    pub fn finding(&self, p: f64, level: f64) -> GroupFinding {
        if p >= error(level) {
            return GroupFinding::AsOthers;
        }
        match self.value > 0.0 {
            true if self.value >= SMALLEST.ln_1p() && self.lower > MARGIN => GroupFinding::Slow,
            false if self.value <= -SMALLEST.ln_1p() && self.upper < -MARGIN => GroupFinding::Fast,
            _ => GroupFinding::AsOthers,
        }
    }
}
