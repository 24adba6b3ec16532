//! Chapters that all places of a run make together, whatever the program.
//!
//! A view looks at what the run holds: places whose labels differ in a size or a number, places with
//! single and with batched timings, operations that began late, ranks that waited. `define report` can
//! ask for views with the hint `"show"`, a list of names with commas; those come first:
//!
//! | name | shows |
//! |---|---|
//! | `operations` | for each label and operation its quantity, average, minimum and maximum in ms, MiB/s |
//! | `sizes` | places that differ in a size or a number: curves, fitted lines, tables |
//! | `calls` | calls a second beside the single call's quantiles |
//! | `distributions` | quantiles of all places side by side, and how often each takes longer |
//! | `normal` | every place against the normal distribution of its mean and standard deviation |

mod against;
mod calls;
mod counted;
mod distributions;
mod family;
mod line;
mod normal;
mod operations;
mod panels;
mod place;
mod response;
mod sizes;
mod time_use;
mod tour;

use samples::{Run, TimeUse};

use crate::Chapter;

pub use against::AgainstNormal;
pub(crate) use calls::{CallPair, pairs as call_pairs};
pub(crate) use counted::chapters as counted;
pub use distributions::QuantileRanges;
pub(crate) use distributions::seconds_axis;
pub(crate) use family::{Axis, SizeFamily, size as size_of_word};
pub use line::AffineFit;
pub use panels::{NormalPanel, NormalPanels};
pub(crate) use place::Place;
pub use sizes::{SizeCurve, Sizes};
pub(crate) use sizes::{caches, colour, set_figure, size_text};
pub use time_use::TimeShares;

/// A view that a program can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Operations,
    Sizes,
    Calls,
    Distributions,
    Normal,
}

impl View {
    const ALL: [View; 5] = [View::Operations, View::Sizes, View::Calls, View::Distributions, View::Normal];

    fn name(self) -> &'static str {
        match self {
            View::Operations => "operations",
            View::Sizes => "sizes",
            View::Calls => "calls",
            View::Distributions => "distributions",
            View::Normal => "normal",
        }
    }
}

/// The names of all views.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    View::ALL.into_iter().map(View::name)
}

/// Names in the hint `"show"`, each with the view that has it.
fn asked(run: &Run) -> impl Iterator<Item = (&str, Option<View>)> {
    let list = run.facts.report.get("show").map(String::as_str).unwrap_or_default();
    list.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| (name, View::ALL.into_iter().find(|view| view.name() == name)))
}

/// Names in the hint `"show"` that no view has.
pub(crate) fn unknown(run: &Run) -> impl Iterator<Item = &str> {
    asked(run).filter(|(_, view)| view.is_none()).map(|(name, _)| name)
}

/// What views and answers look at.
pub(crate) struct Seen<'a> {
    pub run: &'a Run,
    /// All places with a sample, in the order of their lines.
    pub places: Vec<Place>,
    /// Places that differ in a size or a number only.
    pub families: Vec<SizeFamily>,
}

impl<'a> Seen<'a> {
    /// Looks at a run.
    pub fn of(run: &'a Run) -> Seen<'a> {
        let places = Place::all(run);
        let families = family::all(&places);
        Seen { run, places, families }
    }

    fn is_tour(&self) -> bool {
        self.run.facts.tour.is_some()
    }

    fn chapters(&self, view: View) -> Vec<Chapter> {
        match view {
            View::Operations => operations::chapter(&self.places).into_iter().collect(),
            View::Sizes => sizes::chapters(self.run, &self.places, &self.families),
            View::Calls => calls::chapter(&self.places).into_iter().collect(),
            View::Distributions => distributions::chapter(self.run, &self.places).into_iter().collect(),
            View::Normal => normal::chapters(&self.places),
        }
    }

    /// Whether a report has the view also where the program does not ask for it.
    fn is_usual(&self, view: View) -> bool {
        match view {
            View::Operations => false,
            View::Sizes => true,
            View::Calls => !self.is_tour(),
            View::Distributions => {
                !self.is_tour() && self.places.iter().filter(|place| place.is_operation()).count() > 2
            }
            View::Normal => !self.is_tour() && (!self.families.is_empty() || calls::is_wanted(&self.places)),
        }
    }
}

/// The chapters that the places of a run make: those that the program asks for, and the others.
pub(crate) fn chapters(seen: &Seen, time: &[TimeUse]) -> (Vec<Chapter>, Vec<Chapter>) {
    let run = seen.run;
    let mut further = tour::chapters(run);
    let asked: Vec<View> = asked(run).filter_map(|(_, view)| view).collect();
    let first = asked.iter().flat_map(|view| seen.chapters(*view)).collect();
    further.extend(response::chapter(run));
    for view in View::ALL {
        if seen.is_usual(view) && !asked.contains(&view) {
            further.extend(seen.chapters(view));
        }
    }
    further.extend(time_use::chapter(time));
    (first, further)
}
