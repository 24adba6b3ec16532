//! Computes the points of the figures of one fit: probability plot, Q-Q plot, return levels, density.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::shown::Shown;
use super::{Assessment, Envelope, envelope};
use crate::gev::{GevTarget, Likelihood};
use crate::return_period::gumbel_level;
use crate::{Series, Status};

/// A point of a figure with the band around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
    /// Lower end of the pointwise order-statistic envelope at x.
    pub lower: f64,
    /// Upper end of that envelope.
    pub upper: f64,
    /// Whether the point lies outside the envelope.
    pub outside: bool,
    /// Position of the value in time order, from 0 (ties: one of them).
    pub index: usize,
}

/// A curve with a band.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Horizontal.
    pub x: f64,
    /// The curve.
    pub y: f64,
    /// Lower end of the interval; NaN where there is none.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// The points of the figures of one fit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Panels {
    /// x: (i - 1/2) / n; y: fitted F of the i-th smallest value. Envelope: Beta(i, n + 1 - i).
    pub probability: Vec<Point>,
    /// x: fitted quantile; y: the value.
    pub quantile: Vec<Point>,
    /// x: return period of the value's plotting position i / (n + 1); y: the value; envelope as for the
    /// quantiles. A point outside the *envelope* is unusual; one outside the curve's band need not be.
    pub return_points: Vec<Point>,
    /// x: period from just above 1 to ten times n; y: fitted level; band: profile interval.
    pub return_curve: Vec<Band>,
    /// x: value; y: fitted density.
    pub density: Vec<[f64; 2]>,
    /// The envelope of all points together; its pairs are in the order of the points above.
    pub envelope: Envelope,
}

/// With more values than this, fewer points are shown: a tail is judged by its last hundred points, and each
/// costs a simulation.
const MANY: usize = 20_000;

impl Assessment {
    /// The points of the figures; `values` are those assessed. At most 2000 points a panel, 400 of more than 20,000 values: the smallest
    /// gaps in the middle are thinned, the tail is complete.
    pub fn panels(&self, values: &[f64]) -> Panels {
        let series = Series::clean(values);
        match Likelihood::new(&series) {
            Ok(likelihood) => {
                let shown = Shown::of(&series, &likelihood.fit());
                self.panels_of(&series, &likelihood, &shown)
            }
            // Values that were assessed have a likelihood.
            Err(_) => Panels::default(),
        }
    }

    pub(super) fn panels_of(&self, series: &Series, likelihood: &Likelihood, fit: &Shown) -> Panels {
        let n = series.len();
        let size = n as f64;
        let distribution = self.distribution();
        let tail = 0.5 * (1.0 - self.level);
        let mut probability = Vec::new();
        let mut quantile = Vec::new();
        let mut return_points = Vec::new();
        let shown = shown(n, if n > MANY { 400 } else { 2000 });
        for (&i, [low, high]) in shown.iter().zip(envelope::pointwise(n, &shown, tail)) {
            let x = series.sorted()[i];
            let rank = i as f64 + 1.0;
            let u = distribution.cdf(x);
            let outside = u < low || u > high;
            let index = series.places()[i] as usize;
            let position = (rank - 0.5) / size;
            probability.push(Point { x: position, y: u, lower: low, upper: high, outside, index });
            let (lower, upper) = (distribution.quantile(low), distribution.quantile(high));
            quantile.push(Point { x: distribution.quantile(position), y: x, lower, upper, outside, index });
            let period = 1.0 / (1.0 - rank / (size + 1.0));
            return_points.push(Point { x: period, y: x, lower, upper, outside, index });
        }
        Panels {
            probability,
            quantile,
            return_points,
            return_curve: self.return_curve(series, likelihood, fit),
            density: self.density(series),
            envelope: self.envelope(series, &shown, 1),
        }
    }

    fn return_curve(&self, series: &Series, likelihood: &Likelihood, shown: &Shown) -> Vec<Band> {
        const STEPS: usize = 40;
        let fit = &shown.found;
        let (from, to) = (1.01f64.ln(), (10.0 * fit.n as f64).max(1000.0).ln());
        // For very many values a profile interval differs by less than the width of the line.
        let profiled = self.status != Status::Boundary && fit.n <= MANY;
        (0..=STEPS)
            .into_par_iter()
            .map(|i| {
                // Even steps in the Gumbel variate, which is what the axis shows.
                let (a, b) = (gumbel_level(1.0 / from.exp()), gumbel_level(1.0 / to.exp()));
                let c = a + (b - a) * i as f64 / STEPS as f64;
                let period = 1.0 / -(-(-c).exp()).exp_m1();
                let y = self.distribution().at_gumbel_level(c);
                let interval = if profiled {
                    shown.profile(series, likelihood, GevTarget::ReturnLevel(period), self.level)
                } else {
                    fit.return_level(period).ok().and_then(|level| level.interval(self.level))
                };
                Band {
                    x: period,
                    y,
                    lower: interval.map_or(f64::NAN, |i| i.lower),
                    upper: interval.map_or(f64::NAN, |i| i.upper),
                }
            })
            .collect()
    }

    fn density(&self, series: &Series) -> Vec<[f64; 2]> {
        const STEPS: usize = 200;
        let distribution = self.distribution();
        let sorted = series.sorted();
        let low = distribution.quantile(0.0005).min(sorted[0]);
        let high = distribution.quantile(0.999).max(crate::series::sorted_quantile(sorted, 0.999));
        (0..=STEPS)
            .map(|i| {
                let x = low + (high - low) * i as f64 / STEPS as f64;
                [x, distribution.pdf(x)]
            })
            .collect()
    }
}

/// Indices of the order statistics shown: all, or if there are many, both tails and an even selection
/// between.
fn shown(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let quarter = most / 4;
    let middle = n - 2 * quarter;
    let step = middle.div_ceil(most - 2 * quarter);
    (0..quarter).chain((quarter..n - quarter).step_by(step)).chain(n - quarter..n).collect()
}
