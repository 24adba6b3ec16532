//! The chapters of `lastrank try`: the rungs, the curve of latency, bandwidths, and what slow ones waited for.

use samples::{Run, RungFacts, RungGroup, RungQuantiles, TourFacts};
use serde_json::json;

use super::distributions::{Overlay, QuantileRanges, ranges_figure, seconds_axis, survival_figure};
use super::sizes::axis::{caches, mark_caches, size_axis, size_text};
use crate::figures::causes::{CauseShares, stacks};
use crate::figures::curve::{Curve, Curves};
use crate::figures::{Figure, Numbers, draw};
use crate::screen::number::time;
use crate::unit::{Unit, duration, rounded, significant};
use crate::{Chapter, Table};

const GROUPS: [(RungGroup, &str, &str); 5] = [
    (RungGroup::Memory, "memory", "Caches and memory"),
    (RungGroup::System, "system", "System calls"),
    (RungGroup::Process, "process", "Processes and threads"),
    (RungGroup::Disk, "disk", "Files and disk"),
    (RungGroup::Clock, "clock", "Clock"),
];

/// Picoseconds as seconds.
const PS: f64 = 1e-12;

/// The chapters of a tour; none where the run is none.
pub(super) fn chapters(run: &Run) -> Vec<Chapter> {
    let Some(tour) = run.facts.tour.as_ref().filter(|tour| !tour.rungs.is_empty()) else { return Vec::new() };
    let mut ladder = Chapter::new(
        "ladder",
        "From the first cache to the disk",
        "One operation of each kind, the quickest first. Times are less the clock's own.",
    )
    .with([rungs_figure(tour)], [Some(rungs_table(tour)), side_by_side(tour)].into_iter().flatten());
    let named = |rung: &RungFacts| format!("{} {}", rung.name, time(rung.headline_ps * PS));
    let group = |wanted: RungGroup| {
        let of: Vec<String> = tour.rungs.iter().filter(|rung| rung.group == wanted).map(named).collect();
        of
    };
    let mut first = group(RungGroup::Memory);
    first.truncate(4);
    first.extend(group(RungGroup::System).into_iter().take(1));
    let disk = group(RungGroup::Disk);
    first.extend(disk.iter().take(1).cloned());
    first.extend(disk.iter().skip(1).next_back().cloned());
    ladder.brief = format!("Typical times: {}.", first.join(", "));
    let mut chapters = vec![ladder];
    if tour.curve.len() > 2 {
        let memory = Chapter::new(
            "working-set",
            "Caches and memory",
            "How long one dependent load takes in ever more memory, and how fast memory streams.",
        )
        .with([curve_figure(run, tour)], bandwidth_table(tour));
        chapters.push(memory);
    }
    let mut tails = Chapter::new(
        "tails",
        "The tails",
        "How often an operation takes longer, on logarithmic axes: the bulk on the left, the rare slow operations on the right.",
    );
    for (group, name, title) in GROUPS {
        let curves = tail_curves(tour, group);
        tails.figures.extend(tail_figure(run, curves, &format!("tail-{name}"), title));
    }
    chapters.push(tails);
    let rows: Vec<CauseShares> = tour
        .rungs
        .iter()
        .filter(|rung| !rung.causes.is_empty())
        .map(|rung| CauseShares {
            // How much a rung lost depends on how often it was tried.
            excess_s: 1.0,
            name: rung.name.clone(),
            shares: rung.causes.clone(),
        })
        .collect();
    if let Some(figure) = stacks(rows, "the slowest hundredth of every rung") {
        let lead = "What was seen while an operation ran slow; nothing is guessed.";
        let mut causes =
            Chapter::new("rung-causes", "Why were slow operations slow?", lead).with([figure], []);
        causes.on_page_only = true;
        chapters.push(causes);
    }
    chapters
}

