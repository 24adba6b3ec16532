//! Computes the joint likelihood of a baseline and a congested sample whose distributions differ by a factor or a shift.

use std::borrow::Cow;

use crate::gev::{SHAPE_MAX, maximize_maxima};
use crate::grouped::Grouped;
use crate::interval_end::{RootDeviance, unbounded_end};
use crate::newton::{Newton, brent_minimum};
use crate::search::StandardMaximum;
use crate::status::Interval;
use crate::surface::{Free, Maxima};
use crate::{Gev, Series};

/// The transformation of baseline values into congested ones.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Link {
    /// y = k x, the argument is ln k.
    Factor,
    /// y = x + D, the argument is D in spreads of the baseline sample.
    Shift,
}

/// Both samples, and the last maximum.
#[derive(Clone)]
pub(super) struct TwoSamples<'a> {
    baseline: &'a [f64],
    new: &'a [f64],
    /// The points of the likelihood: all values, or groups of values if there are many.
    baseline_points: Cow<'a, [f64]>,
    new_points: Cow<'a, [f64]>,
    /// The number of values that each point represents, baseline ones first; empty if each point is one value.
    weights: Vec<f64>,
    center: f64,
    spread: f64,
    pool: Vec<f64>,
    newton: Newton,
    warm: Option<[f64; 3]>,
}

/// The likelihood of a factor between the samples, profiled.
pub(super) struct ProfiledFactor {
    pub best: Maximum,
    /// Of ln k.
    pub interval: Interval,
    /// Negative log-likelihood of k = 1.
    pub without: f64,
    /// Points (k, deviance).
    pub curve: Vec<[f64; 2]>,
}

/// The maximum over the link's argument.
pub(super) struct Maximum {
    pub argument: f64,
    pub value: f64,
    pub distribution: Gev,
}

impl<'a> TwoSamples<'a> {
    pub fn new(baseline: &'a Series, new: &'a Series) -> Self {
        let (center, spread) = crate::gev::standardisation(baseline.sorted());
        let (baseline, new) = (baseline.sorted(), new.sorted());
        let [(baseline_points, baseline_weights), (new_points, new_weights)] = [baseline, new].map(points);
        let single = |weights: Option<Vec<f64>>, of: &[f64]| weights.unwrap_or_else(|| vec![1.0; of.len()]);
        let weights = match (baseline_weights, new_weights) {
            (None, None) => Vec::new(),
            (one, other) => [single(one, baseline), single(other, new)].concat(),
        };
        TwoSamples {
            baseline,
            new,
            baseline_points,
            new_points,
            weights,
            center,
            spread,
            pool: Vec::new(),
            newton: Newton::new(3),
            warm: None,
        }
    }

