//! What one likelihood of both samples shows: the factor, both densities, and the models against each other.

use serde::Serialize;
use serde_json::json;
use tail::congestion::{ByDistribution, Comparison, ComparisonCode};

use crate::figures::curve::{Curve, Curves};
use crate::figures::{Figure, Numbers, draw};
use crate::unit::{Unit, probability, rounded};
use crate::{Table, quantile};

/// Likelihood of the congestion factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorCurve {
    /// The factor k.
    pub factor: Vec<f64>,
    /// Its profile likelihood over the largest: 1 at the best k.
    pub likelihood: Vec<f64>,
    /// The best k.
    pub best: f64,
    /// Ends of its interval.
    pub interval: [f64; 2],
    /// Relative likelihood at the ends of the interval.
    pub cut: f64,
}

pub(super) fn likelihood(found: &Comparison, distribution: &ByDistribution) -> Figure {
    let k = &distribution.factor;
    let numbers = FactorCurve {
        factor: distribution.curve.iter().map(|point| point[0]).collect(),
        likelihood: distribution.curve.iter().map(|point| (-0.5 * point[1].max(0.0)).exp()).collect(),
        best: k.value,
        interval: [k.interval.lower, k.interval.upper],
        cut: (-0.5 * tail::special::chi_square_1_quantile(k.interval.level)).exp(),
    };
    let x: Vec<f64> = numbers.factor.iter().map(|k| rounded(*k)).collect();
    let y: Vec<f64> = numbers.likelihood.iter().map(|y| rounded(*y)).collect();
    let [lower, upper] = numbers.interval;
    let mut traces = vec![draw::line(
        "likelihood",
        x.clone(),
        y,
        (draw::DISTRIBUTION, "solid"),
        "k = %{x:.5f}: %{y:.3f}<extra></extra>",
    )];
    let name = format!("{:.0}% interval", 100.0 * k.interval.level);
    traces.push(draw::line(
        &name,
        vec![rounded(lower), rounded(upper)],
        vec![rounded(numbers.cut); 2],
        (draw::DATA, "solid"),
        "%{x:.5f}<extra></extra>",
    ));
    let ends =
        distribution.curve.first().zip(distribution.curve.last()).map(|(first, last)| (first[0], last[0]));
    let holds_one = ends.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high);
    if holds_one {
        traces.push(draw::guide("k = 1", vec![1.0; 2], vec![0.0, 1.0]));
    }
    let verdict = match found.code {
        _ if found.is_coarse() => "but it takes the values as not rounded: do not use it",
        _ if found.is_dependent() => {
            "but it takes the runs as independent, which they may not be: do not use it"
        }
        ComparisonCode::NoDifference => "a difference is not shown",
        ComparisonCode::Slower => "all of it lies above 1: slower",
        ComparisonCode::Faster => "all of it lies below 1: faster",
        ComparisonCode::OtherDifference => "but one factor does not describe the difference: do not use it",
        ComparisonCode::NotIndependent => "but the level moves: do not use it",
    };
    let title = "How likely is each factor".to_string();
    Figure {
        id: "factor-curve".into(),
        caption: format!("k is {:.4}, from {lower:.4} to {upper:.4} (blue); {verdict}.", k.value),
        alternative: format!("Profile likelihood of k with its top at {:.4}; {verdict}.", k.value),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis("factor k"),
            draw::axis_with("likelihood over the largest", json!({"rangemode": "tozero"})),
        ),
        title,
        numbers: Numbers::new("factor_curve", numbers),
    }
}

