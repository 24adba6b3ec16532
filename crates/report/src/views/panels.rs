//! Every place against the normal distribution of the same mean and standard deviation, a small panel each: one figure in which
//! tails are compared, because all panels have the same axes.

use serde::Serialize;
use serde_json::{Value, json};
use tail::special::normal_cdf;

use super::against::AgainstNormal;
use super::place::Place;
use crate::figures::{Figure, Numbers, draw};
use crate::screen::number::time;
use crate::table::Table;
use crate::unit::{duration, rounded, significant};

/// Panels side by side in a document; a page takes as many as it has room for.
const COLUMNS: usize = 4;
/// Pixels of a row of panels.
const ROW: usize = 130;
/// Points of a measured line of one panel, and of the normal one.
const POINTS: [usize; 2] = [40, 20];

/// Places beside each other, each in units of its own median.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NormalPanels {
    /// One for each place, in the order of the program.
    pub panels: Vec<NormalPanel>,
}

/// How often one place takes longer than so many times its median.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NormalPanel {
    /// The place.
    pub name: String,
    /// Its median, in seconds.
    pub median: f64,
    /// Ascending values, in medians.
    pub times: Vec<f64>,
    /// Share above each.
    pub share: Vec<f64>,
    /// Where the normal distribution of the same moments is evaluated, in medians.
    pub normal_times: Vec<f64>,
    /// Its share above each of these.
    pub normal_share: Vec<f64>,
}

/// A place with what [`AgainstNormal`] has of it.
pub(super) type Compared<'a> = (&'a Place, AgainstNormal);

/// So many values lie above four standard deviations, and so many a normal distribution would put there.
pub(super) fn beyond(place: &Place, numbers: &AgainstNormal) -> (usize, f64) {
    let far = numbers.mean + 4.0 * numbers.deviation;
    let beyond = place.sorted.len() - place.sorted.partition_point(|value| *value <= far);
    (beyond, place.sorted.len() as f64 * normal_cdf(-4.0))
}

impl NormalPanel {
    fn of((place, numbers): &Compared) -> NormalPanel {
        let median = place.median();
        let in_medians = |kept: &[usize], of: &[f64]| kept.iter().map(|at| of[*at] / median).collect();
        let shares = |kept: &[usize], of: &[f64]| kept.iter().map(|at| of[*at]).collect();
        let (measured, normal) = (
            by_share(&numbers.seconds, &numbers.share, POINTS[0]),
            evenly(numbers.normal_seconds.len(), POINTS[1]),
        );
        NormalPanel {
            name: place.name(),
            median,
            times: in_medians(&measured, &numbers.seconds),
            share: shares(&measured, &numbers.share),
            normal_times: in_medians(&normal, &numbers.normal_seconds),
            normal_share: shares(&normal, &numbers.normal_share),
        }
    }

    /// `stat, 612 ns`, whose unit stays with its number.
    fn title(&self) -> String {
        format!("{}, {}", self.name, time(self.median).replace(' ', "\u{a0}"))
    }
}

/// Indices of descending shares, evenly in their logarithm, at most `most` of them with the first and the last. Between
/// points of the same time a line only falls, so that its ends are enough.
fn by_share(times: &[f64], shares: &[f64], most: usize) -> Vec<usize> {
    let Some(least) = shares.last().map(|share| share.ln()) else { return Vec::new() };
    let share = |k: usize| (least * k as f64 / (most - 1) as f64).exp();
    let place = |k| shares.partition_point(|one| *one > share(k)).min(shares.len() - 1);
    let mut kept: Vec<usize> = (0..most).map(place).collect();
    kept.dedup();
    let is_between = |around: &[usize]| times[around[0]] == times[around[2]];
    let ends = |at: &usize| !(*at > 0 && *at + 1 < kept.len() && is_between(&kept[at - 1..at + 2]));
    (0..kept.len()).filter(ends).map(|at| kept[at]).collect()
}

/// Indices into `n` points, at most `most` of them, with the first and the last.
fn evenly(n: usize, most: usize) -> Vec<usize> {
    match n > most {
        true => (0..most).map(|k| k * (n - 1) / (most - 1)).collect(),
        false => (0..n).collect(),
    }
}

/// One figure of all places: a panel each, with the same axes.
pub(super) fn figure(compared: &[Compared]) -> Option<Figure> {
    // Whose median is nothing by a coarse clock has no multiples of it.
    let shown = compared.iter().filter(|(place, _)| place.median() > 0.0);
    let numbers = NormalPanels { panels: shown.map(NormalPanel::of).collect() };
    let worst = numbers.panels.iter().filter_map(|panel| Some((*panel.times.last()?, panel)));
    let (times, worst) = worst.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let found = format!("{} reaches {} times its median.", worst.name, significant(times, 2));
    let title = "Every operation against the normal distribution".to_string();
    let count = numbers.panels.len();
    Some(Figure {
        id: "normal".into(),
        caption: format!(
            "One panel each, above it its median. Where the line goes on beyond the dashed one, a tail is no chance around a \
             mean. {found}"
        ),
        alternative: format!(
            "Share that takes longer of {count} operations, each with the normal one. {found}"
        ),
        wide: true,
        plot: plot(&title, &numbers.panels),
        title,
        numbers: Numbers::new("normal_panels", numbers),
    })
}

