//! Transfers of several sizes: latency and bandwidth.

use samples::Run;
use serde_json::json;

use super::axis::{MOST_LINES, SECONDS, colour, measured, size_axis, size_text, times_axis};
use super::numbers::{SizeCurve, Sizes};
use super::overlay::overlays;
use super::tables::{of_family, side_by_side};
use crate::figures::curve::{Curve, Curves};
use crate::figures::{Figure, Numbers, draw, in_short, slug};
use crate::screen::number::time;
use crate::unit::{Unit, rounded, significant};
use crate::views::family::SizeFamily;
use crate::views::line::AffineFit;
use crate::views::place::Place;
use crate::{Chapter, Table};

pub(super) fn chapter(run: &Run, places: &[Place], families: &[&SizeFamily]) -> Chapter {
    let mut chapter = Chapter::new(
        "transfers",
        "Latency and bandwidth",
        "The time of a transfer is nearly latency + size / bandwidth: small ones are all latency, large ones all \
         bandwidth.",
    );
    let mut lines: Vec<String> = Vec::new();
    let mut operations: Vec<&str> = families.iter().map(|family| family.operation.as_str()).collect();
    operations.sort_unstable();
    operations.dedup();
    let mut table = Table::new(
        "Latency and bandwidth",
        &["<what", "sizes", "latency", "95% from", "to", "bandwidth MiB/s", "95% from", "to", "<"],
    );
    for operation in operations {
        let numbers: Vec<SizeCurve> = families
            .iter()
            .filter(|family| family.operation == operation)
            .take(MOST_LINES)
            .map(|family| SizeCurve::of(family, places))
            .collect();
        for family in &numbers {
            push_line(&mut table, family);
        }
        let (figure, found) = transfer_figure(operation, &numbers);
        chapter.figures.push(figure);
        lines.extend(found);
        chapter.figures.push(rate_figure(operation, &numbers));
    }
    table.note = "Fitted to the medians. A line that does not fit means that cost does not grow evenly with the size: \
                  look at the figure."
        .into();
    if places.iter().any(|place| place.ranks > 1) {
        table.note += " Rates are those of one rank; ranks that work at the same time move more together.";
    }
    chapter.tables.push(table);
    if lines.is_empty() {
        lines.push("no straight line fits, cost does not grow evenly with the size".into());
    }
    chapter.brief = format!("Latency and bandwidth: {}.", lines.join("; "));
    chapter.tables.extend(side_by_side(places, families));
    chapter.tables.extend(families.iter().map(|family| of_family(run, places, family)));
    chapter.figures.extend(overlays(run, places, families));
    chapter
}

/// MiB a second of a time a byte.
fn bandwidth(per_byte: f64) -> String {
    significant(1.0 / per_byte / (1u64 << 20) as f64, 4)
}

/// `120 µs and 190 MiB/s`; of what the times do not tell, the end that they do tell.
fn latency_and_bandwidth(line: &AffineFit) -> String {
    let latency = match line.resolves_latency() {
        true => time(line.latency),
        false => format!("at most {}", time(line.latency_interval[1])),
    };
    let rate = |per_byte: f64| significant(1.0 / per_byte / (1u64 << 20) as f64, 3);
    match line.resolves_bandwidth() {
        true => format!("{latency} and {} MiB/s", rate(line.per_byte)),
        false => format!("{latency} and at least {} MiB/s", rate(line.per_byte_interval[1])),
    }
}

fn push_line(table: &mut Table, family: &SizeCurve) {
    let Some(line) = family.line else { return };
    let unit = Unit::of_duration(line.latency);
    let [latency, from, to] =
        unit.with_interval(line.latency, line.latency_interval[0], line.latency_interval[1]);
    if !line.holds() {
        // Do not show numbers of a line that does not fit, such as a negative latency.
        let nothing = || "–".to_owned();
        table.push(
            false,
            [
                family.name.clone(),
                family.size.len().to_string(),
                nothing(),
                nothing(),
                nothing(),
                nothing(),
                nothing(),
                nothing(),
                "no straight line".into(),
            ],
        );
        return;
    }
    table.push(
        false,
        [
            family.name.clone(),
            family.size.len().to_string(),
            if line.resolves_latency() { unit.named(&latency) } else { "not resolved".into() },
            if line.resolves_latency() { unit.named(&from) } else { "at most".into() },
            unit.named(&to),
            if line.resolves_bandwidth() { bandwidth(line.per_byte) } else { "not resolved".into() },
            if line.resolves_bandwidth() {
                bandwidth(line.per_byte_interval[1])
            } else {
                format!("at least {}", bandwidth(line.per_byte_interval[1]))
            },
            if line.resolves_bandwidth() { bandwidth(line.per_byte_interval[0]) } else { String::new() },
            String::new(),
        ],
    );
}

