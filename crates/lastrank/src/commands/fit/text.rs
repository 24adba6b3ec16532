//! Renders a fit as text for a terminal.

use report::{Table, Unit, confidence, fixed, probability, sentence, significant, words};
use samples::units::count;
use tail::assess::ReturnLevel;
use tail::regression::Part;
use tail::{Interval, Series, Status, independence};

use super::FitResult;
use super::covariate::{LevelsAt, Regressed};
use super::models::{Fitted, Maxima, Pareto};
use super::threshold::{Chosen, Threshold};
use crate::cli::FitArgs;

/// Ranks that are shown one by one.
const MOST_RANKS: usize = 8;

/// The whole answer.
pub fn of(args: &FitArgs, found: &FitResult) -> String {
    let values = &found.values;
    let unit = unit(found);
    let mut text = format!("{}\n", values.name);
    for warning in values.cautions() {
        text += &sentence("warning: ", &warning);
    }
    text += &blocks(found);
    text.push('\n');
    if let Some(covariates) = &found.covariates {
        let of = covariate_text(covariates, unit, args.level, what(found));
        text += &format!("{of}\n{}\n", sentence("Without covariates: ", WITHOUT));
    }
    text += &rejected(&found.fitted, unit, args.level, what(found));
    text += &match &found.fitted {
        Fitted::Gev(assessed) => report::fit_text(assessed, unit, what(found)),
        Fitted::Gumbel(assessed, gumbel) => {
            let mut table = parameters("Gumbel distribution, shape 0", args.level);
            let errors = gumbel.standard_errors.map(Some);
            row(&mut table, "location", unit, Estimate(gumbel.location, errors[0], gumbel.intervals[0]));
            row(&mut table, "scale", unit, Estimate(gumbel.scale, errors[1], gumbel.intervals[1]));
            if let Some(test) = assessed.diagnostics.gumbel {
                table.note = format!("Against a distribution with any shape: p {}.", probability(test.p));
            }
            let mut levels = levels(&gumbel.return_levels, unit, found);
            levels.title = "Return levels of the Gumbel distribution".into();
            format!("{}\n{}\n{}", report::fit_text(assessed, unit, what(found)), table.text(), levels.text())
        }
        Fitted::Gpd(pareto) => pareto_text(pareto, unit, found, args.level),
        Fitted::Maxima(maxima) => maxima_text(maxima, unit, found, args.level),
    };
    text += &targets(found, args.level);
    if let (Some(far), Fitted::Gev(_) | Fitted::Gumbel(..)) = (&found.latency, &found.fitted) {
        text += &format!("\n{}", report::far_levels(far, unit, "value", "").text());
    }
    text
}

/// The unit in which all numbers of a fit are shown: that of the value in the middle.
pub fn unit(found: &FitResult) -> Unit {
    let series = Series::clean(&found.sample.numbers);
    found.values.unit(series.sorted().get(found.sample.numbers.len() / 2).copied().unwrap_or(1.0))
}

/// What stands above the tables of the distribution that takes no account of covariates.
const WITHOUT: &str = "what follows takes no account of them.";

/// That the distribution which was asked for does not fit, by its own test, before any of its levels; empty where it does.
fn rejected(fitted: &Fitted, unit: Unit, level: f64, what: &str) -> String {
    match fitted {
        Fitted::Gumbel(found, gumbel) => {
            let Some(test) = found.diagnostics.gumbel.filter(|test| test.p < 1.0 - level) else {
                return String::new();
            };
            let ends = |level: &ReturnLevel| {
                let [value, lower, upper] = unit.level_and_ends(level.level, level.lower, level.upper);
                format!("{value} ({lower} to {upper})")
            };
            let far = found.return_levels.last().zip(gumbel.return_levels.last());
            let far = far.map_or(String::new(), |(own, asked)| {
                format!(
                    " Once in {} {what}s it gives {}, the distribution with its own shape {}.",
                    count(own.period as u64),
                    ends(asked),
                    ends(own)
                )
            });
            sentence(
                "Rejected: ",
                &format!(
                    "a Gumbel distribution does not describe these values (p {} of shape 0; the shape is {}).{far} Use --model gev.",
                    probability(test.p),
                    fixed(found.gev.shape, 3)
                ),
            ) + "\n"
        }
        Fitted::Gpd(found) => {
            let Some(test) = found.goodness_of_fit.filter(|test| test.p < 1.0 - level) else {
                return String::new();
            };
            sentence(
                "Rejected: ",
                &format!(
                    "a Pareto distribution does not describe what exceeds the threshold (Anderson-Darling p {}): do not use its \
                     levels beyond the sample. Try a higher threshold, for example --threshold 99%.",
                    probability(test.p)
                ),
            ) + "\n"
        }
        Fitted::Gev(_) | Fitted::Maxima(_) => String::new(),
    }
}

