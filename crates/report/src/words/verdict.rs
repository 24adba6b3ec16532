//! Words the verdict of an assessment, its findings and its advice.

use tail::assess::Assessment;
use tail::rivals::Family;
use tail::verdict::{
    Advice, Explained, FEWEST_DISTINCT, FEWEST_FOR_VERDICT, Finding, Preference, Usability, VerdictCode,
};

use super::number::{any_of, capital, cases, runs};
use crate::unit::{confidence, probability, significant};

/// What a verdict permits, in one to three words.
pub fn usability(found: Usability) -> &'static str {
    match found {
        Usability::Natural => "natural",
        Usability::InParts => "usable with care",
        Usability::NotUsable => "not usable",
        Usability::TooFew => "too few",
    }
}

/// The finding and its certainty, in one to three sentences.
pub fn text(found: &Assessment) -> String {
    let text = conclusion(found);
    match found.verdict.code {
        VerdictCode::NotIndependent
        | VerdictCode::NoMaximum
        | VerdictCode::GevRejected
        | VerdictCode::RivalPreferred => format!(
            "{text} Of samples that are independent draws of a GEV, at most {} get a verdict against it.",
            confidence(found.verdict.levels.whole)
        ),
        VerdictCode::GevConsistent
        | VerdictCode::GevPreferred
        | VerdictCode::NoMean
        | VerdictCode::TooFew
        | VerdictCode::Rounded => text,
    }
}

fn conclusion(found: &Assessment) -> String {
    let verdict = &found.verdict;
    match verdict.code {
        VerdictCode::NotIndependent => format!(
            "These values are not independent draws of one distribution: {}. Levels and intervals of a fit to all \
             of them do not hold.",
            super::against(&found.diagnostics.independence).join("; ")
        ),
        VerdictCode::NoMaximum => "No GEV describes these values: the likelihood grows without an interior maximum \
                                   (a hard upper end, or many equal smallest values). The numbers are those at the \
                                   bound."
            .into(),
        VerdictCode::GevRejected => {
            let p = found.diagnostics.goodness_of_fit.as_ref().map_or(f64::NAN, |test| test.p.smaller);
            format!(
                "The GEV does not fit: of samples simulated from the fitted GEV, {} are as far from their own fit. \
                 Do not extrapolate with it.",
                cases(p)
            )
        }
        VerdictCode::RivalPreferred => {
            let name = verdict.preferred.map_or("another distribution", Family::name);
            format!(
                "A {name} distribution describes these values better than the GEV (Vuong's z below {:.2}): do not \
                 extrapolate with the GEV. What shapes them this does not tell: maxima of few parts, or of parts \
                 that depend on each other, can also be closer to another distribution.",
                verdict.levels.better
            )
        }
        VerdictCode::GevConsistent if found.alternatives.is_empty() => {
            format!("Consistent with a GEV ({}), but no other distribution could be compared.", shape(found))
        }
        // Densities at rounded values are not those of what was measured.
        VerdictCode::GevConsistent if found.diagnostics.rounded.is_some() => format!(
            "Consistent with a GEV ({}). The values are rounded: which other distribution describes them better or worse does \
             not count.",
            shape(found)
        ),
        VerdictCode::GevConsistent => {
            let names: Vec<&str> = verdict.not_distinguished.iter().map(|family| family.name()).collect();
            format!(
                "Consistent with a GEV ({}), but {} values do not distinguish it from {}.",
                shape(found),
                count(found.n),
                any_of(&names, "any other distribution")
            )
        }
        VerdictCode::GevPreferred => {
            let names: Vec<&str> = found.alternatives.iter().map(|rival| rival.name.as_str()).collect();
            format!(
                "A GEV ({}) fits and is preferred to every distribution it was compared with: {}. Not every distribution was compared.",
                shape(found),
                any_of(&names, "any other distribution")
            )
        }
        VerdictCode::NoMean => format!(
            "A GEV ({}) fits, but it has no mean: the next longest may be any number of times as long. Do not extrapolate \
             with it.",
            shape(found)
        ),
        VerdictCode::Rounded => format!(
            "{} values have {} different ones: they are rounded, so that no distribution can be told from another. A verdict \
             needs at least {FEWEST_DISTINCT} different ones.",
            count(found.n),
            count(found.distinct)
        ),
        VerdictCode::TooFew => format!(
            "{} values show nothing against a GEV ({}), but they are too few to tell: a verdict needs at least \
             {FEWEST_FOR_VERDICT}, that is {} more.",
            found.n,
            shape(found),
            FEWEST_FOR_VERDICT.saturating_sub(found.n)
        ),
    }
}

