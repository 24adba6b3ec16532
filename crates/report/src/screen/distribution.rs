//! What a distribution says, in one line: what may be done with the values, the stretches of a series, levels.

use results::{QuantileInterval, Quantiles};
use samples::units;
use tail::assess::Assessment;
use tail::independence::Question;
use tail::verdict::{FEWEST_FOR_VERDICT, Usability, VerdictCode};

use super::paint::Tone;
use crate::stretches::Stretch;
use crate::unit::{Unit, fixed};
use crate::words;

/// A sign, its tone, a sentence.
pub(super) type Verdict = (&'static str, Tone, String);

/// How one number is shown.
pub(super) type Show<'a> = &'a dyn Fn(f64) -> String;

/// What may be done with the values, in one or two sentences; `what` is what one value is called.
pub(super) fn verdict(found: &Assessment, what: &str, show: Show) -> Verdict {
    match found.verdict.usability {
        Usability::Natural => ("✔", Tone::Good, natural(found, what, show)),
        Usability::InParts => ("⚠", Tone::Caution, in_parts(found, what)),
        Usability::NotUsable => ("⚠", Tone::Caution, not_usable(found, what, show)),
        Usability::TooFew => (
            "–",
            Tone::Faint,
            format!(
                "{} {what}s are too few to say how rare slower ones are{}; {FEWEST_FOR_VERDICT} are enough for a verdict.",
                units::count(found.n as u64),
                match found.verdict.code {
                    VerdictCode::GevRejected => ", and the GEV distribution does not fit them",
                    _ => "",
                }
            ),
        ),
    }
}

/// `Usable with care: the level jumps up after step 88 of 400. Quote each part by itself.`
fn in_parts(found: &Assessment, what: &str) -> String {
    let independence = &found.diagnostics.independence;
    let Some(test) = independence.reasons().first().copied() else {
        return format!("Usable with care: these {what}s are not repetitions of one experiment.");
    };
    let why = words::finding_in_short(&test.finding, what);
    let few = match independence.tells_changes() || independence.sorted {
        false => {
            format!(
                " {} {what}s are too few to tell whether the level changed.",
                units::count(found.n as u64)
            )
        }
        true => String::new(),
    };
    match test.question {
        Question::Jump => format!("Usable with care: {why}. Quote each part by itself."),
        Question::Trend => {
            format!("Usable with care: {why}. `lastrank fit FILE --values FROM-TO` looks at a part.")
        }
        Question::Modes => format!("Usable with care: {why}. Quote each kind by itself."),
        Question::Autocorrelation | Question::SlowValues => {
            format!(
                "Usable with care: {why}. What was measured holds, rarer {what}s cannot be predicted.{few}"
            )
        }
    }
}

/// `Not usable to predict rarer steps: the GEV distribution does not fit these.`
fn not_usable(found: &Assessment, what: &str, show: Show) -> String {
    let why = match found.verdict.code {
        VerdictCode::Rounded => {
            let tick = found.tick.map_or(String::new(), |tick| format!(" to {}", even(&show(tick))));
            return format!(
                "No verdict: the {what}s are rounded{tick}, so only {} differ. Record more digits.",
                found.distinct
            );
        }
        VerdictCode::NoMaximum => "no GEV distribution describes these".to_owned(),
        VerdictCode::RivalPreferred => {
            let name = found.verdict.preferred.map_or("another", |family| family.name());
            format!("a {name} distribution fits better than the GEV")
        }
        VerdictCode::NoMean => {
            let shape = fixed(found.distribution().shape, 2);
            format!("the tail has no limit in sight (shape {shape}, so that the mean is infinite)")
        }
        VerdictCode::GevRejected
        | VerdictCode::NotIndependent
        | VerdictCode::GevConsistent
        | VerdictCode::GevPreferred
        | VerdictCode::TooFew => "the GEV distribution does not fit these".to_owned(),
    };
    format!("Not usable to predict rarer {what}s: {why}. Quote what was measured.")
}

/// A number without zeros behind its point: `1 ms`.
fn even(shown: &str) -> String {
    let (number, unit) =
        shown.split_once(' ').map_or((shown, String::new()), |(n, unit)| (n, format!(" {unit}")));
    match number.contains('.') {
        true => format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => shown.to_owned(),
    }
}

/// What a reader must know of the numbers beside the verdict: that they are rounded, or sorted.
pub(super) fn notes(found: &Assessment, what: &str, show: Show) -> Vec<String> {
    let rounded = found.diagnostics.rounded.filter(|_| found.verdict.code != VerdictCode::Rounded);
    let rounded = rounded.map(|rounded| {
        format!(
            "The {what}s are rounded to {}: what is fitted are steps of that width.",
            even(&show(rounded.tick))
        )
    });
    let sorted =
        found.diagnostics.independence.sorted.then(|| {
            format!("The {what}s are sorted: whether they changed or came in clusters cannot be seen.")
        });
    let alone = found
        .gev
        .influence
        .filter(|one| one.shift > MOST_INFLUENCE && found.verdict.usability == Usability::Natural);
    let alone = alone.map(|one| {
        format!(
            "One value, {}, moves the fit by {} standard errors: find out what it was before you rely on predictions.",
            show(one.value),
            fixed(one.shift, 1)
        )
    });
    rounded.into_iter().chain(sorted).chain(alone).collect()
}

/// No value of a natural series of 100 moves the fit so far: of 240 (shapes -0.2 to 0.3) the most influential did by 1.7.
const MOST_INFLUENCE: f64 = 3.0;

/// How rare the longest is, is known up to this many times the number of values: as far as hydrologists trust a record of
/// floods. Beyond, a single number would be off by more than ten times in 3% of natural series.
const KNOWN_RARITY: f64 = 4.0;

/// `The slow steps look natural: about 14 of 100 runs like this one have a step over 214 ms, the slowest here.`
fn natural(found: &Assessment, what: &str, show: Show) -> String {
    let rarity = 1.0 / found.distribution().survival(found.summary.maximum);
    let known = KNOWN_RARITY * found.n as f64;
    // Of series as long as this one: 1 - (1 - 1/rarity)^n of them have a value like it.
    let in_100 = -100.0 * (-(found.n as f64) / rarity.min(known)).exp_m1();
    let chance = match (rarity > known, in_100) {
        (true, _) => format!("about {} or fewer of 100", in_100.round()),
        (false, in_100) if in_100 > 99.0 => "more than 99 of 100".to_owned(),
        (false, _) => format!("about {} of 100", in_100.round()),
    };
    let series = if matches!(what, "step" | "sample") { "runs" } else { "series" };
    format!(
        "The slow {what}s look natural: {chance} {series} like this one have a {what} over {}, the slowest here.",
        show(found.summary.maximum),
    )
}

/// What holds without a distribution: `median 13.2 ms (95%: 12.9 to 13.5), p99 146 ms (120 to 236); 400 steps`. Without `intervals` of
/// p99 no p99: a table has it.
pub(super) fn holds(
    quantiles: Option<&Quantiles>,
    intervals: &[QuantileInterval],
    (n, what): (usize, &str),
    show: Show,
) -> Option<String> {
    let found = quantiles?;
    let part = |name: &str, p: f64, value: f64| {
        let one = intervals.iter().find(|one| one.probability == p)?;
        let ends = match (one.lower_seconds, one.upper_seconds) {
            (Some(lower), Some(upper)) => format!("{} to {}", show(lower), show(upper)),
            (Some(lower), None) => format!("{} or more", show(lower)),
            (None, Some(upper)) => format!("up to {}", show(upper)),
            (None, None) => {
                return Some(format!("{name} {} (no interval: too few independent values)", show(value)));
            }
        };
        // The first one says what the brackets are.
        let level = if p == 0.5 { "95%: " } else { "" };
        Some(format!("{name} {} ({level}{ends})", show(value)))
    };
    let typical = part("median", 0.5, found.p50)?;
    let slow = found.p99.and_then(|p99| part("p99", 0.99, p99));
    let list: Vec<String> = std::iter::once(typical).chain(slow).collect();
    Some(format!("{}; {} {what}s", list.join(", "), units::count(n as u64)))
}

/// The stretches in which the level holds, the longest of them in the order of time, newest first, each in a line:
/// `Since step 89: median 13.2 ms (…), p99 …; 312 steps`; and one line for the rest, so that they cover the run. A part that
/// is longer than one of these is left out because its level moves. Empty
/// where those with a line are less than half of the values.
pub(super) fn stretches(found: &[Stretch], most: usize, what: &str, show: Show) -> Vec<String> {
    let n: usize = found.iter().map(|one| one.n).sum();
    let mut told: Vec<usize> = (0..found.len()).filter(|at| found[*at].level_holds).collect();
    told.sort_by_key(|at| std::cmp::Reverse(found[*at].n));
    told.truncate(most);
    told.sort_unstable();
    let covered: usize = told.iter().map(|at| found[*at].n).sum();
    if 2 * covered < n {
        return Vec::new();
    }
    let mut lines: Vec<String> = told.iter().map(|at| stretch(&found[*at], *at == 0, what, show)).collect();
    if covered < n {
        let shortest = told.iter().map(|at| found[*at].n).min().unwrap_or(0);
        let rest = || (0..found.len()).filter(|at| !told.contains(at)).map(|at| found[at].n);
        let holds = (0..found.len()).any(|at| found[at].level_holds && !told.contains(&at));
        let parts = match (rest().any(|n| n <= shortest), rest().any(|n| n > shortest)) {
            (_, false) if holds => "in shorter parts",
            (_, false) => "where the level still moves",
            (true, true) => "in shorter parts, or where the level still moves",
            (false, true) => "where the level still moves",
        };
        lines.push(format!("The other {} {what}s are {parts}.", units::count((n - covered) as u64)));
    }
    lines
}

/// `Parts: steps 1-88 (median 13.2 ms), 89-400 (median 14.1 ms); lastrank fit lists them as commands.` None where nothing
/// changed.
pub(super) fn parts(found: &[Stretch], what: &str, show: Show) -> Option<String> {
    /// Parts that a line has room for.
    const MOST: usize = 4;
    let ends = |one: &Stretch| {
        let median =
            one.quantiles.as_ref().map_or(String::new(), |found| format!(" (median {})", show(found.p50)));
        format!("{}-{}{median}", count(one.from), count(one.from + one.n - 1))
    };
    let (told, more) = found.split_at(found.len().min(MOST));
    let listed: Vec<String> = told.iter().rev().map(ends).collect();
    let earlier = if more.is_empty() { String::new() } else { format!(" and {} earlier parts", more.len()) };
    let command = commands_of(found.len(), found.iter().filter(|part| is_worth_a_fit(part)).count());
    (!found.is_empty()).then(|| format!("Parts: {what}s {}{earlier}{command}.", listed.join(", ")))
}

/// Parts that `fit` gives a command for.
pub(super) const MOST_PARTS: usize = 3;

/// Whether a fit of a part alone may say more than that of all: not of one whose level moves as well, or whose own fit is known
/// to be of no use.
pub(super) fn is_worth_a_fit(part: &Stretch) -> bool {
    let useless = |code: VerdictCode| matches!(code.usability(), Usability::InParts | Usability::NotUsable);
    part.n >= FEWEST_FOR_VERDICT && part.level_holds && !part.verdict.is_some_and(useless)
}

/// What `fit` says of so many parts, so many of which are worth a fit.
fn commands_of(parts: usize, worth: usize) -> &'static str {
    match worth {
        0 => "",
        _ if worth == parts && worth <= MOST_PARTS => "; `lastrank fit` gives a command for each",
        1 => "; `lastrank fit` gives a command for one of them",
        _ => "; `lastrank fit` gives commands for some of them",
    }
}