/// What one value of the fitted sample is.
pub fn what(found: &FitResult) -> &'static str {
    match (&found.sample.blocks, &found.values.subject) {
        (Some(blocks), _) if !blocks.steps => "block",
        (_, Some(subject)) => subject.value_name(),
        _ => "value",
    }
}

fn blocks(found: &FitResult) -> String {
    let Some(blocks) = &found.sample.blocks else { return String::new() };
    let length = match (&blocks.length, blocks.values, blocks.seconds) {
        (Some(length), ..) => length.clone(),
        (None, Some(values), _) => format!("{} values", count(values as u64)),
        (None, None, seconds) => samples::units::duration(seconds.unwrap_or(0.0)),
    };
    let empty = match blocks.empty {
        None | Some(0) => String::new(),
        Some(1) => "; 1 block of dates without values is left out".into(),
        Some(n) => format!("; {} blocks of dates without values are left out", count(n as u64)),
    };
    let left = match blocks.left_over {
        0 => String::new(),
        n => format!("; {} values at the end fill no block and are left out", count(n as u64)),
    };
    format!("{} blocks of {length}{left}{empty}\n", count(blocks.count as u64))
}

fn parameters(title: &str, level: f64) -> Table {
    let from = format!("{} from", confidence(level));
    Table::new(title, &["<parameter", "estimate", "standard error", &from, "to"])
}

/// An estimated parameter: its value, standard error and interval.
struct Estimate(f64, Option<f64>, Option<Interval>);

fn row(table: &mut Table, name: &str, unit: Unit, Estimate(value, error, interval): Estimate) {
    let width = interval.map(|interval| (interval.upper - interval.lower) / 4.0);
    let precision = error.or(width).filter(|width| width.is_finite()).unwrap_or(value.abs() / 1000.0);
    let show = |value: f64| match value {
        end if end.is_finite() => unit.named(&unit.with_error(end, precision).0),
        // An end that was not found is not an infinite one.
        end if end.is_nan() => "–".into(),
        _ => "open".into(),
    };
    let ends = interval
        .map_or(["–".into(), "–".into()], |interval| [show(interval.lower), show(interval.upper)]);
    let [from, to] = ends;
    let error = error.map_or("–".into(), |error| unit.named(&unit.with_error(value, error).1));
    table.push(false, [name.into(), show(value), error, from, to]);
}

fn levels(levels: &[ReturnLevel], unit: Unit, found: &FitResult) -> Table {
    let level = levels.iter().find_map(|level| Some(level.interval?.level)).unwrap_or(0.95);
    let from = format!("{} from", confidence(level));
    let mut table = Table::new("Return levels", &["<exceeded once in", "level", &from, "to", "<"]);
    for level in levels {
        let name = format!("{} {}s", count(level.period.round() as u64), what(found));
        let ends = level.interval.map_or((f64::NAN, f64::NAN), |i| (i.lower, i.upper));
        let [value, lower, upper] = unit.level_and_ends(level.level, ends.0, ends.1);
        let beyond = if level.observed { "" } else { "extrapolated" };
        table.push(false, [name, value, lower, upper, beyond.into()]);
    }
    table
}

fn where_from(threshold: &Threshold, unit: Unit) -> String {
    let share = (threshold.share * 1e4).round() / 100.0;
    let how = match threshold.chosen {
        Chosen::Auto => "; the lowest beyond which a Pareto distribution fits",
        Chosen::Share | Chosen::Value => "",
    };
    format!("{} ({share}% of the values lie below it{how})", unit.show(threshold.value))
}

fn status_note(status: Status) -> &'static str {
    match status {
        Status::Ok => "",
        Status::Irregular => " The shape is below -1/2: standard errors do not hold there and are left out.",
        Status::Boundary => {
            " The likelihood has no maximum inside its range: the distribution ends at the largest value."
        }
        Status::Degenerate | Status::NotConverged => {
            " No maximum of the likelihood was found: do not use it."
        }
    }
}

