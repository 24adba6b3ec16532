//! What are the far quantiles of 10⁵ to 10⁹ single latencies?
//!
//! Inside the sample: order statistics with binomial intervals, no model. Beyond: a GPD above a threshold
//! chosen among some twenty (Anderson-Darling p-values with ForwardStop; Bader, Yan, Zhang 2018), corrected
//! for clusters by the extremal index (Ferro, Segers 2003; Süveges, Davison 2010).

mod extremal;

pub use extremal::{intervals_estimate, k_gaps};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::gof::Statistics;
use crate::{Error, Gpd, Interval, Series, Status, Xoshiro, gpd};

/// One candidate threshold: a point of the stability and mean-residual-life plots.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The threshold, half a tick above a tick of the clock.
    pub threshold: f64,
    /// Values above it.
    pub exceedances: usize,
    /// Mean excess over it, which is a straight line in the threshold where a GPD holds.
    pub mean_excess: f64,
    /// Standard error of the mean excess.
    pub mean_excess_error: f64,
    /// Shape, which is constant where a GPD holds.
    pub shape: f64,
    /// Standard error of the shape.
    pub shape_error: Option<f64>,
    /// Scale less shape times threshold, which is constant where a GPD holds.
    pub modified_scale: f64,
    /// Anderson-Darling statistic of the fit.
    pub a2: f64,
    /// Its bootstrap p-value.
    pub p: f64,
}

/// The tail of many latencies; schema `lastrank.latency/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// `lastrank.latency/1`.
    pub schema: String,
    /// Values.
    pub n: usize,
    /// All candidates, lowest threshold first.
    pub candidates: Vec<Candidate>,
    /// Index of the chosen candidate; none where every GPD is rejected: then only inside the sample.
    pub chosen: Option<usize>,
    /// The fit above the chosen threshold.
    pub fit: Option<gpd::Fit>,
    /// Extremal index by intervals and by K-gaps: 1 independent, 1/θ the mean cluster size.
    pub extremal_index: [f64; 2],
    /// Levels exceeded once in so many operations.
    pub levels: Vec<LatencyLevel>,
    /// What was found, in words.
    pub text: String,
}

/// A level exceeded once in `operations`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyLevel {
    /// Operations.
    pub operations: f64,
    /// The level.
    pub level: f64,
    /// Its interval: binomial inside the sample, profile likelihood beyond.
    pub interval: Option<Interval>,
    /// Whether it lies beyond the sample and rests on the GPD.
    pub extrapolated: bool,
}

/// Most values a threshold is fitted to: beyond, bias and not variance is what matters.
const MOST: usize = 10_000;

