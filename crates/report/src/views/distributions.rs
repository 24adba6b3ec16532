//! The distributions of all places of a run side by side.

use samples::Run;
use serde::Serialize;
use serde_json::json;

use super::place::Place;
use crate::Chapter;
use crate::figures::curve::{Curve, Curves, above};
use crate::figures::{Figure, Numbers, draw};
use crate::unit::{Unit, duration, rounded, significant};

/// Places that are shown; of more, those with the most time.
const MOST: usize = 40;
/// Lines in a figure of distributions.
const MOST_LINES: usize = 10;

/// Quantiles of many places, each a row, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantileRanges {
    /// The places.
    pub name: Vec<String>,
    /// 1% quantile.
    pub p1: Vec<f64>,
    /// Median.
    pub median: Vec<f64>,
    /// 99% quantile, where there are enough samples.
    pub p99: Vec<Option<f64>>,
    /// 99.9% quantile.
    pub p999: Vec<Option<f64>>,
    /// Largest.
    pub max: Vec<f64>,
}

/// Quantiles side by side, and how often the places with the most time take longer.
pub(super) fn chapter(run: &Run, places: &[Place]) -> Option<Chapter> {
    let mut chosen: Vec<&Place> = places.iter().filter(|place| place.is_operation()).collect();
    if chosen.len() < 2 {
        return None;
    }
    let total = chosen.len();
    let mut by_time = chosen.clone();
    by_time.sort_by(|a, b| b.total_s.total_cmp(&a.total_s));
    if chosen.len() > MOST {
        let least = by_time[MOST - 1].total_s;
        chosen.retain(|place| place.total_s >= least);
    }
    let unit = Unit::of_duration(chosen.iter().map(|place| place.median()).fold(0.0, f64::max));
    let left_out = if total > chosen.len() {
        format!(" {} places with less time are left out.", total - chosen.len())
    } else {
        String::new()
    };
    let curves = |batched: bool| -> Vec<Curve> {
        let wanted = by_time.iter().filter(|place| (place.batch > 1) == batched && place.sorted.len() >= 20);
        wanted
            .take(MOST_LINES)
            .map(|place| {
                let (x, y) = above(place.sorted.clone());
                Curve { name: place.name(), x, y }
            })
            .collect()
    };
    let single = curves(false);
    let mut figures = vec![ranges(&chosen, &left_out)];
    if single.len() > 1 {
        let overlay = Overlay {
            id: "distributions".into(),
            title: "How often each takes longer".into(),
            curves: single,
            unit,
            look_for: "Steep: always alike; a long slope: at times slow.",
        };
        figures.push(survival_figure(run, overlay));
    }
    Some(
        Chapter::new(
            "distributions",
            "All operations side by side",
            "From the quickest hundredth to the slowest of all.",
        )
        .with(figures, []),
    )
}

fn ranges(places: &[&Place], left_out: &str) -> Figure {
    let summaries: Vec<_> = places.iter().filter_map(|place| place.summary()).collect();
    let numbers = QuantileRanges {
        name: places.iter().map(|place| place.name()).collect(),
        p1: places.iter().map(|place| crate::quantile(&place.sorted, 0.01)).collect(),
        median: summaries.iter().map(|summary| summary.median).collect(),
        p99: summaries.iter().map(|summary| summary.p99).collect(),
        p999: summaries.iter().map(|summary| summary.p999).collect(),
        max: summaries.iter().map(|summary| summary.max).collect(),
    };
    ranges_figure(numbers, left_out)
}

