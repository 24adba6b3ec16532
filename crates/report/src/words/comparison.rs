//! Words the verdict of a comparison of two samples.

use tail::Interval;
use tail::congestion::{
    Basis, Comparison, ComparisonAdvice, ComparisonCode, EQUALITY_SHARE, Headline, QuantileRatio,
    SeveralRuns, Slowdown,
};

use results::{OtherWork, RowRatios};

use super::capital;
use crate::number::{three, times};
use crate::unit::{probability, significant};

/// The finding, in two to four sentences.
pub fn text(found: &Comparison) -> String {
    let details = details(found);
    let gap = if details.is_empty() { "" } else { " " };
    format!("{}.{gap}{details} {}", headline(found), error(found))
}

/// The error rate of the answer.
fn error(found: &Comparison) -> String {
    format!(
        "Of pairs of equal samples, {}% are not answered with \u{201c}no difference\u{201d}.",
        significant(100.0 * found.error, 2)
    )
}

/// What a comparison comes to, for the sign before its headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No difference that matters, or a faster system.
    Good,
    /// Slower, undecided, or different in another way.
    Caution,
}

/// Whether the headline needs attention.
pub fn outcome(found: &Comparison) -> Outcome {
    match found.code {
        _ if is_open(found) => Outcome::Caution,
        ComparisonCode::NoDifference | ComparisonCode::Faster => Outcome::Good,
        ComparisonCode::OtherDifference if is_faster_throughout(found) => Outcome::Good,
        ComparisonCode::Slower if found.is_negligible() => Outcome::Good,
        ComparisonCode::Slower | ComparisonCode::OtherDifference | ComparisonCode::NotIndependent => {
            Outcome::Caution
        }
    }
}

/// Whether it is shown of the median and of the 99% quantile that the new values are faster.
fn is_faster_throughout(found: &Comparison) -> bool {
    let below = |upper: Option<f64>| upper.is_some_and(|upper| upper < 1.0);
    below(Some(found.robust.median_ratio.interval.upper)) && below(found.p99_ratio.and_then(|p99| p99.upper))
}

/// Whether these values decide nothing: the headline begins with "Undecided".
pub fn is_open(found: &Comparison) -> bool {
    match found.code {
        ComparisonCode::NoDifference => is_undecided(found) || is_vague(found),
        ComparisonCode::NotIndependent => found.headline().interval.contains(1.0),
        ComparisonCode::Slower | ComparisonCode::Faster | ComparisonCode::OtherDifference => false,
    }
}

/// Whether no difference is shown, and yet equality is not either.
fn is_undecided(found: &Comparison) -> bool {
    !found.identical && (found.level_moves() || !found.headline().interval.contains(1.0))
}

/// Whether a difference that matters to anybody is not excluded either.
fn is_vague(found: &Comparison) -> bool {
    !found.identical && is_wide(&found.headline().interval)
}

/// Whether an interval reaches farther from 1 than one that shows equality may.
fn is_wide(interval: &Interval) -> bool {
    const MATTERS: f64 = 1.1;
    interval.lower * MATTERS < 1.0 || interval.upper > MATTERS
}

/// As [`is_open`], of two directories of runs.
pub fn is_open_of_runs(found: &SeveralRuns) -> bool {
    found.code == ComparisonCode::NoDifference && is_wide(&found.ratio.interval)
}

/// The answer in one line, without a full stop. It says slower or faster only over an interval that leaves 1 out.
pub fn headline(found: &Comparison) -> String {
    let Headline { value, interval, .. } = found.headline();
    let as_long = as_long(value, &interval);
    let holds_one = interval.contains(1.0);
    let moves = || {
        let which = match (found.baseline.level_moves, found.new.level_moves) {
            (true, true) => "both levels move",
            (true, false) => "the level of the baseline moves",
            (false, _) => "the level of the new values moves",
        };
        format!("{which} within the run")
    };
    let change = || match found.headline().by {
        Basis::Medians => format!(
            "{} at the median, not by one factor: p50 {}{}",
            capital(&times(value)),
            ratio(&found.median_ratio()),
            found.p99_ratio.map_or(String::new(), |p99| format!("; p99 {}", ratio(&p99)))
        ),
        Basis::Distribution | Basis::Pairs | Basis::Means => {
            format!("{}: {as_long}", slower(value))
        }
    };
    match found.code {
        ComparisonCode::NoDifference if found.identical => "No difference: both are the same values".into(),
        ComparisonCode::NoDifference if found.level_moves() => {
            format!("Undecided: {as_long}; {}", moves())
        }
        ComparisonCode::NoDifference if holds_one && is_vague(found) => {
            format!("Undecided: {as_long}; too few values to tell")
        }
        ComparisonCode::NoDifference if holds_one => {
            format!("No difference is shown: {as_long}")
        }
        ComparisonCode::NoDifference => format!(
            "Undecided: {as_long}, but of pairs of equal samples {} in 100 differ as much",
            significant(100.0 * found.p_equal, 2)
        ),
        ComparisonCode::NotIndependent if holds_one => {
            format!("Undecided: {as_long}; {}", moves())
        }
        ComparisonCode::NotIndependent => format!("{}; {}", change(), moves()),
        ComparisonCode::OtherDifference if holds_one => {
            format!("The values differ, but not in what is typical: {as_long}")
        }
        ComparisonCode::Slower | ComparisonCode::Faster if found.is_negligible() => {
            format!("{}, too little to matter: {as_long}", slower(value))
        }
        ComparisonCode::Slower | ComparisonCode::Faster | ComparisonCode::OtherDifference => change(),
    }
}

