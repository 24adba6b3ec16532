//! Every place against the normal law of the same mean and standard deviation.

use serde::Serialize;
use serde_json::json;
use tail::special::normal_cdf;

use super::place::Place;
use crate::figures::curve::above;
use crate::figures::{Figure, Numbers, draw, slug};
use crate::unit::{Unit, percent, rounded, significant};
use crate::{Chapter, Summary};

/// Places that are shown, those with the most samples first.
const MOST: usize = 24;
/// Fewest samples of a place that is shown.
const FEWEST: usize = 100;
/// Bins of a histogram.
const BINS: usize = 50;
/// Points of a survival curve.
const POINTS: usize = 300;

/// A place against the normal law of the same mean and standard deviation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstNormal {
    /// Mean, in seconds.
    pub mean: f64,
    /// Standard deviation, in seconds.
    pub deviation: f64,
    /// Up to here is the body (99% quantile), beyond is the tail.
    pub split: f64,
    /// Edges of the bins of the body, in seconds.
    pub body_edges: Vec<f64>,
    /// Values in each.
    pub body: Vec<u64>,
    /// What the normal law would put there.
    pub body_normal: Vec<f64>,
    /// Edges of the bins of the tail, even in the logarithm.
    pub tail_edges: Vec<f64>,
    /// Values in each.
    pub tail: Vec<u64>,
    /// Ascending values, in seconds.
    pub seconds: Vec<f64>,
    /// Share above each.
    pub share: Vec<f64>,
    /// Where the normal law is evaluated: evenly from the first value to where it has fallen below all shares.
    pub normal_seconds: Vec<f64>,
    /// Its share above each of these.
    pub normal_share: Vec<f64>,
}

impl AgainstNormal {
    /// Of ascending values that are not all equal.
    pub(crate) fn of(sorted: &[f64]) -> Option<AgainstNormal> {
        let summary = Summary::of_sorted(sorted)?;
        let (mean, deviation) = (summary.mean, summary.deviation);
        if deviation <= 0.0 {
            return None;
        }
        let n = sorted.len();
        let (min, max) = (summary.min, summary.max);
        let mut split = crate::quantile(sorted, 0.99);
        if split <= min {
            // By a coarse clock most values may be the least one: the body ends with the next.
            split = sorted[sorted.partition_point(|value| *value <= min).min(n - 1)];
        }
        let width = (split - min) / BINS as f64;
        let body_edges: Vec<f64> = (0..=BINS).map(|k| min + width * k as f64).collect();
        let mut body = vec![0u64; BINS];
        let in_body = sorted.partition_point(|value| *value <= split);
        for value in &sorted[..in_body] {
            body[(((value - min) / width) as usize).min(BINS - 1)] += 1;
        }
        let below = |x: f64| normal_cdf((x - mean) / deviation);
        let body_normal =
            body_edges.windows(2).map(|edge| n as f64 * (below(edge[1]) - below(edge[0]))).collect();
        let (mut tail_edges, mut tail) = (Vec::new(), Vec::new());
        if in_body < n && split > 0.0 {
            let bins = 20;
            let ratio = (max / split).powf(1.0 / bins as f64);
            tail_edges = (0..=bins).map(|k| split * ratio.powi(k)).collect();
            tail = vec![0u64; bins as usize];
            for value in &sorted[in_body..] {
                let at = ((value / split).ln() / ratio.ln()) as usize;
                tail[at.min(bins as usize - 1)] += 1;
            }
        }
        let (x, y) = above(sorted.to_vec());
        let least = y.last().copied().unwrap_or(1.0).ln();
        let mut kept: Vec<usize> = (0..POINTS)
            .map(|k| {
                let share = (least * k as f64 / (POINTS - 1) as f64).exp();
                y.partition_point(|y| *y > share).min(x.len() - 1)
            })
            .collect();
        kept.dedup();
        let seconds: Vec<f64> = kept.iter().map(|at| x[*at]).collect();
        let floor = 0.1 * y.last().copied().unwrap_or(1.0);
        let (normal_seconds, normal_share) = normal_curve((mean, deviation), (min, max), floor);
        Some(AgainstNormal {
            mean,
            deviation,
            split,
            body_edges,
            body,
            body_normal,
            tail_edges,
            tail,
            share: kept.iter().map(|at| y[*at]).collect(),
            normal_seconds,
            normal_share,
            seconds,
        })
    }
}

/// Share above by the normal law, as far as it is above `floor`: on a grid of its own, not only where values are,
/// because between the bulk and an outlier it has long fallen off.
fn normal_curve((mean, deviation): (f64, f64), (min, max): (f64, f64), floor: f64) -> (Vec<f64>, Vec<f64>) {
    let end = max.min(mean + 9.0 * deviation);
    (0..=POINTS)
        .map(|k| min + (end - min) * k as f64 / POINTS as f64)
        .map(|x| (x, normal_cdf((mean - x) / deviation)))
        .take_while(|(_, share)| *share > floor)
        .unzip()
}

