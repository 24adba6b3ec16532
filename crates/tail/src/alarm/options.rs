//! Options of a monitor, and its spike threshold.

use serde::{Deserialize, Serialize};

/// Options of a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AlarmOptions {
    /// Share of quiet runs that may give a spike alarm.
    pub false_alarms: f64,
    /// Mean number of quiet runs between false CUSUM alarms, both sides together.
    pub run_length: f64,
    /// Slow-down (> 1) that the CUSUM is tuned to.
    pub factor: f64,
    /// Bootstrap samples behind the calibration.
    pub bootstrap: usize,
    /// Seed of it.
    pub seed: u64,
    /// Runs after a confirmed new level that become the new baseline; 0 never.
    pub rebaseline: usize,
    /// Whether a baseline without a distribution may use the smallest rate that it can count if `false_alarms` is
    /// smaller; otherwise it is refused.
    pub relax: bool,
}

impl Default for AlarmOptions {
    fn default() -> Self {
        AlarmOptions {
            false_alarms: 1e-3,
            run_length: 1000.0,
            factor: 1.05,
            bootstrap: 499,
            seed: 1,
            rebaseline: 0,
            relax: false,
        }
    }
}

/// A spike threshold and its false-alarm rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpikeThreshold {
    /// Alarm above this duration.
    pub value: f64,
    /// The nominal false-alarm rate.
    pub false_alarms: f64,
    /// Exceedance probability under the fitted distribution at which the threshold lies: smaller than the nominal rate,
    /// because the distribution is an estimate.
    pub nominal: f64,
    /// The distribution-free check: the r-th largest quiet run, which a run exceeds with probability
    /// `rank_rate` for every distribution. `None` if the rate is below the smallest that n runs support, 1 / (n + 1).
    #[serde(default)]
    pub rank: Option<f64>,
    /// Exact rate of `rank` under exchangeability: at most the nominal one.
    #[serde(default)]
    pub rank_rate: Option<f64>,
    /// Threshold whose actual rate is at most the nominal one in 90% of baselines (Gandy, Kvaløy 2013); NaN
    /// (null in JSON) if counted thresholds have none.
    #[serde(with = "crate::nullable")]
    pub guaranteed: f64,
    /// The plain quantile of the fitted distribution, which alarms too often.
    pub plug_in: f64,
}