/// A number of values, in groups of three digits.
fn count(values: usize) -> String {
    samples::units::count(values as u64)
}

/// The shape with its interval.
fn shape(found: &Assessment) -> String {
    let shape = found.gev.shape;
    let Some(interval) = found.gev.intervals.and_then(|intervals| intervals.shape) else {
        return format!("shape {shape:.3}");
    };
    let (lower, upper) = (interval.lower, interval.upper);
    let ends = format!("shape {shape:.3}, {lower:.3} to {upper:.3}");
    if lower > 0.0 {
        format!("heavy tail: {ends}")
    } else if upper < 0.0 {
        format!("bounded tail: {ends}")
    } else {
        format!("{ends}: heavy, exponential or bounded tail is undecided")
    }
}

/// The findings of the verdict, one sentence each.
pub fn findings(found: &Assessment) -> Vec<String> {
    found.verdict.findings.iter().map(|one| finding(one, found)).collect()
}

/// The value that changes the fit by itself, if there is one, for a note next to the verdict.
pub fn outlier(found: &Assessment) -> Option<String> {
    let influence = found.verdict.findings.iter().find(|one| matches!(one, Finding::Influence { .. }))?;
    Some(finding(influence, found))
}

fn finding(one: &Finding, found: &Assessment) -> String {
    match one {
        Finding::Independence { test } => {
            let mark = if test.rejected { "Against" } else { "For" };
            let small = if test.negligible { "; what it shows is too small to matter" } else { "" };
            format!(
                "{mark} independent draws of one distribution: {} ({}, adjusted p {}{small}).",
                super::finding(&test.finding),
                test.name,
                probability(test.p_adjusted)
            )
        }
        Finding::LevelChanges { at } => {
            let at: Vec<String> = at.iter().map(|at| count(*at)).collect();
            format!("The level changes at value {}.", at.join(", "))
        }
        Finding::Mode { number, of, mode } => format!(
            "Mode {number} of {of}: {} values ({:.0}%) around {}.",
            count(mode.count),
            100.0 * mode.share,
            beside_the_median(mode.location, found)
        ),
        Finding::LineInTime { explained, change_in_scales, p, shape } => {
            let words = match explained {
                Explained::Nothing => "does not explain it",
                Explained::Part => "explains a part of it",
                Explained::All => "explains it all",
            };
            format!(
                "A straight line in time {words}: the location changes by {change_in_scales:+.1} scales over the run \
                 (likelihood ratio p {}), and around the line the shape is {shape:.3}.",
                probability(*p)
            )
        }
        Finding::GoodnessOfFit { tests, of_smaller_samples, level } => format!(
            "Fit of the GEV: A² {:.3} (p {}), upper-tail AU² {:.3} (p {}); together p {} from {} refits{}. \
             The GEV is rejected below {}{}.",
            tests.statistics.a2,
            probability(tests.p.a2),
            tests.statistics.au2,
            probability(tests.p.au2),
            probability(tests.p.smaller),
            tests.replicates,
            if *of_smaller_samples {
                format!(" of samples of {} values", runs(tests.sample_size as f64))
            } else {
                String::new()
            },
            significant(*level, 3),
            match tests.is_small_misfit(found.n, *level) {
                true => format!(
                    ", but its quantiles are within {}% of the measured ones: too little to matter",
                    significant(100.0 * tests.distance, 2)
                ),
                false => String::new(),
            }
        ),
        Finding::GumbelDistribution { suffices, p } => {
            let words = if *suffices { "would do as well" } else { "is not enough" };
            format!("A Gumbel distribution, shape 0, {words} (p {}).", probability(*p))
        }
        Finding::Rival { family, preference, z, aic_weight } => {
            let words = match preference {
                None => return format!("{} cannot be compared with the GEV here.", capital(family.name())),
                Some(Preference::Gev) => "is worse than the GEV",
                Some(Preference::Rival) => "is better than the GEV",
                Some(Preference::Neither) => "is not told from the GEV",
            };
            format!("{} {words} (Vuong z {z:+.2}, AIC weight {aic_weight:.3}).", capital(family.name()))
        }
        Finding::Influence { largest, influence } => format!(
            "The {} value, {}, moves the fit by {:.1} standard errors; without it the shape is {:.3}.",
            if *largest { "largest" } else { "smallest" },
            beside_the_median(influence.value, found),
            influence.shift,
            influence.shape_without
        ),
        Finding::NoInteriorMaximum => {
            "The likelihood of the GEV has no interior maximum: its numbers are those at the bound.".into()
        }
        Finding::NoStandardErrors => {
            "The shape is below -1/2: standard errors do not exist there; trust the intervals only.".into()
        }
        Finding::CoarseClock { tick_in_scales } => format!(
            "The clock is coarse: its tick is {tick_in_scales:.1} times the scale. What is fitted is how many values \
             fall into each interval of a tick."
        ),
        Finding::Sorted => {
            "The values are sorted, so that the order in which they came is lost: whether they are repetitions of one \
             experiment was not tested."
                .into()
        }
    }
}

