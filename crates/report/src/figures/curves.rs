//! Does the fitted law describe the values? The panels of the paper's Figure 2, and quantiles with an envelope.

use serde::Serialize;
use serde_json::json;
use tail::gev;

use super::{Curve, Figure, Numbers, Section, draw, thin};
use crate::chance::order_statistic;
use crate::tail_of::{COVERAGE, Tail};
use crate::unit::{Unit, rounded};

/// Above this many values a band is that of the delta method: profiling each point would take seconds.
const MOST_PROFILED: usize = 5_000;

/// Empirical against fitted probabilities (P–P).
#[derive(Clone, Debug, Serialize)]
pub struct Probability {
    /// i / (n + 1) of the i-th smallest value.
    pub empirical: Vec<f64>,
    /// Fitted distribution function there.
    pub fitted: Vec<f64>,
}

/// Empirical against fitted quantiles (Q–Q).
#[derive(Clone, Debug, Serialize)]
pub struct Quantiles {
    /// Fitted quantile at i / (n + 1), in the unit of the data.
    pub fitted: Vec<f64>,
    /// The i-th smallest value.
    pub empirical: Vec<f64>,
    /// Lower end of where the i-th smallest of n values of the fitted law lies in 95 of 100 samples: order
    /// statistics are Beta(i, n + 1 - i) on the scale of probability.
    pub lower: Vec<f64>,
    /// Upper end.
    pub upper: Vec<f64>,
    /// Is the value outside?
    pub outside: Vec<bool>,
}

