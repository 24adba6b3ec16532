//! What may be done with a Pareto distribution above a threshold: the first sentence of its screen, and its line.

use report::{AnswerSign, Unit, fixed, probability, significant, words};
use samples::units::count;
use tail::independence::{self, Independence};
use tail::{Interval, Status};

use super::FitResult;
use super::models::Pareto;
use super::text::what;

/// A sign and a sentence.
pub fn answer(found: &Pareto, all: &FitResult, unit: Unit, level: f64) -> (AnswerSign, String) {
    let what = what(all);
    let checked = independence::check_series(&all.sample.series(), 1.0 - level).ok();
    let above = format!(
        "the {} of {} {what}s above {}",
        count(found.exceedances as u64),
        count(all.values.numbers.len() as u64),
        unit.show(found.threshold.value)
    );
    let of_no_use = |why: &str| {
        (AnswerSign::Caution, format!("Not usable to predict rarer {what}s: {why}. Quote what was measured."))
    };
    match (found.status, found.goodness_of_fit) {
        (Status::Degenerate | Status::NotConverged | Status::Boundary, _) => {
            of_no_use(&format!("no Pareto distribution describes {above}"))
        }
        (_, Some(test)) if test.p < 1.0 - level => of_no_use(&format!(
            "a Pareto distribution does not fit {above} (p {}); another --threshold may",
            probability(test.p)
        )),
        _ if found.is_worth_few => of_no_use(&format!(
            "{above} come together and count as about {} independent ones; 10 are needed",
            significant(found.effective_exceedances, 2)
        )),
        (_, test) => match (checked.as_ref().and_then(first_reason), test) {
            (Some(why), _) => {
                let clusters = match found.extremal_index < 0.9 {
                    true => format!(
                        " Slow {what}s come in clusters of about {}; the intervals below allow for that.",
                        fixed(1.0 / found.extremal_index, 1)
                    ),
                    false => String::new(),
                };
                (AnswerSign::Caution, format!("Usable with care: {why}.{clusters}"))
            }
            (None, None) => {
                let few =
                    format!("Usable with care: nothing tests whether a Pareto distribution fits {above}.");
                (AnswerSign::Caution, few)
            }
            (None, Some(test)) => {
                let fits = format!("A Pareto distribution fits {above} (p {})", probability(test.p));
                (AnswerSign::Good, format!("{fits}{}.", farthest(found, unit, what)))
            }
        },
    }
}

/// The worst thing that speaks against independent values.
fn first_reason(checked: &Independence) -> Option<String> {
    checked.reasons().first().map(|test| words::finding(&test.finding))
}

/// The rarest level that was asked for.
fn farthest(found: &Pareto, unit: Unit, what: &str) -> String {
    let Some(level) = found.return_levels.last() else { return String::new() };
    let ends = |Interval { lower, upper, .. }| unit.level_and_ends(level.level, lower, upper);
    let [value, lower, upper] =
        level.interval.map_or(unit.level_and_ends(level.level, f64::NAN, f64::NAN), ends);
    let between = if level.interval.is_some() { format!(" ({lower} to {upper})") } else { String::new() };
    let beyond = if level.observed { "" } else { ", extrapolated" };
    let period = match level.period {
        period if period < 1e15 => count(period.round() as u64),
        period => significant(period, 3),
    };
    format!("; once in {period} {what}s: {value}{between}{beyond}")
}
