//! What each test found, with the numbers for a sentence about it.

use serde::{Deserialize, Serialize};

use super::slow::SlowValues;
use super::split::Mode;

/// The finding of one test, with the numbers for a sentence about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TestFinding {
    /// Lag 1 and Ljung-Box: no evidence against independence.
    NoAutocorrelation {
        /// Correlation of the ranks of successive values.
        lag_one: f64,
        /// Lags tested.
        lags: usize,
    },
    /// Lag 1 or Ljung-Box: values are correlated with earlier ones.
    Autocorrelation {
        /// Correlation of the ranks of successive values.
        lag_one: f64,
        /// The lag that tells most: 1, unless the correlation at another one is half as large again, of either sign.
        lag: usize,
        /// The correlation there.
        at_lag: f64,
        /// Lags tested.
        lags: usize,
        /// Number of values.
        n: usize,
        /// Number of independent values to which they are equivalent.
        effective_size: f64,
        /// Whether the order is that of each rank by itself.
        #[serde(default)]
        of_takers: bool,
    },
    /// Mann-Kendall: no trend.
    NoTrend {
        /// Kendall's tau of the values and time.
        tau: f64,
    },
    /// Mann-Kendall: the level has a trend, downwards if `tau` is negative.
    Trend {
        /// Kendall's tau of the values and time.
        tau: f64,
        /// Size of the change over the run in interquartile ranges; `None` if at least half of the values are
        /// equal.
        interquartile_ranges: Option<f64>,
    },
    /// Pettitt: no jump.
    NoJump,
    /// Pettitt: the level jumps. Where is told by the change points; by the test itself if they are none.
    Jump {
        /// How many times.
        #[serde(default = "once")]
        times: usize,
        /// Whether the level is higher after the last jump than before it.
        up: bool,
        /// Position of the last value before the last jump, from 1.
        after: usize,
        /// Number of values.
        n: usize,
    },
    /// Neither the dip nor a gap shows more than one mode.
    OneMode,
    /// The dip or a gap shows several modes.
    SeveralModes {
        /// The modes, fastest first; empty if they could not be separated.
        modes: Vec<Mode>,
    },
    /// The slow values come as if at random.
    SlowAtRandom,
    /// The slow values come at a period, in bursts, or more evenly than at random.
    SlowPatterned {
        /// The pattern.
        slow: SlowValues,
    },
}

fn once() -> usize {
    1
}