/// One folded chapter for every place.
pub(super) fn chapters(places: &[Place]) -> Vec<Chapter> {
    let mut chosen: Vec<&Place> = places
        .iter()
        .filter(|place| place.is_operation() && place.batch == 1 && place.sorted.len() >= FEWEST)
        .collect();
    if chosen.len() > MOST {
        let mut counts: Vec<usize> = chosen.iter().map(|place| place.sorted.len()).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let least = counts[MOST - 1];
        chosen.retain(|place| place.sorted.len() >= least);
        chosen.truncate(MOST);
    }
    let parts: Vec<Chapter> = chosen.into_iter().filter_map(chapter).collect();
    if parts.is_empty() {
        return parts;
    }
    let lead = "Body, tail and survival of every operation against the normal distribution of the same mean and standard \
                deviation. Each opens with its figures.";
    let mut heading = Chapter::new("normal", "Against the normal distribution", lead);
    heading.on_page_only = true;
    std::iter::once(heading).chain(parts).collect()
}

fn chapter(place: &Place) -> Option<Chapter> {
    let numbers = AgainstNormal::of(&place.sorted)?;
    let name = place.name();
    let id = format!("normal-{}", slug(&name));
    let unit = Unit::of_duration(place.median());
    let far = numbers.mean + 4.0 * numbers.deviation;
    let beyond = place.sorted.len() - place.sorted.partition_point(|value| *value <= far);
    let expected = place.sorted.len() as f64 * normal_cdf(-4.0);
    let found = format!(
        "{} values lie more than four standard deviations above the mean; a normal distribution would put {} there.",
        samples::units::count(beyond as u64),
        significant(expected, 2)
    );
    let figures = vec![
        body(&id, &numbers, unit),
        tail(&id, &numbers, unit, &found),
        survival(&id, &numbers, unit, false, &found),
        survival(&id, &numbers, unit, true, &found),
    ];
    let mut chapter = Chapter::new(&id, &name, &found).with(figures.into_iter().flatten(), []);
    chapter.folded = true;
    chapter.is_part = true;
    Some(chapter)
}

fn middles(edges: &[f64], unit: Unit) -> Vec<f64> {
    let middles: Vec<f64> = edges.windows(2).map(|edge| 0.5 * (edge[0] + edge[1])).collect();
    unit.scale_all(&middles)
}

fn body(id: &str, numbers: &AgainstNormal, unit: Unit) -> Option<Figure> {
    let x = middles(&numbers.body_edges, unit);
    let width = rounded(unit.scale(numbers.body_edges[1] - numbers.body_edges[0]));
    let title = "The body, up to the 99% quantile".to_string();
    let inside: f64 = numbers.body_normal.iter().sum();
    let n: u64 = numbers.body.iter().sum::<u64>() + numbers.tail.iter().sum::<u64>();
    let traces = vec![
        json!({
            "type": "bar", "name": "measured", "x": x, "y": numbers.body, "width": 0.94 * width,
            "marker": {"color": draw::DATA, "opacity": 0.6},
            "hovertemplate": format!("%{{y}} values around %{{x}} {}<extra></extra>", unit.name)
        }),
        draw::line(
            "normal distribution of the same moments",
            x.clone(),
            numbers.body_normal.iter().map(|y| rounded(*y)).collect(),
            (draw::OTHER, "dash"),
            "%{y:.3g}<extra></extra>",
        ),
    ];
    Some(Figure {
        id: format!("{id}-body"),
        caption: format!(
            "Bars that do not follow the dashed line are not normal. The normal distribution of mean {} and standard deviation {} \
             puts {} of all values in this range, instead of 99%.",
            unit.show(numbers.mean),
            unit.show(numbers.deviation),
            percent(inside / n.max(1) as f64)
        ),
        alternative: "Histogram of the body with the normal distribution of the same moments.".into(),
        wide: false,
        plot: draw::figure(&title, traces, draw::axis(&unit.axis("time")), draw::axis("values")),
        title,
        numbers: Numbers::new("against_normal", numbers.clone()),
    })
}

fn tail(id: &str, numbers: &AgainstNormal, unit: Unit, found: &str) -> Option<Figure> {
    if numbers.tail.is_empty() {
        return None;
    }
    let middle: Vec<f64> = numbers.tail_edges.windows(2).map(|edge| (edge[0] * edge[1]).sqrt()).collect();
    let width: Vec<f64> =
        numbers.tail_edges.windows(2).map(|edge| rounded(unit.scale(0.94 * (edge[1] - edge[0])))).collect();
    let title = "The tail, beyond it".to_string();
    let n: u64 = numbers.body.iter().sum::<u64>() + numbers.tail.iter().sum::<u64>();
    let above = |x: f64| normal_cdf((numbers.mean - x) / numbers.deviation);
    let normal: Vec<f64> =
        numbers.tail_edges.windows(2).map(|edge| n as f64 * (above(edge[0]) - above(edge[1]))).collect();
    let shown: Vec<(f64, f64)> =
        middle.iter().copied().zip(normal).filter(|(_, count)| *count > 1e-2).collect();
    let mut traces = vec![json!({
        "type": "bar", "name": "measured", "x": unit.scale_all(&middle), "y": numbers.tail, "width": width,
        "marker": {"color": draw::LAW, "opacity": 0.7},
        "hovertemplate": format!("%{{y}} values around %{{x}} {}<extra></extra>", unit.name)
    })];
    if shown.len() > 1 {
        let (x, y): (Vec<f64>, Vec<f64>) = shown.into_iter().unzip();
        let y = y.into_iter().map(rounded).collect();
        traces.push(draw::line(
            "normal distribution",
            unit.scale_all(&x),
            y,
            (draw::OTHER, "dash"),
            "%{y:.3g}<extra></extra>",
        ));
    }
    Some(Figure {
        id: format!("{id}-tail"),
        caption: format!("Separate humps are separate causes: timers, faults, the scheduler. {found}"),
        alternative: format!("Histogram of the slowest hundredth on a logarithmic axis. {found}"),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            draw::axis_with(&unit.axis("time"), json!({"type": "log", "exponentformat": "power"})),
            draw::axis_with("values", json!({"type": "log"})),
        ),
        title,
        numbers: Numbers::new("against_normal", numbers.clone()),
    })
}

