//! Tables of the fitted distributions and of the tests.

use samples::units;
use tail::assess::Assessment;
use tail::independence::{Independence, Question};
use tail::latency::{Latency, LatencyLevel};
use tail::verdict::Preference;

use super::grid::Table;
use crate::tail_of::Tail;
use crate::unit::{Unit, confidence, fixed, probability, significant};
use crate::words;

/// The fitted parameters with their standard errors and profile intervals.
pub(crate) fn parameters(found: &Assessment, unit: Unit) -> Table {
    let distribution = &found.gev;
    let from = format!("{} from", confidence(found.level));
    let mut table = Table::new(
        "Extreme-value distribution (GEV)",
        &["<parameter", "estimate", "standard error", &from, "to", "<meaning"],
    );
    let (errors, intervals) = (distribution.standard_errors, distribution.intervals);
    let rows = [
        (
            "location",
            unit,
            distribution.location,
            errors.map(|e| e.location),
            intervals.and_then(|i| i.location),
        ),
        ("scale", unit, distribution.scale, errors.map(|e| e.scale), intervals.and_then(|i| i.scale)),
        ("shape", Unit::NONE, distribution.shape, errors.map(|e| e.shape), intervals.and_then(|i| i.shape)),
    ];
    let meanings = ["where most values lie", "how far they spread", "above 0 heavy tail, below 0 it ends"];
    for ((name, unit, value, error, interval), meaning) in rows.into_iter().zip(meanings) {
        let width = interval.map(|interval| (interval.upper - interval.lower) / 4.0);
        let precision = error.or(width).unwrap_or(f64::NAN);
        let show = |value: f64| unit.named(&unit.with_error(value, precision).0);
        let [lower, upper] = match interval {
            Some(interval) => [show(interval.lower), show(interval.upper)],
            None => ["–".into(), "–".into()],
        };
        let error = error.map_or("–".into(), |error| unit.named(&unit.with_error(value, error).1));
        let value = if precision.is_nan() { unit.show(value) } else { show(value) };
        table.push(false, [name.into(), value, error, lower, upper, meaning.into()]);
    }
    table.note = match found.status {
        tail::Status::Ok => String::new(),
        tail::Status::Irregular => {
            "The shape is below -1/2: standard errors do not hold there and are left out.".into()
        }
        tail::Status::Boundary => {
            "The likelihood has no maximum inside its range: the distribution ends at the largest value."
                .into()
        }
        tail::Status::Degenerate => "There are too few distinct values for a fit.".into(),
        tail::Status::NotConverged => {
            "No maximum of the likelihood was found: do not use these numbers.".into()
        }
    };
    table
}

/// Levels exceeded once in so many values, with intervals.
pub(crate) fn levels(found: &Assessment, unit: Unit, what: &str) -> Table {
    let from = format!("{} from", confidence(found.level));
    let mut table = Table::new("Return levels", &["<exceeded once in", "level", &from, "to", "<"]);
    for level in &found.return_levels {
        let [value, lower, upper] = unit.level_and_ends(level.level, level.lower, level.upper);
        let name = format!("{} {what}s", units::count(level.period as u64));
        let beyond = if level.observed { "" } else { "extrapolated" };
        table.push(false, [name, value, lower, upper, beyond.into()]);
    }
    if !found.verdict.is_distribution_shown() {
        table.note =
            "These levels come from a distribution that does not describe the values (see the verdict): do not rely \
                      on them."
                .into();
    }
    table
}

/// The tests of whether the values are independent draws of one distribution.
pub(crate) fn independence(tail: &Tail) -> Option<Table> {
    tail.independence().map(tests)
}

/// The same from the tests themselves.
pub(crate) fn tests(found: &Independence) -> Table {
    let mut table =
        Table::new("Repetitions of one experiment?", &["<question", "<found", "p, all tests together"]);
    for test in &found.tests {
        let question = match test.question {
            Question::Autocorrelation => "are neighbours correlated",
            Question::Trend => "does the level drift",
            Question::Jump => "does it jump",
            Question::Modes => "are there several modes",
            Question::SlowValues => "do slow values come at random",
        };
        table.push(
            test.rejected,
            [question.into(), words::finding(&test.finding), probability(test.p_adjusted)],
        );
    }
    table
}