    /// Negative log-likelihood maximised over the common distribution, in the unit of the data.
    pub fn profile(&mut self, link: Link, argument: f64) -> f64 {
        let (center, spread) = (self.center, self.spread);
        self.pool.clear();
        self.pool.extend(self.baseline_points.iter().map(|x| (x - center) / spread));
        let back = (-argument).exp();
        self.pool.extend(self.new_points.iter().map(|y| match link {
            Link::Factor => (y * back - center) / spread,
            Link::Shift => (y - center) / spread - argument,
        }));
        let n = self.baseline.len() + self.new.len();
        let tolerance = 1e-12 * n as f64;
        let ends =
            self.pool.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |e, &y| (e.0.min(y), e.1.max(y)));
        let mut value = None;
        if let Some(start) = self.warm {
            let maxima = Maxima { y: &self.pool, weights: &self.weights, ends, shape_max: SHAPE_MAX };
            let outcome = self.newton.minimize(&Free(&maxima), &start, tolerance, 0);
            if outcome.converged {
                value = Some(outcome.value);
            }
        }
        let value = value.unwrap_or_else(|| {
            let best = self.afresh(ends);
            self.newton.at.copy_from_slice(&best.at);
            best.value
        });
        self.warm = Some([self.newton.at[0], self.newton.at[1], self.newton.at[2]]);
        let jacobian = match link {
            Link::Factor => self.new.len() as f64 * argument,
            Link::Shift => 0.0,
        };
        value + n as f64 * spread.ln() + jacobian
    }

    /// The maximum of the pooled values without a known start; `ends` are their extremes.
    fn afresh(&mut self, ends: (f64, f64)) -> StandardMaximum {
        if self.weights.is_empty() {
            self.pool.sort_unstable_by(f64::total_cmp);
            return maximize_maxima(&Maxima::sorted(&self.pool, SHAPE_MAX), &mut self.newton);
        }
        let mut pairs: Vec<(f64, f64)> =
            self.pool.iter().copied().zip(self.weights.iter().copied()).collect();
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (y, weights): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let maxima = Maxima { y: &y, weights: &weights, ends, shape_max: SHAPE_MAX };
        maximize_maxima(&maxima, &mut self.newton)
    }

    /// The negative log-likelihood of all values at a maximum that may have been found with groups.
    pub fn of_all_values(&self, link: Link, best: &Maximum) -> f64 {
        if self.weights.is_empty() {
            return best.value;
        }
        let back = (-best.argument).exp();
        let of_new = |y: &f64| match link {
            Link::Factor => best.argument - best.distribution.ln_pdf(y * back),
            Link::Shift => -best.distribution.ln_pdf(y - best.argument * self.spread),
        };
        let of_baseline: f64 = self.baseline.iter().map(|x| -best.distribution.ln_pdf(*x)).sum();
        of_baseline + self.new.iter().map(of_new).sum::<f64>()
    }

    fn distribution(&self) -> Gev {
        let [m, phi, shape] = self.warm.unwrap_or([0.0, 0.0, 0.0]);
        Gev { location: self.center + self.spread * m, scale: self.spread * phi.exp(), shape }
    }

    /// Unit of the link's argument: 1 / (center / spread) for ln k, 1 for a shift; divided by √n.
    fn step(&self, link: Link) -> f64 {
        let n = self.baseline.len().min(self.new.len()) as f64;
        let unit = match link {
            Link::Factor => self.spread / self.center.abs().max(self.spread),
            Link::Shift => 1.0,
        };
        unit / n.sqrt()
    }

    /// The maximum near `start`.
    pub fn maximum(&mut self, link: Link, start: f64) -> Maximum {
        let step = self.step(link);
        let (mut low, mut high) = (start - 4.0 * step, start + 4.0 * step);
        let mut middle = self.profile(link, start);
        let mut at = start;
        // Move the bracket until the middle is lowest.
        for _ in 0..60 {
            let (left, right) = (self.profile(link, low), self.profile(link, high));
            if left < middle {
                (high, at, middle, low) = (at, low, left, low - 2.0 * (at - low));
            } else if right < middle {
                (low, at, middle, high) = (at, high, right, high + 2.0 * (high - at));
            } else {
                break;
            }
        }
        let (argument, _) = brent_minimum(|a| self.profile(link, a), low, high, 1e-7 * step);
        let value = self.profile(link, argument);
        Maximum { argument, value, distribution: self.distribution() }
    }

    /// Profile interval of the argument; `self` is at the maximum.
    pub fn interval(&self, link: Link, best: &Maximum, level: f64) -> Interval {
        let z = crate::special::normal_upper_quantile(0.5 * (1.0 - level));
        let step = self.step(link);
        let end = |first: f64| {
            let mut held = HeldLink { joint: &mut self.clone(), link, least: best.value };
            unbounded_end(&mut held, best.argument, first * step, z, 1e-8 * step)
        };
        let (lower, upper) = rayon::join(|| end(-2.0), || end(2.0));
        Interval::from_ends([lower, upper], level)
    }

    /// The factor: its maximum near ln k = `start`, its interval, the likelihood around it.
    pub fn factor(mut self, start: f64, level: f64) -> ProfiledFactor {
        let best = self.maximum(Link::Factor, start);
        let (interval, without) = rayon::join(
            || self.interval(Link::Factor, &best, level),
            || self.clone().profile(Link::Factor, 0.0),
        );
        let half = (interval.upper - interval.lower).max(1e-12);
        // From the maximum outward, where each distribution is near the one before.
        let side = |sign: f64| -> Vec<[f64; 2]> {
            let mut joint = self.clone();
            let points = (1..=40).map(|i| best.argument + sign * half * f64::from(i) / 40.0);
            points.map(|at| [at.exp(), 2.0 * (joint.profile(Link::Factor, at) - best.value)]).collect()
        };
        let (lower, upper) = rayon::join(|| side(-1.0), || side(1.0));
        let curve = lower.into_iter().rev().chain([[best.argument.exp(), 0.0]]).chain(upper).collect();
        ProfiledFactor { best, interval, without, curve }
    }

    /// The shift near the difference of the medians: its maximum and interval.
    pub fn shift(mut self, baseline: &Series, new: &Series, level: f64) -> (Maximum, Interval) {
        let [baseline, new] = [baseline, new].map(|one| crate::series::sorted_quantile(one.sorted(), 0.5));
        let best = self.maximum(Link::Shift, (new - baseline) / self.spread);
        let interval = self.interval(Link::Shift, &best, level);
        (best, interval)
    }

    /// The argument in the unit of the data: k, or D.
    pub fn natural(&self, link: Link, argument: f64) -> f64 {
        match link {
            Link::Factor => argument.exp(),
            Link::Shift => argument * self.spread,
        }
    }
}

