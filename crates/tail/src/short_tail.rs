//! Maximises the likelihood with a shape below -1/2 held fixed.
//!
//! Such a law ends soon after the largest value, and its log-likelihood falls there like (1 + 1/shape) times the
//! logarithm of the distance between the two: near shape -1 a wall so thin that its foot lies at a tiny part of a scale.
//! In location and ln scale a search halves its steps before that wall hundreds of times. With the logarithm of the
//! distance in place of the location the wall is a straight line, and the search takes some ten steps.

use crate::newton::{Newton, Objective, Outcome};
use crate::surface::{Fixed, HeldFixed, Surface};

/// Shapes below this are searched by the distance of the end.
const SHORT: f64 = -0.5;

/// The best law with the shape held, from `start` (location, ln scale): how the search ended, and location and ln scale.
pub(crate) fn minimize<S: Surface>(
    fixed: &Fixed<'_, S>,
    start: [f64; 2],
    newton: &mut Newton,
    tolerance: f64,
    polish: usize,
) -> (Outcome, [f64; 2]) {
    debug_assert_eq!(fixed.what, HeldFixed::Shape);
    if fixed.value >= SHORT {
        let outcome = newton.minimize(fixed, &start, tolerance, polish);
        return (outcome, [newton.at[0], newton.at[1]]);
    }
    let law = ShortTail { fixed };
    let outcome = newton.minimize(&law, &law.coordinates(start), tolerance, polish);
    (outcome, law.parameters(&newton.at))
}

/// Laws of a held shape below 0: the logarithm of the distance from the largest value to the end of the law, and ln
/// scale.
struct ShortTail<'a, 'b, S> {
    fixed: &'a Fixed<'b, S>,
}

/// The least distance of the end from the largest value from which to start, in scales.
const NEAREST: f64 = 1e-3;

impl<S: Surface> ShortTail<'_, '_, S> {
    /// (location, ln scale) as (ln distance, ln scale); where the law ends before the largest value, its end is moved.
    fn coordinates(&self, [location, log_scale]: [f64; 2]) -> [f64; 2] {
        let scale = log_scale.exp();
        let distance = location - scale / self.fixed.value - self.fixed.surface.ends().1;
        [distance.max(NEAREST * scale).ln(), log_scale]
    }

    fn parameters(&self, at: &[f64]) -> [f64; 2] {
        let end = self.fixed.surface.ends().1 + at[0].exp();
        [end + at[1].exp() / self.fixed.value, at[1]]
    }
}

impl<S: Surface> Objective for ShortTail<'_, '_, S> {
    fn size(&self) -> usize {
        2
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let [location, log_scale] = self.parameters(at);
        let Some(terms) = self.fixed.surface.terms(location, log_scale, self.fixed.value) else {
            return f64::INFINITY;
        };
        let [gm, gp, _] = terms.gradient;
        let [mm, mp, pp, ..] = terms.hessian;
        // The derivatives of the location.
        let (by_distance, by_scale) = (at[0].exp(), at[1].exp() / self.fixed.value);
        gradient.copy_from_slice(&[gm * by_distance, gp + gm * by_scale]);
        let across = (mm * by_scale + mp) * by_distance;
        hessian.copy_from_slice(&[
            (mm * by_distance + gm) * by_distance,
            across,
            across,
            pp + (2.0 * mp + mm * by_scale + gm) * by_scale,
        ]);
        terms.value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Gev, Likelihood, Series, Xoshiro};

    fn sample(shape: f64, n: usize, seed: u64) -> Series {
        let law = Gev { location: 11.0, scale: 0.2, shape };
        let mut random = Xoshiro::new(seed);
        Series::clean(&(0..n).map(|_| law.sample(&mut random)).collect::<Vec<_>>())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_law_of_a_grid_is_better_and_few_steps_are_needed(
            seed in 0u64..1_000_000, drawn in -0.999f64..-0.5, held in -0.9999f64..-0.5, n in 20usize..400
        ) {
            let series = sample(drawn, n, seed);
            let likelihood = Likelihood::new(&series).unwrap();
            let maxima = likelihood.maxima();
            let fixed = Fixed { surface: &maxima, what: HeldFixed::Shape, value: held };
            // A start whose law ends before the largest value.
            let (outcome, [_, log_scale]) =
                minimize(&fixed, [0.0, -3.0], &mut Newton::new(2), 1e-11 * n as f64, 1);
            prop_assert!(outcome.converged && outcome.iterations <= 60, "{outcome:?}");
            let law = ShortTail { fixed: &fixed };
            let (mut gradient, mut hessian) = ([0.0; 2], [0.0; 4]);
            for wider in -10..=10 {
                for exponent in 0..60 {
                    let at = [1.0 - 0.5 * f64::from(exponent), log_scale + 0.02 * f64::from(wider)];
                    let there = law.evaluate(&at, &mut gradient, &mut hessian);
                    prop_assert!(there >= outcome.value - 1e-7, "{at:?}: {there} {outcome:?}");
                }
            }
        }

        #[test]
        fn derivatives_are_those_of_the_value(
            seed in 0u64..1_000_000, held in -0.99f64..-0.5, distance in -6f64..0.5, log_scale in -0.5f64..0.5
        ) {
            let series = sample(-0.7, 50, seed);
            let likelihood = Likelihood::new(&series).unwrap();
            let maxima = likelihood.maxima();
            let law = ShortTail { fixed: &Fixed { surface: &maxima, what: HeldFixed::Shape, value: held } };
            let at = [distance, log_scale];
            let (mut gradient, mut hessian) = ([0.0; 2], [0.0; 4]);
            prop_assume!(law.evaluate(&at, &mut gradient, &mut hessian).is_finite());
            let h = 1e-5;
            for i in 0..2 {
                let step = |side: f64| {
                    let mut there = at;
                    there[i] += side * h;
                    let (mut slope, mut bend) = ([0.0; 2], [0.0; 4]);
                    (law.evaluate(&there, &mut slope, &mut bend), slope)
                };
                let (above, below) = (step(1.0), step(-1.0));
                let close = |found: f64, known: f64| (found - known).abs() <= 1e-4 * (1.0 + known.abs());
                prop_assert!(close((above.0 - below.0) / (2.0 * h), gradient[i]));
                for j in 0..2 {
                    prop_assert!(close((above.1[j] - below.1[j]) / (2.0 * h), hessian[2 * i + j]));
                }
            }
        }
    }
}
