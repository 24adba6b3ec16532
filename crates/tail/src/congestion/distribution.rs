//! What one likelihood says of two samples: a factor, a shift, or a distribution of its own for each.

use serde::{Deserialize, Serialize};

use super::likelihood::{Link, Maximum, ProfiledFactor, TwoSamples};
use crate::special::chi_square_survival;
use crate::{Gev, Interval};

/// A model with one number between the samples, tested against separate fits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkFit {
    /// The factor k, or the shift D in the unit of the data.
    pub value: f64,
    /// Its profile-likelihood interval.
    pub interval: Interval,
    /// The common distribution, of the baseline sample.
    #[serde(rename = "law")]
    pub distribution: Gev,
    /// Negative log-likelihood.
    pub negative_log_likelihood: f64,
    /// Likelihood ratio against separate fits, chi-square with two degrees of freedom.
    pub statistic: f64,
    /// Its p-value: small speaks against the model.
    pub p: f64,
    /// Akaike's criterion (four parameters).
    pub aic: f64,
}

/// The comparison by the GEV fit. All of it takes values as independent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByDistribution {
    /// Congestion factor: y = k x in distribution.
    pub factor: LinkFit,
    /// p-value of k = 1 (likelihood ratio, one degree of freedom).
    pub p_no_difference: f64,
    /// Shift: y = x + D in distribution.
    pub shift: LinkFit,
    /// Negative log-likelihood of separate fits.
    pub negative_log_likelihood_separate: f64,
    /// Weight of the factor against the shift by AIC, 0 to 1: near one half, these values do not tell.
    pub factor_weight: f64,
    /// Whether the model's interval and the model-free one (Hodges-Lehmann) overlap.
    pub agrees: bool,
    /// Points (k, deviance over the best k) for the likelihood curve, dense around the maximum.
    pub curve: Vec<[f64; 2]>,
}

impl ByDistribution {
    /// From both profiles, the likelihood of separate fits, and the model-free interval of the factor.
    pub(super) fn of(
        start: &TwoSamples,
        profiled: ProfiledFactor,
        shift: &(Maximum, Interval),
        separate: f64,
        free: &Interval,
    ) -> ByDistribution {
        let ProfiledFactor { best, interval, without, curve } = profiled;
        let factor = link(start, Link::Factor, &best, interval, separate);
        let shift = link(start, Link::Shift, &shift.0, shift.1, separate);
        ByDistribution {
            p_no_difference: chi_square_survival((2.0 * (without - best.value)).max(0.0), 1.0),
            negative_log_likelihood_separate: separate,
            factor_weight: 1.0 / (1.0 + (0.5 * (factor.aic - shift.aic)).exp()),
            agrees: factor.interval.lower <= free.upper && free.lower <= factor.interval.upper,
            curve,
            factor,
            shift,
        }
    }
}

fn link(joint: &TwoSamples, link: Link, best: &Maximum, at: Interval, separate: f64) -> LinkFit {
    let value = joint.of_all_values(link, best);
    let statistic = (2.0 * (value - separate)).max(0.0);
    LinkFit {
        value: joint.natural(link, best.argument),
        interval: Interval {
            lower: joint.natural(link, at.lower),
            upper: joint.natural(link, at.upper),
            ..at
        },
        distribution: best.distribution,
        negative_log_likelihood: value,
        statistic,
        p: chi_square_survival(statistic, 2.0),
        aic: 2.0 * value + 8.0,
    }
}