/// A value without a unit: as a multiple of the median, or in scales from it.
fn beside_the_median(value: f64, found: &Assessment) -> String {
    let median = found.summary.quantile(0.5).unwrap_or(f64::NAN);
    let ratio = value / median;
    if median > 0.0 && (ratio - 1.0).abs() > 0.005 && ratio > 0.01 && ratio < 1e6 {
        format!("{ratio:.2} times the median of all")
    } else {
        format!("{:+.1} scales from the median of all", (value - median) / found.gev.scale)
    }
}

/// Advice, one sentence each; may be empty. `what` is what one of the values is called: `value`, `step`, `block`.
pub fn advice(found: &Assessment, what: &str) -> Vec<String> {
    /// Fewer make no ten blocks of several values each.
    const FEWEST_FOR_BLOCKS: usize = 50;
    let few = found.n < FEWEST_FOR_VERDICT;
    let can_be_followed =
        |advice: &&Advice| !matches!(advice, Advice::SpaceRuns { .. }) || found.n >= FEWEST_FOR_BLOCKS;
    found.verdict.advice.iter().filter(can_be_followed).map(|advice| one_advice(advice, what, few)).collect()
}

/// What one of several values together is called.
const BLOCK: &str = "block";

/// What the slowest of several ranks is called.
const STEP: &str = "step";

