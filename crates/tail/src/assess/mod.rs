//! Assesses one series of durations, as one struct with the schema `lastrank.fit/1`.
//!
//! [`assess`] is the entry point of the command line and the report. It first tests whether the values are
//! independent draws of one distribution, then fits a GEV and its rivals, and returns typed findings with their
//! certainty. [`Assessment::panels`] gives the points of the figures.
//!
//! ```
//! use tail::assess::{AssessOptions, assess};
//!
//! let distribution = tail::Gev::new(11.17, 0.21, 0.0)?;
//! let mut random = tail::Xoshiro::new(1);
//! let durations: Vec<f64> = (0..400).map(|_| distribution.sample(&mut random)).collect();
//!
//! let found = assess(&durations, &AssessOptions { bootstrap: 99, ..AssessOptions::default() })?;
//! assert!(found.diagnostics.independence.passed);
//! println!("{:?}", found.verdict.code);
//! # Ok::<(), tail::Error>(())
//! ```

mod envelope;
mod options;
mod panels;
mod result;
mod shown;
mod summarise;

pub use crate::verdict::{Alternative, Dependence, Diagnostics, GumbelTest, Rounded, TrendFit};
pub use envelope::Envelope;
pub use options::{AssessOptions, NonFinite};
pub use panels::{Band, Panels, Point};
pub use result::{Assessment, GevResult, ParameterIntervals, ReturnLevel};
use shown::Shown;
pub use summarise::{QuantileEstimate, SampleSummary, summarise};

use rayon::prelude::*;

use crate::grouped::Grouped;
use crate::regression::{Covariate, Part, Regression, RegressionDistribution};
use crate::verdict::{self, Levels, Vuong};
use crate::{
    Error, Gev, Interval, Series, Status, bootstrap, gev, gof, gumbel, independence, rivals, sandwich,
};

/// The schema of [`Assessment`] as JSON.
pub const SCHEMA: &str = "lastrank.fit/1";

/// Fewest values that are assessed at all.
pub const FEWEST: usize = 10;

/// Assesses durations in time order, in any unit.
///
/// # Errors
/// [`Error::NotFinite`] for NaN or infinite values unless the options say to drop and count them,
/// [`Error::TooFew`] below 10 values, [`Error::Constant`], [`Error::TooFewDistinct`] below 4 distinct ones,
/// [`Error::Parameter`] for options out of range.
pub fn assess(values: &[f64], options: &AssessOptions) -> Result<Assessment, Error> {
    Ok(assess_series(&Series::clean(values), values, options)?.0)
}

/// [`assess`] where the series of the values is at hand. `series` are the finite ones of `values`.
///
/// # Errors
/// As [`assess`].
pub fn assess_clean(series: &Series, values: &[f64], options: &AssessOptions) -> Result<Assessment, Error> {
    Ok(assess_series(series, values, options)?.0)
}

/// [`assess`], and the points of its figures, which need the same fit. `series` are the finite ones of `values`.
///
/// # Errors
/// As [`assess`].
pub fn assess_and_panels(
    series: &Series,
    values: &[f64],
    options: &AssessOptions,
) -> Result<(Assessment, Panels), Error> {
    let (assessment, likelihood, fit) = assess_series(series, values, options)?;
    let panels = assessment.panels_of(series, &likelihood, &fit);
    Ok((assessment, panels))
}

