//! What is a figure? Numbers, computed once, and the Plotly figure that draws them.

pub(crate) mod causes;
pub(crate) mod curves;
pub(crate) mod draw;
pub(crate) mod ranks;
pub(crate) mod sample;
pub(crate) mod targets;
pub(crate) mod thin;
pub(crate) mod threshold;
pub(crate) mod time;

pub use causes::{Stack, Stacks};
pub use curves::{Density, Points, ReturnLevels};
pub use ranks::{Last, Spread};
pub use sample::{Curve, Curves, Survival};
pub use targets::{Effects, SharedFactor};
pub use threshold::{BeyondThreshold, Thresholds};
pub use time::{Autocorrelation, Series};

use serde::Serialize;
use serde_json::Value;

pub use crate::comparison::FactorCurve;
pub use crate::views::{AffineFit, AgainstNormal, Ranges, Shares, Sizes};

/// Points a figure shows at most; beyond, all of the tail is kept and the rest is thinned.
pub(crate) const MOST_POINTS: usize = 2_000;

/// One figure of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// A stable name, unique in a report: `return-levels`.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What to look for, and what this one shows.
    pub caption: String,
    /// What a reader who cannot see it must know.
    pub alternative: String,
    /// Does it need the whole width of a page?
    pub wide: bool,
    /// The numbers, in seconds where they are durations.
    pub numbers: Numbers,
    /// The same, drawn: `{"data": […], "layout": {…}}` as `plotly.graph_objects.Figure` takes it.
    pub plot: Value,
}

/// The numbers of a figure, by its kind.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Numbers {
    /// All T in time order.
    Series(Series),
    /// Empirical against fitted probabilities.
    Probability(Points),
    /// Empirical against fitted quantiles.
    Quantiles(Points),
    /// Levels against return periods.
    ReturnLevels(ReturnLevels),
    /// Histogram with fitted densities.
    Density(Density),
    /// How values resemble those before them.
    Autocorrelation(Autocorrelation),
    /// Empirical and fitted probabilities of taking longer.
    Survival(Survival),
    /// What every rank took against what the step took.
    Spread(Spread),
    /// How often each rank was last.
    Last(Last),
    /// How much slower than the others each target is.
    Effects(Effects),
    /// What all targets of a step share.
    SharedFactor(SharedFactor),
    /// A quantity of the tail against the threshold from which it was estimated.
    Thresholds(Thresholds),
    /// The far tail and the Pareto law beyond the threshold.
    BeyondThreshold(BeyondThreshold),
    /// Several lines.
    Curves(Curves),
    /// The wall time of every rank by what it went into.
    Shares(Shares),
    /// Times against sizes.
    Sizes(Sizes),
    /// Quantiles of many places.
    Ranges(Ranges),
    /// A place against the normal law of the same moments.
    AgainstNormal(AgainstNormal),
    /// What slow operations waited for.
    Causes(Stacks),
    /// How likely each congestion factor is.
    FactorCurve(FactorCurve),
}