fn plot(title: &str, panels: &[NormalPanel]) -> Value {
    let ends = |of: fn(&NormalPanel) -> &[f64], room: f64| {
        let values =
            || panels.iter().flat_map(of).map(|value| value.log10()).filter(|value| value.is_finite());
        [rounded(values().fold(0.0, f64::min) - room), rounded(values().fold(0.0, f64::max) + room)]
    };
    let x = || {
        let range = ends(|panel| &panel.times, 0.1);
        draw::axis_with("times the median", json!({"type": "log", "tickformat": "~g", "range": range}))
    };
    let y = || {
        let mut axis = draw::axis_with("share that takes longer", draw::shares());
        axis["range"] = json!(ends(|panel| &panel.share, 0.2));
        axis
    };
    let traces = panels.iter().enumerate().flat_map(|(at, panel)| traces(at, panel)).collect();
    let mut plot = draw::figure(title, traces, x(), y());
    let layout = &mut plot["layout"];
    for at in 1..panels.len() {
        let (mut x, mut y) = (x(), y());
        (x["matches"], y["matches"]) = (json!("x"), json!("y"));
        // They follow the first ones, which have the titles of all.
        for axis in [&mut x, &mut y].into_iter().filter_map(Value::as_object_mut) {
            ["range", "title", "automargin"].into_iter().for_each(|name| drop(axis.remove(name)));
        }
        (layout[format!("xaxis{}", at + 1)], layout[format!("yaxis{}", at + 1)]) = (x, y);
    }
    let columns = COLUMNS.min(panels.len());
    let rows = panels.len().div_ceil(columns);
    layout["grid"] = json!({
        "rows": rows, "columns": columns, "pattern": "independent", "xgap": 0.12, "ygap": 0.4
    });
    layout["height"] = json!(110 + ROW * rows);
    layout["annotations"] = panels
        .iter()
        .enumerate()
        .map(|(at, panel)| {
            json!({
                "text": panel.title(), "showarrow": false, "xref": format!("x{} domain", number(at)),
                "yref": format!("y{} domain", number(at)), "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom"
            })
        })
        .collect();
    plot
}

/// What Plotly has behind the `x` of an axis: nothing, 2, 3, …
fn number(at: usize) -> String {
    if at == 0 { String::new() } else { (at + 1).to_string() }
}

fn traces(at: usize, panel: &NormalPanel) -> [Value; 2] {
    let all = |values: &[f64]| values.iter().map(|value| rounded(*value)).collect::<Vec<_>>();
    let hover = "%{y:.3g} take longer than %{x:.3~g} times the median<extra></extra>";
    let measured = (all(&panel.times), all(&panel.share));
    let normal = (all(&panel.normal_times), all(&panel.normal_share));
    let mut lines = [
        draw::line("measured", measured.0, measured.1, (draw::DATA, "solid"), hover),
        draw::line("normal distribution", normal.0, normal.1, (draw::OTHER, "dash"), hover),
    ];
    lines[0]["line"]["shape"] = json!("hv");
    for line in &mut lines {
        line["line"]["width"] = json!(1.75);
        (line["xaxis"], line["yaxis"]) =
            (json!(format!("x{}", number(at))), json!(format!("y{}", number(at))));
        line["legendgroup"] = line["name"].clone();
        line["showlegend"] = json!(at == 0);
    }
    lines
}

/// The numbers of all places beside each other.
pub(super) fn table(compared: &[Compared]) -> Table {
    let columns = ["<operation", "values", "mean", "std", "beyond", "normal"];
    let mut table = Table::new("Values beyond four standard deviations", &columns);
    for (place, numbers) in compared {
        let (beyond, expected) = beyond(place, numbers);
        table.push(
            false,
            [
                place.name(),
                samples::units::count(place.sorted.len() as u64),
                duration(numbers.mean),
                duration(numbers.deviation),
                samples::units::count(beyond as u64),
                significant(expected, 2),
            ],
        );
    }
    table.note =
        "Beyond four: values above the mean by more than four standard deviations; last, how many a normal \
                  distribution would put there."
            .into();
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_has_few_points_and_the_first_and_last_of_its_place() {
        let kept = evenly(1_000, 40);
        assert_eq!((kept.len(), kept[0], kept[39]), (40, 0, 999));
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(evenly(3, 40), [0, 1, 2]);
    }

    #[test]
    fn a_line_has_every_step_of_its_tail() {
        // 1,000 values of a coarse clock, then ten slow ones.
        let values: Vec<f64> = (0..1_010).map(|k| if k < 1_000 { 1.0 } else { f64::from(k) }).collect();
        let shares: Vec<f64> = (0..1_010).map(|k| (1_010.0 - f64::from(k) - 0.5) / 1_010.0).collect();
        let kept = by_share(&values, &shares, 40);
        assert!(kept.len() < 16 && kept[0] == 0, "{kept:?}");
        assert!(kept.ends_with(&[1_004, 1_005, 1_006, 1_007, 1_008, 1_009]), "{kept:?}");
    }
}