/// Analyse latencies in time order; `operations` are the periods wanted.
///
/// # Errors
/// [`Error::TooFew`] below 1000 values, else as [`gpd::fit`].
pub fn analyse(values: &[f64], operations: &[f64], level: f64, seed: u64) -> Result<Latency, Error> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::Parameter { what: "level", value: level, must: "between 0 and 1" });
    }
    let series = Series::clean(values);
    series.require(1000, 20)?;
    let n = series.len();
    let sorted = series.sorted();
    let half = series.tick().map_or(0.0, |tick| 0.5 * tick);
    // Twenty thresholds from 10 % (at most 10 000) down to 40 exceedances, even in the logarithm.
    let (most, least) = ((n / 10).min(MOST) as f64, 40f64.min(n as f64 / 20.0));
    let mut thresholds: Vec<f64> = (0..20)
        .map(|i| (most.ln() + (least / most).ln() * f64::from(i) / 19.0).exp() as usize)
        .map(|k| sorted[n - 1 - k.min(n - 1)] + half)
        .collect();
    thresholds.dedup();
    let candidates: Vec<Candidate> =
        thresholds.par_iter().filter_map(|&threshold| candidate(sorted, threshold, seed)).collect();
    // ForwardStop from the lowest threshold: leave out the leading ones as long as they are rejected.
    let chosen = choose(&candidates);
    let fit = chosen
        .map(|i| gpd::Likelihood::new(&series, candidates[i].threshold).map(|l| l.fit()))
        .transpose()?;
    let extremal_threshold = chosen.map_or(sorted[n - 1 - n / 100], |i| candidates[i].threshold);
    let times: Vec<usize> = series
        .values()
        .iter()
        .enumerate()
        .filter(|(_, x)| **x > extremal_threshold)
        .map(|(i, _)| i)
        .collect();
    let extremal_index = [intervals_estimate(&times), k_gaps(&times, n, 1)];
    let theta = extremal_index[1].clamp(1e-6, 1.0);
    let mut levels = Vec::new();
    for &period in operations {
        if !(period > 1.0 && period.is_finite()) {
            return Err(Error::Parameter { what: "operations", value: period, must: "above 1" });
        }
        // Inside: at least some twenty values beyond the level.
        if period * 20.0 <= n as f64 {
            let p = 1.0 - 1.0 / period;
            let index = ((p * n as f64).ceil() as usize).clamp(1, n) - 1;
            let (low, high) = crate::assess::quantile_interval(n, p, level);
            let interval = low.zip(high).map(|(l, h)| Interval::new(sorted[l], sorted[h], level));
            levels.push(LatencyLevel {
                operations: period,
                level: sorted[index],
                interval,
                extrapolated: false,
            });
        } else if let Some(fit) = &fit
            && let Ok((value, _)) = fit.return_level(period, theta)
        {
            let interval = gpd::Likelihood::new(&series, fit.threshold)
                .and_then(|l| l.profile(fit, gpd::Target::ReturnLevel(period, theta), level))
                .ok();
            levels.push(LatencyLevel { operations: period, level: value, interval, extrapolated: true });
        }
    }
    let text = match (&fit, chosen) {
        (Some(fit), Some(i)) => format!(
            "Above {:.6e}, {} of {n} values follow a GPD with shape {:.3} (A² p {}); slow ones come in clusters \
             of about {:.1}.",
            fit.threshold,
            fit.exceedances,
            fit.shape,
            crate::verdict::p_value(candidates[i].p),
            1.0 / theta
        ),
        _ => "No threshold gives a tail that a GPD fits (steps of interrupts or timers, for instance): only the \
              quantiles inside the sample are given."
            .to_string(),
    };
    Ok(Latency {
        schema: "lastrank.latency/1".to_string(),
        n,
        candidates,
        chosen,
        fit,
        extremal_index,
        levels,
        text,
    })
}

/// First threshold after the last one that ForwardStop rejects at 10 % (G'Sell et al. 2016).
fn choose(candidates: &[Candidate]) -> Option<usize> {
    // From the highest threshold, where a GPD holds if anywhere, p-values of ever lower ones: the rule bounds
    // the share of wrongly kept thresholds among those kept.
    let mut sum = 0.0;
    let mut last_rejected = None;
    for (i, candidate) in candidates.iter().enumerate() {
        sum += -(-candidate.p.min(1.0 - 1e-9)).ln_1p();
        if sum / (i as f64 + 1.0) <= 0.1 {
            last_rejected = Some(i);
        }
    }
    let first = last_rejected.map_or(0, |i| i + 1);
    (first..candidates.len()).find(|&i| candidates[i].p > 0.1)
}

fn candidate(sorted: &[f64], threshold: f64, seed: u64) -> Option<Candidate> {
    const REPLICATES: usize = 99;
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
    let law = fit.law();
    let a2 = |values: &[f64], law: &Gpd| {
        let logs: Vec<(f64, f64)> = values
            .iter()
            .map(|&x| {
                let hazard = law.cumulative_hazard(x);
                ((-(-hazard).exp_m1()).max(1e-300).ln(), -hazard)
            })
            .collect();
        Statistics::from_logs(&logs).a2
    };
    let observed = a2(over, &law);
    // The null law of A² hardly depends on k: samples of at most 400 keep it cheap.
    let size = k.min(400);
    let zero = Gpd { threshold: 0.0, ..law };
    let above = (0..REPLICATES)
        .filter(|&r| {
            let mut random = Xoshiro::stream(seed, r as u64);
            let mut sample: Vec<f64> = (0..size).map(|_| zero.sample(&mut random)).collect();
            sample.sort_unstable_by(f64::total_cmp);
            gpd::fit(&sample, 0.0).is_ok_and(|refit| a2(&sample, &refit.law()) >= observed)
        })
        .count();
    let mean = over.iter().map(|x| x - threshold).sum::<f64>() / k as f64;
    let variance = over.iter().map(|x| (x - threshold - mean).powi(2)).sum::<f64>() / (k as f64 - 1.0);
    Some(Candidate {
        threshold,
        exceedances: k,
        mean_excess: mean,
        mean_excess_error: (variance / k as f64).sqrt(),
        shape: fit.shape,
        shape_error: fit.standard_errors.map(|e| e[1]),
        modified_scale: fit.scale - fit.shape * threshold,
        a2: observed,
        p: (above + 1) as f64 / (REPLICATES + 1) as f64,
    })
}