fn assess_series<'a>(
    series: &'a Series,
    values: &[f64],
    options: &AssessOptions,
) -> Result<(Assessment, gev::Likelihood<'a>, Shown), Error> {
    options.check()?;
    if options.non_finite == NonFinite::Refuse && series.dropped().total() > 0 {
        let first = values.iter().position(|x| !x.is_finite()).unwrap_or(0);
        let dropped = series.dropped();
        return Err(Error::NotFinite { nan: dropped.nan, infinite: dropped.infinite, first: first + 1 });
    }
    series.require(FEWEST, 4)?;

    let (independence, fitted) = rayon::join(
        || independence::check_share(series, options.significance, Levels::INDEPENDENCE),
        || FittedSeries::of(series, options),
    );
    let independence = independence?;
    let FittedSeries { likelihood, points, fit, estimates, comparisons } = fitted?;
    let Estimates { mut return_levels, intervals, gumbel, summary } = estimates?;
    let Comparisons { alternatives, weights, goodness_of_fit } = comparisons;
    let rounded = fit.as_rounded();
    let Shown { found: fit, tick: rounded_tick } = fit;
    let diagnostics = Diagnostics {
        goodness_of_fit,
        dependence: match independence.passed {
            true => None,
            false => dependence(series, &points, &independence, options),
        },
        trend: if independence.passed { None } else { trend(series, options) },
        rounded,
        gumbel,
        independence,
    };
    let verdict = verdict::decide(&verdict::Evidence {
        n: series.len(),
        fit: &fit,
        diagnostics: &diagnostics,
        alternatives: &alternatives,
        significance: options.significance,
    });
    // What the distribution is off by within the sample, it is beyond it at least.
    if let Some(distance) = verdict.tolerated(series.len(), &diagnostics, &alternatives) {
        let median = series.measured(0.5);
        return_levels.iter_mut().for_each(|level| level.widen(distance * (level.level - median)));
    }
    let usable = fit.status != Status::Boundary;
    let assessment = Assessment {
        schema: SCHEMA.to_string(),
        status: fit.status,
        n: series.len(),
        dropped: series.dropped(),
        distinct: series.distinct(),
        tick: series.tick(),
        n_eff: diagnostics.independence.effective_size,
        level: options.level,
        summary,
        gev: GevResult {
            location: fit.location,
            scale: fit.scale,
            shape: fit.shape,
            standard_errors: fit.standard_errors,
            covariance: fit.covariance,
            negative_log_likelihood: points.negative_log_likelihood,
            aic: points.aic(),
            bic: points.bic(),
            aic_weight: weights[0],
            bic_weight: weights[1],
            intervals: if usable { Some(intervals) } else { None },
            influence: fit.influence,
            iterations: fit.iterations,
        },
        alternatives,
        return_levels,
        diagnostics,
        verdict,
    };
    Ok((assessment, likelihood, Shown { found: fit, tick: rounded_tick }))
}

/// What follows from the values and their fit, independent or not.
struct FittedSeries<'a> {
    likelihood: gev::Likelihood<'a>,
    /// The fit to the values as points, which rival distributions are compared with.
    points: gev::GevFit,
    /// The fit that is shown.
    fit: Shown,
    estimates: Result<Estimates, Error>,
    comparisons: Comparisons,
}

/// Estimates and their intervals.
struct Estimates {
    return_levels: Vec<ReturnLevel>,
    intervals: ParameterIntervals,
    gumbel: Option<GumbelTest>,
    summary: SampleSummary,
}

/// Whether a GEV is the distribution.
struct Comparisons {
    alternatives: Vec<Alternative>,
    /// Those of the GEV by AIC and BIC.
    weights: [f64; 2],
    goodness_of_fit: Option<gof::GoodnessOfFit>,
}

impl<'a> FittedSeries<'a> {
    fn of(series: &'a Series, options: &AssessOptions) -> Result<Self, Error> {
        let likelihood = gev::Likelihood::new(series)?;
        let points = likelihood.fit();
        let fit = Shown::of(series, &points);
        let profile = |target| fit.profile(series, &likelihood, target, options.level);
        let estimates = || {
            Ok(Estimates {
                return_levels: return_levels(&fit.found, &profile, options)?,
                intervals: ParameterIntervals {
                    location: profile(gev::GevTarget::Location),
                    scale: profile(gev::GevTarget::Scale),
                    shape: profile(gev::GevTarget::Shape),
                },
                gumbel: if fit.tick.is_some() { None } else { gumbel_test(&likelihood, &points) },
                summary: summarise(series, options.level),
            })
        };
        let comparisons = || Comparisons::of(series, (&likelihood, &points), &fit.found, options);
        let (estimates, comparisons) = rayon::join(estimates, comparisons);
        Ok(FittedSeries { estimates, comparisons, likelihood, points, fit })
    }
}

