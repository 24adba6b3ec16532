//! The report of a comparison: two samples and the factor between them.

mod distribution;

pub use distribution::FactorCurve;

use serde::Serialize;
use serde_json::{Value, json};
use tail::Interval;
use tail::congestion::{Basis, Comparison};

use crate::figures::curve::{Curve, Curves, above};
use crate::figures::{Figure, Numbers, draw, thin};
use crate::page::{Document, Tile, VerdictCard};
use crate::unit::{Unit, rounded, significant};
use crate::words::unsound::{self, Unsound};
use crate::{Chapter, Table, quantile, words};

/// Quantiles of the pair that are drawn at most.
const MOST_QUANTILES: usize = 400;

/// One of the two samples.
#[derive(Clone, Copy, Debug)]
pub struct ComparedSample<'a> {
    /// What it is, for titles.
    pub name: &'a str,
    /// In time order, as it was compared.
    pub values: &'a [f64],
}

/// Two samples and the factor between them, as figures, tables and a page.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonReport {
    /// `new against baseline`.
    pub title: String,
    /// Numbers, words and advice of the comparison (schema `lastrank.compare/2`).
    #[serde(serialize_with = "words::serialize")]
    pub comparison: Comparison,
    /// Figures and tables in the order of reading.
    pub chapters: Vec<Chapter>,
    /// Runs whose times are not those of the work that they were to do.
    unsound: Vec<Unsound>,
    /// Of runs of other work: why their times are no comparison of systems.
    other_work: Option<String>,
    /// Lines for the head of the page.
    place: Vec<String>,
    #[serde(skip)]
    unit: Unit,
}

impl ComparisonReport {
    /// From the two samples and what was found of them; `unit` is that of the values.
    pub fn of(
        baseline: &ComparedSample,
        new: &ComparedSample,
        found: &Comparison,
        unit: Unit,
    ) -> ComparisonReport {
        let factor = Chapter::new(
            "factor",
            "The factor",
            "If the new system is the old one slowed down, every duration is longer by the same factor k.",
        )
        .with(
            [
                found.distribution.as_ref().map(|distribution| distribution::likelihood(found, distribution)),
                Some(quantiles(baseline, new, found, unit)),
                found.distribution.as_ref().map(|distribution| {
                    distribution::density([sorted(baseline.values), sorted(new.values)], distribution, unit)
                }),
                Some(survival(baseline, new, found, unit)),
            ]
            .into_iter()
            .flatten(),
            [
                Some(estimates(found)),
                found.distribution.as_ref().map(|distribution| distribution::models(distribution, unit)),
            ]
            .into_iter()
            .flatten(),
        );
        let samples = Chapter::new(
            "samples",
            "The two samples",
            "A factor means something only if both are repetitions of one experiment each.",
        )
        .with([series(baseline, new, unit)], [arms(baseline, new, found, unit)]);
        ComparisonReport {
            title: "New against baseline".into(),
            comparison: found.clone(),
            chapters: vec![factor, samples],
            unsound: Vec::new(),
            other_work: None,
            place: vec![format!("baseline: {}", baseline.name), format!("new: {}", new.name)],
            unit,
        }
    }

    /// With what is said of runs that are not sound, before any verdict.
    pub fn with_unsound(self, unsound: Vec<Unsound>) -> ComparisonReport {
        ComparisonReport { unsound, ..self }
    }

    /// With why the two did other work, in place of the verdict.
    pub fn with_other_work(self, other_work: Option<String>) -> ComparisonReport {
        ComparisonReport { other_work, ..self }
    }

