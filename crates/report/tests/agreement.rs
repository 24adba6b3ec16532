//! The numbers of the figures are those of the statistics: computed once, drawn as they are.

use proptest::prelude::*;
use report::comparison::FactorCurve;
use report::comparison::{ComparedSample, ComparisonReport};
use report::figures::{BeyondThreshold, LastRanks, Points, ReturnLevels, TargetEffects, Thresholds};
use report::{Report, ReportOptions, Unit, build};
use tail::congestion;

fn options() -> ReportOptions {
    let mut options = ReportOptions::default();
    options.fit.bootstrap = 0;
    options
}

fn numbers<'a, T: 'static>(report: &'a Report, id: &str) -> &'a T {
    let figure = report.figures().find(|figure| figure.id == id).unwrap_or_else(|| panic!("{id}"));
    figure.numbers.get().unwrap_or_else(|| panic!("{id}: {:?}", figure.numbers))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn a_gates_figures_are_its_statistics(seed in 0u64..1000, ranks in 2u32..6, steps in 40u64..90) {
        let run = samples::example::parallel_write(ranks, steps, seed);
        let report = build(&run, &options());
        let main = report.main.as_ref().unwrap();
        let values = main.subject.values();
        let found = tail::assess::assess(&values, &options().fit).unwrap();
        let panels = found.panels(&values);

        let shown: &Points = numbers(&report, "probability");
        let expected: Vec<f64> = panels.probability.iter().map(|point| point.y).collect();
        prop_assert_eq!(&shown.y, &expected);
        let shown: &Points = numbers(&report, "quantiles");
        let expected: Vec<f64> = panels.quantile.iter().map(|point| point.upper).collect();
        prop_assert_eq!(&shown.upper, &expected);

        // The band of the return levels is the profile interval, also where the table names a level.
        let shown: &ReturnLevels = numbers(&report, "return-levels");
        for (at, band) in panels.return_curve.iter().enumerate() {
            prop_assert_eq!(shown.level[at], band.y);
            prop_assert_eq!(shown.lower[at], Some(band.lower).filter(|end| end.is_finite()));
        }
        let gumbel = |period: f64| -(-(-1.0 / period).ln_1p()).ln();
        for level in found.return_levels.iter().filter(|level| level.lower.is_finite()) {
            let above = shown.line_period.iter().position(|period| *period >= level.period);
            let Some(above) = above.filter(|above| *above > 0) else { continue };
            let (Some(low), Some(high)) = (shown.lower[above - 1], shown.lower[above]) else { continue };
            let [from, at, to] =
                [shown.line_period[above - 1], level.period, shown.line_period[above]].map(gumbel);
            let between = low + (at - from) / (to - from) * (high - low);
            prop_assert!((between - level.lower).abs() < 0.05 * found.gev.scale, "{between} {}", level.lower);
        }

        let shown: &LastRanks = numbers(&report, "last");
        prop_assert_eq!(shown.count.iter().sum::<u64>(), steps);
        for (at, count) in shown.count.iter().enumerate() {
            let (lower, upper) = tail::special::clopper_pearson(*count, steps, 0.95);
            prop_assert_eq!((shown.lower[at], shown.upper[at]), (lower, upper));
        }

        let shown: &TargetEffects = numbers(&report, "targets");
        let targets = tail::targets::analyse(&main.subject.of_rank, 0.95).unwrap();
        let expected: Vec<f64> = targets.targets.iter().map(|target| target.relative).collect();
        prop_assert_eq!(&shown.relative, &expected);
    }

    #[test]
    fn thresholds_are_the_candidates_of_the_latency_analysis(seed in 0u64..1000) {
        let run = samples::example::parallel_write(4, 300, seed);
        let report = build(&run, &ReportOptions { site: Some("fopen".into()), gate: Some(false), ..options() });
        let far = report.main.as_ref().unwrap().far.as_ref().unwrap();
        let mean: &Thresholds = numbers(&report, "mean-excess");
        let shape: &Thresholds = numbers(&report, "shape-stability");
        prop_assert_eq!(mean.chosen, far.chosen);
        for (at, candidate) in far.candidates.iter().enumerate() {
            prop_assert_eq!((mean.threshold[at], mean.estimate[at]), (candidate.threshold, candidate.mean_excess));
            prop_assert_eq!(shape.estimate[at], candidate.shape);
        }
        let beyond: &BeyondThreshold = numbers(&report, "far-tail");
        prop_assert_eq!(beyond.threshold, far.fit.as_ref().map(|fit| fit.threshold));
    }

    #[test]
    fn the_likelihood_of_k_is_at_the_cut_where_the_interval_ends(seed in 1u64..1000, k in 0.9..1.3f64) {
        let distribution = tail::Gev::new(10.0, 0.4, 0.05).unwrap();
        let mut random = tail::Xoshiro::new(seed);
        let mut draw = |k: f64| (0..120).map(|_| k * distribution.sample(&mut random)).collect::<Vec<f64>>();
        let (quiet, new) = (draw(1.0), draw(k));
        let found = congestion::compare(&quiet, &new, &congestion::CompareOptions { bootstrap: 99, ..Default::default() }).unwrap();
        let page = ComparisonReport::of(
            &ComparedSample { name: "quiet", values: &quiet },
            &ComparedSample { name: "new", values: &new },
            &found,
            Unit::NONE,
        );
        let figure = page.chapters[0].figures.iter().find(|figure| figure.id == "factor-curve").unwrap();
        let curve: &FactorCurve = figure.numbers.get().unwrap();
        prop_assert_eq!((curve.best, curve.interval[0]), {
            let distribution = found.distribution.as_ref().unwrap();
            (distribution.factor.value, distribution.factor.interval.lower)
        });
        for end in curve.interval {
            let above = curve.factor.iter().position(|factor| *factor >= end).unwrap();
            let share = (end - curve.factor[above - 1]) / (curve.factor[above] - curve.factor[above - 1]);
            let at = curve.likelihood[above - 1] + share * (curve.likelihood[above] - curve.likelihood[above - 1]);
            prop_assert!((at - curve.cut).abs() < 0.02, "{at} {}", curve.cut);
        }
    }
}

#[test]
fn the_page_of_a_comparison_says_what_it_found() {
    let distribution = tail::Gev::new(10.0, 0.4, 0.05).unwrap();
    let mut random = tail::Xoshiro::new(5);
    let mut draw = |k: f64| (0..200).map(|_| k * distribution.sample(&mut random)).collect::<Vec<f64>>();
    let (quiet, new) = (draw(1.0), draw(1.08));
    let found = congestion::compare(
        &quiet,
        &new,
        &congestion::CompareOptions { bootstrap: 199, ..Default::default() },
    )
    .unwrap();
    let unit = Unit::of_duration(10.0);
    let page = ComparisonReport::of(
        &ComparedSample { name: "quiet.csv", values: &quiet },
        &ComparedSample { name: "<new>.csv", values: &new },
        &found,
        unit,
    );
    let words: Vec<String> = page
        .chapters
        .iter()
        .flat_map(|chapter| &chapter.figures)
        .map(|figure| format!("{}: {}\n  {}", figure.id, figure.title, figure.caption))
        .collect();
    let tables: Vec<String> =
        page.chapters.iter().flat_map(|chapter| &chapter.tables).map(|table| table.text()).collect();
    insta::assert_snapshot!(format!("{}\n\n{}", words.join("\n"), tables.join("\n")));
    let html = page.html();
    assert!(html.contains("&lt;new&gt;.csv") && !html.contains("<new>"));
}
