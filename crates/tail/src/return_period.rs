//! Converts return periods to probabilities and Gumbel levels.

use crate::Error;

/// The probability that one value exceeds the level of a return period: 1 / period.
///
/// # Errors
/// [`Error::Parameter`] unless the period is finite and above 1.
pub fn return_period_to_probability(period: f64) -> Result<f64, Error> {
    if period > 1.0 && period.is_finite() {
        Ok(1.0 / period)
    } else {
        Err(Error::Parameter { what: "return period", value: period, must: "above 1" })
    }
}

/// The Gumbel level c = -ln(-ln(1 - p)) of an exceedance probability p, accurate for small p: the axis on which
/// the return levels of a distribution of shape 0 are a straight line.
pub fn gumbel_level(exceedance: f64) -> f64 {
    -(-(-exceedance).ln_1p()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_must_be_above_one() {
        assert_eq!(return_period_to_probability(100.0), Ok(0.01));
        for period in [1.0, 0.0, f64::NAN, f64::INFINITY] {
            assert!(return_period_to_probability(period).is_err(), "{period}");
        }
    }

    #[test]
    fn the_gumbel_level_of_the_median_is_that_of_a_gumbel_distribution() {
        let median = crate::Gev { location: 0.0, scale: 1.0, shape: 0.0 }.quantile(0.5);
        assert!((gumbel_level(0.5) - median).abs() < 1e-15);
    }
}