/// The figure, and the fitted lines in words.
fn transfer_figure(operation: &str, numbers: &[SizeCurve]) -> (Figure, Vec<String>) {
    let unit = SECONDS;
    let mut traces = Vec::new();
    let mut found = Vec::new();
    for (index, family) in numbers.iter().enumerate() {
        let mut points = measured(family, index, unit);
        points["mode"] = json!("markers");
        traces.push(points);
        let straight = |line: &AffineFit| line.latency > 0.0 && line.per_byte > 0.0 && line.holds();
        let Some(line) = family.line.filter(straight) else { continue };
        found.push(format!("{}: {}", family.name, latency_and_bandwidth(&line)));
        // A line whose slope or foot the times do not tell is not drawn.
        if !(line.resolves_latency() && line.resolves_bandwidth()) {
            continue;
        }
        let (first, last) = (family.size[0].max(1.0), family.size[family.size.len() - 1]);
        let x: Vec<f64> =
            (0..=60).map(|k| rounded(first * (last / first).powf(f64::from(k) / 60.0))).collect();
        let y: Vec<f64> = x.iter().map(|x| line.at(*x)).collect();
        let mut fitted = draw::line(&family.name, x, unit.scale_all(&y), (colour(index), "dot"), "");
        fitted["hoverinfo"] = json!("skip");
        fitted["showlegend"] = json!(false);
        traces.push(fitted);
    }
    let sizes: Vec<f64> = numbers.iter().flat_map(|family| family.size.iter().copied()).collect();
    let title = format!("Time of one {operation} by size");
    let figure = Figure {
        id: format!("transfer-{}-{}", slug(operation), slug(&numbers[0].name)),
        caption: if found.is_empty() {
            "Left: the latency; right: the bandwidth. No straight line fits. Bars: 95% intervals of the medians."
                .into()
        } else {
            format!("Left: latency; right: bandwidth. Bars: 95%. Dotted: {}.", in_short(&found, 60))
        },
        alternative: format!("Median time of {operation} against size. {}", found.join("; ")),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            size_axis("size", &sizes, true),
            draw::axis_with("median time", times_axis(numbers)),
        ),
        title,
        numbers: Numbers::new("sizes", Sizes { families: numbers.to_vec(), caches: Vec::new() }),
    };
    (figure, found)
}

/// Bytes a second by size: size over the median time.
fn rate_figure(operation: &str, numbers: &[SizeCurve]) -> Figure {
    let mib = (1u64 << 20) as f64;
    let curves: Vec<Curve> = numbers
        .iter()
        .map(|family| Curve {
            name: family.name.clone(),
            x: family.size.clone(),
            y: family.size.iter().zip(&family.median).map(|(size, median)| size / median / mib).collect(),
        })
        .collect();
    let traces = curves
        .iter()
        .enumerate()
        .map(|(index, curve)| {
            let y = curve.y.iter().map(|y| rounded(*y)).collect();
            let hover = "%{x:.4~s}: %{y:.4g} MiB/s<extra></extra>";
            let mut line = draw::line(&curve.name, curve.x.clone(), y, (colour(index), "solid"), hover);
            line["mode"] = json!("lines+markers");
            line
        })
        .collect();
    let best: Vec<String> = curves
        .iter()
        .map(|curve| {
            let at = (0..curve.y.len()).max_by(|a, b| curve.y[*a].total_cmp(&curve.y[*b])).unwrap_or(0);
            format!("{} {} MiB/s at {}", curve.name, significant(curve.y[at], 3), size_text(curve.x[at]))
        })
        .collect();
    let sizes: Vec<f64> = curves.iter().flat_map(|curve| curve.x.iter().copied()).collect();
    let title = format!("Bytes a second of {operation} by size");
    Figure {
        id: format!("rate-{}-{}", slug(operation), slug(&numbers[0].name)),
        caption: format!("Flat: larger pieces gain nothing. Most: {}.", in_short(&best, 75)),
        alternative: format!("MiB/s of {operation} against size; most: {}.", best.join("; ")),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            size_axis("size", &sizes, true),
            draw::axis_with("MiB/s at the median", json!({"type": "log"})),
        ),
        title,
        numbers: Numbers::new("curves", Curves { curves }),
    }
}