/// Why it is not the same work.
pub(crate) fn other_work_words(what: OtherWork) -> &'static str {
    match what {
        OtherWork::Ranks => "other ranks",
        OtherWork::Sizes => "other sizes",
        OtherWork::Depth => "another depth reached",
        OtherWork::AskedDepth => "another depth",
        OtherWork::Rate => "another rate",
    }
}

/// The code of an answer of runs of other work.
pub const OTHER_WORK: &str = "other-work";

/// Where two runs did other work: why, and how the times of what is compared stand to each other; no word of faster or slower.
/// None of the same work. Without a full stop.
pub fn of_other_work(rows: Option<&RowRatios>) -> Option<String> {
    let row = rows?.of_subject()?;
    let asked = row.other_work.iter().filter(|what| what.is_asked());
    let why: Vec<&str> = asked.map(|what| other_work_words(*what)).collect();
    (!why.is_empty()).then(|| {
        let p99 = row.p99.map_or(String::new(), |p99| format!("; p99 {}", ratio(&p99)));
        format!(
            "Not the same work ({}): one {} takes p50 {} times as long{p99}",
            why.join(", "),
            row.name,
            ratio(&row.p50)
        )
    })
}

/// The answer in one line and how it reads, without a full stop: of the same work the headline.
pub fn answer(rows: Option<&RowRatios>, found: &Comparison) -> (Outcome, String) {
    match of_other_work(rows) {
        Some(text) => (Outcome::Caution, text),
        None => (outcome(found), headline(found)),
    }
}

/// The answer of several runs a side in one line, without a full stop.
pub fn of_runs(found: &SeveralRuns) -> (Outcome, String) {
    let value = found.ratio.value;
    let as_long = as_long(value, &found.ratio.interval);
    match found.code {
        ComparisonCode::Slower | ComparisonCode::Faster if found.is_negligible() => {
            (Outcome::Good, format!("{}, too little to matter: {as_long}", slower(value)))
        }
        ComparisonCode::Slower => (Outcome::Caution, format!("{}: {as_long}", slower(value))),
        ComparisonCode::Faster => (Outcome::Good, format!("{}: {as_long}", slower(value))),
        _ if is_open_of_runs(found) => {
            (Outcome::Caution, format!("Undecided: {as_long}; too few runs to tell"))
        }
        ComparisonCode::NoDifference | ComparisonCode::OtherDifference | ComparisonCode::NotIndependent => {
            (Outcome::Good, format!("No difference is shown: {as_long}"))
        }
    }
}

/// What the first screen says of p99 after the headline, unless that does.
pub(crate) fn of_tail(found: &Comparison) -> Option<String> {
    let p99 =
        found.p99_ratio.filter(|p99| !found.identical && (p99.lower.is_some() || p99.upper.is_some()))?;
    let told = format!("p99 {}", ratio(&p99));
    (!headline(found).contains(&told)).then_some(told)
}

/// `1.24 (1.22–1.27)`, `1.61 (1.2 or more)`.
pub(crate) fn ratio(found: &QuantileRatio) -> String {
    match (found.lower, found.upper) {
        (Some(lower), Some(upper)) => format!("{} ({}–{})", three(found.value), three(lower), three(upper)),
        (Some(lower), None) => format!("{} ({} or more)", three(found.value), three(lower)),
        (None, Some(upper)) => format!("{} (up to {})", three(found.value), three(upper)),
        (None, None) => format!("{} (too few)", three(found.value)),
    }
}

/// `11% slower`, `Slower`: the times that follow say by how much.
fn slower(value: f64) -> String {
    match value {
        value if value >= 2.0 => "Slower".into(),
        value if value > 1.0 => format!("{}% slower", significant(100.0 * (value - 1.0), 2)),
        value if value > 1.0 / 1.095 => capital(&times(value)),
        _ => "Faster".into(),
    }
}

