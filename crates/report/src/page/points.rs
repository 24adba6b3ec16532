//! The plot of a figure with the points that a screen can tell apart, and the digits that it can show. The numbers of a
//! figure, which a document has, stay as they are.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

/// Points up to which a line keeps all.
const FEW: usize = 60;
/// Lines from which on none is followed as closely as one alone.
const MANY: usize = 12;
/// What a screen tells apart in a figure of half the width, and in one of the whole.
const CELLS: ([f64; 2], [f64; 2]) = ([400.0, 240.0], [800.0, 240.0]);
/// Parts of its axis by which a number may be moved.
const STEPS: f64 = 4_000.0;
/// Significant digits that a number keeps, however long its axis is.
const DIGITS: i32 = 4;

/// From where to where an axis reaches, in decades where it is logarithmic.
#[derive(Clone, Copy)]
struct AxisSpan {
    logarithmic: bool,
    low: f64,
    high: f64,
}

impl AxisSpan {
    fn place(&self, value: f64) -> f64 {
        if self.logarithmic { value.log10() } else { value }
    }

    /// From 0 to 1 along the axis.
    fn share(&self, value: f64) -> f64 {
        (self.place(value) - self.low) / (self.high - self.low)
    }

    /// Which of `cells` the value is in; none if it is not on the axis.
    fn cell(&self, value: f64, cells: f64) -> Option<i64> {
        let share = self.share(value);
        share.is_finite().then_some((share * cells).floor() as i64)
    }

    /// The value with the digits that the axis can show.
    fn rounded(&self, value: f64) -> f64 {
        if value == 0.0 || !value.is_finite() {
            return value;
        }
        let step = if self.logarithmic { 0.0 } else { (self.high - self.low) / STEPS };
        let of_axis = if step > 0.0 { -step.log10().floor() as i32 } else { i32::MIN };
        let of_value = DIGITS - 1 - value.abs().log10().floor() as i32;
        let decimals = of_axis.max(of_value);
        match (0..=15).contains(&decimals) {
            true => format!("{value:.*}", decimals as usize).parse().unwrap_or(value),
            false => value,
        }
    }
}

/// The plot with fewer points and digits, which looks the same.
pub(super) fn fewer(mut plot: Value, wide: bool) -> Value {
    let spans = spans(&plot);
    let [mut across, mut up] = if wide { CELLS.1 } else { CELLS.0 };
    let grid = |name: &str| plot["layout"]["grid"][name].as_f64().unwrap_or(1.0).max(1.0);
    (across, up) = (across / grid("columns"), if grid("rows") > 1.0 { 80.0 } else { up });
    if plot["data"].as_array().map_or(0, Vec::len) > MANY && grid("rows") == 1.0 {
        (across, up) = (0.5 * across, 0.5 * up);
    }
    for trace in plot["data"].as_array_mut().into_iter().flatten() {
        let of = |which: &str| spans.get(&axis_of(trace, which)).copied();
        let (x, y) = (of("x"), of("y"));
        if let (Some(x), Some(y)) = (x, y) {
            keep(trace, &kept(trace, (x, across), (y, up)));
        }
        for (which, span) in [("x", x), ("y", y)] {
            let values = trace[which].as_array_mut().filter(|_| span.is_some());
            for (value, span) in values.into_iter().flatten().zip(std::iter::repeat(span)) {
                if let (Some(number), Some(span)) = (value.as_f64().filter(|_| value.is_f64()), span) {
                    *value = short(span.rounded(number));
                }
            }
        }
    }
    plot
}

/// A whole number without a decimal point.
fn short(number: f64) -> Value {
    let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
    if is_whole { json!(number as i64) } else { json!(number) }
}

/// The axis of a trace in the layout: `xaxis`, `xaxis2`.
fn axis_of(trace: &Value, which: &str) -> String {
    let name = trace[format!("{which}axis")].as_str().unwrap_or(which);
    format!("{which}axis{}", name.trim_start_matches(which))
}