/// Quantiles of many operations, a row each; `left_out` ends the caption.
pub(crate) fn ranges_figure(numbers: QuantileRanges, left_out: &str) -> Figure {
    // No single unit suits nanoseconds to seconds: the axis shows powers of ten in seconds.
    let hover = |what: &str| format!("%{{y}}: {what}%{{customdata}}<extra></extra>");
    let shown = |values: &[f64]| values.iter().map(|value| rounded(value.max(1e-12))).collect::<Vec<_>>();
    let texts = |values: &[f64]| values.iter().map(|value| duration(*value)).collect::<Vec<_>>();
    let mut x = Vec::new();
    let mut y: Vec<Option<&str>> = Vec::new();
    for (at, name) in numbers.name.iter().enumerate() {
        let end = numbers.p999[at].or(numbers.p99[at]).unwrap_or(numbers.max[at]);
        x.extend([Some(rounded(numbers.p1[at].max(1e-12))), Some(rounded(end.max(1e-12))), None]);
        y.extend([Some(name.as_str()), Some(name), None]);
    }
    let mut traces = vec![json!({
        "type": "scatter", "mode": "lines", "name": "1% to 99.9% (or 99%)", "x": x, "y": y,
        "line": {"color": draw::BAND, "width": 7}, "hoverinfo": "skip", "connectgaps": false
    })];
    let optional = |values: &[Option<f64>]| -> (Vec<f64>, Vec<String>) {
        values.iter().zip(&numbers.name).filter_map(|(value, name)| Some(((*value)?, name.clone()))).unzip()
    };
    for (name, values, colour, symbol) in [
        (
            "median",
            &numbers.median.iter().map(|value| Some(*value)).collect::<Vec<_>>(),
            draw::DATA,
            "circle",
        ),
        ("p99", &numbers.p99, draw::SECOND, "line-ns-open"),
        ("p99.9", &numbers.p999, draw::DISTRIBUTION, "line-ns-open"),
        (
            "slowest",
            &numbers.max.iter().map(|value| Some(*value)).collect::<Vec<_>>(),
            draw::ALARM,
            "diamond-open",
        ),
    ] {
        let (x, y) = optional(values);
        if x.is_empty() {
            continue;
        }
        traces.push(json!({
            "type": "scatter", "mode": "markers", "name": name, "x": shown(&x), "y": y, "customdata": texts(&x),
            "hovertemplate": hover(name), "marker": {"color": colour, "size": 9, "symbol": symbol, "line": {"width": 2}}
        }));
    }
    let worst = (0..numbers.name.len()).max_by(|a, b| {
        (numbers.max[*a] / numbers.median[*a]).total_cmp(&(numbers.max[*b] / numbers.median[*b]))
    });
    let found = worst.map_or(String::new(), |at| {
        format!(
            "The longest tail has {}: its slowest is {} times its median.",
            numbers.name[at],
            significant(numbers.max[at] / numbers.median[at], 2)
        )
    });
    let title = "Quantiles of every operation".to_string();
    let count = numbers.name.len();
    let mut plot = draw::figure(
        &title,
        traces,
        draw::axis_with("time of one operation", seconds_axis(&numbers.p1, &numbers.max)),
        draw::axis_with("", json!({"autorange": "reversed", "type": "category", "tickfont": {"size": 11}})),
    );
    plot["layout"]["height"] = json!(120 + 22 * count.max(6));
    Figure {
        id: "ranges".into(),
        caption: format!(
            "A row is an operation, on one logarithmic axis. Red far right: single ones much slower. {found}{left_out}"
        ),
        alternative: format!("Quantiles of {count} operations. {found}"),
        wide: true,
        plot,
        title,
        numbers: Numbers::new("ranges", numbers),
    }
}

/// A logarithmic axis of seconds that is labelled in ns, µs, ms, s.
pub(crate) fn seconds_axis(low: &[f64], high: &[f64]) -> serde_json::Value {
    let first = low.iter().copied().fold(f64::INFINITY, f64::min).max(1e-12).log10().floor() as i32;
    let last = high.iter().copied().fold(0.0, f64::max).max(1e-12).log10().ceil() as i32;
    let ticks: Vec<f64> = (first..=last).map(|power| 10f64.powi(power)).collect();
    let labels: Vec<String> = (first..=last)
        .map(|power| {
            let (unit, name) = match power {
                ..=-10 => (-12, "ps"),
                -9..=-7 => (-9, "ns"),
                -6..=-4 => (-6, "µs"),
                -3..=-1 => (-3, "ms"),
                _ => (0, "s"),
            };
            format!("{} {name}", 10f64.powi(power - unit).round())
        })
        .collect();
    json!({"type": "log", "tickvals": ticks, "ticktext": labels})
}