    /// The page.
    pub fn html(&self) -> String {
        let found = &self.comparison;
        let headline = found.headline();
        let level = headline.interval.level;
        // With the digits of the screen.
        let shown = |value: f64, interval: &Interval| {
            let [value, ends] = words::comparison::quoted(value, interval);
            let ends = ends.trim_matches(['(', ')']);
            (value, format!("{:.0}% interval {ends}", 100.0 * level))
        };
        let title = match headline.by {
            Basis::Distribution => "Congestion factor k",
            Basis::Pairs => "Without a distribution, by all pairs",
            Basis::Means => "Without a distribution, by the mean logarithms",
            Basis::Medians => "At the median; not one factor",
        };
        let (value, ends) = shown(headline.value, &headline.interval);
        let mut tiles = vec![Tile::new(title, &value, &ends)];
        let robust = &found.robust.hodges_lehmann;
        if headline.by_distribution {
            let (value, ends) = shown(robust.value, &robust.interval);
            tiles.push(Tile::new("Without a distribution, by all pairs", &value, &ends));
        }
        tiles.extend([
            Tile::new(
                "Median, baseline",
                &self.unit.plain(found.baseline.median),
                &format!("{} values", samples::units::count(found.baseline.n as u64)),
            ),
            Tile::new(
                "Median, new",
                &self.unit.plain(found.new.median),
                &format!("{} values", samples::units::count(found.new.n as u64)),
            ),
        ]);
        let warnings: Vec<_> = unsound::warning(&self.unsound).into_iter().collect();
        let code = match (warnings.is_empty(), &self.other_work) {
            (true, None) => serde_json::to_value(found.code).ok(),
            (true, Some(_)) => Some(words::comparison::OTHER_WORK.into()),
            (false, _) => Some(unsound::CODE.into()),
        };
        let answer = self.other_work.as_ref().map(|text| format!("{text}."));
        let answer = answer.unwrap_or_else(|| words::comparison::text(found));
        let lead = if warnings.is_empty() { "" } else { "Measured all the same: " };
        Document {
            answer: None,
            title: &self.title,
            kicker: "Comparison of two samples".into(),
            place: self.place.clone(),
            warnings: &warnings,
            verdict: Some(VerdictCard {
                label: if warnings.is_empty() && self.other_work.is_none() {
                    "Verdict"
                } else {
                    "No verdict"
                },
                code: code.as_ref().and_then(Value::as_str).unwrap_or_default().into(),
                text: format!("{lead}{answer}"),
                advice: words::comparison::advice(found),
                findings: Vec::new(),
            }),
            tiles,
            chapters: &self.chapters,
            facts: None,
            details: false,
            timed_lines: &[],
            version: None,
        }
        .html()
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn quantiles(baseline: &ComparedSample, new: &ComparedSample, found: &Comparison, unit: Unit) -> Figure {
    let (baseline, new) = (sorted(baseline.values), sorted(new.values));
    let n = baseline.len().min(new.len());
    let shown = n.min(MOST_QUANTILES);
    // Both tails of the smaller sample are complete at its own plotting positions.
    let positions: Vec<f64> = (0..shown)
        .map(|k| if n == shown { (k as f64 + 0.5) / n as f64 } else { (k as f64 + 0.5) / shown as f64 })
        .collect();
    let pairs: (Vec<f64>, Vec<f64>) =
        positions.iter().map(|p| (quantile(&baseline, *p), quantile(&new, *p))).unzip();
    let (x, y) = pairs;
    let ends = [x[0], x[x.len() - 1]];
    let k = found.headline().value;
    let shift = found.distribution.as_ref().map(|distribution| distribution.shift.value);
    let line = |name: &str, of: &dyn Fn(f64) -> f64| Curve {
        name: name.into(),
        x: ends.to_vec(),
        y: ends.map(of).to_vec(),
    };
    let shifted = shift.map(|shift| (line("baseline + shift", &|x| x + shift), (draw::SECOND, "dash")));
    let lines: Vec<(Curve, (&str, &str))> = [
        Some((line("k × baseline", &|x| k * x), (draw::DISTRIBUTION, "solid"))),
        shifted,
        Some((line("equal", &|x| x), (draw::OTHER, "dot"))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let hover = format!("baseline %{{x}}, new %{{y}} {}<extra></extra>", unit.name);
    let mut traces =
        vec![draw::points("quantiles", unit.scale_all(&x), unit.scale_all(&y), (draw::DATA, 5.0), &hover)];
    for (line, (colour, dash)) in &lines {
        let (x, y) = (unit.scale_all(&line.x), unit.scale_all(&line.y));
        traces.push(draw::line(&line.name, x, y, (*colour, *dash), "%{y}<extra></extra>"));
    }
    let worst = x.iter().zip(&y).map(|(x, y)| (y / (k * x) - 1.0).abs()).fold(0.0, f64::max);
    let title = "Quantiles of the new sample against the baseline".to_string();
    let mut curves = vec![Curve { name: "quantiles".into(), x, y }];
    curves.extend(lines.into_iter().map(|(line, _)| line));
    Figure {
        id: "pair-quantiles".into(),
        caption: format!(
            "On orange: one factor. Parallel to dotted: a constant. Only the right end above: the tail. At most {} off orange.",
            crate::percent(worst)
        ),
        alternative: format!("Quantile-quantile plot of the two samples with the line of factor {k:.4}."),
        wide: false,
        plot: draw::figure(&title, traces, draw::axis(&unit.axis("baseline")), draw::axis(&unit.axis("new"))),
        title,
        numbers: Numbers::new("curves", Curves { curves }),
    }
}

fn survival(baseline: &ComparedSample, new: &ComparedSample, found: &Comparison, unit: Unit) -> Figure {
    let curve = |sample: &ComparedSample, name: &str| {
        let (x, y) = above(sorted(sample.values));
        Curve { name: name.into(), x, y }
    };
    let curves = vec![curve(baseline, "baseline"), curve(new, "new")];
    let hover = format!("%{{y:.3g}} take longer than %{{x}} {}<extra></extra>", unit.name);
    let traces = curves
        .iter()
        .zip([draw::DATA, draw::DISTRIBUTION])
        .map(|(curve, colour)| {
            let y = curve.y.iter().map(|y| rounded(*y)).collect();
            draw::points(&curve.name, unit.scale_all(&curve.x), y, (colour, 5.0), &hover)
        })
        .collect();
    let of = |values: &[f64], p: f64| quantile(&sorted(values), p);
    let ratio = |p: f64| of(new.values, p) / of(baseline.values, p);
    let title = "How often each takes longer".to_string();
    Figure {
        id: "pair-survival".into(),
        caption: format!(
            "Evenly apart: a factor; parting at the right: another tail. New/baseline: median {}, one in ten {}; k {:.4}.",
            significant(ratio(0.5), 4),
            significant(ratio(0.9), 4),
            found.headline().value
        ),
        alternative: "Share that takes longer, in both samples, on logarithmic axes.".into(),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis_with(&unit.axis("value"), json!({"type": "log"})),
            draw::axis_with("share that takes longer", draw::shares()),
        ),
        title,
        numbers: Numbers::new("curves", Curves { curves }),
    }
}

fn series(baseline: &ComparedSample, new: &ComparedSample, unit: Unit) -> Figure {
    let curve = |sample: &ComparedSample, name: &str| {
        let kept = thin::in_time(sample.values);
        Curve {
            name: name.into(),
            x: kept.iter().map(|at| *at as f64 + 1.0).collect(),
            y: kept.iter().map(|at| sample.values[*at]).collect(),
        }
    };
    let curves = vec![curve(baseline, "baseline"), curve(new, "new")];
    let hover = format!("%{{x}}: %{{y}} {}<extra></extra>", unit.name);
    let traces = curves
        .iter()
        .zip([draw::DATA, draw::DISTRIBUTION])
        .map(|(curve, colour)| {
            draw::points(&curve.name, curve.x.clone(), unit.scale_all(&curve.y), (colour, 4.0), &hover)
        })
        .collect();
    let title = "Both in time order".to_string();
    Figure {
        id: "pair-series".into(),
        caption: format!(
            "Two level clouds of points can be compared; a drift or a step in either is read as congestion. {} quiet and \
             {} new values.",
            samples::units::count(baseline.values.len() as u64),
            samples::units::count(new.values.len() as u64)
        ),
        alternative: "Both samples in time order.".into(),
        wide: true,
        plot: draw::figure(
            &title,
            traces,
            draw::axis("position in time order"),
            draw::axis(&unit.axis("value")),
        ),
        title,
        numbers: Numbers::new("curves", Curves { curves }),
    }
}

fn estimates(found: &Comparison) -> Table {
    let percent = format!("{:.0}% from", 100.0 * found.headline().interval.level);
    let mut table = Table::new("New over baseline", &["<estimate", "factor", &percent, "to"]);
    let robust = &found.robust;
    let by_distribution = found
        .distribution
        .as_ref()
        .map(|distribution| ("by the GEV fit: k", distribution.factor.value, distribution.factor.interval));
    for (name, value, interval) in by_distribution.into_iter().chain([
        ("by the medians", robust.median_ratio.value, robust.median_ratio.interval),
        ("by all pairs (Hodges-Lehmann)", robust.hodges_lehmann.value, robust.hodges_lehmann.interval),
    ]) {
        let show = |value: f64| crate::unit::fixed(value, 4);
        table.push(
            name.ends_with('k'),
            [name.into(), show(value), show(interval.lower), show(interval.upper)],
        );
    }
    table.note = match found.distribution.as_ref().map(|distribution| distribution.agrees) {
        Some(true) => "With and without a distribution the answer is the same.".into(),
        Some(false) => "With and without a distribution the answers differ: trust the ones without.".into(),
        None => "There are too few different values for a distribution.".into(),
    };
    table
}

fn arms(baseline: &ComparedSample, new: &ComparedSample, found: &Comparison, unit: Unit) -> Table {
    let mut table = Table::new(
        "Both samples",
        &["<sample", "<what", "n", "median", "<independent draws of one distribution?"],
    );
    for (name, sample, arm) in [("baseline", baseline, &found.baseline), ("new", new, &found.new)] {
        let words = if arm.independent {
            "as far as tested".into()
        } else {
            arm.against.iter().map(words::finding).collect::<Vec<_>>().join("; ")
        };
        table.push(
            false,
            [
                name.into(),
                sample.name.into(),
                samples::units::count(arm.n as u64),
                unit.show(arm.median),
                words,
            ],
        );
    }
    table
}
