//! When a load counts as steady, and what came of it in a run.

use serde::{Deserialize, Serialize};

/// What is to be steady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyQuantity {
    /// Operations a second.
    #[default]
    Iops,
    /// Bytes a second.
    Bandwidth,
    /// The mean duration in seconds.
    Latency,
    /// The quantile of the durations with this probability, in seconds.
    Quantile(f64),
}

/// How far something may go.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyLimit {
    /// As a share of the mean of the window.
    Share(f64),
    /// In the unit of the quantity.
    Absolute(f64),
}

/// A rule of steadiness: `iops 5% over 30s`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SteadyRule {
    /// As it was written.
    pub text: String,
    /// What is to be steady.
    pub quantity: SteadyQuantity,
    /// The label or operation that counts; `None`: what the answer of the run is about.
    pub of: Option<String>,
    /// How far any bin of the window may be from its mean.
    pub deviation: Option<SteadyLimit>,
    /// How far its largest and its smallest bin may be apart.
    pub range: Option<SteadyLimit>,
    /// By how much the straight line through its bins may rise or fall from its begin to its end.
    pub slope: Option<SteadyLimit>,
    /// How long a window is.
    pub window_ns: u64,
    /// How long a bin is.
    pub bin_ns: u64,
    /// How much of the beginning no window may lie in.
    pub after_ns: u64,
}

/// What came of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyOutcome {
    /// The rule holds of a window, and of the last one too.
    Steady,
    /// It held of a window, and does not of the last one.
    NotAtTheEnd,
    /// It holds of no window.
    Never,
    /// The load is shorter than a window.
    TooShort,
    /// Too few operations end in a bin for a quantile of it, in each window.
    TooFewValues,
    /// No operation that counts succeeded.
    NothingCounted,
    /// The answer is about several loads one after the other.
    SeveralLoads,
    /// No moment parts the passes of all ranks, so that steps of several ranks could not be told apart any more.
    RanksApart,
    /// Nobody has seen the samples of all ranks.
    #[default]
    NotJudged,
}

/// One window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SteadyWindow {
    /// When it begins and ends, in ns since the run's epoch on rank 0's clock.
    pub begin_ns: u64,
    /// See `begin_ns`.
    pub end_ns: u64,
    /// The mean of its bins, in the unit of the quantity.
    pub mean: f64,
    /// The largest distance of a bin from it, as a share of it.
    pub deviation: f64,
    /// Largest less smallest bin, as a share of the mean.
    pub range: f64,
    /// What the straight line through its bins gains from its begin to its end, as a share of the mean; negative if it falls.
    pub slope: f64,
}

/// A rule of steadiness and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SteadyFacts {
    /// The rule.
    pub rule: SteadyRule,
    /// What came of it.
    pub outcome: SteadyOutcome,
    /// Whether the run was ended as soon as it held.
    pub ended_the_run: bool,
    /// From when to when the run warmed up, in ns since its epoch on rank 0's clock: what begins in there is in the run file,
    /// and in no result. `None` where nothing is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up_ns: Option<[u64; 2]>,
    /// Sites of blocks that were under way when the warm-up ended and are counted from then on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut_sites: Vec<u32>,
    /// Operations that are left out.
    pub left_out: u64,
    /// Of these, how many failed.
    pub left_out_failed: u64,
    /// The first window of which the rule holds; of a rule that never does, the last window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<SteadyWindow>,
    /// The last window, where the rule does not hold of it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<SteadyWindow>,
}

impl SteadyFacts {
    /// A rule of which nothing is known yet.
    pub fn asked(rule: SteadyRule) -> SteadyFacts {
        SteadyFacts { rule, ..SteadyFacts::default() }
    }

    /// Whether the rule held of a window.
    pub fn was_reached(&self) -> bool {
        matches!(self.outcome, SteadyOutcome::Steady | SteadyOutcome::NotAtTheEnd)
    }

    /// How long the run warmed up, in seconds; 0 where nothing is left out.
    pub fn warm_up_seconds(&self) -> f64 {
        self.warm_up_ns.map_or(0.0, |[begin, end]| end.saturating_sub(begin) as f64 * 1e-9)
    }
}
