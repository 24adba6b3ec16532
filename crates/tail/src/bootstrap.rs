//! Estimates uncertainty by simulation: parametric and block bootstrap of a GEV fit.
//!
//! Every refit starts at the estimate and allocates nothing; replicate `i` of a seed does not depend on the
//! number of threads.

use lanes::{Arithmetic, LaneWork, widest};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::gev::fit::{at_least_shape, maximize_maxima};
use crate::gev::{GevFit, Likelihood, Parameters, quantile_start};
use crate::kernel;
use crate::newton::Newton;
use crate::search::{self, Refitted, StandardMaximum};
use crate::series::{count_equal_to_first, sorted_quantile};
use crate::status::Interval;
use crate::surface::{Maxima, grow_scale};
use crate::{Error, Gev, Series, Status, Xoshiro};

/// Refits of resampled data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replicates {
    /// One fitted distribution per replicate.
    #[serde(rename = "laws")]
    pub distributions: Vec<Gev>,
    /// Replicates without an interior maximum (the bound was taken).
    pub at_boundary: usize,
    /// Length of the blocks drawn; 1 for independent draws, 0 for the parametric bootstrap.
    pub block: usize,
    /// The seed.
    pub seed: u64,
}

impl Replicates {
    /// Ascending values of a quantity over the replicates; those that are not a number left out.
    pub fn values(&self, quantity: impl Fn(&Gev) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = self.distributions.iter().map(quantity).filter(|v| !v.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    }

    /// Percentile interval (Efron 1979).
    pub fn percentile(&self, quantity: impl Fn(&Gev) -> f64, level: f64) -> Interval {
        let values = self.values(quantity);
        let tail = 0.5 * (1.0 - level);
        Interval::new(sorted_quantile(&values, tail), sorted_quantile(&values, 1.0 - tail), level)
    }

    /// Basic interval: the percentile interval reflected at the estimate (Davison, Hinkley 1997, 5.2).
    pub fn basic(&self, quantity: impl Fn(&Gev) -> f64, estimate: f64, level: f64) -> Interval {
        let p = self.percentile(quantity, level);
        Interval::new(2.0 * estimate - p.upper, 2.0 * estimate - p.lower, level)
    }

    /// Standard deviation of a quantity over the replicates.
    pub fn standard_error(&self, quantity: impl Fn(&Gev) -> f64) -> f64 {
        let values = self.values(quantity);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
    }

    /// Standard errors of the parameters.
    pub fn standard_errors(&self) -> Parameters {
        Parameters {
            location: self.standard_error(|l| l.location),
            scale: self.standard_error(|l| l.scale),
            shape: self.standard_error(|l| l.shape),
        }
    }
}

/// Work space of repeated refits in the standardised units of one sample.
pub(crate) struct Refit {
    pub y: Vec<f64>,
    newton: Newton,
}

/// Turns uniform numbers into ascending values of a distribution.
struct SortedDraw<'a> {
    y: &'a mut [f64],
    location: f64,
    scale: f64,
    shape: f64,
}

impl LaneWork for SortedDraw<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let SortedDraw { y, location, scale, shape } = self;
        // A loop of its own for each long chain of operations, so that those of several values overlap.
        y.iter_mut().for_each(|y| *y = lanes::ln::<A>(*y));
        y.iter_mut().enumerate().for_each(|(before, y)| *y /= (before + 1) as f64);
        let mut sum = 0.0;
        for y in y.iter_mut().rev() {
            sum -= *y;
            *y = sum;
        }
        y.iter_mut().for_each(|y| *y = -lanes::ln::<A>(*y));
        y.iter_mut().for_each(|y| *y = location + scale * kernel::standard_quantile::<A>(*y, shape));
    }
}

/// The part of the shapes with a bounded likelihood that a refit searches: those up to (n - k) / k, where k of n values
/// are the smallest. Close to the bound the maximum lies at a distance from the smallest value that has no digits left.
const SEARCHED: f64 = 0.9;

impl Refit {
    pub fn new(n: usize) -> Refit {
        Refit { y: Vec::with_capacity(n), newton: Newton::new(3) }
    }

    /// Fill with ascending values of a standardised distribution, by Rényi's representation of exponential order
    /// statistics: sorted without sorting, and exact in the upper tail.
    pub fn draw(&mut self, [m, phi, shape]: [f64; 3], n: usize, random: &mut Xoshiro) {
        self.y.clear();
        self.y.resize(n, 0.0);
        self.y.iter_mut().rev().for_each(|y| *y = random.uniform());
        widest(SortedDraw { y: &mut self.y, location: m, scale: phi.exp(), shape });
    }

    /// Refit what `y` holds, starting at `start`, with shapes up to `shape_max`.
    pub fn fit(&mut self, start: [f64; 3], shape_max: f64) -> StandardMaximum {
        let ends = self.y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &y| (l.min(y), h.max(y)));
        let shape_max = shape_max.min(crate::gev::fit::SHAPE_MAX).min(SEARCHED * (self.y.len() - 1) as f64);
        let maxima = Maxima { y: &self.y, weights: &[], ends, shape_max };
        let mut at = start;
        at[1] = grow_scale(ends, at[0], at[1], at[2]);
        match search::refit(&maxima, at, quantile_start(), &mut self.newton) {
            Refitted::Found(best) => best,
            Refitted::AtBound { greatest, iterations } => {
                let least = at_least_shape(&maxima, iterations);
                greatest.filter(|greatest| greatest.value < least.value).unwrap_or(least)
            }
            Refitted::Unknown => maximize_maxima(&maxima, &mut self.newton),
        }
    }
}

