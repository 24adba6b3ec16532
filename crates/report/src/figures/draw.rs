//! The pieces of a Plotly figure that all figures share.
//!
//! Colours are of medium lightness, so that they read on white paper and on a dark page alike; blue,
//! orange and grey stay apart for colour-blind readers, and red is always another marker as well.

use serde_json::{Value, json};

/// What was measured.
pub(crate) const DATA: &str = "#3b82c4";
/// The fitted extreme-value distribution.
pub(crate) const DISTRIBUTION: &str = "#e0852b";
/// The band around it.
pub(crate) const BAND: &str = "rgba(224,133,43,0.20)";
/// A band that chance alone would fill.
pub(crate) const NEUTRAL_BAND: &str = "rgba(133,146,163,0.22)";
/// Other distributions and lines of comparison.
pub(crate) const OTHER: &str = "#8592a3";
/// What stands out.
pub(crate) const ALARM: &str = "#d6414b";
/// A second measured quantity.
pub(crate) const SECOND: &str = "#2a9d8f";

/// A figure from its traces and its two axes.
pub(crate) fn figure(title: &str, traces: Vec<Value>, x: Value, y: Value) -> Value {
    json!({
        "data": traces,
        "layout": {
            "title": {"text": title},
            "xaxis": x,
            "yaxis": y,
            "margin": {"l": 64, "r": 18, "t": 40, "b": 52},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hovermode": "closest",
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom", "traceorder": "normal"},
            "bargap": 0.06
        }
    })
}

/// An axis with its title.
pub(crate) fn axis(title: &str) -> Value {
    json!({"title": {"text": title, "standoff": 10}, "automargin": true, "zeroline": false})
}

/// `axis` with more settings.
pub(crate) fn axis_with(title: &str, more: Value) -> Value {
    let mut axis = axis(title);
    if let (Some(axis), Value::Object(more)) = (axis.as_object_mut(), more) {
        axis.extend(more);
    }
    axis
}

/// Settings of an axis of shares of ever rarer values: decades, as powers of ten.
pub(crate) fn shares() -> Value {
    json!({"type": "log", "dtick": 1, "tickformat": "~g", "exponentformat": "power"})
}

/// Points of a colour and a size.
pub(crate) fn points(
    name: &str,
    x: Vec<f64>,
    y: Vec<f64>,
    (colour, size): (&str, f64),
    hover: &str,
) -> Value {
    json!({
        "type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "hovertemplate": hover,
        "marker": {"color": colour, "size": size, "opacity": 0.75, "line": {"width": 0}}
    })
}

/// Points that stand out: diamonds in red.
pub(crate) fn alarms(name: &str, x: Vec<f64>, y: Vec<f64>, hover: &str) -> Value {
    json!({
        "type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "hovertemplate": hover,
        "marker": {"color": ALARM, "size": 9, "symbol": "diamond", "line": {"width": 0}}
    })
}

/// A line of a colour and a dash: `solid`, `dash`, `dot`.
pub(crate) fn line(name: &str, x: Vec<f64>, y: Vec<f64>, (colour, dash): (&str, &str), hover: &str) -> Value {
    json!({
        "type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "hovertemplate": hover,
        "line": {"color": colour, "width": 2.25, "dash": dash}
    })
}

/// A line that only guides the eye: thin, grey, without a legend.
pub(crate) fn guide(name: &str, x: Vec<f64>, y: Vec<f64>) -> Value {
    json!({
        "type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "hoverinfo": "skip",
        "line": {"color": OTHER, "width": 1.25, "dash": "dot"}, "showlegend": false
    })
}

/// A band between two lines.
pub(crate) fn band(name: &str, x: &[f64], lower: Vec<f64>, upper: Vec<f64>, colour: &str) -> [Value; 2] {
    let edge = json!({"width": 0, "color": colour});
    [
        json!({
            "type": "scatter", "mode": "lines", "x": x, "y": lower, "line": edge,
            "hoverinfo": "skip", "showlegend": false
        }),
        json!({
            "type": "scatter", "mode": "lines", "name": name, "x": x, "y": upper, "line": edge,
            "fill": "tonexty", "fillcolor": colour, "hoverinfo": "skip"
        }),
    ]
}