/// Several distributions that are drawn one over the other.
pub(crate) struct Overlay {
    pub id: String,
    pub title: String,
    pub curves: Vec<Curve>,
    pub unit: Unit,
    /// How the caption begins: what to look for.
    pub look_for: &'static str,
}

/// Several distributions on logarithmic axes, with the step of the clock.
pub(crate) fn survival_figure(run: &Run, overlay: Overlay) -> Figure {
    let Overlay { id, title, mut curves, unit, look_for } = overlay;
    const MOST_POINTS: usize = 400;
    for curve in &mut curves {
        // Every line of many is thinner than one alone: evenly in the logarithm of the share.
        let n = curve.x.len();
        if n > MOST_POINTS {
            let least = curve.y[n - 1].ln();
            let mut kept: Vec<usize> = (0..MOST_POINTS)
                .map(|k| {
                    let share = (least * k as f64 / (MOST_POINTS - 1) as f64).exp();
                    curve.y.partition_point(|y| *y > share).min(n - 1)
                })
                .collect();
            kept.dedup();
            curve.x = kept.iter().map(|at| curve.x[*at]).collect();
            curve.y = kept.iter().map(|at| curve.y[*at]).collect();
        }
    }
    let hover = format!("%{{y:.3g}} take longer than %{{x}} {}", unit.name);
    let mut traces: Vec<_> = curves
        .iter()
        .enumerate()
        .map(|(index, curve)| {
            let y = curve.y.iter().map(|y| rounded(*y)).collect();
            let x = unit.scale_all(curve.x.iter().map(|x| x.max(1e-12)).collect::<Vec<_>>().iter());
            // From light to dark, so that sizes are read in their order.
            let share = index as f64 / (curves.len().max(2) - 1) as f64;
            let mut line = draw::line(&curve.name, x, y, (&ramp(share), "solid"), &hover);
            line["hovertemplate"] = json!(format!("{hover}<extra>{}</extra>", curve.name));
            // A share stays until the next value: a slope would show values where there are none.
            line["line"]["shape"] = json!("hv");
            line
        })
        .collect();
    let quantum = run.facts.clock_step_s();
    let low = curves.iter().flat_map(|curve| &curve.x).copied().fold(f64::MAX, f64::min);
    let least = curves.iter().filter_map(|curve| curve.y.last()).copied().fold(1.0, f64::min);
    let mut note = String::new();
    if let Some(quantum) = quantum.filter(|quantum| *quantum > 0.02 * low) {
        let x = unit.scale_all(&[quantum, quantum]);
        traces.push(draw::line(
            "step of the clock",
            x,
            vec![rounded(least), 1.0],
            (draw::OTHER, "dot"),
            "%{x}<extra></extra>",
        ));
        note = format!(" Dotted: the clock's step, {}.", duration(quantum));
    }
    let slowest = curves
        .iter()
        .filter_map(|curve| Some((curve.name.as_str(), *curve.x.last()?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let found =
        slowest.map_or(String::new(), |(name, seconds)| format!("Slowest: {}, {name}.", duration(seconds)));
    Figure {
        id,
        caption: format!("{look_for} {found}{note}"),
        alternative: format!("{} distributions as the share that takes longer. {found}", curves.len()),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis_with(&unit.axis("time"), json!({"type": "log", "exponentformat": "power"})),
            draw::axis_with("share that takes longer", draw::shares()),
        ),
        title,
        numbers: Numbers::new("curves", Curves { curves }),
    }
}

/// A colour between blue and orange by way of green, readable on white and on black.
fn ramp(share: f64) -> String {
    let stops = [(0.0, [70, 110, 200]), (0.5, [42, 157, 143]), (1.0, [224, 133, 43])];
    let (from, to) = if share < 0.5 { (stops[0], stops[1]) } else { (stops[1], stops[2]) };
    let part = (share - from.0) / (to.0 - from.0);
    let mix = |at: usize| (f64::from(from.1[at]) + part * f64::from(to.1[at] - from.1[at])).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}
