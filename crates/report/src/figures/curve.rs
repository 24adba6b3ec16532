//! Lines that several figures share, and the shares above ascending values.

use serde::Serialize;

use super::thin;

/// One fitted distribution as a line.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// `GEV`, `normal`.
    pub name: String,
    /// In the unit of the data.
    pub x: Vec<f64>,
    /// Probability or density at `x`.
    pub y: Vec<f64>,
}

/// Several lines.
#[derive(Clone, Debug, Serialize)]
pub struct Curves {
    /// Each with its name; axes as the figure says, in seconds where it shows durations.
    pub curves: Vec<Curve>,
}

/// Ascending values and the share above each, thinned.
pub(crate) fn above(mut values: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    thin::ascending(n).into_iter().map(|at| (values[at], (n as f64 - at as f64 - 0.5) / n as f64)).unzip()
}