fn one_advice(advice: &Advice, what: &str, few: bool) -> String {
    match advice {
        Advice::SpaceRuns { .. } if what == BLOCK && few => {
            "Neighbouring blocks still depend on each other, and longer ones would be too few: measure for longer.".into()
        }
        Advice::SpaceRuns { .. } if what == BLOCK => {
            "Neighbouring blocks still depend on each other: try longer ones, with a larger `--block`.".into()
        }
        Advice::SpaceRuns { error_factor: None } => {
            "Look for what ties neighbours together; `lastrank fit FILE --block N` fits the largest of every N."
                .into()
        }
        Advice::SpaceRuns { error_factor: Some(factor) } => {
            format!(
                "Intervals of a fit to all values are about {factor:.1} times too narrow: `lastrank fit FILE --block N` fits \
                 the largest of every N."
            )
        }
        Advice::FindPeriod { lag } => format!(
            "Find what comes back after every {lag} {what}s: parts that take turns (`--by`), a timer, a cache that fills."
        ),
        Advice::DiscardWarmUp => {
            "Discard the warm-up, or fit with the time as covariate; look for heat, filling or a growing load."
                .into()
        }
        Advice::FitEachStretch => {
            "Look at the time series, find what changed, and fit each stretch on its own.".into()
        }
        Advice::FitEachMode => {
            "Fit each kind (cache or disk, path, time of day) on its own: `lastrank fit FILE -o fit.html` draws the density."
                .into()
        }
        Advice::ExplainSlowValues { period: Some(period) } => format!(
            "Look for what happens every {period} {what}s (a flush, a timer, another job), and fit the values with \
             it and those without on their own."
        ),
        Advice::ExplainSlowValues { period: None } => {
            "Look at when the slow values come, and find what makes them cluster or come so evenly.".into()
        }
        Advice::MeasureMore { runs } => match runs {
            1 => format!("Measure at least 1 more {what}."),
            runs => format!("Measure at least {runs} more {what}s."),
        },
        Advice::VaryParts => {
            "If each value is the slowest of several parallel parts, measure with other numbers of parts, too: one \
             number alone does not test that."
                .into()
        }
        // Of maxima there is no tail of single values, and of few values none beyond a threshold.
        Advice::DoNotExtrapolate if few || what == BLOCK || what == STEP => {
            format!("Do not predict rarer {what}s with this fit.")
        }
        Advice::DoNotExtrapolate => {
            format!(
                "Do not predict rarer {what}s with this fit; if each is one measurement, not the largest of several, \
                 `lastrank fit FILE --model gpd` fits the tail alone."
            )
        }
        Advice::RecordMoreDigits => "Record the values with more digits, then fit again.".into(),
        Advice::KeepTheOrder => {
            "Keep the values in the order in which they were measured: it tells changes and clusters.".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use tail::assess::{Alternative, AssessOptions, assess};
    use tail::verdict::{Evidence, Vuong, decide};
    use tail::{Gev, Series, Xoshiro};

    use super::*;

    /// An assessment of a sample of a GEV, its rivals changed, judged anew.
    fn judged(change: impl Fn(&mut Vec<Alternative>)) -> Assessment {
        let distribution = Gev::new(10.0, 0.5, 0.1).unwrap();
        let mut random = Xoshiro::new(3);
        let values: Vec<f64> = (0..200).map(|_| distribution.sample(&mut random)).collect();
        let mut found =
            assess(&values, &AssessOptions { bootstrap: 99, ..AssessOptions::default() }).unwrap();
        change(&mut found.alternatives);
        let fit = tail::Likelihood::new(&Series::clean(&values)).unwrap().fit();
        found.verdict = decide(&Evidence {
            n: values.len(),
            fit: &fit,
            diagnostics: &found.diagnostics,
            alternatives: &found.alternatives,
            significance: 0.05,
        });
        found
    }

    #[test]
    fn advice_on_neighbours_names_an_option_that_there_is() {
        for error_factor in [None, Some(20.5)] {
            let text = one_advice(&Advice::SpaceRuns { error_factor }, "value", false);
            assert!(text.contains("`lastrank fit FILE --block N`"), "{text}");
            assert!(!text.contains("further apart") && !text.contains("multiply"), "{text}");
        }
    }

    #[test]
    fn a_distribution_that_cannot_be_compared_is_not_said_to_be_worse() {
        let undefined = text(&judged(|all| all.iter_mut().for_each(|rival| rival.vuong = None)));
        assert!(!undefined.contains("preferred"), "{undefined}");
        let none = text(&judged(Vec::clear));
        assert!(none.contains("no other distribution"), "{none}");
    }

    #[test]
    fn no_number_of_runs_is_read_off_a_comparison_that_does_not_tell() {
        // That number was equivalent to the p-value: 951 to 28 million for samples of one distribution.
        let alike = text(&judged(|all| {
            for rival in all {
                rival.vuong = rival.vuong.map(|v| Vuong { z: 0.5, ..v });
            }
        }));
        assert!(alike.contains("do not distinguish") && !alike.contains("would tell"), "{alike}");
    }

    #[test]
    fn a_verdict_against_a_gev_says_how_often_it_errs_and_concludes_no_cause() {
        let worse = text(&judged(|all| {
            for rival in all {
                rival.vuong = rival.vuong.map(|v| Vuong { z: -4.0, ..v });
            }
        }));
        assert!(worse.contains("at most 5% get a verdict against it"), "{worse}");
        assert!(!worse.contains("is not what shapes them"), "{worse}");
    }
}
