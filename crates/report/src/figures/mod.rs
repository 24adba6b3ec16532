//! What is a figure? Numbers, computed once, and the Plotly figure that draws them.

mod curves;
mod draw;
mod ranks;
mod sample;
mod thin;
mod time;

pub use curves::{Density, Points, ReturnLevels};
pub use ranks::{Last, Spread};
pub use sample::{Curve, Survival};
pub use time::{Autocorrelation, Series};

use serde::Serialize;
use serde_json::Value;

use crate::subject::Subject;
use crate::tail_of::Tail;
use crate::unit::Unit;

/// Points a figure shows at most; beyond, all of the tail is kept and the rest is thinned.
pub(crate) const MOST_POINTS: usize = 2_000;

/// The question a figure helps to answer; figures of one section stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What was measured.
    Measured,
    /// Does the fitted law describe it?
    Law,
    /// Who is slow?
    Ranks,
}

impl Section {
    /// All sections in the order of reading.
    pub const ALL: [Section; 3] = [Section::Measured, Section::Law, Section::Ranks];

    /// Its heading, and a sentence that leads into it.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Section::Measured => (
                "What was measured",
                "Every value in time order: the laws below assume that time plays no part.",
            ),
            Section::Law => (
                "Does the law fit, and what does it foretell?",
                "The maximum of many parts follows an extreme-value law (GEV). Four views of the same comparison, the \
                 first three as in Henwood et al. 2016, Figure 2.",
            ),
            Section::Ranks => {
                ("Who is slow?", "S is what one rank took, T what the step took: the slowest S.")
            }
        }
    }
}

/// One figure of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// A stable name: `return-levels`.
    pub id: &'static str,
    /// What it shows, in a few words.
    pub title: String,
    /// What to see in it, in a sentence or two.
    pub caption: String,
    /// What a reader who cannot see it must know.
    pub alternative: String,
    /// Which question it helps to answer.
    pub section: Section,
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
}

/// All figures that the data carry, in the order of reading.
pub(crate) fn all(subject: &Subject, tail: Option<&Tail>, unit: Unit) -> Vec<Figure> {
    let values = subject.values();
    let what = subject.axis_name();
    let mut figures = Vec::new();
    if values.is_empty() {
        return figures;
    }
    figures.push(time::series(subject, tail, unit, &what));
    figures.push(sample::survival(subject, tail, unit, &what));
    if let Some(tail) = tail {
        figures.extend(time::autocorrelation(tail));
        figures.extend(curves::probability(tail));
        figures.extend(curves::return_levels(tail, unit, &what));
        figures.extend(curves::density(&values, tail, unit, &what));
        figures.extend(curves::quantiles(tail, unit, &what));
    }
    if subject.gate && subject.ranks.len() > 1 {
        figures.push(ranks::spread(subject, unit));
        figures.push(ranks::last(subject));
    }
    figures
}
