//! How does a time change with a size or a number: curves, fitted lines, tables?

use samples::{Run, units};
use serde::Serialize;
use serde_json::{Value, json};
use tail::assess::quantile_interval;

use super::distributions::seconds_axis;
use super::family::{Axis, Family};
use super::line::AffineFit;
use super::place::Place;
use super::size_tables::{means, of_family, side_by_side};
use crate::figures::{Figure, Numbers, draw, sample::Curve, sample::Curves, sample::above};
use crate::unit::{Unit, duration, rounded, significant};
use crate::{Chapter, Table};

/// Axes of sizes reach over many powers of ten: they are in seconds, and labelled with the unit of each.
const SECONDS: Unit = Unit { name: "", factor: 1.0 };
/// Families that one figure shows.
const MOST_LINES: usize = 6;
/// Families whose distributions are shown one over the other.
const MOST_OVERLAYS: usize = 8;

/// Time against size of one operation at several sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// Every family.
    pub families: Vec<FamilyNumbers>,
    /// Caches by level with their bytes, as far as they are marked.
    pub caches: Vec<(String, f64)>,
}

/// One curve of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilyNumbers {
    /// `local / fwrite`.
    pub name: String,
    /// Bytes, or the number in the label.
    pub size: Vec<f64>,
    /// Median time of an operation, in seconds.
    pub median: Vec<f64>,
    /// Its 95 % interval without a model; the median itself where there are too few samples.
    pub lower: Vec<f64>,
    /// Upper end.
    pub upper: Vec<f64>,
    /// 99 % quantile, in seconds, where there are enough samples.
    pub p99: Vec<Option<f64>>,
    /// Operations a second over the whole time from the first to the last.
    pub rate: Vec<f64>,
    /// latency + size / bandwidth, where the size is what an operation moves.
    pub line: Option<AffineFit>,
}

impl FamilyNumbers {
    fn of(family: &Family, places: &[Place]) -> FamilyNumbers {
        let of = |value: &dyn Fn(&Place) -> f64| -> Vec<f64> {
            family.members.iter().map(|(_, place)| value(&places[*place])).collect()
        };
        let end = |upper: bool| {
            move |place: &Place| {
                let (low, high) = quantile_interval(place.sorted.len(), 0.5, 0.95);
                let at = if upper { high } else { low };
                at.map_or(place.median(), |at| place.sorted[at])
            }
        };
        let size: Vec<f64> = family.members.iter().map(|(size, _)| *size).collect();
        let (median, lower, upper) = (of(&Place::median), of(&end(false)), of(&end(true)));
        let points: Vec<(f64, f64, f64)> = (0..size.len())
            .map(|at| (size[at], median[at], (upper[at] - lower[at]) / (2.0 * 1.96)))
            .collect();
        FamilyNumbers {
            name: family.name.clone(),
            p99: family
                .members
                .iter()
                .map(|(_, place)| places[*place].summary().and_then(|summary| summary.p99))
                .collect(),
            rate: of(&|place| place.operations as f64 / place.span_s.max(1e-12)),
            line: (family.axis == Axis::Transfer).then(|| AffineFit::through(&points)).flatten(),
            size,
            median,
            lower,
            upper,
        }
    }
}

