//! Defines the errors of this crate.

use crate::Status;

/// Reason why there is no result. Difficult data give a result with a [`Status`] instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Values that are not finite, where they were not to be dropped.
    #[error(
        "{nan} values are NaN and {infinite} infinite, the first is value {first}: correct the input, or have them dropped and counted"
    )]
    NotFinite {
        /// Not a number.
        nan: usize,
        /// Plus or minus infinity.
        infinite: usize,
        /// Position of the first, from 1.
        first: usize,
    },
    /// Fewer finite values than the method needs.
    #[error("{found} finite {}, at least {needed} are needed: measure more", values(.found))]
    TooFew {
        /// Finite values found.
        found: usize,
        /// Finite values needed.
        needed: usize,
    },
    /// Values so large, or so small, that their squares cannot be computed with.
    #[error(
        "values are about {value:.2e}, whose square no double holds: multiply all values by a power of ten"
    )]
    Scale {
        /// Their median, without signs.
        value: f64,
    },
    /// All values are equal: there is no distribution to fit.
    #[error("all {count} values equal {}: nothing varies, so nothing can be fitted", shown(*value))]
    Constant {
        /// Number of values.
        count: usize,
        /// The value.
        value: f64,
    },
    /// Fewer distinct values than the method needs; usually a clock too coarse for what it measured.
    #[error(
        "only {found} distinct values, at least {needed} are needed: the values are rounded, or the clock is too coarse; record more digits"
    )]
    TooFewDistinct {
        /// Distinct values found.
        found: usize,
        /// Distinct values needed.
        needed: usize,
    },
    /// A parameter of the call is outside its range.
    #[error("{what} is {value}, but must be {must}")]
    Parameter {
        /// Name of the parameter.
        what: &'static str,
        /// The value given.
        value: f64,
        /// The requirement.
        must: &'static str,
    },
    /// Two inputs that must agree in length do not.
    #[error("{what}: {left} against {right} values")]
    Lengths {
        /// The two inputs.
        what: &'static str,
        /// Length of the first.
        left: usize,
        /// Length of the second.
        right: usize,
    },
    /// The model's support does not hold the data (for instance a log-normal and negative values).
    #[error("{model} needs {needs}")]
    Support {
        /// The model.
        model: &'static str,
        /// Its requirement on the data.
        needs: &'static str,
    },
    /// The covariates are linearly dependent, so that the coefficients are not determined.
    #[error("the covariates of the {parameter} are linearly dependent (or constant): leave one out")]
    Collinear {
        /// The parameter whose design it is.
        parameter: &'static str,
    },
    /// No maximum of the likelihood was found.
    #[error("no maximum of the {model} likelihood was found")]
    NotConverged {
        /// The model.
        model: &'static str,
    },
}

impl Error {
    /// The status that a result would have carried.
    pub fn status(&self) -> Option<Status> {
        match self {
            Error::TooFew { .. } | Error::Constant { .. } | Error::TooFewDistinct { .. } => {
                Some(Status::Degenerate)
            }
            Error::NotConverged { .. } => Some(Status::NotConverged),
            _ => None,
        }
    }
}

/// The word for so many.
fn values(count: &usize) -> &'static str {
    if *count == 1 { "value" } else { "values" }
}

/// A number with at most six digits: not the last bits of a conversion.
fn shown(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