/// Where all numbers of the traces of an axis lie; none for an axis of names.
fn spans(plot: &Value) -> BTreeMap<String, AxisSpan> {
    let mut spans: BTreeMap<String, Option<AxisSpan>> = BTreeMap::new();
    for trace in plot["data"].as_array().into_iter().flatten() {
        for which in ["x", "y"] {
            let name = axis_of(trace, which);
            let logarithmic = plot["layout"][&name]["type"] == "log";
            let empty = AxisSpan { logarithmic, low: f64::INFINITY, high: f64::NEG_INFINITY };
            let span = spans.entry(name).or_insert(Some(empty));
            for value in trace[which].as_array().into_iter().flatten().filter(|value| !value.is_null()) {
                match (value.as_f64(), span.as_mut()) {
                    (Some(value), Some(span)) if span.place(value).is_finite() => {
                        let place = span.place(value);
                        (span.low, span.high) = (span.low.min(place), span.high.max(place));
                    }
                    (Some(_), _) => {}
                    (None, _) => *span = None,
                }
            }
        }
    }
    spans
        .into_iter()
        .filter_map(|(name, span)| Some((name, span.filter(|span| span.high > span.low)?)))
        .collect()
}

/// Indices of the points that differ from others on a screen: of points one in each cell, of a line all that leave the cell
/// of the one before; the first, the last and the extremes always.
fn kept(trace: &Value, (x, across): (AxisSpan, f64), (y, up): (AxisSpan, f64)) -> Vec<usize> {
    let numbers = |which: &str| -> Vec<Option<f64>> {
        trace[which].as_array().into_iter().flatten().map(Value::as_f64).collect()
    };
    let (xs, ys) = (numbers("x"), numbers("y"));
    let n = xs.len();
    if trace["type"] != "scatter" || n <= FEW || ys.len() != n {
        return (0..n).collect();
    }
    let by_y = |a: &usize, b: &usize| ys[*a].unwrap_or(f64::NAN).total_cmp(&ys[*b].unwrap_or(f64::NAN));
    let known = || (0..n).filter(|at| ys[*at].is_some());
    let always: HashSet<usize> =
        [Some(0), Some(n - 1), known().min_by(by_y), known().max_by(by_y)].into_iter().flatten().collect();
    let is_line = trace["mode"].as_str().is_none_or(|mode| mode.contains("lines"));
    // A point is several cells wide.
    let (across, up) = if is_line { (across, up) } else { (0.5 * across, 0.5 * up) };
    let mut seen = HashSet::new();
    let mut last = None;
    let is_new = |at: &usize| {
        let cell =
            xs[*at].and_then(|value| x.cell(value, across)).zip(ys[*at].and_then(|value| y.cell(value, up)));
        let new = match is_line {
            true => cell.is_none() || cell != last,
            false => cell.is_none_or(|cell| seen.insert(cell)),
        };
        last = cell;
        new || always.contains(at)
    };
    let is_step = trace["line"]["shape"] == "hv";
    let kept: Vec<usize> = (0..n).filter(is_new).collect();
    match is_line && !is_step {
        true => straightened(&kept, (&xs, x, across), (&ys, y, up)),
        false => kept,
    }
}

