//! Tests a fitted GEV by distribution-function statistics, with p-values from a parametric bootstrap whose
//! refits account for estimated parameters.
//!
//! Stute, González Manteiga, Presedo Quindimil 1993; Genest, Rémillard 2008. Values on a visible clock tick
//! are compared with rounded samples, jittered inside the tick.

mod distance;
mod statistics;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::bootstrap;
use crate::gev::GevFit;
use crate::gev::fit::maximize_maxima;
use crate::interval::{self, Censored, Rounding};
use crate::newton::Newton;
use crate::surface::Maxima;
use crate::{Error, Gev, Series, Status, Xoshiro, ordered};

pub use statistics::Statistics;

/// p-values that belong to [`Statistics`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PValues {
    /// p-value of √n D.
    pub sqrt_n_d: f64,
    /// p-value of W².
    pub w2: f64,
    /// p-value of A².
    pub a2: f64,
    /// p-value of AU².
    pub au2: f64,
    /// p-value of the smaller of the p-values of A² and AU², calibrated as one statistic in the same bootstrap.
    pub smaller: f64,
}

/// The test of a fitted GEV.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GoodnessOfFit {
    /// The statistics of the data.
    pub statistics: Statistics,
    /// Their bootstrap p-values.
    pub p: PValues,
    /// Number of bootstrap samples: the requested number without those that have no interior maximum.
    pub replicates: usize,
    /// Values in each of them: fewer than were tested if their number exceeds the budget.
    #[serde(default)]
    pub sample_size: usize,
    /// The seed.
    pub seed: u64,
    /// Whether values were jittered inside a clock tick.
    pub jittered: bool,
    /// The largest distance between fitted and measured quantiles that at least 100 values lie beyond, as a share of the
    /// distance of such a quantile from the median, or of half the range of the middle 90% of the values.
    #[serde(default)]
    pub distance: f64,
}

/// Values from which on a small distance outweighs a test.
const MANY: usize = 10_000;
/// A distance below this changes no result.
const NEGLIGIBLE: f64 = 0.03;

impl GoodnessOfFit {
    /// Whether a distribution, though a test of so many values may reject it, gives the measured quantiles.
    pub(crate) fn is_near(&self, values: usize) -> bool {
        values >= MANY && self.distance < NEGLIGIBLE
    }

    /// Whether the test rejects the distribution at this level, by less than matters.
    pub fn is_small_misfit(&self, values: usize, level: f64) -> bool {
        self.p.smaller < level && self.is_near(values)
    }
}

/// Jitters of tied data over which p-values are averaged.
const JITTERS: usize = 10;

/// Test whether the values follow a GEV, by `replicates` parametric bootstrap samples (999 is usual). When
/// the clock's steps show in the empirical distribution (√n tick above half the scale), the distribution is that of
/// the interval likelihood, the samples are rounded like the data, and both are jittered.
///
/// # Errors
/// As [`crate::gev::fit`], and [`Error::NotConverged`] if most samples have no interior maximum.
pub fn test(series: &Series, fit: &GevFit, replicates: usize, seed: u64) -> Result<GoodnessOfFit, Error> {
    test_within(series, fit, replicates, seed, usize::MAX)
}

/// The smallest sample size: from here on the distributions of the statistics do not depend on the size within the
/// precision of 999 refits (beyond 400 values their 5% points change by less than 3%).
pub(crate) const SETTLED: usize = 2000;

/// [`test()`] with at most about `budget` values drawn and refitted in total. The statistics are always those
/// of all the data; beyond the budget their null distribution is that of smaller samples (at least 2000 values), which
/// equals the limiting distribution within the precision of the refits. `sample_size` of the result states the size.
///
/// # Errors
/// As [`test()`].
pub fn test_within(
    series: &Series,
    fit: &GevFit,
    replicates: usize,
    seed: u64,
    budget: usize,
) -> Result<GoodnessOfFit, Error> {
    Rounds::of(series, replicates, seed, budget)?.test(series, fit)
}

