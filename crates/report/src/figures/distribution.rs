//! Draws the values against the fitted distribution: probabilities, return levels, density, and quantiles with an envelope.
//!
//! The first three are the panels of Henwood et al. 2016, Figure 2.

use serde::Serialize;
use serde_json::{Value, json};
use tail::assess::{Band, Point};
use tail::gumbel_level;

use super::curve::Curve;
use super::draw;
use super::figure::{Figure, Input, Numbers};
use crate::tail_of::Tail;
use crate::unit::{Unit, rounded};

/// Points with the envelope of order statistics: where the i-th smallest of n values of the fitted distribution
/// lies in 95 of 100 samples.
#[derive(Clone, Debug, Serialize)]
pub struct Points {
    /// Probability plot: empirical probability. Quantile plot: fitted quantile.
    pub x: Vec<f64>,
    /// Probability plot: fitted probability. Quantile plot: the value.
    pub y: Vec<f64>,
    /// Lower end of the envelope, on the scale of `y`.
    pub lower: Vec<f64>,
    /// Upper end.
    pub upper: Vec<f64>,
    /// Whether the point is outside.
    pub outside: Vec<bool>,
}

/// Levels against return periods.
#[derive(Clone, Debug, Serialize)]
pub struct ReturnLevels {
    /// Return period of each measured value: (n + 1) / (n + 1 - i).
    pub period: Vec<f64>,
    /// The measured value, in the unit of the data.
    pub value: Vec<f64>,
    /// Whether it is outside the band of the line.
    pub outside: Vec<bool>,
    /// Periods of the fitted line.
    pub line_period: Vec<f64>,
    /// Level of the fitted line.
    pub level: Vec<f64>,
    /// Lower end of its 95% band (profile likelihood); none where it has no such end.
    pub lower: Vec<Option<f64>>,
    /// Upper end.
    pub upper: Vec<Option<f64>>,
}

/// Histogram in 20 bins with fitted densities.
#[derive(Clone, Debug, Serialize)]
pub struct Density {
    /// 21 edges, in the unit of the data.
    pub edges: Vec<f64>,
    /// How many values lie in each bin.
    pub count: Vec<u64>,
    /// Density of each bin, per unit of the data.
    pub density: Vec<f64>,
    /// Fitted densities.
    #[serde(rename = "laws")]
    pub distributions: Vec<Curve>,
}

/// Those of `values` whose flag is `wanted`.
fn chosen(values: &[f64], flags: &[bool], wanted: bool) -> Vec<f64> {
    values.iter().zip(flags).filter(|(_, flag)| **flag == wanted).map(|(value, _)| *value).collect()
}

impl Points {
    fn of(points: &[Point]) -> Points {
        Points {
            x: points.iter().map(|point| point.x).collect(),
            y: points.iter().map(|point| point.y).collect(),
            lower: points.iter().map(|point| point.lower).collect(),
            upper: points.iter().map(|point| point.upper).collect(),
            outside: points.iter().map(|point| point.outside).collect(),
        }
    }

    /// Envelope, diagonal, points inside and outside.
    fn draw(&self, envelope: (&[f64], &[f64], &[f64]), unit: Unit, hover: &str) -> (Vec<Value>, usize) {
        let (x, lower, upper) = envelope;
        let x = unit.scale_all(x);
        let name = "95% of samples";
        let mut traces: Vec<_> =
            draw::band(name, &x, unit.scale_all(lower), unit.scale_all(upper), draw::BAND).into();
        let ends: Vec<f64> = [x.first(), x.last()].into_iter().flatten().copied().collect();
        traces.push(draw::guide("equal", ends.clone(), ends));
        let pick = |wanted: bool, values: &[f64]| unit.scale_all(&chosen(values, &self.outside, wanted));
        let (x, y) = (pick(false, &self.x), pick(false, &self.y));
        traces.push(draw::points("measured", x, y, (draw::DATA, 5.0), hover));
        let (x, y) = (pick(true, &self.x), pick(true, &self.y));
        let outside = x.len();
        if outside > 0 {
            let mut alarms = draw::alarms("outside", x, y, hover);
            alarms["marker"]["size"] = json!(7);
            traces.push(alarms);
        }
        (traces, outside)
    }
}

