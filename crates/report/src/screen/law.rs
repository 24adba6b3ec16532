//! What a law says, in one line: whether to extrapolate, the stretches of a series, levels.

use results::{QuantileInterval, Quantiles};
use samples::units;
use tail::Gev;
use tail::assess::Assessment;
use tail::verdict::VerdictCode;

use super::number::three;
use super::paint::Tone;
use crate::stretches::Stretch;
use crate::words;

/// A sign, its tone, a sentence.
pub(super) type Verdict = (&'static str, Tone, String);

/// How one number is shown.
pub(super) type Show<'a> = &'a dyn Fn(f64) -> String;

/// Whether to extrapolate, in one sentence; `what` is what one value is called.
pub(super) fn verdict(found: &Assessment, what: &str, show: Show) -> Verdict {
    match found.verdict.code {
        VerdictCode::NotIndependent => ("✖", Tone::Bad, not_repetitions(found, what)),
        VerdictCode::NoMaximum => {
            ("✖", Tone::Bad, "Do not extrapolate: no law of maxima describes these values.".into())
        }
        VerdictCode::GevRejected => {
            ("✖", Tone::Bad, "Do not extrapolate: the law of maxima does not fit these values.".into())
        }
        VerdictCode::RivalPreferred => {
            let name = found.verdict.preferred.map_or("another", |family| family.name());
            ("✖", Tone::Bad, format!("Do not extrapolate: a {name} law fits better than that of maxima."))
        }
        VerdictCode::GevConsistent | VerdictCode::GevPreferred => {
            ("✔", Tone::Good, natural(found, what, show))
        }
        VerdictCode::TooFew => (
            "–",
            Tone::Faint,
            format!("{} {what}s are too few to say how rare slower ones are.", units::count(found.n as u64)),
        ),
    }
}

/// `Do not extrapolate: the level jumps up after step 88 of 400.`
fn not_repetitions(found: &Assessment, what: &str) -> String {
    let tests = found.diagnostics.independence.reasons();
    let first = tests.first().map(|test| &test.finding);
    let why = match first {
        Some(first) => words::finding_of(first, what),
        None => format!("these {what}s are not repetitions of one experiment"),
    };
    let more = match tests.len() {
        0 | 1 => String::new(),
        2 => " (and one more reason)".into(),
        n => format!(" (and {} more reasons)", n - 1),
    };
    format!("Do not extrapolate: {why}{more}.")
}

/// `The slow steps look natural: 214 ms, the longest of 400, is due once in 1 270 steps.`
fn natural(found: &Assessment, what: &str, show: Show) -> String {
    let rarity = 1.0 / found.law().survival(found.summary.maximum);
    let due = if rarity.is_finite() && rarity < 1e9 {
        format!("is due once in {} {what}s", three(rarity))
    } else {
        "is about the longest there can be".into()
    };
    format!(
        "The slow {what}s look natural: {}, the longest of {}, {due}.",
        show(found.summary.maximum),
        units::count(found.n as u64)
    )
}

/// What holds without a law: `median 13.2 ms (12.9 to 13.5), p99 146 ms (120 to 236); 400 steps count as 52`.
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
            (None, None) => "open".into(),
        };
        Some((format!("{name} {} ({ends})", show(value)), one.effective_n))
    };
    let typical = part("median", 0.5, found.p50)?;
    let slow = found.p99.and_then(|p99| part("p99", 0.99, p99));
    let least = slow.as_ref().map_or(typical.1, |slow| slow.1.min(typical.1)).round() as u64;
    let list: Vec<String> = std::iter::once(typical.0).chain(slow.map(|slow| slow.0)).collect();
    let count = match least == n as u64 {
        true => format!("{} {what}s", units::count(least)),
        false => format!("{} {what}s count as {}", units::count(n as u64), units::count(least)),
    };
    Some(format!("{}; {count}", list.join(", ")))
}

/// Each stretch in a line, the newest first: `since step 89 (312): median 13.2 ms (…), p99 …; natural`.
pub(super) fn stretches(found: &[Stretch], what: &str, show: Show) -> Vec<String> {
    found
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let when = match at {
                0 => format!("Since {what} {}", one.from),
                _ => format!("From {what} {} to {}", one.from, one.from + one.n - 1),
            };
            let held = holds(one.quantiles.as_ref(), &one.intervals, (one.n, what), show);
            let law = match one.verdict {
                None => String::new(),
                Some(VerdictCode::GevConsistent | VerdictCode::GevPreferred) => {
                    "; its law may be used".to_owned()
                }
                Some(VerdictCode::TooFew) => "; too few for a verdict".into(),
                Some(
                    VerdictCode::NotIndependent
                    | VerdictCode::NoMaximum
                    | VerdictCode::GevRejected
                    | VerdictCode::RivalPreferred,
                ) => "; do not extrapolate".into(),
            };
            format!("{when}: {}{law}.", held.unwrap_or_default())
        })
        .collect()
}

/// `location 11.2 ms, scale 101 µs, shape −0.05`.
pub(super) fn parameters(law: &Gev, show: Show) -> String {
    format!(
        "location {}, scale {}, shape {}",
        show(law.location),
        show(law.scale),
        crate::unit::fixed(law.shape, 3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tail::assess::{AssessOptions, assess};
    use tail::independence::TestFinding;

    #[test]
    fn the_level_jumps_where_the_stretches_meet() {
        let law = Gev::new(10e-3, 0.3e-3, 0.05).unwrap();
        let told = |steps: &[(usize, f64)]| {
            let mut random = tail::Xoshiro::new(5);
            let level = |(n, factor): &(usize, f64)| vec![*factor; *n];
            let levels: Vec<f64> = steps.iter().flat_map(level).collect();
            let values: Vec<f64> = levels.iter().map(|factor| factor * law.sample(&mut random)).collect();
            let options = AssessOptions { bootstrap: 99, ..AssessOptions::default() };
            let found = assess(&values, &options).unwrap();
            let newest = Stretch::all(&found, &values, &options)[0].from;
            let mut tests = found.diagnostics.independence.rejected().map(|test| &test.finding);
            let jump = tests.find(|finding| matches!(finding, TestFinding::Jump { .. })).unwrap();
            (words::finding_of(jump, "step"), newest)
        };
        let (words, newest) = told(&[(150, 1.0), (250, 1.6)]);
        assert_eq!(words, format!("the level jumps up after step {} of 400", newest - 1));
        let (words, newest) = told(&[(100, 1.0), (200, 1.6), (100, 1.2)]);
        assert_eq!(words, format!("the level jumps 2 times, at last down after step {} of 400", newest - 1));
    }
}
