//! Axes, marks and labels that figures of sizes share.

use samples::{Run, units};
use serde_json::{Value, json};

use super::numbers::SizeCurve;
use crate::figures::draw;
use crate::unit::{Unit, duration, rounded, significant};
use crate::views::distributions::seconds_axis;

/// Axes of sizes reach over many powers of ten: they are in seconds, and labelled with the unit of each.
pub(super) const SECONDS: Unit = Unit { name: "", factor: 1.0 };
/// Families that one figure shows.
pub(super) const MOST_LINES: usize = 6;

pub(crate) fn colour(index: usize) -> &'static str {
    const COLOURS: [&str; 8] = [
        draw::DATA,
        draw::DISTRIBUTION,
        draw::SECOND,
        "#8e6bbf",
        draw::OTHER,
        draw::ALARM,
        "#7a9a01",
        "#b0578d",
    ];
    COLOURS[index % COLOURS.len()]
}

/// A logarithmic axis of sizes with their own labels.
pub(crate) fn size_axis(title: &str, sizes: &[f64], bytes: bool) -> Value {
    let mut all: Vec<f64> = sizes.to_vec();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let step = all.len().div_ceil(10).max(1);
    let shown: Vec<f64> = all.iter().copied().step_by(step).collect();
    let label = |size: &f64| if bytes { size_text(*size) } else { count_text(*size) };
    draw::axis_with(
        title,
        json!({"type": "log", "tickvals": shown, "ticktext": shown.iter().map(label).collect::<Vec<_>>(), "tickangle": 0}),
    )
}

/// `64`, or `0.125` of what is no whole number.
pub(super) fn count_text(count: f64) -> String {
    let is_whole = count.fract() == 0.0 && (0.0..1e15).contains(&count);
    if is_whole { units::count(count as u64) } else { significant(count, 4) }
}

/// `1 MiB`, or `10 GB` of a size that is no power of two.
pub(crate) fn size_text(bytes: f64) -> String {
    // What is a number of KiB as well is told in those.
    let decimal = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")]
        .into_iter()
        .find(|(unit, _)| bytes % unit == 0.0 && bytes > 0.0 && (*unit > 1e3 || bytes % 1024.0 != 0.0));
    match decimal {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => units::bytes(bytes as u64),
    }
}

/// Points with intervals of the medians, joined by a thin line.
pub(super) fn measured(family: &SizeCurve, index: usize, unit: Unit) -> Value {
    let y = unit.scale_all(&family.median);
    let beyond = |end: &[f64], sign: f64| -> Vec<f64> {
        end.iter()
            .zip(&family.median)
            .map(|(end, median)| rounded(unit.scale(sign * (end - median))))
            .collect()
    };
    let hover = "%{customdata}<extra></extra>";
    let mut trace = draw::points(&family.name, family.size.clone(), y, (colour(index), 7.0), hover);
    trace["customdata"] = family.median.iter().map(|median| json!(duration(*median))).collect();
    trace["mode"] = json!("lines+markers");
    trace["line"] = json!({"width": 1.25, "color": colour(index)});
    trace["error_y"] = json!({
        "type": "data", "symmetric": false, "array": beyond(&family.upper, 1.0),
        "arrayminus": beyond(&family.lower, -1.0), "color": colour(index), "thickness": 1.2, "width": 0
    });
    trace
}

/// A logarithmic axis of times for all medians.
pub(super) fn times_axis(families: &[SizeCurve]) -> Value {
    let all: Vec<f64> =
        families.iter().flat_map(|family| family.lower.iter().chain(&family.upper).copied()).collect();
    seconds_axis(&all, &all)
}

/// Caches of the machine: level and bytes, innermost first, without those of instructions.
pub(crate) fn caches(run: &Run) -> Vec<(String, f64)> {
    let caches = run.facts.machine.iter().flat_map(|machine| &machine.processor.caches);
    let mut found: Vec<(String, f64)> = caches
        .filter(|cache| cache.kind != "Instruction")
        .map(|cache| (format!("L{}", cache.level), cache.bytes as f64))
        .collect();
    found.dedup();
    found
}

/// Vertical lines with names at the sizes of the caches, within the reach of the sizes.
pub(crate) fn mark_caches(plot: &mut Value, caches: &[(String, f64)], low: f64, high: f64) {
    let inside: Vec<&(String, f64)> =
        caches.iter().filter(|(_, bytes)| *bytes >= low && *bytes <= high).collect();
    let shape = |bytes: f64| {
        json!({
            "type": "line", "x0": bytes, "x1": bytes, "y0": 0, "y1": 1, "yref": "paper",
            "line": {"color": draw::OTHER, "width": 1.25, "dash": "dot"}
        })
    };
    let note = |name: &str, bytes: f64| {
        json!({
            "x": bytes.log10(), "y": 1, "yref": "paper", "yanchor": "top", "xanchor": "left", "xshift": 4,
            "text": format!("{name} {}", size_text(bytes)), "showarrow": false
        })
    };
    plot["layout"]["shapes"] = inside.iter().map(|(_, bytes)| shape(*bytes)).collect();
    plot["layout"]["annotations"] = inside.iter().map(|(name, bytes)| note(name, *bytes)).collect();
}