fn pareto_text(found: &Pareto, unit: Unit, all: &FitResult, level: f64) -> String {
    let mut table = parameters("Pareto distribution (GPD) of what exceeds the threshold", level);
    let errors = found.standard_errors.map_or([None; 2], |errors| errors.map(Some));
    row(&mut table, "scale", unit, Estimate(found.scale, errors[0], found.intervals[0]));
    row(&mut table, "shape", Unit::NONE, Estimate(found.shape, errors[1], found.intervals[1]));
    let test = found.goodness_of_fit.map_or(String::new(), |test| {
        format!(" Does it fit? Anderson-Darling A² {} (p {}).", fixed(test.a2, 3), probability(test.p))
    });
    table.note = format!(
        "Threshold {}: {} of {} values.{test}{}",
        where_from(&found.threshold, unit),
        count(found.exceedances as u64),
        count(all.values.numbers.len() as u64),
        status_note(found.status)
    );
    let mut text = format!("{}\n{}", table.text(), independent(&all.sample.series(), true));
    let mut levels = levels(&found.return_levels, unit, all);
    if found.extremal_index < 0.9 {
        levels.note = format!(
            "Slow values come in clusters of about {} (extremal index {}).",
            fixed(1.0 / found.extremal_index, 1),
            fixed(found.extremal_index, 2)
        );
    }
    if !found.return_levels.is_empty() {
        text += &format!("\n{}", levels.text());
    }
    text
}

fn maxima_text(found: &Maxima, unit: Unit, all: &FitResult, level: f64) -> String {
    let title = match found.r {
        Some(r) => format!("Distribution of the block maximum, from the {r} largest of each block"),
        None => "Distribution of the block maximum, from all values above the threshold".into(),
    };
    let mut table = parameters(&title, level);
    let errors = found.standard_errors;
    row(
        &mut table,
        "location",
        unit,
        Estimate(found.location, errors.map(|e| e.location), found.intervals[0]),
    );
    row(&mut table, "scale", unit, Estimate(found.scale, errors.map(|e| e.scale), found.intervals[1]));
    row(&mut table, "shape", Unit::NONE, Estimate(found.shape, errors.map(|e| e.shape), found.intervals[2]));
    let threshold = found
        .threshold
        .map_or(String::new(), |threshold| format!("Threshold {}. ", where_from(&threshold, unit)));
    table.note = format!(
        "{threshold}{} values of {} blocks.{}",
        count(found.values as u64),
        (found.blocks * 100.0).round() / 100.0,
        status_note(found.status)
    );
    let mut text = format!("{}\n", table.text());
    if found.by_r.len() > 1 {
        let mut table =
            Table::new("The same from fewer", &["r", "location", "scale", "shape", "± standard error"]);
        for by in &found.by_r {
            table.push(
                false,
                [
                    by.r.to_string(),
                    unit.show(by.location),
                    unit.show(by.scale),
                    fixed(by.shape, 3),
                    by.shape_error.map_or("–".into(), |error| fixed(error, 3)),
                ],
            );
        }
        table.note = "Where the model holds, the rows differ by their errors only.".into();
        text += &format!("{}\n", table.text());
    }
    text += &independent(&all.sample.series(), false);
    text + "\n" + &levels(&found.return_levels, unit, all).text()
}

/// One sentence for the four tests. `allowed`: whether the intervals allow for slow values that come together.
fn independent(series: &Series, allowed: bool) -> String {
    match independence::check_series(series, 0.05) {
        Ok(checked) if checked.passed => {
            sentence("Independence: ", "nothing speaks against independent draws of one distribution.")
        }
        Ok(checked) => {
            let against = words::against(&checked).join("; ");
            let so = match allowed {
                true => {
                    "the intervals allow for values that resemble their neighbours, not for a level that changes"
                }
                false => "the intervals are too narrow",
            };
            let not = "the values are not independent draws of one distribution";
            sentence("Independence: ", &format!("{not}; {so}: {against}."))
        }
        Err(_) => String::new(),
    }
}

