//! The figures of a report, one file a kind.
//!
//! A new figure of an analysis is one file with a function `figures(&Input) -> Vec<Figure>` and one line in a list
//! below, which says in which chapter it stands and where; one that is in no list does not compile without a
//! warning. What draws figures for other chapters (`causes`, `curve`) is called by them.

mod autocorrelation;
pub(crate) mod causes;
pub(crate) mod curve;
mod distribution;
pub(crate) mod draw;
mod figure;
mod last;
pub(crate) mod rates;
mod series;
mod spread;
mod survival;
mod targets;
pub(crate) mod thin;
mod threshold;

pub use autocorrelation::Autocorrelation;
pub use causes::{CauseShares, CauseStacks};
pub use curve::{Curve, Curves};
pub use distribution::{Density, Points, ReturnLevels};
pub use figure::{Figure, Numbers};
pub(crate) use figure::{Input, in_short, slug};
pub use last::LastRanks;
pub use rates::RateOverTime;
pub use series::TimeSeries;
pub use spread::RankSpread;
pub use survival::Survival;
pub use targets::{SharedFactor, TargetEffects};
pub use threshold::{BeyondThreshold, Thresholds};

/// Draws the figures of one kind; none where there is nothing to show.
pub(crate) type Draw = fn(&Input) -> Vec<Figure>;

/// What was measured, in the order of reading.
pub(crate) const MEASURED: &[Draw] = &[
    series::figures,
    survival::figures,
    autocorrelation::figures, //
];

/// The values against the fitted distribution.
pub(crate) const DISTRIBUTION: &[Draw] = &[
    distribution::figures, //
];

/// The far tail beyond a threshold.
pub(crate) const FAR_TAIL: &[Draw] = &[
    threshold::figures, //
];

/// The ranks of a gate against each other.
pub(crate) const RANKS: &[Draw] = &[
    last::figures,
    targets::figures,
    spread::figures, //
];

/// All figures of a list.
pub(crate) fn all(list: &[Draw], input: &Input) -> Vec<Figure> {
    list.iter().flat_map(|draw| draw(input)).collect()
}
