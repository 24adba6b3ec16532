//! Every place against the normal distribution of the same mean and standard deviation.

use serde_json::json;
use tail::special::normal_cdf;

use super::against::AgainstNormal;
use super::panels;
use super::place::Place;
use crate::Chapter;
use crate::figures::{Figure, Numbers, draw, slug};
use crate::unit::{Unit, percent, rounded, significant};

/// Places that are shown, those with the most samples first.
const MOST: usize = 24;
/// Fewest samples of a place that is shown.
const FEWEST: usize = 100;

/// All places in one figure of small panels and a table, and one folded chapter for every place.
pub(super) fn chapters(places: &[Place]) -> Vec<Chapter> {
    let compared: Vec<panels::Compared> = chosen(places)
        .into_iter()
        .filter_map(|place| Some((place, AgainstNormal::of(&place.sorted)?)))
        .collect();
    if compared.is_empty() {
        return Vec::new();
    }
    let lead = "How often each operation takes longer, beside the normal distribution of the same mean and standard deviation.";
    let mut heading = Chapter::new("normal", "Against the normal distribution", lead)
        .with(panels::figure(&compared), [panels::table(&compared)]);
    heading.on_page_only = true;
    std::iter::once(heading).chain(compared.iter().map(chapter)).collect()
}

/// Places that are shown.
fn chosen(places: &[Place]) -> Vec<&Place> {
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
    chosen
}

fn chapter((place, numbers): &panels::Compared) -> Chapter {
    let name = place.name();
    let id = format!("normal-{}", slug(&name));
    let unit = Unit::of_duration(place.median());
    let (beyond, expected) = panels::beyond(place, numbers);
    let found = format!(
        "{} values lie more than four standard deviations above the mean; a normal distribution would put {} there.",
        samples::units::count(beyond as u64),
        significant(expected, 2)
    );
    let figures = vec![
        body(&id, numbers, unit),
        tail(&id, numbers, unit, &found),
        survival(&id, numbers, unit, false, &found),
        survival(&id, numbers, unit, true, &found),
    ];
    let mut chapter = Chapter::new(&id, &name, &found).with(figures.into_iter().flatten(), []);
    chapter.folded = true;
    chapter.is_part = true;
    chapter
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
            "Off the dashed line: not normal. Mean {}, standard deviation {}: it puts {} here, instead of 99%.",
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
        "marker": {"color": draw::DISTRIBUTION, "opacity": 0.7},
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
        caption: "Separate humps are separate causes: timers, faults, the scheduler.".into(),
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
            "A normal distribution falls off like a cliff; a tail that goes on is not chance around a mean."
                .into()
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
