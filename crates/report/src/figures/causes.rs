//! Draws what slow operations waited for, as stacked bars.

use serde::Serialize;
use serde_json::json;

use super::draw;
use super::figure::{Figure, Numbers};
use crate::cause_words::style_of;
use crate::unit::{percent, rounded};

/// By what the slowest hundredth of an operation exceeds its median: causes and their shares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseShares {
    /// The operation.
    pub name: String,
    /// Cause and share of the excess, the greatest first; `unattributed` is one of them.
    pub shares: Vec<(String, f64)>,
    /// The excess, where the causes of all rows are told together.
    #[serde(skip)]
    pub excess_s: f64,
}

/// Shares of the causes, an operation a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseStacks {
    /// The rows.
    pub rows: Vec<CauseShares>,
}

/// Bars of `rows`, which are `of` what the caption says; none without a row.
pub(crate) fn stacks(rows: Vec<CauseShares>, of: &str) -> Option<Figure> {
    if rows.is_empty() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for (cause, _) in rows.iter().flat_map(|row| &row.shares) {
        if !names.contains(cause) {
            names.push(cause.clone());
        }
    }
    names.sort_by_key(|name| style_of(name).order);
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
            let name = style_of(cause).words;
            json!({
                "type": "bar", "orientation": "h", "name": name, "x": shares, "y": labels,
                "marker": {"color": style_of(cause).colour},
                "hovertemplate": format!("%{{y}}: {name}%{{x:.1f}}%<extra></extra>")
            })
        })
        .collect();
    // A row of which little was lost does not count as much as one of which all was.
    let all: f64 = rows.iter().map(|row| row.excess_s).sum();
    let mean = |cause: &str| {
        let lost = |row: &CauseShares| {
            let share = row.shares.iter().find(|(name, _)| name == cause).map_or(0.0, |(_, share)| *share);
            share * row.excess_s
        };
        rows.iter().map(lost).sum::<f64>() / all.max(f64::MIN_POSITIVE)
    };
    let most = names
        .iter()
        .filter(|name| *name != "unattributed")
        .max_by(|a, b| mean(a).total_cmp(&mean(b)))
        .map_or("No cause was seen".into(), |name| {
            format!("The largest cause is {} ({} of all)", style_of(name).words, percent(mean(name)))
        });
    let found = format!("{most}; no cause was seen for {}.", percent(mean("unattributed")));
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
    Some(Figure {
        id: "causes".into(),
        caption: format!(
            "Of {of}. Red: wait for a CPU (the machine); blue: for a device or another process; grey: not seen, not guessed. \
             {found}"
        ),
        alternative: format!("Stacked bars of the causes of slow operations in {count} rows. {found}"),
        wide: true,
        plot,
        title,
        numbers: Numbers::new("causes", CauseStacks { rows }),
    })
}