/// The GEV and its rivals by AIC.
pub(crate) fn models(found: &Assessment) -> Table {
    let mut table = Table::new(
        "Which distribution describes the values best",
        &["<distribution", "parameters", "AIC above the best", "weight", "<against the GEV (Vuong)"],
    );
    let best = found.alternatives.first().map_or(f64::INFINITY, |rival| rival.aic).min(found.gev.aic);
    let mut rows = vec![(true, "GEV".to_string(), 3, found.gev.aic, found.gev.aic_weight, String::new())];
    for rival in &found.alternatives {
        let words = match rival.vuong {
            Some(vuong) => {
                let words = match found.verdict.levels.preference(&vuong) {
                    Preference::Gev => "worse",
                    Preference::Rival => "better",
                    Preference::Neither => "not told apart",
                };
                format!("{words} (z {})", fixed(vuong.z, 2))
            }
            None => "–".into(),
        };
        rows.push((false, rival.name.clone(), rival.size, rival.aic, rival.aic_weight, words));
    }
    rows.sort_by(|a, b| a.3.total_cmp(&b.3));
    for (strong, name, size, aic, weight, words) in rows {
        let weight = if weight < 0.0005 { "< 0.001".into() } else { fixed(weight, 3) };
        table.push(strong, [name, size.to_string(), fixed(aic - best, 1), weight, words]);
    }
    if let Some(fit) = found.diagnostics.goodness_of_fit {
        table.note = format!(
            "Does the GEV fit at all? Anderson-Darling A² {:.3} (p {}), upper tail AU² {:.3} (p {}); together p {} \
             (the GEV is rejected below {}).",
            fit.statistics.a2,
            probability(fit.p.a2),
            fit.statistics.au2,
            probability(fit.p.au2),
            probability(fit.p.smaller),
            significant(found.verdict.levels.fit, 3)
        );
    }
    table
}

/// How rare values are by the distribution beyond a threshold; `of` names what was measured in the title (`every write / fwrite`),
/// empty where there is nothing to name. What was measured often enough has its quantile and interval in other tables,
/// where they need no distribution: one number for one quantity.
pub fn far_levels(far: &Latency, unit: Unit, what: &str, of: &str) -> Table {
    let level = far.levels.iter().find_map(|level| Some(level.interval?.level)).unwrap_or(0.95);
    let from = format!("{} from", confidence(level));
    let title = if of.is_empty() { "Far quantiles".into() } else { format!("Far quantiles of {of}") };
    let is_given = |level: &&LatencyLevel| level.extrapolated && level.quantile.is_finite();
    let columns: &[&str] = &["<exceeded once in", "level", &from, "to"];
    // A table without rows is its note.
    let mut table =
        Table::new(&title, if far.levels.iter().any(|level| is_given(&level)) { columns } else { &[] });
    // Between the sample's largest and what a distribution of its tail gives lies nothing.
    for level in far.levels.iter().filter(is_given) {
        let ends =
            level.quantile_interval.map_or((f64::NAN, f64::NAN), |interval| (interval.lower, interval.upper));
        let known = ends.0.is_finite() && ends.1.is_finite();
        let [value, lower, upper] = if known {
            unit.level_and_ends(level.quantile, ends.0, ends.1)
        } else {
            unit.level_and_ends(level.quantile, f64::NAN, f64::NAN)
        };
        let name = format!("{} {what}s", units::count(level.operations as u64));
        table.push(false, [name, value, lower, upper]);
    }
    let clusters = words::slow_ones(far);
    table.note = match &far.fit {
        Some(fit) => {
            let shape = match fit.standard_errors {
                Some(errors) => {
                    let (shape, error) = Unit::NONE.with_error(fit.shape, errors[1]);
                    format!("{shape} ± {error}")
                }
                None => significant(fit.shape, 2),
            };
            format!(
                "Beyond {}: {} of {} values, Pareto distribution of shape {shape}; {clusters}.",
                unit.show(fit.threshold),
                units::count(fit.exceedances as u64),
                units::count(far.n as u64)
            )
        }
        None => format!(
            "No threshold gives a tail that a Pareto distribution fits: nothing is said beyond the sample; {clusters}."
        ),
    };
    table
}
