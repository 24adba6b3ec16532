//! Draws the rate of an operation over time.

use results::{ResultRow, Steadiness};
use serde::Serialize;
use serde_json::json;

use super::draw;
use super::figure::{Figure, Numbers};
use crate::screen::number::{bandwidth, three, time};

/// An operation over time, in bins of equal length. All lists have one entry a bin.
#[derive(Clone, Debug, Serialize)]
pub struct RateOverTime {
    /// `write / fwrite`.
    pub name: String,
    /// When each bin begins, in seconds after the first operation began.
    pub seconds: Vec<f64>,
    /// Operations a second; a bin without any is 0.
    pub operations_per_second: Vec<f64>,
    /// Bytes a second.
    pub bytes_per_second: Vec<f64>,
    /// Operations under way on average.
    pub depth: Vec<f64>,
    /// The longest that ended in the bin, in seconds; 0 of none.
    pub longest_seconds: Vec<f64>,
    /// Length of a bin, in seconds.
    pub bin_seconds: f64,
    /// Operations a second of all bins.
    pub mean: f64,
}

impl RateOverTime {
    /// Of a row that has a series; its last bin, which is not whole, is left out.
    fn of(row: &ResultRow) -> Option<RateOverTime> {
        let series = row.series.as_ref()?;
        let rates = series.rates();
        let n = rates.len();
        let bin = series.bin_seconds;
        Some(RateOverTime {
            name: row.name(),
            seconds: (0..n).map(|at| at as f64 * bin).collect(),
            bytes_per_second: series.bytes[..n].iter().map(|bytes| *bytes as f64 / bin).collect(),
            depth: series.depth[..n].to_vec(),
            longest_seconds: series.longest_seconds[..n].to_vec(),
            mean: rates.iter().sum::<f64>() / n.max(1) as f64,
            operations_per_second: rates,
            bin_seconds: bin,
        })
    }
}

const PAUSES_COUNTED: &str =
    " Pauses between the passes of the program are counted here, and left out of the rates in the tables.";

/// The rate of a row over time; none of a row without a series.
pub(crate) fn figure(row: &ResultRow) -> Option<Figure> {
    let numbers = RateOverTime::of(row)?;
    let operation = &row.operation;
    let of_bytes = |rate: &f64| if *rate > 0.0 { format!(", {}", bandwidth(*rate)) } else { String::new() };
    let hover: Vec<String> = (0..numbers.seconds.len())
        .map(|at| {
            format!(
                "{}: {} {operation}/s{}, depth {}, longest {}",
                time(numbers.seconds[at]),
                three(numbers.operations_per_second[at]),
                of_bytes(&numbers.bytes_per_second[at]),
                three(numbers.depth[at]),
                time(numbers.longest_seconds[at])
            )
        })
        .collect();
    let name = format!("{operation}/s");
    let mut line = draw::line(
        &name,
        numbers.seconds.clone(),
        numbers.operations_per_second.clone(),
        (draw::DATA, "solid"),
        "%{text}<extra></extra>",
    );
    line["text"] = json!(hover);
    line["line"]["shape"] = json!("hv");
    let end = numbers.seconds.last().map_or(0.0, |last| last + numbers.bin_seconds);
    let mean = draw::guide("mean", vec![0.0, end], vec![numbers.mean; 2]);
    let least = numbers.operations_per_second.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.operations_per_second.iter().copied().fold(0.0, f64::max);
    let title = format!("{} over time", row.name());
    let range = format!("{} to {} {operation}/s", three(least), three(most));
    let y = draw::axis_with(&name, json!({"rangemode": "tozero"}));
    let mut plot = draw::figure(&title, vec![line, mean], draw::axis("seconds since the first one began"), y);
    plot["layout"]["showlegend"] = json!(false);
    Some(Figure {
        id: "rate".into(),
        caption: format!(
            "Bins of {}, each operation shared out over those it spans. {}. At 0 with a depth above 0: a stall.{}",
            time(numbers.bin_seconds),
            steadiness(row.steady.as_ref()),
            if row.series_counts_pauses() { PAUSES_COUNTED } else { "" }
        ),
        alternative: format!("Rate of {} over time: {range}.", row.name()),
        wide: true,
        plot,
        title,
        numbers: Numbers::new("rate", numbers),
    })
}

/// How the rate changed. The change point of a run is told once, with its durations.
fn steadiness(found: Option<&Steadiness>) -> String {
    match found {
        None => "There are too few bins to tell a trend of the rate".into(),
        Some(found) if found.steady && found.cut_seconds > 0.0 => format!(
            "The rate has no trend after {}: {} /s from there on, {} /s over the whole run",
            time(found.cut_seconds),
            three(found.kept_per_second),
            three(found.all_per_second)
        ),
        Some(found) if found.steady => "The rate has no trend".into(),
        Some(found) => {
            let [first, second] = found.halves_per_second;
            format!(
                "The rate changes: {} /s in the first half, {} /s in the second",
                three(first),
                three(second)
            )
        }
    }
}
