//! JSON whose values no path names: iostat, asv, answers of Prometheus.

use serde_json::Value;

use crate::Unit;
use crate::error::{LineError, shown};
use crate::row::{Push, Row};
use crate::value;

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A value as a text, without quotes.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// The means of each interval; the first report of a host is since boot, and an interval without requests has none.
pub(crate) fn iostat(document: &Value, push: &mut Push) -> Result<(), LineError> {
    const MEANS: [(&str, &str); 4] =
        [("r_await", "r/s"), ("w_await", "w/s"), ("d_await", "d/s"), ("f_await", "f/s")];
    for host in items(&document["sysstat"]["hosts"]) {
        for disk in items(&host["statistics"]).iter().skip(1).flat_map(|report| items(&report["disk"])) {
            let device = disk["disk_device"].as_str().unwrap_or_default();
            for (mean, rate) in MEANS {
                if disk[rate].as_f64().is_none_or(|rate| rate <= 0.0) || disk[mean].is_null() {
                    continue;
                }
                let text = text(&disk[mean]);
                let mut row = Row { text: &text, ..Row::number("", 0.0, Some(Unit::Ms)) };
                row.value = value::read(&text, '.');
                push(&Row { series: &format!("{device} {mean}"), ..row })?;
            }
        }
    }
    Ok(())
}

/// The samples of each benchmark and set of its parameters; of the time of a call where its name says so.
pub(crate) fn asv(document: &Value, push: &mut Push) -> Result<(), LineError> {
    let place = |name: &str| items(&document["result_columns"]).iter().position(|column| column == name);
    let (Some(params), Some(samples)) = (place("params"), place("samples")) else { return Ok(()) };
    for (name, result) in document["results"].as_object().into_iter().flatten() {
        let method = name.rsplit('.').next().unwrap_or_default();
        let is_time = ["time_", "timeraw_"].iter().any(|prefix| method.starts_with(prefix));
        let sets = sets_of(items(&result[params]));
        for (at, samples) in items(&result[samples]).iter().enumerate() {
            let set = sets.get(at).filter(|set| !set.is_empty());
            let series = set.map_or_else(|| name.clone(), |set| format!("{name}({set})"));
            for sample in items(samples) {
                let text = text(sample);
                let mut row = Row { series: &series, text: &text, ..Row::number("", 0.0, None) };
                row.value = value::read(&text, '.');
                row.unit = is_time.then_some(Unit::S);
                push(&row)?;
            }
        }
    }
    Ok(())
}

/// Most sets of parameters that are named.
const MOST_SETS: usize = 1 << 16;

/// All sets of parameters, the last one changing first.
fn sets_of(params: &[Value]) -> Vec<String> {
    let mut sets = vec![String::new()];
    for values in params {
        let values = items(values);
        if sets.len().saturating_mul(values.len()) > MOST_SETS {
            return Vec::new();
        }
        let with = |set: &String, value: &Value| match set.as_str() {
            "" => text(value),
            set => format!("{set}, {}", text(value)),
        };
        sets = sets.iter().flat_map(|set| values.iter().map(move |value| with(set, value))).collect();
    }
    sets
}

/// The values of each series over time.
pub(crate) fn range_query(document: &Value, push: &mut Push) -> Result<(), LineError> {
    for result in items(&document["data"]["result"]) {
        let labels = result["metric"].as_object().into_iter().flatten();
        let others: Vec<String> = labels
            .filter(|(label, _)| *label != "__name__")
            .map(|(label, value)| format!("{label}=\"{}\"", text(value)))
            .collect();
        let name = result["metric"]["__name__"].as_str().unwrap_or_default();
        let series = if others.is_empty() { name.into() } else { format!("{name}{{{}}}", others.join(",")) };
        let unit = name.rsplit('_').next().and_then(Unit::of_word);
        for pair in items(&result["values"]) {
            let written = pair[1].as_str().ok_or_else(|| LineError::Value {
                text: shown(&pair.to_string()),
                what: "is no pair of a time and a value".into(),
            })?;
            let row = Row { series: &series, text: written, unit, ..Row::number("", 0.0, None) };
            push(&Row { value: value::read(written, '.'), ..row })?;
        }
    }
    Ok(())
}