/// `1.11 times as long (95%: 1.10 to 1.12)`.
fn as_long(value: f64, interval: &Interval) -> String {
    let [k, ends] = quoted(value, interval);
    let level = crate::confidence(interval.level);
    format!("{k} times as long ({level}: {}", ends.trim_start_matches('('))
}

/// A factor and its interval, with so many digits that its ends are told apart.
pub(crate) fn quoted(value: f64, interval: &Interval) -> [String; 2] {
    let width = interval.upper - interval.lower;
    let shown: Box<dyn Fn(f64) -> String> = match width > 0.0 && width < 0.01 && value < 10.0 {
        true => {
            let digits = (1.0 - width.log10().floor()).clamp(2.0, 9.0) as usize;
            Box::new(move |x| format!("{x:.digits$}"))
        }
        false => Box::new(three),
    };
    [shown(value), format!("({} to {})", shown(interval.lower), shown(interval.upper))]
}

/// What stands behind the headline, and what else is to be known of it.
fn details(found: &Comparison) -> String {
    let mut parts = vec![trusted(found)];
    for (name, arm) in [("baseline", &found.baseline), ("new", &found.new)] {
        parts.extend(arm.against.iter().map(|one| format!("The {name} values: {}.", super::finding(one))));
    }
    if found.code == ComparisonCode::NoDifference && is_undecided(found) && !found.level_moves() {
        parts.push(format!(
            "That 1 lies outside the interval is not enough: p of equal distributions is {}, and below {} counts.",
            probability(found.p_equal),
            significant(EQUALITY_SHARE * found.error, 2)
        ));
    }
    if matches!(found.code, ComparisonCode::Slower | ComparisonCode::Faster) && !found.is_negligible() {
        let kind = match found.slowdown() {
            Some(Slowdown::Factor) => "Every run takes k times as long, rather than the same amount longer.",
            Some(Slowdown::Shift) => "Every run takes the same amount longer, rather than k times as long.",
            Some(Slowdown::Undecided) => {
                "Whether it is a factor or a constant amount, these runs do not tell."
            }
            None => "",
        };
        parts.push(kind.into());
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

/// Which figure leads, and why it can be trusted.
pub fn trusted(found: &Comparison) -> String {
    match found.headline().by {
        Basis::Distribution => "By the GEV fit, with one factor between baseline and new values.".into(),
        Basis::Means => {
            "By the mean logarithms, without a distribution: the values are rounded, or few different ones."
                .into()
        }
        Basis::Pairs if found.is_dependent() => {
            "From all pairs of values, without a distribution; the interval allows for correlated values."
                .into()
        }
        Basis::Pairs => "From all pairs of values, without a distribution.".into(),
        Basis::Medians => "By the quantiles, without a distribution.".into(),
    }
}

/// What is said where the medians, which are shown too, are on the other side of 1 than the answer.
pub(crate) fn medians_apart(found: &Comparison) -> Option<String> {
    let Headline { value, interval, by, .. } = found.headline();
    let medians = found.median_ratio();
    let is_apart = !found.identical
        && !interval.contains(1.0)
        && by != Basis::Medians
        && (medians.value - 1.0) * (value - 1.0) < 0.0
        && three(medians.value) != three(1.0);
    let shown = medians.lower.unwrap_or(0.0) > 1.0 || medians.upper.unwrap_or(f64::INFINITY) < 1.0;
    is_apart.then(|| match shown {
        true => format!("The medians alone point the other way: {}.", ratio(&medians)),
        false => format!("The medians alone do not tell the sides apart: {}.", ratio(&medians)),
    })
}

/// What is said where the calls that make data safe are compared, and the time until data are safe differs otherwise.
pub(crate) fn until_safe_apart(rows: Option<&RowRatios>, found: &Comparison) -> Option<String> {
    let rows = rows?;
    let is_sync = rows.of_subject().is_some_and(|row| row.makes_safe);
    let safe = rows.rows.iter().find(|row| row.until_safe).filter(|_| is_sync && !found.identical)?;
    let Headline { value, interval, .. } = found.headline();
    let has_both_sides = interval.contains(1.0);
    let agrees = safe.p50.is_shown() && (safe.p50.value - 1.0) * (value - 1.0) > 0.0;
    let within = interval.contains(safe.p50.value);
    (!has_both_sides && !agrees || has_both_sides && safe.p50.is_shown() && !within).then(|| {
        let does = if agrees || safe.p50.is_shown() { "differs otherwise" } else { "is not shown to differ" };
        format!("The time until data are safe {does}: p50 {}.", ratio(&safe.p50))
    })
}

/// Advice, one sentence each.
pub fn advice(found: &Comparison) -> Vec<String> {
    let sentence = |advice: &ComparisonAdvice| match advice {
        ComparisonAdvice::MeasureMore { runs } => {
            format!("About {runs:.0} values of each would tell a factor from a constant amount.")
        }
        ComparisonAdvice::Interleave => {
            "One run a side does not show how much runs differ; lastrank ab, or directories of runs, do."
                .into()
        }
    };
    found.advice.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use results::RowRatio;
    use tail::congestion::{CompareOptions, Comparison, Estimate, QuantileRatio, compare};
    use tail::{Gev, Interval, Xoshiro};

    #[test]
    fn medians_on_the_other_side_of_one_are_told_and_others_are_not() {
        let distribution = Gev::new(10.0, 0.5, 0.1).unwrap();
        let [baseline, new] = [(1, 1.0), (2, 1.2)].map(|(seed, factor)| {
            let mut random = Xoshiro::new(seed);
            (0..200).map(|_| factor * distribution.sample(&mut random)).collect::<Vec<_>>()
        });
        let mut found = compare(&baseline, &new, &CompareOptions::default()).unwrap();
        assert_eq!(super::medians_apart(&found), None);
        let mut with = |value: f64, lower: f64, upper: f64| {
            found.robust.median_ratio = Estimate { value, interval: Interval::new(lower, upper, 0.95) };
            super::medians_apart(&found).unwrap_or_default()
        };
        assert_eq!(
            with(0.98, 0.95, 1.01),
            "The medians alone do not tell the sides apart: 0.980 (0.950–1.01)."
        );
        assert_eq!(with(0.9, 0.85, 0.95), "The medians alone point the other way: 0.900 (0.850–0.950).");
        assert_eq!(with(1.02, 0.95, 1.1), "");
    }

    #[test]
    fn a_time_until_safe_that_differs_otherwise_than_the_calls_is_told() {
        let distribution = Gev::new(10.0, 0.5, 0.1).unwrap();
        let values = |seed, factor: f64| {
            let mut random = Xoshiro::new(seed);
            (0..200).map(|_| factor * distribution.sample(&mut random)).collect::<Vec<_>>()
        };
        let compared =
            |factor| compare(&values(1, 1.0), &values(2, factor), &CompareOptions::default()).unwrap();
        let mut run = samples::example::parallel_write(1, 40, 1);
        run.sites.iter_mut().filter(|site| site.operation == "fclose").for_each(|site| {
            site.operation = "fsync".into();
        });
        let own = results::of_run(&run);
        let mut rows = results::compare_rows(&own, &own);
        let name = |row: &RowRatio| row.name.clone();
        rows.subject = rows.rows.iter().find(|row| row.makes_safe).map(name);
        assert!(rows.subject.is_some(), "{rows:?}");
        let safe = rows.rows.iter().position(|row| row.until_safe);
        let at = safe.unwrap_or_else(|| {
            let one = RowRatio { until_safe: true, makes_safe: false, ..rows.rows[0].clone() };
            rows.rows.push(one);
            rows.rows.len() - 1
        });
        let mut said = |found: &Comparison, value: f64, lower: f64, upper: f64| {
            rows.rows[at].p50 = QuantileRatio { value, lower: Some(lower), upper: Some(upper) };
            super::until_safe_apart(Some(&rows), found).unwrap_or_default()
        };
        let (faster, alike) = (compared(0.8), compared(1.0));
        assert_eq!(said(&faster, 0.81, 0.79, 0.83), "");
        let otherwise = "The time until data are safe differs otherwise: p50 1.10 (1.05–1.15).";
        assert_eq!(said(&faster, 1.1, 1.05, 1.15), otherwise);
        let unshown = "The time until data are safe is not shown to differ: p50 1.02 (0.970–1.07).";
        assert_eq!(said(&faster, 1.02, 0.97, 1.07), unshown);
        assert_eq!(said(&alike, 1.1, 1.05, 1.15), otherwise);
        assert_eq!(said(&alike, 1.02, 0.97, 1.07), "");
    }

    #[test]
    fn the_same_distribution_shows_no_difference() {
        let distribution = Gev::new(10.0, 0.5, 0.1).unwrap();
        let [baseline, new] = [1, 2].map(|seed| {
            let mut random = Xoshiro::new(seed);
            (0..200).map(|_| distribution.sample(&mut random)).collect::<Vec<_>>()
        });
        let found = compare(&baseline, &new, &CompareOptions::default()).unwrap();
        insta::assert_snapshot!(super::text(&found), @"No difference is shown: 0.998 times as long (95%: 0.990 to 1.01). By the GEV fit, with one factor between baseline and new values. Of pairs of equal samples, 5.0% are not answered with “no difference”.");
    }
}