/// The number of a value, in groups of three digits.
fn count(value: usize) -> String {
    units::count(value as u64)
}

fn stretch(one: &Stretch, is_newest: bool, what: &str, show: Show) -> String {
    let when = match is_newest {
        true => format!("Since {what} {}", count(one.from)),
        false => format!("From {what} {} to {}", count(one.from), count(one.from + one.n - 1)),
    };
    let held = holds(one.quantiles.as_ref(), &one.intervals, (one.n, what), show);
    let distribution = match one.verdict.map(VerdictCode::usability) {
        None => "",
        Some(Usability::Natural) => "; its fit may be used",
        Some(Usability::TooFew) => "; too few for a verdict",
        Some(Usability::InParts | Usability::NotUsable) => "; no fit may be used",
    };
    format!("{when}: {}{distribution}.", held.unwrap_or_default())
}

/// `location 11.2 ms, scale 101 µs, shape −0.05`; of rounded values with the standard error of the shape.
pub(super) fn parameters(found: &Assessment, show: Show) -> String {
    let distribution = found.distribution();
    let errors = found.diagnostics.rounded.and(found.gev.standard_errors);
    let shape = match errors {
        Some(errors) => {
            let (shape, error) = Unit::NONE.with_error(distribution.shape, errors.shape);
            format!("{shape} ± {error}")
        }
        None => fixed(distribution.shape, 3),
    };
    format!("location {}, scale {}, shape {shape}", show(distribution.location), show(distribution.scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::three;
    use tail::Gev;
    use tail::assess::{AssessOptions, assess};
    use tail::independence::TestFinding;

    #[test]
    fn no_more_commands_are_promised_than_fit_gives() {
        assert!(commands_of(3, 3).ends_with("for each") && commands_of(1, 1).ends_with("for each"));
        assert!(commands_of(4, 4).contains("some of") && commands_of(3, 2).contains("some of"));
        assert!(commands_of(2, 1).contains("one of them") && commands_of(2, 0).is_empty());
    }

    #[test]
    fn a_value_that_moves_the_fit_is_told_beside_the_verdict() {
        let distribution = Gev::new(10e-3, 1e-3, -0.2).unwrap();
        let mut random = tail::Xoshiro::new(6);
        let mut values: Vec<f64> = (0..100).map(|_| distribution.sample(&mut random)).collect();
        let told = |values: &[f64]| {
            let options = AssessOptions { bootstrap: 99, ..AssessOptions::default() };
            let found = assess(values, &options).unwrap();
            (found.verdict.usability, notes(&found, "step", &three))
        };
        assert_eq!(told(&values), (Usability::Natural, vec![]));
        values[50] = 19e-3;
        let (usability, notes) = told(&values);
        assert_eq!(usability, Usability::Natural);
        assert!(notes.concat().starts_with("One value, 0.0190, moves the fit by "), "{notes:?}");
    }

    #[test]
    fn a_distribution_without_a_mean_gets_no_good_sign() {
        let told = |shape: f64| {
            let distribution = Gev::new(10e-3, 1e-3, shape).unwrap();
            let mut random = tail::Xoshiro::new(5);
            let values: Vec<f64> = (0..400).map(|_| distribution.sample(&mut random)).collect();
            let found =
                assess(&values, &AssessOptions { bootstrap: 99, ..AssessOptions::default() }).unwrap();
            let natural = if shape < 1.0 { Usability::Natural } else { Usability::NotUsable };
            assert_eq!(found.verdict.usability, natural, "{shape}");
            verdict(&found, "step", &three)
        };
        let (sign, tone, text) = told(1.4);
        assert!(sign == "⚠" && tone == Tone::Caution && text.contains("the mean is infinite"), "{text}");
        let (sign, _, text) = told(0.2);
        assert!(sign == "✔" && text.contains("look natural"), "{text}");
    }

    #[test]
    fn the_screen_and_the_json_have_one_word_for_few_values() {
        let told = |n: usize, phi: f64, step: f64, tick: f64| {
            let mut random = tail::Xoshiro::new(11);
            let mut state = 0.0;
            let values: Vec<f64> = (0..n)
                .map(|at| {
                    state = phi * state + random.normal();
                    let value = 50.0 + state + if 2 * at >= n { step } else { 0.0 };
                    if tick > 0.0 { (value / tick).round() * tick } else { value }
                })
                .collect();
            let options = AssessOptions { bootstrap: 99, ..AssessOptions::default() };
            let found = assess(&values, &options).unwrap();
            let word =
                serde_json::to_value(&found.verdict).unwrap()["usability"].as_str().unwrap().to_owned();
            (word, verdict(&found, "step", &three).2, found.verdict)
        };
        for (n, phi, step, tick, wanted, words) in [
            (60, 0.9, 0.0, 0.0, "too-few", "60 steps are too few"),
            (150, 0.9, 0.0, 0.0, "in-parts", "Usable with care: "),
            (60, 0.0, 9.0, 0.0, "in-parts", "Usable with care: "),
            (60, 0.0, 0.0, 1.3, "not-usable", "No verdict: "),
            (60, 0.0, 0.0, 0.0, "too-few", "60 steps are too few"),
        ] {
            let (word, text, found) = told(n, phi, step, tick);
            assert!(word == wanted && text.starts_with(words), "{n} {phi} {step}: {word}, {text}");
            // Levels of correlated values are not shown because these are few.
            assert_eq!(
                found.is_distribution_shown(),
                n < 100 && (phi, step, tick) == (0.0, 0.0, 0.0),
                "{n} {phi}"
            );
        }
    }

    #[test]
    fn a_part_whose_level_moves_is_not_called_shorter() {
        let part = |from: usize, n: usize, level_holds: bool| Stretch {
            from,
            n,
            quantiles: None,
            intervals: Vec::new(),
            distribution: None,
            verdict: None,
            level_holds,
        };
        let last =
            |parts: &[Stretch]| stretches(parts, 2, "sample", &|value: f64| value.to_string()).pop().unwrap();
        let long = [part(1601, 900, true), part(601, 600, true)];
        let with = |others: &[(usize, bool)]| {
            let others = others.iter().map(|(n, holds)| part(1, *n, *holds));
            last(&long.iter().cloned().chain(others).collect::<Vec<_>>())
        };
        assert_eq!(with(&[(200, true), (40, false)]), "The other 240 samples are in shorter parts.");
        assert_eq!(with(&[(872, false)]), "The other 872 samples are where the level still moves.");
        assert_eq!(with(&[(41, false)]), "The other 41 samples are where the level still moves.");
        let both = with(&[(872, false), (200, true)]);
        assert_eq!(both, "The other 1,072 samples are in shorter parts, or where the level still moves.");
    }

    #[test]
    fn the_level_jumps_where_the_stretches_meet() {
        let distribution = Gev::new(10e-3, 0.3e-3, 0.05).unwrap();
        let told = |steps: &[(usize, f64)]| {
            let mut random = tail::Xoshiro::new(5);
            let level = |(n, factor): &(usize, f64)| vec![*factor; *n];
            let levels: Vec<f64> = steps.iter().flat_map(level).collect();
            let values: Vec<f64> =
                levels.iter().map(|factor| factor * distribution.sample(&mut random)).collect();
            let options = AssessOptions { bootstrap: 99, ..AssessOptions::default() };
            let found = assess(&values, &options).unwrap();
            let newest = Stretch::all(&found, (&values, &[]), &options)[0].from;
            let mut tests = found.diagnostics.independence.rejected().map(|test| &test.finding);
            let jump = tests.find(|finding| matches!(finding, TestFinding::Jump { .. })).unwrap();
            (words::finding_in_short(jump, "step"), newest)
        };
        let (words, newest) = told(&[(150, 1.0), (250, 1.6)]);
        assert_eq!(words, format!("the level jumps up after step {} of 400", newest - 1));
        let (words, newest) = told(&[(100, 1.0), (200, 1.6), (100, 1.2)]);
        assert_eq!(words, format!("the level jumps 2 times, at last down after step {} of 400", newest - 1));
    }
}