pub(super) fn figures(input: &Input) -> Vec<Figure> {
    let Input { prefix, analysis, values, what } = *input;
    let (Some(tail), unit) = (&analysis.tail, input.unit()) else { return Vec::new() };
    [
        probability(prefix, tail),
        return_levels(prefix, tail, unit, what),
        density(prefix, values, tail, unit, what),
        quantiles(prefix, tail, unit, what),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn probability(prefix: &str, tail: &Tail) -> Option<Figure> {
    let numbers = Points::of(&tail.panels.as_ref()?.probability);
    let worst = numbers.x.iter().zip(&numbers.y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    let n = tail.assessment.as_ref()?.n;
    let envelope = (numbers.x.as_slice(), numbers.lower.as_slice(), numbers.upper.as_slice());
    let (traces, outside) =
        numbers.draw(envelope, Unit::NONE, "sample %{x:.3f}, distribution %{y:.3f}<extra></extra>");
    let title = "Probability plot".to_string();
    let range = json!({"range": [-0.02, 1.02], "dtick": 0.2});
    Some(Figure {
        id: format!("{prefix}probability"),
        caption: format!(
            "On the diagonal: the distribution describes the bulk. Largest gap: {worst:.3}; {outside} of {} points leave the band.",
            numbers.x.len()
        ),
        alternative: format!(
            "Empirical against fitted probabilities of {n} values; the largest gap to the diagonal is {worst:.3}."
        ),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis_with("empirical probability", range.clone()),
            draw::axis_with("fitted probability", range),
        ),
        title,
        numbers: Numbers::new("probability", numbers),
    })
}

fn quantiles(prefix: &str, tail: &Tail, unit: Unit, what: &str) -> Option<Figure> {
    let numbers = Points::of(&tail.panels.as_ref()?.quantile);
    let hover = format!("measured %{{y}}, distribution %{{x}} {}<extra></extra>", unit.name);
    let envelope = (numbers.x.as_slice(), numbers.lower.as_slice(), numbers.upper.as_slice());
    let (traces, outside) = numbers.draw(envelope, unit, &hover);
    let title = "Quantile plot".to_string();
    Some(Figure {
        id: format!("{prefix}quantiles"),
        caption: format!(
            "Band: where 95 of 100 samples of the distribution lie. {outside} of {} points are outside{}",
            numbers.x.len(),
            if outside == 0 { "." } else { " (red): judge groups, not counts." }
        ),
        alternative: format!("Measured against fitted quantiles with an envelope; {outside} points outside."),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis(&unit.axis("fitted quantile")),
            draw::axis(&unit.axis(what)),
        ),
        title,
        numbers: Numbers::new("quantiles", numbers),
    })
}

/// The place of a return period on its axis, on which a distribution of shape 0 is a straight line.
fn place(period: f64) -> f64 {
    gumbel_level(1.0 / period)
}

/// `y` at `x` on the line through the points (`xs` ascending), none outside.
fn interpolate(xs: &[f64], ys: &[f64], x: f64) -> Option<f64> {
    let above = xs.iter().position(|known| *known >= x)?;
    if above == 0 {
        return (xs[0] == x).then(|| ys[0]);
    }
    let share = (x - xs[above - 1]) / (xs[above] - xs[above - 1]);
    Some(ys[above - 1] + share * (ys[above] - ys[above - 1]))
}

impl ReturnLevels {
    fn of(points: &[Point], curve: &[Band]) -> ReturnLevels {
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        let level: Vec<f64> = curve.iter().map(|band| place(band.x)).collect();
        let reach = |end: fn(&Band) -> f64, open: f64| -> Vec<f64> {
            curve.iter().map(end).map(|end| if end.is_finite() { end } else { open }).collect()
        };
        let lower = reach(|band| band.lower, f64::NEG_INFINITY);
        let upper = reach(|band| band.upper, f64::INFINITY);
        let outside = points
            .iter()
            .map(|point| {
                let c = place(point.x);
                interpolate(&level, &lower, c).is_some_and(|end| point.y < end)
                    || interpolate(&level, &upper, c).is_some_and(|end| point.y > end)
            })
            .collect();
        ReturnLevels {
            period: points.iter().map(|point| point.x).collect(),
            value: points.iter().map(|point| point.y).collect(),
            outside,
            line_period: curve.iter().map(|band| band.x).collect(),
            level: curve.iter().map(|band| band.y).collect(),
            lower: curve.iter().map(|band| finite(band.lower)).collect(),
            upper: curve.iter().map(|band| finite(band.upper)).collect(),
        }
    }
}

fn return_levels(prefix: &str, tail: &Tail, unit: Unit, what: &str) -> Option<Figure> {
    let panels = tail.panels.as_ref()?;
    let n = tail.assessment.as_ref()?.n;
    let numbers = ReturnLevels::of(&panels.return_points, &panels.return_curve);
    let hover = format!("%{{y}} {}: exceeded once in %{{customdata:.4~g}}<extra></extra>", unit.name);
    let axis: Vec<f64> = numbers.period.iter().map(|period| place(*period)).collect();
    let pick = |outside: bool| {
        (
            Unit::NONE.scale_all(&chosen(&axis, &numbers.outside, outside)),
            unit.scale_all(&chosen(&numbers.value, &numbers.outside, outside)),
            Unit::NONE.scale_all(&chosen(&numbers.period, &numbers.outside, outside)),
        )
    };
    let line_x: Vec<f64> = numbers.line_period.iter().map(|period| rounded(place(*period))).collect();
    let (mut x, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
    for ((at, low), high) in line_x.iter().zip(&numbers.lower).zip(&numbers.upper) {
        if let (Some(low), Some(high)) = (low, high) {
            x.push(*at);
            lower.push(*low);
            upper.push(*high);
        }
    }
    let mut traces = Vec::new();
    if !x.is_empty() {
        let (lower, upper) = (unit.scale_all(&lower), unit.scale_all(&upper));
        traces.extend(draw::band("95% band", &x, lower, upper, draw::BAND));
    }
    let level = unit.scale_all(&numbers.level);
    let mut distribution = draw::line("GEV", line_x.clone(), level, (draw::DISTRIBUTION, "solid"), &hover);
    distribution["customdata"] = json!(Unit::NONE.scale_all(&numbers.line_period));
    traces.push(distribution);
    let (x, y, periods) = pick(false);
    let mut inside = draw::points("measured", x, y, (draw::DATA, 5.0), &hover);
    inside["customdata"] = json!(periods);
    traces.push(inside);
    let (x, y, periods) = pick(true);
    let count = x.len();
    if count > 0 {
        let mut outside = draw::alarms("outside", x, y, &hover);
        outside["customdata"] = json!(periods);
        outside["marker"]["size"] = json!(7);
        traces.push(outside);
    }
    let (ticks, labels) = period_ticks(line_x[0], *line_x.last()?);
    let title = "Return levels".to_string();
    let found = match count {
        0 => "No point lies outside.".to_string(),
        1 => "One point lies outside (red).".to_string(),
        n => format!("{n} points lie outside (red)."),
    };
    Some(Figure {
        id: format!("{prefix}return-levels"),
        caption: format!(
            "Beyond {n} the line extrapolates. Alarm: a run of points outside at the right end. {found}"
        ),
        alternative: format!(
            "Return levels of the fitted distribution with a 95% band and {n} values. {found}"
        ),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis_with("exceeded once in …", json!({"tickvals": ticks, "ticktext": labels})),
            draw::axis(&unit.axis(what)),
        ),
        title,
        numbers: Numbers::new("return_levels", numbers),
    })
}

/// Where the axis of periods is labelled, and how.
fn period_ticks(first: f64, last: f64) -> (Vec<f64>, Vec<String>) {
    let decades = (0..12).flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(decade)));
    let mut kept = f64::NEG_INFINITY;
    [1.1]
        .into_iter()
        .chain(decades.filter(|period| *period > 1.0))
        .map(|period| (period, place(period)))
        .filter(|(_, level)| (first..=last).contains(level))
        .filter(|(_, level)| {
            let apart = *level - kept > (last - first) / 14.0;
            if apart {
                kept = *level;
            }
            apart
        })
        .map(|(period, level)| {
            (rounded(level), if period < 2.0 { "1.1".into() } else { samples::units::count(period as u64) })
        })
        .unzip()
}

