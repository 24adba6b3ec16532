//! Tests that searches are bounded: how often each evaluates the likelihood, near shape -1 too, where the maximum can
//! lie at the bound.

use std::cell::Cell;

use proptest::prelude::*;

use crate::held;
use crate::kernel::Terms;
use crate::newton::Newton;
use crate::search::{self, Refitted};
use crate::surface::{HeldFixed, Maxima, Surface, grow_scale};
use crate::{End, Gev, Likelihood, Series, Status, Xoshiro, gev};

/// A sample that counts how often its likelihood is evaluated.
struct Counted<'a> {
    maxima: Maxima<'a>,
    evaluations: Cell<usize>,
}

impl Surface for Counted<'_> {
    fn terms(&self, location: f64, log_scale: f64, shape: f64) -> Option<Terms> {
        self.evaluations.set(self.evaluations.get() + 1);
        self.maxima.terms(location, log_scale, shape)
    }

    fn ends(&self) -> (f64, f64) {
        self.maxima.ends()
    }

    fn shape_max(&self) -> f64 {
        self.maxima.shape_max()
    }

    fn len(&self) -> usize {
        Surface::len(&self.maxima)
    }
}

fn sample(shape: f64, n: usize, seed: u64) -> Series {
    let distribution = Gev { location: 11.0, scale: 0.2, shape };
    let mut random = Xoshiro::new(seed);
    Series::clean(&(0..n).map(|_| distribution.sample(&mut random)).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_fit_takes_more_evaluations_than_a_search_of_all_shapes(
        seed in 0u64..1_000_000, shape in prop_oneof![-0.999f64..-0.8, -0.8f64..1.5], n in 20usize..400
    ) {
        let series = sample(shape, n, seed);
        let likelihood = Likelihood::new(&series).unwrap();
        let counted = Counted { maxima: likelihood.maxima(), evaluations: Cell::new(0) };
        let [location, scale] = gev::quantile_start();
        let best = search::maximize(&counted, [location, scale, 0.05], [location, scale], &mut Newton::new(3));
        let most = if best.status == Status::Boundary { 3_000 } else { 1_000 };
        prop_assert!(counted.evaluations.get() <= most, "{:?}: {}", best.status, counted.evaluations.get());
    }

    #[test]
    fn a_refit_takes_few_evaluations_wherever_it_ends(
        seed in 0u64..1_000_000, shape in prop_oneof![-0.999f64..0.5, 0.5f64..3.0],
        n in prop_oneof![8usize..30, 20usize..400]
    ) {
        let series = sample(shape, n, seed);
        let likelihood = Likelihood::new(&series).unwrap();
        let counted = Counted { maxima: likelihood.maxima(), evaluations: Cell::new(0) };
        let first = [0.0, grow_scale(counted.ends(), 0.0, -0.4, shape), shape];
        let found = search::refit(&counted, first, gev::quantile_start(), &mut Newton::new(3));
        let known = !matches!(found, Refitted::Unknown);
        prop_assert!(counted.evaluations.get() <= 500, "known {known}: {}", counted.evaluations.get());
    }

    #[test]
    fn a_profile_takes_a_bounded_number_of_evaluations(
        seed in 0u64..1_000_000, shape in prop_oneof![-0.999f64..-0.8, -0.8f64..0.5], n in 20usize..400
    ) {
        let series = sample(shape, n, seed);
        let likelihood = Likelihood::new(&series).unwrap();
        let fit = likelihood.fit();
        let Ok(peak) = fit.peak(likelihood.center, likelihood.spread, n as f64) else { return Ok(()) };
        for what in [HeldFixed::Location, HeldFixed::Shape, HeldFixed::Level(4.6)] {
            let counted = Counted { maxima: likelihood.maxima(), evaluations: Cell::new(0) };
            let found = held::profile(&counted, &peak, what, 0.95, 1.0).unwrap();
            prop_assert!(counted.evaluations.get() <= 6_000, "{what:?} {found:?}: {}", counted.evaluations.get());
            // A shape is bounded on both sides, so that its interval has two ends.
            let missing = |end| end == End::NotFound || end == End::Infinite;
            let ends = [found.lower_end, found.upper_end];
            prop_assert!(what != HeldFixed::Shape || !ends.into_iter().any(missing), "{found:?}");
        }
    }
}