impl Comparisons {
    /// Of a fit to points, and of the one that is shown.
    fn of(
        series: &Series,
        (likelihood, points): (&gev::Likelihood, &gev::GevFit),
        shown: &gev::GevFit,
        options: &AssessOptions,
    ) -> Comparisons {
        let (goodness_of_fit, (alternatives, weights)) = rayon::join(
            || goodness_of_fit(series, shown, options),
            || alternatives(series, likelihood, points),
        );
        Comparisons { alternatives, weights, goodness_of_fit }
    }
}

/// The verdict on the distribution of a series alone, by the tests of [`assess`]: whoever uses a distribution asks this first, so that none is
/// used that `fit` of the same values refuses. What `independence` rejects is taken as it is.
pub(crate) fn judge_distribution(
    series: &Series,
    (likelihood, points): (&gev::Likelihood, &gev::GevFit),
    independence: independence::Independence,
    options: &AssessOptions,
) -> Judged {
    let shown = Shown::of(series, points);
    let found = Comparisons::of(series, (likelihood, points), &shown.found, options);
    let diagnostics = Diagnostics {
        goodness_of_fit: found.goodness_of_fit,
        dependence: None,
        trend: None,
        rounded: shown.as_rounded(),
        gumbel: None,
        independence,
    };
    let verdict = verdict::decide(&verdict::Evidence {
        n: series.len(),
        fit: &shown.found,
        diagnostics: &diagnostics,
        alternatives: &found.alternatives,
        significance: options.significance,
    });
    Judged {
        code: verdict.code,
        preferred: verdict.preferred,
        p: diagnostics.goodness_of_fit.map_or(1.0, |tests| tests.p.smaller),
    }
}

/// The verdict on a distribution.
pub(crate) struct Judged {
    /// Stable code.
    pub code: verdict::VerdictCode,
    /// The distribution that is better, if any.
    pub preferred: Option<rivals::Family>,
    /// p-value of the fit.
    pub p: f64,
}

fn return_levels(
    fit: &gev::GevFit,
    profile: &(impl Fn(gev::GevTarget) -> Option<Interval> + Sync),
    options: &AssessOptions,
) -> Result<Vec<ReturnLevel>, Error> {
    let of = |&period: &f64| {
        let level = fit.return_level(period)?;
        let interval = profile(gev::GevTarget::ReturnLevel(period));
        Ok(ReturnLevel {
            period,
            level: level.level,
            standard_error: level.standard_error,
            lower: interval.map_or(f64::NAN, |i| i.lower),
            upper: interval.map_or(f64::NAN, |i| i.upper),
            interval,
            observed: fit.n as f64 >= period,
        })
    };
    options.periods.iter().map(of).collect()
}

/// The values at which log-densities are computed: all in time order, or for very many values those of their groups, which
/// differ by less than 1e-6.
struct Densities<'a> {
    series: &'a Series,
    groups: Option<(&'a Grouped, Vec<u32>)>,
}

impl<'a> Densities<'a> {
    fn of(series: &'a Series, groups: Option<&'a Grouped>) -> Self {
        Self { series, groups: groups.map(|groups| (groups, groups.at_places(series.places()))) }
    }

    fn ln(&self, ln_pdf: impl Fn(f64) -> f64) -> Vec<f64> {
        let values = self.groups.as_ref().map_or(self.series.values(), |(groups, _)| &groups.points);
        values.iter().map(|x| ln_pdf(*x)).collect()
    }