/// Levels against return periods.
#[derive(Clone, Debug, Serialize)]
pub struct ReturnLevels {
    /// Return period of each measured value: (n + 1) / (n + 1 - i).
    pub period: Vec<f64>,
    /// The measured value, in the unit of the data.
    pub value: Vec<f64>,
    /// Is it outside the band?
    pub outside: Vec<bool>,
    /// Periods of the fitted line.
    pub line_period: Vec<f64>,
    /// Level of the fitted line.
    pub level: Vec<f64>,
    /// Lower end of its 95 % band; empty where the fit has no errors.
    pub lower: Vec<f64>,
    /// Upper end; infinite ends are none.
    pub upper: Vec<Option<f64>>,
    /// `profile`, `delta` or `none`.
    pub method: &'static str,
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
    pub laws: Vec<Curve>,
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

pub(crate) fn probability(values: &[f64], tail: &Tail) -> Option<Figure> {
    let law = tail.law()?;
    let sorted = sorted(values);
    let n = sorted.len() as f64;
    let (empirical, fitted): (Vec<_>, Vec<_>) = thin::ascending(sorted.len())
        .into_iter()
        .map(|at| ((at as f64 + 1.0) / (n + 1.0), rounded(law.cdf(sorted[at]))))
        .unzip();
    let worst = empirical.iter().zip(&fitted).map(|(e, f)| (e - f).abs()).fold(0.0, f64::max);
    let numbers = Probability { empirical, fitted };
    let title = "Probability plot".to_string();
    let hover = "sample %{x:.3f}, law %{y:.3f}<extra></extra>";
    let traces = vec![
        draw::guide("equal", vec![0.0, 1.0], vec![0.0, 1.0]),
        draw::points("values", numbers.empirical.clone(), numbers.fitted.clone(), draw::DATA, 5.0, hover),
    ];
    let range = json!({"range": [-0.02, 1.02], "dtick": 0.2});
    Some(Figure {
        id: "probability",
        caption: format!(
            "Points on the diagonal: the fitted law describes the bulk of the values. The largest gap is {worst:.3}."
        ),
        alternative: format!(
            "Empirical against fitted probabilities of {n} values; the largest distance from the diagonal is {worst:.3}."
        ),
        section: Section::Law,
        wide: false,
        plot: {
            let mut plot = draw::figure(
                &title,
                traces,
                draw::axis_with("empirical probability", range.clone()),
                draw::axis_with("fitted probability", range),
            );
            plot["layout"]["showlegend"] = json!(false);
            plot
        },
        title,
        numbers: Numbers::Probability(numbers),
    })
}

/// The Gumbel level of a return period: the axis on which a law of shape 0 is a straight line.
fn gumbel_level(period: f64) -> f64 {
    -(-(-1.0 / period).ln_1p()).ln()
}

/// Level, lower and upper end of the band at each period, and how the band was found.
type Band = (Vec<f64>, Vec<f64>, Vec<Option<f64>>, &'static str);

fn band(values: &[f64], fit: &gev::Fit, periods: &[f64]) -> Band {
    let level: Vec<f64> = periods.iter().map(|period| fit.law().return_level(*period)).collect();
    let finite = |end: f64| Some(end).filter(|end| end.is_finite());
    if values.len() <= MOST_PROFILED {
        let ends: Option<Vec<_>> = periods
            .iter()
            .map(|period| gev::profile_return_level(values, fit, *period, COVERAGE).ok())
            .collect();
        if let Some(ends) = ends.filter(|ends| ends.iter().all(|end| end.lower.is_finite())) {
            let (lower, upper) = ends.iter().map(|end| (end.lower, finite(end.upper))).unzip();
            return (level, lower, upper, "profile");
        }
    }
    let ends: Option<Vec<_>> =
        periods.iter().map(|period| fit.return_level(*period).ok()?.interval(COVERAGE)).collect();
    match ends {
        Some(ends) => {
            let (lower, upper) = ends.iter().map(|end| (end.lower, finite(end.upper))).unzip();
            (level, lower, upper, "delta")
        }
        None => (level, Vec::new(), Vec::new(), "none"),
    }
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
    fn of(values: &[f64], fit: &gev::Fit) -> ReturnLevels {
        let sorted = sorted(values);
        let n = sorted.len() as f64;
        let first = gumbel_level((n + 1.0) / n);
        let last = gumbel_level(10.0 * n);
        let steps = 36;
        let line_level: Vec<f64> =
            (0..=steps).map(|k| first + (last - first) * f64::from(k) / f64::from(steps)).collect();
        // Period of a Gumbel level c: 1 / (1 - exp(-exp(-c))).
        let line_period: Vec<f64> = line_level.iter().map(|c| -1.0 / (-(-c).exp()).exp_m1()).collect();
        let (level, lower, upper, method) = band(values, fit, &line_period);
        let reach: Vec<f64> = upper.iter().map(|end| end.unwrap_or(f64::INFINITY)).collect();
        let (period, value): (Vec<_>, Vec<_>) = thin::ascending(sorted.len())
            .into_iter()
            .map(|at| ((n + 1.0) / (n - at as f64), sorted[at]))
            .unzip();
        let outside = period
            .iter()
            .zip(&value)
            .map(|(period, value)| {
                let c = gumbel_level(*period);
                interpolate(&line_level, &lower, c).is_some_and(|end| *value < end)
                    || interpolate(&line_level, &reach, c).is_some_and(|end| *value > end)
            })
            .collect();
        ReturnLevels { period, value, outside, line_period, level, lower, upper, method }
    }
}

pub(crate) fn return_levels(values: &[f64], tail: &Tail, unit: Unit, what: &str) -> Option<Figure> {
    let numbers = ReturnLevels::of(values, tail.fit.as_ref()?);
    let hover = format!("%{{y}} {}: exceeded once in %{{customdata:.4~g}}<extra></extra>", unit.name);
    let pick = |outside: bool| {
        let chosen =
            || numbers.outside.iter().enumerate().filter(move |(_, o)| **o == outside).map(|(at, _)| at);
        let x: Vec<f64> = chosen().map(|at| rounded(gumbel_level(numbers.period[at]))).collect();
        let y: Vec<f64> = chosen().map(|at| rounded(unit.scale(numbers.value[at]))).collect();
        let periods: Vec<f64> = chosen().map(|at| rounded(numbers.period[at])).collect();
        (x, y, periods)
    };
    let line_x: Vec<f64> = numbers.line_period.iter().map(|period| rounded(gumbel_level(*period))).collect();
    let mut traces = Vec::new();
    if !numbers.lower.is_empty() {
        let finite = numbers.upper.iter().take_while(|end| end.is_some()).count();
        let upper: Vec<f64> = numbers.upper.iter().map_while(|end| *end).collect();
        traces.extend(draw::band(
            "95 % band of the law",
            &line_x[..finite],
            unit.scale_all(&numbers.lower[..finite]),
            unit.scale_all(&upper),
            draw::BAND,
        ));
    }
    let mut law =
        draw::line("GEV", line_x.clone(), unit.scale_all(&numbers.level), draw::LAW, "solid", &hover);
    law["customdata"] = json!(numbers.line_period.iter().map(|p| rounded(*p)).collect::<Vec<_>>());
    traces.push(law);
    let (x, y, periods) = pick(false);
    let mut inside = draw::points("measured", x, y, draw::DATA, 5.0, &hover);
    inside["customdata"] = json!(periods);
    traces.push(inside);
    let (x, y, periods) = pick(true);
    let count = x.len();
    if count > 0 {
        let mut outside = draw::alarms("outside the band", x, y, &hover);
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
        id: "return-levels",
        caption: format!(
            "How slow the slowest of so many is. Up to {} the points test the line; beyond, it extrapolates. The band \
             is the uncertainty of the line, so single points next to it are no alarm; a run of them at the right end \
             is. {found}",
            values.len()
        ),
        alternative: format!(
            "Return levels of the fitted law with a 95 % band and {} points. {found}",
            values.len()
        ),
        section: Section::Law,
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis_with("exceeded once in …", json!({"tickvals": ticks, "ticktext": labels})),
            draw::axis(&unit.axis(what)),
        ),
        title,
        numbers: Numbers::ReturnLevels(numbers),
    })
}