/// Chapters for transfers, working sets and other numbers, as far as there are any.
pub(super) fn chapters(run: &Run, places: &[Place], families: &[Family]) -> Vec<Chapter> {
    let of = |wanted: &dyn Fn(&Axis) -> bool| -> Vec<&Family> {
        families.iter().filter(|family| wanted(&family.axis)).collect()
    };
    let transfers = of(&|axis| *axis == Axis::Transfer);
    let sets = of(&|axis| *axis == Axis::Bytes);
    let mut chapters = Vec::new();
    if !transfers.is_empty() {
        chapters.push(of_transfers(run, places, &transfers));
    }
    if !sets.is_empty() {
        chapters.push(of_sets(run, places, &sets));
    }
    let mut names: Vec<&str> = families
        .iter()
        .filter_map(|family| match &family.axis {
            Axis::Count(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let counted = of(&|axis| matches!(axis, Axis::Count(other) if other == name));
        chapters.push(of_counts(run, places, &counted, name));
    }
    chapters
}

fn colour(index: usize) -> &'static str {
    const COLOURS: [&str; 8] =
        [draw::DATA, draw::LAW, draw::SECOND, "#8e6bbf", draw::OTHER, draw::ALARM, "#7a9a01", "#b0578d"];
    COLOURS[index % COLOURS.len()]
}

/// A logarithmic axis of sizes with their own labels.
pub(super) fn size_axis(title: &str, sizes: &[f64], bytes: bool) -> Value {
    let mut all: Vec<f64> = sizes.to_vec();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let step = all.len().div_ceil(10).max(1);
    let shown: Vec<f64> = all.iter().copied().step_by(step).collect();
    let label = |size: &f64| if bytes { size_text(*size) } else { significant(*size, 4) };
    draw::axis_with(
        title,
        json!({"type": "log", "tickvals": shown, "ticktext": shown.iter().map(label).collect::<Vec<_>>(), "tickangle": 0}),
    )
}

/// `1 MiB`, or `10 GB` of a size that is no power of two.
pub(super) fn size_text(bytes: f64) -> String {
    let decimal = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB")]
        .into_iter()
        .find(|(unit, _)| bytes % unit == 0.0 && bytes > 0.0);
    match decimal {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => units::bytes(bytes as u64),
    }
}

/// Points with intervals of the medians, joined by a thin line.
fn measured(family: &FamilyNumbers, index: usize, unit: Unit) -> Value {
    let y = unit.scale_all(&family.median);
    let beyond = |end: &[f64], sign: f64| -> Vec<f64> {
        end.iter()
            .zip(&family.median)
            .map(|(end, median)| rounded(unit.scale(sign * (end - median))))
            .collect()
    };
    let hover = "%{customdata}<extra></extra>";
    let mut trace = draw::points(&family.name, family.size.clone(), y, colour(index), 7.0, hover);
    trace["customdata"] = family.median.iter().map(|median| json!(duration(*median))).collect();
    trace["mode"] = json!("lines+markers");
    trace["line"] = json!({"width": 1.25, "color": colour(index)});
    trace["error_y"] = json!({
        "type": "data", "symmetric": false, "array": beyond(&family.upper, 1.0),
        "arrayminus": beyond(&family.lower, -1.0), "color": colour(index), "thickness": 1.2, "width": 0
    });
    trace
}

fn of_transfers(run: &Run, places: &[Place], families: &[&Family]) -> Chapter {
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
        &["<what", "sizes", "latency", "95 % from", "to", "bandwidth MiB/s", "95 % from", "to", "<"],
    );
    for operation in operations {
        let numbers: Vec<FamilyNumbers> = families
            .iter()
            .filter(|family| family.operation == operation)
            .take(MOST_LINES)
            .map(|family| FamilyNumbers::of(family, places))
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
    chapter.tables.push(table);
    if lines.is_empty() {
        lines.push("no straight line fits, cost does not grow evenly with the size".into());
    }
    chapter.brief = format!("Latency and bandwidth: {}.", lines.join("; "));
    chapter.tables.extend(side_by_side(places, families));
    chapter.tables.extend(families.iter().map(|family| of_family(run, places, family)));
    chapter.figures.extend(families.iter().take(MOST_OVERLAYS).map(|family| overlay(run, places, family)));
    chapter
}

fn push_line(table: &mut Table, family: &FamilyNumbers) {
    let Some(line) = family.line else { return };
    let bandwidth = |per_byte: f64| {
        if per_byte > 0.0 { significant(1.0 / per_byte / (1u64 << 20) as f64, 4) } else { "∞".into() }
    };
    let unit = Unit::of_duration(line.latency);
    let [latency, from, to] =
        unit.with_interval(line.latency, line.latency_interval[0], line.latency_interval[1]);
    if !line.holds() {
        // Numbers of a line that does not fit, a latency below nothing among them, would be believed.
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
            unit.named(&latency),
            unit.named(&from),
            unit.named(&to),
            bandwidth(line.per_byte),
            bandwidth(line.per_byte_interval[1]),
            bandwidth(line.per_byte_interval[0]),
            String::new(),
        ],
    );
}