/// Of the points of a line those without which it would run elsewhere, and some on straight stretches, to point at.
fn straightened(kept: &[usize], (xs, x, across): AlongAxis, (ys, y, up): AlongAxis) -> Vec<usize> {
    /// Cells by which a line may run elsewhere, and parts of the figure without a point.
    const APART: (f64, f64) = (0.4, 1.0 / 24.0);
    let part = |of: &[Option<f64>], span: AxisSpan, at: usize| of[at].map(|value| span.share(value));
    let places: Vec<Option<(f64, f64)>> =
        kept.iter().map(|at| part(xs, x, *at).zip(part(ys, y, *at))).collect();
    let mut found = vec![0];
    let mut begin = 0;
    for end in 1..places.len() {
        let straight = |(from, to): ((f64, f64), (f64, f64))| {
            let reach = to.0 - from.0;
            let is_near = |place: &Option<(f64, f64)>| {
                let Some((across_at, up_at)) = *place else { return false };
                let on = from.1 + (to.1 - from.1) * (across_at - from.0) / reach;
                (on - up_at).abs() * up <= APART.0
            };
            reach * across > 0.0 && reach <= APART.1 && places[begin..end].iter().all(is_near)
        };
        if !places[begin].zip(places[end]).is_some_and(straight) {
            begin = end - 1;
            if found.last() != Some(&begin) {
                found.push(begin);
            }
        }
    }
    if found.last() != Some(&(places.len() - 1)) {
        found.push(places.len() - 1);
    }
    found.into_iter().map(|at| kept[at]).collect()
}

/// Values along an axis, the axis, and its cells.
type AlongAxis<'a> = (&'a [Option<f64>], AxisSpan, f64);

/// Leaves only those of a trace: of every list that has an entry for each point.
fn keep(trace: &mut Value, kept: &[usize]) {
    let n = trace["x"].as_array().map_or(0, Vec::len);
    if kept.len() < n {
        keep_of(trace, n, kept);
    }
}

fn keep_of(value: &mut Value, n: usize, kept: &[usize]) {
    match value {
        Value::Array(items) if items.len() == n => {
            *items = kept.iter().map(|at| std::mem::take(&mut items[*at])).collect();
        }
        Value::Object(fields) => fields.values_mut().for_each(|field| keep_of(field, n, kept)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(x: &[f64], y: &[f64], mode: &str) -> Value {
        json!({
            "data": [{"type": "scatter", "mode": mode, "x": x, "y": y, "customdata": x, "marker": {"size": x}}],
            "layout": {"xaxis": {}, "yaxis": {}}
        })
    }

    #[test]
    fn a_plot_loses_points_of_one_place_and_no_extreme() {
        let x: Vec<f64> = (0..5_000).map(f64::from).collect();
        let mut y: Vec<f64> = x.iter().map(|x| 1.0 + (x % 3.0) * 1e-5).collect();
        (y[2_345], y[2_346]) = (9.0, -4.0);
        for mode in ["lines", "markers"] {
            let fewer = fewer(plot(&x, &y, mode), true);
            let trace = &fewer["data"][0];
            let list = |value: &Value| value.as_array().unwrap().clone();
            let (xs, ys) = (list(&trace["x"]), list(&trace["y"]));
            assert!(xs.len() < 900, "{mode}: {}", xs.len());
            assert!(
                [&ys, &list(&trace["customdata"]), &list(&trace["marker"]["size"])]
                    .iter()
                    .all(|all| all.len() == xs.len())
            );
            assert!(ys.contains(&json!(9)) && ys.contains(&json!(-4)));
            assert_eq!((xs.first(), xs.last()), (Some(&json!(0)), Some(&json!(4999))));
        }
    }

    #[test]
    fn few_points_and_names_and_gaps_stay() {
        let few: Vec<f64> = (0..50).map(|k| f64::from(k) / 3.0).collect();
        assert_eq!(fewer(plot(&few, &few, "lines"), false)["data"][0]["x"].as_array().unwrap().len(), 50);
        let named =
            json!({"data": [{"type": "scatter", "x": [0.123456789, null], "y": ["a", null]}], "layout": {}});
        let fewer = fewer(named, false);
        assert_eq!(fewer["data"][0]["y"], json!(["a", null]));
    }

    proptest::proptest! {
        #[test]
        fn a_number_moves_by_less_than_a_screen_shows(value in -1e9..1e9f64, low in -1e6..1e6f64, reach in 1e-6..1e9f64) {
            let span = AxisSpan { logarithmic: false, low, high: low + reach };
            let moved = (span.rounded(value) - value).abs();
            proptest::prop_assert!(moved <= reach / STEPS + 1e-15, "{value} by {moved}");
        }
    }
}