/// [`test_within`] that ends after a fifth of the replicates if the fit is good beyond doubt by then (a sequential Monte
/// Carlo test; Besag, Clifford 1991): `replicates` of the result states the number. A fit that is rejected below
/// [`CLEAR`] is tested with all, so that its p-value is that of [`test_within`].
///
/// # Errors
/// As [`test()`].
pub fn test_until_clear(
    series: &Series,
    fit: &GevFit,
    replicates: usize,
    seed: u64,
    budget: usize,
) -> Result<GoodnessOfFit, Error> {
    let first = if replicates >= 5 * FEWEST_CLEAR { replicates.div_ceil(5) } else { replicates };
    Rounds { first, ..Rounds::of(series, replicates, seed, budget)? }.test(series, fit)
}

/// A p-value from which on a fit is good beyond doubt.
pub const CLEAR: f64 = 0.2;

/// Fewest replicates of a p-value that is clear: its standard error is then a twentieth.
const FEWEST_CLEAR: usize = 100;

/// How many replicates of which size.
#[derive(Clone, Copy)]
struct Rounds {
    /// Values in each.
    size: usize,
    /// All of them.
    replicates: usize,
    /// After these the test may end.
    first: usize,
    seed: u64,
}

impl Rounds {
    /// All replicates, of as many values as the budget allows.
    fn of(series: &Series, replicates: usize, seed: u64, budget: usize) -> Result<Self, Error> {
        series.require(5, 4)?;
        let size = series.len().min((budget / replicates.max(1)).max(SETTLED));
        Ok(Self { size, replicates, first: replicates, seed })
    }

    fn test(self, series: &Series, fit: &GevFit) -> Result<GoodnessOfFit, Error> {
        let found = match series.tick() {
            Some(tick) if tick * (series.len() as f64).sqrt() > 0.5 * fit.scale => ties(series, tick, self),
            _ => continuous(series, fit, self),
        }?;
        Ok(GoodnessOfFit { distance: distance::distance(series, &fit.distribution()), ..found })
    }

    /// The p-values of the observed statistics, and the number of samples that they are from.
    fn p_values(
        self,
        observed: &[Statistics],
        one: impl Fn(&mut bootstrap::Refit, u64) -> Option<Statistics> + Sync,
    ) -> Result<(PValues, usize), Error> {
        let mut simulated = bootstrap::run_those(0..self.first, self.size, &one);
        if self.first < self.replicates {
            let so_far: Vec<Statistics> = simulated.iter().flatten().copied().collect();
            if so_far.len() >= FEWEST_CLEAR {
                let p = p_values(observed, &so_far);
                if p.smaller >= CLEAR {
                    return Ok((p, so_far.len()));
                }
            }
            simulated.extend(bootstrap::run_those(self.first..self.replicates, self.size, &one));
        }
        let simulated = usable(simulated, self.replicates)?;
        Ok((p_values(observed, &simulated), simulated.len()))
    }
}

/// A sample without an interior maximum is excluded from the null distribution, since such data are not tested either.
fn interior(status: Status, statistics: impl FnOnce() -> Statistics) -> Option<Statistics> {
    (status != Status::Boundary).then(statistics)
}

/// The smallest number of samples of a p-value, if more were requested.
const FEWEST: usize = 19;

/// The samples with an interior maximum.
fn usable(simulated: Vec<Option<Statistics>>, wanted: usize) -> Result<Vec<Statistics>, Error> {
    let found: Vec<Statistics> = simulated.into_iter().flatten().collect();
    if found.len() < FEWEST.min(wanted) {
        Err(Error::NotConverged { model: "test of fit" })
    } else {
        Ok(found)
    }
}

