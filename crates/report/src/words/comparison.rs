//! Words the verdict of a comparison of two samples.

use tail::Interval;
use tail::congestion::{Comparison, ComparisonAdvice, ComparisonCode, ERROR_SHARES, Slowdown};

use crate::unit::{probability, significant};

/// The finding, in two to four sentences.
pub fn text(found: &Comparison) -> String {
    format!("{} {}", answer(found), error(found))
}

/// The error rate of the answer.
fn error(found: &Comparison) -> String {
    format!(
        "Of pairs of equal samples, {} % are not answered with \u{201c}no difference\u{201d}.",
        significant(100.0 * found.error, 2)
    )
}

fn answer(found: &Comparison) -> String {
    let headline = found.headline();
    let numbers = |value: f64, interval: &Interval| {
        format!("{value:.4} ({:.4} to {:.4})", interval.lower, interval.upper)
    };
    let quoted = numbers(headline.value, &headline.interval);
    match found.code {
        ComparisonCode::NotIndependent => {
            let mut against: Vec<String> = Vec::new();
            for (name, arm) in [("quiet", &found.quiet), ("new", &found.new)] {
                against.extend(arm.against.iter().map(|one| format!("{name} runs: {}", super::finding(one))));
            }
            format!(
                "The runs are not independent draws of one law ({}). Over all pairs of runs, the new ones take {quoted} \
                 times as long, with an interval that allows for dependence.",
                against.join("; ")
            )
        }
        ComparisonCode::NoDifference => {
            let outside = if headline.interval.contains(1.0) {
                String::new()
            } else {
                format!(
                    " That 1 lies outside the interval is not enough: p of equal laws is {}, and below {} counts.",
                    probability(found.p_equal),
                    significant(ERROR_SHARES[1] * found.error, 2)
                )
            };
            format!("No difference is shown: k = {quoted}.{outside}")
        }
        ComparisonCode::Slower | ComparisonCode::Faster => {
            let percent = 100.0 * (headline.value - 1.0).abs();
            let direction = if headline.value > 1.0 { "slower" } else { "faster" };
            let kind = match found.slowdown() {
                Slowdown::Factor => "Every run takes k times as long, rather than the same amount longer.",
                Slowdown::Shift => "Every run takes the same amount longer, rather than k times as long.",
                Slowdown::Undecided => "Whether it is a factor or a constant amount, these runs do not tell.",
            };
            format!("{percent:.1} % {direction}: k = {quoted}. {kind}")
        }
        ComparisonCode::OtherDifference => {
            let why = if found.factor.p < 0.05 {
                format!("separate laws fit better, p {}", probability(found.factor.p))
            } else {
                format!(
                    "the factor of the law, {:.4}, disagrees with the ratio over all pairs",
                    found.factor.value
                )
            };
            format!(
                "The runs differ, but not by one factor ({why}). Over all pairs of runs, the new ones take {quoted} times \
                 as long; small and large values differ by other factors than this."
            )
        }
    }
}

/// Advice, one sentence each.
pub fn advice(found: &Comparison) -> Vec<String> {
    let sentence = |advice: &ComparisonAdvice| match advice {
        ComparisonAdvice::MeasureMore { runs } => {
            format!("About {runs:.0} runs of each would tell a factor from a constant amount.")
        }
        ComparisonAdvice::Interleave => {
            "Interleave quiet and new runs (ABAB): otherwise drift is read as congestion.".into()
        }
    };
    found.advice.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use tail::congestion::{CompareOptions, compare};
    use tail::{Gev, Xoshiro};

    #[test]
    fn the_same_law_shows_no_difference() {
        let law = Gev::new(10.0, 0.5, 0.1).unwrap();
        let [quiet, new] = [1, 2].map(|seed| {
            let mut random = Xoshiro::new(seed);
            (0..200).map(|_| law.sample(&mut random)).collect::<Vec<_>>()
        });
        let found = compare(&quiet, &new, &CompareOptions::default()).unwrap();
        insta::assert_snapshot!(super::text(&found), @"No difference is shown: k = 0.9983 (0.9895 to 1.0072). Of pairs of equal samples, 5.0 % are not answered with “no difference”.");
    }
}
