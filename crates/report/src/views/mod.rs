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
//! | `normal` | every place against the normal law of its mean and standard deviation |

mod calls;
mod counted;
mod distributions;
mod family;
mod line;
mod normal;
mod operations;
mod place;
mod response;
mod sizes;
mod time_use;
mod tour;

use samples::{Run, TimeUse};

use crate::Chapter;

pub(crate) use counted::chapters as counted;
pub use distributions::Ranges;
pub use line::AffineFit;
pub use normal::AgainstNormal;
pub(crate) use place::Place;
pub use sizes::{SizeCurve, Sizes};
pub use time_use::Shares;

/// The chapters that the places of a run make: those that the program asks for, and the others.
pub(crate) fn chapters(run: &Run, time: &[TimeUse]) -> (Vec<Chapter>, Vec<Chapter>) {
    let places = Place::all(run);
    let families = family::all(&places);
    let asked: Vec<&str> =
        run.facts.report.get("show").map(|list| list.split(',').map(str::trim).collect()).unwrap_or_default();
    let tour = tour::chapters(run);
    let several = tour.is_empty() && places.iter().filter(|place| place.is_operation()).count() > 2;
    let ladder = tour.is_empty() && (!families.is_empty() || calls::is_wanted(&places));
    type View<'a> = (&'static str, bool, Box<dyn Fn() -> Vec<Chapter> + 'a>);
    let views: Vec<View> = vec![
        ("operations", false, Box::new(|| operations::chapter(&places).into_iter().collect())),
        ("sizes", true, Box::new(|| sizes::chapters(run, &places, &families))),
        ("calls", tour.is_empty(), Box::new(|| calls::chapter(&places).into_iter().collect())),
        ("distributions", several, Box::new(|| distributions::chapter(run, &places).into_iter().collect())),
        ("normal", ladder, Box::new(|| normal::chapters(&places))),
    ];
    let mut first: Vec<Chapter> = Vec::new();
    for name in &asked {
        if let Some((_, _, view)) = views.iter().find(|(known, _, _)| known == name) {
            first.extend(view());
        }
    }
    let mut further: Vec<Chapter> = tour;
    further.extend(response::chapter(run));
    for (name, by_itself, view) in &views {
        if *by_itself && !asked.contains(name) {
            further.extend(view());
        }
    }
    further.extend(time_use::chapter(time));
    (first, further)
}

/// Names in `"show"` that no view has.
pub(crate) fn unknown(run: &Run) -> Vec<String> {
    const KNOWN: [&str; 5] = ["operations", "sizes", "calls", "distributions", "normal"];
    let asked = run.facts.report.get("show").map(String::as_str).unwrap_or_default();
    asked
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty() && !KNOWN.contains(name))
        .map(Into::into)
        .collect()
}
