//! Checks the range of arguments that several modules take.

use crate::Error;

/// A confidence level: the nominal coverage of an interval.
///
/// # Errors
/// [`Error::Parameter`] unless it is between 0 and 1.
pub(crate) fn confidence_level(level: f64) -> Result<f64, Error> {
    between_0_and_1("confidence level", level)
}

/// A number strictly between 0 and 1: a probability, a power, a level of significance.
///
/// # Errors
/// [`Error::Parameter`] otherwise.
pub(crate) fn between_0_and_1(what: &'static str, value: f64) -> Result<f64, Error> {
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(Error::Parameter { what, value, must: "between 0 and 1" })
    }
}

/// A finite number of at least 1: a number of parts, a variance inflation.
///
/// # Errors
/// [`Error::Parameter`] otherwise.
pub(crate) fn at_least_1(what: &'static str, value: f64) -> Result<f64, Error> {
    if value >= 1.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(Error::Parameter { what, value, must: "at least 1" })
    }
}