fn rungs_table(tour: &TourFacts) -> Table {
    let mut table = Table::new(
        "Rungs",
        &["<rung", "<one operation is", "typical", "median", "p99", "p99.9", "slowest", "n", "<waited for"],
    );
    let show = |ps: Option<f64>| ps.map_or("–".into(), |ps| duration(ps.max(0.0) * PS));
    let (mut batched, mut corrected) = (false, false);
    for rung in &tour.rungs {
        let quantiles = rung.raw;
        batched |= rung.batch > 1;
        corrected |= rung.corrected.is_some();
        let causes: Vec<String> = rung
            .causes
            .iter()
            .filter(|(_, share)| *share >= 0.05)
            .take(3)
            .map(|(cause, share)| format!("{} {:.0}%", crate::words_of_cause(cause), 100.0 * share))
            .collect();
        let mark = if rung.corrected.is_some() { " *" } else { "" };
        table.push(
            false,
            [
                format!("{}{mark}", rung.name),
                rung.what.clone(),
                show(Some(rung.headline_ps)),
                show(Some(quantiles.median_ps)),
                show(quantiles.p99_ps),
                show(quantiles.p999_ps),
                show(Some(quantiles.max_ps)),
                samples::units::count(rung.n as u64),
                causes.join(", "),
            ],
        );
    }
    let mut notes = vec!["Typical: the median of blocks of about 1 ms.".to_string()];
    if batched {
        notes.push(
            "Quick operations are timed in small batches; their quantiles are of the mean of a batch.".into(),
        );
    }
    if corrected {
        notes.push("* some of it was a wait for a processor: the next table has both.".into());
    }
    if !tour.skipped.is_empty() {
        notes.push(format!("Left out: {}.", tour.skipped.join("; ")));
    }
    table.note = notes.join(" ");
    table
}

/// Rungs of calls that block, with and without their wait for a processor; none where none waited.
fn side_by_side(tour: &TourFacts) -> Option<Table> {
    let mut table = Table::new(
        "With and without the wait for a processor (calls that block)",
        &["<rung", "median", "without", "p99", "without", "p99.9", "without", "slowest", "without"],
    );
    let show = |ps: Option<f64>| ps.map_or("–".into(), |ps| duration(ps.max(0.0) * PS));
    for rung in &tour.rungs {
        let (raw, Some(less)) = (rung.raw, rung.corrected) else { continue };
        table.push(
            false,
            [
                rung.name.clone(),
                show(Some(raw.median_ps)),
                show(Some(less.median_ps)),
                show(raw.p99_ps),
                show(less.p99_ps),
                show(raw.p999_ps),
                show(less.p999_ps),
                show(Some(raw.max_ps)),
                show(Some(less.max_ps)),
            ],
        );
    }
    (!table.rows.is_empty()).then_some(table)
}

fn rungs_figure(tour: &TourFacts) -> Figure {
    let quantiles: Vec<RungQuantiles> = tour.rungs.iter().map(|rung| rung.raw).collect();
    let of = |value: fn(&RungQuantiles) -> f64| quantiles.iter().map(|q| (value(q) * PS).max(0.0)).collect();
    let optional = |value: fn(&RungQuantiles) -> Option<f64>| {
        quantiles.iter().map(|q| value(q).map(|ps| ps * PS)).collect()
    };
    ranges_figure(
        QuantileRanges {
            name: tour.rungs.iter().map(|rung| rung.name.clone()).collect(),
            p1: tour
                .rungs
                .iter()
                .zip(&quantiles)
                .map(|(rung, q)| {
                    rung.survival
                        .first()
                        .map_or(q.median_ps, |first| first[0].max(0.1 * q.median_ps).min(q.median_ps))
                        * PS
                })
                .collect(),
            median: of(|q| q.median_ps),
            p99: optional(|q| q.p99_ps),
            p999: optional(|q| q.p999_ps),
            max: of(|q| q.max_ps),
        },
        "",
    )
}