fn covariate_text(found: &Regressed, unit: Unit, level: f64, what: &str) -> String {
    let mut table = parameters("With covariates", level);
    for coefficient in &found.coefficients {
        let part = match coefficient.part {
            Part::Location => "location",
            Part::LogScale => "ln scale",
            Part::Shape => "shape",
        };
        let (name, of) = match coefficient.name.as_str() {
            "1" => (part.to_string(), coefficient.part),
            name => (format!("{part} by {name}"), coefficient.part),
        };
        // ln scale of seconds has no unit that could be shown.
        let unit = if of == Part::Location { unit } else { Unit::NONE };
        row(
            &mut table,
            &name,
            unit,
            Estimate(coefficient.value, coefficient.standard_error, coefficient.interval),
        );
    }
    let mut text = format!("{}\n", table.text());
    for term in &found.terms {
        let words = match term.p < 1.0 - level {
            true => "needed: without it the fit is worse",
            false => "not shown to be needed: without it the fit is about as good",
        };
        let part = match term.part {
            Part::Location => "location",
            Part::LogScale => "scale",
            Part::Shape => "shape",
        };
        text += &sentence(
            &format!("{part} by {}: ", term.name),
            &format!(
                "{words} (p {}, likelihood ratio {}, {} df)",
                probability(term.p),
                fixed(term.statistic, 2),
                term.degrees_of_freedom
            ),
        );
    }
    let residuals = match found.residuals_pass {
        true => "what is left are independent draws of one distribution".into(),
        false => {
            format!(
                "what is left is still not independent draws of one distribution: {}",
                found.residuals.join("; ")
            )
        }
    };
    text += &sentence(
        "Covariates: ",
        &format!(
            "together p {}; AIC {} against {} without; {residuals}.{}",
            probability(found.p),
            fixed(found.aic, 1),
            fixed(found.aic_without, 1),
            status_note(found.status)
        ),
    );
    let shown = found.levels_at.as_ref().or(found.levels_at_means.as_ref());
    let Some(LevelsAt { at, levels }) = shown else { return text };
    let (number, means): (fn(f64) -> String, &str) = match found.levels_at {
        Some(_) => (|value| value.to_string(), ""),
        None => (|value| significant(value, 3), ", the mean; --at chooses another"),
    };
    let at: Vec<String> = at.iter().map(|(name, value)| format!("{name} {}", number(*value))).collect();
    let from = format!("{} from", confidence(level));
    let mut table = Table::new(
        &format!("Return levels at {}{means}", at.join(", ")),
        &["<exceeded once in", "level", &from, "to"],
    );
    for level in levels {
        let [value, lower, upper] =
            unit.level_and_ends(level.level, level.interval.lower, level.interval.upper);
        let name = format!("{} {what}s", count(level.period.round() as u64));
        let show = |text: String, end: f64| if end.is_finite() { text } else { "open".into() };
        let ends = [show(lower, level.interval.lower), show(upper, level.interval.upper)];
        let [lower, upper] = ends;
        table.push(false, [name, value, lower, upper]);
    }
    table.note = "If the covariates stayed at these values.".into();
    format!("{text}\n{}", table.text())
}

fn targets(found: &FitResult, level: f64) -> String {
    let Some(targets) = &found.targets else { return String::new() };
    let mut order: Vec<_> = targets.targets.iter().collect();
    order.sort_by(|a, b| b.relative.total_cmp(&a.relative));
    let from = format!("{} from", confidence(level));
    let mut table =
        Table::new("Ranks, slowest first", &["rank", "against the others", &from, "to", "p", "last in", "<"]);
    let percent = |factor: f64| format!("{}%", fixed(100.0 * (factor - 1.0), 2));
    for target in order.iter().take(MOST_RANKS) {
        let rank = targets.name(target.target).to_string();
        table.push(
            target.slow,
            [
                rank,
                percent(target.relative),
                percent(target.interval.lower),
                percent(target.interval.upper),
                probability(target.p),
                format!("{}%", fixed(100.0 * target.last_share, 1)),
                if target.slow { "slow".into() } else { String::new() },
            ],
        );
    }
    if order.len() > MOST_RANKS {
        table.note = format!("and {} faster ones", order.len() - MOST_RANKS);
    }
    let mut text = format!("\n{}\n", table.text());
    for finding in words::targets::findings(targets) {
        text += &sentence("Ranks: ", &finding);
    }
    text
}