/// The figure, and the fitted lines in words.
fn transfer_figure(operation: &str, numbers: &[FamilyNumbers]) -> (Figure, Vec<String>) {
    let unit = SECONDS;
    let mut traces = Vec::new();
    let mut found = Vec::new();
    for (index, family) in numbers.iter().enumerate() {
        let mut points = measured(family, index, unit);
        points["mode"] = json!("markers");
        traces.push(points);
        let straight = |line: &AffineFit| line.latency > 0.0 && line.per_byte > 0.0 && line.holds();
        let Some(line) = family.line.filter(straight) else { continue };
        let (first, last) = (family.size[0].max(1.0), family.size[family.size.len() - 1]);
        let x: Vec<f64> =
            (0..=60).map(|k| rounded(first * (last / first).powf(f64::from(k) / 60.0))).collect();
        let y: Vec<f64> = x.iter().map(|x| line.at(*x)).collect();
        let mut fitted = draw::line(&family.name, x, unit.scale_all(&y), colour(index), "dot", "");
        fitted["hoverinfo"] = json!("skip");
        fitted["showlegend"] = json!(false);
        traces.push(fitted);
        let rate = 1.0 / line.per_byte / (1u64 << 20) as f64;
        found
            .push(format!("{}: {} and {} MiB/s", family.name, duration(line.latency), significant(rate, 3),));
    }
    let sizes: Vec<f64> = numbers.iter().flat_map(|family| family.size.iter().copied()).collect();
    let title = format!("Time of one {operation} by size");
    let figure = Figure {
        id: format!("transfer-{}-{}", slug(operation), slug(&numbers[0].name)),
        caption: if found.is_empty() {
            "Level on the left: the latency; rising on the right: the bandwidth. No straight line fits: cost does \
             not grow evenly with the size. Bars are 95 % intervals of the medians."
                .into()
        } else {
            format!(
                "Level on the left: the latency; rising on the right: the bandwidth. Dotted is the fitted line \
                 ({}); bars are 95 % intervals of the medians.",
                found.join("; ")
            )
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
        numbers: Numbers::Sizes(Sizes { families: numbers.to_vec(), caches: Vec::new() }),
    };
    (figure, found)
}

/// A logarithmic axis of times for all medians.
fn times_axis(families: &[FamilyNumbers]) -> Value {
    let all: Vec<f64> =
        families.iter().flat_map(|family| family.lower.iter().chain(&family.upper).copied()).collect();
    seconds_axis(&all, &all)
}

/// Bytes a second by size: size over the median time.
fn rate_figure(operation: &str, numbers: &[FamilyNumbers]) -> Figure {
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
            let mut line = draw::line(&curve.name, curve.x.clone(), y, colour(index), "solid", hover);
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
        caption: format!("Where a line flattens, larger pieces gain nothing. The most: {}.", best.join("; ")),
        alternative: format!("MiB/s of {operation} against size; most: {}.", best.join("; ")),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            size_axis("size", &sizes, true),
            draw::axis_with("MiB/s at the median", json!({"type": "log"})),
        ),
        title,
        numbers: Numbers::Curves(Curves { curves }),
    }
}

