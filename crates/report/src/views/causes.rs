//! What did the slow operations wait for, and what would an idle machine have shown?

use samples::{Run, SiteKind};
use serde::Serialize;
use serde_json::json;

use crate::figures::{Figure, Numbers, draw};
use crate::summary::Summary;
use crate::unit::{duration, percent, rounded};
use crate::{Chapter, Table};

/// Operations that are shown, those with the most excess first.
const MOST: usize = 24;

/// By what the slowest hundredth of an operation exceeds its median: causes and their shares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stack {
    /// The operation.
    pub name: String,
    /// Cause and share of the excess, the greatest first; `unattributed` is one of them.
    pub shares: Vec<(String, f64)>,
}

/// Shares of the causes, an operation a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stacks {
    /// The rows.
    pub rows: Vec<Stack>,
}

/// Causes of every operation of a run, and its quantiles with and without the wait for a processor.
/// None where no cause was seen.
pub(super) fn chapter(run: &Run) -> Option<Chapter> {
    let mut found = Vec::new();
    for site in 0..run.sites.len() as u32 {
        if run.sites[site as usize].kind != SiteKind::Operation {
            continue;
        }
        if let Some(attribution) = samples::attribute(run.of_site(site)) {
            found.push((site, attribution));
        }
    }
    if found.iter().all(|(_, attribution)| attribution.shares.is_empty()) {
        return None;
    }
    found.sort_by_key(|(_, attribution)| std::cmp::Reverse(attribution.excess_ps));
    found.truncate(MOST);
    found.sort_by_key(|(site, _)| (run.sites[*site as usize].line, *site));
    let mut table = Table::new(
        "What the slowest hundredth waited for",
        &["<operation", "slower than", "slow ones", "excess", "<share of the excess", "attributed"],
    );
    let mut rows = Vec::new();
    for (site, attribution) in &found {
        let name = run.sites[*site as usize].name();
        let parts = attribution.parts();
        let words: Vec<String> = parts
            .iter()
            .filter(|(_, share)| *share >= 0.01)
            .take(4)
            .map(|(cause, share)| format!("{} {}", cause.replace('_', " "), percent(*share)))
            .collect();
        table.push(
            false,
            [
                name.clone(),
                duration(attribution.limit_ps as f64 * 1e-12),
                samples::units::count(attribution.slow as u64),
                duration(attribution.excess_ps as f64 * 1e-12),
                words.join(", "),
                percent(attribution.attributed()),
            ],
        );
        let shares = parts.into_iter().map(|(cause, share)| (cause.to_string(), share)).collect();
        rows.push(Stack { name, shares });
    }
    table.note =
        "Excess: what the slow ones took beyond the median, added up. A cause is what was seen in that very \
                  operation; what was not seen is unattributed."
            .into();
    let mut chapter = stacks(rows, "the slowest hundredth of every operation")?;
    chapter.tables.push(table);
    chapter.tables.extend(corrected(run));
    chapter.on_page_only = true;
    Some(chapter)
}

