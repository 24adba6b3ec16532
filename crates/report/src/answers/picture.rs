//! Draws the figures that several forms of answers share: medians and slow ones of named rows, and distributions of
//! all sizes over the normal distribution of the same moments.

use serde_json::{Value, json};

use crate::figures::curve::{Curve, Curves};
use crate::figures::{Figure, Numbers, draw};
use crate::unit::{Unit, rounded};
use crate::views::{AgainstNormal, Place, seconds_axis};

/// Pixels of a row of [`dots`].
const ROW: usize = 22;

/// One row of [`dots`].
pub(super) struct Dot {
    pub name: String,
    pub median: f64,
    pub p99: Option<f64>,
    pub max: f64,
}

/// The median, the 99% quantile and the largest of each row, on a logarithmic axis of times.
pub(super) fn dots(title: &str, rows: &[Dot]) -> Option<Figure> {
    let (first, last) = (rows.first()?, rows.last()?);
    // Plotly draws the first row at the bottom.
    let of = |value: &dyn Fn(&Dot) -> Option<f64>| -> (Vec<f64>, Vec<&str>) {
        rows.iter().rev().filter_map(|row| Some((rounded(value(row)?.max(1e-12)), row.name.as_str()))).unzip()
    };
    let trace = |name: &str, (x, y): (Vec<f64>, Vec<&str>), (colour, symbol): (&str, &str)| -> Value {
        json!({
            "type": "scatter", "mode": "markers", "name": name, "x": x, "y": y,
            "hovertemplate": format!("%{{y}}: {name}%{{x:.3s}}s<extra></extra>"),
            "marker": {"color": colour, "symbol": symbol, "size": 9}
        })
    };
    let traces = vec![
        trace("median", of(&|row| Some(row.median)), (draw::DATA, "circle")),
        trace("99 of 100", of(&|row| row.p99), (draw::DISTRIBUTION, "line-ns-open")),
        trace("slowest", of(&|row| Some(row.max)), (draw::OTHER, "x-thin-open")),
    ];
    let low: Vec<f64> = rows.iter().map(|row| row.median).collect();
    let high: Vec<f64> = rows.iter().map(|row| row.max).collect();
    let mut plot = draw::figure(
        title,
        traces,
        draw::axis_with("time of one operation", seconds_axis(&low, &high)),
        draw::axis_with("", json!({"type": "category", "tickmode": "linear"})),
    );
    plot["layout"]["height"] = json!(120 + ROW * rows.len());
    let curve = |name: &str, value: &dyn Fn(&Dot) -> Option<f64>| {
        let (y, x) = rows.iter().enumerate().filter_map(|(at, row)| Some((at as f64, value(row)?))).unzip();
        Curve { name: name.into(), x, y }
    };
    let curves = vec![
        curve("median", &|row| Some(row.median)),
        curve("p99", &|row| row.p99),
        curve("slowest", &|row| Some(row.max)),
    ];
    Some(Figure {
        id: "answer-times".into(),
        title: title.into(),
        caption: "Circle: the median; bar: 99 of 100 are quicker; cross: the slowest. Each decade is a factor of ten."
            .into(),
        alternative: format!(
            "Median, 99% quantile and largest time of {} rows, from {} to {}.",
            rows.len(),
            first.name,
            last.name
        ),
        wide: true,
        numbers: Numbers::new("curves", Curves { curves }),
        plot,
    })
}

/// How often each takes longer, over the normal distribution of the same mean and deviation: on logarithmic axes, or on linear
/// ones whose range ends where most have ended.
pub(super) fn against_normal(places: &[(String, &Place)], logarithmic: bool) -> Option<Figure> {
    let found: Vec<(&str, AgainstNormal)> = places
        .iter()
        .filter_map(|(name, place)| Some((name.as_str(), AgainstNormal::of(&place.sorted)?)))
        .collect();
    let middle = places.get(places.len() / 2)?.1.median();
    let unit = Unit::of_duration(middle);
    let mut traces = Vec::new();
    let mut curves = Vec::new();
    for (index, (name, numbers)) in found.iter().enumerate() {
        let colour = crate::views::colour(index);
        let dash = if name.ends_with("(F)") { "dash" } else { "solid" };
        let shares = |shares: &[f64]| shares.iter().map(|share| rounded(*share)).collect::<Vec<_>>();
        let hover = format!("%{{y:.3g}} take longer than %{{x}} {}<extra>{name}</extra>", unit.name);
        let mut line = draw::line(
            name,
            unit.scale_all(&numbers.seconds),
            shares(&numbers.share),
            (colour, dash),
            &hover,
        );
        line["line"]["shape"] = json!("hv");
        line["legendgroup"] = json!(name);
        traces.push(line);
        let mut normal = draw::line(
            &format!("{name}, normal"),
            unit.scale_all(&numbers.normal_seconds),
            shares(&numbers.normal_share),
            (colour, "dot"),
            &hover,
        );
        normal["line"]["width"] = json!(1.25);
        normal["showlegend"] = json!(false);
        normal["legendgroup"] = json!(name);
        traces.push(normal);
        curves.push(Curve { name: (*name).into(), x: numbers.seconds.clone(), y: numbers.share.clone() });
    }
    let (x, y) = match logarithmic {
        true => (json!({"type": "log", "exponentformat": "power"}), draw::shares()),
        false => {
            let end = found.iter().map(|(_, numbers)| numbers.split).fold(0.0, f64::max);
            (json!({"range": [0.0, rounded(unit.scale(1.1 * end))]}), json!({"rangemode": "tozero"}))
        }
    };
    let (id, title) = match logarithmic {
        true => ("answer-survival", "How often an access takes longer, logarithmic"),
        false => ("answer-survival-linear", "How often an access takes longer"),
    };
    (!curves.is_empty()).then(|| Figure {
        id: id.into(),
        title: title.into(),
        caption: "Solid (M): memory; dashed (F): file; dotted: the normal distribution of the same mean and deviation, which falls \
                  off like a cliff."
            .into(),
        alternative: format!(
            "The share of accesses that take longer, for {} sizes, measured and normal.",
            curves.len()
        ),
        wide: true,
        plot: draw::figure(
            title,
            traces,
            draw::axis_with(&unit.axis("time"), x),
            draw::axis_with("share that takes longer", y),
        ),
        numbers: Numbers::new("curves", Curves { curves }),
    })
}
