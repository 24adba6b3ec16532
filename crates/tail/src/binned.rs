//! Fits a GEV to counts of bins: of a value nothing is known but its bin.
//!
//! The likelihood of a bin is F(upper) - F(lower) for each of its values, as for values from a coarse clock
//! ([`crate::interval`]), with bins of any widths, the outer ones open if need be. What bins cannot tell is refused with
//! [`TooCoarse`], and whether the distribution describes the bins is tested by Pearson's statistic.

use serde::{Deserialize, Serialize};

use crate::gev::fit::hessian_of;
use crate::gev::{GevFit, GevTarget, Parameters};
use crate::interval::Censored;
use crate::kernel::Terms;
use crate::newton::Newton;
use crate::search::{self, StandardMaximum};
use crate::status::Interval;
use crate::surface::{Surface, grow_scale};
use crate::{Dropped, Error, Gev, Status, gev, held, linalg, special};

/// Fewest values.
const FEWEST_VALUES: u64 = 20;
/// Fewest bins that hold values.
const FEWEST_BINS: usize = 6;
/// Fewest of these above the one that holds the median.
const FEWEST_ABOVE: usize = 3;
/// Largest share of the values that may lie in a last bin without an upper bound.
const MOST_OPEN: f64 = 0.1;
/// Fewest values of a cell of Pearson's test that the distribution expects.
const FEWEST_EXPECTED: f64 = 5.0;

/// The values between two bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountedBin {
    /// Lower bound; minus infinity where there is none.
    pub low: f64,
    /// Upper bound, above the lower one; infinity where there is none.
    pub high: f64,
    /// Values between them.
    pub count: u64,
}

/// Why bins do not tell a distribution.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum TooCoarse {
    /// Too few values.
    #[error("{found} values are too few, at least {needed} are needed")]
    Values {
        /// Values found.
        found: u64,
        /// Values needed.
        needed: u64,
    },
    /// Too few bins.
    #[error("only {found} bins hold values, at least {needed} are needed for three parameters")]
    Bins {
        /// Bins found.
        found: usize,
        /// Bins needed.
        needed: usize,
    },
    /// Too few bins in the tail.
    #[error("only {found} bins above the median hold values, at least {needed} are needed to see a tail")]
    Tail {
        /// Bins found.
        found: usize,
        /// Bins needed.
        needed: usize,
    },
    /// The last bin has no bound and holds too much.
    #[error("{share:.0}% of the values lie in the last bin, which has no upper bound", share = 100.0 * .share)]
    Open {
        /// Its share.
        share: f64,
    },
    /// A bin without a width, or with bounds that are none.
    #[error("a bin reaches from {low} to {high}, which holds no value of a continuous distribution")]
    NoWidth {
        /// Its lower bound.
        low: f64,
        /// Its upper bound.
        high: f64,
    },
}

/// How well a distribution describes bins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BinnedTest {
    /// Pearson's statistic.
    pub statistic: f64,
    /// Its degrees of freedom.
    pub freedom: usize,
    /// Probability of at least this much if the distribution were true.
    pub p: f64,
    /// The largest difference of the shares of values below a bound.
    pub distance: f64,
}

/// Bins whose likelihood is known.
#[derive(Debug, Clone)]
pub struct BinnedLikelihood {
    bins: Vec<CountedBin>,
    surface: BinnedSurface,
    center: f64,
    spread: f64,
    count: u64,
}

/// The interval likelihood, with the bounds that the support of a distribution must hold.
#[derive(Debug, Clone)]
struct BinnedSurface {
    censored: Censored,
    ends: (f64, f64),
}

impl Surface for BinnedSurface {
    fn terms(&self, location: f64, log_scale: f64, shape: f64) -> Option<Terms> {
        self.censored.terms(location, log_scale, shape)
    }

    fn ends(&self) -> (f64, f64) {
        self.ends
    }

    fn shape_max(&self) -> f64 {
        self.censored.shape_max()
    }

    fn len(&self) -> usize {
        self.censored.len()
    }
}

/// The place that a share of the values does not exceed, if they were spread evenly over their bin.
fn place(bins: &[CountedBin], count: u64, share: f64) -> f64 {
    let wanted = share * count as f64;
    let mut below = 0.0;
    for bin in bins {
        let of_bin = bin.count as f64;
        if below + of_bin >= wanted {
            return match (bin.low.is_finite(), bin.high.is_finite()) {
                (true, true) => bin.low + (bin.high - bin.low) * (wanted - below) / of_bin,
                (false, true) => bin.high,
                _ => bin.low,
            };
        }
        below += of_bin;
    }
    bins[bins.len() - 1].low
}