impl Density {
    fn of(values: &[f64], tail: &Tail) -> Density {
        const BINS: usize = 20;
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        let width = if high > low { (high - low) / BINS as f64 } else { 1.0 };
        let mut count = vec![0u64; BINS];
        for value in &sorted {
            count[(((value - low) / width) as usize).min(BINS - 1)] += 1;
        }
        let density = count.iter().map(|&c| c as f64 / (sorted.len() as f64 * width)).collect();
        let edges = (0..=BINS).map(|k| low + width * k as f64).collect();
        let grid: Vec<f64> =
            (0..=200).map(|k| low - width + (high - low + 2.0 * width) * f64::from(k) / 200.0).collect();
        let curve = |name: &str, density: &dyn Fn(f64) -> f64| Curve {
            name: name.into(),
            y: grid.iter().map(|x| density(*x)).collect(),
            x: grid.clone(),
        };
        let mut distributions = Vec::new();
        if let Some(normal) = tail.normal() {
            distributions.push(curve("normal", &|x| normal.ln_pdf(x).exp()));
        }
        if let Some(distribution) = tail.distribution() {
            distributions.push(curve("GEV", &|x| distribution.pdf(x)));
        }
        Density { edges, count, density, distributions }
    }
}

fn density(prefix: &str, values: &[f64], tail: &Tail, unit: Unit, what: &str) -> Option<Figure> {
    tail.distribution()?;
    let numbers = Density::of(values, tail);
    let middle: Vec<f64> = numbers.edges.windows(2).map(|edge| 0.5 * (edge[0] + edge[1])).collect();
    // A density is per unit: shown per shown unit.
    let per_unit = |density: &[f64]| density.iter().map(|d| rounded(d / unit.factor)).collect::<Vec<_>>();
    let mut traces = vec![json!({
        "type": "bar", "name": "values", "x": unit.scale_all(&middle), "y": per_unit(&numbers.density),
        "customdata": numbers.count, "width": rounded(unit.scale(numbers.edges[1] - numbers.edges[0])) * 0.94,
        "marker": {"color": draw::DATA, "opacity": 0.55},
        "hovertemplate": format!("%{{customdata}} values around %{{x}} {}<extra></extra>", unit.name)
    })];
    for distribution in &numbers.distributions {
        let (colour, dash) =
            if distribution.name == "GEV" { (draw::DISTRIBUTION, "solid") } else { (draw::OTHER, "dash") };
        traces.push(draw::line(
            &distribution.name,
            unit.scale_all(&distribution.x),
            per_unit(&distribution.y),
            (colour, dash),
            "%{y:.3g}<extra></extra>",
        ));
    }
    let title = "Histogram and fitted density".to_string();
    Some(Figure {
        id: format!("{prefix}density"),
        caption: "Twenty bins. Two humps, or a wall on one side: more than one process, which no one distribution describes."
            .into(),
        alternative: format!("Histogram of {} values in 20 bins with the fitted density.", values.len()),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis(&unit.axis(what)),
            draw::axis_with(&if unit.name.is_empty() { "density".into() } else { format!("density (1/{})", unit.name) }, json!({"rangemode": "tozero"})),
        ),
        title,
        numbers: Numbers::new("density", numbers),
    })
}