fn continuous(series: &Series, fit: &GevFit, rounds: Rounds) -> Result<GoodnessOfFit, Error> {
    let Rounds { size: n, seed, .. } = rounds;
    let rate = 1.0 / fit.scale;
    let distribution = Gev { location: 0.0, scale: 1.0, shape: fit.shape };
    let observed =
        Statistics::of_scaled(series.sorted(), ([fit.center, fit.location_offset], rate), &distribution);
    let start = [0.0, 0.0, fit.shape];
    let (p, replicates) = rounds.p_values(&[observed], |refit, index| {
        refit.draw(start, n, &mut Xoshiro::stream(seed, index));
        let best = refit.fit(start, crate::gev::fit::SHAPE_MAX);
        let distribution = Gev { location: best.at[0], scale: best.at[1].exp(), shape: best.at[2] };
        interior(best.status, || Statistics::of_sorted(&refit.y, &distribution))
    })?;
    Ok(GoodnessOfFit {
        statistics: observed,
        p,
        replicates,
        sample_size: n,
        seed,
        jittered: false,
        distance: 0.0,
    })
}

/// The p-values of a fitted GEV among samples that `draw` makes of its standard form: those of values that are not
/// independent, or come otherwise than one by one.
///
/// # Errors
/// As [`test()`].
pub(crate) fn test_drawn(
    series: &Series,
    fit: &GevFit,
    replicates: usize,
    seed: u64,
    draw: impl Fn(&Gev, &mut Xoshiro, &mut [f64]) + Sync,
) -> Result<PValues, Error> {
    let rounds = Rounds::of(series, replicates, seed, usize::MAX)?;
    let standard = Gev { location: 0.0, scale: 1.0, shape: fit.shape };
    let units = ([fit.center, fit.location_offset], 1.0 / fit.scale);
    let observed = Statistics::of_scaled(series.sorted(), units, &standard);
    let (p, _) = rounds.p_values(&[observed], |refit, index| {
        refit.y.clear();
        refit.y.resize(rounds.size, 0.0);
        draw(&standard, &mut Xoshiro::stream(seed, index), &mut refit.y);
        refit.y.sort_unstable_by(f64::total_cmp);
        let best = refit.fit([0.0, 0.0, fit.shape], crate::gev::fit::SHAPE_MAX);
        let distribution = Gev { location: best.at[0], scale: best.at[1].exp(), shape: best.at[2] };
        interior(best.status, || Statistics::of_sorted(&refit.y, &distribution))
    })?;
    Ok(p)
}

fn ties(series: &Series, tick: f64, rounds: Rounds) -> Result<GoodnessOfFit, Error> {
    let Rounds { size: n, seed, .. } = rounds;
    let fit = interval::fit(series, tick, Rounding::Nearest)?;
    let (center, spread) = (fit.center, fit.scale);
    let step = tick / spread;
    let start = [fit.location_offset / spread, 0.0, fit.shape];
    let phase = (series.sorted()[0] - center) / spread;
    let distribution = |at: [f64; 3]| Gev { location: at[0], scale: at[1].exp(), shape: at[2] };
    // A uniform draw between the probabilities of the ends of each value's interval.
    let jittered = |sorted: &[f64], distribution: &Gev, random: &mut Xoshiro| -> Statistics {
        let mut u = Vec::with_capacity(sorted.len());
        for equal in sorted.chunk_by(|a, b| a == b) {
            let (low, high) =
                (distribution.cdf(equal[0] - 0.5 * step), distribution.cdf(equal[0] + 0.5 * step));
            u.extend(
                equal
                    .iter()
                    .map(|_| (low + random.uniform() * (high - low)).clamp(1e-300, 1.0 - f64::EPSILON)),
            );
        }
        Statistics::of_uniform(&ordered::ascending(&u))
    };
    let standard: Vec<f64> = series.sorted().iter().map(|x| (x - center) / spread).collect();
    let observed: Vec<Statistics> = (0..JITTERS as u64)
        .into_par_iter()
        .map(|i| jittered(&standard, &distribution(start), &mut Xoshiro::stream(seed ^ 0x7469_636b, i)))
        .collect();
    let (p, replicates) = rounds.p_values(&observed, |refit, index| {
        let mut random = Xoshiro::stream(seed, index);
        refit.draw(start, n, &mut random);
        for y in &mut refit.y {
            *y = phase + step * ((*y - phase) / step).round();
        }
        let mut censored = Censored::default();
        censored.fill(refit.y.iter().copied(), (-0.5 * step, 0.5 * step));
        let best = interval::maximize_from(&censored, start, &mut Newton::new(3));
        best.map(|best| jittered(&refit.y, &distribution(best.at), &mut random))
    })?;
    let mean = |f: fn(&Statistics) -> f64| observed.iter().map(f).sum::<f64>() / JITTERS as f64;
    let statistics = Statistics {
        sqrt_n_d: mean(|s| s.sqrt_n_d),
        w2: mean(|s| s.w2),
        a2: mean(|s| s.a2),
        au2: mean(|s| s.au2),
    };
    Ok(GoodnessOfFit { statistics, p, replicates, sample_size: n, seed, jittered: true, distance: 0.0 })
}

