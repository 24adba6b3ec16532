//! What the run before does not predict of a run: a first-order autoregression of normal scores, taken off.

use crate::{Gev, independence, special};

/// A distribution and the first-order autocorrelation of the normal scores under it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Whitened {
    pub distribution: Gev,
    pub ar1: f64,
}

/// Scores are of probabilities that are neither 0 nor 1, so that they are finite.
const LEAST: f64 = 1e-15;

/// The normal score of a value under a distribution.
pub(super) fn score(distribution: &Gev, value: f64) -> f64 {
    special::normal_upper_quantile(distribution.survival(value).clamp(LEAST, 1.0 - LEAST))
}

/// The value of a distribution that has a normal score.
pub(super) fn value(distribution: &Gev, score: f64) -> f64 {
    distribution.upper_quantile(special::normal_cdf(-score).clamp(1e-300, 1.0 - 1e-16))
}

/// The autocorrelation of scores that is removed.
pub(super) fn autocorrelation(scores: &[f64]) -> f64 {
    independence::autocorrelations(scores, 1).first().copied().unwrap_or(0.0).clamp(-0.95, 0.95)
}

impl Whitened {
    /// The value, on the scale of the distribution, that is left of a run with this score after a run with that of `last`.
    pub fn left(&self, score: f64, last: Option<f64>) -> f64 {
        let white = match last {
            Some(last) => (score - self.ar1 * last) / (1.0 - self.ar1 * self.ar1).sqrt(),
            None => score,
        };
        value(&self.distribution, white)
    }
}