/// A chapter with the bars of `rows`; none without a row.
pub(super) fn stacks(rows: Vec<Stack>, of: &str) -> Option<Chapter> {
    if rows.is_empty() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for (cause, _) in rows.iter().flat_map(|row| &row.shares) {
        if !names.contains(cause) {
            names.push(cause.clone());
        }
    }
    // The same order and colours on every page; what is not known comes last.
    const ORDER: [(&str, &str); 10] = [
        ("run_queue", draw::ALARM),
        ("throttled", "#8e6bbf"),
        ("blocked", draw::DATA),
        ("major_fault", "#b0578d"),
        ("device_interrupt", "#7a9a01"),
        ("soft_interrupt", draw::SECOND),
        ("timer", draw::LAW),
        ("minor_fault", "#c9a227"),
        ("migration", "#5a7d9a"),
        ("unattributed", "#b8c1cc"),
    ];
    let rank = |name: &str| ORDER.iter().position(|(known, _)| *known == name).unwrap_or(ORDER.len() - 2);
    names.sort_by_key(|name| rank(name));
    let labels: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let traces = names
        .iter()
        .map(|cause| {
            let shares: Vec<f64> = rows
                .iter()
                .map(|row| {
                    let found = row.shares.iter().find(|(name, _)| name == cause);
                    rounded(100.0 * found.map_or(0.0, |(_, share)| *share))
                })
                .collect();
            let name = cause.replace('_', " ");
            json!({
                "type": "bar", "orientation": "h", "name": name, "x": shares, "y": labels,
                "marker": {"color": ORDER[rank(cause)].1},
                "hovertemplate": format!("%{{y}}: {name} %{{x:.1f}} %<extra></extra>")
            })
        })
        .collect();
    let mean = |cause: &str| {
        let sum: f64 = rows
            .iter()
            .filter_map(|row| row.shares.iter().find(|(name, _)| name == cause))
            .map(|(_, share)| share)
            .sum();
        sum / rows.len() as f64
    };
    let most = names
        .iter()
        .filter(|name| *name != "unattributed")
        .max_by(|a, b| mean(a).total_cmp(&mean(b)))
        .map_or("No cause was seen".into(), |name| {
            format!("On average most is put down to {} ({})", name.replace('_', " "), percent(mean(name)))
        });
    let found = format!("{most}; {} stays unattributed.", percent(mean("unattributed")));
    let title = "What slow operations waited for".to_string();
    let count = rows.len();
    let mut plot = draw::figure(
        &title,
        traces,
        draw::axis_with("share of the excess over the median (%)", json!({"range": [0, 100]})),
        draw::axis_with("", json!({"autorange": "reversed", "type": "category", "tickfont": {"size": 11}})),
    );
    plot["layout"]["barmode"] = json!("stack");
    plot["layout"]["height"] = json!(130 + 22 * count.max(5));
    let figure = Figure {
        id: "causes".into(),
        caption: format!(
            "Of {of}: red is the wait for a processor, which a quieter machine would not show; blue is the wait for a \
             device or another process; grey was not seen, and is not guessed. {found}"
        ),
        alternative: format!("Stacked bars of the causes of slow operations in {count} rows. {found}"),
        wide: true,
        plot,
        title,
        numbers: Numbers::Causes(Stacks { rows }),
    };
    let lead = "Every slow operation is put down to what was seen meanwhile, never to a guess.";
    Some(Chapter::new("causes", "Why the slow ones were slow", lead).with([figure], []))
}

/// Quantiles as measured and without the wait on the run queue, where some of that was read.
fn corrected(run: &Run) -> Option<Table> {
    let mut table = Table::new(
        "As measured, and without the wait for a processor",
        &["<operation", "<", "n", "mean", "median", "p99", "p99.9", "max"],
    );
    let mut waited = vec![false; run.sites.len()];
    for sample in run.samples.iter().filter(|sample| sample.queue_ns > 0) {
        if let Some(waited) = waited.get_mut(sample.site as usize) {
            *waited = true;
        }
    }
    for site in (0..run.sites.len()).filter(|site| waited[*site]).take(MOST) {
        let of = |time: fn(&samples::Sample) -> f64| {
            let values: Vec<f64> =
                run.of_site(site as u32).filter(|sample| !sample.failed()).map(time).collect();
            Summary::of(&values)
        };
        let (Some(raw), Some(corrected)) =
            (of(samples::Sample::seconds), of(samples::Sample::corrected_seconds))
        else {
            continue;
        };
        for (index, (how, summary)) in [("measured", &raw), ("without", &corrected)].iter().enumerate() {
            let optional = |value: Option<f64>| value.map_or("–".into(), duration);
            table.push(
                index == 1,
                [
                    if index == 0 { run.sites[site].name() } else { String::new() },
                    (*how).into(),
                    samples::units::count(summary.n as u64),
                    duration(summary.mean),
                    duration(summary.median),
                    optional(summary.p99),
                    optional(summary.p999),
                    duration(summary.max),
                ],
            );
        }
    }
    table.note =
        "The wait on the run queue was read for each operation that gave up or lost its processor.".into();
    (!table.rows.is_empty()).then_some(table)
}