fn survival(id: &str, numbers: &AgainstNormal, unit: Unit, logarithmic: bool, found: &str) -> Option<Figure> {
    let shares = |shares: &[f64]| shares.iter().map(|y| rounded(*y)).collect::<Vec<_>>();
    let x = unit.scale_all(&numbers.seconds);
    let hover = format!("%{{y:.3g}} take longer than %{{x}} {}<extra></extra>", unit.name);
    let mut measured = draw::line("measured", x, shares(&numbers.share), (draw::DATA, "solid"), &hover);
    measured["line"]["shape"] = json!("hv");
    let traces = vec![
        measured,
        draw::line(
            "normal distribution",
            unit.scale_all(&numbers.normal_seconds),
            shares(&numbers.normal_share),
            (draw::OTHER, "dash"),
            &hover,
        ),
    ];
    let (title, axes) = if logarithmic {
        ("Share that takes longer, logarithmic", (json!({"type": "log"}), draw::shares()))
    } else {
        ("Share that takes longer", (json!({}), json!({"rangemode": "tozero"})))
    };
    let mut plot = draw::figure(
        title,
        traces,
        draw::axis_with(&unit.axis("time"), axes.0),
        draw::axis_with("share that takes longer", axes.1),
    );
    if !logarithmic {
        let (mean, deviation) = (unit.scale(numbers.mean), unit.scale(numbers.deviation));
        plot["layout"]["shapes"] = json!([
            {"type": "line", "x0": mean, "x1": mean, "y0": 0, "y1": 1, "line": {"color": draw::OTHER, "width": 1}},
            {"type": "line", "x0": mean, "x1": mean + deviation, "y0": 0.5, "y1": 0.5, "line": {"color": draw::OTHER, "width": 2}}
        ]);
        // The tail would squeeze the body against the axis.
        let end = numbers.split + 0.25 * (numbers.split - numbers.seconds[0]);
        plot["layout"]["xaxis"]["range"] =
            json!([rounded(unit.scale(numbers.seconds[0])), rounded(unit.scale(end))]);
    }
    Some(Figure {
        id: format!("{id}-{}", if logarithmic { "log" } else { "linear" }),
        caption: if logarithmic {
            format!(
                "A normal distribution falls off like a cliff; a tail that goes on beyond it is not chance around a mean. {found}"
            )
        } else {
            "Vertical: the mean; horizontal: one standard deviation. Where the lines differ here, even the bulk is not \
             normal."
                .into()
        },
        alternative: format!("Measured and normal share that takes longer. {found}"),
        wide: false,
        plot,
        title: title.into(),
        numbers: Numbers::new("against_normal", numbers.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_law_has_fallen_off_long_before_an_outlier() {
        // 400 values around 10 and one of 100: no value lies where the law falls off.
        let mut values: Vec<f64> = (0..400).map(|k| 9.5 + f64::from(k) / 400.0).collect();
        values.push(100.0);
        let numbers = AgainstNormal::of(&values).unwrap();
        assert_eq!(numbers.normal_seconds.len(), numbers.normal_share.len());
        let below = |x: f64| numbers.normal_seconds.iter().filter(|at| **at < x).count();
        assert!(below(60.0) > 50 + below(11.0), "evaluated between the bulk and the outlier");
        for (x, share) in numbers.normal_seconds.iter().zip(&numbers.normal_share) {
            assert!((share - normal_cdf((numbers.mean - x) / numbers.deviation)).abs() < 1e-15);
        }
        assert!(numbers.normal_seconds.last().unwrap() < &60.0, "and not where it is nothing");
    }

    #[test]
    fn a_coarse_clock_leaves_a_tail() {
        // Most values are the least one; the steps are of 10.
        let mut values = vec![20.0; 995];
        values.extend([30.0, 30.0, 40.0, 50.0, 200.0]);
        let numbers = AgainstNormal::of(&values).unwrap();
        assert_eq!((numbers.split, numbers.body.iter().sum::<u64>()), (30.0, 997));
        assert_eq!(numbers.tail.iter().sum::<u64>(), 3);
    }
}