fn of_sets(run: &Run, places: &[Place], families: &[&Family]) -> Chapter {
    let mut chapter = Chapter::new(
        "sizes",
        "By size",
        "The same operation on ever more bytes: steps show where a cache or a memory ends.",
    );
    for (index, group) in families.chunks(MOST_LINES).enumerate() {
        chapter.figures.push(set_figure(run, places, group, index));
    }
    let courses: Vec<String> =
        families.iter().take(3).map(|family| course(&FamilyNumbers::of(family, places))).collect();
    chapter.brief = format!("Medians: {}.", courses.join("; "));
    chapter.figures.extend(families.iter().take(MOST_OVERLAYS).map(|family| overlay(run, places, family)));
    chapter.tables.extend(means(places, families));
    chapter.tables.extend(families.iter().map(|family| of_family(run, places, family)));
    chapter
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

/// `memory / chase from 1.09 ns at 1 KiB to 140 ns at 64 MiB`.
fn course(family: &FamilyNumbers) -> String {
    let last = family.median.len() - 1;
    format!(
        "{} from {} at {} to {} at {}",
        family.name,
        duration(family.median[0]),
        size_text(family.size[0]),
        duration(family.median[last]),
        size_text(family.size[last])
    )
}

fn set_figure(run: &Run, places: &[Place], families: &[&Family], index: usize) -> Figure {
    let numbers: Vec<FamilyNumbers> =
        families.iter().map(|family| FamilyNumbers::of(family, places)).collect();
    let unit = SECONDS;
    let sizes: Vec<f64> = numbers.iter().flat_map(|family| family.size.iter().copied()).collect();
    let (low, high) = sizes.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    let traces = numbers.iter().enumerate().map(|(index, family)| measured(family, index, unit)).collect();
    let title = "Time of one operation by size".to_string();
    let mut plot = draw::figure(
        &title,
        traces,
        size_axis("size", &sizes, true),
        draw::axis_with("median time", times_axis(&numbers)),
    );
    let caches = caches(run);
    mark_caches(&mut plot, &caches, low, high);
    let growth: Vec<String> = numbers.iter().map(course).collect();
    let marked = if caches.is_empty() { "" } else { " Dotted: the sizes of the caches." };
    Figure {
        id: if index == 0 { "by-size".into() } else { format!("by-size-{}", index + 1) },
        caption: format!(
            "A step up is where the size outgrows something quicker. Medians: {}.{marked} The cost of reading the clock \
             is in every single timing.",
            growth.join("; ")
        ),
        alternative: format!("Median times against size. {}.", growth.join("; ")),
        wide: true,
        plot,
        title,
        numbers: Numbers::Sizes(Sizes { families: numbers, caches }),
    }
}

/// One over the other: how often each size takes longer, on logarithmic axes, with the clock's step.
fn overlay(run: &Run, places: &[Place], family: &Family) -> Figure {
    let unit = Unit::of_duration(places[family.members[family.members.len() / 2].1].median());
    let label = |size: f64| match &family.axis {
        Axis::Count(name) => format!("{name} {}", significant(size, 4)),
        _ => size_text(size),
    };
    let curves: Vec<Curve> = family
        .members
        .iter()
        .map(|(size, place)| {
            let (x, y) = above(places[*place].sorted.clone());
            Curve { name: label(*size), x, y }
        })
        .collect();
    let title = format!("How often it takes longer: {}", family.name);
    super::distributions::survival_figure(
        &format!("overlay-{}", slug(&family.name)),
        title,
        curves,
        unit,
        run,
        "Lines side by side: the size moves all of the distribution; lines that meet at the right end: the same \
         interruptions hit every size.",
    )
}

/// A name of letters, digits and hyphens.
pub(super) fn slug(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars() {
        match character {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    out.trim_end_matches('-').into()
}

fn of_counts(run: &Run, places: &[Place], families: &[&Family], name: &str) -> Chapter {
    let mut chapter = Chapter::new(
        &format!("by-{}", slug(name)),
        &format!("By {name}"),
        "What more of it buys, and what it costs every single operation.",
    );
    let numbers: Vec<FamilyNumbers> =
        families.iter().take(MOST_LINES).map(|family| FamilyNumbers::of(family, places)).collect();
    let unit = SECONDS;
    let sizes: Vec<f64> = numbers.iter().flat_map(|family| family.size.iter().copied()).collect();
    let mut traces: Vec<Value> = Vec::new();
    for (index, family) in numbers.iter().enumerate() {
        traces.push(measured(family, index, unit));
        let p99: Option<Vec<f64>> = family.p99.iter().copied().collect();
        if let Some(p99) = p99 {
            let name = format!("{} p99", family.name);
            traces.push(draw::line(
                &name,
                family.size.clone(),
                unit.scale_all(&p99),
                colour(index),
                "dash",
                "p99 %{y:.4s}s<extra></extra>",
            ));
        }
    }
    let title = format!("Time of one operation by {name}");
    let ends = |of: &dyn Fn(&FamilyNumbers, usize) -> String| -> String {
        let parts: Vec<String> = numbers
            .iter()
            .map(|family| {
                let last = family.size.len() - 1;
                format!("{} from {} to {}", family.name, of(family, 0), of(family, last))
            })
            .collect();
        parts.join("; ")
    };
    let found = ends(&|family, at| duration(family.median[at]));
    chapter.brief = format!("Medians by {name}: {found}.");
    chapter.figures.push(Figure {
        id: format!("time-by-{}", slug(name)),
        caption: format!("Rising: operations wait for each other. Medians: {found}."),
        alternative: format!("Median time against {name}: {found}."),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            size_axis(name, &sizes, false),
            draw::axis_with("median time", times_axis(&numbers)),
        ),
        title,
        numbers: Numbers::Sizes(Sizes { families: numbers.clone(), caches: Vec::new() }),
    });
    let title = format!("Operations a second by {name}");
    let traces = numbers
        .iter()
        .enumerate()
        .map(|(index, family)| {
            let y = family.rate.iter().map(|rate| rounded(*rate)).collect();
            let mut line = draw::line(
                &family.name,
                family.size.clone(),
                y,
                colour(index),
                "solid",
                "%{x}: %{y:.4g}/s<extra></extra>",
            );
            line["mode"] = json!("lines+markers");
            line
        })
        .collect();
    let found = ends(&|family, at| format!("{}/s", significant(family.rate[at], 3)));
    chapter.figures.push(Figure {
        id: format!("rate-by-{}", slug(name)),
        caption: format!("Level: the device or the processor is full. From its first to its last: {found}."),
        alternative: format!("Operations a second against {name}: {found}."),
        wide: false,
        plot: draw::figure(
            &title,
            traces,
            size_axis(name, &sizes, false),
            draw::axis_with("operations a second", json!({"type": "log"})),
        ),
        title,
        numbers: Numbers::Sizes(Sizes { families: numbers, caches: Vec::new() }),
    });
    chapter.figures.extend(families.iter().take(MOST_OVERLAYS).map(|family| overlay(run, places, family)));
    chapter.tables.extend(families.iter().map(|family| of_family(run, places, family)));
    chapter
}