/// Where the axis of periods is labelled, and how.
fn period_ticks(first: f64, last: f64) -> (Vec<f64>, Vec<String>) {
    let decades = (0..12).flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(decade)));
    let mut kept = f64::NEG_INFINITY;
    [1.1]
        .into_iter()
        .chain(decades.filter(|period| *period > 1.0))
        .map(|period| (period, gumbel_level(period)))
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
        let sorted = sorted(values);
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
        let mut laws = Vec::new();
        if let Some(normal) = tail.normal() {
            laws.push(curve("normal", &|x| normal.ln_pdf(x).exp()));
        }
        if let Some(law) = tail.law() {
            laws.push(curve("GEV", &|x| law.pdf(x)));
        }
        Density { edges, count, density, laws }
    }
}

pub(crate) fn density(values: &[f64], tail: &Tail, unit: Unit, what: &str) -> Option<Figure> {
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
    for law in &numbers.laws {
        let (colour, dash) = if law.name == "GEV" { (draw::LAW, "solid") } else { (draw::OTHER, "dash") };
        traces.push(draw::line(
            &law.name,
            unit.scale_all(&law.x),
            per_unit(&law.y),
            colour,
            dash,
            "%{y:.3g}<extra></extra>",
        ));
    }
    let title = "Histogram and fitted density".to_string();
    Some(Figure {
        id: "density",
        caption: "Twenty bins of equal width. Two humps, or a wall on one side, mean that more than one process is at \
                  work, and one law for all of it describes neither."
            .into(),
        alternative: format!("Histogram of {} values in 20 bins with the fitted density.", values.len()),
        section: Section::Law,
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis(&unit.axis(what)),
            draw::axis_with(&if unit.name.is_empty() { "density".into() } else { format!("density (1/{})", unit.name) }, json!({"rangemode": "tozero"})),
        ),
        title,
        numbers: Numbers::Density(numbers),
    })
}

pub(crate) fn quantiles(values: &[f64], tail: &Tail, unit: Unit, what: &str) -> Option<Figure> {
    let law = tail.law()?;
    let sorted = sorted(values);
    let n = sorted.len();
    let mut numbers = Quantiles {
        fitted: Vec::new(),
        empirical: Vec::new(),
        lower: Vec::new(),
        upper: Vec::new(),
        outside: Vec::new(),
    };
    for at in thin::ascending(n) {
        let i = at as f64 + 1.0;
        let ends = [0.5 - COVERAGE / 2.0, 0.5 + COVERAGE / 2.0]
            .map(|p| law.quantile(order_statistic(p, i, n as f64)));
        numbers.fitted.push(law.quantile(i / (n as f64 + 1.0)));
        numbers.empirical.push(sorted[at]);
        numbers.lower.push(ends[0]);
        numbers.upper.push(ends[1]);
        numbers.outside.push(sorted[at] < ends[0] || sorted[at] > ends[1]);
    }
    let outside = numbers.outside.iter().filter(|outside| **outside).count();
    let pick = |wanted: bool, values: &[f64]| {
        let chosen: Vec<f64> = values
            .iter()
            .zip(&numbers.outside)
            .filter(|(_, o)| **o == wanted)
            .map(|(value, _)| *value)
            .collect();
        unit.scale_all(&chosen)
    };
    let hover = format!("measured %{{y}}, law %{{x}} {}<extra></extra>", unit.name);
    let x = unit.scale_all(&numbers.fitted);
    let mut traces: Vec<_> = draw::band(
        "95 % of samples of the law",
        &x,
        unit.scale_all(&numbers.lower),
        unit.scale_all(&numbers.upper),
        draw::BAND,
    )
    .into();
    traces.push(draw::guide("equal", x.clone(), x));
    traces.push(draw::points(
        "measured",
        pick(false, &numbers.fitted),
        pick(false, &numbers.empirical),
        draw::DATA,
        5.0,
        &hover,
    ));
    if outside > 0 {
        let (x, y) = (pick(true, &numbers.fitted), pick(true, &numbers.empirical));
        traces.push(draw::alarms("outside", x, y, &hover));
    }
    let title = "Quantile plot".to_string();
    Some(Figure {
        id: "quantiles",
        caption: format!(
            "The band is where the points of 95 of 100 samples of the fitted law lie, position by position. {outside} \
             of {} points are outside{}",
            numbers.fitted.len(),
            if outside == 0 { "." } else { " (red); neighbours go together, so judge groups, not counts." }
        ),
        alternative: format!("Measured against fitted quantiles with an envelope; {outside} points outside."),
        section: Section::Law,
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis(&unit.axis("fitted quantile")),
            draw::axis(&unit.axis(what)),
        ),
        title,
        numbers: Numbers::Quantiles(numbers),
    })
}