pub(super) fn density(
    [baseline, new]: [Vec<f64>; 2],
    by_distribution: &ByDistribution,
    unit: Unit,
) -> Figure {
    const BINS: usize = 30;
    // Bins reach to the 99.5% quantile; a few far values would leave one bar.
    let low = baseline[0].min(new[0]);
    let high = quantile(&baseline, 0.995).max(quantile(&new, 0.995));
    let width = if high > low { (high - low) / BINS as f64 } else { 1.0 };
    let bars = |values: &[f64]| -> Vec<f64> {
        let mut count = [0u64; BINS];
        for value in values.iter().filter(|value| **value <= high) {
            count[(((value - low) / width) as usize).min(BINS - 1)] += 1;
        }
        count.iter().map(|count| *count as f64 / (values.len() as f64 * width)).collect()
    };
    let middles: Vec<f64> = (0..BINS).map(|bin| low + width * (bin as f64 + 0.5)).collect();
    let grid: Vec<f64> = (0..=200).map(|step| low + (high - low) * f64::from(step) / 200.0).collect();
    let distribution = by_distribution.factor.distribution;
    let k = by_distribution.factor.value;
    let curves = vec![
        Curve { name: "baseline".into(), x: middles.clone(), y: bars(&baseline) },
        Curve { name: "new".into(), x: middles, y: bars(&new) },
        Curve {
            name: "distribution of the baseline".into(),
            x: grid.clone(),
            y: grid.iter().map(|x| distribution.pdf(*x)).collect(),
        },
        Curve {
            name: "the same, times k".into(),
            y: grid.iter().map(|x| distribution.pdf(x / k) / k).collect(),
            x: grid,
        },
    ];
    let colours = [draw::DATA, draw::DISTRIBUTION];
    let traces = curves
        .iter()
        .enumerate()
        .map(|(index, curve)| {
            let (x, colour) = (unit.scale_all(&curve.x), colours[index % 2]);
            let y: Vec<f64> = curve.y.iter().map(|y| rounded(y / unit.factor)).collect();
            if index < 2 {
                json!({
                    "type": "bar", "name": curve.name, "x": x, "y": y, "width": rounded(unit.scale(width)),
                    "marker": {"color": colour, "opacity": 0.4}, "hovertemplate": "%{x}: %{y:.3g}<extra></extra>"
                })
            } else {
                draw::line(&curve.name, x, y, (colour, "solid"), "%{y:.3g}<extra></extra>")
            }
        })
        .collect();
    let title = "The two densities".to_string();
    let per = if unit.name.is_empty() { "density".into() } else { format!("density (1/{})", unit.name) };
    let mut plot = draw::figure(
        &title,
        traces,
        draw::axis(&unit.axis("value")),
        draw::axis_with(&per, json!({"rangemode": "tozero"})),
    );
    plot["layout"]["barmode"] = json!("overlay");
    let words = if by_distribution.factor.p < 0.05 {
        "the shape has changed, not only the scale"
    } else {
        "one distribution, stretched by k, describes both"
    };
    Figure {
        id: "pair-density".into(),
        caption: format!("Bars off their line: k alone does not explain it. Here {words}."),
        alternative: format!("Histograms of both samples with one distribution stretched by k; {words}."),
        wide: false,
        plot,
        title,
        numbers: Numbers::new("curves", Curves { curves }),
    }
}

pub(super) fn models(distribution: &ByDistribution, unit: Unit) -> Table {
    let mut table = Table::new(
        "A factor, a shift, or two distributions?",
        &["<model", "value", "p against two distributions", "<"],
    );
    let weight = |weight: f64| format!("weight {}", probability(weight));
    table.push(
        distribution.factor_weight >= 0.5,
        [
            "factor: new = k · baseline".into(),
            crate::unit::fixed(distribution.factor.value, 4),
            probability(distribution.factor.p),
            weight(distribution.factor_weight),
        ],
    );
    table.push(
        distribution.factor_weight < 0.5,
        [
            "shift: new = baseline + D".into(),
            unit.show(distribution.shift.value),
            probability(distribution.shift.p),
            weight(1.0 - distribution.factor_weight),
        ],
    );
    table.push(
        false,
        ["no difference: k = 1".into(), "1".into(), probability(distribution.p_no_difference), String::new()],
    );
    table.note = "A small p speaks against the model; that of no difference is against the factor.".into();
    table
}