/// The points of the likelihood of these ascending values, and their weights if they are groups.
fn points(sorted: &[f64]) -> (Cow<'_, [f64]>, Option<Vec<f64>>) {
    let (center, spread) = crate::gev::standardisation(sorted);
    match Grouped::of(sorted, center, spread) {
        Some(grouped) => (Cow::Owned(grouped.points), Some(grouped.weights)),
        None => (Cow::Borrowed(sorted), None),
    }
}

/// The joint likelihood with the argument of the link held.
struct HeldLink<'a, 'b> {
    joint: &'a mut TwoSamples<'b>,
    link: Link,
    least: f64,
}

impl RootDeviance for HeldLink<'_, '_> {
    fn along(&mut self, value: f64) -> Option<f64> {
        let found = self.joint.profile(self.link, value);
        found.is_finite().then(|| (2.0 * (found - self.least)).max(0.0).sqrt())
    }

    fn afresh(&mut self, value: f64) -> Option<f64> {
        self.joint.warm = None;
        self.along(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn groups_of_many_values_give_the_likelihood_of_all() {
        let distribution = Gev { location: 10.0, scale: 0.5, shape: 0.1 };
        let mut random = Xoshiro::new(4);
        let mut draw = |k: f64| -> Series {
            Series::clean(&(0..60_000).map(|_| k * distribution.sample(&mut random)).collect::<Vec<_>>())
        };
        let (baseline, new) = (draw(1.0), draw(1.01));
        let mut joint = TwoSamples::new(&baseline, &new);
        assert!(joint.weights.len() < 40_000 && joint.weights.iter().sum::<f64>() == 120_000.0);
        let best = joint.maximum(Link::Factor, 0.0);
        assert!((best.argument.exp() - 1.01).abs() < 0.002, "{}", best.argument.exp());
        assert!((joint.of_all_values(Link::Factor, &best) - best.value).abs() < 0.1);
        let found = joint.interval(Link::Factor, &best, 0.95);
        assert!(found.lower < best.argument && best.argument < found.upper, "{found:?}");
        assert!(found.upper - found.lower < 0.01, "{found:?}");
    }
}
