//! Maximises the likelihood of distributions with a finite end near the values, by the distance of the end from them.
//!
//! A distribution of shape below -1/2 ends soon after the largest value, and its log-likelihood falls there like (1 + 1/shape)
//! times the logarithm of the distance between the two: near shape -1 a wall so thin that its foot lies at a tiny part of
//! a scale. A distribution of large shape begins soon before the smallest value, with values of many orders of magnitude above. In
//! location and ln scale a search halves its steps before such a wall hundreds of times. With the logarithm of the
//! distance in place of the location the wall is a straight line, and the search takes some ten steps.

use crate::kernel::Terms;
use crate::newton::{Newton, Objective, Outcome};
use crate::surface::{Fixed, HeldFixed, Surface};

/// Shapes below this are searched by the distance of the upper end.
const SHORT: f64 = -0.5;

/// Shapes above this are searched by the distance of the lower end.
const HEAVY: f64 = 0.5;

/// The least distance of the end from which to start, in scales.
const NEAREST: f64 = 1e-3;

/// The best distribution with the shape held, from `start` (location, ln scale): how the search ended, and location and ln scale.
pub(crate) fn minimize<S: Surface>(
    fixed: &Fixed<'_, S>,
    start: [f64; 2],
    newton: &mut Newton,
    tolerance: f64,
    polish: usize,
) -> (Outcome, [f64; 2]) {
    debug_assert_eq!(fixed.what, HeldFixed::Shape);
    if (SHORT..=HEAVY).contains(&fixed.value) {
        let outcome = newton.minimize(fixed, &start, tolerance, polish);
        return (outcome, [newton.at[0], newton.at[1]]);
    }
    let distributions = HeldShape { surface: fixed.surface, shape: fixed.value };
    let outcome = newton.minimize(&distributions, &distributions.coordinates(start), tolerance, polish);
    (outcome, distributions.parameters(&newton.at))
}

/// The best distribution of a shape above 0, all three parameters free, from `start` (location, ln scale, shape).
pub(crate) fn minimize_heavy<S: Surface>(
    surface: &S,
    [location, log_scale, shape]: [f64; 3],
    newton: &mut Newton,
    tolerance: f64,
) -> (Outcome, [f64; 3]) {
    let distributions = Heavy { surface };
    let [distance, _] = HeldShape { surface, shape }.coordinates([location, log_scale]);
    let outcome = newton.minimize(&distributions, &[distance, log_scale - shape.ln(), shape], tolerance, 1);
    (outcome, distributions.parameters(&newton.at))
}

/// Distributions of a held shape other than 0: the logarithm of the distance between the end of the distribution and the value next to it,
/// and ln scale.
struct HeldShape<'a, S> {
    surface: &'a S,
    shape: f64,
}

impl<S: Surface> HeldShape<'_, S> {
    /// The value next to the end, and the direction from it to the end.
    fn outermost(&self) -> (f64, f64) {
        let (low, high) = self.surface.ends();
        if self.shape < 0.0 { (high, 1.0) } else { (low, -1.0) }
    }

    /// (location, ln scale) as (ln distance, ln scale); where the distribution ends before a value, its end is moved.
    fn coordinates(&self, [location, log_scale]: [f64; 2]) -> [f64; 2] {
        let (outermost, outward) = self.outermost();
        let scale = log_scale.exp();
        let distance = (location - scale / self.shape - outermost) * outward;
        [distance.max(NEAREST * scale).ln(), log_scale]
    }

    fn parameters(&self, at: &[f64]) -> [f64; 2] {
        let (outermost, outward) = self.outermost();
        [outermost + outward * at[0].exp() + at[1].exp() / self.shape, at[1]]
    }
}

impl<S: Surface> Objective for HeldShape<'_, S> {
    fn size(&self) -> usize {
        2
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let [location, log_scale] = self.parameters(at);
        let Some(Terms { value, gradient: [gm, gp, _], hessian: [mm, mp, pp, ..], .. }) =
            self.surface.terms(location, log_scale, self.shape)
        else {
            return f64::INFINITY;
        };
        // The derivatives of the location.
        let (by_distance, by_scale) = (self.outermost().1 * at[0].exp(), at[1].exp() / self.shape);
        gradient.copy_from_slice(&[gm * by_distance, gp + gm * by_scale]);
        let across = (mm * by_scale + mp) * by_distance;
        hessian.copy_from_slice(&[
            (mm * by_distance + gm) * by_distance,
            across,
            across,
            pp + (2.0 * mp + mm * by_scale + gm) * by_scale,
        ]);
        value
    }
}

/// Distributions of shapes above 0: the logarithm of the distance between the lower end of the distribution and the smallest value, ln
/// (scale / shape), and the shape. The logarithms of the values' distances from the end then have a Gumbel distribution.
struct Heavy<'a, S> {
    surface: &'a S,
}

/// A search that wants to go beyond the largest shape from less than this before it is at the bound.
const AT_BOUND: f64 = 1e-3;

impl<S: Surface> Heavy<'_, S> {
    fn parameters(&self, at: &[f64]) -> [f64; 3] {
        [self.surface.ends().0 - at[0].exp() + at[1].exp(), at[1] + at[2].ln(), at[2]]
    }
}

