//! Bootstrapped baselines: what would have been estimated from other quiet runs of the same law and dependence.

use super::whitened::{self, Whitened};
use crate::gev::GevFit;
use crate::gev::fit::SHAPE_MAX;
use crate::{Gev, Xoshiro, bootstrap};

/// The estimates of `replicates` baselines of a fitted law, whose normal scores follow a first-order autoregression.
///
/// Independent samples of fewer values would not do: what an autoregression costs is not the same for the location, which it
/// makes four times as uncertain at 0.6, and for the tail, to which it does little.
pub(super) fn estimates(fit: &GevFit, ar1: f64, replicates: usize, seed: u64) -> Vec<Whitened> {
    if ar1 == 0.0 {
        let independent = bootstrap::parametric(fit, replicates, seed);
        return independent.laws.into_iter().map(|law| Whitened { law, ar1 }).collect();
    }
    let law = fit.law();
    let (center, spread) = (fit.center, fit.scale);
    let start = [fit.location_offset / spread, 0.0, fit.shape];
    let innovation = (1.0 - ar1 * ar1).sqrt();
    bootstrap::run(replicates, fit.n, |refit, index| {
        let mut random = Xoshiro::stream(seed, index);
        let mut state = random.normal();
        let values: Vec<f64> = (0..fit.n)
            .map(|_| {
                state = ar1 * state + innovation * random.normal();
                whitened::value(&law, state)
            })
            .collect();
        refit.y.clear();
        refit.y.extend(values.iter().map(|x| (x - center) / spread));
        let [location, scale, shape] = refit.fit(start, SHAPE_MAX).at;
        let law = Gev { location: center + spread * location, scale: spread * scale.exp(), shape };
        let scores: Vec<f64> = values.iter().map(|x| whitened::score(&law, *x)).collect();
        Whitened { law, ar1: whitened::autocorrelation(&scores) }
    })
}
