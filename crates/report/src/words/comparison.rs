//! The verdict of a comparison of two samples.

use tail::congestion::{Comparison, ComparisonAdvice, ComparisonCode, Slowdown};

use crate::unit::probability;

/// What was found, in one to three sentences.
pub fn text(found: &Comparison) -> String {
    let k = &found.factor;
    let interval = format!("k = {:.4} ({:.4} to {:.4})", k.value, k.interval.lower, k.interval.upper);
    match found.code {
        ComparisonCode::NotIndependent => {
            let mut against: Vec<String> = Vec::new();
            for (name, arm) in [("quiet", &found.quiet), ("new", &found.new)] {
                against.extend(arm.against.iter().map(|one| format!("{name} runs: {}", super::finding(one))));
            }
            format!(
                "{interval}, but the runs are not independent draws of one law, so its interval is too narrow. {}.",
                against.join("; ")
            )
        }
        ComparisonCode::NoDifference => format!("No difference is shown: {interval}."),
        ComparisonCode::Slower | ComparisonCode::Faster => {
            let percent = 100.0 * (k.value - 1.0).abs();
            let direction = if k.value > 1.0 { "slower" } else { "faster" };
            let kind = match found.slowdown() {
                Slowdown::Factor => "Every run takes k times as long, rather than the same amount longer.",
                Slowdown::Shift => "Every run takes the same amount longer, rather than k times as long.",
                Slowdown::Undecided => "Whether it is a factor or a constant amount, these runs do not tell.",
            };
            format!("{percent:.1} % {direction}: {interval}. {kind}")
        }
        ComparisonCode::OtherDifference => format!(
            "The runs differ, but not by one factor: {interval} is only a rough average (separate laws fit \
             better, p {}{}).",
            probability(k.p),
            if found.agrees { "" } else { "; the model-free ratio disagrees" }
        ),
    }
}

/// What to do next, a sentence each.
pub fn advice(found: &Comparison) -> Vec<String> {
    let sentence = |advice: &ComparisonAdvice| match advice {
        ComparisonAdvice::MeasureMore { runs } => {
            format!("About {runs:.0} runs of each would tell a factor from a constant amount.")
        }
        ComparisonAdvice::UseModelFreeRatio => {
            let ratio = &found.robust.hodges_lehmann;
            format!(
                "Use the model-free ratio, whose interval allows for dependence: {:.4} ({:.4} to {:.4}).",
                ratio.value, ratio.interval.lower, ratio.interval.upper
            )
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
        insta::assert_snapshot!(super::text(&found), @"No difference is shown: k = 0.9983 (0.9895 to 1.0072).");
    }
}