    /// Compares two distributions by what [`Densities::ln`] gives for them.
    fn compare(&self, first: &[f64], second: &[f64]) -> Option<Vuong> {
        match &self.groups {
            None => verdict::vuong(first, second),
            Some((groups, at)) => verdict::vuong_of_groups((first, second), &groups.weights, at),
        }
    }
}

/// Rivals by the same optimiser, best AIC first, and the weights of the GEV by AIC and BIC.
fn alternatives(
    series: &Series,
    likelihood: &gev::Likelihood,
    fit: &gev::GevFit,
) -> (Vec<Alternative>, [f64; 2]) {
    let groups = likelihood.groups();
    let prepared = rivals::Prepared::in_groups(series, likelihood.spread, groups.as_ref());
    let fits: Vec<rivals::RivalFit> = rivals::Family::ALL
        .par_iter()
        .filter_map(|&family| prepared.fit(family).ok())
        .filter(|rival| rival.aic().is_finite())
        .collect();
    let weights = |criterion: &[f64]| -> Vec<f64> {
        // A distribution whose likelihood overflowed has weight 0.
        let finite = |c: &&f64| c.is_finite();
        let best = criterion.iter().filter(finite).copied().fold(f64::INFINITY, f64::min);
        let raw: Vec<f64> =
            criterion.iter().map(|c| if c.is_finite() { (-0.5 * (c - best)).exp() } else { 0.0 }).collect();
        let total = raw.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        raw.into_iter().map(|w| w / total).collect()
    };
    let aic: Vec<f64> = std::iter::once(fit.aic()).chain(fits.iter().map(|f| f.aic())).collect();
    let bic: Vec<f64> = std::iter::once(fit.bic()).chain(fits.iter().map(|f| f.bic())).collect();
    let (aic_weight, bic_weight) = (weights(&aic), weights(&bic));
    let densities = Densities::of(series, groups.as_ref());
    let distribution = fit.distribution();
    let log_densities = densities.ln(|x| distribution.ln_pdf(x));
    let mut found: Vec<Alternative> = fits
        .par_iter()
        .enumerate()
        .map(|(i, rival)| {
            let other = densities.ln(|x| rival.distribution.ln_pdf(x));
            Alternative {
                model: rival.distribution.family,
                name: rival.distribution.family.name().to_string(),
                size: rival.distribution.family.size(),
                parameters: result::parameters(&rival.distribution),
                negative_log_likelihood: rival.negative_log_likelihood,
                aic: rival.aic(),
                bic: rival.bic(),
                aic_weight: aic_weight[i + 1],
                bic_weight: bic_weight[i + 1],
                vuong: densities.compare(&log_densities, &other),
                distribution: rival.distribution,
            }
        })
        .collect();
    found.sort_by(|a, b| a.aic.total_cmp(&b.aic));
    (found, [aic_weight[0], bic_weight[0]])
}

/// The largest product of refits and values of a bootstrap: half a second of one core.
const BUDGET: usize = 4_000_000;

/// The same for tests of fit, whose samples may be smaller than the data.
const BUDGET_OF_TESTS: usize = 2_000_000;

/// The number of replicates that the budget permits; `None` below 99, since p-values would be too coarse.
fn affordable(wanted: usize, n: usize) -> Option<usize> {
    let replicates = wanted.min(BUDGET / n.max(1));
    (replicates >= 99.min(wanted) && replicates > 0).then_some(replicates)
}

/// Stage two: A² and AU² with p-values from refits to samples of the fit; if the budget does not permit
/// samples of that size, from smaller ones (see `sample_size`).
fn goodness_of_fit(
    series: &Series,
    fit: &gev::GevFit,
    options: &AssessOptions,
) -> Option<gof::GoodnessOfFit> {
    if fit.status == Status::Boundary || options.bootstrap == 0 {
        return None;
    }
    gof::test_until_clear(series, fit, options.bootstrap, options.seed, BUDGET_OF_TESTS).ok()
}