/// p-values of the observed statistics (averaged over jitters) among the simulated ones.
fn p_values(observed: &[Statistics], simulated: &[Statistics]) -> PValues {
    let total = (simulated.len() + 1) as f64;
    let ascending = |f: fn(&Statistics) -> f64| {
        let mut v: Vec<f64> = simulated.iter().map(f).collect();
        v.sort_unstable_by(f64::total_cmp);
        v
    };
    // (1 + how many reach it) / (B + 1)
    let exceed =
        |sorted: &[f64], s: f64| (1 + sorted.len() - sorted.partition_point(|&v| v < s)) as f64 / total;
    let p = |f: fn(&Statistics) -> f64| {
        let sorted = ascending(f);
        observed.iter().map(|s| exceed(&sorted, f(s))).sum::<f64>() / observed.len() as f64
    };
    let (a2, au2) = (ascending(|s| s.a2), ascending(|s| s.au2));
    let smaller = |s: &Statistics| exceed(&a2, s.a2).min(exceed(&au2, s.au2));
    // Each simulated sample counts itself, as the observed one does by the added 1.
    let own = 1.0 / total;
    let mut null: Vec<f64> = simulated.iter().map(|s| smaller(s) - own).collect();
    null.sort_unstable_by(f64::total_cmp);
    let combined = |s: &Statistics| {
        let reached = null.partition_point(|&v| v <= smaller(s) - own + 0.5 * own);
        (1 + reached) as f64 / total
    };
    PValues {
        sqrt_n_d: p(|s| s.sqrt_n_d),
        w2: p(|s| s.w2),
        a2: p(|s| s.a2),
        au2: p(|s| s.au2),
        smaller: observed.iter().map(combined).sum::<f64>() / observed.len() as f64,
    }
}

/// Critical values of the statistics at the given upper tail probability for samples of `n` values of a
/// GEV with this shape, all three parameters estimated; by `replicates` simulations.
pub fn critical_values(n: usize, shape: f64, tail: f64, replicates: usize, seed: u64) -> Statistics {
    let start = [0.0, 0.0, shape];
    let simulated = bootstrap::run(replicates, n, |refit, index| {
        refit.draw(start, n, &mut Xoshiro::stream(seed, index));
        let mut newton = Newton::new(3);
        let best = maximize_maxima(&Maxima::sorted(&refit.y, bootstrap::shape_bound(&refit.y)), &mut newton);
        let distribution = Gev { location: best.at[0], scale: best.at[1].exp(), shape: best.at[2] };
        interior(best.status, || Statistics::of_sorted(&refit.y, &distribution))
    });
    let simulated: Vec<Statistics> = simulated.into_iter().flatten().collect();
    let quantile = |f: fn(&Statistics) -> f64| {
        let mut v: Vec<f64> = simulated.iter().map(f).collect();
        v.sort_unstable_by(f64::total_cmp);
        crate::series::sorted_quantile(&v, 1.0 - tail)
    };
    Statistics {
        sqrt_n_d: quantile(|s| s.sqrt_n_d),
        w2: quantile(|s| s.w2),
        a2: quantile(|s| s.a2),
        au2: quantile(|s| s.au2),
    }
}