impl BinnedLikelihood {
    /// Of bins in any order; those that hold nothing are left out.
    ///
    /// # Errors
    /// [`TooCoarse`] where the bins cannot tell the three parameters apart.
    pub fn new(bins: &[CountedBin]) -> Result<BinnedLikelihood, TooCoarse> {
        let mut bins: Vec<CountedBin> = bins.iter().filter(|bin| bin.count > 0).copied().collect();
        bins.sort_by(|a, b| a.low.total_cmp(&b.low).then(a.high.total_cmp(&b.high)));
        if let Some(bin) =
            bins.iter().find(|bin| bin.low.partial_cmp(&bin.high) != Some(std::cmp::Ordering::Less))
        {
            return Err(TooCoarse::NoWidth { low: bin.low, high: bin.high });
        }
        let count = bins.iter().fold(0_u64, |sum, bin| sum.saturating_add(bin.count));
        if count < FEWEST_VALUES {
            return Err(TooCoarse::Values { found: count, needed: FEWEST_VALUES });
        }
        if bins.len() < FEWEST_BINS {
            return Err(TooCoarse::Bins { found: bins.len(), needed: FEWEST_BINS });
        }
        let center = place(&bins, count, 0.5);
        let above = bins.iter().filter(|bin| bin.low >= center).count();
        if above < FEWEST_ABOVE {
            return Err(TooCoarse::Tail { found: above, needed: FEWEST_ABOVE });
        }
        let open = bins.iter().filter(|bin| bin.high == f64::INFINITY).map(|bin| bin.count as f64);
        let share = open.sum::<f64>() / count as f64;
        if share > MOST_OPEN {
            return Err(TooCoarse::Open { share });
        }
        let mut spread = place(&bins, count, 0.75) - place(&bins, count, 0.25);
        if !(spread > 0.0 && spread.is_finite()) {
            spread = bins[bins.len() - 1].low - bins[0].high;
        }
        if !(spread > 0.0 && spread.is_finite()) {
            return Err(TooCoarse::Bins { found: 1, needed: FEWEST_BINS });
        }
        let standard = |bound: f64| (bound - center) / spread;
        let censored = Censored {
            low: bins.iter().map(|bin| standard(bin.low)).collect(),
            high: bins.iter().map(|bin| standard(bin.high)).collect(),
            count: bins.iter().map(|bin| bin.count as f64).collect(),
            n: usize::try_from(count).unwrap_or(usize::MAX),
        };
        // A distribution gives each bin a share if its support reaches into the outer ones.
        let least = censored.high.iter().copied().fold(f64::INFINITY, f64::min);
        let most = censored.low.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ends = (least.min(most), most.max(least));
        Ok(BinnedLikelihood { bins, surface: BinnedSurface { censored, ends }, center, spread, count })
    }

    /// Values of all bins.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The maximum-likelihood fit. Its negative log-likelihood is that of probabilities, and cannot be compared with
    /// that of single values.
    pub fn fit(&self) -> GevFit {
        let base = gev::fit::quantile_start();
        let first = [base[0], grow_scale(self.surface.ends, base[0], base[1], 0.05), 0.05];
        let best = search::maximize(&self.surface, first, base, &mut Newton::new(3));
        self.in_units(&best)
    }

    fn in_units(&self, best: &StandardMaximum) -> GevFit {
        let [m, phi, shape] = best.at;
        let scale = self.spread * phi.exp();
        let units = [self.spread, scale, 1.0];
        let inverse = hessian_of(&self.surface, best)
            .and_then(|hessian| linalg::inverse(&hessian, 3))
            .map(|v| std::array::from_fn(|i| std::array::from_fn(|j| v[3 * i + j] * units[i] * units[j])));
        let covariance: Option<[[f64; 3]; 3]> = inverse.filter(|_| best.status == Status::Ok);
        let offset = self.spread * m;
        GevFit {
            status: best.status,
            n: self.surface.len(),
            dropped: Dropped::default(),
            distinct: self.bins.len(),
            tick: None,
            location: self.center + offset,
            scale,
            shape,
            center: self.center,
            location_offset: offset,
            standard_errors: covariance.map(|v| Parameters {
                location: v[0][0].sqrt(),
                scale: v[1][1].sqrt(),
                shape: v[2][2].sqrt(),
            }),
            covariance,
            curvature: inverse,
            negative_log_likelihood: best.value,
            influence: None,
            iterations: best.iterations,
        }
    }

    /// The profile interval of a parameter or level around the fit of these bins.
    ///
    /// # Errors
    /// As [`gev::Likelihood::profile`].
    pub fn profile(&self, fit: &GevFit, target: GevTarget, level: f64) -> Result<Interval, Error> {
        let what = target.what()?;
        let peak = fit.peak(self.center, self.spread, 0.0)?;
        let inflation = gev::bartlett_factor(fit.n, target, fit.shape);
        let interval = held::profile(&self.surface, &peak, what, level, inflation)?;
        Ok(gev::profile::in_units(interval, what, self.center, self.spread))
    }

    /// Pearson's test of a distribution with three fitted parameters: neighbouring bins are joined until each expects five values,
    /// with what lies between and beyond them. `None` where too few cells are left, or bins overlap.
    pub fn test(&self, distribution: &Gev) -> Option<BinnedTest> {
        let n = self.count as f64;
        if self.bins.windows(2).any(|two| two[1].low < two[0].high) {
            return None;
        }
        // The bounds between cells; what lies in a gap belongs to the bin below it.
        let cut = |at: usize| self.bins.get(at).map_or(1.0, |bin| distribution.cdf(bin.low));
        let (mut cells, mut from) = (Vec::<(f64, f64)>::new(), 0.0);
        let (mut seen, mut below, mut distance) = (0.0, 0.0, 0.0_f64);
        for (at, bin) in self.bins.iter().enumerate() {
            seen += bin.count as f64;
            below += bin.count as f64;
            let to = cut(at + 1);
            distance = distance.max((below / n - to).abs());
            if n * (to - from) >= FEWEST_EXPECTED {
                cells.push((seen, n * (to - from)));
                (seen, from) = (0.0, to);
            }
        }
        if let Some(last) = cells.last_mut() {
            *last = (last.0 + seen, last.1 + n * (1.0 - from));
        }
        let freedom = cells.len().checked_sub(4).filter(|freedom| *freedom > 0)?;
        let statistic: f64 =
            cells.iter().map(|(seen, wanted)| (seen - wanted) * (seen - wanted) / wanted).sum();
        let p = special::chi_square_survival(statistic, freedom as f64);
        Some(BinnedTest { statistic, freedom, p, distance })
    }
}
