//! Chooses the threshold above which a GPD holds.
//!
//! Twenty candidates, lowest first, each tested by A². The hypotheses are ordered: if a GPD holds above one
//! threshold it holds above every higher one (threshold stability), so the false ones come first. What
//! ForwardStop (G'Sell et al. 2016) rejects is a block at the beginning: the k lowest thresholds, k the last
//! with -(1/k) Σ_{i ≤ k} ln(1 - p_i) ≤ 10%, which bounds the expected share of valid thresholds among the
//! rejected. The next higher one is chosen: the lowest that is not rejected (Bader, Yan, Zhang 2018, section
//! 3).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::gof::Statistics;
use crate::{Gpd, Series, Status, Xoshiro, gpd};

/// One candidate threshold: a point of the stability and mean-residual-life plots.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The threshold, half a tick above a tick of the clock.
    pub threshold: f64,
    /// Values above it.
    pub exceedances: usize,
    /// Mean excess over it, which is linear in the threshold if a GPD holds.
    pub mean_excess: f64,
    /// Standard error of the mean excess.
    pub mean_excess_error: f64,
    /// Shape, which is constant if a GPD holds.
    pub shape: f64,
    /// Standard error of the shape, as if exceedances were independent.
    pub shape_error: Option<f64>,
    /// Scale minus shape times threshold, which is constant if a GPD holds.
    pub modified_scale: f64,
    /// Standard error of the modified scale, as if exceedances were independent.
    #[serde(default)]
    pub modified_scale_error: Option<f64>,
    /// Anderson-Darling statistic of the fit.
    pub a2: f64,
    /// Its bootstrap p-value.
    pub p: f64,
}

/// The largest number of exceedances of a threshold; beyond it, bias dominates variance.
const MOST: usize = 10_000;
/// The largest number of refits of each p-value.
const REPLICATES: usize = 199;
/// After this many refits at least as extreme as the data, the threshold is accepted and drawing stops; p is
/// their share, which is a valid p-value too (Besag, Clifford 1991) and takes a quarter of the work if a GPD
/// holds.
const ENOUGH: usize = 30;
/// Values in each refit: the distribution of A² is then the limiting one within the precision of 199 refits.
const SETTLED: usize = 1000;
/// False discovery rate of ForwardStop.
const RATE: f64 = 0.1;

/// Twenty thresholds from 10 % (at most 10 000) down to 40 exceedances, evenly spaced in the logarithm,
/// lowest first.
pub(super) fn candidates(series: &Series, seed: u64) -> Vec<Candidate> {
    between(series, series.len() / 10, 40f64.min(series.len() as f64 / 20.0), seed)
}

/// Twenty thresholds from `most` (at most 10 000) down to `least` exceedances.
pub(super) fn between(series: &Series, most: usize, least: f64, seed: u64) -> Vec<Candidate> {
    let n = series.len();
    let sorted = series.sorted();
    let half = series.tick().map_or(0.0, |tick| 0.5 * tick);
    let most = most.min(MOST) as f64;
    let mut thresholds: Vec<f64> = (0..20)
        .map(|i| (most.ln() + (least / most).ln() * f64::from(i) / 19.0).exp() as usize)
        .map(|k| sorted[n - 1 - k.min(n - 1)] + half)
        .collect();
    thresholds.dedup();
    thresholds.par_iter().filter_map(|&threshold| candidate(sorted, threshold, seed)).collect()
}

/// Index of the lowest threshold that ForwardStop does not reject and whose own p-value exceeds 10%; `None`
/// if there is none.
pub(super) fn choose(p: &[f64]) -> Option<usize> {
    let mut sum = 0.0;
    let mut rejected = 0;
    for (i, p) in p.iter().enumerate() {
        sum -= (-p.min(1.0 - 1e-9)).ln_1p();
        if sum / (i as f64 + 1.0) <= RATE {
            rejected = i + 1;
        }
    }
    (rejected..p.len()).find(|&i| p[i] > RATE)
}

pub(super) fn candidate(sorted: &[f64], threshold: f64, seed: u64) -> Option<Candidate> {
    let from = sorted.partition_point(|x| *x <= threshold);
    let over = &sorted[from..];
    let k = over.len();
    if k < 20 {
        return None;
    }
    let fit = gpd::fit(over, threshold).ok()?;
    if fit.status == Status::Boundary {
        return None;
    }
    let distribution = fit.distribution();
    let observed = a2(over, &distribution);
    let size = k.min(SETTLED);
    let zero = Gpd { threshold: 0.0, ..distribution };
    let simulated = (0..REPLICATES).filter_map(|r| {
        let mut random = Xoshiro::stream(seed, r as u64);
        let mut sample: Vec<f64> = (0..size).map(|_| zero.sample(&mut random)).collect();
        sample.sort_unstable_by(f64::total_cmp);
        let refit = gpd::fit(&sample, 0.0).ok()?;
        (refit.status != Status::Boundary).then(|| a2(&sample, &refit.distribution()))
    });
    let (mut reached, mut drawn) = (0, 0);
    for statistic in simulated {
        drawn += 1;
        reached += usize::from(statistic >= observed);
        if reached == ENOUGH {
            break;
        }
    }
    let p = if reached == ENOUGH {
        ENOUGH as f64 / drawn as f64
    } else {
        (reached + 1) as f64 / (drawn + 1) as f64
    };
    let mean = over.iter().map(|x| x - threshold).sum::<f64>() / k as f64;
    let variance = over.iter().map(|x| (x - threshold - mean).powi(2)).sum::<f64>() / (k as f64 - 1.0);
    // σ - ξ u: by the scale 1, by the shape -u.
    let modified = |v: [[f64; 2]; 2]| v[0][0] - 2.0 * threshold * v[0][1] + threshold * threshold * v[1][1];
    Some(Candidate {
        threshold,
        exceedances: k,
        mean_excess: mean,
        mean_excess_error: (variance / k as f64).sqrt(),
        shape: fit.shape,
        shape_error: fit.standard_errors.map(|e| e[1]),
        modified_scale: fit.scale - fit.shape * threshold,
        modified_scale_error: fit.covariance.map(|v| modified(v).max(0.0).sqrt()),
        a2: observed,
        p,
    })
}

fn a2(ascending: &[f64], distribution: &Gpd) -> f64 {
    let logs: Vec<(f64, f64)> = ascending
        .iter()
        .map(|&x| {
            let hazard = distribution.cumulative_hazard(x);
            ((-(-hazard).exp_m1()).max(1e-300).ln(), -hazard)
        })
        .collect();
    Statistics::from_logs(&logs).a2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_thresholds_are_rejected_and_the_lowest_valid_one_is_chosen() {
        assert_eq!(choose(&[0.005, 0.005, 0.01, 0.4, 0.7, 0.2, 0.5]), Some(3));
        assert_eq!(choose(&[0.5, 0.3, 0.6, 0.8]), Some(0));
        // A high p-value by chance among invalid thresholds does not stop the sequence.
        assert_eq!(choose(&[0.005, 0.15, 0.005, 0.005, 0.6, 0.5]), Some(4));
        // One low p-value among valid thresholds does not reject those below it.
        assert_eq!(choose(&[0.6, 0.5, 0.02, 0.7]), Some(0));
        assert_eq!(choose(&[0.005; 6]), None);
        assert_eq!(choose(&[]), None);
    }
}