fn curve_figure(run: &Run, tour: &TourFacts) -> Figure {
    let curve = |huge: bool, name: &str| -> Curve {
        let points = tour.curve.iter().filter(|point| point.huge == huge);
        let (x, y) = points.map(|point| (point.bytes as f64, point.ps * PS)).unzip();
        Curve { name: name.into(), x, y }
    };
    let curves: Vec<Curve> = [curve(false, "small pages"), curve(true, "huge pages")]
        .into_iter()
        .filter(|curve| !curve.x.is_empty())
        .collect();
    let traces = curves
        .iter()
        .zip([draw::DATA, draw::DISTRIBUTION])
        .map(|(curve, colour)| {
            let y = curve.y.iter().map(|y| rounded(*y)).collect();
            let mut line = draw::line(
                &curve.name,
                curve.x.clone(),
                y,
                (colour, "solid"),
                "%{customdata}<extra></extra>",
            );
            line["mode"] = json!("lines+markers");
            line["customdata"] = curve
                .x
                .iter()
                .zip(&curve.y)
                .map(|(bytes, seconds)| json!(format!("{}: {}", size_text(*bytes), duration(*seconds))))
                .collect();
            line
        })
        .collect();
    let all: Vec<f64> = curves.iter().flat_map(|curve| curve.y.iter().copied()).collect();
    let sizes: Vec<f64> = curves.iter().flat_map(|curve| curve.x.iter().copied()).collect();
    // Whole powers of two only: in between there are many.
    let powers: Vec<f64> = sizes.iter().copied().filter(|size| (*size as u64).is_power_of_two()).collect();
    let (low, high) = sizes.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
    let title = "One dependent load by working set".to_string();
    let mut plot = draw::figure(
        &title,
        traces,
        size_axis("working set", &powers, true),
        draw::axis_with("time of one load", seconds_axis(&all, &all)),
    );
    let caches = caches(run);
    mark_caches(&mut plot, &caches, low, high);
    let small = &curves[0];
    let found = format!(
        "From {} in {} to {} in {}: {} times as long.",
        duration(small.y[0]),
        size_text(small.x[0]),
        duration(small.y[small.y.len() - 1]),
        size_text(small.x[small.x.len() - 1]),
        significant(small.y[small.y.len() - 1] / small.y[0], 2)
    );
    let marked = if caches.is_empty() { "" } else { " Dotted lines are the sizes of the caches." };
    Figure {
        id: "working-set-curve".into(),
        caption: format!(
            "Each step up is where a cache ends; a gap between the two lines is the cost of small pages.{marked} {found}"
        ),
        alternative: format!("Latency of a load against working set. {found}"),
        wide: true,
        plot,
        title,
        numbers: Numbers::new("curves", Curves { curves }),
    }
}

fn bandwidth_table(tour: &TourFacts) -> Option<Table> {
    let mut table =
        Table::new("Bandwidth", &["<level", "size", "threads", "read GB/s", "write GB/s", "copy GB/s"]);
    let mut seen: Vec<(&str, u32)> = Vec::new();
    for one in &tour.bandwidths {
        let key = (one.level.as_str(), one.threads);
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let of = |kind: &str| {
            let found = tour
                .bandwidths
                .iter()
                .find(|other| (other.level.as_str(), other.threads) == key && other.kind == kind);
            found.map_or("–".into(), |found| significant(found.bytes_per_second / 1e9, 3))
        };
        let level = if one.level.starts_with('l') { one.level.to_uppercase() } else { one.level.clone() };
        table.push(
            false,
            [
                level,
                size_text(one.bytes as f64),
                one.threads.max(1).to_string(),
                of("read"),
                of("write"),
                of("copy"),
            ],
        );
    }
    table.note =
        "Bytes read and written, of all threads together; every thread has a buffer of this size.".into();
    (!table.rows.is_empty()).then_some(table)
}

fn tail_curves(tour: &TourFacts, group: RungGroup) -> Vec<Curve> {
    let rungs = tour.rungs.iter().filter(|rung| rung.group == group && rung.survival.len() > 2);
    rungs
        .map(|rung| {
            let (x, y) = rung.survival.iter().map(|point| (point[0].max(1.0) * PS, point[1])).unzip();
            Curve { name: rung.name.clone(), x, y }
        })
        .collect()
}

fn tail_figure(run: &Run, curves: Vec<Curve>, id: &str, title: &str) -> Option<Figure> {
    let middle = curves.get(curves.len() / 2)?;
    let unit = Unit::of_duration(middle.x[0]);
    let overlay = Overlay {
        id: id.into(),
        title: title.into(),
        curves,
        unit,
        look_for: "Steep: always alike; a step far to the right: an interruption now and then.",
    };
    Some(survival_figure(run, overlay))
}