impl<S: Surface> Objective for Heavy<'_, S> {
    fn size(&self) -> usize {
        3
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        if !(at[2] > 0.0 && at[2] < self.surface.shape_max()) {
            return f64::INFINITY;
        }
        let [location, log_scale, shape] = self.parameters(at);
        let Some(Terms { value, gradient: [gm, gp, gx], hessian: [mm, mp, pp, mx, px, xx], .. }) =
            self.surface.terms(location, log_scale, shape)
        else {
            return f64::INFINITY;
        };
        // The derivatives of the location by the first two coordinates, and of ln scale by the shape.
        let (u, l, s) = (-at[0].exp(), at[1].exp(), 1.0 / shape);
        gradient.copy_from_slice(&[gm * u, gm * l + gp, gp * s + gx]);
        let (ul, us) = ((mm * l + mp) * u, (mp * s + mx) * u);
        let ls = (mp * s + mx) * l + pp * s + px;
        let ll = pp + (2.0 * mp + mm * l + gm) * l;
        hessian.copy_from_slice(&[
            (mm * u + gm) * u,
            ul,
            us,
            ul,
            ll,
            ls,
            us,
            ls,
            xx + (2.0 * px + (pp - gp) * s) * s,
        ]);
        value
    }

    fn is_at_bound(&self, at: &[f64], step: &[f64]) -> bool {
        let most = self.surface.shape_max();
        at[2] > most - AT_BOUND && at[2] + step[2] >= most
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Gev, Likelihood, Series, Xoshiro};

    fn sample(shape: f64, n: usize, seed: u64) -> Series {
        let distribution = Gev { location: 11.0, scale: 0.2, shape };
        let mut random = Xoshiro::new(seed);
        Series::clean(&(0..n).map(|_| distribution.sample(&mut random)).collect::<Vec<_>>())
    }

    /// Whether gradient and Hessian at a point are those of differences.
    fn has_right_derivatives(distribution: &impl Objective, at: &[f64]) -> bool {
        let n = distribution.size();
        let (mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n * n]);
        if !distribution.evaluate(at, &mut gradient, &mut hessian).is_finite() {
            return true;
        }
        let h = 1e-5;
        let close = |found: f64, known: f64| (found - known).abs() <= 1e-4 * (1.0 + known.abs());
        (0..n).all(|i| {
            let step = |side: f64| {
                let mut there = at.to_vec();
                there[i] += side * h;
                let (mut slope, mut bend) = (vec![0.0; n], vec![0.0; n * n]);
                (distribution.evaluate(&there, &mut slope, &mut bend), slope)
            };
            let (above, below) = (step(1.0), step(-1.0));
            close((above.0 - below.0) / (2.0 * h), gradient[i])
                && (0..n).all(|j| close((above.1[j] - below.1[j]) / (2.0 * h), hessian[n * i + j]))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_distribution_of_a_grid_is_better_and_few_steps_are_needed(
            seed in 0u64..1_000_000, n in 20usize..400,
            (drawn, held) in prop_oneof![(-0.999f64..0.0, -0.9999f64..-0.501), (0.0f64..3.0, 0.501f64..4.9)]
        ) {
            let series = sample(drawn, n, seed);
            let likelihood = Likelihood::new(&series).unwrap();
            let maxima = likelihood.maxima();
            let fixed = Fixed { surface: &maxima, what: HeldFixed::Shape, value: held };
            // A start whose distribution ends before the largest value, or begins after the smallest.
            let (outcome, [_, log_scale]) =
                minimize(&fixed, [0.0, -3.0], &mut Newton::new(2), 1e-11 * n as f64, 1);
            prop_assert!(outcome.converged && outcome.iterations <= 60, "{outcome:?}");
            let distribution = HeldShape { surface: &maxima, shape: held };
            let (mut gradient, mut hessian) = ([0.0; 2], [0.0; 4]);
            for wider in -10..=10 {
                for exponent in 0..60 {
                    let at = [1.0 - 0.5 * f64::from(exponent), log_scale + 0.02 * f64::from(wider)];
                    let there = distribution.evaluate(&at, &mut gradient, &mut hessian);
                    prop_assert!(there >= outcome.value - 1e-7, "{at:?}: {there} {outcome:?}");
                }
            }
        }

        #[test]
        fn derivatives_are_those_of_the_value(
            seed in 0u64..1_000_000, short in -0.99f64..-0.5, heavy in 0.2f64..4.9,
            distance in -6f64..0.5, log_scale in -0.5f64..0.5
        ) {
            let series = sample(-0.7, 50, seed);
            let likelihood = Likelihood::new(&series).unwrap();
            let surface = &likelihood.maxima();
            for shape in [short, heavy] {
                let distribution = HeldShape { surface, shape };
                prop_assert!(has_right_derivatives(&distribution, &[distance, log_scale]));
            }
            let distribution = Heavy { surface };
            prop_assert!(has_right_derivatives(&distribution, &[distance, log_scale, heavy]));
        }
    }
}