/// Parametric bootstrap: samples of the fitted distribution, refitted. The default for extremes: it keeps its coverage
/// where the non-parametric one falls short (Kyselý 2008).
pub fn parametric(fit: &GevFit, replicates: usize, seed: u64) -> Replicates {
    // The sample's own scale makes standardised units.
    let (center, spread) = (fit.center, fit.scale);
    let start = [fit.location_offset / spread, 0.0, fit.shape];
    let distributions = run(replicates, fit.n, |refit, index| {
        let mut random = Xoshiro::stream(seed, index);
        refit.draw(start, fit.n, &mut random);
        refit.fit(start, crate::gev::fit::SHAPE_MAX)
    });
    collect(distributions, center, spread, 0, seed)
}

/// Resamples from which the total cost is estimated.
const PILOT: usize = 16;
/// The largest product of iterations, values and resamples of a block bootstrap: some seconds of one core.
const MOST_WORK: f64 = 2e7;
/// Mean iterations of a refit that are never too many.
const FEWEST_ITERATIONS: f64 = 25.0;

/// Circular block bootstrap: blocks of `block` consecutive values, joined to the length of the series and
/// refitted (Politis, Romano 1992). A block of 1 is the ordinary bootstrap.
///
/// # Errors
/// As [`crate::gev::fit`], [`Error::Parameter`] for a block of 0 or longer than the series, and
/// [`Error::NotConverged`] if the first resamples show that too many have no maximum.
pub fn block(values: &[f64], block: usize, replicates: usize, seed: u64) -> Result<Replicates, Error> {
    let series = Series::clean(values);
    let likelihood = Likelihood::new(&series)?;
    let n = series.len();
    if block == 0 || block > n {
        return Err(Error::Parameter {
            what: "block length",
            value: block as f64,
            must: "from 1 to the number of values",
        });
    }
    let fit = likelihood.fit();
    let (center, spread) = (likelihood.center, likelihood.spread);
    let y: Vec<f64> = series.values().iter().map(|x| (x - center) / spread).collect();
    let start = [fit.location_offset / spread, (fit.scale / spread).ln(), fit.shape.max(-0.95)];
    let resampled = |refit: &mut Refit, index: u64| {
        let mut random = Xoshiro::stream(seed, index);
        refit.y.clear();
        while refit.y.len() < n {
            let from = random.below(n);
            let take = block.min(n - refit.y.len());
            refit.y.extend((from..from + take).map(|i| y[i % n]));
        }
        // Ties at the minimum bound the shape; they are frequent in resamples.
        let minimum = refit.y.iter().copied().fold(f64::INFINITY, f64::min);
        let k = refit.y.iter().filter(|&&v| v == minimum).count() as f64;
        refit.fit(start, SEARCHED * (n as f64 - k) / k)
    };
    // A resample without an interior maximum costs as much as a thousand others.
    let pilot = run(replicates.min(PILOT), n, resampled);
    let mean = pilot.iter().map(|f| f.iterations).sum::<usize>() as f64 / pilot.len().max(1) as f64;
    if mean > (MOST_WORK / (n * replicates.max(1)) as f64).max(FEWEST_ITERATIONS) {
        return Err(Error::NotConverged { model: "block bootstrap" });
    }
    let distributions = run(replicates, n, resampled);
    Ok(collect(distributions, center, spread, block, seed))
}

/// A block length for a series of `n` values with this effective size: n^(1/3), longer under dependence.
pub fn block_length(n: usize, effective_size: f64) -> usize {
    let inflation = (n as f64 / effective_size.max(1.0)).max(1.0);
    if inflation <= 1.0 {
        return 1;
    }
    ((n as f64).cbrt() * inflation.powf(2.0 / 3.0)).ceil().min(n as f64 / 4.0).max(1.0) as usize
}

/// `replicates` refits over all threads, each thread with its own work space.
pub(crate) fn run<T: Send>(replicates: usize, n: usize, one: impl Fn(&mut Refit, u64) -> T + Sync) -> Vec<T> {
    run_those(0..replicates, n, one)
}

/// The refits of some of the replicates.
pub(crate) fn run_those<T: Send>(
    which: std::ops::Range<usize>,
    n: usize,
    one: impl Fn(&mut Refit, u64) -> T + Sync,
) -> Vec<T> {
    (which.start as u64..which.end as u64)
        .into_par_iter()
        .map_init(|| Refit::new(n), |refit, index| one(refit, index))
        .collect()
}

fn collect(fits: Vec<StandardMaximum>, center: f64, spread: f64, block: usize, seed: u64) -> Replicates {
    let at_boundary = fits.iter().filter(|f| f.status == Status::Boundary).count();
    let distributions = fits
        .into_iter()
        .map(|f| Gev { location: center + spread * f.at[0], scale: spread * f.at[1].exp(), shape: f.at[2] })
        .collect();
    Replicates { distributions, at_boundary, block, seed }
}

/// The largest shape of bounded likelihood for ascending values, as the fits use it.
pub(crate) fn shape_bound(sorted: &[f64]) -> f64 {
    let k = count_equal_to_first(sorted) as f64;
    crate::gev::fit::SHAPE_MAX.min((sorted.len() as f64 - k) / k)
}
