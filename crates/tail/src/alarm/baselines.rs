//! Bootstrapped baselines: what would have been estimated from other quiet runs of the same distribution and dependence.

use super::anchored::{Anchor, TailEstimate};
use super::whitened::{self, Whitened};
use crate::gev::GevFit;
use crate::gev::fit::SHAPE_MAX;
use crate::{Gev, Xoshiro, bootstrap};

/// The estimates of `replicates` baselines of a fitted distribution, whose normal scores follow a first-order autoregression. The tail
/// is that of the `excesses` largest values of each, or that of its distribution.
///
/// Independent samples of fewer values would not do: what an autoregression costs is not the same for the location, which it
/// makes four times as uncertain at 0.6, and for the tail, to which it does little.
pub(super) fn estimates(
    fit: &GevFit,
    ar1: f64,
    excesses: Option<usize>,
    (replicates, seed): (usize, u64),
) -> Vec<TailEstimate> {
    let truth = fit.distribution();
    let (center, spread) = (fit.center, fit.scale);
    let start = [fit.location_offset / spread, 0.0, fit.shape];
    let innovation = (1.0 - ar1 * ar1).sqrt();
    bootstrap::run(replicates, fit.n, |refit, index| {
        let mut random = Xoshiro::stream(seed, index);
        let mut values: Vec<f64> = Vec::new();
        if ar1 == 0.0 {
            refit.draw(start, fit.n, &mut random);
            values.extend(refit.y.iter().map(|y| center + spread * y));
        } else {
            let mut state = random.normal();
            values.extend((0..fit.n).map(|_| {
                state = ar1 * state + innovation * random.normal();
                whitened::value(&truth, state)
            }));
            refit.y.clear();
            refit.y.extend(values.iter().map(|x| (x - center) / spread));
        }
        let [location, scale, shape] = refit.fit(start, SHAPE_MAX).at;
        let distribution = Gev { location: center + spread * location, scale: spread * scale.exp(), shape };
        let of_scores = |values: &[f64]| {
            let scores: Vec<f64> = values.iter().map(|x| whitened::score(&distribution, *x)).collect();
            whitened::autocorrelation(&scores)
        };
        let whitened = Whitened { distribution, ar1: if ar1 == 0.0 { 0.0 } else { of_scores(&values) } };
        let anchor = excesses.map_or(Anchor::DISTRIBUTION, |k| Anchor::of(&distribution, &mut values, k));
        TailEstimate { whitened, anchor }
    })
}
