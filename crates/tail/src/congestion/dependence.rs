//! How much less the values of a sample tell of its level than as many independent ones.
//!
//! Tests and intervals that take values as independent find a difference in most pairs of runs of one autoregression. Their
//! variances are multiplied by the long-run variance over the plain one, of the ranks or scores that they are made of.

use crate::Takers;
use crate::independence::long_run;

/// Standard errors from which on a hint of dependence counts. Some 16% of samples of independent values have such a
/// hint, which makes their intervals a little wider; none of an autoregression of 0.6 and 50 values goes without.
const COUNTS: f64 = 1.3;

/// By what factor dependence multiplies the variance of the mean of `values`, which are in time order: 1 where nothing
/// hints at dependence.
pub(super) fn inflation(values: &[f64], takers: Option<&Takers>) -> f64 {
    long_run::inflation_if_hinted(values, COUNTS, takers)
}