/// Errors under dependence: sandwich for the parameters, block bootstrap for the return levels.
fn dependence(
    series: &Series,
    fit: &gev::GevFit,
    independence: &independence::Independence,
    options: &AssessOptions,
) -> Option<Dependence> {
    let block = bootstrap::block_length(series.len(), independence.effective_size);
    let replicates = affordable(options.bootstrap.min(399), series.len())?;
    let refits = bootstrap::block(series.values(), block, replicates, options.seed).ok()?;
    Some(Dependence {
        sandwich: sandwich::sandwich(series.values(), fit, None).ok(),
        block,
        return_levels: options
            .periods
            .iter()
            .map(|&period| refits.percentile(|distribution| distribution.return_level(period), options.level))
            .collect(),
    })
}

/// The largest number of values to which a line is fitted; of more, evenly spaced ones are used.
const MOST_FOR_TREND: usize = 5_000;

/// Location b0 + b1 t, t from 0 at the first value to 1 at the last (Coles 2001, 6.2), and whether the
/// residuals then pass the tests.
fn trend(series: &Series, options: &AssessOptions) -> Option<TrendFit> {
    let stride = series.len().div_ceil(MOST_FOR_TREND);
    let values: Vec<f64> = series.values().iter().step_by(stride).copied().collect();
    let last = (values.len() - 1) as f64;
    let time: Vec<f64> = (0..values.len()).map(|i| i as f64 / last).collect();
    let column = Covariate::new(Part::Location, "time", time);
    let line = Regression::new(&values, RegressionDistribution::Gev, vec![column]).ok()?;
    let fit = line.fit().ok()?;
    let flat = Regression::new(&values, RegressionDistribution::Gev, vec![]).ok()?.fit().ok()?;
    let (statistic, _, p) = fit.against_corrected(&flat);
    let value = |part, name| fit.coefficient(part, name).map(|c| c.value);
    let (first, change) = (value(Part::Location, "1")?, value(Part::Location, "time")?);
    let residuals = independence::check(&line.residuals(&fit), options.significance);
    Some(TrendFit {
        first,
        last: first + change,
        change,
        interval: line.profile_slope(Part::Location, "time", options.level).ok(),
        scale: value(Part::LogScale, "1")?.exp(),
        shape: value(Part::Shape, "1")?,
        negative_log_likelihood: fit.negative_log_likelihood,
        statistic,
        p,
        residuals_pass: residuals.is_ok_and(|found| found.passed),
    })
}

/// Tests whether the shape is 0.
fn gumbel_test(likelihood: &gev::Likelihood, fit: &gev::GevFit) -> Option<GumbelTest> {
    let simple = gumbel::fit_of(likelihood).ok()?;
    let (statistic, p) = simple.against(fit);
    Some(GumbelTest {
        statistic,
        p,
        location: simple.location,
        scale: simple.scale,
        negative_log_likelihood: simple.negative_log_likelihood,
        aic: simple.aic(),
    })
}

impl Assessment {
    /// The fitted GEV.
    pub fn distribution(&self) -> Gev {
        Gev { location: self.gev.location, scale: self.gev.scale, shape: self.gev.shape }
    }

    /// The Vuong comparison with a family, if both densities are positive at every value.
    pub fn vuong(&self, family: rivals::Family) -> Option<Vuong> {
        self.alternatives.iter().find(|a| a.model == family)?.vuong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_methods_page_names_the_limits_of_the_code() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/statistics-methods.md");
        let page = std::fs::read_to_string(page).unwrap().replace('\n', " ");
        let limits = format!(
            "more than {} values, each refit uses fewer, but at least {},",
            grouped_by_thousands(BUDGET_OF_TESTS),
            grouped_by_thousands(gof::SETTLED)
        );
        assert!(page.contains(&limits), "{limits}");
    }

    fn grouped_by_thousands(number: usize) -> String {
        let digits = number.to_string();
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
        groups.join(",")
    }
}
